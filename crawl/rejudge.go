package crawl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// Rejudging is what judging a crawl anew came to.
type Rejudging struct {
	Pages   int      // judged
	Missing int      // in the log and not in the archive: they keep their relevance
	Was, Is int      // relevant pages; Is is known once it is settled
	Changed int      // pages that changed sides, likewise
	Links   int      // waiting links scored anew
	Kept    int      // waiting links that stand on no page in the archive: they keep their priorities
	Notes   []string // what the judge says of itself
}

// Rejudge judges the pages of a crawl that does not run anew, and scores anew the
// links that wait. pages are those of its archive, in their order. The Frontier,
// the Judge, the Scorer, the Log, the History and the Settings of Changes are used;
// judge and scorer are new ones.
//
// It goes through the log once more, in which the judge observes every page and
// the scorer visits it, as if the crawl had had this judge from its start and had
// come by the same way:
//
//	log      ─► Fetched ─► Failed ─► Fetched ─► …
//	archive  ─► page                 page
//	              └─► Judge, Observe ─► Extract, Visit ─► the links that wait
//
// A waiting link gets the features and the path of its best occurrence on these
// pages. Then Settle, which the caller calls once it has kept what the judge was
// made of, logs the new verdicts and the changes and stores what judge and scorer
// know, all with one turn. Until then the crawl is the old one, but for the
// priorities of its links.
func (c *Crawl) Rejudge(ctx context.Context, pages iter.Seq2[*web.Page, error]) (*Rejudgement, error) {
	own := *c
	if own.Clock == nil {
		own.Clock = clock.System{}
	}
	r := &Rejudgement{Crawl: &own, step: NewStep(c.Policy, c.Scorer, c.Judge), verdicts: map[web.URL]verdictChange{}, links: map[web.URL]*web.Candidate{}}
	if err := r.restore(ctx); err != nil {
		return nil, err
	}
	if err := r.collectLinks(ctx); err != nil {
		return nil, err
	}
	if err := r.replay(ctx, pages); err != nil {
		return nil, err
	}
	return r, r.rescore(ctx)
}

// Rejudgement is a crawl whose pages were judged anew.
type Rejudgement struct {
	*Crawl
	Rejudging
	step     *Step
	order    []web.URL // of the pages judged
	verdicts map[web.URL]verdictChange
	links    map[web.URL]*web.Candidate // waiting, or fetched; zero where it stands on no page yet
	fetched  map[web.URL]int            // place among the pages of the log
	acts     []event.Act
}

// verdictChange is what was said of a page, and what is said now.
type verdictChange struct {
	was, is web.Verdict
	reason  web.Reason // why it is no harvest whatever its relevance; "" = it may be
	left    web.Reason // the same, where the log does not tell that it holds
	wanted  bool       // the log tells a reason that holds no more, as the kind of the page is wanted again
	untold  bool       // and it does not tell that yet
}

// restore takes up what the crawl counts. What judge and scorer knew is not
// wanted.
func (r *Rejudgement) restore(ctx context.Context) error {
	b, err := r.Frontier.State(ctx, stateCrawl)
	if err != nil || b == nil {
		return err
	}
	if err := json.Unmarshal(b, &r.step.count); err != nil {
		return fmt.Errorf("stored state %q cannot be read: %w", stateCrawl, err)
	}
	return nil
}

