package shard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
)

// TestInterleaved lets workers join, leave, stop for a while and die, with their calls of the
// engine in any order, late, lost, answered by a copy that is behind, and with outcomes that they never hear of, and with
// clocks that are hours apart and run at different speeds. At every moment a shard is in
// the hands of one worker at most; and one that is taken from a worker that did not give it
// is taken a third of a term after that worker may have used it last.
func TestInterleaved(t *testing.T) {
	var moves, taken int
	for seed := range uint64(150) {
		w := newWorld(seed)
		for w.steps < 2500 {
			if err := w.step(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, w.steps, err)
			}
		}
		moves, taken = moves+w.moves, taken+w.taken
		w.end()
	}
	if taken < 500 || moves < 3000 {
		t.Errorf("%d shards changed hands, %d of them without their worker's will: the test shows little", moves, taken)
	}
	t.Logf("%d shards changed hands, %d of them without their worker's will", moves, taken)
}

const worldShards = 6

// world runs workers one call at a time.
type world struct {
	rng    *rand.Rand
	now    time.Time // the true time
	engine *engine.Memory
	lists  map[string][][]engine.Entry // as they were told, by prefix
	all    []*actor
	steps  int
	born   int
	owner  [worldShards]*actor    // the last that held it
	until  [worldShards]time.Time // the true time at which that stops using it, should it hear of nothing
	moves  int
	taken  int
}

// actor is a worker of which each call of the engine waits for the world's leave.
type actor struct {
	w       *world
	id      string
	offset  time.Duration
	rate    float64 // of its clock
	asks    chan struct{}
	leave   chan error // nil: go on; errLost: the call is lost
	member  *shard.Member
	old     string
	prefer  []int
	asleep  time.Time // not before
	stopped bool
	ended   chan struct{}
	given   map[int]bool // freed by its own will
	draw    func(n int) int
}

var (
	errLost = errors.New("the call was lost")
	errDead = errors.New("the worker died")
)

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 2)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), engine: engine.NewMemory(), lists: map[string][][]engine.Entry{}}
	for range 3 {
		w.spawn(nil)
	}
	return w
}

// spawn starts a worker; after is one that died and begins anew as this.
func (w *world) spawn(after *actor) {
	a := &actor{
		w: w, id: fmt.Sprint("w", w.born), offset: time.Duration(w.rng.IntN(7200)-3600) * time.Second, rate: 1 + (w.rng.Float64()-0.5)/100,
		asks: make(chan struct{}), leave: make(chan error), ended: make(chan struct{}), given: map[int]bool{},
	}
	if after != nil {
		a.old = after.id
		for n := range worldShards {
			if w.owner[n] == after {
				a.prefer = append(a.prefer, n)
			}
		}
	}
	own := rand.New(rand.NewPCG(uint64(w.born), w.rng.Uint64()))
	a.draw = own.IntN
	w.born++
	w.all = append(w.all, a)
	go a.run()
	<-a.asks
}

// Now is the clock of a worker, whatever it does.
func (a *actor) Now() time.Time {
	return a.w.now.Add(a.offset + time.Duration(float64(a.w.now.Unix()-1.7e9)*1e9*(a.rate-1)))
}

// run is a worker's life: it ticks, hands over what it is to give, and leaves at last.
func (a *actor) run() {
	defer close(a.ended)
	ctx := context.Background()
	if a.turn() != nil {
		return
	}
	m, err := shard.Join(ctx, gatedEngine{a}, shard.Options{Worker: a.id, ID: a.id, Shards: worldShards, Clock: a, Old: a.old, Prefer: a.prefer})
	if err != nil {
		return
	}
	a.member = m
	var give []int
	for {
		if a.turn() != nil {
			return
		}
		c, err := m.Tick(ctx)
		give = append(give, c.Give...)
		if errors.As(err, new(*shard.EndedError)) || errors.Is(err, errDead) {
			return
		}
		if len(give) > 0 && a.draw(3) == 0 {
			a.given[give[0]] = true
			if errors.Is(m.Free(ctx, give[0]), errDead) {
				return
			}
			give = give[1:]
		}
		if a.draw(400) == 0 {
			for n := range worldShards {
				a.given[n] = true
			}
			m.Leave(ctx)
			return
		}
	}
}

// turn waits for the world.
func (a *actor) turn() error {
	a.asks <- struct{}{}
	return <-a.leave
}

// gatedEngine is the engine of a worker.
type gatedEngine struct{ a *actor }

func (g gatedEngine) call(do func()) error {
	if err := g.a.turn(); err != nil {
		return err
	}
	do()
	return g.a.turn() // the answer may be late, or lost
}

