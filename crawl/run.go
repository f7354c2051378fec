package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waggle-crawler/waggle/crawl/bigmap"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/nearcopy"
	"github.com/waggle-crawler/waggle/web"
)

// Log keeps events. Append returns the mark of the log's end, with which a
// later run opens it.
type Log interface {
	Append(events ...event.Event) (mark []byte, err error)
	Sync() error
}

// Parser makes a page of a response, as it was rendered where it was. It is pure and safe
// for concurrent use.
type Parser interface {
	Parse(r *web.Response) (*web.Page, error)
}

// Clock tells the time and makes timers. It is safe for concurrent use.
type Clock interface {
	Now() time.Time
	// NewTimer fires once after d, unless stop is called before.
	NewTimer(d time.Duration) (fire <-chan time.Time, stop func())
}

// Crawl is one crawl: the stages in the order in which a page passes them.
// Every field without a default named is needed.
type Crawl struct {
	Seeds    []web.URL
	Bare     []web.URL // those of Seeds that were given without a scheme; see Step.plain
	Frontier Frontier
	Fetcher  Fetcher
	Sites    Sites    // nil asks no site for its wishes beside robots.txt, as a simulation
	Renderer Renderer // nil renders nothing; see Policy.Render
	Parser   Parser
	Judge    Judge
	Scorer   Scorer
	Archive  Archive // nil keeps nothing
	Log      Log     // nil keeps nothing
	Policy   Policy
	// Scratch makes a file that is gone when it is closed, for what a crawl of more than a
	// quarter of a million pages knows of them. What cannot be written stays in memory, as all
	// does with nil.
	Scratch func() (bigmap.File, error)

	Name       string
	JudgeName  string
	ScorerName string
	Threshold  float64 // of the judge, for the record
	Workers    int     // fetches at a time; 0 = 32
	Clock      Clock   // nil = the machine's
	// Listen hears every event once it is in the log; it must return soon.
	Listen func(event.Event)
	// Control holds the crawl and tells of its hosts; nil = nobody does.
	Control *Control
	// Active is told twice a second what the crawl does, and at its end once more, with the
	// zero Activity; it must return soon. nil = nobody is.
	Active func(web.Activity)
	// Archived is told the mark up to which the archive is acknowledged: at the beginning, and
	// with each turn that has moved it. It must return soon; nil = nobody is.
	Archived func(mark []byte)
	// News are events of what works beside the crawl: they are logged as they come. nil = there
	// are none.
	News <-chan event.Event
	// Acts are what people tell the crawl while it runs; nil = nobody can. Told are those
	// that earlier runs took in. Look finds the pages that are labelled. Revised,
	// unless nil, is told budget and delay where an act sets one of them, before it holds;
	// its error refuses the act.
	Acts    Acts
	Told    []event.Act
	Look    Look
	Revised func(pages int, delay time.Duration) error
	// Keywords are those of the topic. Reword, unless nil, is asked for others that an act
	// gives, before the judge takes them; its error refuses the act. Stored are the pages of
	// the archive so far that can be read, in their order; nil = what was fetched before
	// other keywords came is not judged anew, but for what the judge remembers.
	Keywords []string
	Reword   func(words []string) (Rewording, error)
	Stored   func(ctx context.Context) iter.Seq2[*web.Page, error]
	// Again are pages that earlier rounds of the collection know; see Again.
	Again Again
	// History is the log of earlier runs of this crawl; nil = a new crawl.
	History iter.Seq2[event.Event, error]
	// Settings is event.Started.Settings, and Changes what has changed since an
	// earlier run.
	Settings map[string]string
	Changes  Changes
	// Peers are the other workers of a crawl that several do; nil = there are none. All
	// have the same Seeds, Policy, judge and scorer.
	Peers Peers
}

// Intervals of the driver.
const (
	tickEvery = 500 * time.Millisecond // state for those who watch
	syncEvery = 5 * time.Second        // to the disk's platter
)