// collectLinks collects the links that wait, and the pages that were fetched.
func (r *Rejudgement) collectLinks(ctx context.Context) error {
	for from, again := []byte(nil), true; again; again = from != nil {
		var err error
		from, err = r.Frontier.Rescore(ctx, from, sweepSlice, func(c *web.Candidate) float64 {
			r.links[c.URL] = nil
			return c.Priority
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return ofFrontier(err)
		}
	}
	r.fetched = map[web.URL]int{}
	for e, err := range r.History {
		if err != nil {
			return fmt.Errorf("the event log: %w", err)
		}
		switch e := e.(type) {
		case event.Fetched:
			r.fetched[e.URL] = len(r.fetched)
			r.links[e.URL] = nil
		case event.Failed:
			r.links[e.URL] = nil
		}
	}
	return nil
}

// replay goes through the log: the judge observes each page, the scorer visits it.
func (r *Rejudgement) replay(ctx context.Context, pages iter.Seq2[*web.Page, error]) error {
	next, stop := iter.Pull2(pages)
	defer stop()
	ahead, err := r.nextPage(next)
	if err != nil {
		return err
	}
	for e, err := range r.History {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		switch e := e.(type) {
		case event.Seeded:
			for _, f := range e.Queued {
				r.offer(web.Candidate{URL: f.URL, Kind: cmp.Or(f.Link, web.LinkSeed), Priority: f.Priority})
			}
		case event.Fetched:
			// The archive has the pages in the order of the log, without those
			// that asked not to be kept.
			for ahead != nil && r.fetched[ahead.URL] < r.fetched[e.URL] {
				if ahead, err = r.nextPage(next); err != nil {
					return err
				}
			}
			p := ahead
			if p == nil || p.URL != e.URL {
				p = nil
			} else if ahead, err = r.nextPage(next); err != nil {
				return err
			}
			if err := r.judge(ctx, e, p); err != nil {
				return err
			}
		case event.Failed:
			r.fail(e)
		case event.Act:
			r.acts = append(r.acts, e)
		}
	}
	if j, ok := r.step.judge.(ConcludingJudge); ok {
		if notes, _ := j.LastNotes(); notes != nil {
			r.Notes = notes
		}
	}
	for _, a := range event.Effective(r.acts) { // what a person said of a page stays
		if v, ok := r.verdicts[a.URL]; ok && a.Label() {
			if v.is = verdictOf(a.Do); v.is.Relevant && !v.reason.Copy() {
				v.reason = ""
			}
			r.verdicts[a.URL] = v
		}
	}
	return nil
}

// nextPage is the next page of the archive that the log knows, nil at its end.
func (r *Rejudgement) nextPage(next func() (*web.Page, error, bool)) (*web.Page, error) {
	for {
		p, err, ok := next()
		if err != nil || !ok {
			return nil, err
		}
		if _, known := r.fetched[p.URL]; known {
			return p, nil
		}
	}
}

// take removes the candidate of an address that was fetched, and returns it.
func (r *Rejudgement) take(v event.Visit) *web.Candidate {
	c := r.links[v.URL]
	delete(r.links, v.URL)
	if c == nil {
		c = &web.Candidate{URL: v.URL, From: v.From, Kind: v.Link, Depth: v.Depth, Priority: v.Priority}
	}
	return c
}

// judge judges a page, nil where the archive has it not.
func (r *Rejudgement) judge(ctx context.Context, e event.Fetched, p *web.Page) error {
	c := r.take(e.Visit)
	was := web.Verdict{Relevance: e.Relevance, Similarity: e.Similarity, Relevant: e.Relevant}
	if e.Relevant {
		r.Was++
	}
	if p == nil {
		r.Missing++
		if r.stays(e) {
			r.Is++
		}
		if r.stays(e) != e.Relevant {
			r.Changed++
		}
		r.step.scorer.Visit(c, nil, web.Verdict{})
		return nil
	}
	r.Pages++
	said, _, err := r.verdict(ctx, p)
	if err != nil {
		return err
	}
	reason, linksOnly, wanted := cmp.Or(e.Reason, e.Overruled), r.step.leads.types[p.MIME], false
	switch { // which kinds count may have changed
	case linksOnly && reason == "":
		reason = web.ReasonLinksOnly
	case !linksOnly && reason == web.ReasonLinksOnly:
		reason, wanted = "", true
	}
	var left web.Reason
	if e.Reason == "" { // what was overruled holds again
		left = reason
	}
	v := said
	v.Relevant = said.Relevant && reason == ""
	var memory []byte
	if e.Reason.Copy() {
		memory = r.step.copied(c, p, v, e.Reason)
	} else {
		memory = r.step.scorer.Visit(c, p, r.step.leads.worth(v, linksOnly))
		r.step.leads.arrive(c, linksOnly, v.Relevant)
	}
	r.order = append(r.order, p.URL)
	r.verdicts[p.URL] = verdictChange{was: was, is: v, reason: reason, left: left, wanted: wanted, untold: wanted && !e.Wanted}
	if adapting := r.step.judge; adapting != nil && reason == "" {
		renewed := adapting.Observe(p, said)
		r.step.teachRenewed(renewed)
		for _, x := range renewed {
			if j, ok := r.verdicts[x.URL]; ok {
				j.is = x.Verdict
				r.verdicts[x.URL] = j
			}
		}
		r.Notes = append(r.Notes, adapting.Notes()...)
	}
	if p.Directives.NoFollow && !r.Policy.IgnoreDirectives {
		return nil
	}
	var features [][]byte
	for i := range p.Links {
		l := &p.Links[i]
		if _, wanted := r.links[l.URL]; !wanted || l.NoFollow && r.Policy.HonourNoFollow {
			continue
		}
		if features == nil {
			features = r.step.scorer.Extract(p, said)
		}
		x := web.Candidate{URL: l.URL, From: p.URL, Kind: l.Kind, Depth: c.Depth + 1, Features: features[i], Memory: memory}
		x.Priority = r.step.score(&x)
		r.offer(x)
	}
	return nil
}

// stays tells whether a page that the archive has not is relevant from now on: it keeps its
// relevance, of which another threshold may say something else.
func (r *Rejudgement) stays(e event.Fetched) bool {
	if !slices.ContainsFunc(r.Changes.Settings, func(c event.Changed) bool { return c.Setting == event.SettingThreshold }) {
		return e.Relevant
	}
	return e.Reason == "" && e.Relevance >= r.Threshold
}

// fail takes in what brought no page.
func (r *Rejudgement) fail(e event.Failed) {
	if e.Retry || e.Outage {
		return
	}
	c := r.take(e.Visit)
	r.step.scorer.Visit(c, nil, web.Verdict{})
	if e.Reason == web.ReasonRedirect && e.Queued {
		next := *c
		next.URL, next.From, next.Kind = e.To, c.URL, web.LinkRedirect
		next.Redirects++
		r.offer(next)
	}
}

// offer takes x for a link that waits or was fetched, if it is its best occurrence so far.
func (r *Rejudgement) offer(x web.Candidate) {
	if c, wanted := r.links[x.URL]; wanted && (c == nil || x.Priority > c.Priority) {
		r.links[x.URL] = &x
	}
}

// rescore gives the waiting links what was found of them.
func (r *Rejudgement) rescore(ctx context.Context) error {
	met := map[web.URL]bool{}
	score := func(c *web.Candidate) float64 {
		if c.Priority >= SeedPriority {
			return c.Priority
		}
		x := r.links[c.URL]
		if !met[c.URL] {
			met[c.URL] = true
			if x == nil {
				r.Kept++
			} else {
				r.Links++
			}
		}
		if x == nil {
			return c.Priority
		}
		c.From, c.Kind, c.Depth, c.Redirects = x.From, x.Kind, x.Depth, x.Redirects
		c.Features, c.Memory = x.Features, x.Memory
		return r.step.score(c)
	}
	for from, again := []byte(nil), true; again; again = from != nil {
		var err error
		if from, err = r.Frontier.Rescore(ctx, from, sweepSlice, score); err != nil {
			return ofFrontier(err)
		}
	}
	return nil
}

// rejudgedPages is how many pages one event tells of.
const rejudgedPages = 1000

// Settle logs the verdicts and the changes, and stores what judge and scorer know.
// From then on the crawl is one that was judged so.
func (r *Rejudgement) Settle(ctx context.Context) error {
	at := event.At{At: r.Clock.Now()}
	told := event.Rejudged{At: at, Judge: r.JudgeName, Threshold: r.Threshold}
	var events []event.Event
	r.step.count.Forecast = event.Forecast{}
	for _, u := range r.order {
		j := r.verdicts[u]
		v := j.is
		v.Relevant = v.Relevant && j.reason == ""
		if v.Relevant {
			r.Is++
		}
		r.step.count.Forecast.Add(v.Relevant)
		if v.Relevant != j.was.Relevant {
			r.Changed++
		}
		if v.Relevance == j.was.Relevance && v.Similarity == j.was.Similarity && v.Relevant == j.was.Relevant && j.left == "" && !j.untold {
			continue
		}
		told.Pages = append(told.Pages, event.Verdict{URL: u, Relevance: v.Relevance, Similarity: v.Similarity, Relevant: v.Relevant, Was: j.was.Relevant, Reason: j.left, Wanted: j.wanted})
		if len(told.Pages) == rejudgedPages {
			events = append(events, told)
			told.Pages = nil
		}
	}
	events = append(events, told)
	for _, e := range r.Changes.Settings {
		e.At = at
		events = append(events, e)
	}
	if len(r.Notes) > 0 {
		events = append(events, event.Doubt{At: at, Notes: r.Notes})
	}
	turn := web.Turn{}
	r.step.count.Relevant = r.Is
	c := &r.step.count
	c.Sweeping, c.Sweep, c.SweepDue, c.SweepAgain = false, nil, false, false
	r.step.store(&turn)
	if err := r.clearStates(ctx, &turn); err != nil {
		return err
	}
	if r.Log != nil {
		mark, err := r.Log.Append(events...)
		if err != nil {
			return fmt.Errorf("event log: %w", err)
		}
		turn.State[StateEvents] = mark
		if err := r.Log.Sync(); err != nil {
			return fmt.Errorf("event log: %w", err)
		}
	}
	if _, err := r.Frontier.Commit(ctx, turn); err != nil {
		return ofFrontier(err)
	}
	return r.Frontier.Sync()
}

// clearStates clears the stored states of judge and scorer where the new ones have
// none.
func (r *Rejudgement) clearStates(ctx context.Context, t *web.Turn) error {
	for _, name := range []string{stateJudge, stateScorer} {
		if _, has := t.State[name]; has {
			continue
		}
		if b, err := r.Frontier.State(ctx, name); err != nil {
			return err
		} else if len(b) > 0 {
			t.State[name] = []byte{}
		}
	}
	return nil
}
