package report

import (
	"strings"
	"testing"
)

const curveFileOfALab = `web,topic,scorer,judge,repeat,pages,hits
campus,bees@rest,ours,topic,0,100,4
campus,bees@rest,ours,topic,1,100,6
campus,bees@half,ours,topic,0,100,8
campus,wasps@all@half,ours,topic,0,100,14
campus,wasps@all@half,ours,topic,0,50,2
campus,bees@rest,theirs,topic,0,100,3
campus,bees@rest,theirs,topic,1,100,3
campus,bees@half,theirs,topic,0,100,3
campus,wasps@all@half,theirs,topic,0,100,3
manuals,wasps,theirs,topic,0,100,1
`

// A chart of curves has a panel for each web and column, and lines of the strategies that
// were asked for, in that order: parts and repeats of a topic are averaged before topics are.
func TestChartCurves(t *testing.T) {
	d, err := ChartCurves(strings.NewReader(curveFileOfALab), CurveChart{Title: "Bees", Columns: []string{"hits"}, Strategies: []string{"theirs", "ours"}})
	if err != nil {
		t.Fatal(err)
	}
	// bees: (4 + 6 + 8) / 3 = 6; wasps: 14.
	want := "campus: Lines: values over a common axis. theirs ends at 3.0. ours ends at 10.0. manuals: Lines: values over a common axis. theirs ends at 1.0."
	if d.Description != want {
		t.Errorf("it tells\n%s\nwant\n%s", d.Description, want)
	}
	d, err = ChartCurves(strings.NewReader(curveFileOfALab), CurveChart{Columns: []string{"hits", "pages"}, Webs: []string{"manuals"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "manuals, relevant pages found: Lines: values over a common axis. theirs ends at 1.0. manuals, pages: Lines: values over a common axis. theirs ends at 100.0."; d.Description != want {
		t.Errorf("it tells\n%s\nwant\n%s", d.Description, want)
	}
}

// What a chart of curves has means of is what the report of the lab has: no topic of
// development, no strategy without all runs, and a topic with an @ in its name is a part only
// where all topics of its web are.
func TestChartCurvesAsTheReport(t *testing.T) {
	const file = `web,topic,scorer,judge,repeat,split,pages,hits
campus,bees@hive,ours,topic,0,test,50,2
campus,bees@hive,ours,topic,0,test,100,2
campus,bees@tree,ours,topic,0,test,100,2
campus,wasps,ours,topic,0,test,100,8
campus,ants,ours,topic,0,dev,100,100
campus,wasps,theirs,topic,0,test,100,50
`
	d, err := ChartCurves(strings.NewReader(file), CurveChart{Columns: []string{"hits"}, Note: "By hand."})
	if err != nil {
		t.Fatal(err)
	}
	if want := "campus: Lines: values over a common axis. ours ends at 4.0."; d.Description != want {
		t.Errorf("it tells\n%s\nwant\n%s", d.Description, want)
	}
	var svg strings.Builder
	if err := d.SVG(&svg); err != nil {
		t.Fatal(err)
	}
	if want := "By hand. Left out, for want of runs that others have: theirs on campus."; !strings.Contains(svg.String(), want) {
		t.Errorf("the chart does not say %q", want)
	}
}

// Columns that are empty or there twice, and names that are given twice, are told; a web without a
// value to draw has no panel unless it was asked for.
func TestChartCurvesOfNothing(t *testing.T) {
	const file = "web,strategy,pages,hits,loss,twice,twice\na,x,10,1,,2,3\nb,x,10,,,2,3\n"
	for _, c := range []struct {
		chart CurveChart
		want  string
	}{
		{CurveChart{Columns: []string{"hits", "loss"}}, "the column loss has no value: leave it out"},
		{CurveChart{Columns: []string{"hits", "hits"}}, "the column hits is named twice: leave one out"},
		{CurveChart{Columns: []string{"twice"}}, "line 1: two columns are called twice: give one of them another name"},
		{CurveChart{Columns: []string{"hits", ""}}, "the name of a column to draw is empty: leave it out"},
		{CurveChart{Columns: []string{"hits"}, Strategies: []string{"x", "x"}}, `the strategy "x" is named twice: leave one out`},
	} {
		if _, err := ChartCurves(strings.NewReader(file), c.chart); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.chart, err, c.want)
		}
	}
	for asked, want := range map[string]bool{"": false, "b": true} {
		c := CurveChart{Columns: []string{"hits"}}
		if asked != "" {
			c.Webs = []string{"a", asked}
		}
		d, err := ChartCurves(strings.NewReader(file), c)
		if err != nil {
			t.Fatal(err)
		}
		var svg strings.Builder
		if err := d.SVG(&svg); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(svg.String(), ">b<"); got != want {
			t.Errorf("a panel of the web without values: %v, want %v", got, want)
		}
	}
}

// Axes have words, not the names of columns: in the note of a column, in the titles of several.
func TestChartCurvesWords(t *testing.T) {
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{[]string{"hits"}, "Up: relevant pages found. Across: pages fetched."},
		{[]string{"loss"}, "Up: expected loss, mean of the pages. Across: pages fetched."},
		{[]string{"precision_0.65"}, "Up: precision, cosine ≥ .65. Across: pages fetched."},
		{[]string{"ours"}, "Up: ours. Across: pages fetched."},
		{[]string{"precision_0.65", "hits"}, ">b, precision, cosine ≥ .65<"},
		{[]string{"precision_0.65", "hits"}, "Up: what its title says. Across: pages fetched."},
	} {
		file := "web,strategy,pages,hits,loss,precision_0.65,ours\na,x,10,1,.5,.2,3\nb,x,10,1,.5,.2,3\n"
		d, err := ChartCurves(strings.NewReader(file), CurveChart{Columns: c.columns})
		if err != nil {
			t.Fatal(err)
		}
		var svg strings.Builder
		if err := d.SVG(&svg); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(svg.String(), c.want) {
			t.Errorf("%v: the chart has no %q", c.columns, c.want)
		}
	}
}

