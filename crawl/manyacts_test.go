package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// rescoredFrontier counts how often all that waits is scored anew.
type rescoredFrontier struct {
	crawl.Frontier
	times int
}

func (f *rescoredFrontier) Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) ([]byte, error) {
	if from == nil {
		f.times++
	}
	return f.Frontier.Rescore(ctx, from, n, score)
}

// Many acts are taken in by the hundred: what waits is scored anew once for all of them, and pages
// are fetched in between. Each is an event of its own, in its order.
func TestManyActs(t *testing.T) {
	c := newCrawl(t, tree(3, 200), 1)
	c.Clock, c.Policy.Pages = stillClock{}, 60
	f := &rescoredFrontier{Frontier: c.Frontier}
	c.Frontier = f
	s := &said{}
	for i := range 600 {
		s.acts, s.after = append(s.acts, event.Act{Do: event.Boost, Place: fmt.Sprintf("h%d.example", i%3)}), append(s.after, 5)
	}
	c.Acts, c.Look = s, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
	acts := 0
	c.Listen = func(e event.Event) {
		switch e := e.(type) {
		case event.Fetched:
			s.pages++
		case event.Act:
			if acts++; e.Number != acts {
				t.Errorf("act %d is the %dth", e.Number, acts)
			}
		}
	}
	if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	if acts != 600 || f.times > 10 {
		t.Errorf("%d of 600 acts, and what waits was scored anew %d times", acts, f.times)
	}
}

// A crawl that is stopped while it takes in what it was told, at its beginning or later, was
// stopped and did not fail. The next run takes in the rest.
func TestStoppedByManyActs(t *testing.T) {
	for _, after := range []int{0, 5} {
		c := newCrawl(t, tree(3, 200), 1)
		c.Clock, c.Policy.Pages = stillClock{}, 60
		s := &said{}
		for range 40 {
			s.acts, s.after = append(s.acts, event.Act{Do: event.Boost, Place: "h1.example"}), append(s.after, after)
		}
		c.Acts, c.Look = s, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
		ctx, stop := context.WithCancel(t.Context())
		var ended event.Ending
		c.Listen = func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				s.pages++
			case event.Act:
				if c.Told = append(c.Told, e); e.Number == 20 {
					stop()
				}
			case event.Ended:
				ended = e.How
			}
		}
		if how, err := c.Run(ctx); err != nil || how != event.Stopped || ended != event.Stopped {
			t.Fatalf("after %d pages: %q, %v, told %q", after, how, err, ended)
		}
		taken := len(c.Told)
		if taken < 20 || taken == 40 {
			t.Errorf("after %d pages: %d acts were taken in by a crawl that was stopped at 20", after, taken)
		}
		if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent || len(c.Told) != 40 {
			t.Errorf("after %d pages, and again: %q, %v, %d acts", after, how, err, len(c.Told))
		}
	}
}

