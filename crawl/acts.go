package crawl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/crawl/bigmap"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// How people steer a running crawl. What they want is an act, kept by whoever took it
// from them; the driver asks for new ones after each arrival and twice a second:
//
//	person ─► Acts ─► driver ─► event.Act, what it changed ─► log ─► turn
//
// The turn of an act carries its effect and its place in the log, so a crawl that is
// killed in between takes it in again when it goes on, and never twice.

// Acts keeps what people told a crawl, in order. It is asked by one goroutine.
type Acts interface {
	// After returns the acts behind the first n, each with its number; nil for none.
	After(n int) ([]event.Act, error)
}

// Look finds a page that was fetched: its archived body, parsed. It is nil where there
// is none.
type Look func(ctx context.Context, u web.URL) (*web.Page, error)

// firstPlace is how far a boosted link goes ahead.
const firstPlace = 1e9

// rescoredAtOnce is how many links that wait are scored anew at once after an act. In a
// larger frontier that is done in slices, and a link whose turn comes is scored anyway.
const rescoredAtOnce = 50_000

// actState is what people told a crawl, and what of it holds.
type actState struct {
	acts   []event.Act // all of them
	muted  []event.Act
	boosts []event.Act
	labels map[web.URL]event.Verb
}

// add takes the next act in.
func (s *actState) add(a event.Act) {
	s.acts = append(s.acts, a)
	if s.labels == nil {
		s.labels = map[web.URL]event.Verb{}
	}
	switch {
	case a.Refused != "":
	case a.Do == event.Undo:
		s.muted, s.boosts = nil, nil
		clear(s.labels)
		for _, a := range event.Effective(s.acts) {
			s.holds(a)
		}
	default:
		s.holds(a)
	}
}

// holds takes in an act that is neither refused nor undone.
func (s *actState) holds(a event.Act) {
	switch {
	case a.Do == event.Mute:
		s.muted = append(s.muted, a)
	case a.Do == event.Boost:
		s.boosts = append(s.boosts, a)
	case a.Label():
		s.labels[a.URL] = a.Do
	}
}

func (s *actState) mutes(u web.URL) bool {
	for i := range s.muted {
		if s.muted[i].Has(u) {
			return true
		}
	}
	return false
}

// lifts tells whether some links go before others.
func (s *actState) lifts() bool {
	if len(s.boosts) > 0 {
		return true
	}
	for _, l := range s.labels {
		if l == event.More {
			return true
		}
	}
	return false
}

// rank is the priority of a link, given what it would be otherwise.
func (s *actState) rank(c *web.Candidate, priority float64) float64 {
	if len(s.acts) == 0 {
		return priority
	}
	if s.labels[c.From] == event.More {
		return priority + firstPlace
	}
	for i := range s.boosts {
		if s.boosts[i].Has(c.URL) {
			return priority + firstPlace
		}
	}
	return priority
}

// mostRecent bounds the links of which it is held what they carried.
const mostRecent = 4096

// recentLinks are the links that were fetched last; those of earlier runs are without
// features.
type recentLinks struct {
	at   map[web.URL]web.Candidate
	ring []web.URL
	next int
}

func (r *recentLinks) add(c *web.Candidate) {
	if r == nil {
		return
	}
	if len(r.ring) < mostRecent {
		r.ring = append(r.ring, c.URL)
	} else {
		delete(r.at, r.ring[r.next])
		r.ring[r.next] = c.URL
		r.next = (r.next + 1) % mostRecent
	}
	r.at[c.URL] = *c
}

// prepareActs prepares a crawl that people can steer. told are the acts that earlier runs took
// in; the judge gets the labels among them before its state is restored.
func (s *Step) prepareActs(ctx context.Context, told []event.Act, look Look) error {
	s.notes, s.recent = bigmap.New(knownAtHand, s.scratch), &recentLinks{at: map[web.URL]web.Candidate{}}
	for _, a := range told {
		s.steering.add(a)
	}
	_, err := s.teachJudge(ctx, look, nil)
	s.earlier = len(told)
	return err
}

func hashOf(u web.URL) uint64 { return xxh3.HashString(u.String()) }

// What is noted of a page that was fetched.
const (
	notedRelevant = 1 << iota
	notedOut      // it is no harvest for a reason
	notedCopy     // the reason is that it repeats another page
)

// noteVerdict notes whether a page is relevant, and what keeps it out of the harvest.
func (s *Step) noteVerdict(u web.URL, relevant bool, out web.Reason) {
	if s.notes == nil {
		return
	}
	was, _ := s.notes.Get(hashOf(u))
	is := was &^ notedRelevant
	if relevant {
		is |= notedRelevant
	}
	if out != "" {
		is |= notedOut
	}
	if out.Copy() {
		is |= notedCopy
	}
	if is != was { // most pages are neither
		s.notes.Put(hashOf(u), is)
	}
}

// noted tells whether one of the notes of a page is set.
func (s *Step) noted(u web.URL, note uint64) bool {
	if s.notes == nil {
		return false
	}
	of, _ := s.notes.Get(hashOf(u))
	return of&note != 0
}

