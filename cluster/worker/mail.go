package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// What the driver of the crawl asks of a worker.

var _ crawl.Peers = (*Worker)(nil)

// Owns implements crawl.Peers. The hosts of a shard that is to be given are no longer owned.
func (w *Worker) Owns(h web.Host) bool {
	n := w.routes.of(h)
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.holds[n]
	return held != nil && !held.giving
}

// MayAsk lets a host be asked for something now, or for a page. A page of a host that this worker does not hold
// fails with web.ReasonBusy. A session that is over asks for nothing any more: its requests wait for the end of
// their context, as it is that of the crawl. A worker that has not joined yet, and holds no shard, may ask all: what it
// fetches then is example pages of the job. It is safe for concurrent use.
func (w *Worker) MayAsk(ctx context.Context, h web.Host, page bool) error {
	if !w.joined.Load() {
		return nil
	}
	n := shard.Of(h, w.plan.Shards)
	w.mu.Lock()
	joined, held := len(w.holds) > 0, w.holds[n]
	w.mu.Unlock()
	if joined && !w.member.Valid() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.run.Done():
			return context.Canceled
		}
	}
	if page && (held == nil || !w.member.Holds(n)) {
		return &web.Failure{Reason: web.ReasonBusy, Temporary: true, Detail: "another worker of the crawl asks " + string(h)}
	}
	return nil
}

// Send implements crawl.Peers: what was done, with all links that it found, in one record. So no page is
// done whose links are lost, and marks are logged with the page that they hold.
func (w *Worker) Send(_ context.Context, m crawl.Mail, t *web.Turn) error {
	done, own := w.records(t)
	if len(done)+len(m.Links)+len(m.Lessons)+len(m.Moved) > 0 {
		w.noteActivity()
	}
	if len(m.Moved) > 0 { // links name its place
		r := forAll{worker: w.self.Worker, moved: m.Moved}
		at, err := w.append([]engine.Draft{{Log: logAll, Data: r.encode()}})
		if err != nil {
			return err
		}
		w.moved = at[0]
	}
	if len(done) == 0 {
		_, err := w.post(linkDrafts(linkRecord{after: w.moved, session: w.self.Session}, m.Links, w.routes.of))
		w.keepBack(nil, nil, m.Lessons)
		return errors.Join(err, w.forward(false))
	}
	if len(done) > 1 { // no record holds them all
		all := append(m.Links, own...)
		if _, err := w.post(linkDrafts(linkRecord{after: w.moved, session: w.self.Session}, all, w.routes.of)); err != nil {
			return err
		}
		m.Links, own = nil, nil
	}
	for _, r := range done {
		var err error
		if m.Links, own, err = w.away(r, m.Links, own); err != nil {
			return err
		}
		r.archive, r.events = t.State[crawl.StateArchive], t.State[crawl.StateEvents]
	}
	drafts, err := w.drafts(done)
	if err != nil {
		return err
	}
	at, err := w.append(drafts)
	if err != nil {
		return err
	}
	w.logged(done, drafts, at, t)
	w.keepBack(m.Links, own, m.Lessons)
	return w.forward(false)
}

// drafts are records of shards, in their order, on the condition that this worker still
// holds them.
func (w *Worker) drafts(records map[int]*doneRecord) ([]engine.Draft, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var drafts []engine.Draft
	for _, n := range slices.Sorted(maps.Keys(records)) {
		held := w.holds[n]
		if held == nil {
			return nil, fmt.Errorf("a page of shard %d, which this worker does not hold", n)
		}
		records[n].sent = held.copied
		drafts = append(drafts, engine.Draft{Log: logDone(n), Data: records[n].encode(), IfLast: true, Last: held.Last})
	}
	return drafts, nil
}

// logged notes where such records are.
func (w *Worker) logged(records map[int]*doneRecord, drafts []engine.Draft, at []engine.Position, t *web.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, n := range slices.Sorted(maps.Keys(records)) {
		held := w.holds[n]
		held.Last, held.own, held.Sent = at[i], sum(drafts[i].Data), records[n].sent
		t.State[shardState(n)] = held.encode()
	}
}

// append appends to logs of this worker's. Where another took a shard the session is over.
func (w *Worker) append(drafts []engine.Draft) ([]engine.Position, error) {
	if !w.member.Valid() {
		w.fail(ErrOver)
		return nil, ErrOver
	}
	at, err := w.e.Append(w.ctx, drafts...)
	if err != nil {
		if w.ctx.Err() == nil {
			w.fail(fmt.Errorf("%w: %w", ErrOver, err))
		}
		return nil, err
	}
	return at, nil
}

