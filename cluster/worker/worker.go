// Package worker lets a crawl be done by several workers: each is a crawl with a folder of
// its own, that fetches from the hosts of the shards it holds (package shard) and shares the
// rest by the logs of an engine (package engine).
//
//	links/N   links to hosts of shard N, that the holders of other shards found
//	done/N    what the holder of shard N did: pages and failures, and all links that it found
//	all       what every worker is to know
//	told      links to hosts of anybody, which are on their way to links/N; the engine forgets it after some minutes
//	acts      what people told the crawl
//
// # A turn
//
//	archive ─► event log ─► done/N, on condition ─► frontier: turn + positions
//
// Each arrow waits for what is before it. The condition is that nobody else took the shard. The
// links go to told and to links/… later, with those of other pages (outbox.go).
// A process that dies behind the third arrow has done a turn that its frontier does not
// hold: when its folder is opened again the turn is read from done/N, with the marks of
// archive and event log, so neither is cut back (Open).
//
// # The life of a shard here
//
//	taken ─► done/N read to its end, a record of its own appended ─► a delay waited out
//	      ─► what was done is marked in the frontier ─► live: links are read and fetched
//	      ─► to be given: its links leave, what is under way ends ─► freed
//
// A frontier that holds a shard when its process ends holds it still when it begins again
// with that shard, and reads on where it was.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/shard"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// Options say how a worker joins. The zero value of a field is its default.
type Options struct {
	Engine engine.Engine
	Name   string // of the worker, for people
	// Machine is where it runs, for people.
	Machine string
	// Plan is what the crawl is: the first worker keeps it, others must have the same.
	Plan Plan
	// Least is how many workers there must be before it begins; 0 = 1.
	Least int
	Clock shard.Clock // nil = the machine's
	// Note is told what the user should know; nil tells nobody.
	Note func(string)
	// Shipped tells where the archive is shipped to and up to which mark; nil = it is not. It is
	// safe for concurrent use.
	Shipped func() (place string, mark []byte)
	// Show is told of all workers, about every fifteenth of a term and when this one has
	// left; nil tells nobody. It is to return soon.
	Show func(Scene)
}

// Plan is what all workers of a crawl must agree on.
type Plan struct {
	// Shards and Term of the crawl are those of the worker that began it. 0 is those of the crawl, and
	// DefaultShards and shard.Term of one that begins; a worker with others is refused.
	Shards int           `json:"shards"`
	Term   time.Duration `json:"term_ns"`
	// ID is that of the crawl; Open draws one for a crawl that begins.
	ID string `json:"id"`
	// Settings are those of the job, by path; Open fills them in.
	Settings map[string]string `json:"settings"`
	// Format is that of the records and keys; Open fills it in. 0 is that of a crawl that was begun
	// before there was another: 1.
	Format int `json:"format,omitempty"`
}

// format is that of the records and keys which this program reads and writes. One that others cannot
// read, or would read otherwise, is another one.
const format = 4

// Crawl is what a worker is told of the crawl that it joins.
type Crawl struct {
	Settings map[string]string // that all workers must have in common, by path
	Seeds    []web.URL
	Delay    time.Duration // between two requests to a host
	// Events are those of the folder's log between two marks.
	Events func(from, to []byte) iter.Seq2[event.Event, error]
	Acts   crawl.Acts         // what people tell this worker, for all; nil = nothing
	Taken  func() []event.Act // that the folder's log has, in their order; nil = none
}

// DefaultShards is how many shards a crawl has that is told nothing else.
const DefaultShards = 256

// Keys of the engine.
const (
	keyCrawl  = "crawl"   // the Plan
	keyOver   = "over"    // how the crawl ended, if it did
	keyWorker = "worker." // and the identity of a worker: its Status
)

// Logs of the engine.
const (
	logAll  = "all"
	logTold = engine.Brief + "told"
)