// Run crawls until the budget is spent, the frontier is empty or ctx ends. It
// returns how the crawl ended; a crawl that was Stopped can be run again. An
// error means that the crawl could not go on: it too can be run again, when
// its cause is mended, and nothing acknowledged is lost.
//
// Order of shutdown: ctx of the workers is cancelled; they return what they
// have; the driver drops it (those leases end when the frontier is opened
// again); what was decided is written; then Run returns. The caller closes what it opened.
func (c *Crawl) Run(ctx context.Context) (event.Ending, error) {
	d := c.newDriver()
	defer d.step.forget()
	return d.run(ctx)
}

// driver is a running crawl. One goroutine calls its methods, and the step,
// the frontier, the archive and the log through it; workers fetch and examine.
type driver struct {
	*Crawl
	step     *Step
	inFlight int
	mark     []byte        // of the log's end, when no turn has carried it yet
	settled  []*settlement // turns that were committed and not told yet, the oldest first
	unsaid   []event.Event // that follow the last of them, see takeUnsaid
	last     time.Time     // when time was last counted
	ticked   time.Time
	synced   time.Time
	// Of links that wait for better ones, see leaseBest: whether there are any that could be
	// fetched, which of those on their way are the better ones, and until when they wait,
	// unless one of these brings a page.
	waits       bool
	better      map[web.URL]bool
	betterUntil time.Time
	held        bool             // no link was given at the last turn: the crawl is paused, or the network down
	outage      bool             // the time spent is without that of the outage
	still       time.Duration    // for which the crawl stood still, see countTime
	stuck       time.Time        // since when nothing happens, see checkHang
	rounds      int              // since then
	entered     int              // of step.moved: those whose pages of Again.Due are in the frontier
	dueOf       map[string][]int // places in Again.Due, by Scope.home, of those not in it yet; nil before the first move
	// Of what was fetched before the keywords changed; nil = nothing is judged anew.
	renewing *renewal
	wording  atomic.Int64 // how often the keywords changed, and one
	// Of other workers: the sum of their standings, and its version; and how many pages came
	// by links of this worker that were among the best.
	others        Standing
	othersVersion int
	heard         pace // when this worker first heard of others in this run; zero without others
	betterPages   int
	ranking       Ranking // the frontier; nil without other workers
	labels        []int   // Standing.Labels
	taking        bool    // there are acts beyond those that were taken in at once
	// Labels that were taken in, and wait for those that follow them.
	labelled []givenLabel
	// For those who watch: what is under way, nil where nobody does; when the activity was
	// reported last, and for how long the disk was written to since.
	fetches  *fetches
	reported time.Time
	wrote    time.Duration
}

// newDriver returns the driver of a copy of c with its defaults.
func (c *Crawl) newDriver() *driver {
	own := *c
	if own.Clock == nil {
		own.Clock = clock.System{}
	}
	if own.Workers == 0 {
		own.Workers = 32
	}
	d := &driver{Crawl: &own, step: NewStep(c.Policy, c.Scorer, c.Judge), better: make(map[web.URL]bool)}
	d.wording.Store(1)
	for _, u := range c.Bare {
		d.step.bare[u] = true
	}
	d.step.scratch, d.step.bodies = c.Scratch, bigmap.New(knownAtHand, c.Scratch)
	d.step.setKnown(&c.Again)
	d.step.state = func(name string) ([]byte, error) { return d.Frontier.State(context.Background(), name) }
	if c.Policy.NearCopies {
		d.step.near = nearcopy.NewIndex(d.step.state, func(name string, value []byte) { d.step.fresh[name] = value })
	}
	if own.Acts != nil && own.Control == nil {
		own.Control = &Control{}
	}
	if own.Active != nil || own.Control != nil {
		d.fetches = &fetches{clock: own.Clock, all: make(map[*ongoingFetch]struct{}, own.Workers)}
	}
	return d
}

