package shard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Options say how a worker joins.
type Options struct {
	Worker string        // its name
	ID     string        // of the session; nobody may have had it before
	Shards int           // that there are; the same for all
	Term   time.Duration // of a session; 0 = Term
	Clock  Clock
	// Old is a session that this worker had before, and that it is sure to use no more:
	// it need not be waited for. "" = none.
	Old string
	// Prefer are the shards that are taken first.
	Prefer []int
	// Least is how many workers, this one among them, must have been there at or after its joining before it takes
	// any shard: what the first would take of all shards it would give the others at once. Those that have
	// left again count: they may have seen enough workers, and done all there was to do, before this one looked.
	Least int
	// Status is asked for what the session tells of its worker, at each renewal; nil =
	// nothing.
	Status func() json.RawMessage
}

// Member is a worker as one that holds shards. One goroutine calls it, but for Holds,
// Valid and Left, which are safe for concurrent use.
type Member struct {
	o       Options
	e       engine.Engine
	renewed int
	enough  bool            // there were Options.Least workers
	behind  bool            // what the engine last told of the own session is from before the last renewal
	rev     engine.Revision // of the own session
	seen    map[string]*sight
	freed   map[int]engine.Revision // the last revisions of shards that were given back
	revs    map[int]engine.Revision // of those that are held

	mu    sync.Mutex
	began time.Time // of the last renewal that succeeded
	over  *EndedError
	held  map[int]bool // false: given up, and to be freed
}

// sight is a session as it was seen last.
type sight struct {
	rev    engine.Revision
	at     time.Time // since when it is so, as far as was seen
	v      value
	shards int
	before bool // it had ended when this worker joined
}

// Join begins a session.
func Join(ctx context.Context, e engine.Engine, o Options) (*Member, error) {
	o.Term = cmp.Or(o.Term, Term)
	m := &Member{
		o: o, e: e, seen: make(map[string]*sight),
		freed: make(map[int]engine.Revision), revs: make(map[int]engine.Revision), held: make(map[int]bool),
	}
	if o.Old != "" {
		if err := m.endOld(ctx); err != nil {
			return nil, err
		}
	}
	if o.Least > 1 {
		if err := m.lookBefore(ctx); err != nil {
			return nil, err
		}
	}
	return m, m.renew(ctx)
}

// lookBefore notes which sessions have ended.
func (m *Member) lookBefore(ctx context.Context) error {
	all, err := m.e.List(ctx, sessions)
	if err != nil {
		return err
	}
	now := m.o.Clock.Now()
	for _, x := range all {
		if v := readValue(x.Value); v.Ended {
			m.seen[strings.TrimPrefix(x.Key, sessions)] = &sight{rev: x.Revision, at: now, v: v, before: true}
		}
	}
	return nil
}

// endOld ends the session that this worker had before.
func (m *Member) endOld(ctx context.Context) error {
	for {
		x, err := m.e.Get(ctx, sessions+m.o.Old)
		if err != nil {
			return err
		}
		v := readValue(x.Value)
		if v.Ended {
			return nil
		}
		if x.Revision == 0 {
			return nil // others end it, should a shard name it
		}
		v.Ended, v.By = true, m.o.ID
		if _, err = m.e.Put(ctx, x.Key, v.bytes(), x.Revision); !errors.Is(err, engine.ErrChanged) {
			return err
		}
	}
}

// readValue is lenient: what others write is theirs to answer for, and a session that
// cannot be read is one that does not change.
func readValue(b []byte) (v value) {
	if json.Unmarshal(b, &v) != nil {
		return value{}
	}
	return v
}

// renew puts the own session anew.
func (m *Member) renew(ctx context.Context) error {
	began := m.o.Clock.Now()
	v := value{Worker: m.o.Worker, Renew: m.renewed + 1}
	if m.o.Status != nil {
		v.Status = m.o.Status()
	}
	rev, err := m.e.Put(ctx, sessions+m.o.ID, v.bytes(), m.rev)
	if errors.Is(err, engine.ErrChanged) {
		// Perhaps by a renewal of its own, of which it never heard.
		x, err := m.e.Get(ctx, sessions+m.o.ID)
		if err != nil {
			return err
		}
		if is := readValue(x.Value); x.Revision == 0 || is.Ended || is.Renew > m.renewed+1 || is.Worker != m.o.Worker {
			return m.end("it was not renewed in time, and another worker ended it")
		}
		m.rev, m.behind = x.Revision, readValue(x.Value).Renew < m.renewed
		return nil
	}
	if err != nil {
		return err
	}
	if m.behind { // a copy that is behind would have refused it
		return m.end("the engine has forgotten its last renewal, as one that was brought back from a backup")
	}
	m.rev, m.renewed = rev, m.renewed+1
	m.mu.Lock()
	m.began = began
	m.mu.Unlock()
	return nil
}

// end notes that the session is over.
func (m *Member) end(why string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over == nil {
		m.over = &EndedError{m.o.ID, why}
	}
	return m.over
}