// records are what a turn did, by shard, nothing where it ends no lease, and the links to hosts of other
// shards that this worker holds.
func (w *Worker) records(t *web.Turn) (done map[int]*doneRecord, own []web.Candidate) {
	done = make(map[int]*doneRecord)
	at := func(n int) *doneRecord {
		if done[n] == nil {
			done[n] = &doneRecord{worker: w.self.Worker}
		}
		return done[n]
	}
	for _, u := range t.Done {
		if n, ok := w.front.out[u]; ok {
			r := at(n)
			r.done = append(r.done, u)
		}
	}
	for i := range t.Retry {
		if n, ok := w.front.out[t.Retry[i].URL]; ok {
			at(n)
		}
	}
	if len(done) == 0 {
		return nil, nil
	}
	now := w.o.Clock.Now()
	for _, h := range t.Hosts {
		if r := done[w.routes.of(h.Host)]; r != nil {
			r.hosts = append(r.hosts, hostRecord{h.Host, h.Fetched, min(max(0, h.Due.Sub(now)), mostWait)})
		}
	}
	for _, c := range t.Add {
		if r := done[w.routes.of(c.URL.Host())]; r != nil {
			r.links = append(r.links, c)
		} else {
			own = append(own, c)
		}
	}
	return done, own
}

// How much is taken in at a time, and how long the first of it waits at most.
const (
	linksAtOnce = 1000
	doneAtOnce  = 20_000
	mailEvery   = 50 * time.Millisecond
)

