package judge_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/judge/judgetest"
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
		tp.Examples = append(tp.Examples, judgetest.DrawPage(t, "example"))
	}
	tp.Keywords = append(tp.Keywords, rapid.SliceOfN(rapid.SampledFrom([]string{"winter", "the hive", "蜜蜂", "\u202ecomb", "paper nests of wasps", "1999"}), 0, 3).Draw(t, "keywords")...)
	return tp
}

// Every judge holds to judgetest, and can explain a verdict by parts that make up the
// whole.
func TestConformance(t *testing.T) {
	o := judge.Options{Analyzer: analyzer, DF: text.Background()}
	for _, name := range pure() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				tp := drawTopic(t)
				own := o
				own.Threshold = rapid.SampledFrom([]float64{0, 0.01, 0.3, 1}).Draw(t, "threshold")
				own.Anyway = true
				make := func() judgetest.Judge {
					j, err := judge.New(name, tp, own)
					if err != nil {
						t.Fatal(err)
					}
					return j
				}
				judgetest.Check(t, make)
				j := make()
				defer j.Close()
				if γ := j.Threshold(); own.Threshold > 0 && γ != own.Threshold {
					t.Fatalf("threshold %v, given %v", γ, own.Threshold)
				}
				x, ok := j.(judge.Explainer)
				if !ok {
					t.Fatal("it cannot explain")
				}
				for _, p := range []*web.Page{judgetest.DrawPage(t, "a"), {}} {
					e := x.Explain(p)
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
	o := judge.Options{Analyzer: analyzer, DF: text.Background()}
	for _, name := range []string{"topic", "keyword"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				j, err := judge.New(name, bees(), o)
				if err != nil {
					t.Fatal(err)
				}
				if a, ok := j.(adaptiveJudge); ok {
					for range rapid.IntRange(0, 40).Draw(t, "observed") {
						p := judgetest.DrawPage(t, "seen")
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

// The judges that need more than a topic hold to judgetest as well.
func TestOthersConform(t *testing.T) {
	rules := []judge.Rule{{Field: "url", Pattern: "bees", Weight: 0.6}, {Field: "body", Pattern: "honey", Weight: 0.7}, {Field: "title", Pattern: "(?i)bern", Weight: -1}}
	for name, o := range map[string]judge.Options{
		"rules":  {Rules: rules},
		"topic":  {Frozen: true},
		"critic": {Printed: true, Anyway: true},
	} {
		t.Run(name, func(t *testing.T) {
			judgetest.Run(t, func() judgetest.Judge {
				j, err := judge.New(name, bees(), o)
				if err != nil {
					t.Fatal(err)
				}
				return j
			})
		})
	}
}
