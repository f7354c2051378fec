package crawl

import (
	"context"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Again are the pages that earlier rounds of a collection know. Due are asked for again:
// before links, and of them the one with the higher priority, in [0,1], first. Left are not,
// and links to them are not followed, unless the frontier is empty before the budget of pages
// is spent: then they are asked for as well, in their order. What sitemaps and feeds tell of
// them meanwhile changes that: see DateWeight. The zero Again is that of a first crawl.
type Again struct {
	Due  []Known
	Left []Known
	// Room is how many more of Left may be asked for before links.
	Room int
	// DateWeights are the weights of what sitemaps and feeds tell of the pages of a host; a host
	// that is not in it has DefaultDateWeight.
	DateWeights map[web.Host]DateWeight
}

// againBatch is how many of them enter in one turn.
const againBatch = 2000

// enterKnown adds to the frontier the pages of earlier rounds that are not in it yet: a run
// may have been killed before it had added all.
func (d *driver) enterKnown(ctx context.Context, now time.Time) error {
	if err := d.enterAll(ctx, now, d.Again.Due, d.step.enterKnown); err != nil {
		return err
	}
	d.entered = len(d.step.moved)
	return d.enterAll(ctx, now, d.Again.Left, d.step.leaveKnown)
}

// enterMoved adds those of Again.Due that came into the scope since enterKnown, as a seed
// redirected to their host or domain.
func (d *driver) enterMoved(ctx context.Context, now time.Time) error {
	moved := d.step.moved[d.entered:]
	if len(moved) == 0 || len(d.Again.Due) == 0 {
		return nil
	}
	home := func(u web.URL) string { return d.step.policy.Scope.home(u.Host()) }
	if d.dueOf == nil {
		d.dueOf = make(map[string][]int)
		for i := range d.Again.Due {
			h := home(d.Again.Due[i].URL)
			d.dueOf[h] = append(d.dueOf[h], i)
		}
	}
	d.entered += len(moved)
	var places []int
	for _, u := range moved {
		h := home(u)
		places = append(places, d.dueOf[h]...)
		delete(d.dueOf, h) // they enter once
	}
	slices.Sort(places)
	due := make([]Known, 0, len(places))
	for _, i := range places {
		due = append(due, d.Again.Due[i])
	}
	return d.enterAll(ctx, now, due, d.step.enterKnown)
}

// enterAll settles what enter makes of pages of earlier rounds, in turns of bounded size.
func (d *driver) enterAll(ctx context.Context, now time.Time, all []Known, enter func(time.Time, []Known, Preview) (Outcome, error)) error {
	for some := range slices.Chunk(all, againBatch) {
		out, err := enter(now, some, d.preview(ctx))
		if err == nil && out.Event != nil {
			err = d.settle(ctx, now, nil, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enterKnown makes the turn that adds pages of earlier rounds. Its event is nil where none
// is added.
func (s *Step) enterKnown(now time.Time, due []Known, preview Preview) (Outcome, error) {
	var found []link
	for i := range due {
		c := due[i].Candidate
		if k := s.known[c.URL]; s.foreign(c.URL.Host()) || k != nil && k.behind { // it waits behind all links
			continue
		}
		c.Kind, c.Priority = web.LinkAgain, priorityBefore(c.Priority)
		found = append(found, link{Candidate: c})
	}
	queued, skipped, turn, err := s.admit(found, nil, preview)
	if err != nil || len(queued)+len(skipped) == 0 {
		return Outcome{}, err
	}
	for _, f := range queued {
		if !f.Raised { // it was counted already
			s.count.Seeds++
		}
	}
	s.count.Last = now.UnixNano()
	s.store(&turn)
	return Outcome{Turn: turn, Event: event.Seeded{At: event.At{At: now}, Queued: queued, Skipped: skipped}}, nil
}

// enterLeft adds pages of Again.Left, as many as the budget has room for, and tells whether
// it added any. It is called where nothing else waits that can be asked for. How many were added so far is stored
// with the turn, so that a run which goes on asks for none twice.
func (d *driver) enterLeft(ctx context.Context, now time.Time) (bool, error) {
	left := d.Again.Left
	for d.step.count.LeftEntered < len(left) {
		from := d.step.count.LeftEntered
		batch := left[from:min(len(left), from+min(againBatch, max(0, d.step.Room())))]
		if len(batch) == 0 {
			return false, nil
		}
		d.step.count.LeftEntered += len(batch)
		batch = slices.DeleteFunc(slices.Clone(batch), func(k Known) bool { return !d.step.takeLeft(k.URL) })
		forget := make([]web.URL, len(batch))
		for i := range batch {
			forget[i] = batch[i].URL
		}
		out, err := d.step.enterKnown(now, batch, d.preview(ctx, forget...))
		if err != nil {
			return false, err
		}
		out.Turn.Forget = forget
		if out.Event == nil {
			continue // none is in the scope any more
		}
		if err := d.settle(ctx, now, nil, out); err != nil {
			return false, err
		}
		if s, ok := out.Event.(event.Seeded); ok && len(s.Queued) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// replayLeft counts the pages of Again.Left that an earlier run added, by its log: the states
// of a frontier that was made anew do not tell.
func (s *Step) replayLeft(e event.Seeded) {
	for _, f := range e.Queued {
		if k := s.known[f.URL]; k != nil && k.left {
			s.count.LeftEntered, k.left = max(s.count.LeftEntered, k.place+1), false
		}
	}
}

// leaveKnown makes the turn that marks known pages as done, so that links to them are not
// followed. Its event is nil where all are marked already.
func (s *Step) leaveKnown(now time.Time, left []Known, preview Preview) (Outcome, error) {
	refused := make([]event.Skipped, 0, len(left))
	for i := range left {
		u := left[i].URL
		if !s.foreign(u.Host()) {
			refused = append(refused, event.Skipped{URL: u, Reason: web.ReasonNotDue})
		}
	}
	_, skipped, turn, err := s.admit(nil, refused, preview)
	if err != nil || len(skipped) == 0 {
		return Outcome{}, err
	}
	for _, r := range skipped {
		turn.Done = append(turn.Done, r.URL)
	}
	s.count.Last = now.UnixNano()
	s.store(&turn)
	return Outcome{Turn: turn, Event: event.Seeded{At: event.At{At: now}, Skipped: skipped}}, nil
}