// Receive implements crawl.Peers.
func (w *Worker) Receive(context.Context) (m crawl.Mail, err error) {
	for _, do := range w.receiving {
		do()
	}
	w.receiving = nil
	if w.forward(false) != nil {
		return m, nil // the session is over
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.selfChanged {
		b, err := json.Marshal(w.self)
		if err != nil {
			return m, err
		}
		w.selfChanged = false
		return crawl.Mail{Marks: map[string][]byte{stateSelf: b}}, nil
	}
	if len(w.changes) > 0 {
		if w.change(&m); !m.Empty() {
			w.activity++
			w.idle = false
			w.wakeDriver() // there may be more
			return m, nil
		}
	}
	if len(w.inbox) == 0 {
		return m, nil
	}
	if now := w.o.Clock.Now(); w.links < linksAtOnce && now.Sub(w.lastMail) < mailEvery {
		return m, nil
	} else {
		w.lastMail = now
	}
	w.letters(&m)
	if len(m.Links) >= linksAtOnce {
		w.wakeDriver() // there may be more
	}
	if !m.Empty() {
		w.activity++
		w.idle = false
	}
	return m, nil
}

// letters puts what came into a mail. w.mu is held.
func (w *Worker) letters(m *crawl.Mail) {
	mark := func(name string, b []byte) {
		if m.Marks == nil {
			m.Marks = make(map[string][]byte)
		}
		m.Marks[name] = b
	}
	all := w.all
	var kept []letter
	// waits are the shards, and ofAnnounced, of which a letter is kept: what follows is kept behind it. Taken in
	// before it, it would mark the log as taken in beyond the one that waits, which a stop would lose.
	waits := make(map[int]bool)
	for i, l := range w.inbox {
		if len(m.Links) >= linksAtOnce {
			kept = append(kept, w.inbox[i:]...)
			break
		}
		if l.shard == forAllOf {
			m.Lessons, m.Moved = append(m.Lessons, l.lessons...), append(m.Moved, l.moved...)
			all = view{Last: l.place, Sum: l.sum}
			continue
		}
		if l.after > all.Last || waits[l.shard] {
			kept = append(kept, l)
			waits[l.shard] = true
			continue
		}
		w.links -= len(l.links) + len(l.announced)
		if l.shard == ofAnnounced {
			m.Links = append(m.Links, w.takeAnnounced(&l)...)
			continue
		}
		held := w.holds[l.shard]
		if held == nil || held.gen != l.gen || held.giving {
			continue
		}
		// What was told, and taken in by that, is not looked up once more: see told.go.
		if l.session == w.self.Session || l.from <= held.live || l.till > w.toldBy[l.session] {
			m.Links = append(m.Links, l.links...)
		}
		switch {
		case l.done:
			held.Done = max(held.Done, l.place)
		case l.place > 0:
			held.Links, held.Sum = l.place, l.sum
		}
		mark(shardState(l.shard), held.encode())
	}
	if all != w.all {
		w.all = all
		mark(stateAll, all.encode())
	}
	w.inbox = kept
	w.room.Broadcast()
}

// change carries out changes that wait: a shard that is to be given, as far as it can, or
// some that were taken. w.mu is held.
func (w *Worker) change(m *crawl.Mail) {
	var wait []change
	for i, c := range w.changes {
		if c.takeover != nil {
			if len(m.Done) >= doneAtOnce {
				wait = append(wait, w.changes[i:]...)
				break
			}
			if !w.tellFrontier(c.takeover, m) {
				wait = append(wait, c)
			}
			continue
		}
		if m.Empty() {
			if w.give(c.give, m); m.Left != nil {
				if m.Marks == nil {
					wait = append(wait, c) // until what is under way has ended
				}
				wait = append(wait, w.changes[i+1:]...)
				break
			}
		}
		wait = append(wait, c)
	}
	w.changes = wait
}

// tellFrontier tells the frontier of a shard that was taken; false where there is more to tell.
// w.mu is held.
func (w *Worker) tellFrontier(t *takeover, m *crawl.Mail) (all bool) {
	if len(t.done) > doneAtOnce {
		m.Done, t.done = append(m.Done, t.done[:doneAtOnce]...), t.done[doneAtOnce:]
		return false
	}
	own := t.mail(w.o.Clock.Now())
	m.Done, m.Forget, m.Hosts = append(m.Done, own.Done...), append(m.Forget, own.Forget...), append(m.Hosts, own.Hosts...)
	v := view{Till: t.till, Last: t.last, Losses: t.losses, Sent: t.sent}
	if m.Marks == nil {
		m.Marks = make(map[string][]byte)
	}
	m.Marks[shardState(t.shard)] = v.encode()
	w.receiving = append(w.receiving, func() { w.live(t.shard, v) })
	return true
}

// live begins with a shard whose state the frontier holds now.
func (w *Worker) live(n int, v view) {
	h := w.hold(n, v)
	l := letter{shard: n, gen: h.gen}
	for _, u := range w.briefing.Seeds {
		if w.routes.of(u.Host()) == n {
			l.links = append(l.links, web.Candidate{URL: u, Kind: web.LinkSeed, Priority: crawl.SeedPriority})
		}
	}
	w.mu.Lock()
	w.taking--
	w.inbox = append(w.inbox, l)
	w.noteWaiting()
	w.links += len(l.links)
	w.started = append(w.started, n)
	begin := w.taking == 0 || len(w.started) >= readTogether
	var group []int
	if begin {
		group, w.started = w.started, nil
	}
	w.mu.Unlock()
	w.read(group)
}

// give gives a shard up: its links leave at once, and once more when nothing of it is under
// way; then it is freed. w.mu is held.
func (w *Worker) give(n int, m *crawl.Mail) {
	held := w.holds[n]
	if held == nil {
		return
	}
	left := func(h web.Host) bool { return w.routes.of(h) == n }
	if !held.giving {
		held.giving = true
		m.Left = left
		return
	}
	if w.front.flying(n) {
		return
	}
	m.Left, m.Marks = left, map[string][]byte{shardState(n): nil}
	w.receiving = append(w.receiving, func() {
		w.mu.Lock()
		delete(w.holds, n)
		w.mu.Unlock()
		w.free <- n
	})
}

// Arrived implements crawl.Peers.
func (w *Worker) Arrived() <-chan struct{} { return w.arrived }

// wakeDriver wakes the driver.
func (w *Worker) wakeDriver() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// noteWaiting has wakeWhenDue look at what waits.
func (w *Worker) noteWaiting() {
	select {
	case w.waits <- struct{}{}:
	default:
	}
}

// wakeWhenDue wakes the driver for what waits for it: not for each letter, and not while nothing waits.
func (w *Worker) wakeWhenDue() {
	t := time.NewTimer(0)
	defer t.Stop()
	for early := time.Duration(0); ; {
		var due <-chan time.Time
		if left, is := w.due(); is {
			t.Reset(max(left, early))
			due = t.C
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.waits:
			early = 0
		case <-due:
			if left, is := w.due(); is && left <= mailEvery {
				w.wakeDriver()
			}
			early = mailEvery
		}
	}
}

// due is when the driver is to be woken for what waits, if anything does.
func (w *Worker) due() (left time.Duration, is bool) {
	w.mu.Lock()
	waits := len(w.inbox)+len(w.changes) > 0
	w.mu.Unlock()
	if waits {
		return mailEvery, true
	}
	since := w.keptBack.Load()
	// The clock may have been set back.
	return min(time.Unix(0, since).Sub(w.o.Clock.Now())+forwardEvery, forwardEvery), since != 0
}

// noteActivity notes that this worker did something.
func (w *Worker) noteActivity() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.activity++
	w.idle = false
}

// tellEvery is how often a worker's standing is asked for.
const tellEvery = 500 * time.Millisecond

// Tell implements crawl.Peers.
func (w *Worker) Tell(now time.Time, last bool, own func() crawl.Standing) {
	if last { // where it fails, who has the shards next copies the links
		_ = w.announce(w.crowd())
	}
	if !last && now.Sub(w.lastTold) < tellEvery && now.After(w.lastTold) {
		return
	}
	w.lastTold = now
	s, stats := own(), w.front.Stats(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Standing, w.status.Frontier = s, stats
}

// Others implements crawl.Peers.
func (w *Worker) Others() (crawl.Standing, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.others, w.version
}

// Idle implements crawl.Peers: the driver asks when it has nothing to do. A worker that keeps something
// back for others is not idle.
func (w *Worker) Idle() bool {
	if w.forward(true) != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = true
	return w.over
}
