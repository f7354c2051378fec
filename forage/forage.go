// Package forage goes through sites one by one, from the start page of each to
// its goal pages, as labelled paths have taught (Vydiswaran & Sarawagi 2005,
// section 3.4).
//
// A site is a crawl of its own: admission, scope, traps, redirects, politeness
// and robots.txt are those of package crawl and of the fetcher. What is added is
// the order of links, over several paths to the same page (section 3.3), what each
// page is taken for (section 3.4), and when to stop (section 4.4.3).
//
//	start page ─► crawl.Course ─► page ─► order: place, label, worth of links
//	                   ▲                             │
//	                   └────────── next link ◄───────┤
//	                                                 └─► goal: stop?
//
// A run keeps nothing of a site but its Result; results.go keeps those, so that
// a run that was stopped goes on with the sites that are left.
package forage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// Stop says when a site is done before its budget is spent (section 4.4.3).
type Stop string

// When to stop.
const (
	// First stops at the first goal.
	First Stop = "first"
	// Better goes on after a goal as long as a link is worth more than the page
	// just fetched.
	Better Stop = "better"
	// Never goes for as many goals as the budget allows.
	Never Stop = "never"
)

// Ending says how foraging a site ended.
type Ending string

// The endings of a site. Down, Moved and Stopped have a Note; a site that was
// Stopped, or is Down, is tried again by the next run.
const (
	Done    Ending = "done"    // as Stop says: the goal is there, or nothing better waits
	Budget  Ending = "budget"  // the pages are spent, or as many requests as they may cost
	Through Ending = "through" // no link is left
	Down    Ending = "down"    // the start page cannot be had, or the site stopped answering
	Moved   Ending = "moved"   // the start page redirects to another site
	Stopped Ending = "stopped" // from outside
)

// Step is a page on the way to a goal.
type Step struct {
	URL    web.URL `json:"url"`
	Label  string  `json:"label,omitempty"`  // what it was taken for, by the path up to it
	Anchor string  `json:"anchor,omitempty"` // of the link that led to it
}

// Milestone is the label of a page that bears one, for people; "" of a page on
// the way to another, and of one that was taken for a wrong turn: the way led on.
func (s Step) Milestone() string {
	if strings.HasPrefix(s.Label, "→") || s.Label == paths.Fail {
		return ""
	}
	return s.Label
}

// Goal is a page that was taken for a goal.
type Goal struct {
	Path  []Step  `json:"path"`  // from the start page, the goal itself last
	Pages int     `json:"pages"` // fetched when it was, itself among them
	Worth float64 `json:"worth"` // of the page, in [0,1]
	Sure  float64 `json:"sure"`  // probability that it is a goal, by its path, in [0,1]
	Claim float64 `json:"claim"` // the same by all its words too; 1 where the model has no say
	Alone bool    `json:"alone"` // taken for a goal by itself too, without its path
}

// URL is the goal page.
func (g *Goal) URL() web.URL { return g.Path[len(g.Path)-1].URL }

// Result is what became of a site.
type Result struct {
	Start  web.URL `json:"start"`
	Ending Ending  `json:"ending"`
	Note   string  `json:"note,omitempty"` // for people: why
	Pages  int     `json:"pages"`          // fetched
	Failed int     `json:"failed"`         // fetches that brought none
	Goals  []Goal  `json:"goals"`          // in the order in which they were found
}

// Forager forages sites. It is safe for concurrent use: each site is a crawl of
// its own, and what they share, the fetcher, keeps the pauses between requests
// to a host.
type Forager struct {
	Guide *guide.Guide
	Join  guide.Join
	Stop  Stop // "" = First
	// Sure is the probability from which a page counts as a goal, by all paths of
	// states that lead there, besides that the best of them takes it for one; 0 =
	// that alone, as published.
	Sure float64
	// Claim is the probability from which a page counts as a goal, by all its words too
	// (guide.Claim), besides that; 0 = it is not asked, as published. Nor is it where the
	// model cannot tell, as one of paths through a single site.
	Claim   float64
	Pages   int // budget of a site; 0 = 100
	Fetcher crawl.Fetcher
	Parser  crawl.Parser
	// Reach is how far from its start page a site goes; "" = its registrable
	// domain. Sites that share a host need ReachHost or are one.
	Reach crawl.Reach
	// Delay is the pause between requests to a host, and Clock who waits for
	// it; nil = the machine's.
	Delay time.Duration
	Clock clock.Clock
	// Recorded says that pages come from a record, where nothing is waited for.
	Recorded bool
	// Listen hears of each page. It may be nil.
	Listen func(Seen)
}

