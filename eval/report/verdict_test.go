package report

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
)

// auc is a result by hand: a web of topics on which each strategy has an AUC.
type auc map[string]func(topic int) float64

// results makes cells that hold these AUCs at the budgets.
func (a auc) results(topics int, budgets ...int) Results {
	r := Results{Webs: []Web{{Name: "campus"}}, Budgets: budgets}
	for t := range topics {
		topic := eval.TopicID{Web: "campus", Topic: fmt.Sprintf("t%02d", t)}
		r.Topics = append(r.Topics, Topic{TopicID: topic, Reachable: 1})
		for scorer, of := range a {
			c := eval.Cell{Key: eval.Key{Web: topic.Web, Topic: topic.Topic, Scorer: scorer, Judge: "topic"}}
			for _, n := range budgets {
				c.Values = append(c.Values, eval.Value{Budget: n, Measure: "hits", Value: 1}, eval.Value{Budget: n, Measure: "auc", Value: eval.Number(of(t))})
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

// near is an AUC that differs from topic to topic by a spread.
func near(mean, spread float64) func(int) float64 {
	return func(t int) float64 { return mean + spread*float64(t*7%5-2) }
}

// The head of a report says in two sentences what the tests come to.
func TestVerdict(t *testing.T) {
	clear := auc{"bee": near(.5, .01), "wasp": near(.3, .01), "ant": near(.1, .01)}
	for _, test := range []struct {
		name string
		r    Results
		want string
	}{
		{"nothing was run", Results{}, ""},
		{"one strategy", auc{"bee": near(.5, 0)}.results(8, 100),
			"Only bee has all of its runs, so there is nothing to compare it with. At 100 pages its mean AUC over 8 topics is 0.500."},
		{"all told apart", clear.results(8, 100),
			"bee is best: at 100 pages it has the highest AUC of 3 strategies, 0.500 on average over 8 topics. The tests tell it apart from every other (p at most .023)."},
		{"some told apart", auc{"bee": near(.5, .01), "wasp": func(t int) float64 { return .499 + .02*float64(t%2) - .01 }, "ant": near(.1, .01)}.results(10, 100),
			"bee is best: at 100 pages it has the highest AUC of 3 strategies, 0.500 on average over 10 topics. The tests tell it apart from ant (p at most .006), but not from wasp."},
		{"behind on most topics", auc{"bee": func(t int) float64 { return .4 + .5*float64(t/18) }, "wasp": near(.41, 0), "ant": near(.1, .01)}.results(20, 100),
			"bee is best: at 100 pages it has the highest AUC of 3 strategies, 0.450 on average over 20 topics. The tests tell it apart from ant (p below .001), but not from wasp."},
		{"too few topics", clear.results(3, 100),
			"No strategy is shown to be the best: at 100 pages bee has the highest AUC, 0.500 on average over 3 topics, but the tests do not tell it apart from any other. " +
				"3 topics are too few for that, whatever was found: with 3 strategies at least 7 are needed."},
		{"topics too different", auc{"bee": func(t int) float64 { return .5 + .2*float64(t%2) }, "wasp": func(t int) float64 { return .57 - .1*float64(t%2) + .05*float64(t%3) }}.results(8, 100),
			"No strategy is shown to be the best: at 100 pages bee has the highest AUC, 0.600 on average over 8 topics, but the tests do not tell it apart from any other. " +
				"Its lead over wasp is 0.036, and with topics as different as these 8 of them show a lead of 0.181 or more; for a lead of this size some 154 topics are needed."},
		{"alike", auc{"bee": near(.5, .01), "wasp": near(.5, .01)}.results(8, 100),
			"No strategy is shown to be the best: at 100 pages bee has the highest AUC, 0.500 on average over 8 topics, but the tests do not tell it apart from any other. wasp is as good on average."},
		{"the largest budget of most topics", func() Results {
			r := clear.results(8, 100, 1000)
			for i := range r.Cells { // 1,000 pages were granted to three topics
				if c := &r.Cells[i]; c.Topic > "t02" {
					c.Values = slices.DeleteFunc(c.Values, func(v eval.Value) bool { return v.Budget == 1000 })
				}
			}
			return r
		}(), "bee is best: at 100 pages it has the highest AUC of 3 strategies, 0.500 on average over 8 topics. The tests tell it apart from every other (p at most .023)."},
		{"one that is not whole", func() Results {
			r := clear.results(8, 100)
			i := slices.IndexFunc(r.Cells, func(c eval.Cell) bool { return c.Scorer == "bee" })
			r.Cells[i] = eval.Cell{Key: r.Cells[i].Key, Error: "damaged"}
			return r
		}(), "wasp is best: at 100 pages it has the highest AUC of 2 strategies, 0.300 on average over 8 topics. The tests tell it apart from every other (p at most .008)."},
		{"a web that was made up", func() Results {
			r := clear.results(8, 100)
			r.Webs[0].Synthetic = true
			return r
		}(), "On webs that were made up, which support no claim: bee is best: at 100 pages it has the highest AUC of 3 strategies, 0.500 on average over 8 topics. The tests tell it apart from every other (p at most .023)."},
		{"topics for development", func() Results {
			r := clear.results(8, 100)
			for i := range r.Topics {
				r.Topics[i].Dev = true
			}
			return r
		}(), ""},
	} {
		got, err := Verdict(test.r)
		if err != nil || strings.Join(strings.Fields(got), " ") != test.want {
			t.Errorf("%s: %v\n got %s\nwant %s", test.name, err, got, test.want)
		}
	}
}

// The verdict, its words and what warns stand before the first figure, in both
// formats.
func TestTheVerdictStandsFirst(t *testing.T) {
	r := auc{"bee": near(.5, .01), "wasp": near(.3, .01)}.results(8, 100)
	r.Rules, r.Missing = []string{"Seeds and examples are no hits."}, 3
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Markdown(r, "")
	if err != nil {
		t.Fatal(err)
	}
	for format, s := range map[string]string{"HTML": string(page), "Markdown": string(text)} {
		at := -1
		for _, words := range []string{"bee is best", "AUC: the share of hits", "3 runs of 19", "Seeds and examples are no hits.", "11"} {
			i := strings.Index(s, words)
			if words == "11" { // the first section
				i = max(strings.Index(s, "<nav"), strings.Index(s, "## Webs"))
			}
			if i <= at {
				t.Errorf("%s: %q stands at %d, not after %d", format, words, i, at)
			}
			at = i
		}
	}
}

func TestListed(t *testing.T) {
	names := strings.Fields("a b c d e f g h")
	for n, want := range map[int]string{0: "", 1: "a", 2: "a and b", 3: "a, b and c", 6: "a, b, c, d, e and f", 7: "a, b, c, d, e and 2 others", 8: "a, b, c, d, e and 3 others"} {
		if got := listed(names[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// seeded is one()'s results on campus, where seeds took some places of each
// budget on a topic.
func seeded(places map[string]int) Results {
	r := one()
	for i := range r.Cells {
		c := &r.Cells[i]
		for k := range c.Values {
			if v := &c.Values[k]; v.Measure == "seeds" {
				v.Value = eval.Number(min(places[c.Topic], v.Budget))
			}
		}
	}
	return r
}

// Of a budget that goes to seeds for more than its half, no figure tells of the
// strategies: such topics are in no table, and a table of such alone is not there.
func TestBudgetsThatSeedsEat(t *testing.T) {
	for _, test := range []struct {
		name     string
		places   map[string]int
		at10     string // topics of the first line of that table, "" = no table
		at20     string
		says     string
		absent   string
		warnings int
	}{
		{"few seeds", map[string]int{"bees": 3, "wasps": 5}, "2", "2", "", "Left out, as seeds", 0},
		{"many on one topic", map[string]int{"bees": 6, "wasps": 3}, "1", "2", "Left out, as seeds take more than half of the 10 pages and the figures would tell of them: campus/bees (6).", "There is no table", 1},
		{"many on all", map[string]int{"bees": 8, "wasps": 9}, "", "2", "There is no table at 10 pages. Left out, as seeds take more than half of the 10 pages and the figures would tell of them: campus/bees (8) and campus/wasps (9).", "\x00", 1},
		{"all the budget", map[string]int{"bees": 20, "wasps": 20}, "", "", "There is no table at 20 pages.", "\x00", 2},
	} {
		r := seeded(test.places)
		page, err := HTML(r)
		if err != nil {
			t.Fatal(err)
		}
		all := tables(t, page)["campus"]
		for title, want := range map[string]string{"At 10 pages": test.at10, "At 20 pages": test.at20} {
			got := ""
			if rows := all[title]; len(rows) > 0 {
				got = rows[1][1]
			}
			if got != want {
				t.Errorf("%s: %s is of %q topics, want %q", test.name, title, got, want)
			}
		}
		if !bytes.Contains(page, []byte(test.says)) || bytes.Contains(page, []byte(test.absent)) {
			t.Errorf("%s: the page does not say %q, or says %q", test.name, test.says, test.absent)
		}
		if hits := all["Hits of each topic at 10 pages"]; test.at10 == "1" && (len(hits) == 0 || !slices.Equal(hits[0], []string{"strategy", "wasps"})) {
			t.Errorf("%s: topic by topic %v", test.name, hits)
		}
		if n := bytes.Count(page, []byte("Seeds take more than half of ")); n != test.warnings {
			t.Errorf("%s: %d warnings, want %d", test.name, n, test.warnings)
		}
		data, err := ValuesCSV(r)
		if err != nil || bytes.Count(data, []byte(",10,hits,")) != 12 {
			t.Errorf("%s: values.csv lacks values, %v", test.name, err)
		}
		if plots, err := Plots(r); err != nil || !slices.ContainsFunc(plots, func(p Plot) bool { return p.Name == "campus-harvest" }) {
			t.Errorf("%s: no chart of the harvest, %v", test.name, err)
		}
	}
}

// What the head of a column means stands beneath the table that names it first,
// and the head of every other leads there.
func TestMeasuresAreDefinedWhereTheyAreFirstUsed(t *testing.T) {
	page, err := HTML(made())
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]int{}
	for _, m := range regexp.MustCompile(`<div id="(term-[^"]+)">`).FindAllSubmatchIndex(page, -1) {
		name := string(page[m[2]:m[3]])
		if _, twice := defined[name]; twice {
			t.Errorf("%s is defined twice", name)
		}
		defined[name] = m[0]
	}
	heads := regexp.MustCompile(`<th [^>]*><a href="#(term-[^"]+)">`).FindAllSubmatchIndex(page, -1)
	first := map[string]int{}
	for _, m := range heads {
		name := string(page[m[2]:m[3]])
		if _, ok := first[name]; !ok {
			first[name] = m[0]
		}
	}
	for name, at := range first {
		end := at + bytes.Index(page[at:], []byte("</dl>"))
		if d, ok := defined[name]; !ok || d < at || d > end {
			t.Errorf("%s is named at %d and defined at %d, not before %d", name, at, d, end)
		}
	}
	if len(first) < 25 || len(heads) < 3*len(first) {
		t.Errorf("%d measures in %d heads", len(first), len(heads))
	}
}