// Left is how long the session may still be used, 0 for no more.
func (m *Member) Left() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left()
}

func (m *Member) left() time.Duration {
	if m.over != nil {
		return 0
	}
	return max(0, m.o.Term*2/3-longer(m.began, m.o.Clock.Now()))
}

// Valid tells whether the session may still be used.
func (m *Member) Valid() bool { return m.Left() > 0 }

// Holds tells whether this worker may ask the hosts of a shard for something now.
func (m *Member) Holds(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, is := m.held[n]
	return is && m.left() > 0
}

// Change is what became of shards.
type Change struct {
	Taken []int // from others, or from nobody
	// Give are shards that are to be handed over: the worker brings to an end what it
	// does there, and calls Free.
	Give []int
}

// Tick renews the session when that is due, looks at the others, ends sessions that
// stand still, takes shards, and tells which to give up. It is called about every
// fifteenth of a term, and after a call that failed again: an *EndedError ends the session, any other
// error is of the engine. Change holds also where there is an error.
func (m *Member) Tick(ctx context.Context) (c Change, err error) {
	if !m.Valid() {
		return c, m.end("it was not renewed in time")
	}
	if m.due() {
		if err := m.renew(ctx); err != nil {
			return c, err
		}
	}
	live, err := m.look(ctx)
	if err != nil {
		return c, err
	}
	if m.enough = m.enough || live+m.gone() >= m.o.Least; !m.enough {
		return c, nil
	}
	all, err := m.e.List(ctx, shards)
	if err != nil {
		return c, err
	}
	return m.balance(ctx, live, all)
}

// gone counts the workers that have left since this one joined and are not back.
func (m *Member) gone() int {
	left := make(map[string]bool)
	for _, s := range m.seen {
		if s.v.Ended && !s.before {
			left[s.v.Worker] = true
		}
	}
	for id, s := range m.seen {
		if id == m.o.ID || !s.v.Ended {
			delete(left, s.v.Worker)
		}
	}
	return len(left)
}

// due tells whether a third of a term has passed since the last renewal.
func (m *Member) due() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return longer(m.began, m.o.Clock.Now()) >= m.o.Term/3
}

// look looks at all sessions, ends those that stand still, and counts the live ones.
func (m *Member) look(ctx context.Context) (live int, err error) {
	all, err := m.e.List(ctx, sessions)
	if err != nil {
		return 0, err
	}
	now := m.o.Clock.Now()
	there := make(map[string]bool, len(all))
	for _, x := range all {
		id := strings.TrimPrefix(x.Key, sessions)
		there[id] = true
		if s := m.seen[id]; s == nil || x.Revision > s.rev {
			m.seen[id] = &sight{rev: x.Revision, at: now, v: readValue(x.Value)}
		}
	}
	live = 1
	for _, id := range slices.Sorted(maps.Keys(m.seen)) {
		s := m.seen[id]
		switch {
		case id == m.o.ID || s.v.Ended:
			if s.v.Ended && !there[id] {
				delete(m.seen, id) // it was swept
			}
		case shorter(s.at, now) < m.o.Term:
			if s.rev > 0 {
				live++
			}
		default:
			if err := m.endOther(ctx, id, s); err != nil {
				return 0, err
			}
		}
	}
	return live, nil
}

// endOther ends the session of another worker, unless it changed meanwhile.
func (m *Member) endOther(ctx context.Context, id string, s *sight) error {
	v := s.v
	v.Ended, v.By = true, m.o.ID
	rev, err := m.e.Put(ctx, sessions+id, v.bytes(), s.rev)
	if errors.Is(err, engine.ErrChanged) {
		s.at = m.o.Clock.Now() // it lives; what it is now will be seen
		return nil
	}
	if err == nil {
		*s = sight{rev: rev, at: m.o.Clock.Now(), v: v}
	}
	return err
}

// balance takes free shards up to the fair share, and gives up what is beyond it.
func (m *Member) balance(ctx context.Context, live int, all []engine.Entry) (c Change, err error) {
	at := make(map[int]engine.Entry, len(all))
	for _, s := range m.seen {
		s.shards = 0
	}
	for _, x := range all {
		n, ok := shardOf(x.Key, m.o.Shards)
		if !ok {
			continue
		}
		at[n] = x
		by := string(x.Value)
		if by == m.o.ID {
			if err := m.own(ctx, n, x.Revision, &c); err != nil {
				return c, err
			}
			continue
		}
		if m.seen[by] == nil { // nothing was heard of it
			m.seen[by] = &sight{at: m.o.Clock.Now()}
		}
		m.seen[by].shards++
	}
	if err := m.sweep(ctx); err != nil {
		return c, err
	}
	fair := (m.o.Shards + live - 1) / live
	for _, n := range m.order() {
		if m.holding() >= fair || m.due() {
			break
		}
		x, keyed := at[n]
		if m.revs[n] != 0 || keyed && (string(x.Value) == m.o.ID || !m.seen[string(x.Value)].v.Ended) {
			continue
		}
		rev, err := m.e.Put(ctx, shardKey(n), []byte(m.o.ID), x.Revision)
		if errors.Is(err, engine.ErrChanged) {
			continue
		}
		if err != nil {
			return c, err
		}
		m.hold(n, rev)
		c.Taken = append(c.Taken, n)
		if keyed {
			m.seen[string(x.Value)].shards--
		}
	}
	c.Give = m.surplus(fair)
	return c, nil
}

