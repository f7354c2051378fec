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

// exampleJudge counts how often it was given examples, and how many it was given last.
type exampleJudge struct {
	plain        crawl.Judge
	taught, last int
}

func (j *exampleJudge) Judge(ctx context.Context, p *web.Page) (web.Verdict, error) {
	return j.plain.Judge(ctx, p)
}

func (j *exampleJudge) Observe(*web.Page, web.Verdict) []web.Renewal    { return nil }
func (j *exampleJudge) Notes() []string                                 { return nil }
func (j *exampleJudge) State() map[string][]byte                        { return nil }
func (j *exampleJudge) Restore(func(name string) ([]byte, error)) error { return nil }
func (j *exampleJudge) Label(wanted []*web.Page) []web.Renewal {
	j.taught++
	j.last = len(wanted)
	return nil
}

// labelledCrawl is a crawl whose first 40 pages are labelled, all at once after 50 pages.
func labelledCrawl(t *testing.T) (c *crawl.Crawl, j *exampleJudge, s *said, looks *int) {
	c = newCrawl(t, tree(3, 200), 1)
	c.Clock, c.Policy.Pages = stillClock{}, 60
	j, s, looks = &exampleJudge{plain: c.Judge}, &said{}, new(int)
	c.Judge = j
	c.Acts, c.Look = s, func(_ context.Context, u web.URL) (*web.Page, error) {
		*looks++
		return &web.Page{URL: u}, nil
	}
	return c, j, s, looks
}

// Labels that wait together are taken in together: each page of which more are wanted is read from
// the archive once, the judge is taught once, and what waits is scored anew once. Each label is an
// event of its own, in its order, and the verdicts follow it.
func TestManyLabels(t *testing.T) {
	c, j, s, looks := labelledCrawl(t)
	f := &rescoredFrontier{Frontier: c.Frontier}
	c.Frontier = f
	const n = 40
	var labelled, story []string
	c.Listen = func(e event.Event) {
		switch e := e.(type) {
		case event.Fetched:
			s.pages++
			if len(s.acts) < n {
				s.acts, s.after = append(s.acts, event.Act{Do: event.More, URL: e.URL}), append(s.after, 50)
				labelled = append(labelled, e.URL.String())
			}
		case event.Act:
			story = append(story, fmt.Sprintf("act %d %s", e.Number, e.Words()))
		case event.Rejudged:
			for _, v := range e.Pages {
				story = append(story, "verdict "+v.URL.String())
			}
		}
	}
	if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	if j.taught != 1 || j.last != n || *looks != n || f.times != 1 {
		t.Errorf("the judge was taught %d times, with %d examples at last; %d pages were read; what waits was scored anew %d times", j.taught, j.last, *looks, f.times)
	}
	var want []string
	for i, u := range labelled {
		want = append(want, fmt.Sprintf("act %d more %s", i+1, u))
	}
	for _, u := range labelled {
		want = append(want, "verdict "+u)
	}
	if !slices.Equal(story, want) {
		t.Errorf("it happened:\n%s\nwanted:\n%s", strings.Join(story, "\n"), strings.Join(want, "\n"))
	}
}

// A label reaches judge and scorer within a second, also where nothing comes from the web meanwhile.
func TestLabelIsTakenInWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, j, _, _ := labelledCrawl(t)
		c.Clock, c.Policy.Delay, c.Policy.Pages = nil, 30*time.Second, 20
		began := time.Now()
		after := 7300 * time.Millisecond
		c.Acts = toldAfter(func(n int) []event.Act {
			if n > 0 || time.Since(began) < after {
				return nil
			}
			return []event.Act{{Do: event.More, URL: mustParse(t, "h0.example/")}}
		})
		var took time.Duration
		c.Listen = func(e event.Event) {
			if e, ok := e.(event.Act); ok {
				took = e.Time().Sub(began) - after
				if j.taught != 1 {
					t.Errorf("the judge was taught %d times when the label was told", j.taught)
				}
			}
		}
		if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent {
			t.Fatal(how, err)
		}
		if took <= 0 || took > time.Second {
			t.Errorf("it was taken in after %v", took)
		}
	})
}

// toldAfter are the acts behind the first n.
type toldAfter func(n int) []event.Act

func (f toldAfter) After(n int) ([]event.Act, error) { return f(n), nil }

