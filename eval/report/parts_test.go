package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
)

// parted makes three parts of each topic: on the second and third, all that a strategy
// found is less by .01 and .02.
func parted(r Results) Results {
	var topics []Topic
	var cells []eval.Cell
	for k, part := range []string{"a.example", "b.example", "c.example"} {
		for _, t := range r.Topics {
			t.Topic, t.Part = t.Topic+"@"+part, part
			topics = append(topics, t)
		}
		for _, c := range r.Cells {
			c.Topic += "@" + part
			c.Values = slices.Clone(c.Values)
			for i := range c.Values {
				if c.Values[i].Measure == "auc" {
					c.Values[i].Value -= eval.Number(k) * .01
				}
			}
			cells = append(cells, c)
		}
	}
	r.Topics, r.Cells = topics, cells
	return r
}

// Parts of a topic are no topics of their own: the tests of three topics in nine parts
// are those of three.
func TestPartsAreAveraged(t *testing.T) {
	strategies := auc{"bee": near(.5, .01), "breadth-first": near(.3, .01), "ant": near(.1, .01)}
	r := parted(strategies.results(3, 100))
	said, err := Verdict(r)
	if err != nil {
		t.Fatal(err)
	}
	want := "No strategy is shown to be the best: at 100 pages bee has the highest AUC, 0.490 on average over 3 topics, but the tests do not tell it apart from any other. " +
		"3 topics are too few for that, whatever was found: with 3 strategies at least 7 are needed."
	if said != want {
		t.Errorf("of three topics in nine parts:\n got %s\nwant %s", said, want)
	}
	tests, err := TestsCSV(r)
	if err != nil {
		t.Fatal(err)
	}
	if first := strings.Split(string(tests), "\n")[1]; !strings.HasPrefix(first, "*,false,bee,topic,breadth-first,100,auc,3,0.2,") {
		t.Errorf("a comparison over three topics: %s", first)
	}
	page, err := Markdown(r, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"campus: 3 topics in 9 parts, of which each is crawled on its own.", "| 3 in 9 parts |", "| bee | 3 |", "t00, mean of 3 parts"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the report does not say %q", want)
		}
	}
	values, err := ValuesCSV(r)
	if err != nil || strings.Count(string(values), "@b.example") != 3*3*2 {
		t.Errorf("parts in values.csv: %d lines, %v", strings.Count(string(values), "@b.example"), err)
	}
}

// A strategy that failed on one part has not all of its runs, and a part on which
// nothing can be found is in no mean.
func TestPartsThatFail(t *testing.T) {
	r := parted(auc{"bee": near(.5, .01), "ant": near(.1, .01)}.results(8, 100))
	i := slices.IndexFunc(r.Cells, func(c eval.Cell) bool { return c.Scorer == "bee" && c.Topic == "t03@b.example" })
	r.Cells[i] = eval.Cell{Key: r.Cells[i].Key, Error: "damaged"}
	if said, err := Verdict(r); err != nil || !strings.HasPrefix(said, "Only ant has all of its runs") {
		t.Errorf("one part failed: %s, %v", said, err)
	}
	for k := range r.Topics {
		if r.Topics[k].Topic == "t03@b.example" {
			r.Topics[k].Reachable = 0
		}
	}
	if said, err := Verdict(r); err != nil || !strings.HasPrefix(said, "bee is best: at 100 pages it has the highest AUC of 2 strategies, 0.490 on average over 8 topics.") {
		t.Errorf("that part is barren: %s, %v", said, err)
	}
}
