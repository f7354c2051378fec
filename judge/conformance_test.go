package judge_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// drawTopic draws a topic that every pure judge can be made of.
func drawTopic(t *rapid.T) *topic.Topic {
	tp := bees()
	if rapid.Bool().Draw(t, "negatives") {
		tp.Negatives = []*web.Page{near, offTopic}
	}
	if rapid.Bool().Draw(t, "an example more") {
		tp.Examples = append(tp.Examples, drawPage(t, "example"))
	}
	tp.Keywords = append(tp.Keywords, rapid.SliceOfN(rapid.SampledFrom([]string{"winter", "the hive", "蜜蜂", "\u202ecomb", "paper nests of wasps", "1999"}), 0, 3).Draw(t, "keywords")...)
	return tp
}

// drawPage draws a page such as no honest person writes, but one that holds a
// word at least.
func drawPage(t *rapid.T, label string) *web.Page {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"bees", "honey", "queen excluder", "hive", "the", "steel prices", menu, "蜜蜂の巣", "\u202e\x00\xff", "Bees | Bern", strings.Repeat("colony ", 500), "<b>"}),
		rapid.String(), rapid.StringMatching(`([a-z]{1,9} ){0,30}`),
	)
	u := rapid.SampledFrom([]string{"http://x.test/1", "http://x.test/", "http://uci.test:8080/bees?q=%ff", "http://[::1]/"}).Draw(t, label+" address")
	p := page(u, "Bees "+piece.Draw(t, label+" title"), "")
	c := text.NewCounter(text.NewAnalyzer())
	c.Add(p.Title, true)
	p.Leaves = nil
	for i, s := range rapid.SliceOfN(piece, 0, 30).Draw(t, label+" leaves") {
		c.Add(s, i == 3)
		p.Leaves = append(p.Leaves, web.Leaf{Text: s})
		switch i {
		case 3:
			p.Headings = append(p.Headings, s)
		case 5:
			p.Alts = append(p.Alts, s)
		case 7:
			p.Links = append(p.Links, web.Link{URL: p.URL, Anchor: s, First: i - 1, Last: i + 40}, web.Link{URL: p.URL, First: 0, Last: -1})
		}
	}
	p.Terms = c.Terms()
	for i := range p.Terms {
		if rapid.IntRange(0, 20).Draw(t, label+" much") == 0 {
			p.Terms[i].Body = math.MaxInt32
		}
	}
	copy(p.Digest[:], fmt.Sprint(label, len(p.Terms), len(p.Leaves)))
	return p
}

// Every judge says the same of a page whenever it is asked, within bounds, on any
// page; what it explains is what it says, and the parts make up the whole.
func TestConformance(t *testing.T) {
	o := judge.Options{Analyzer: text.NewAnalyzer(), DF: text.Background()}
	for _, name := range pure() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				tp := drawTopic(t)
				own := o
				own.Threshold = rapid.SampledFrom([]float64{0, 0.01, 0.3, 1}).Draw(t, "threshold")
				own.Anyway = true
				j, err := judge.New(name, tp, own)
				if err != nil {
					t.Fatal(err)
				}
				defer j.Close()
				if γ := j.Threshold(); !(γ > 0 && γ <= 1) || own.Threshold > 0 && γ != own.Threshold {
					t.Fatalf("threshold %v, given %v", γ, own.Threshold)
				}
				pages := []*web.Page{drawPage(t, "a"), drawPage(t, "b"), {}}
				var said []web.Verdict
				for round := range 2 {
					for i, p := range pages {
						v, err := j.Judge(context.Background(), p)
						if err != nil {
							t.Fatal(err)
						}
						if !(v.Relevance >= 0 && v.Relevance <= 1 && v.Similarity >= 0 && v.Similarity <= 1) || v.Relevant != (v.Relevance >= j.Threshold()) {
							t.Fatalf("%+v at threshold %v", v, j.Threshold())
						}
						if round == 0 {
							said = append(said, v)
						} else if !reflect.DeepEqual(v, said[i]) {
							t.Fatalf("%+v, and before %+v", v, said[i])
						}
					}
				}
				for _, s := range []string{"", pages[0].Title, pages[1].Main, "bees", "\xff"} {
					if x := j.Text(s); !(x >= 0 && x <= 1) {
						t.Fatalf("Text(%q) = %v", s, x)
					}
				}
				x, ok := j.(judge.Explainer)
				if !ok {
					t.Fatal("it cannot explain")
				}
				for i, p := range pages {
					e := x.Explain(p)
					if !reflect.DeepEqual(e.Verdict, said[i]) {
						t.Fatalf("explained as %+v, judged %+v", e.Verdict, said[i])
					}
					sum := 0.
					for _, r := range e.Reasons {
						sum += r.Part
					}
					if e.Sum != max(0, e.Sum) && (name == "topic" || name == "keyword") {
						t.Fatalf("a score of %v", e.Sum)
					}
					if math.Abs(sum-e.Sum) > 1e-6*max(1, math.Abs(sum)) && !(e.Sum == 0 && sum < 0) && e.Sum != 1 {
						t.Fatalf("the parts make %v, the whole is %v", sum, e.Sum)
					}
				}
			})
		})
	}
}

// One keyword more in the place of another word makes no page less relevant.
func TestMonotone(t *testing.T) {
	o := judge.Options{Analyzer: text.NewAnalyzer(), DF: text.Background()}
	for _, name := range []string{"topic", "keyword"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				j, err := judge.New(name, bees(), o)
				if err != nil {
					t.Fatal(err)
				}
				if a, ok := j.(adapting); ok {
					for range rapid.IntRange(0, 40).Draw(t, "observed") {
						p := drawPage(t, "seen")
						v, _ := j.Judge(context.Background(), p)
						a.Observe(p, v)
					}
				}
				words := rapid.SliceOfN(rapid.SampledFrom([]string{"steel", "energy", "bees", "honey", "excluder", "wasps"}), 1, 60).Draw(t, "words")
				at := rapid.IntRange(0, len(words)-1).Draw(t, "place")
				keyword := rapid.SampledFrom([]string{"bees", "honey"}).Draw(t, "keyword")
				if words[at] != "steel" && words[at] != "energy" && words[at] != "wasps" {
					return
				}
				before, _ := j.Judge(context.Background(), page("http://z.test/", "", strings.Join(words, " ")))
				words[at] = keyword
				after, _ := j.Judge(context.Background(), page("http://z.test/", "", strings.Join(words, " ")))
				if after.Relevance < before.Relevance || after.Similarity < before.Similarity {
					t.Fatalf("%+v with %s once more, %+v without", after, keyword, before)
				}
			})
		})
	}
}