// Of several labels of one page that are taken in together the last holds, an undo counts as if
// its label had never been given, and other acts stay in their order among them.
func TestLabelsTogether(t *testing.T) {
	for lines, want := range map[string]string{
		"10 relevant h0.example/17\n10 irrelevant h0.example/17": "act 1 relevant http://h0.example/17; " +
			"act 2 irrelevant http://h0.example/17; verdict h0.example/17 false was false",
		"10 irrelevant h0.example/2\n10 relevant h0.example/17\n10 undo 1": "act 1 irrelevant http://h0.example/2; " +
			"act 2 relevant http://h0.example/17; act 3 undo 1; verdict h0.example/17 true was false; verdict h0.example/2 true was true",
		"10 irrelevant h0.example/2\n10 budget 60\n10 relevant h0.example/999\n10 relevant h0.example/17": "act 1 irrelevant http://h0.example/2; " +
			"verdict h0.example/2 false was true; act 2 budget 60; act 3 relevant http://h0.example/999 the archive holds no page of this address; " +
			"act 4 relevant http://h0.example/17; verdict h0.example/17 true was false",
	} {
		got := strings.Join(slices.DeleteFunc(steered(t, lines), func(s string) bool { return strings.HasPrefix(s, "page") }), "; ")
		if got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", lines, got, want)
		}
	}
}

// A crawl that fails at one of several labels has taken in those before it: they are in the log,
// with their verdicts.
func TestFailsAtALabel(t *testing.T) {
	c, _, s, _ := labelledCrawl(t)
	broken := errors.New("broken")
	look, looks := c.Look, 0
	c.Look = func(ctx context.Context, u web.URL) (*web.Page, error) {
		if looks++; looks == 4 {
			return nil, broken
		}
		return look(ctx, u)
	}
	log := &keptLog{}
	c.Log = log
	c.Listen = func(e event.Event) {
		if p, ok := e.(event.Fetched); ok {
			s.pages++
			s.acts, s.after = append(s.acts, event.Act{Do: event.Relevant, URL: p.URL}), append(s.after, 50)
		}
	}
	if _, err := c.Run(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	acts, verdicts := 0, 0
	for _, e := range log.events {
		switch e := e.(type) {
		case event.Act:
			acts++
		case event.Rejudged:
			verdicts += len(e.Pages)
		}
	}
	if acts != 3 || verdicts != 3 {
		t.Errorf("the log has %d acts and %d verdicts", acts, verdicts)
	}
}

// keptLog keeps events in memory.
type keptLog struct{ events []event.Event }

func (l *keptLog) Append(events ...event.Event) ([]byte, error) {
	l.events = append(l.events, events...)
	return nil, nil
}

func (*keptLog) Sync() error { return nil }

// largeFrontier says that it has a million links more than it has, and scores few of its own anew at a
// time. It counts how often it came to the end of them.
type largeFrontier struct {
	crawl.Frontier
	through int
}

func (f *largeFrontier) Stats(now time.Time) web.FrontierStats {
	s := f.Frontier.Stats(now)
	if s.Queued > 0 {
		s.Queued += 1_000_000
	}
	return s
}

func (f *largeFrontier) Rescore(ctx context.Context, from []byte, _ int, score func(*web.Candidate) float64) ([]byte, error) {
	next, err := f.Frontier.Rescore(ctx, from, 10, score)
	if next == nil {
		f.through++
	}
	return next, err
}

// learningScorer scores links anew when their turn comes.
type learningScorer struct{ crawl.Scorer }

func (learningScorer) Rescores() bool { return true }

// In a large frontier all that waits is scored anew also where labels come more often than that takes.
func TestLabelsDuringASweep(t *testing.T) {
	var body strings.Builder
	site := mapWeb{}
	for i := range 300 {
		fmt.Fprintf(&body, "<a href=/%d>%d</a> ", i+2, i)
		site[fmt.Sprintf("h0.example/%d", i+2)] = fmt.Sprintf("<title>%d</title>", i)
	}
	site["h0.example/1"] = "<title>0</title>" + body.String()
	c := newCrawl(t, site, 1)
	c.Clock, c.Policy.Pages, c.Scorer = stillClock{}, 100, learningScorer{c.Scorer}
	f, s := &largeFrontier{Frontier: c.Frontier}, &said{}
	c.Frontier, c.Acts, c.Look = f, s, func(_ context.Context, u web.URL) (*web.Page, error) { return &web.Page{URL: u}, nil }
	c.Listen = func(e event.Event) {
		if e, ok := e.(event.Fetched); ok {
			if s.pages++; s.pages%5 == 0 {
				s.acts, s.after = append(s.acts, event.Act{Do: event.More, URL: e.URL}), append(s.after, s.pages)
			}
		}
	}
	if how, err := c.Run(t.Context()); err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	if f.through < 2 || f.through > 10 {
		t.Errorf("in 100 pages all that waits was scored anew %d times", f.through)
	}
}
