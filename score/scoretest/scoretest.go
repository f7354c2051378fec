// Package scoretest is what every scorer must hold to, whatever its strategy.
package scoretest

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// Scorer is the interface under test.
type Scorer interface {
	Extract(p *web.Page, v web.Verdict) [][]byte
	Visit(c *web.Candidate, p *web.Page, v web.Verdict) (memory []byte)
	Score(c *web.Candidate) float64
	Stale() bool
	Rescores() bool
	State() (state []byte, snapshot bool)
	Restore(state []byte) error
}

// Grown is the state of a scorer that had the state before when it was last asked.
func Grown(before []byte, s Scorer) []byte {
	state, snapshot := s.State()
	if snapshot {
		return state
	}
	return slices.Concat(before, state)
}

// maxFeatures is the number of bytes of features a link may cost, on average,
// unless the scorer needs words.
const maxFeatures = 16

// Run checks the scorers that make returns, each time a new one of the same
// kind, seed and options.
func Run(t *testing.T, make func() Scorer) { RunWithin(t, maxFeatures, make) }

// RunWithin is Run for scorers that may spend that many bytes of features on a
// link, on average.
func RunWithin(t *testing.T, bytes int, make func() Scorer) {
	t.Run("one entry a link", func(t *testing.T) { entries(t, bytes, make) })
	t.Run("crawls", func(t *testing.T) { crawls(t, make) })
	t.Run("foreign state", func(t *testing.T) { foreign(t, make) })
}

// visit is the outcome of one fetch.
type visit struct {
	Page    *web.Page // nil for a failure
	Verdict web.Verdict
}

func genURL(t *rapid.T, label string) web.URL {
	u, err := web.Parse(rapid.StringMatching(`http://[a-c]\.test/[a-z]{0,3}(\?q=[0-9])?`).Draw(t, label))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func genVisit(t *rapid.T) visit {
	if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
		return visit{}
	}
	p := &web.Page{URL: genURL(t, "page")}
	for i := range rapid.IntRange(0, 6).Draw(t, "links") {
		p.Links = append(p.Links, web.Link{
			URL:      genURL(t, "link"),
			Kind:     rapid.SampledFrom([]web.LinkKind{web.LinkA, web.LinkFrame, web.LinkRefresh}).Draw(t, "kind"),
			Anchor:   rapid.SampledFrom([]string{"", " ", "bees", "honey bees", "steel", "\xff\x00", strings.Repeat("bees ", 50)}).Draw(t, "anchor"),
			After:    rapid.SampledFrom([]string{"", "", "waggle dance"}).Draw(t, "after"),
			TagPath:  rapid.SampledFrom([]string{"", "html/body/a", "html/body/div.nav/ul/li/a", "html/body/div.nav/ul/a"}).Draw(t, "path"),
			Position: i,
			First:    2*i + 1,
			Last:     2*i + 1,
		})
	}
	for range 2*len(p.Links) + 1 {
		p.Leaves = append(p.Leaves, web.Leaf{Text: rapid.SampledFrom([]string{"", "bees", "steel and honey"}).Draw(t, "leaf")})
	}
	for _, term := range []string{"bee", "honey", "steel"} {
		if n := rapid.Int32Range(0, 3).Draw(t, term); n > 0 {
			p.Terms = append(p.Terms, web.Term{Text: term, Body: n})
		}
	}
	r := rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "relevance")
	return visit{p, web.Verdict{Relevance: r, Similarity: r, Relevant: r >= 0.5}}
}

// walk runs a scorer over a crawl that is a pure function of the visits: each
// is the fetch of the next candidate found. It returns all candidates, and in
// the transcript every score given.
func walk(s Scorer, visits []visit) (found []web.Candidate, transcript []string) {
	seed, _ := web.Parse("http://a.test/")
	queue := []web.Candidate{{URL: seed, Kind: web.LinkSeed}}
	return continueWalk(s, visits, queue, &[]string{})
}

func continueWalk(s Scorer, visits []visit, queue []web.Candidate, log *[]string) ([]web.Candidate, []string) {
	for i, v := range visits {
		c := queue[i%len(queue)]
		var features [][]byte
		if v.Page != nil {
			features = s.Extract(v.Page, v.Verdict)
		}
		memory := s.Visit(&c, v.Page, v.Verdict)
		if v.Page == nil {
			continue
		}
		for k, l := range v.Page.Links {
			n := web.Candidate{URL: l.URL, From: v.Page.URL, Kind: l.Kind, Depth: c.Depth + 1, Features: features[k], Memory: memory}
			n.Priority = s.Score(&n)
			*log = append(*log, fmt.Sprintf("%s %v", n.URL, n.Priority))
			queue = append(queue, n)
		}
		if s.Stale() {
			*log = append(*log, "stale")
			for k := range queue {
				queue[k].Priority = s.Score(&queue[k])
				*log = append(*log, fmt.Sprintf("%s %v", queue[k].URL, queue[k].Priority))
			}
		}
	}
	return queue, *log
}

func genVisits(t *rapid.T) []visit {
	return rapid.SliceOfN(rapid.Custom(genVisit), 0, 15).Draw(t, "visits")
}

