package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/event"
)

// Workers are the workers of a crawl, those that left too, by name.
func Workers(ctx context.Context, e engine.Engine) (out []Status, err error) {
	list, err := e.List(ctx, keyWorker)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		var s Status
		if json.Unmarshal(x.Value, &s) == nil { // what others write is theirs to answer for
			s.Worker = strings.TrimPrefix(x.Key, keyWorker)
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Scene is a crawl of several workers as somebody sees it who looks.
type Scene struct {
	At     time.Time
	Own    string // the identity of the worker that looks, "" for none
	Term   time.Duration
	Shards int
	Over   string // how the crawl ended, "" where it did not
	// Full is why what people tell the crawl is no longer taken in, or why something that they
	// told the worker that looks was not sent; "" for neither.
	Full    string
	Acts    int    // that the crawl was told, as far as the worker that looks knows
	Workers []Seen // by name
	Losses  []Loss
}

// Seen is a worker as it is seen.
type Seen struct {
	Status
	Live bool `json:"live"` // its session has not ended, as far as anybody has noticed
	Held int  `json:"held"` // shards
	// Heard is when it told something last, by the clock of who looks; by its own where
	// nothing was heard of it since the other began to look.
	Heard time.Time `json:"heard,omitzero"`
}

// States of a worker.
const (
	Running = "running"
	Idle    = "idle" // nothing is there to do
	Paused  = "paused"
	Waiting = "waiting" // until there are more workers
	Leaving = "leaving" // it brings to an end what is under way
	Left    = "left"
	Lost    = "lost" // its session has ended without a word
)

// State is what a worker does, in one word.
func (s *Seen) State() string {
	switch {
	case s.Ended != "":
		return Left
	case !s.Live:
		return Lost
	case s.Leaving:
		return Leaving
	case s.Awaits > 0:
		return Waiting
	case s.Paused:
		return Paused
	case s.Idle:
		return Idle
	}
	return Running
}

// Live tells whether a worker has a session, as far as anybody has noticed.
func (s *Scene) Live() bool {
	return slices.ContainsFunc(s.Workers, func(w Seen) bool { return w.Live })
}

// Settled is the scene without what workers told that no longer holds: of those without a session, what
// was under way; what waited, where others have taken it; and pages that were lost with their
// folders.
func (s Scene) Settled() Scene {
	live := s.Live()
	s.Workers = slices.Clone(s.Workers)
	for i := range s.Workers {
		w := &s.Workers[i]
		if w.Live {
			continue
		}
		w.Speed, w.Standing.InFlight = 0, 0
		if live {
			w.Frontier.Queued, w.Frontier.Hosts = 0, 0
		}
		w.Standing.Pages -= without(w.Status, s.Losses)
		w.Standing.Relevant = min(w.Standing.Relevant, w.Standing.Pages)
	}
	return s
}

// Look tells of the workers of a crawl, those that left too.
func Look(ctx context.Context, e engine.Engine) (s Scene, err error) {
	x, err := e.Get(ctx, keyCrawl)
	if err != nil || x.Revision == 0 {
		return s, err
	}
	var p Plan
	if err := json.Unmarshal(x.Value, &p); err != nil {
		return s, errUnread
	}
	s.Term, s.Shards = p.Term, p.Shards
	if x, err = e.Get(ctx, keyOver); err != nil {
		return s, err
	}
	s.Over = string(x.Value)
	if s.Losses, err = Losses(ctx, e); err != nil {
		return s, err
	}
	workers, err := Workers(ctx, e)
	if err != nil {
		return s, err
	}
	held, err := shard.Holders(ctx, e)
	if err != nil {
		return s, err
	}
	for _, w := range workers {
		n, live := held[w.Session]
		s.Workers = append(s.Workers, Seen{Status: w, Live: live, Held: n, Heard: w.Told})
	}
	return s, nil
}

// sight is what was heard of a worker last.
type sight struct {
	told time.Time // by its clock
	at   time.Time // by the own one
}

// scene is what this worker sees. held are the shards of sessions that have not ended.
func (w *Worker) scene(workers []Status, held map[string]int, over string) Scene {
	now := w.o.Clock.Now()
	s := Scene{At: now.UTC(), Own: w.self.Worker, Term: w.plan.Term, Shards: w.plan.Shards, Over: over, Workers: make([]Seen, 0, len(workers))}
	if w.heard == nil {
		w.heard = make(map[string]sight)
	}
	w.mu.Lock()
	if full := cmp.Or(w.acts.full, w.acts.own); full != nil {
		s.Full = full.Error()
	}
	s.Losses, s.Acts = w.losses, len(w.acts.list)
	w.mu.Unlock()
	for _, x := range workers {
		n, live := held[x.Session]
		last, known := w.heard[x.Worker]
		if !known && !live {
			last = sight{x.Told, x.Told}
		} else if !known || !last.told.Equal(x.Told) {
			last = sight{x.Told, now}
		}
		w.heard[x.Worker] = last
		s.Workers = append(s.Workers, Seen{Status: x, Live: live, Held: n, Heard: last.at.UTC()})
	}
	return s
}

// showLast shows the workers once this one has left.
func (w *Worker) showLast(ctx context.Context) error {
	workers, err := Workers(ctx, w.e)
	if err != nil {
		return err
	}
	held, err := shard.Holders(ctx, w.e)
	if err != nil {
		return err
	}
	x, err := w.e.Get(ctx, keyOver)
	if err == nil {
		w.o.Show(w.scene(workers, held, string(x.Value)))
	}
	return err
}

// updateStatus brings the status up to date. w.mu is held.
func (w *Worker) updateStatus(now time.Time) {
	s := &w.status
	s.Told, s.Shards, s.Leaving = now.UTC(), len(w.holds), w.run.Err() != nil && s.Ended == ""
	if n := len(w.acts.list); n != w.pausedBy {
		s.Paused, w.pausedBy = event.Paused(w.acts.list, 0), n
	}
	if w.o.Shipped != nil {
		s.ShippedTo, s.Shipped = w.o.Shipped()
	}
	s.Addresses = w.addresses.tell(now)
	s.Speed = w.speed.at(now, s.Standing.Pages)
	if s.Ended != "" {
		s.Speed = 0
	}
}

// speed is how many pages a worker fetches a second.
type speed struct {
	times []time.Time // when it was looked at, oldest first
	pages []int       // then
}

// speedOver is over what time it is told.
const speedOver = 30 * time.Second

// at notes how many pages there are now. Those of earlier runs are there at the first one.
func (s *speed) at(now time.Time, pages int) float64 {
	if pages == 0 {
		return 0
	}
	s.times, s.pages = append(s.times, now), append(s.pages, pages)
	for len(s.times) > 2 && now.Sub(s.times[0]) > speedOver {
		s.times, s.pages = s.times[1:], s.pages[1:]
	}
	if took := now.Sub(s.times[0]); took > 0 {
		return float64(pages-s.pages[0]) / took.Seconds()
	}
	return 0
}
