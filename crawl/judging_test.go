package crawl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl/bigmap"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// changingJudge is a judge that says of all pages it met before, each time it meets one, that
// their relevance is the number of pages.
type changingJudge struct {
	AdaptiveJudge
	met []web.URL
}

func (j *changingJudge) Observe(p *web.Page, _ web.Verdict) []web.Renewal {
	before := j.again()
	j.met = append(j.met, p.URL)
	return before
}

func (j *changingJudge) again() (out []web.Renewal) {
	for _, u := range j.met {
		out = append(out, web.Renewal{URL: u, Verdict: web.Verdict{Relevance: float64(len(j.met))}})
	}
	return out
}

func (j *changingJudge) Notes() []string                     { return nil }
func (j *changingJudge) State() map[string][]byte            { return nil }
func (j *changingJudge) Share()                              {}
func (j *changingJudge) Lessons() [][]byte                   { return nil }
func (j *changingJudge) Learn([]byte) ([]web.Renewal, error) { return j.again(), nil }

// renewedScorer keeps what it is told, in order.
type renewedScorer struct {
	studentScorer
	told []string
}

func (s *renewedScorer) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	s.told = append(s.told, "visit "+c.URL.Path())
	return s.studentScorer.Visit(c, p, v)
}

func (s *renewedScorer) Renew(pages []web.Renewal) {
	line := "renew"
	for _, r := range pages {
		line += fmt.Sprintf(" %s %v", r.URL.Path(), r.Verdict.Relevance)
	}
	s.told = append(s.told, line)
	s.own = append(s.own, []byte(line))
}

// A scorer is told the judge's new verdicts right after the page that made it change its
// mind, or the lesson of another worker, but for pages of which a person said what they
// are and those that are no harvest for a reason.
func TestScorerIsToldRenewals(t *testing.T) {
	scorer, judge := &renewedScorer{}, &changingJudge{}
	s := NewStep(Policy{}, scorer, nil)
	s.judge = judge
	s.join(ownHosts{hosts: []web.Host{"a.example"}})
	s.steering.labels = map[web.URL]event.Verb{addressOf(t, "a.example/labelled"): event.Relevant}
	s.notes = bigmap.New(knownAtHand, nil)
	visit := func(path string, reason web.Reason) {
		a := pageWith(t, "a.example"+path)
		a.Reason = reason
		copy(a.Page.Digest[:], path) // no copy of another
		if _, err := s.Arrive(time.Unix(0, 0), a, everyLink); err != nil {
			t.Fatal(err)
		}
	}
	visit("/1", "")
	visit("/labelled", "")
	visit("/noindex", web.ReasonNoIndex)
	visit("/2", "")
	s.noteVerdict(addressOf(t, "a.example/2"), false, web.ReasonNoIndex)
	visit("/3", "")
	if _, err := s.Receive(time.Unix(0, 0), Mail{Lessons: []Lesson{{Judge: true, Data: []byte{1}}}}, everyLink); err != nil {
		t.Fatal(err)
	}
	want := `visit /1
visit /labelled
renew /1 1
visit /noindex
visit /2
renew /1 2
visit /3
renew /1 3
renew /1 4 /3 4`
	if got := strings.Join(scorer.told, "\n"); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
	var lessons []string
	for _, l := range s.mail(&web.Turn{}).Lessons {
		if b := string(l.Data); strings.HasPrefix(b, "renew") {
			lessons = append(lessons, b)
		}
	}
	if !slices.Equal(lessons, []string{"renew /1 1", "renew /1 2", "renew /1 3", "renew /1 4 /3 4"}) {
		t.Errorf("the lessons for others are %q", lessons)
	}
}

// A renewal is counted from the verdict that holds, not from the one that the judge remembers: a
// person may have said something since.
func TestRenewalsAreCountedFromWhatHolds(t *testing.T) {
	s := NewStep(Policy{}, nil, nil)
	s.notes = bigmap.New(knownAtHand, nil)
	u := addressOf(t, "a.example/1")
	for _, step := range []struct{ held, remembered, is, want bool }{
		{held: false, remembered: true, is: false, want: false},
		{held: false, remembered: true, is: true, want: true},
		{held: true, remembered: false, is: true, want: true},
		{held: true, remembered: false, is: false, want: false},
	} {
		s.noteVerdict(u, step.held, "")
		s.count.Relevant = 0
		if step.held {
			s.count.Relevant = 1
		}
		e := s.renew(time.Unix(0, 0), []web.Renewal{{URL: u, Was: step.remembered, Verdict: web.Verdict{Relevant: step.is}}}, nil)
		if v := e.(event.Rejudged).Pages[0]; v.Was != step.held || (s.count.Relevant == 1) != step.want {
			t.Errorf("%+v: it was %v, and %d are relevant", step, v.Was, s.count.Relevant)
		}
	}
}

// labelledScorer keeps what it is told of pages that were visited before.
type labelledScorer struct {
	anchorScorer
	told []web.Verdict
}

func (s *labelledScorer) Label(_ *web.Candidate, _ *web.Page, v web.Verdict, _ bool) {
	s.told = append(s.told, v)
}

// relevantJudge finds every page relevant.
type relevantJudge struct{}

func (relevantJudge) Judge(context.Context, *web.Page) (web.Verdict, error) {
	return web.Verdict{Relevance: 1, Relevant: true}, nil
}

// Where documents are wanted, a page that is only the way to them teaches as little when it is judged
// anew as when it came. What a person says of it counts.
func TestPagesOnTheWayAreJudgedAnew(t *testing.T) {
	scorer := &labelledScorer{}
	c := &Crawl{
		Frontier: frontier.NewMemory(frontier.Options{}), Scorer: scorer, Judge: relevantJudge{}, Policy: Policy{LinksOnly: []string{"text/html"}},
	}
	d := c.newDriver()
	if err := d.step.prepareActs(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	a := pageWith(t, "a.example/")
	a.Page.MIME, a.Lease.Features, a.Verdict = "text/html", []byte("0.5"), web.Verdict{Relevance: 1, Relevant: true}
	if err := d.arriveAll(t.Context(), epoch, []Arrival{a}, nil); err != nil {
		t.Fatal(err)
	}
	label := func() {
		if _, err := d.step.label(t.Context(), epoch, []*web.Page{a.Page}, c.Judge, nil); err != nil {
			t.Fatal(err)
		}
	}
	d.step.steering.add(event.Act{Number: 1, Do: event.Relevant, URL: a.Page.URL})
	label()
	d.step.steering.add(event.Act{Number: 2, Do: event.Undo, Act: 1})
	label()
	r := newRenewal()
	r.teach = d.step.recent.at
	if err := d.renewPage(t.Context(), r, a.Page); err != nil {
		t.Fatal(err)
	}
	way := web.Verdict{Relevance: wayShare}
	mustEqual(t, "told", scorer.told, []web.Verdict{verdictOf(event.Relevant), way, way})
}