// mostActsAtOnce bounds the acts that are taken in between two arrivals. What waits is scored
// anew once for all of them: that costs the more, the more waits.
const mostActsAtOnce = 256

// takeActs takes new acts in: some, where there are many, so that pages are fetched meanwhile.
// The next tick takes in more. Labels that follow one another are taken in together, in one turn:
// judge and scorer are taught once for all of them.
func (d *driver) takeActs(ctx context.Context, now time.Time) error {
	if d.Acts == nil {
		return nil
	}
	acts, err := d.Acts.After(len(d.step.steering.acts))
	if err != nil {
		return fmt.Errorf("acts: %w", err)
	}
	again, n := false, 0
	for _, a := range acts[:min(len(acts), mostActsAtOnce)] {
		if n > 0 && d.Clock.Now().Sub(now) >= tickEvery/2 {
			break
		}
		if err = ctx.Err(); err != nil {
			err = fmt.Errorf("acts: %w", err)
			break
		}
		var more bool
		if more, err = d.act(ctx, now, a); err != nil {
			break
		}
		again = again || more
		n++
	}
	// Also after an error: what was taken in before it holds.
	err = cmp.Or(err, d.settleLabels(ctx, now))
	d.taking = n < len(acts)
	if again && (err == nil || ctx.Err() != nil) {
		// Also where the crawl is stopped meanwhile: the log has the acts, so they hold.
		err = cmp.Or(d.rescore(context.WithoutCancel(ctx), now), err)
	}
	return err
}

// takeAllActs takes in all acts that there are, before anything is fetched, and ticks meanwhile.
func (d *driver) takeAllActs(ctx context.Context, now time.Time) error {
	for {
		if err := d.takeActs(ctx, now); err != nil || !d.taking {
			return err
		}
		now = d.Clock.Now()
		d.tellActivity(now)
		if err := d.tell(mostUntold); err != nil {
			return err
		}
		d.hear(event.Tick{At: event.At{At: now}, Frontier: d.stats(now)})
	}
}

// act does what an act says, and tells whether what waits is to be scored anew.
func (d *driver) act(ctx context.Context, now time.Time, a event.Act) (rescore bool, err error) {
	if err := d.tell(0); err != nil { // the archive may be read
		return false, err
	}
	a.At, a.Number = event.At{At: now}, len(d.step.steering.acts)+1
	s := &d.step.steering
	if err := a.Check(); a.Refused == "" && err != nil {
		a.Refused = err.Error()
	}
	switch a.Do {
	case event.Budget:
		a.Was = d.step.policy.Pages
	case event.Delay:
		a.Before = d.step.policy.Delay.String()
	case event.Keywords:
		a.KeywordsBefore = d.step.words
	}
	about := a // what is done, or undone
	if a.Do == event.Undo && a.Refused == "" {
		if err := event.CheckUndo(s.acts[:a.Number-1], a.Act); err != nil {
			a.Refused = err.Error()
		} else {
			about = s.acts[a.Act-1]
			a.Refused = d.setSince(a, &about)
		}
	}
	var page *web.Page
	if a.Refused == "" && about.Label() {
		var err error
		if page, err = d.page(ctx, about.URL); err != nil {
			return false, err
		}
		switch {
		case page != nil:
		case d.Peers == nil:
			a.Refused = "the archive holds no page of this address"
		default:
			a.Absent = a.Label() // another worker may have it
		}
	}
	if page != nil {
		s.add(a)
		d.noteLabel(a)
		d.labelled = append(d.labelled, givenLabel{a, page})
		return true, nil
	}
	if err := d.settleLabels(ctx, now); err != nil {
		return false, err
	}
	policy := d.step.policy
	if a.Refused == "" && (about.Do == event.Budget || about.Do == event.Delay) {
		if policy = d.policyAfter(a, about.Do); d.Revised != nil {
			if err := d.Revised(policy.Pages, policy.Delay); err != nil {
				a.Refused = err.Error()
			}
		}
	}
	var reworded Rewording
	var told []event.Event
	if a.Refused == "" && about.Do == event.Keywords {
		words, _ := event.KeywordsAfter(append(slices.Clip(s.acts), a))
		var err error
		anew := a.Do == event.Keywords || !slices.Equal(words, d.step.words)
		if anew && d.Reword != nil {
			reworded, err = d.Reword(words)
		}
		if anew && err == nil {
			told, err = d.reword(ctx, now, words)
		}
		if err != nil && ctx.Err() != nil {
			return false, ctx.Err() // the next run takes it in
		}
		if err != nil {
			a.Refused = err.Error()
		}
	}
	s.add(a)
	d.noteLabel(a)
	if a.Refused != "" {
		return false, d.settle(ctx, now, nil, d.step.note(a))
	}
	out := Outcome{Event: a}
	switch {
	case about.Do == event.Keywords:
		out.With = told
		if e := reworded.Changed; e.Setting != "" {
			e.At = event.At{At: now}
			out.With = append(out.With, e)
		}
	case about.Do == event.Budget || about.Do == event.Delay:
		d.step.policy.Pages = policy.Pages
		d.setDelay(policy.Delay)
	case about.Do == event.Pause || about.Do == event.Continue:
		d.Control.Pause(d.paused())
	case about.Do == event.Mute && a.Do == event.Undo:
		d.step.offerMuted()
	}
	d.step.store(&out.Turn)
	if err := d.settle(ctx, now, nil, out); err != nil {
		return false, err
	}
	switch about.Do {
	case event.Keywords:
		if reworded.Keep == nil {
			return false, nil // what waits is scored anew in time
		}
		if err := d.tell(0); err != nil { // they are kept once the log has the act
			return false, err
		}
		return false, reworded.Keep()
	case event.Mute:
		if a.Do == event.Undo {
			return false, d.unmute(ctx, now)
		}
		return false, d.recheck(ctx, now)
	case event.Budget, event.Pause, event.Continue:
		return false, nil
	}
	return true, nil
}

