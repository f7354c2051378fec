package synthetic_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

func parsedOptions(t testing.TB, text string) *synthetic.Web {
	t.Helper()
	o, err := synthetic.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// record builds a recorded web from a synthetic one and opens it.
func record(t testing.TB, w *synthetic.Web) *corpus.Web {
	t.Helper()
	src, err := w.Source()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "web")
	if _, err := corpus.Build(t.Context(), dir, src, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := corpus.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

const few = "pages=400,seed=7,topics=2,hosts=4,targets=0.1,words=40,links=6,boilerplate=10"

// TestRecordedTwice: equal options give equal files, and another seed others.
func TestRecordedTwice(t *testing.T) {
	files := func(w *corpus.Web) map[string]string {
		content := map[string]string{}
		err := filepath.WalkDir(w.Dir(), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			name, _ := filepath.Rel(w.Dir(), path)
			if name != "index.txt" { // knows when the WARC files were written
				content[name] = string(b)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	one, two := files(record(t, parsedOptions(t, few))), files(record(t, parsedOptions(t, few)))
	if len(one) != 4 || len(two) != 4 { // web.yaml, a WARC file, two of truth
		t.Errorf("%d and %d files, want 4", len(one), len(two))
	}
	for name, b := range one {
		if two[name] != b {
			t.Errorf("%s differs between two builds", name)
		}
	}
	other := files(record(t, parsedOptions(t, strings.Replace(few, "seed=7", "seed=8", 1))))
	for name, b := range one {
		if other[name] == b {
			t.Errorf("%s is the same under another seed", name)
		}
	}
}

// TestRecordIsTheWeb: the record answers as the web does, its truth is the
// web's, every target can be reached, and no link leads out of it.
func TestRecordIsTheWeb(t *testing.T) {
	w := parsedOptions(t, few)
	r := record(t, w)
	if c := r.Count(); c.Pages != 400 || c.Hosts != 4 || c.Robots != 4 || c.Redirects == 0 || c.Errors == 0 || !r.Synthetic {
		t.Errorf("%+v", c)
	}
	p := parse.New(parse.Options{})
	for u := range r.URLs() {
		got, err := r.Lookup(u)
		if err != nil {
			t.Fatal(err)
		}
		want := fetch(t, w, u)
		if got.Status != want.Status || string(got.Body) != string(want.Body) || got.Location != want.Location {
			t.Errorf("%s: recorded %d with %d bytes, is %d with %d", u, got.Status, len(got.Body), want.Status, len(want.Body))
		}
		if !got.Location.IsZero() && !r.Has(got.Location) {
			t.Errorf("%s leads out of the record", u)
		}
		if _, ok := w.Facts(u); !ok {
			continue
		}
		page, err := p.Parse(got)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Links {
			if !r.Has(l.URL) {
				t.Errorf("%s links to %s, which is not recorded", u, l.URL)
			}
		}
	}
	s, err := r.Survey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if notes := r.Compare(s); len(notes) > 0 {
		t.Errorf("the manifest is wrong: %q", notes)
	}
	for i, x := range s.Topics {
		truth, err := r.Truth(x.Name)
		if err != nil {
			t.Fatal(err)
		}
		for u := range r.URLs() {
			if relevant := w.Truth(i)(u); relevant != truth[u] {
				t.Errorf("%s, topic %s: truth says %v, the web %v", u, x.Name, truth[u], relevant)
			}
		}
		if x.Reachable != x.Relevant || x.ReachableFar != x.Relevant || x.ExamplesOutside > 0 || len(r.Topics[i].Examples) != 5 {
			t.Errorf("%+v", x)
		}
	}
}

// TestCrawledIsSynthetic: what a crawl of a synthetic web archived, a few pages
// of one host, makes a web that is labelled synthetic too; a page of the real
// web that speaks of such webs does not.
func TestCrawledIsSynthetic(t *testing.T) {
	w := parsedOptions(t, few)
	var made []*web.Response
	for u := range record(t, w).URLs() {
		if _, ok := w.Facts(u); ok && len(made) < 5 {
			made = append(made, fetch(t, w, u))
		}
	}
	u, err := web.Parse("http://real.example/")
	if err != nil {
		t.Fatal(err)
	}
	real := &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte("<title>On the " + corpus.SyntheticMark + "</title>")}
	for _, c := range []struct {
		pages []*web.Response
		want  bool
	}{{[]*web.Response{real}, false}, {made, true}, {append(made, real), true}} {
		dir := t.TempDir()
		a, err := store.Create(filepath.Join(dir, "archive"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.pages {
			b, err := a.EncodeResponse(r)
			if err == nil {
				_, err = a.Append(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		built, err := corpus.Build(t.Context(), filepath.Join(dir, "web"), corpus.Crawl{Dir: dir}, corpus.Options{})
		if err != nil || built.Manifest.Synthetic != c.want {
			t.Errorf("%d pages: synthetic %v, %v", len(c.pages), built.Manifest.Synthetic, err)
		}
	}
}

// TestSmallHostsKeepTheirHops: the paths to targets hold in a web whose hosts
// have a hundred pages.
func TestSmallHostsKeepTheirHops(t *testing.T) {
	w := parsedOptions(t, strings.Replace(few, "targets=0.1", "targets=0.05", 1)+",growth=1.5,dead=0,redirects=0,duplicates=0,focus=1")
	p := parse.New(parse.Options{})
	checked := 0
	for topic := range 2 {
		for level := 1; level <= 4; level++ {
			for _, u := range w.Some(topic, level, 20) {
				checked++
				if !slices.ContainsFunc(parsed(t, w, p, u).Links, func(l web.Link) bool {
					f, ok := w.Facts(l.URL)
					return ok && f.Topic == topic && f.Level == level-1
				}) {
					t.Errorf("%s, level %d: no link leads nearer", u, level)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d pages checked", checked)
	}
}

// TestRecordedCalendar: the days that pages lead to are recorded, and no more.
func TestRecordedCalendar(t *testing.T) {
	r := record(t, parsedOptions(t, "pages=120,topics=1,hosts=1,targets=0.2,words=20,links=4,traps=1"))
	if c := r.Count(); c.Pages != 120+1000 {
		t.Errorf("%+v", c)
	}
	if !r.Has(at(t, "http://h0.synthetic.example/calendar?day=999")) || r.Has(at(t, "http://h0.synthetic.example/calendar?day=1000")) {
		t.Error("want the days 0 to 999")
	}
}

// TestParse: options are read as they are written, and what is wrong is named
// with its range.
func TestParse(t *testing.T) {
	o, err := synthetic.Parse(" topics=3, pages=1000 ,hosts=7")
	if err != nil || o.Topics != 3 || o.Hosts != 7 || o.PagesPerHost != 143 || o.Seed != 1 || o.Traps != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		o, err := synthetic.Parse("")
		if err != nil {
			t.Fatal(err)
		}
		o.Seed = rapid.Uint64().Draw(t, "seed")
		o.Topics = rapid.IntRange(1, 50).Draw(t, "topics")
		o.Hosts = rapid.IntRange(o.Topics, 500).Draw(t, "hosts")
		o.PagesPerHost = rapid.IntRange(1, 2000).Draw(t, "pages")
		o.Growth = rapid.Float64Range(0.001, 1000).Draw(t, "growth")
		o.Decay = rapid.Float64Range(0, 1).Draw(t, "decay")
		if again, err := synthetic.Parse(o.String()); err != nil || again != o {
			t.Fatalf("%s: %+v, %v", o, again, err)
		}
	})
	for _, c := range []struct{ text, want string }{
		{"topic=3", `there is no key "topic"; the keys are pages, seed, topics,`},
		{"topics=1001", `topics is "1001", want 1 to 1000`},
		{"words=many", `words is "many", want 0 to 100000`},
		{"pages=1e3", `pages is "1e3", want 1 to 1000000`},
		{"decay=NaN", `decay is "NaN", want 0 to 1`},
		{"targets=0", `targets is "0", want 0.001 to 1`},
		{"seed=-1", `seed is "-1", want 0 to 18446744073709551615`},
		{"hops", "hops has no value: want hops=0 to 20"},
		{"seed=1,seed=2", "seed is given twice"},
		{"pages=5", "pages is 5, want 8 to 1000000: as many as topics"},
		{"hosts=4", "hosts is 4, want 8 to 20000: from topics to pages"},
		{"pages=10,hosts=11", "hosts is 11, want 8 to 10"},
	} {
		if _, err := synthetic.Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := synthetic.Parse("words=x,links=0"); err == nil || !strings.Contains(err.Error(), "words is") || !strings.Contains(err.Error(), "links is") {
		t.Errorf("%v, want both keys", err)
	}
	for _, s := range synthetic.Settings() { // each default is one that Parse takes
		if s.Key == "hosts" || s.Key == "pages" {
			continue
		}
		if o, err := synthetic.Parse(s.Key + "=" + s.Default); err != nil || !strings.Contains(o.String(), s.Key+"="+s.Default) || s.Line == "" || s.Range == "" {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestNotRecordable: a web in which there is nothing to look for, or that is
// too large, is no source, and the error says what to change.
func TestNotRecordable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"pages=300", "raise pages or targets, or lower topics"},
		{"pages=1000,topics=1,targets=1,hops=3", "no page to start from, as all are targets"},
	} {
		if _, err := parsedOptions(t, c.text).Source(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	huge, err := synthetic.New(synthetic.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := huge.Source(); err == nil || !strings.Contains(err.Error(), "too many to be recorded: want 1000000 pages at most") {
		t.Errorf("a web of 10⁹ pages: %v", err)
	}
}
