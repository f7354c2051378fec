package judge_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// keywordJudge is crawl.KeywordJudge.
type keywordJudge interface {
	Keywords(words []string, page func(web.URL) (*web.Page, error)) ([]web.Renewal, error)
}

// Which judges take other keywords is told before one is made.
func TestRewords(t *testing.T) {
	for _, name := range pure() {
		j, err := judge.New(name, bees(), judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		_, takes := j.(keywordJudge)
		if d, _ := judge.Describe(name); judge.Rewords(d) != takes {
			t.Errorf("%s takes other keywords: %v, and tells %v", name, takes, judge.Rewords(d))
		}
	}
	for _, name := range []string{"rules", "command"} {
		if d, ok := judge.Describe(name); !ok || judge.Rewords(d) {
			t.Errorf("%s tells that it takes keywords", name)
		}
	}
}

// A judge that is given other keywords judges as one that had them from the beginning,
// says so of the pages that it remembers, and can be restored.
func TestOtherKeywords(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(1, 2))}
	var pages, later []*web.Page
	byURL := map[web.URL]*web.Page{}
	for i := range 96 {
		p := w.page([]string{"north", "south", "west"}[i%3], []string{ofBees, ofLaw, ofSteel}[i/3%3], 200)
		if byURL[p.URL] = p; i < 64 {
			pages = append(pages, p)
		} else {
			later = append(later, p)
		}
	}
	taught := func(words ...string) (judge.Judge, map[web.URL]web.Verdict) {
		j, err := judge.New("topic", &topic.Topic{Keywords: words}, judge.Options{Analyzer: analyzer})
		if err != nil {
			t.Fatal(err)
		}
		said := map[web.URL]web.Verdict{}
		for _, p := range pages {
			v, err := j.Judge(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			said[p.URL] = v
			for _, r := range j.(adaptiveJudge).Observe(p, v) {
				said[r.URL] = r.Verdict
			}
		}
		return j, said
	}
	law := []string{"court", "contract", "plaintiff"}
	want, _ := taught(law...)
	j, said := taught("bee", "hive")
	missing := false
	look := func(u web.URL) (*web.Page, error) {
		if missing {
			return nil, nil
		}
		return byURL[u], nil
	}
	renewed, err := j.(keywordJudge).Keywords(law, look)
	if err != nil {
		t.Fatal(err)
	}
	relevant := 0
	for _, r := range renewed {
		if was := said[r.URL].Relevant; was != r.Was {
			t.Errorf("%s was %v, and is told as %v", r.URL, was, r.Was)
		}
		said[r.URL] = r.Verdict
	}
	same := func(a, b judge.Judge, of []*web.Page) {
		t.Helper()
		for _, p := range of {
			x, _ := a.Judge(t.Context(), p)
			y, _ := b.Judge(t.Context(), p)
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("%s: %+v, and %+v by the other", p.URL, x, y)
			}
		}
	}
	same(j, want, later)
	for _, p := range pages {
		if v, _ := j.Judge(t.Context(), p); v.Relevant {
			relevant++
			if !said[p.URL].Relevant {
				t.Errorf("%s is relevant now, and that was not told", p.URL)
			}
		}
	}
	if relevant < 15 || j.Text("a contract before the court") == 0 || j.Text("the hive of a bee") > 0 {
		t.Errorf("%d pages are relevant; by texts %v and %v", relevant, j.Text("a contract before the court"), j.Text("the hive of a bee"))
	}

	// All that it knows is stored.
	parts := j.(adaptiveJudge).State()
	again, err := judge.New("topic", &topic.Topic{Keywords: law}, judge.Options{Analyzer: analyzer})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.(adaptiveJudge).Restore(func(name string) ([]byte, error) { return parts[name], nil }); err != nil {
		t.Fatal(err)
	}
	same(j, again, later)

	// Pages that are not to be had any more are known by the words that both have.
	missing = true
	if _, err := j.(keywordJudge).Keywords([]string{"court", "steel"}, look); err != nil {
		t.Fatal(err)
	}
	for _, p := range later {
		if _, err := j.Judge(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	// What goes wrong leaves the judge as it was.
	before, _ := j.Judge(t.Context(), later[0])
	broken := errors.New("no archive")
	if _, err := j.(keywordJudge).Keywords(law, func(web.URL) (*web.Page, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := j.(keywordJudge).Keywords([]string{"the"}, look); err == nil {
		t.Error("a keyword without a word was taken")
	}
	if after, _ := j.Judge(t.Context(), later[0]); !reflect.DeepEqual(after, before) {
		t.Errorf("%+v became %+v", before, after)
	}
}
