package lab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// A person labels a page after so many others, by the truth but for wrong labels, and no
// page twice.
func TestLabeller(t *testing.T) {
	address := func(i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://h.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	said := func(labels Labels) string {
		l := labeller{Labels: &labels, relevant: eval.NewSet(address(2), address(4)), threshold: 0.5, seed: 1}
		for i := range 12 {
			l.add(event.Fetched{Visit: event.Visit{URL: address(i)}, Relevance: float64(i) / 10})
		}
		acts, err := l.After(0)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, a := range acts {
			out = append(out, strings.Replace(a.Words(), "http://h.example/", "", 1))
		}
		return strings.Join(out, ", ")
	}
	for _, x := range []struct {
		labels Labels
		want   string
	}{
		{Labels{Count: 3, Every: 4}, "irrelevant 3, irrelevant 5, relevant 4"},
		{Labels{Count: 3, Every: 4, Wrong: 1}, "relevant 3, relevant 5, irrelevant 4"},
		{Labels{Count: 9, Every: 4, More: true}, "irrelevant 3, irrelevant 5, more 4"},
		{Labels{Count: 1}, "irrelevant 5"},
	} {
		if got := said(x.labels); got != x.want {
			t.Errorf("%+v: %s; want %s", x.labels, got, x.want)
		}
	}
	random := said(Labels{Count: 4, Every: 3, Ask: "random"})
	if strings.Count(random, ",") != 3 || random == said(Labels{Count: 4, Every: 3}) || random != said(Labels{Count: 4, Every: 3, Ask: "random"}) {
		t.Errorf("at random: %s", random)
	}
}

// What a lab file says of labels is checked.
func TestLabelsRefused(t *testing.T) {
	for labels, want := range map[string]string{
		"{count: 0}":               "count lies in 1…1,000",
		"{count: 5, every: -1}":    "every is at least 1",
		"{count: 5, ask: loudly}":  "ask is uncertain or random",
		"{count: 5, wrong: 1.5}":   "wrong lies in 0…1",
		"{count: 5, unknown: 1.5}": `labels have no key "unknown"`,
	} {
		_, err := decode("lab.yaml", []byte("webs: [{path: w}]\nscorers: [{name: waggle, labels: "+labels+"}]\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", labels, err, want)
		}
	}
}

// Labels teach judge and scorer: crawls with right and with wrong ones differ, and so do
// crawls with and without; of a judge and a scorer that learn from none, none do.
func TestLabelsTeach(t *testing.T) {
	crawled := func(scorer, judge, labels string) string {
		f := read(t, "webs: [{path: "+small(t)+", budgets: [10, 60]}]\njudges: ["+judge+"]\nscorers: [{name: "+scorer+labels+"}]\n")
		out := t.TempDir()
		if o, err := f.Run(t.Context(), out, Options{}); err != nil || o.Failed > 0 {
			t.Fatal(o, err)
		}
		r, text := reportOf(t, out)
		if told := strings.Contains(text, "is told of a page whether it is relevant"); told != (labels != "") {
			t.Errorf("%q: that labels are given is told: %v", labels, told)
		}
		cells := ""
		for _, c := range r.Cells {
			cells += fmt.Sprintln(c.Key.Topic, c.Values)
		}
		return cells
	}
	cases := []struct {
		scorer, judge string
		learns        bool
	}{
		{"waggle", "cosine-tf-max", true}, {"best-first-both", "topic", false},
	}
	for _, x := range cases[:long.Of(1, len(cases))] {
		none := crawled(x.scorer, x.judge, "")
		right, wrong := crawled(x.scorer, x.judge, ", labels: {count: 15, every: 2}"), crawled(x.scorer, x.judge, ", labels: {count: 15, every: 2, wrong: 1}")
		if learns := none != right || right != wrong; learns != x.learns {
			t.Errorf("%s under %s learns from labels: %v", x.scorer, x.judge, learns)
		}
		if x.scorer == "waggle" && right == wrong {
			t.Errorf("%s under %s: wrong labels are as good as right ones", x.scorer, x.judge)
		}
	}
}
