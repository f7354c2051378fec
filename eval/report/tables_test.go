package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
)

// outside makes results in which shark-search spends every fifth place
// outside the record, and the others none.
func outside(charged, bounds bool) Results {
	r := made()
	r.Webs, r.Cells = r.Webs[:1], slices.DeleteFunc(r.Cells, func(c eval.Cell) bool { return c.Web != "campus" || c.Scorer == "shark-search" })
	for _, topic := range []string{"bees", "wasps"} {
		for repeat := range 2 {
			run := &eval.Run{Key: eval.Key{Web: "campus", Topic: topic, Scorer: "shark-search", Judge: "topic", Repeat: repeat}, Budget: 20, Charged: charged, Bounds: bounds, Links: 100, LinksOutside: 30}
			for i := range 20 {
				p := eval.Page{}
				switch {
				case charged && i%5 == 4:
					p.Mark = eval.Outside
				case i%5 == 0:
					p.Mark = eval.Hit | eval.Relevant
				}
				run.Pages = append(run.Pages, p)
			}
			r.Cells = append(r.Cells, eval.NewCell(run, eval.Reference{}, r.Budgets, eval.Measures()))
		}
	}
	return r
}

// The out-of-record rate is that of requests. Where links were dropped nobody
// knows it: no figure is marked, and the share of links has a column.
func TestOutOfTheRecord(t *testing.T) {
	for _, test := range []struct {
		name            string
		charged, bounds bool
		strategy        string // as the table names it
		hits, harvest   string
		columns         []string
		says            string
	}{
		{"dropped", false, false, "shark-search", "4", "0.200", []string{"links outside"}, "marks no figure as weak"},
		{"fails", true, false, "shark-search †", "4", "0.200", []string{"outside", "links outside"}, "more than 5%"},
		{"bounds", true, true, "shark-search †", "4…8", "0.200…0.400", []string{"outside", "links outside"}, "if nothing, and if everything"},
	} {
		r := outside(test.charged, test.bounds)
		page, err := HTML(r)
		if err != nil {
			t.Fatal(err)
		}
		rows := tables(t, page)["campus"]["At 20 pages"]
		var got []string
		for _, row := range rows {
			if strings.HasPrefix(row[0], "shark-search") {
				got = []string{row[0], row[2], row[3]}
			}
		}
		if want := []string{test.strategy, test.hits, test.harvest}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", test.name, got, want)
		}
		var columns []string
		for _, h := range rows[0] {
			if strings.Contains(h, "outside") {
				columns = append(columns, h)
			}
		}
		if !slices.Equal(columns, test.columns) {
			t.Errorf("%s: columns %v, want %v", test.name, columns, test.columns)
		}
		if !bytes.Contains(page, []byte(test.says)) {
			t.Errorf("%s: the page does not say %q", test.name, test.says)
		}
		if marked := bytes.Contains(page, []byte("†")); marked != test.charged {
			t.Errorf("%s: marked %v", test.name, marked)
		}
		// The chart's band is what lies between the readings.
		if strings.Contains(string(page), "Between the bounds: campus") != test.bounds {
			t.Errorf("%s: the chart of the bounds", test.name)
		}
		b, err := newBuilder(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.between("", b.cells(func(eval.Cell) bool { return true }), func(s strategy) bool { return s.scorer == "shark-search" }).Series {
			if last := len(s.High) - 1; test.bounds && (last < 0 || s.Y[last] != 4 || s.High[last] != 8) || !test.bounds && last >= 0 {
				t.Errorf("%s: bounds up to %v over %v", test.name, s.High, s.Y)
			}
		}
		data, err := ValuesCSV(r)
		if err != nil {
			t.Fatal(err)
		}
		if has := bytes.Contains(data, []byte("shark-search,topic,0,test,20,hits,4,8,\n")); has != test.bounds {
			t.Errorf("%s: values.csv has the upper bound: %v", test.name, has)
		}
	}
}

// The links outside are those of a whole run, and stand at the last budget alone.
func TestLinksOutsideStandOnce(t *testing.T) {
	page, err := HTML(outside(false, false))
	if err != nil {
		t.Fatal(err)
	}
	all := tables(t, page)["campus"]
	if early, late := all["At 10 pages"], all["At 20 pages"]; slices.Contains(early[0], "links outside") || !slices.Contains(late[0], "links outside") {
		t.Errorf("heads %v and %v", early[0], late[0])
	}
}