// Seen is a page that was fetched, and what it was taken for.
type Seen struct {
	URL   web.URL
	Pages int    // of the site so far, itself among them
	Label string // by the best path to it
	Goal  bool   // that is a goal
	// Sure and Claim are the probabilities that it is one, by its path and by all its
	// words too; a Claim is 1 where the model has no say.
	Sure, Claim float64
}

// DefaultPages is the budget of a site.
const DefaultPages = 100

// maxRequests bounds what a page of the budget may cost where requests are waited
// for: a site of dead links or of redirects that never end would hold the run for
// as long as it likes.
const maxRequests = 10

// Site forages one site. What goes wrong there is told in the Result; the error
// is one of the program, such as ctx's, with what was found so far.
func (f *Forager) Site(ctx context.Context, start web.URL) (Result, error) {
	s := &site{
		Forager: f, result: Result{Start: start, Goals: []Goal{}}, budget: cmp.Or(f.Pages, DefaultPages),
		reach: cmp.Or(f.Reach, crawl.ReachDomain), clock: f.Clock, order: newOrder(f.Guide, f.Join),
	}
	delay := f.Delay
	if f.Recorded {
		s.clock, delay = &leapingClock{}, 0
	} else if s.clock == nil {
		s.clock = clock.System{}
	}
	pause := job.Duration(delay)
	m := &job.Maker{
		Job: &job.Job{
			Name: start.String(), Scorer: job.Scorer{Name: "pathlearner"}, Budget: job.Budget{Pages: s.budget},
			Scope: job.Scope{Reach: string(s.reach)}, Politeness: job.Politeness{Delay: &pause}, Fetch: job.Fetch{Workers: 1},
		},
		Clock: s.clock, Fetcher: f.Fetcher, Parser: f.Parser, Judge: noJudge{}, Scorer: s.order, Seeds: []web.URL{start},
	}
	defer m.Close()
	c, err := m.Crawl(ctx)
	if err != nil {
		return s.result, err
	}
	c.Policy.MaxTries, c.JudgeName = 2, "none"
	c.Policy.Hollow, c.Policy.NearCopies = false, false // the guide says what a page is worth
	c.Listen = s.listen
	if s.course, err = c.Begin(ctx); err != nil {
		return s.result, err
	}
	s.crawl = c
	for done := false; !done && err == nil; {
		done, err = s.next(ctx)
	}
	return s.result, err
}

// site is a site that is being foraged.
type site struct {
	*Forager
	result   Result
	budget   int // pages
	requests int
	reach    crawl.Reach
	clock    clock.Clock
	order    *order
	crawl    *crawl.Crawl
	course   *crawl.Course
}

func (s *site) listen(e event.Event) {
	switch e := e.(type) {
	case event.Fetched:
		s.result.Pages++
	case event.Failed:
		if !e.Retry && e.To.IsZero() {
			s.result.Failed++
		}
	}
}

// end says how the site ended; it returns done.
func (s *site) end(how Ending, note string) (done bool, err error) {
	s.result.Ending, s.result.Note = how, note
	return true, nil
}

func (s *site) stopped(ctx context.Context) (done bool, err error) {
	s.end(Stopped, "stopped before its end")
	return true, ctx.Err()
}

