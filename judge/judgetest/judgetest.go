// Package judgetest is what every judge must hold to, whatever it looks at. It is
// written for the judges of other modules too:
//
//	func TestJudge(t *testing.T) {
//		judgetest.Run(t, func() judgetest.Judge { return newJudge() })
//	}
package judgetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/web"
)

// Judge is the interface under test.
type Judge interface {
	Judge(ctx context.Context, p *web.Page) (web.Verdict, error)
	Text(s string) float64
	Name() string
	Threshold() float64
	Close() error
}

// adaptiveJudge is what a crawl looks for in a judge that learns, see crawl.AdaptiveJudge.
type adaptiveJudge interface {
	Observe(p *web.Page, said web.Verdict) []web.Renewal
	Notes() []string
	State() map[string][]byte
	Restore(part func(name string) ([]byte, error)) error
}

// inheritingJudge is what a round of a collection looks for, see crawl.InheritingJudge.
type inheritingJudge interface {
	adaptiveJudge
	Inherit(part func(name string) ([]byte, error)) error
}

// Run checks the judges that make returns, each time a new one of the same kind,
// topic and options, and closes them. What is looked at beyond Judge, where a judge has
// it: Explain (judge.Explainer), Observe, State and Restore (crawl.AdaptiveJudge), and Inherit
// (crawl.InheritingJudge).
func Run(t *testing.T, make func() Judge) {
	rapid.Check(t, func(t *rapid.T) { Check(t, make) })
}

// Check is Run on one drawn set of pages, for tests that draw the topic as well.
func Check(t *rapid.T, make func() Judge) {
	j, same := make(), make()
	defer func() {
		if err := errors.Join(j.Close(), same.Close()); err != nil {
			t.Fatalf("closing: %v", err)
		}
	}()
	if n := j.Name(); n == "" || strings.ContainsAny(n, " \t\n") || n != same.Name() {
		t.Fatalf("names %q and %q: want one word, the same each time", n, same.Name())
	}
	if γ := j.Threshold(); !(γ > 0 && γ <= 1) || γ != same.Threshold() {
		t.Fatalf("thresholds %v and %v: want one in (0,1]", γ, same.Threshold())
	}
	pages := []*web.Page{DrawPage(t, "a"), DrawPage(t, "b"), {}}
	pure(t, j, same, pages)
	texts(t, j, pages)
	if a, ok := j.(adaptiveJudge); ok {
		learns(t, j, a, make, append(pages, DrawPage(t, "c"), DrawPage(t, "d")))
	}
}

// judged is the verdict of a page, which must be one.
func judged(t *rapid.T, j Judge, p *web.Page) web.Verdict {
	v, err := j.Judge(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	verdict(t, j, v)
	return v
}

// verdict checks that a verdict is within bounds and holds to the threshold.
func verdict(t *rapid.T, j Judge, v web.Verdict) {
	if !(v.Relevance >= 0 && v.Relevance <= 1 && v.Similarity >= 0 && v.Similarity <= 1) || v.Relevant != (v.Relevance >= j.Threshold()) {
		t.Fatalf("%+v at threshold %v", v, j.Threshold())
	}
}

// pure checks that a verdict depends on nothing but the page, on any core, that the page
// stays as it was, and that what is explained is what is judged.
func pure(t *rapid.T, j, same Judge, pages []*web.Page) {
	var said []web.Verdict
	for _, p := range pages {
		before := clone(p)
		v := judged(t, j, p)
		if !reflect.DeepEqual(p, before) {
			t.Fatalf("Judge changed its page from %+v to %+v", before, p)
		}
		if other := judged(t, same, p); !reflect.DeepEqual(v, other) {
			t.Fatalf("two judges made alike say %+v and %+v", v, other)
		}
		if x, ok := j.(judge.Explainer); ok {
			if e := x.Explain(p); !reflect.DeepEqual(e.Verdict, v) {
				t.Fatalf("explained as %+v, judged %+v", e.Verdict, v)
			}
		}
		said = append(said, v)
	}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for i, p := range pages {
				if v, err := j.Judge(context.Background(), p); err != nil || !reflect.DeepEqual(v, said[i]) {
					t.Errorf("%+v, %v; and before %+v", v, err, said[i])
				}
			}
		})
	}
	group.Wait()
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if v, err := j.Judge(stopped, pages[0]); err != nil && !errors.Is(err, context.Canceled) || err == nil && !reflect.DeepEqual(v, said[0]) {
		t.Fatalf("with a context that has ended: %+v, %v; want the verdict or the context's error", v, err)
	}
	// The judge is as before.
	if v := judged(t, j, pages[0]); !reflect.DeepEqual(v, said[0]) {
		t.Fatalf("%+v, and before %+v", v, said[0])
	}
}

// texts checks that the similarity of a text is within bounds and stays.
func texts(t *rapid.T, j Judge, pages []*web.Page) {
	for _, s := range []string{"", "bees", "\xff\x00", pages[0].Title, pages[1].Main} {
		x := j.Text(s)
		if !(x >= 0 && x <= 1) || x != j.Text(s) {
			t.Fatalf("Text(%q) = %v, then %v: want one number in [0,1]", s, x, j.Text(s))
		}
	}
}