func logLinks(n int) string { return fmt.Sprint("links.", n) }
func logDone(n int) string  { return fmt.Sprint("done.", n) }

// States that are stored with turns.
const (
	stateSelf  = crawl.StateCluster             // a crawl.Member
	stateAll   = crawl.StateCluster + "-all"    // the position in the log all
	stateShard = crawl.StateCluster + "-shard." // and a number: a view
)

func shardState(n int) string { return fmt.Sprint(stateShard, n) }

// Worker is a session of a worker. It is crawl.Peers of its crawl. Its life: New, Open,
// Frontier and Context for a crawl that is run, Close.
type Worker struct {
	o         Options
	e         engine.Engine
	plan      Plan
	self      crawl.Member
	ctx       context.Context // of the session
	cancel    context.CancelCauseFunc
	run       context.Context // of the crawl: it ends with the session at the latest
	stop      context.CancelCauseFunc
	member    *shard.Member
	joined    atomic.Bool      // Open has begun
	enough    atomic.Bool      // there have been as many workers as Options.Least
	heard     map[string]sight // of other workers, by identity; of keep, and then of Close
	front     *Frontier
	routes    *routes // of the driver
	briefing  Crawl
	began     time.Time
	addresses addresses // of servers

	background sync.WaitGroup
	keptBack   atomic.Int64  // since when outbox has something for others, in Unix nanoseconds; 0 = it has nothing
	waits      chan struct{} // something waits for the driver: see wakeWhenDue
	arrived    chan struct{}
	free       chan int // shards that were handed over

	// Of the driver alone:
	receiving []func() // to be done once what was received is committed
	moved     engine.Position
	outbox    outbox
	toldBy    map[string]engine.Position // the last record with links in the log told that was taken in of each session
	lastTold  time.Time
	lastMail  time.Time

	mu          sync.Mutex
	holds       map[int]*liveShard
	posted      engine.Record // the last one of links or lessons that this worker appended, but for the log told
	gen         int
	changes     []change
	inbox       []letter
	links       int // in inbox
	room        sync.Cond
	taking      int   // shards that were taken and are not live yet
	started     []int // live, and not read yet
	all         view  // of the log all: Last is the position up to which it was taken in, and Sum that of the record there
	status      Status
	speed       speed
	pausedBy    int // how many acts status.Paused knows
	statusRev   engine.Revision
	idle        bool
	activity    int
	others      crawl.Standing
	liveOthers  int // other workers that live
	version     int
	over        bool
	overLosses  int // losses that were known when it was found to be over
	acts        acts
	losses      []Loss // that are known, in their order
	selfChanged bool   // self.Others has grown, and is not stored
}

// liveShard is a shard that is live here.
type liveShard struct {
	view
	own uint32 // the sum of the record at Last; 0 = it is not known
	// copied is up to which record links to other shards were copied. It is Sent, which is stored, once a record
	// behind the copies tells of it: an engine that lost them has lost that record, too.
	copied engine.Position
	// live is where this worker said that it takes in what is told of links to the shard; greater than all positions
	// until it has heard that itself. said is the record in which it last did, 0 = it is about to.
	live   engine.Position
	said   engine.Position
	gen    int
	giving bool
}

// Letters that are of no shard.
const (
	forAllOf    = -1 // of the log all
	ofAnnounced = -2 // of the log told
)

// letter is a record that came.
type letter struct {
	shard int // of a links log, or of the links of a done log, or one of the above
	gen   int
	place engine.Position
	sum   uint32 // of the record
	done  bool   // the place is one of the done log
	linkRecord
	links     []web.Candidate
	lessons   []crawl.Lesson
	moved     []web.URL
	announced []section       // links to shards of anybody
	before    engine.Position // the record that the same session told before
	live      []int           // shards of which a worker takes links in from here on
}

// change is something that the driver has to do for a shard.
type change struct {
	takeover *takeover // it was taken
	give     int       // it is to be given, unless takeover is set
}

