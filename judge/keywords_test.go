package judge_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/text"
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

// A judge that took keywords or a label, with any number of pages behind it and with examples
// whose site it came to know, goes on after a restart as if there had been none.
func TestActsSurviveRestart(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(3, 4))}
	var pages []*web.Page
	byURL := map[web.URL]*web.Page{}
	for i := range 166 {
		p := w.page([]string{"north", "south", "west"}[i%3], []string{ofBees, ofLaw, ofSteel}[i/3%3], 200)
		pages, byURL[p.URL] = append(pages, p), p
	}
	shown, wanted := pages[164:165], pages[165:]
	law := []string{"court", "contract", "plaintiff"}
	type labelledJudge interface {
		Label(wanted []*web.Page) []web.Renewal
	}
	for _, c := range []struct {
		name     string
		before   int // pages
		examples []*web.Page
		keywords []string
		label    bool
		old      bool // the state does not tell how many pages its view was made of
		says     string
	}{
		{name: "keywords, with an example", before: 64, examples: shown, keywords: law, says: "the first 64 pages of this crawl"},
		{name: "keywords between powers of two", before: 100, keywords: law, says: "the first 100 pages of this crawl"},
		{name: "a label between powers of two", before: 100, label: true, says: "the first 100 pages of this crawl"},
		{name: "neither", before: 100, says: "the first 64 pages of this crawl"},
		{name: "neither, of an earlier version", before: 100, old: true, says: "the first 64 pages of this crawl"},
	} {
		made := func(words ...string) judge.Judge {
			j, err := judge.New("topic", &topic.Topic{Keywords: words, Examples: c.examples}, judge.Options{Analyzer: analyzer})
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		words := []string{"bee", "hive"}
		j := made(words...)
		for _, p := range pages[:c.before] {
			observe(t, j.(adaptiveJudge), p)
		}
		parts := j.(adaptiveJudge).State()
		if c.keywords != nil {
			words = c.keywords
			if _, err := j.(keywordJudge).Keywords(words, func(u web.URL) (*web.Page, error) { return byURL[u], nil }); err != nil {
				t.Fatal(err)
			}
		}
		again := made(words...)
		if c.label {
			j.(labelledJudge).Label(wanted)
			again.(labelledJudge).Label(wanted) // as a crawl that goes on does
		}
		maps.Copy(parts, j.(adaptiveJudge).State())
		if c.old {
			head := parts[""]
			if head[0] != 1 || head[1] != 100 || head[2] != 64 {
				t.Fatalf("the state begins with % x", head[:3])
			}
			head[2] = 1
		}
		if err := again.(adaptiveJudge).Restore(func(name string) ([]byte, error) { return parts[name], nil }); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if says := fmt.Sprint(j.(judge.Explainer).Explain(pages[0]).Facts); !strings.Contains(says, c.says) {
			t.Errorf("%s: %s", c.name, says)
		}
		for _, p := range pages[c.before:164] {
			x, y := j.(judge.Explainer).Explain(p), again.(judge.Explainer).Explain(p)
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("%s: %s: %+v, after a restart %+v", c.name, p.URL, x, y)
			}
			if x, y := observe(t, j.(adaptiveJudge), p), observe(t, again.(adaptiveJudge), p); !reflect.DeepEqual(x, y) {
				t.Fatalf("%s: %s: %d pages are judged otherwise, after a restart %d", c.name, p.URL, len(x), len(y))
			}
		}
	}
}

// Whether keywords hold a word is told by the languages of the topic, not by those of others.
func TestKeywordsByLanguage(t *testing.T) {
	df := text.BackgroundOf(text.English)
	for _, c := range []struct {
		languages []string
		keyword   string
		ok        bool
	}{
		{[]string{"de"}, "Not", true}, // need, and a stop word of English
		{[]string{"de"}, "und", false},
		{[]string{"en"}, "Not", false},
		{[]string{"en"}, "und", true},
		{[]string{"en", "de"}, "Not", true},
		{[]string{"en", "de"}, "und", true},
	} {
		o := judge.Options{Analyzer: text.NewAnalyzer(c.languages...), DF: df}
		if _, err := judge.New("topic", &topic.Topic{Keywords: []string{c.keyword}}, o); (err == nil) != c.ok {
			t.Errorf("%v: a topic of %q: %v", c.languages, c.keyword, err)
		}
		j, err := judge.New("topic", &topic.Topic{Keywords: []string{"Hilfe"}}, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.(keywordJudge).Keywords([]string{"Hilfe", c.keyword}, nil); (err == nil) != c.ok {
			t.Errorf("%v: the keyword %q: %v", c.languages, c.keyword, err)
		}
	}
}