// without are one()'s results but for some runs, of which a cell that failed is
// one.
func without(lacks func(eval.Key) bool) Results {
	r := one()
	for i, c := range r.Cells {
		if lacks(c.Key) {
			r.Cells[i] = eval.Cell{Key: c.Key, Error: "the record is damaged"}
		}
	}
	return r
}

// A strategy of which runs failed is not ranked by a mean over other topics:
// it stands last, without bold, with a mark that the table explains; the others
// are ranked as if it were not there.
func TestFailedRunsAreNotRanked(t *testing.T) {
	for name, lacks := range map[string]func(eval.Key) bool{
		"a topic":  func(k eval.Key) bool { return k.Scorer == "shark-search" && k.Topic == "bees" },
		"a repeat": func(k eval.Key) bool { return k.Scorer == "shark-search" && k.Topic == "bees" && k.Repeat == 1 },
	} {
		r := without(lacks)
		text, err := Markdown(r, "")
		if err != nil {
			t.Fatal(err)
		}
		_, at20, _ := strings.Cut(string(text), "\n### At 20 pages\n")
		at20, _, _ = strings.Cut(at20, "\n#")
		var got []string
		for line := range strings.Lines(at20) {
			if f := strings.Split(line, " | "); len(f) > 2 {
				got = append(got, strings.TrimPrefix(f[0], "| ")+" "+f[2])
			}
		}
		if want := []string{"strategy hits", "fish-search **6.5**", "breadth-first 4", "shark-search § 10"}; !slices.Equal(got, want) {
			t.Errorf("without %s: %q, want %q", name, got, want)
		}
		if !strings.Contains(at20, "some of its runs failed or are missing") {
			t.Errorf("without %s, which the table does not explain:\n%s", name, at20)
		}
		// Topic by topic the best is marked where all its repeats are there.
		_, hits, _ := strings.Cut(string(text), "\n### Hits of each topic at 20 pages\n")
		hits, _, _ = strings.Cut(hits, "\n#")
		if !strings.Contains(hits, "| **6.5** (.54 · .54) | 6.5 (") || strings.Count(hits, "**10**") != 1 {
			t.Errorf("without %s:\n%s", name, hits)
		}
		// Nor has it a line in charts of means.
		b, err := newBuilder(r)
		if err != nil {
			t.Fatal(err)
		}
		if lead := b.leaders(b.cells(func(eval.Cell) bool { return true }), maxLines); lead(strategy{"shark-search", "topic"}) || !lead(strategy{"fish-search", "topic"}) {
			t.Errorf("without %s: a line of shark-search, or none of fish-search", name)
		}
	}
}

// Pairs are of the same repeats: of a topic whose second repeat failed under one
// strategy, the other's second repeat is left out as well.
func TestPairsAreOfTheSameRepeats(t *testing.T) {
	lacks := func(k eval.Key) bool { return k.Scorer == "fish-search" && k.Topic == "wasps" && k.Repeat == 1 }
	r := without(lacks)
	// The repeats of breadth-first differ: 4 hits of 20, and 8.
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Scorer == "breadth-first" && c.Repeat == 1 {
			for k := range c.Values {
				if c.Values[k].Measure == "harvest" {
					c.Values[k].Value = .4
				}
			}
		}
	}
	b, err := newBuilder(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.compare("campus", b.cells(func(eval.Cell) bool { return true }), "harvest", 20) {
		// fish-search: bees 7, 6 of 20 against .2, .4; wasps 6 against .2.
		if c.scorer == "fish-search" && (c.Topics != 2 || math.Abs(c.Difference.Mean-((.325-.3)+(.3-.2))/2) > 1e-9 || c.unpaired != 1) {
			t.Errorf("%d topics, difference %v, %d unpaired", c.Topics, c.Difference.Mean, c.unpaired)
		}
	}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, []byte("of up to 1 the other failed or is missing")) {
		t.Error("the page does not tell of the run without a pair")
	}
}

// A topic on which nothing can be found is in no mean, and told.
func TestTopicsWithNothingToFind(t *testing.T) {
	r := one()
	for i := range r.Topics {
		if r.Topics[i].Topic == "wasps" {
			r.Topics[i].Reachable = 0
		}
	}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	if rows := tables(t, page)["campus"]["At 20 pages"]; len(rows) != 4 || rows[1][1] != "1" {
		t.Errorf("%v, want means over one topic", rows)
	}
	if !bytes.Contains(page, []byte("can be reached from the seeds of: campus/wasps.")) {
		t.Error("the page does not say which topic is left out")
	}
}