func (d *driver) run(ctx context.Context) (how event.Ending, err error) {
	defer func() {
		if err != nil {
			d.awaitWrites()
		}
	}()
	if err := d.start(ctx); err != nil {
		if how, err = d.startStopOrError(ctx, err); err != nil {
			return "", err
		}
		return how, d.end(how)
	}
	if d.Active != nil {
		defer d.Active(web.Activity{})
	}

	// Leases go down one channel, arrivals come up the other. Both hold a
	// worker's worth each, so neither side ever waits for the other to leave.
	work, cancel := context.WithCancel(ctx)
	leases := make(chan web.Lease, d.Workers)
	arrivals := make(chan result, d.Workers)
	var workers sync.WaitGroup
	cores := newCores(runtime.GOMAXPROCS(0))
	for range d.Workers {
		workers.Go(func() {
			for l := range leases {
				f := d.fetches.begin(l.Host.Host)
				a, err := d.examine(work, l, cores, f)
				f.enter(web.StageStore)
				arrivals <- result{a, err, f}
			}
		})
	}
	how, err = d.loop(ctx, leases, arrivals)
	d.endRenewal()
	cancel()
	close(leases)
	workers.Wait()
	if err != nil {
		return "", err
	}
	d.inFlight = 0 // what was under way is dropped
	d.tellPeers(d.Clock.Now(), true)
	return how, d.end(how)
}

// awaitWrites returns once nothing of the crawl is being written, after an error: then the
// caller may close the stores.
func (d *driver) awaitWrites() { _, _ = d.Frontier.Unwritten(0) }

// start sets the time and opens the crawl.
func (d *driver) start(ctx context.Context) error {
	d.last = d.Clock.Now()
	d.ticked, d.synced, d.reported = d.last, d.last, d.last
	d.betterUntil = d.last.Add(d.Policy.WaitForBetter)
	d.Frontier.Share(d.Workers, d.Policy.Delay)
	if err := d.join(); err != nil {
		return err
	}
	if d.Archived != nil {
		mark, err := d.Frontier.State(ctx, StateArchive)
		if err != nil {
			return err
		}
		if mark != nil {
			d.Archived(mark)
		}
	}
	return d.open(ctx)
}

// end says how the crawl ended and brings everything to the platter.
func (d *driver) end(how event.Ending) error {
	now := d.Clock.Now()
	last := event.Ended{At: event.At{At: now}, How: how, Frontier: d.stats(now)}
	var err error
	if how == event.HostsDown {
		last.Next, last.Until, err = d.downUntil()
	}
	if err == nil {
		err = d.say(append(d.step.conclude(now), last)...)
	}
	if err == nil {
		err = d.storeEnd()
	}
	return cmp.Or(err, d.sync()) // what was written before an error is safe all the same
}

// result is an arrival, or why the crawl cannot go on.
type result struct {
	Arrival
	err     error
	fetched *ongoingFetch
}

// open starts a crawl, or takes it up.
func (d *driver) open(ctx context.Context) error {
	state := func(name string) ([]byte, error) { return d.Frontier.State(ctx, name) }
	begun, err := state(stateCrawl)
	if err != nil {
		return err
	}
	now := d.last
	started := event.Started{
		At: event.At{At: now}, Name: d.Name, Scorer: d.ScorerName, Judge: d.JudgeName,
		Threshold: d.Threshold, Pages: d.Policy.Pages, Limit: d.Policy.Time,
		Workers: d.Workers, Several: d.Peers != nil, Resumed: begun != nil, Settings: d.Settings,
	}
	d.step.words = d.Keywords
	if d.Acts != nil {
		if err := d.step.prepareActs(ctx, d.Told, d.Look); err != nil {
			return err
		}
	}
	if d.Peers != nil && d.Acts != nil && d.Control != nil {
		// The run of one of several workers is not that of the crawl: others go on when it
		// ends. So no act is of an earlier run, and a worker that comes back, or comes
		// later, stands still with the others until somebody ends the pause.
		d.step.earlier = 0
		for _, a := range d.Told {
			d.noteLabel(a)
		}
		d.Control.Pause(d.paused())
	}
	if begun == nil {
		err = d.begin(ctx, started)
	} else {
		err = d.resume(ctx, state, started)
	}
	if err != nil {
		return err
	}
	// Before it can be over: one whose budget was spent may have been granted more.
	return d.takeAllActs(ctx, now)
}