func TestChartCurvesErrors(t *testing.T) {
	for _, c := range []struct {
		file  string
		chart CurveChart
		want  string
	}{
		{"", CurveChart{Columns: []string{"hits"}}, "the file is empty: give curves.csv of a lab, or one like it"},
		{"web,pages,hits\n", CurveChart{Columns: []string{"hits"}}, "there is no column strategy or scorer: the file has web, pages, hits"},
		{curveFileOfALab, CurveChart{}, "name the columns to draw, of web, topic, scorer, judge, repeat, pages, hits"},
		{curveFileOfALab, CurveChart{Columns: []string{"loss"}}, "there is no column loss: the file has web, topic, scorer, judge, repeat, pages, hits"},
		{curveFileOfALab, CurveChart{Columns: []string{"hits"}, Strategies: []string{"other"}}, `the file has no strategy "other": it has ours, theirs`},
		{curveFileOfALab, CurveChart{Columns: []string{"scorer"}}, `line 2: "ours" of the column scorer is no number`},
		{"web,strategy,pages,hits\n", CurveChart{Columns: []string{"hits"}}, "the file has no value of hits: give curves.csv of a lab, or one like it"},
		{curveFileOfALab + "campus,bees,ours,topic,0,NaN,4\n", CurveChart{Columns: []string{"hits"}}, `line 12: "NaN" is no number of pages`},
		{curveFileOfALab + "campus,bees,ours,topic,0,-5,4\n", CurveChart{Columns: []string{"hits"}}, `line 12: "-5" is no number of pages`},
		{curveFileOfALab + "campus,bees,ours,topic,0,100,NaN\n", CurveChart{Columns: []string{"hits"}}, `line 12: "NaN" of the column hits is no number`},
		{curveFileOfALab + "campus,bees,ours,topic,0,100,1e308\n", CurveChart{Columns: []string{"hits"}}, `line 12: "1e308" of the column hits is no number`},
		{curveFileOfALab + "campus,bees,ours,critic,0,100,4\n", CurveChart{Columns: []string{"hits"}}, `line 12: judge is "critic", and "topic" before: leave all but one of them out of the file`},
	} {
		if _, err := ChartCurves(strings.NewReader(c.file), c.chart); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.chart, err, c.want)
		}
	}
}