// Of one topic there is a difference, and no interval.
func TestOneTopicHasNoInterval(t *testing.T) {
	r := one()
	r.Cells = slices.DeleteFunc(r.Cells, func(c eval.Cell) bool { return c.Topic == "wasps" })
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	if row := tables(t, page)["campus: against breadth-first"]["Harvest against breadth-first at 20 pages"][1]; row[3] != "+0.300" {
		t.Errorf("difference %q of one topic", row[3])
	}
	data, err := TestsCSV(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(",20,harvest,1,0.3,,,,1,0,0,")) {
		t.Errorf("tests.csv:\n%s", data)
	}
}

// What is found on topics for development stays out of every other figure.
func TestDevelopmentTopicsStandApart(t *testing.T) {
	r := one()
	for i := range r.Topics {
		r.Topics[i].Dev = r.Topics[i].Topic == "wasps"
	}
	with, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Cells = slices.DeleteFunc(r.Cells, func(c eval.Cell) bool { return c.Topic == "wasps" })
	without, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	a, b := tables(t, with), tables(t, without)
	for section := range a {
		switch {
		case strings.HasPrefix(section, "Topics for development"):
			if b[section] != nil || len(a[section]) == 0 {
				t.Errorf("development without such runs: %v", b[section])
			}
		case section == "Webs": // counts runs
		default:
			for heading, rows := range a[section] {
				if !slices.EqualFunc(rows, b[section][heading], slices.Equal) {
					t.Errorf("%s, %s: with\n%v\nwithout\n%v", section, heading, rows, b[section][heading])
				}
			}
		}
	}
	if rows := a["Topics for development not a test"]["campus at 20 pages, development"]; len(rows) != 4 || rows[1][1] != "1" {
		t.Errorf("development: %v", rows)
	}
	data, err := ValuesCSV(made())
	if err != nil || bytes.Contains(data, []byte(",dev,")) {
		t.Errorf("values.csv tells of development topics where there are none, %v", err)
	}
}

// Target recall is shown when half of the targets were hidden, and only then.
func TestTargetRecallIsShown(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		r := one()
		for i := range r.Cells {
			for k := range r.Cells[i].Values {
				if v := &r.Cells[i].Values[k]; v.Measure == "target-recall" && hidden {
					v.Value = .25
				}
			}
		}
		r.Headline = []string{"hits"} // it comes on its own
		page, err := HTML(r)
		if err != nil {
			t.Fatal(err)
		}
		rows := tables(t, page)["campus"]["At 20 pages"]
		at := slices.Index(rows[0], "target recall")
		if at >= 0 != hidden || hidden && rows[1][at] != "0.250" {
			t.Errorf("hidden %v: %v", hidden, rows)
		}
	}
}

// The measures of the papers are in a section that says what they are, as charts and
// as CSV.
func TestAsThePapersMeasured(t *testing.T) {
	r := one()
	for i := range r.Cells {
		c := &r.Cells[i]
		// Lines that are straight and lie together would not be drawn.
		rises := func(n int) float64 {
			if c.Scorer == "fish-search" {
				return float64(n)
			}
			return float64(n) * float64(n) / 20
		}
		for k, γ := range eval.Thresholds() {
			for j, n := range c.Points {
				c.Sweep[k][j] = rises(n) * (1 - γ)
			}
		}
		for j, n := range c.Points {
			c.Similar[j] = rises(n) / 4
		}
	}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	section := tables(t, page)["As the papers measured decoration"]
	rows := section["campus at 20 pages, as the papers measured"]
	want := []string{"strategy", "topics", "H/U", "H/G", "precision mesh", "sigma", "sigma printed", "APR", "similar pages", "judged harvest", "judged loss", "judged loss sum"}
	if len(rows) != 4 || !slices.Equal(rows[0], want) {
		t.Errorf("tables %v", rows)
	}
	for _, words := range []string{"decide nothing", "and the examples that were shown", "γ = 0.575", "γ = 0.75", "Precision by similarity: campus", "Similar pages: campus"} {
		if !bytes.Contains(page, []byte(words)) {
			t.Errorf("the page does not hold %q", words)
		}
	}
	data, err := SurfaceCSV(r)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(lines[0], []string{"web", "synthetic", "scorer", "judge", "topics", "pages", "precision_0.5", "precision_0.575", "precision_0.65", "precision_0.725", "precision_0.8", "similar_0.75"}) {
		t.Errorf("head %v", lines[0])
	}
	found := false
	for _, l := range lines {
		if slices.Equal(l[:6], []string{"campus", "false", "fish-search", "topic", "2", "10"}) {
			found = true
			if !slices.Equal(l[6:], []string{"0.5", "0.425", "0.35", "0.275", "0.2", "2.5"}) {
				t.Errorf("at 10 pages: %v", l)
			}
		}
	}
	if !found {
		t.Error("no line for 10 pages of fish-search")
	}
}