// begin makes the first turns of a crawl.
func (d *driver) begin(ctx context.Context, started event.Started) error {
	if d.step.near != nil {
		d.step.near.StoredNothing()
	}
	if err := d.say(started); err != nil {
		return err
	}
	out, err := d.step.Start(d.last, d.Seeds, d.preview(ctx))
	if err != nil {
		return err
	}
	if err := d.settle(ctx, d.last, nil, out); err != nil {
		return err
	}
	return d.enterKnown(ctx, d.last)
}

// resume takes up a crawl where its last turn left it. state returns what was stored under a
// name.
func (d *driver) resume(ctx context.Context, state func(name string) ([]byte, error), started event.Started) error {
	now := d.last
	if err := d.step.Restore(state); err != nil {
		return err
	}
	d.step.Resume(d.Seeds)
	if d.step.near != nil {
		if err := d.step.near.Stored(d.Frontier.StateNames(ctx, nearcopy.Prefix)); err != nil {
			return ofFrontier(err)
		}
	}
	if err := d.Frontier.Revise(ctx, d.step.Reopened(now)); err != nil {
		return ofFrontier(err)
	}
	past, err := d.readHistory()
	if err != nil {
		return err
	}
	if err := d.say(started); err != nil {
		return err
	}
	if err := d.change(ctx, now, past); err != nil {
		return err
	}
	if err := d.applyActs(ctx, now); err != nil {
		return err
	}
	if err := d.enterKnown(ctx, now); err != nil { // a run that was killed may have begun with it
		return err
	}
	if err := d.moveBehind(ctx); err != nil {
		return err
	}
	if err := d.sweep(ctx, now, false); err != nil {
		return err
	}
	if d.step.count.Renewing && d.Acts != nil {
		d.renewing = newRenewal()
		d.renewing.teach = maps.Clone(d.step.recent.at)
	}
	return nil
}

// readHistory goes through the log of earlier runs for what the step keeps in memory alone, and
// for what Changes need to know.
func (d *driver) readHistory() (*past, error) {
	p := newPast(d.Seeds, &d.Changes)
	if d.History == nil {
		return p, nil
	}
	for e, err := range d.History {
		if err != nil {
			return nil, fmt.Errorf("the event log of the earlier run: %w", err)
		}
		switch e := e.(type) {
		case event.Fetched:
			d.step.Remember(e)
			d.step.replayDates(e)
		case event.Failed:
			if !e.Retry {
				d.step.visited(e.URL)
			}
		case event.Seeded:
			d.step.replayLeft(e)
		}
		d.step.lists.note(e)
		p.add(e)
	}
	return p, d.step.readError()
}

// loop is the crawl: give out leases, take in arrivals, wait for whichever
// comes first.
func (d *driver) loop(ctx context.Context, leases chan<- web.Lease, arrivals <-chan result) (event.Ending, error) {
	for {
		now := d.Clock.Now()
		how, over, err := d.ended(ctx, now)
		if err == nil && over {
			err = d.finishRenewal(ctx)
		}
		if err == nil && !over {
			err = d.renew(ctx, now)
		}
		if err != nil {
			return d.stopOrError(ctx, err)
		}
		if over {
			return how, nil
		}
		out, err := d.lease(ctx, now)
		if err != nil {
			return d.stopOrError(ctx, err)
		}
		for _, l := range out {
			leases <- l
		}
		if again, err := d.idle(ctx, now); err != nil {
			return d.stopOrError(ctx, err)
		} else if again {
			continue
		}
		if len(arrivals) == 0 {
			if err := d.tell(0); err != nil {
				return d.stopOrError(ctx, err)
			}
		}
		var mail <-chan struct{}
		if d.Peers != nil {
			mail = d.Peers.Arrived()
		}
		wait := d.maxWait(now)
		due := d.Clock.Now().Add(wait)
		fire, stop := d.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			stop()
			return event.Stopped, nil
		case <-fire:
			d.noteStop(due)
		case <-mail:
			d.noteStop(due)
		case e := <-d.News:
			d.noteStop(due)
			if err := d.say(e); err != nil {
				stop()
				return d.stopOrError(ctx, err)
			}
		case a := <-arrivals:
			d.noteStop(due)
			d.inFlight--
			if a.err != nil {
				stop()
				return d.stopOrError(ctx, a.err)
			}
			err := d.arrive(ctx, a.Arrival)
			a.fetched.end()
			a.Response.Release()
			if err != nil {
				stop()
				return d.stopOrError(ctx, err)
			}
		}
		stop()
	}
}