// next fetches the best link, or waits until one is due.
func (s *site) next(ctx context.Context) (done bool, err error) {
	how, over, err := s.course.Ended()
	switch {
	case err != nil:
		return false, err
	case ctx.Err() != nil:
		return s.stopped(ctx)
	case over && s.result.Pages == 0:
		return s.end(Down, cmp.Or(s.result.Note, "no page could be fetched"))
	case over && how == event.BudgetSpent:
		return s.end(Budget, s.result.Note)
	case over && how == event.HostsDown:
		return s.end(Down, cmp.Or(s.result.Note, "the site stopped answering"))
	case over:
		return s.end(Through, s.result.Note)
	}
	leases, err := s.course.Lease(ctx)
	if err != nil {
		return false, err
	}
	if len(leases) == 0 {
		due, ok := s.course.NextDue()
		if _, over, err := s.course.Ended(); err == nil && over {
			return false, nil // with what Lease took in
		}
		if !ok {
			return false, errors.New("forage: the frontier holds links and gives none out")
		}
		if err := wait(ctx, s.clock, due); err != nil {
			return s.stopped(ctx)
		}
		return false, nil
	}
	l := leases[0]
	if s.Stop == Better && len(s.result.Goals) > 0 && l.Priority <= s.order.worth {
		return s.end(Done, s.result.Note)
	}
	if s.requests == maxRequests*s.budget && !s.Recorded {
		return s.end(Budget, fmt.Sprintf("only %d of %d requests brought a page, the others failed or were redirected", s.result.Pages, s.requests))
	}
	s.requests++
	return s.fetch(ctx, l)
}

// fetch fetches a link and takes what came of it into the result.
func (s *site) fetch(ctx context.Context, l web.Lease) (done bool, err error) {
	response, err := s.Fetcher.Fetch(ctx, l.URL)
	if err != nil && ctx.Err() != nil {
		return s.stopped(ctx)
	}
	a, err := s.crawl.Examine(ctx, l, response, err)
	if err != nil {
		return false, err
	}
	if s.result.Pages == 0 && a.Page == nil {
		// The start page, or what it redirects to.
		to := redirect(response)
		if !to.IsZero() && !same(s.reach, s.result.Start, to) {
			return s.end(Moved, fmt.Sprintf("the start page redirects to %s, on another site; give that one, if it is meant", to))
		}
		s.result.Note = "the start page cannot be had: " + why(a)
		if !to.IsZero() {
			s.result.Note = fmt.Sprintf("the start page redirects to %s, from where no page comes", to)
		}
	}
	s.order.from(l)
	if err := s.course.Arrive(ctx, a); err != nil {
		return false, err
	}
	if a.Page == nil {
		return false, nil
	}
	s.result.Note = ""
	step := s.order.steps[l.URL]
	if s.Listen != nil {
		s.Listen(Seen{l.URL, s.result.Pages, step.label, step.goal, step.sure, step.claim})
	}
	if !step.goal || step.sure < s.Sure || step.claim < s.Claim {
		return false, nil
	}
	s.result.Goals = append(s.result.Goals, Goal{
		Path: s.order.path(l.URL), Pages: s.result.Pages, Worth: s.order.worth, Sure: step.sure, Claim: step.claim, Alone: s.Guide.GoalAlone(a.Page),
	})
	if s.Stop == First || s.Stop == "" {
		return s.end(Done, "")
	}
	return false, nil
}

// why says, for people, why a fetch brought no page.
func why(a crawl.Arrival) string {
	detail := event.Line(a.Detail)
	switch {
	case a.Reason == web.ReasonStatus: // "status 404"
		return detail
	case detail != "":
		return a.Reason.Meaning() + ": " + detail
	}
	return a.Reason.Meaning()
}

// redirect is where a response redirects to, zero for none.
func redirect(r *web.Response) web.URL {
	if r == nil || r.Status < 300 || r.Status >= 400 {
		return web.URL{}
	}
	return r.Location
}

// same tells whether a redirect of a start page stays on its site. A host of the
// same domain does even where the site is a host: example.org and
// www.example.org are one.
func same(reach crawl.Reach, start, to web.URL) bool {
	return reach == crawl.ReachAny || start.Host().Domain() == to.Host().Domain()
}

// wait sleeps until due.
func wait(ctx context.Context, c clock.Clock, due time.Time) error {
	if l, ok := c.(*leapingClock); ok {
		l.now = due
		return ctx.Err()
	}
	timer, stop := c.NewTimer(due.Sub(c.Now()))
	defer stop()
	select {
	case <-timer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leapingClock is the clock of recorded sites, where nobody waits: it is set to the
// time that is waited for.
type leapingClock struct{ now time.Time }

func (l *leapingClock) Now() time.Time { return l.now }

func (*leapingClock) NewTimer(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// noJudge takes no page for relevant: the path that led to a page tells what it is.
type noJudge struct{}

func (noJudge) Judge(context.Context, *web.Page) (web.Verdict, error) { return web.Verdict{}, nil }