// own looks at a shard that names this session: it may have been taken, or freed, by a call
// of which the outcome is not known.
func (m *Member) own(ctx context.Context, n int, rev engine.Revision, c *Change) error {
	switch {
	case m.revs[n] != 0 || rev < m.freed[n]:
		return nil
	case rev > m.freed[n]:
		m.hold(n, rev)
		c.Taken = append(c.Taken, n)
		return nil
	}
	_, err := m.e.Put(ctx, shardKey(n), nil, rev)
	if errors.Is(err, engine.ErrChanged) {
		return nil
	}
	return err
}

// order is the order in which shards are taken: preferred ones first, then all from a place
// of this worker's own on.
func (m *Member) order() []int {
	out := slices.Clone(m.o.Prefer)
	first := int(xxh3.HashString(m.o.ID) % uint64(m.o.Shards))
	for i := range m.o.Shards {
		out = append(out, (first+i)%m.o.Shards)
	}
	return out
}

// hold notes that a shard was taken.
func (m *Member) hold(n int, rev engine.Revision) {
	m.revs[n] = rev
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[n] = true
}

// holding counts the shards that are held and not given up.
func (m *Member) holding() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, kept := range m.held {
		if kept {
			n++
		}
	}
	return n
}

// surplus gives up what is beyond the fair share: the last in the order of taking.
func (m *Member) surplus(fair int) (give []int) {
	over := m.holding() - fair
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range slices.Backward(m.order()) {
		if over <= 0 {
			break
		}
		if m.held[n] {
			m.held[n] = false
			give = append(give, n)
			over--
		}
	}
	return give
}

// Free frees a shard. Nothing may be asked of its hosts from before the call on. Where it
// fails the shard is free once the session is over.
func (m *Member) Free(ctx context.Context, n int) error {
	rev, is := m.revs[n]
	if !is {
		return nil
	}
	m.mu.Lock()
	delete(m.held, n)
	m.mu.Unlock()
	delete(m.revs, n)
	m.freed[n] = rev
	_, err := m.e.Put(ctx, shardKey(n), nil, rev)
	if errors.Is(err, engine.ErrChanged) {
		return nil // the session was ended, and another one took it
	}
	return err
}

// Enough tells whether there have been enough workers to take shards, see Options.Least.
func (m *Member) Enough() bool { return m.enough }

// Suffice has the workers that are there be enough.
func (m *Member) Suffice() { m.enough = true }

// Leave ends the session, by which all its shards are free. Nothing may be asked of any host from
// before the call on.
func (m *Member) Leave(ctx context.Context) error {
	m.end("its worker has left")
	v := value{Worker: m.o.Worker, Renew: m.renewed + 2, Ended: true, By: m.o.ID}
	if m.o.Status != nil {
		v.Status = m.o.Status()
	}
	for rev := m.rev; ; {
		_, err := m.e.Put(ctx, sessions+m.o.ID, v.bytes(), rev)
		if errors.Is(err, engine.ErrChanged) {
			// Somebody else ended it, or a renewal of its own is there of which it never heard.
			var x engine.Entry
			if x, err = m.e.Get(ctx, sessions+m.o.ID); err == nil && x.Revision > rev && !readValue(x.Value).Ended {
				rev = x.Revision
				continue
			}
		}
		return err
	}
}

// keepEnded is for how many terms an ended session is told of.
const keepEnded = 40

// sweep removes the keys of sessions that ended long ago and hold nothing. Should one of
// them hold something all the same, of which this worker has not heard, it is ended anew.
func (m *Member) sweep(ctx context.Context) error {
	now := m.o.Clock.Now()
	for _, id := range slices.Sorted(maps.Keys(m.seen)) {
		s := m.seen[id]
		if !s.v.Ended || s.shards > 0 || shorter(s.at, now) < keepEnded*m.o.Term {
			continue
		}
		delete(m.seen, id)
		if _, err := m.e.Put(ctx, sessions+id, nil, s.rev); err != nil && !errors.Is(err, engine.ErrChanged) {
			return err
		}
	}
	return nil
}

// Sessions are all of which this worker has heard, by name and identity: its own too.
func (m *Member) Sessions() (out []Session) {
	for id, s := range m.seen {
		if s.rev == 0 {
			continue
		}
		x := Session{ID: id, Worker: s.v.Worker, Status: s.v.Status, Ended: s.v.Ended, Shards: s.shards}
		if id == m.o.ID {
			x.Shards = len(m.revs)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Session) int {
		return cmp.Or(strings.Compare(a.Worker, b.Worker), strings.Compare(a.ID, b.ID))
	})
	return out
}
