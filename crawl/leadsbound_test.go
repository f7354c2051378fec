package crawl

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// rescoredAnchors are anchors whose links are scored anew when their turn comes.
type rescoredAnchors struct{ anchorScorer }

func (rescoredAnchors) Rescores() bool { return true }

// Where documents are wanted they are fetched next to the page that holds them, however many others
// never enter the frontier. One that failed comes after another link of its host.
func TestDocumentsTried(t *testing.T) {
	v := newVirtual(t, "a.example/")
	v.policy.Scope, v.policy.Files, v.policy.LinksOnly = Scope{Reach: ReachHost}, []string{"md"}, []string{"text/html"}
	v.scorer = rescoredAnchors{}
	var outside []string
	for i := range mostLeads {
		outside = append(outside, fmt.Sprintf("b.example/%d.md 0", i))
	}
	var order []string
	v.answer = func(_ time.Time, u web.URL) (pageOf, time.Duration) {
		var p pageOf
		switch u.Path() {
		case "/":
			p.links = []string{"a.example/all 9", "a.example/list 8", "a.example/other 5", "a.example/last 4"}
		case "/all":
			p.links = outside
		case "/list":
			p.links = []string{"a.example/1.md 1", "a.example/2.md 1"}
		case "/2.md":
			if !slices.Contains(order, "/2.md") {
				p.failure = web.ReasonReset
			}
		}
		order = append(order, u.Path())
		return p, time.Millisecond
	}
	if how := v.run(time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	if want := []string{"/", "/all", "/list", "/1.md", "/2.md", "/other", "/2.md", "/last"}; !slices.Equal(order, want) {
		t.Errorf("asked for %v", order)
	}
}

// Links to documents that leave the frontier unfetched take no place of those that are tried.
func TestDocumentsTriedAfterOthersLeft(t *testing.T) {
	at := func(format string, args ...any) web.URL {
		u, err := web.Parse("https://" + fmt.Sprintf(format, args...))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		name  string
		leave func(s *Step, all []web.Candidate) error
	}{
		{"closed", func(s *Step, _ []web.Candidate) error {
			s.close("a.example", web.ReasonHostPages)
			return nil
		}},
		{"full", func(s *Step, all []web.Candidate) error {
			s.Dropped(time.Time{}, web.Turn{}, web.Receipt{Dropped: all[:2000], Displaced: all[2000:3000], Crowded: all[3000:]})
			return nil
		}},
		{"left", func(s *Step, all []web.Candidate) error {
			_, err := s.leave(time.Time{}, all, web.ReasonScope)
			return err
		}},
	} {
		s := NewStep(Policy{LinksOnly: []string{"text/html"}}, rescoredAnchors{}, nil)
		var all []web.Candidate
		for i := range mostLeads {
			all = append(all, web.Candidate{URL: at("a.example/%d.md", i), Priority: 1})
			s.leads.try(&all[i])
		}
		if s.leads.tries(at("b.example/1.md")) {
			t.Fatalf("%s: more than %d are tried", c.name, mostLeads)
		}
		if err := c.leave(s, all); err != nil {
			t.Fatal(err)
		}
		if !s.leads.tries(at("b.example/1.md")) {
			t.Errorf("%s: no other document is tried", c.name)
		}
	}
}

// droppingFrontier has no room for a link as a turn is committed, and scores it on another core meanwhile.
type droppingFrontier struct {
	*frontier.Frontier
	t    *testing.T
	link web.Candidate
}

func (f droppingFrontier) Commit(ctx context.Context, turn web.Turn) (web.Receipt, error) {
	r, err := f.Frontier.Commit(ctx, turn)
	r.Dropped = append(r.Dropped, f.link)
	return r, err
}

func (f droppingFrontier) Prescore(_ int, score func(*web.Candidate) float64) (join func()) {
	was, other := score(&f.link), make(chan float64)
	go func() { other <- score(&f.link) }()
	return func() {
		if is := <-other; is != was {
			f.t.Errorf("a link had the priority %v and then %v while links were scored on other cores", was, is)
		}
	}
}

// steadyAnchors may be called by several goroutines.
type steadyAnchors struct{ rescoredAnchors }

func (steadyAnchors) Steady() {}

// What leaves the frontier with a page changes no score before the links that are scored meanwhile
// are. With the detector of races, nothing by which they are scored is written.
func TestDocumentsLeaveWhileOthersAreScored(t *testing.T) {
	link := web.Candidate{URL: addressOf(t, "a.example/1.md"), Priority: 0.5, Features: []byte("0.1")}
	c := &Crawl{
		Frontier: droppingFrontier{frontier.NewMemory(frontier.Options{}), t, link},
		Scorer:   steadyAnchors{}, Policy: Policy{LinksOnly: []string{"text/html"}},
	}
	d := c.newDriver()
	d.step.leads.try(&link)
	d.step.count.Sweeping = true
	if err := d.arriveAll(t.Context(), epoch, []Arrival{pageWith(t, "a.example/")}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(d.step.leads.tried); n != 0 {
		t.Errorf("%d links that left are tried", n)
	}
}