func entries(t *testing.T, most int, make func() Scorer) {
	rapid.Check(t, func(t *rapid.T) {
		v := genVisit(t)
		if v.Page == nil {
			return
		}
		features := make().Extract(v.Page, v.Verdict)
		if len(features) != len(v.Page.Links) {
			t.Fatalf("%d links, %d entries", len(v.Page.Links), len(features))
		}
		sum := 0
		for _, f := range features {
			sum += len(f)
		}
		if sum > most*len(features) {
			t.Fatalf("%d bytes for %d links: more than %d a link", sum, len(features), most)
		}
	})
}

// crawls draws a crawl that is stopped at any point and goes on, and holds three
// scorers to it: one that is never stopped, one that is, and one that goes on
// with the state of the latter. All is asked of the same crawl, since drawing
// crawls takes longer than what scorers make of them.
func crawls(t *testing.T, make func() Scorer) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := genVisits(t), genVisits(t)
		whole, first, second := make(), make(), make()
		queue, log := walk(whole, before)
		same, again := walk(first, before)
		if !slices.Equal(log, again) {
			t.Fatalf("two runs differ:\n%s\n\n%s", strings.Join(log, "\n"), strings.Join(again, "\n"))
		}
		alone(t, whole, queue)
		steady(t, whole, queue)
		if !whole.Rescores() {
			settled(t, whole, queue, log)
		}
		state := Grown(nil, first)
		if again, _ := first.State(); again != nil {
			t.Fatalf("State is %x after nothing happened", again)
		}
		if err := second.Restore(bytes.Clone(state)); err != nil {
			t.Fatal(err)
		}
		pure(t, first, before)
		_, want := continueWalk(whole, after, queue, &[]string{})
		_, got := continueWalk(second, after, same, &[]string{})
		if !slices.Equal(got, want) {
			t.Fatalf("restored from %x:\n%s\n\nnever stopped:\n%s", state, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		number(t, first, queue)
	})
}

// pure checks that what a page gives depends on nothing but the page, on any
// core, and leaves no trace.
func pure(t *rapid.T, s Scorer, visits []visit) {
	var group sync.WaitGroup
	for _, v := range visits {
		if v.Page == nil {
			continue
		}
		want := s.Extract(v.Page, v.Verdict)
		for range 2 {
			group.Go(func() {
				if got := s.Extract(v.Page, v.Verdict); !reflect.DeepEqual(got, want) {
					t.Errorf("the same page gave %x, then %x", want, got)
				}
			})
		}
	}
	group.Wait()
	if after, _ := s.State(); after != nil {
		t.Errorf("Extract changed the state by %x", after)
	}
}

// alone checks that equal candidates score equally, and that what Score is not
// told to look at does not matter.
func alone(t *rapid.T, s Scorer, found []web.Candidate) {
	for _, c := range found {
		copied := web.Candidate{URL: c.URL, Depth: c.Depth, Features: slices.Clone(c.Features), Memory: slices.Clone(c.Memory)}
		if a, b := s.Score(&c), s.Score(&copied); a != b {
			t.Fatalf("%s scores %v, its copy without source, kind and old priority %v", c.URL, a, b)
		}
		again := c
		s.Score(&again)
		if !reflect.DeepEqual(again, c) {
			t.Fatalf("Score changed its candidate from %+v to %+v", c, again)
		}
	}
}

// steady checks that a scorer which says that several goroutines may ask it for scores gives
// each of them the same ones.
func steady(t *rapid.T, s Scorer, found []web.Candidate) {
	if _, ok := s.(interface{ Steady() }); !ok {
		return
	}
	want := make([]float64, len(found))
	for i := range found {
		want[i] = s.Score(&found[i])
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for i, c := range found {
				if got := s.Score(&c); got != want[i] {
					t.Errorf("%s scores %v alone, and %v beside others", c.URL, want[i], got)
				}
			}
		})
	}
	group.Wait()
}

// number checks that priorities are numbers, those of damaged links too.
func number(t *rapid.T, s Scorer, found []web.Candidate) {
	c := web.Candidate{
		URL: genURL(t, "url"), Depth: rapid.IntRange(0, 1<<30).Draw(t, "depth"),
		Features: rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xc0, 0xff}), 0, 12).Draw(t, "features"),
		Memory:   rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "memory"),
	}
	for _, c := range append(found, c) {
		if p := s.Score(&c); math.IsNaN(p) || math.IsInf(p, 0) {
			t.Fatalf("%+v scores %v", c, p)
		}
	}
}

// settled checks that a scorer whose Rescores is false never changes its mind.
func settled(t *rapid.T, s Scorer, found []web.Candidate, log []string) {
	for _, c := range found {
		if now := s.Score(&c); c.Kind != web.LinkSeed && now != c.Priority {
			t.Fatalf("%s had %v and now has %v", c.URL, c.Priority, now)
		}
	}
	if slices.Contains(log, "stale") {
		t.Fatal("it asks for rescoring")
	}
}

func foreign(t *testing.T, make func() Scorer) {
	if err := make().Restore(nil); err != nil {
		t.Errorf("no state is no error: %v", err)
	}
	if err := make().Restore([]byte("the state of another scorer")); err == nil {
		t.Error("a foreign state was accepted")
	}
}