// A lab that names σ among its measures gets it as a chart over the budgets, with each
// strategy; others do not.
func TestSigmaChart(t *testing.T) {
	r := one()
	for i := range r.Cells {
		for k, v := range r.Cells[i].Values {
			if v.Measure == "sigma" {
				r.Cells[i].Values[k].Value = map[string]eval.Number{"breadth-first": .2, "fish-search": .5, "shark-search": .75}[r.Cells[i].Scorer]
			}
		}
	}
	for _, c := range []struct {
		headline []string
		want     string
	}{
		{nil, ""},
		{[]string{"hits", "sigma"}, "Lines: σ over pages fetched. breadth-first ends at 0.2. fish-search ends at 0.5. shark-search ends at 0.8."},
	} {
		r.Headline = c.headline
		plots, err := Plots(r)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range plots {
			if p.Name == "campus-sigma" {
				got = p.Drawing.Description
			}
		}
		if got != c.want {
			t.Errorf("measures %v: %q, want %q", c.headline, got, c.want)
		}
	}
}

// Strategies are compared on AUC, harvest and H/U; each family of tests is
// adjusted on its own.
func TestComparisons(t *testing.T) {
	page, err := HTML(made())
	if err != nil {
		t.Fatal(err)
	}
	section := tables(t, page)["campus: against breadth-first"]
	for _, title := range []string{"AUC", "Harvest", "H/U"} {
		for _, n := range []string{"10", "20"} {
			rows := section[title+" against breadth-first at "+n+" pages"]
			if len(rows) != 4 || !slices.Contains(rows[0], "detectable") || !slices.Contains(rows[0], "worst topic") {
				t.Errorf("%s at %s: %v", title, n, rows)
			}
		}
	}
	// Harvest at 20: shark-search 10 hits of 20 on both topics, breadth-first 4.
	if row := section["Harvest against breadth-first at 20 pages"][1]; row[0] != "shark-search" || row[3] != "+0.300 +0.300 … +0.300" {
		t.Errorf("harvest: %v", row)
	}
	data, err := TestsCSV(made())
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	// (all + 3 webs) × 2 budgets × 3 measures × 2 strategies, and the head
	if err != nil || len(lines) != 1+4*2*3*2 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// A judge's reliability pools its bins over topics, by their pages.
func TestReliability(t *testing.T) {
	r := one()
	r.Judges = []Judge{
		{Web: "campus", Topic: "bees", Judge: "topic", Precision: .5, AUROC: .75, Bins: []Bin{{30, .1, .2}, {20, .9, .5}, {9, .95, 1}}},
		{Web: "campus", Topic: "wasps", Judge: "topic", Precision: 1, AUROC: math.NaN(), Bins: []Bin{{10, .3, .6}, {0, 0, 0}}},
	}
	b, err := newBuilder(r)
	if err != nil {
		t.Fatal(err)
	}
	chart, ok := b.reliability("campus")
	if !ok || len(chart.Series) != 2 || len(chart.Series[0].X) != 2 {
		t.Fatalf("%d series, %v", len(chart.Series), ok)
	}
	got := chart.Series[0]
	for i, want := range [][2]float64{{.15, .3}, {.9, .5}} {
		if math.Abs(got.X[i]-want[0]) > 1e-12 || math.Abs(got.Y[i]-want[1]) > 1e-12 {
			t.Errorf("point %d: %v %v, want %v", i, got.X[i], got.Y[i], want)
		}
	}
	if _, ok := b.reliability("manuals"); ok {
		t.Error("a chart of no judge")
	}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	rows := tables(t, page)["Judges against the truth"]["Mean over topics"]
	if len(rows) != 2 || !slices.Equal(rows[1], []string{"campus", "topic", "2", "0.000", "0.750", "0.000", "0.750", "0.000"}) {
		t.Errorf("means %v", rows)
	}
}

// Costs say by what they were measured, and leave out of the sum what was
// done once for all runs.
func TestCosts(t *testing.T) {
	r := one()
	r.Costs = []Cost{{"shark-search", "topic", []Stage{{"parse", 2, true}, {"score", .5, false}, {"judge", .25, false}}, 1.5}, {"fish-search", "topic", []Stage{{"score", .5, false}}, math.NaN()}}
	for clock, says := range map[string]string{"": "it is not the processor", "processor time of the thread": "processor time of the thread"} {
		r.Clock = clock
		page, err := HTML(r)
		if err != nil {
			t.Fatal(err)
		}
		want := [][]string{{"scorer", "judge", "parse ‡", "score", "judge", "sum", "training, s"},
			{"fish-search", "topic", "–", "0.500", "–", "0.500", "–"}, {"shark-search", "topic", "2.000", "0.500", "0.250", "0.750", "1.50"}}
		if got := tables(t, page)["Costs"][""]; !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("costs %v", got)
		}
		if !bytes.Contains(page, []byte(says)) {
			t.Errorf("the page does not say %q", says)
		}
	}
}