// learns shows pages to a judge that learns, and goes on with another one from its
// state: both say the same of all pages then, and after some more.
func learns(t *rapid.T, j Judge, a adaptiveJudge, make func() Judge, pages []*web.Page) {
	stored := map[string][]byte{}
	rounds := rapid.IntRange(0, 12).Draw(t, "pages observed")
	show := func(j Judge, a adaptiveJudge, n int) (told []web.Renewal) {
		for i := range n {
			p := clone(pages[i%len(pages)])
			p.URL = numbered(t, i)
			v := judged(t, j, p)
			for _, r := range a.Observe(p, v) {
				verdict(t, j, r.Verdict)
				told = append(told, r)
			}
		}
		return told
	}
	for range 2 {
		show(j, a, rounds)
		maps.Copy(stored, a.State())
	}
	if parts := a.State(); len(parts) > 0 {
		t.Fatalf("State has %d parts after nothing happened", len(parts))
	}
	restored := make()
	defer restored.Close()
	other, ok := restored.(adaptiveJudge)
	if !ok {
		t.Fatal("only one of two judges made alike learns")
	}
	if err := other.Restore(func(name string) ([]byte, error) { return bytes.Clone(stored[name]), nil }); err != nil {
		t.Fatal(err)
	}
	inherits(t, j, stored, make, pages, rounds)
	for range 2 {
		for _, p := range pages {
			if x, y := judged(t, j, p), judged(t, restored, p); !reflect.DeepEqual(x, y) {
				t.Fatalf("never stopped %+v, restored %+v", x, y)
			}
		}
		if x, y := show(j, a, rounds), show(restored, other, rounds); !reflect.DeepEqual(x, y) {
			t.Fatalf("verdicts told anew: never stopped %+v, restored %+v", x, y)
		}
	}
	foreign := make()
	defer foreign.Close()
	none := foreign.(adaptiveJudge)
	if err := none.Restore(func(string) ([]byte, error) { return nil, nil }); err != nil {
		t.Fatalf("no state is no error: %v", err)
	}
	if err := none.Restore(func(string) ([]byte, error) { return []byte("the state of another judge"), nil }); err == nil {
		t.Fatal("a foreign state was accepted")
	}
}

// inherits has a judge begin another crawl with what j stored, which has observed so many pages: it
// says the same of all pages, stores all that it knows again, learns nothing of a page that j
// observed, and tells none of those anew.
func inherits(t *rapid.T, j Judge, stored map[string][]byte, make func() Judge, pages []*web.Page, observed int) {
	made := make()
	defer made.Close()
	heir, ok := made.(inheritingJudge)
	if !ok {
		return
	}
	if err := heir.Inherit(func(name string) ([]byte, error) { return bytes.Clone(stored[name]), nil }); err != nil {
		t.Fatal(err)
	}
	again := maps.Clone(heir.State())
	restored := make()
	defer restored.Close()
	if err := restored.(adaptiveJudge).Restore(func(name string) ([]byte, error) { return bytes.Clone(again[name]), nil }); err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		x := judged(t, j, p)
		for _, y := range []web.Verdict{judged(t, made, p), judged(t, restored, p)} {
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("the first crawl %+v, one that inherits %+v", x, y)
			}
		}
	}
	for i := range pages { // j observed some of them
		p := clone(pages[i])
		p.URL = numbered(t, i)
		if told := heir.Observe(p, judged(t, made, p)); i < observed && len(told) > 0 {
			t.Fatalf("a page that the first crawl observed changed %+v", told)
		}
	}
	const first = 1000 // the pages of j have lower numbers
	for i := range 2 * len(pages) {
		p := clone(pages[i%len(pages)])
		p.URL = numbered(t, first+i)
		for _, r := range heir.Observe(p, judged(t, made, p)) {
			if n, err := strconv.Atoi(r.URL.Path()[1:]); err != nil || n < observed {
				t.Fatalf("page %s of the first crawl is told anew", r.URL)
			}
		}
	}
}

func numbered(t *rapid.T, i int) web.URL {
	u, err := web.Parse(fmt.Sprintf("http://h%d.test/%d", i%3, i))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// clone is a page with slices of its own.
func clone(p *web.Page) *web.Page {
	c := *p
	c.Headings, c.Alts, c.Leaves = slices.Clone(p.Headings), slices.Clone(p.Alts), slices.Clone(p.Leaves)
	c.Tags, c.Terms, c.Links = slices.Clone(p.Tags), slices.Clone(p.Terms), slices.Clone(p.Links)
	return &c
}

// analyzer is never changed. It is made once, as it is large and pages are drawn by the
// thousand.
var analyzer = sync.OnceValue(func() *text.Analyzer { return text.NewAnalyzer() })

// DrawPage draws a page such as no honest person writes, but one that holds a word at
// least; label tells it from others in the report of a failure.
func DrawPage(t *rapid.T, label string) *web.Page {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"bees", "honey", "queen excluder", "hive", "the", "steel prices", "Home Products Press Careers Contact Imprint Newsletter Login. ", "蜜蜂の巣", "\u202e\x00\xff", "Bees | Bern", strings.Repeat("colony ", 500), "<b>"}),
		rapid.String(), rapid.StringMatching(`([a-z]{1,9} ){0,30}`),
	)
	u, err := web.Parse(rapid.SampledFrom([]string{"http://x.test/1", "http://x.test/", "http://uci.test:8080/bees?q=%ff", "http://[::1]/"}).Draw(t, label+" address"))
	if err != nil {
		t.Fatal(err)
	}
	p := &web.Page{URL: u, Title: "Bees " + piece.Draw(t, label+" title")}
	c := text.NewCounter(analyzer())
	c.Add(p.Title, true)
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
		case 9:
			p.Main = s
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
