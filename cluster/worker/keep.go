package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// Status is what a worker tells of itself, about every fifteenth of a term.
type Status struct {
	Worker   string            `json:"worker"` // as crawl.Member has it
	Name     string            `json:"name"`
	Session  string            `json:"session"`
	Began    time.Time         `json:"began"`
	Told     time.Time         `json:"told"` // by its own clock
	Standing crawl.Standing    `json:"standing"`
	Frontier web.FrontierStats `json:"frontier"`
	Shards   int               `json:"shards"`
	Ended    string            `json:"ended,omitempty"` // how, where it left
	Leaving  bool              `json:"leaving,omitempty"`
	Machine  string            `json:"machine,omitempty"`
	// Where its archive is shipped to, and up to which mark it is there.
	ShippedTo string `json:"shipped_to,omitempty"`
	Shipped   []byte `json:"shipped,omitempty"`
	// Addresses of servers where it asked lately, see addresses.
	Addresses []byte  `json:"addresses,omitempty"`
	Speed     float64 `json:"speed,omitempty"`  // pages a second, over the last half minute
	Paused    bool    `json:"paused,omitempty"` // as people told the crawl
	Awaits    int     `json:"awaits,omitempty"` // workers that there are to be before it begins, 0 once there were
	// While it has nothing to do: Idle, how much it had done until then, and how often since
	// then it has looked whether the logs hold anything for it.
	Idle     bool `json:"idle,omitempty"`
	Activity int  `json:"activity"`
	Looks    int  `json:"looks,omitempty"`
}

// troubler is an engine that knows why it does not do what it is asked, nil where it does.
type troubler interface{ Trouble() error }