// A report of a run that goes on says so before anything else.
func TestUnfinishedRunsAreTold(t *testing.T) {
	r := one()
	r.Missing = 7
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(page, []byte("7 runs of 19 are not there yet")); at < 0 || at > bytes.Index(page, []byte("<nav")) {
		t.Errorf("7 of 19 missing runs are told at %d", at)
	}
}

func TestAlong(t *testing.T) {
	points, values := []int{2, 4, 8}, []float64{1, 1, 5}
	for n, want := range map[float64]float64{0: 0, 1: .5, 2: 1, 3: 1, 4: 1, 6: 3, 8: 5} {
		if got := along(points, values, n); got != want {
			t.Errorf("at %v: %v, want %v", n, got, want)
		}
	}
	if got := along(points, values, 9); !math.IsNaN(got) {
		t.Errorf("beyond the end: %v", got)
	}
}

// A value stands with its bounds: below and above an estimate, above alone what is
// least itself, and turned where less is better.
func TestBetween(t *testing.T) {
	measures := map[string]eval.Measure{}
	for _, m := range eval.Measures() {
		measures[m.Name] = m
	}
	for _, c := range []struct {
		measure      string
		low, v, high float64
		want         string
	}{
		{"hits", 5, 5, 5, "5"},
		{"hits", 5, 5, 9, "5…9"},
		{"hits", 5, 6.25, 9, "6.2 (5…9)"},
		{"harvest", .1, .15, .4, "0.150 (0.100…0.400)"},
		{"loss", .9, .85, .6, "0.850 (0.600…0.900)"},
		{"loss", .9, .9, .6, "0.600…0.900"},
		{"recall", math.NaN(), .5, math.NaN(), "0.500"},
		{"hits", math.NaN(), math.NaN(), math.NaN(), "–"},
	} {
		if got := between(measures[c.measure], c.low, c.v, c.high); got != c.want {
			t.Errorf("%s %v %v %v: %s, want %s", c.measure, c.low, c.v, c.high, got, c.want)
		}
	}
}

// Of ranges that overlap none is marked as the best.
func TestRangesThatOverlap(t *testing.T) {
	row := func(name string, low, high float64) rankRow {
		return rankRow{strategy: strategy{name, "topic"}, lower: []float64{low}, values: []float64{low}, upper: []float64{high}, known: []int{1}, whole: true}
	}
	for _, c := range []struct {
		rows   []rankRow
		better int
		want   string // marked
	}{
		{[]rankRow{row("a", 4, 55), row("b", 0, 68)}, 1, ""},
		{[]rankRow{row("a", 60, 70), row("b", 0, 55)}, 1, "a"},
		{[]rankRow{row("a", 4, 4), row("b", 3, 3)}, 1, "a"},
		{[]rankRow{row("a", 4, 4), row("b", 3, 9)}, 1, ""},
		{[]rankRow{row("a", .9, .5), row("b", .4, .3)}, -1, "b"},
	} {
		marked := ""
		for _, r := range c.rows {
			if best(c.rows, r, 0, c.better) {
				marked += r.scorer
			}
		}
		if marked != c.want {
			t.Errorf("%v: %q is marked, want %q", c.rows, marked, c.want)
		}
	}
}