// ErrOver is the cause of the end of a session's context that was not asked for: the
// worker may join again.
var ErrOver = errors.New("this worker's session is over")

// New prepares a worker. Open lets it join.
func New(ctx context.Context, o Options) *Worker {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	w := &Worker{
		o: o, e: o.Engine, arrived: make(chan struct{}, 1), waits: make(chan struct{}, 1), free: make(chan int, 1<<16),
		holds: make(map[int]*liveShard), toldBy: make(map[string]engine.Position), began: o.Clock.Now(),
	}
	w.room.L = &w.mu
	// What a crawl does that is stopped is brought to its end.
	w.ctx, w.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	w.run, w.stop = context.WithCancelCause(ctx)
	context.AfterFunc(w.ctx, func() { w.stop(context.Cause(w.ctx)) })
	context.AfterFunc(w.ctx, w.room.Broadcast)
	return w
}

// Context ends with the session, or with the context that New was given. The crawl is to
// be run by it.
func (w *Worker) Context() context.Context { return w.run }

// Failed tells why the session ended, nil where it did not, or was asked to. The error wraps
// ErrOver where the worker may join again.
func (w *Worker) Failed() error {
	if err := context.Cause(w.ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Open joins, and brings the frontier, which was opened and has not been used, up to what
// the logs tell of it. It is called before archive and event log are opened at the marks
// that the frontier holds.
func (w *Worker) Open(ctx context.Context, f *frontier.Frontier, briefing Crawl) error {
	w.o.Plan.Settings, w.briefing = briefing.Settings, briefing
	w.joined.Store(true)
	b, err := f.State(ctx, stateSelf)
	if err != nil {
		return err
	}
	if b != nil {
		if err := json.Unmarshal(b, &w.self); err != nil {
			return fmt.Errorf("stored state %q cannot be read: %w", stateSelf, err)
		}
	} else if begun, err := f.State(ctx, crawl.StateEvents); err != nil {
		return err
	} else if begun != nil {
		return refused("the crawl in this folder was begun alone, and holds links of all sites: begin one of several workers in a new folder")
	}
	asking := time.AfterFunc(LateAfter, func() { w.o.Note("waits to join: the engine does not tell of the crawl") })
	defer asking.Stop()
	if err := w.agree(ctx); err != nil {
		return err
	}
	if err := w.learnLosses(ctx); err != nil {
		return err
	}
	w.routes = newRoutes(w.plan.Shards)
	w.front = &Frontier{Frontier: f, w: w, out: make(map[web.URL]int)}
	old := w.self.Session
	w.self.Worker, w.self.Session = cmp.Or(w.self.Worker, rand.Text()), rand.Text()
	w.self.Crawl, w.self.Name = w.plan.ID, w.o.Name
	if b, err = json.Marshal(w.self); err != nil {
		return err
	}
	views, err := w.views(ctx)
	if err != nil {
		return err
	}
	if err := w.sameHistory(ctx, views); err != nil {
		return err
	}
	if _, err := f.Commit(ctx, web.Turn{State: map[string][]byte{stateSelf: b}}); err != nil {
		return err
	}
	if err := w.earlierStatus(ctx); err != nil {
		return err
	}
	asking.Stop()
	// What this worker was told is in the log before anyone counts it as there: the others, which may
	// wait for it, are not over by a budget that it was told to raise.
	late := time.AfterFunc(w.plan.Term*2/3, func() { w.o.Note(fmt.Sprintf("waits to join: %v", w.unanswered())) })
	if err := w.settleActs(w.ctx); err != nil {
		late.Stop()
		return err
	}
	w.member, err = shard.Join(ctx, w.e, shard.Options{
		Worker: w.o.Name, ID: w.self.Session, Shards: w.plan.Shards, Term: w.plan.Term, Clock: w.o.Clock,
		Old: old, Prefer: slices.Sorted(maps.Keys(views)), Least: w.o.Least,
	})
	late.Stop()
	if err != nil {
		return err
	}
	w.background.Go(w.watch)
	if err := w.publish(w.ctx); err != nil { // by its status Lose knows which session it has
		return err
	}
	said, err := w.e.End(w.ctx, logTold)
	if err != nil {
		return err
	}
	taken, err := w.first(ctx)
	if err != nil {
		return err
	}
	if err := w.earlierActs(w.ctx); err != nil {
		return err
	}
	if err := w.resume(ctx, f, views, taken); err != nil {
		return err
	}
	w.background.Go(func() { w.keep() })
	w.background.Go(func() { w.readAll() })
	w.background.Go(func() { w.readAnnounced(said.Position) })
	w.background.Go(w.readActs)
	if briefing.Acts != nil {
		w.background.Go(w.sendActs)
	}
	w.background.Go(w.wakeWhenDue)
	return nil
}

// views are those of the shards that the frontier holds.
func (w *Worker) views(ctx context.Context) (map[int]view, error) {
	views := make(map[int]view)
	for n := range w.plan.Shards {
		b, err := w.front.State(ctx, shardState(n))
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			continue
		}
		if views[n], err = readView(b); err != nil {
			return nil, fmt.Errorf("stored state %q cannot be read: %w", shardState(n), err)
		}
	}
	b, err := w.front.State(ctx, stateAll)
	if err == nil && b != nil {
		var v view
		if v, err = readView(b); err == nil {
			w.all = v
		}
	}
	return views, err
}

// resume brings the frontier up to the logs of the shards that it holds: those that are
// this worker's still go on, the others leave it.
func (w *Worker) resume(ctx context.Context, f *frontier.Frontier, views map[int]view, mine map[int]bool) error {
	from, theirs := make(map[int]engine.Position), make(map[int]engine.Position)
	var group, fresh, lost []int
	again := make(map[int]bool) // to be read from the beginning, as pages of it are lost
	w.mu.Lock()
	for n, v := range views {
		again[n] = mine[n] && w.stale(n, v)
	}
	w.mu.Unlock()
	for n, v := range views {
		if mine[n] && !again[n] {
			group, from[n] = append(group, n), v.Last
		} else {
			lost, theirs[n] = append(lost, n), v.Last
		}
	}
	for n := range mine {
		if _, held := views[n]; !held || again[n] {
			fresh = append(fresh, n)
		}
	}
	slices.Sort(group)
	slices.Sort(fresh)
	// A turn that was logged and not committed is in one of these logs, whoever has the
	// shard now. It may be on its way still, and is refused once these are fenced.
	took, err := w.take(w.ctx, from, true)
	if err != nil {
		return err
	}
	logged, err := w.fence(w.ctx, theirs)
	if err != nil {
		return err
	}
	maps.Copy(logged, took)
	if err := w.redo(ctx, f, logged, views); err != nil {
		return err
	}
	for n, t := range took {
		t.sent = max(t.sent, views[n].Sent)
	}
	if err := w.passOn(w.ctx, took); err != nil {
		return err
	}
	if err := w.leave(ctx, f, lost); err != nil {
		return err
	}
	for _, n := range group {
		t, v := took[n], views[n]
		if v.Done >= v.Till { // all links of other holders were taken in
			v.Done = v.Last
		}
		v.Till, v.Last, v.Sent = t.till, t.last, t.sent
		mail := t.mail(w.o.Clock.Now())
		turn := web.Turn{Done: mail.Done, Hosts: mail.Hosts, State: map[string][]byte{shardState(n): v.encode()}}
		if _, err := f.Commit(ctx, turn); err != nil {
			return err
		}
		w.hold(n, v)
	}
	w.read(group)
	if len(fresh) > 0 {
		w.taking += len(fresh)
		w.background.Go(func() { w.takeNew(fresh) })
	}
	return nil
}

// redo commits the turn that this worker logged and its frontier does not hold, if there is
// one that was logged to its end: of another, only links are there, which are taken in as
// those of others are. Several turns may be of several shards: the marks are those of the last one.
func (w *Worker) redo(ctx context.Context, f *frontier.Frontier, logged map[int]*takeover, views map[int]view) error {
	turn := web.Turn{State: map[string][]byte{}}
	whole := false
	var archiveAt, eventsAt engine.Position
	for _, n := range slices.Sorted(maps.Keys(logged)) {
		for _, r := range logged[n].mine {
			whole = whole || len(r.done)+len(r.archive)+len(r.events) > 0
			turn.Add = append(turn.Add, r.links...)
			for _, c := range r.away { // those to hosts of others are not this frontier's
				if _, own := views[w.routes.of(c.URL.Host())]; own {
					turn.Add = append(turn.Add, c)
				}
			}
			turn.Done = append(turn.Done, r.done...)
			if len(r.archive) > 0 && r.at >= archiveAt {
				turn.State[crawl.StateArchive], archiveAt = r.archive, r.at
			}
			if len(r.events) > 0 && r.at >= eventsAt {
				turn.State[crawl.StateEvents], eventsAt = r.events, r.at
			}
		}
	}
	if !whole {
		return nil
	}
	if to := turn.State[crawl.StateEvents]; to != nil {
		state := func(name string) ([]byte, error) { return f.State(ctx, name) }
		from, err := state(crawl.StateEvents)
		if err != nil {
			return err
		}
		counted, err := crawl.Recount(state, w.briefing.Events(from, to))
		if err != nil {
			return err
		}
		maps.Copy(turn.State, counted)
	}
	_, err := f.Commit(ctx, turn)
	return err
}

// leave has the links of shards leave the frontier, that others have now.
func (w *Worker) leave(ctx context.Context, f *frontier.Frontier, lost []int) error {
	if len(lost) == 0 {
		return nil
	}
	turn := web.Turn{State: map[string][]byte{}}
	for _, n := range lost {
		turn.State[shardState(n)] = nil
	}
	if err := f.Revise(ctx, func(h *web.HostState) {
		if slices.Contains(lost, w.routes.of(h.Host)) {
			turn.Drop = append(turn.Drop, h.Host)
		}
	}); err != nil {
		return err
	}
	_, err := f.Commit(ctx, turn)
	return err
}

// Close leaves: the shards are free at once for others. how is how the crawl ended, ""
// where it goes on elsewhere. It is safe to call it after the session was lost.
func (w *Worker) Close(how string) error {
	w.cancel(context.Canceled)
	w.background.Wait()
	if w.member == nil || w.Failed() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveFor)
	defer cancel()
	if w.briefing.Acts != nil {
		if err := w.settleActs(ctx); err != nil {
			w.o.Note(fmt.Sprintf("what this worker was told last goes to the others when it goes on: %v", err))
		}
	}
	w.mu.Lock()
	w.status.Ended = cmp.Or(how, "Stopped")
	w.mu.Unlock()
	err := w.publish(ctx)
	if how == "FrontierEmpty" || how == "HostsDown" {
		err = errors.Join(err, w.putOver(ctx, how))
	}
	err = errors.Join(err, w.member.Leave(ctx))
	if err != nil {
		return fmt.Errorf("leaving the crawl: %w; its shards are free once its session is over, in %v", err, w.plan.Term)
	}
	if w.o.Show != nil {
		if err := w.showLast(ctx); err != nil {
			w.o.Note(fmt.Sprintf("what is shown of the other workers is from before: %v", err))
		}
	}
	return nil
}

// LateAfter is how long a worker waits for the engine before it says so.
const LateAfter = 3 * time.Second

// leaveFor is for how long a worker that leaves tries to tell.
const leaveFor = 5 * time.Second