// unanswered tells why the session was not renewed.
func (w *Worker) unanswered() error {
	if e, ok := w.e.(troubler); ok {
		if err := e.Trouble(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the engine did not answer for %v, or this process stood still", w.plan.Term*2/3)
}

// watch ends the session in time.
func (w *Worker) watch() {
	for {
		left := w.member.Left()
		if left <= 0 {
			w.fail(fmt.Errorf("%w: %w", ErrOver, w.unanswered()))
			return
		}
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(min(left, w.plan.Term/30)):
		}
	}
}

// keep renews the session, takes and gives shards, and tells others of this worker, until
// the session ends.
func (w *Worker) keep() {
	var k keeper
	for {
		if err := w.round(&k); err != nil {
			if ended := (*shard.EndedError)(nil); errors.As(err, &ended) {
				w.fail(fmt.Errorf("%w: %w", ErrOver, err))
				return
			}
			if w.ctx.Err() == nil {
				w.o.Note(fmt.Sprintf("the engine: %v", err))
			}
		}
		select {
		case <-w.ctx.Done():
			return
		case n := <-w.free:
			k.free = append(k.free, n)
		case <-time.After(w.plan.Term / 15):
		}
	}
}

// keeper is what keep remembers.
type keeper struct {
	free   []int  // to be freed
	seen   string // of others, to know whether it has changed
	before *scene
	losses int // that were known
}

// round is one round of keep.
func (w *Worker) round(k *keeper) error {
	for drained := false; !drained; {
		select {
		case n := <-w.free:
			k.free = append(k.free, n)
		default:
			drained = true
		}
	}
	for len(k.free) > 0 {
		n := k.free[0]
		if err := w.member.Free(w.ctx, n); err != nil {
			return err
		}
		k.free = k.free[1:]
		w.mu.Lock() // it may have been told again to be given while it was: that is done, too
		w.changes = slices.DeleteFunc(w.changes, func(c change) bool { return c.gives(n) })
		w.mu.Unlock()
	}
	c, err := w.member.Tick(w.ctx)
	w.mu.Lock()
	for _, n := range c.Give {
		w.toGive(n)
	}
	w.taking += len(c.Taken)
	w.mu.Unlock()
	if len(c.Taken) > 0 {
		w.background.Go(func() { w.takeNew(c.Taken) })
	}
	if len(c.Give) > 0 {
		w.wakeDriver()
		w.noteWaiting()
	}
	if err != nil {
		return err
	}
	if err := w.sameEnd(w.ctx); err != nil {
		if errors.Is(err, ErrOlder) { // joining again tells whether it is, or was behind for a moment
			w.fail(fmt.Errorf("%w: %w", ErrOver, err))
		}
		return err
	}
	return errors.Join(w.look(w.ctx), w.publish(w.ctx), w.readOthers(w.ctx, k))
}

// look finds out whether a worker that has nothing to do is told nothing by the logs.
func (w *Worker) look(ctx context.Context) error {
	w.mu.Lock()
	idle := w.idle && w.taking == 0 && len(w.inbox) == 0 && len(w.changes) == 0
	activity, all := w.activity, w.all.Last
	at := make(map[string]engine.Position)
	var list []int
	for n, h := range w.holds {
		at[logLinks(n)] = h.Links
		list = append(list, n)
		idle = idle && h.Done >= h.Till
	}
	w.mu.Unlock()
	if idle {
		end, err := w.ends(ctx, list, logLinks)
		if err != nil {
			return err
		}
		for log, p := range end {
			idle = idle && at[log] >= p
		}
		r, err := w.e.End(ctx, logAll)
		if err != nil {
			return err
		}
		idle = idle && all >= r.Position
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	idle = idle && w.idle && w.activity == activity && len(w.inbox) == 0 && len(w.changes) == 0
	switch {
	case !idle:
		w.status.Idle, w.status.Looks = false, 0
	case w.status.Idle && w.status.Activity == activity:
		w.status.Looks++
	default:
		w.status.Idle, w.status.Looks = true, 1
	}
	w.status.Activity = activity
	return nil
}

// earlierStatus begins the status with what this worker told last: its pages count against the budget also
// where it is stopped again before the crawl has told anything.
func (w *Worker) earlierStatus(ctx context.Context) error {
	w.status = Status{Worker: w.self.Worker, Name: w.o.Name, Session: w.self.Session, Began: w.began.UTC(), Machine: w.o.Machine}
	x, err := w.e.Get(ctx, keyWorker+w.self.Worker)
	var before Status
	if err == nil && x.Revision > 0 && json.Unmarshal(x.Value, &before) == nil {
		s := before.Standing
		w.status.Standing = crawl.Standing{Pages: s.Pages, Relevant: s.Relevant, Better: s.Better, Labels: s.Labels}
	}
	w.statusRev = x.Revision
	return err
}

// publish tells others of this worker. Its key is written by nobody else.
func (w *Worker) publish(ctx context.Context) error {
	w.mu.Lock()
	w.updateStatus(w.o.Clock.Now())
	b, err := json.Marshal(w.status)
	rev := w.statusRev
	w.mu.Unlock()
	if err != nil {
		return err
	}
	for {
		rev, err = w.e.Put(ctx, keyWorker+w.self.Worker, b, rev)
		if err == nil {
			w.mu.Lock()
			w.statusRev = rev
			w.mu.Unlock()
			return nil
		}
		if !errors.Is(err, engine.ErrChanged) {
			return err
		}
		// By an earlier session, or by a put that was not heard of.
		x, err := w.e.Get(ctx, keyWorker+w.self.Worker)
		if err != nil {
			return err
		}
		rev = x.Revision
	}
}

// scene is a moment at which all workers had nothing to do.
type scene struct {
	activity, looks map[string]int // by session
}

// readOthers takes in what the others tell, and finds out whether the crawl is over.
//
// It is where every live worker was idle at one moment and nothing was on its way then. A
// worker that tells the same activity as in an earlier scene did nothing in between; one
// that has looked twice since then has looked after it at the logs, and found them empty.
func (w *Worker) readOthers(ctx context.Context, k *keeper) error {
	workers, err := Workers(ctx, w.e)
	if err != nil {
		return err
	}
	if err := w.learnLosses(ctx); err != nil {
		if errors.Is(err, errUnread) || ctx.Err() != nil {
			return err
		}
		w.fail(err)
		return err
	}
	w.giveStale()
	w.mu.Lock()
	lost := w.losses
	busy := len(lost) > k.losses || len(w.changes) > 0 // what was told is of before that
	k.losses = len(lost)
	w.mu.Unlock()
	sessions := w.member.Sessions()
	live := make(map[string]bool)
	shards := 0
	for _, s := range sessions {
		if !s.Ended {
			live[s.ID] = true
			shards += s.Shards
		}
	}
	var sum []crawl.Standing
	now := &scene{make(map[string]int), make(map[string]int)}
	var told strings.Builder
	var elsewhere [][]byte
	for _, s := range workers {
		if live[s.Session] && s.Idle {
			now.activity[s.Session], now.looks[s.Session] = s.Activity, s.Looks
		}
		if s.Session == w.self.Session {
			continue
		}
		if live[s.Session] {
			elsewhere = append(elsewhere, s.Addresses)
		}
		own := s.Standing
		if !live[s.Session] { // what it fetched counts, and that alone
			own = crawl.Standing{Pages: own.Pages - without(s, lost), Relevant: own.Relevant, Better: own.Better}
		}
		sum = append(sum, own)
		fmt.Fprint(&told, s.Session, s.Told.UnixNano(), live[s.Session], own.Pages)
	}
	w.addresses.learn(elsewhere)
	w.mu.Lock()
	w.liveOthers = len(elsewhere)
	w.mu.Unlock()
	x, err := w.e.Get(ctx, keyOver)
	if err != nil {
		return err
	}
	over := x.Revision != 0
	if w.o.Show != nil {
		held := make(map[string]int, len(live))
		for _, s := range sessions {
			if !s.Ended {
				held[s.ID] = s.Shards
			}
		}
		w.o.Show(w.scene(workers, held, string(x.Value)))
	}
	if len(now.activity) == len(live) && shards == w.plan.Shards && !busy {
		over = over || now.after(k.before)
		if k.before == nil || !now.same(k.before) {
			k.before = now
		}
	} else {
		k.before = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range workers {
		if s.Worker != w.self.Worker && s.Activity > 0 && w.self.Meet(s.Worker, s.Name) {
			w.selfChanged = true
			w.wakeDriver()
		}
	}
	if t := told.String(); t != k.seen {
		k.seen = t
		w.others = crawl.Sum(sum...)
		w.version++
		w.wakeDriver()
	}
	if over && !w.over {
		w.over, w.overLosses = true, len(lost)
		w.wakeDriver()
	}
	return nil
}

// same tells whether nobody did anything since an earlier scene.
func (s *scene) same(before *scene) bool {
	if len(s.activity) != len(before.activity) {
		return false
	}
	for id, a := range s.activity {
		if was, ok := before.activity[id]; !ok || was != a {
			return false
		}
	}
	return true
}

// after tells whether nobody did anything since an earlier scene, and all have looked since.
func (s *scene) after(before *scene) bool {
	if before == nil || !s.same(before) {
		return false
	}
	for id, n := range s.looks {
		if n < before.looks[id]+2 {
			return false
		}
	}
	return true
}

// AwaitOthers waits, after Close, until no worker has a session any more, for two terms at
// most.
func (w *Worker) AwaitOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*w.plan.Term)
	defer cancel()
	for {
		live, err := shard.Holders(ctx, w.e)
		if err != nil || len(live) == 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.plan.Term / 30):
		}
	}
}