// A crawl that is stopped as it takes in that a boost is undone goes on as one that was not: what
// the boost raised does not stay above all else.
func TestStoppedByAnUndo(t *testing.T) {
	pages := func(stopped bool) (list []string) {
		c := newCrawl(t, tree(3, 200), 1)
		c.Clock, c.Policy.Pages = stillClock{}, 60
		s := &said{acts: []event.Act{{Do: event.Boost, Place: "h1.example"}, {Do: event.Undo, Act: 1}}, after: []int{5, 10}}
		c.Acts, c.Look = s, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
		ctx, stop := context.WithCancel(t.Context())
		c.Listen = func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				s.pages++
				list = append(list, e.URL.String())
			case event.Act:
				if c.Told = append(c.Told, e); e.Number == 2 && stopped {
					stop()
				}
			}
		}
		how, err := c.Run(ctx)
		if err == nil && stopped {
			if how != event.Stopped {
				t.Fatalf("the crawl ended by %q", how)
			}
			how, err = c.Run(t.Context())
		}
		if err != nil || how != event.BudgetSpent || len(c.Told) != 2 {
			t.Fatalf("%q, %v, %d acts", how, err, len(c.Told))
		}
		return list
	}
	if got, want := pages(true), pages(false); !slices.Equal(got, want) {
		t.Errorf("stopped:\n%s\nnot stopped:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// An error at the beginning that is none of being stopped stays one.
func TestFailsAtTheBeginning(t *testing.T) {
	c := newCrawl(t, tree(1, 20), 1)
	broken := errors.New("broken")
	ctx, stop := context.WithCancel(t.Context())
	c.Acts, c.Look = failingActs{stop, broken}, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
	if _, err := c.Run(ctx); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// failingActs stops the crawl and fails, both at once.
type failingActs struct {
	stop context.CancelFunc
	err  error
}

func (a failingActs) After(int) ([]event.Act, error) {
	a.stop()
	return nil, a.err
}

// The time in which a crawl was told to pause is none of the crawl, neither for its budget nor for
// those who watch. A pause ends by another act, or by being undone.
func TestPauseIsNoTime(t *testing.T) {
	for name, second := range map[string]event.Act{"continued": {Do: event.Continue}, "undone": {Do: event.Undo, Act: 1}} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrawl(t, tree(3, 200), 2)
			c.Policy.Pages, c.Policy.Time, c.Policy.Delay = 60, 5*time.Minute, time.Second
			acts := &pausedFor{began: time.Now(), last: second}
			c.Acts, c.Look = acts, func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
			var sum event.Summary
			c.Listen = func(e event.Event) { sum.Add(e) }
			if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent {
				t.Fatal(name, how, err)
			}
			if took := time.Since(acts.began); took < time.Hour || sum.Elapsed(sum.Last) > 2*time.Minute || sum.Pages != 60 {
				t.Errorf("%s: of %v %v are of the crawl, %d pages", name, took, sum.Elapsed(sum.Last), sum.Pages)
			}
		})
	}
}

// pausedFor pauses a crawl after five seconds, for an hour.
type pausedFor struct {
	began time.Time
	last  event.Act
}

func (p *pausedFor) After(n int) (out []event.Act, err error) {
	past := time.Since(p.began)
	if n < 1 && past > 5*time.Second {
		out = append(out, event.Act{Do: event.Pause})
	}
	if n < 2 && past > time.Hour {
		out = append(out, p.last)
	}
	return out, nil
}

// exampleJudge counts the examples that it was given.
type exampleJudge struct {
	plain crawl.Judge
	given int
}

func (j *exampleJudge) Judge(ctx context.Context, p *web.Page) (web.Verdict, error) {
	return j.plain.Judge(ctx, p)
}

func (j *exampleJudge) Observe(*web.Page, web.Verdict) []web.Renewal    { return nil }
func (j *exampleJudge) Notes() []string                                 { return nil }
func (j *exampleJudge) State() map[string][]byte                        { return nil }
func (j *exampleJudge) Restore(func(name string) ([]byte, error)) error { return nil }
func (j *exampleJudge) Label(wanted []*web.Page) []web.Renewal {
	j.given = len(wanted)
	return nil
}

// Each page of which more are wanted is read from the archive once for the judge, and once for its
// own label, however many there are.
func TestManyExamplesAreReadOnce(t *testing.T) {
	c := newCrawl(t, tree(3, 200), 1)
	c.Clock, c.Policy.Pages = stillClock{}, 60
	j := &exampleJudge{plain: c.Judge}
	c.Judge = j
	s := &said{}
	looks := 0
	c.Acts, c.Look = s, func(_ context.Context, u web.URL) (*web.Page, error) {
		looks++
		return &web.Page{URL: u}, nil
	}
	const n = 40
	c.Listen = func(e event.Event) {
		if p, ok := e.(event.Fetched); ok {
			s.pages++
			if len(s.acts) < n {
				s.acts, s.after = append(s.acts, event.Act{Do: event.More, URL: p.URL}), append(s.after, 50)
			}
		}
	}
	if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	if j.given != n || looks != 2*n {
		t.Errorf("%d examples, and %d pages were read", j.given, looks)
	}
}