// ended counts the time up to now, takes in what came from other workers, and tells whether the crawl is over.
func (d *driver) ended(ctx context.Context, now time.Time) (event.Ending, bool, error) {
	if err := d.keepTime(ctx, now); err != nil {
		return "", false, err
	}
	if err := d.receive(ctx, now); err != nil {
		return "", false, err
	}
	if err := d.enterMoved(ctx, now); err != nil {
		return "", false, err
	}
	how, over := d.over(now)
	if over && d.taking { // one of the acts that are left may grant more
		if err := d.takeAllActs(ctx, now); err != nil {
			return "", false, err
		}
		how, over = d.over(now)
	}
	// A host that is down keeps none of the pages that are left from being asked for.
	if over && (how == event.FrontierEmpty || how == event.HostsDown && d.step.net.state == networkUp) {
		more, err := d.enterLeft(ctx, now)
		return how, !more, err
	}
	return how, over, nil
}

// stats are told of the frontier, with the links that mutes keep out of it.
func (d *driver) stats(now time.Time) web.FrontierStats {
	s := d.Frontier.Stats(now)
	s.Muted = d.step.count.Muted.Links
	return s
}

// over tells whether the crawl is over. While other workers have something to do, it is
// when the budget is spent.
func (d *driver) over(now time.Time) (event.Ending, bool) {
	how, over := d.step.Ended(now, d.Frontier.Stats(now))
	if over && how != event.BudgetSpent && d.Peers != nil && (d.inFlight > 0 || !d.Peers.Idle()) {
		return "", false
	}
	return how, over
}

// errHalfway is of a turn that archive and log hold and the frontier does not: nothing more
// may be logged, and the next run cuts them back.
var errHalfway = errors.New("the turn was not committed")

// stopOrError is how a crawl ended that met err: Stopped if ctx has ended, or with that error.
func (d *driver) stopOrError(ctx context.Context, err error) (event.Ending, error) {
	if ctx.Err() != nil && !errors.Is(err, errHalfway) {
		return event.Stopped, nil
	}
	return "", err
}

// startStopOrError is stopOrError for the start of a crawl, where any error but that of ctx is a
// failure.
func (d *driver) startStopOrError(ctx context.Context, err error) (event.Ending, error) {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return "", err
	}
	return d.stopOrError(ctx, err)
}

// preview asks the frontier about a turn that forgets some addresses.
func (d *driver) preview(ctx context.Context, forget ...web.URL) Preview {
	return func(found []web.Candidate) ([]web.Admission, error) {
		return d.Frontier.Preview(ctx, forget, found)
	}
}

// keepTime counts time against the budget, ticks and syncs.
func (d *driver) keepTime(ctx context.Context, now time.Time) error {
	if err := d.countTime(ctx, now); err != nil {
		return err
	}
	if now.Sub(d.ticked) >= tickEvery {
		d.ticked = now
		d.Control.update(d.Frontier, d.Fetcher)
		d.tellActivity(now)
		if err := d.tell(mostUntold); err != nil {
			return err
		}
		d.hear(event.Tick{At: event.At{At: now}, Frontier: d.stats(now), Waits: d.waits})
		if err := d.takeActs(ctx, now); err != nil {
			return err
		}
		d.ticked = d.Clock.Now() // many acts take their time, and pages are fetched before the next ones
	}
	if now.Sub(d.synced) >= syncEvery {
		d.synced = now
		return d.keepSafe()
	}
	return nil
}
