package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// How a shard is taken.

// takeover is what the log of a shard's holders tells, from a position to its end.
type takeover struct {
	shard int
	done  []web.URL // by others
	hosts map[web.Host]hostRecord
	mine  []doneRecord     // by this worker
	lost  map[web.URL]bool // addresses; true = it counts as a page of its host
	// losses is how many losses were known when its log was read; see view.
	losses int
	till   engine.Position
	sent   engine.Position // see doneRecord
	last   engine.Position // the record by which this worker took it
}

// mail is what others did, for the frontier. A host rests as long from now on as it was to
// rest from the turn on in which it was asked last: clocks are not compared.
func (t *takeover) mail(now time.Time) (m crawl.Mail) {
	m.Done, m.Forget = t.done, slices.SortedFunc(maps.Keys(t.lost), func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range slices.Sorted(maps.Keys(t.hosts)) {
		h := t.hosts[name]
		m.Hosts = append(m.Hosts, web.HostState{Host: name, Fetched: h.fetched, Due: now.Add(h.wait)})
	}
	return m
}

// atOnce is how many calls of the engine are made at a time for many shards.
const atOnce = 32

// readTogether is how many shards that begin are read by one Read at most: a server goes
// through all records of the crawl for each.
const readTogether = 128

// each calls do for shards, several at a time.
func each(shards []int, do func(n int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(shards))
	slots := make(chan struct{}, atOnce)
	for i, n := range shards {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(n)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// errEnough ends a Read at the ends that were asked for.
var errEnough = errors.New("enough")

// readTo calls do with the records of logs behind from, up to the ends that they had.
func (w *Worker) readTo(ctx context.Context, from, end map[string]engine.Position, do func(engine.Record) error) error {
	left := make(map[string]engine.Position)
	for log, p := range end {
		if p > from[log] {
			left[log] = p
		}
	}
	if len(left) == 0 {
		return nil
	}
	start := make(map[string]engine.Position)
	for log := range left {
		start[log] = from[log]
	}
	err := w.e.Read(ctx, start, func(r engine.Record) error {
		till, open := left[r.Log]
		if open && r.Position <= till {
			if err := do(r); err != nil {
				return err
			}
		}
		if open && r.Position >= till {
			if delete(left, r.Log); len(left) == 0 {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// ends are the positions of the last records of logs.
func (w *Worker) ends(ctx context.Context, shards []int, log func(n int) string) (map[string]engine.Position, error) {
	var mu sync.Mutex
	end := make(map[string]engine.Position, len(shards))
	err := each(shards, func(n int) error {
		r, err := w.e.End(ctx, log(n))
		mu.Lock()
		defer mu.Unlock()
		end[log(n)] = r.Position
		return err
	})
	return end, err
}

// readDone reads the logs of the holders of shards behind positions, to their ends; the
// links in what this worker did where they are wanted.
func (w *Worker) readDone(ctx context.Context, from map[int]engine.Position, links bool) (map[int]*takeover, error) {
	all := make(map[int]*takeover, len(from))
	byLog := make(map[string]*takeover, len(from))
	start := make(map[string]engine.Position, len(from))
	w.mu.Lock()
	losses := w.losses
	w.mu.Unlock()
	for n, p := range from {
		t := &takeover{shard: n, till: p, hosts: make(map[web.Host]hostRecord), lost: make(map[web.URL]bool), losses: len(losses)}
		all[n], byLog[logDone(n)], start[logDone(n)] = t, t, p
	}
	end, err := w.ends(ctx, slices.Collect(maps.Keys(from)), logDone)
	if err != nil {
		return nil, err
	}
	return all, w.readTo(ctx, start, end, func(r engine.Record) error {
		t := byLog[r.Log]
		t.till = r.Position
		d, err := readDoneRecord(r.Data, links)
		if err != nil {
			w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
			return nil
		}
		d.at = r.Position
		t.forget(&d, losses)
		t.add(d, w.self.Worker)
		return nil
	})
}

// add takes in a record of a holder.
func (t *takeover) add(d doneRecord, me string) {
	switch {
	case d.taken:
		return
	case d.worker == me:
		t.mine = append(t.mine, d)
	}
	t.sent = max(t.sent, d.sent)
	t.done = append(t.done, d.done...)
	for _, h := range d.hosts {
		t.hosts[h.host] = h
	}
}

// join adds what was read later of the same log.
func (t *takeover) join(later *takeover) {
	t.done = append(t.done, later.done...)
	t.mine = append(t.mine, later.mine...)
	maps.Copy(t.hosts, later.hosts)
	for _, u := range later.done {
		delete(t.lost, u)
	}
	maps.Copy(t.lost, later.lost)
	t.till, t.sent, t.losses = later.till, max(t.sent, later.sent), min(t.losses, later.losses)
}

// takes is the record by which this worker takes a shard.
func (w *Worker) takes() []byte { return (&doneRecord{worker: w.self.Worker, taken: true}).encode() }

// take reads the logs of the holders of shards from positions on to their ends, and makes
// this worker their holder: whoever appends on an earlier condition is refused. links is as
// for readDone.
func (w *Worker) take(ctx context.Context, from map[int]engine.Position, links bool) (map[int]*takeover, error) {
	all := make(map[int]*takeover, len(from))
	me := w.takes()
	for len(from) > 0 {
		read, err := w.readDone(ctx, from, links)
		if err != nil {
			return nil, err
		}
		list := slices.Sorted(maps.Keys(read))
		drafts := make([]engine.Draft, len(list))
		for i, n := range list {
			if all[n] == nil {
				all[n] = read[n]
			} else {
				all[n].join(read[n])
			}
			drafts[i] = engine.Draft{Log: logDone(n), Data: me, IfLast: true, Last: all[n].till}
		}
		at, err := w.e.Append(ctx, drafts...)
		if err != nil && !errors.Is(err, engine.ErrChanged) {
			return nil, err
		}
		again := make(map[int]engine.Position)
		for i, n := range list {
			if all[n].last = at[i]; at[i] == 0 {
				again[n] = all[n].till // the holder before was not done yet
			}
		}
		from = again
	}
	return all, nil
}

// fence reads the logs of the holders of shards that this worker held, from its last records
// there on, with links. Nothing that it appended on the condition of such a record is
// appended any more: there is a record behind it, by who holds the shard, or by this call,
// behind which one that is about to take it looks again.
func (w *Worker) fence(ctx context.Context, from map[int]engine.Position) (map[int]*takeover, error) {
	me := w.takes()
	drafts := make([]engine.Draft, 0, len(from))
	for _, n := range slices.Sorted(maps.Keys(from)) {
		drafts = append(drafts, engine.Draft{Log: logDone(n), Data: me, IfLast: true, Last: from[n]})
	}
	if _, err := w.e.Append(ctx, drafts...); err != nil && !errors.Is(err, engine.ErrChanged) {
		return nil, err
	}
	return w.readDone(ctx, from, true)
}

// takeNew takes shards that the frontier does not hold, and hands them to the driver once
// their hosts have rested.
func (w *Worker) takeNew(list []int) {
	from := make(map[int]engine.Position, len(list))
	for _, n := range list {
		from[n] = 0
	}
	err := w.learnLosses(w.ctx)
	var took map[int]*takeover
	if err == nil {
		took, err = w.take(w.ctx, from, false)
	}
	if err == nil {
		err = w.passOn(w.ctx, took)
	}
	if err != nil {
		w.fail(err)
		return
	}
	for _, t := range took {
		t.settle()
	}
	rest := time.NewTimer(w.briefing.Delay)
	defer rest.Stop()
	select {
	case <-w.ctx.Done():
		return
	case <-rest.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range list {
		w.changes = append(w.changes, change{takeover: took[n]})
	}
	w.wakeDriver()
	w.noteWaiting()
}

// hold makes a shard live. What holders before this one found was passed on (passOn).
func (w *Worker) hold(n int, v view) *liveShard {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gen++
	h := &liveShard{view: v, copied: v.Last, live: math.MaxInt64, gen: w.gen}
	w.holds[n] = h
	return h
}

// read reads the links to shards that are live: those of others, and those that holders
// before this one found among their own hosts.
func (w *Worker) read(list []int) {
	if len(list) == 0 {
		return
	}
	links, done, end := make(map[string]engine.Position), make(map[string]engine.Position), make(map[string]engine.Position)
	of := make(map[string]int)
	gens := make(map[int]int)
	w.mu.Lock()
	for _, n := range list {
		h := w.holds[n]
		gens[n], of[logLinks(n)], of[logDone(n)] = h.gen, n, n
		links[logLinks(n)] = h.Links
		if h.Done < h.Till {
			done[logDone(n)], end[logDone(n)] = h.Done, h.Till
		}
	}
	w.mu.Unlock()
	w.background.Go(func() {
		if err := w.sayLive(list); err != nil {
			w.fail(err)
			return
		}
		err := w.e.Read(w.ctx, links, func(r engine.Record) error {
			n := of[r.Log]
			l := letter{shard: n, gen: gens[n], place: r.Position, sum: sum(r.Data)}
			var err error
			if l.linkRecord, l.links, err = readLinkRecord(r.Data); err != nil {
				w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
			}
			return w.put(l)
		})
		w.fail(err)
	})
	w.background.Go(func() {
		err := w.readTo(w.ctx, done, end, func(r engine.Record) error {
			n := of[r.Log]
			l := letter{shard: n, gen: gens[n], place: r.Position, done: true}
			if d, err := readDoneRecord(r.Data, true); err == nil {
				l.links = d.links
			}
			return w.put(l)
		})
		if err != nil {
			w.fail(err)
		}
	})
}

// readAll reads what is for all workers.
func (w *Worker) readAll() {
	w.mu.Lock()
	from := w.all.Last
	w.mu.Unlock()
	err := w.e.Read(w.ctx, map[string]engine.Position{logAll: from}, func(r engine.Record) error {
		l := letter{shard: forAllOf, place: r.Position, sum: sum(r.Data)}
		a, err := readForAll(r.Data)
		switch {
		case err != nil:
			w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
		case a.worker != w.self.Worker:
			l.lessons, l.moved = a.lessons, a.moved
		}
		return w.put(l)
	})
	w.fail(err)
}

// mostInbox is how many links wait to be taken in before readers of links wait. All readers wait
// before there are twice as many letters: at least half of these have no links, and the driver
// takes such letters in at once.
const mostInbox = 20_000

// put hands a letter to the driver. One without links waits for no links: they may be waiting for
// it (letter.after).
func (w *Worker) put(l letter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.ctx.Err() == nil && (len(l.links)+len(l.announced) > 0 && w.links >= mostInbox || len(w.inbox) >= 2*mostInbox) {
		w.room.Wait()
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if len(w.inbox) == 0 {
		w.noteWaiting()
	}
	w.inbox = append(w.inbox, l)
	w.links += len(l.links) + len(l.announced)
	return nil
}

// GiveUp ends a session that waits for an engine which will not answer: the worker may join again by another one.
func (w *Worker) GiveUp(why error) { w.fail(fmt.Errorf("%w: %w", ErrOver, why)) }

// fail ends the session where the engine failed for good.
func (w *Worker) fail(err error) {
	if w.ctx.Err() == nil {
		w.cancel(err)
	}
}