func (g gatedEngine) Append(context.Context, ...engine.Draft) ([]engine.Position, error) {
	panic("unused")
}

func (g gatedEngine) Read(context.Context, map[string]engine.Position, func(engine.Record) error) error {
	panic("unused")
}

func (g gatedEngine) End(context.Context, string) (engine.Record, error) { panic("unused") }

func (g gatedEngine) First(context.Context, string, engine.Position) (engine.Record, error) {
	panic("unused")
}

func (g gatedEngine) Get(ctx context.Context, key string) (x engine.Entry, err error) {
	return x, errors.Join(g.call(func() { x, err = g.a.w.engine.Get(ctx, key) }), err)
}

func (g gatedEngine) Put(ctx context.Context, key string, value []byte, was engine.Revision) (rev engine.Revision, err error) {
	return rev, errors.Join(g.call(func() { rev, err = g.a.w.engine.Put(ctx, key, value, was) }), err)
}

func (g gatedEngine) List(ctx context.Context, prefix string) (all []engine.Entry, err error) {
	w := g.a.w
	err2 := g.call(func() {
		all, err = w.engine.List(ctx, prefix)
		w.lists[prefix] = append(w.lists[prefix], all)
		if old := w.lists[prefix]; w.rng.IntN(5) == 0 { // a copy that is behind answers
			all = old[max(0, len(old)-1-w.rng.IntN(12))]
		}
	})
	return all, errors.Join(err2, err)
}

func (g gatedEngine) Close() error { return nil }

// step lets one worker go on, moves the time, and looks at all.
func (w *world) step() error {
	w.steps++
	switch n := w.rng.IntN(1000); {
	case n < 2 && len(w.all) < 5:
		w.spawn(nil)
	case n < 4 && len(w.all) > 1:
		a := w.all[w.rng.IntN(len(w.all))]
		w.kill(a)
		if w.rng.IntN(2) == 0 {
			w.spawn(a) // at once, as a process that is started again
		}
	case n < 10:
		w.pass(time.Duration(w.rng.IntN(40)) * time.Second) // all stand still
	}
	var awake []*actor
	for _, a := range w.all {
		if !a.asleep.After(w.now) {
			awake = append(awake, a)
		}
	}
	if len(awake) == 0 {
		w.pass(time.Second)
		return w.check()
	}
	a := awake[w.rng.IntN(len(awake))]
	if w.rng.IntN(150) == 0 { // it is stopped, or its network is
		a.asleep = w.now.Add(time.Duration(w.rng.IntN(60)) * time.Second)
		return nil
	}
	var say error
	if w.rng.IntN(60) == 0 {
		say = errLost
	}
	w.release(a, say)
	w.pass(time.Duration(w.rng.IntN(200)) * time.Millisecond)
	return w.check()
}

// release lets a worker go on to its next call.
func (w *world) release(a *actor, say error) {
	a.leave <- say
	select {
	case <-a.asks:
	case <-a.ended:
		w.all = slices.DeleteFunc(w.all, func(o *actor) bool { return o == a })
		if len(w.all) == 0 {
			w.spawn(nil)
		}
	}
}

// kill ends a worker at its next call.
func (w *world) kill(a *actor) {
	a.stopped = true
	for {
		a.leave <- errDead
		select {
		case <-a.asks:
			continue
		case <-a.ended:
		}
		break
	}
	w.all = slices.DeleteFunc(w.all, func(o *actor) bool { return o == a })
}

func (w *world) end() {
	for len(w.all) > 0 {
		w.kill(w.all[0])
	}
}

// pass moves the time on, and looks at every moment at which something may end.
func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

// check looks who holds what.
func (w *world) check() error {
	for n := range worldShards {
		var holder *actor
		for _, a := range w.all {
			if a.member == nil || !a.member.Holds(n) {
				continue
			}
			if holder != nil {
				return fmt.Errorf("shard %d is held by %s and %s", n, holder.id, a.id)
			}
			holder = a
		}
		if holder == nil {
			continue
		}
		if was := w.owner[n]; was != holder {
			if was != nil {
				w.moves++
			}
			if was != nil && !was.given[n] && !(was.stopped && holder.old == was.id) && !was.stopped {
				w.taken++
				if gap := w.now.Sub(w.until[n]); gap < shard.Term/4 {
					return fmt.Errorf("shard %d was taken from %s by %s, %v after it could be used there last", n, was.id, holder.id, gap)
				}
			}
			w.owner[n] = holder
			delete(holder.given, n)
		}
		w.until[n] = w.now.Add(time.Duration(float64(holder.member.Left()) / holder.rate))
	}
	return nil
}