// page is the page of an address that was fetched, nil if there is none.
func (d *driver) page(ctx context.Context, u web.URL) (*web.Page, error) {
	if d.Look == nil {
		return nil, nil
	}
	p, err := d.Look(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("the page %s: %w", u, err)
	}
	return p, nil
}

// paused tells whether the crawl is to stand still by the acts behind step.earlier, the number of
// those of earlier runs: a pause ends with the run of a crawl. Where several workers do one,
// open sets earlier to 0.
func (d *driver) paused() bool { return event.Paused(d.step.steering.acts, d.step.earlier) }

// policyAfter is the policy once a counts, which sets, or undoes, the budget or the delay.
func (d *driver) policyAfter(a event.Act, what event.Verb) Policy {
	p := d.step.policy
	acts := append(slices.Clip(d.step.steering.acts), a)
	if what == event.Budget {
		p.Pages, _ = event.BudgetAfter(acts)
	} else {
		p.Delay, _ = event.DelayAfter(acts)
	}
	return p
}

// setSince says why nothing is left of an act that is to be undone by a: what it set was set
// since by something else than acts, such as a run with another budget. It is "" otherwise.
func (d *driver) setSince(a event.Act, about *event.Act) string {
	before := d.step.steering.acts
	then := append(slices.Clip(before), a) // what a run that was killed may have kept already
	give := func(what, is string) string {
		return fmt.Sprintf("the %s of act %d was replaced when the crawl went on, by %s: give the one that is wanted", what, about.Number, is)
	}
	switch about.Do {
	case event.Budget:
		was, _ := event.BudgetAfter(before)
		if is, _ := event.BudgetAfter(then); d.step.policy.Pages != was && d.step.policy.Pages != is {
			return give("budget", strconv.Itoa(d.step.policy.Pages))
		}
	case event.Delay:
		was, _ := event.DelayAfter(before)
		if is, _ := event.DelayAfter(then); d.step.policy.Delay != was && d.step.policy.Delay != is {
			return give("delay", d.step.policy.Delay.String())
		}
	case event.Keywords:
		was, _ := event.KeywordsAfter(before)
		if is, _ := event.KeywordsAfter(then); !slices.Equal(d.step.words, was) && !slices.Equal(d.step.words, is) {
			return fmt.Sprintf("the keywords of act %d were replaced while the crawl stood still: give those that are wanted", about.Number)
		}
	}
	return ""
}

// setDelay has each host rest for so long from its next request on.
func (d *driver) setDelay(delay time.Duration) {
	d.step.policy.Delay, d.step.net.delay = delay, delay
	d.Frontier.Share(d.Workers, delay)
}

// applyActs carries out what acts of earlier runs ask of the links that wait: a run may have
// died between the turn of an act and that.
func (d *driver) applyActs(ctx context.Context, now time.Time) error {
	if len(d.step.steering.muted) > 0 {
		if err := d.recheck(ctx, now); err != nil {
			return err
		}
	}
	if err := d.unmute(ctx, now); err != nil {
		return err
	}
	// An act that was undone counts as well: the links may have been scored before that.
	if !slices.ContainsFunc(d.step.steering.acts, func(a event.Act) bool {
		return a.Refused == "" && (a.Do == event.Boost || a.Label())
	}) {
		return nil
	}
	return d.rescore(ctx, now)
}

// rescore scores what waits anew, at once or in slices.
func (d *driver) rescore(ctx context.Context, now time.Time) error {
	score := d.step.Rescore
	if !d.Scorer.Rescores() {
		score = d.step.Rerank
	}
	if d.Frontier.Stats(now).Queued > rescoredAtOnce && d.Scorer.Rescores() {
		if d.step.count.Sweeping { // what is far off has its turn too
			d.step.count.SweepAgain = true
			return nil
		}
		d.step.count.SweepDue, d.step.count.Sweeping, d.step.count.Sweep = false, true, nil
		return d.sweep(ctx, now, false)
	}
	for from, again := []byte(nil), true; again; again = from != nil {
		var err error
		if from, err = d.Frontier.Rescore(ctx, from, sweepSlice, score); err != nil {
			return ofFrontier(err)
		}
	}
	return nil
}
