package collection

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Stores are the three stores of a crawl. They were opened at the marks that the
// last turn in the frontier carries, so they tell the same story: what archive
// and log held beyond was never acknowledged, and is cut off.
type Stores struct {
	Frontier *frontier.Frontier
	Archive  *store.Archive
	Log      *event.Log
	ahead    syncOrder
}

// StoreOptions say how stores are opened.
type StoreOptions struct {
	Frontier frontier.Options // Ahead is set by OpenStores
	Archive  store.Options    // Mark, Room and Unsynced are set by OpenStores
	// LogDisk is where the event log has its file; nil = the disk of the machine. Tests
	// put faults here, as in Frontier.FS and Archive.Files.
	LogDisk event.Disk
	// Opened, unless nil, is called with the frontier once that is open, before archive and
	// log are opened at the marks that it holds then: it may commit turns.
	Opened func(ctx context.Context, f *frontier.Frontier) error
	// AcceptLoss repairs stores that cannot be opened otherwise (Repair), or whose
	// frontier is damaged anywhere, and goes on without what is lost.
	AcceptLoss bool
	// Replaced are files of the set-up that ReplaceSetup is to replace, by path:
	// they may be damaged.
	Replaced []string
	Parser   crawl.Parser // see RepairOptions
	// Note is told what the user should know; nil tells nobody.
	Note func(string)
}

// OpenError says which of the stores could not be opened. Its text is that of
// Err, which names the place.
type OpenError struct {
	Store string // "frontier", "archive", "event log", or "losses" for lost.txt
	// Damaged says that files are damaged or hold less than was acknowledged:
	// putting them back helps, or Repair.
	Damaged bool
	Err     error
}

func (e *OpenError) Error() string { return e.Err.Error() }
func (e *OpenError) Unwrap() error { return e.Err }

// OpenStores opens the stores of a crawl, or makes them. The caller closes them.
// An error of one of the stores is an *OpenError, and then none has lost
// anything that it held.
//
// What the death of a process can leave is put in order: archive and log may be
// longer than their marks by what was written for one turn, which is cut off, and
// a crawl that never committed a turn has its log and its archive removed. A
// frontier that lost the end of its seen-set is told by the log which addresses
// are done.
//
//	archive ───────────────●─ one exchange at most ┐ behind the marks:
//	log     ───────────────●─ one turn at most     ┘ cut off
//	                       marks
//	archive ──────●─────────────────────── more: the frontier has lost turns,
//	log     ──────●─────────────────────── and nothing is cut off
func (w *Writer) OpenStores(ctx context.Context, o StoreOptions) (*Stores, error) {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if err := w.openSetup(o); err != nil {
		return nil, err
	}
	var s *Stores
	var err error
	if o.AcceptLoss {
		err = w.readFrontier(ctx)
	}
	if err == nil {
		s, err = w.openStores(ctx, o)
	}
	var broken *OpenError
	if err == nil || !o.AcceptLoss || !errors.As(err, &broken) || !broken.Damaged {
		return s, err
	}
	o.Note(broken.Error())
	r, err := w.Repair(ctx, RepairOptions{Parser: o.Parser})
	if err != nil {
		return nil, err
	}
	for _, line := range r.Lines() {
		o.Note(line)
	}
	return w.openStores(ctx, o)
}

// readFrontier looks for damage in all of the frontier. What opening it does not read,
// the run would meet on its way, with nobody to repair it.
func (w *Writer) readFrontier(ctx context.Context) (err error) {
	r, err := frontier.Examine(w.FrontierDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if _, err := r.Check(ctx, nil); err != nil {
		return err
	}
	if d := r.Damage(); len(d) > 0 {
		return &OpenError{Store: "frontier", Damaged: true, Err: d[0]}
	}
	return nil
}

func (w *Writer) openStores(ctx context.Context, o StoreOptions) (_ *Stores, err error) {
	s := &Stores{}
	defer func() {
		if err != nil {
			s.ahead.fail(err) // it may be of a sync: the frontier is left as it is on the disk
			if closed := s.Close(); !errors.Is(closed, err) {
				err = errors.Join(err, closed)
			}
		}
	}()
	if d, err := w.checkLosses(); err != nil {
		return nil, err
	} else if d != nil {
		return nil, &OpenError{Store: "losses", Damaged: true, Err: fmt.Errorf("%s is damaged: %s", filepath.Join(w.dir, d.File), d.What)}
	}
	if !folder.Exists(w.FrontierDir()) { // a new one may begin only over nothing
		if err := w.clear(); err != nil {
			return nil, err
		}
	}
	archive := o.Archive
	o.Frontier.Ahead = func() error {
		return s.ahead.sync(func() error {
			return errors.Join(store.SyncLast(w.ArchiveDir(), archive), event.SyncFile(o.LogDisk, w.EventLog()))
		})
	}
	if s.Frontier, err = frontier.Open(w.FrontierDir(), o.Frontier); err != nil {
		return nil, &OpenError{Store: "frontier", Damaged: errors.As(err, new(*frontier.DamageError)), Err: err}
	}
	if err := w.clearScratch(); err != nil {
		o.Note(fmt.Sprintf("what an earlier run left stays: %v", err))
	}
	if o.Opened != nil {
		if err := o.Opened(ctx, s.Frontier); err != nil {
			return nil, err
		}
	}
	marks, err := w.marks(ctx, s.Frontier, o.Archive)
	if err != nil {
		return nil, err
	}
	o.Archive.Mark = marks.archive
	o.Archive.Room = newRoom(w.ArchiveDir()).take
	o.Archive.Unsynced = s.ahead.fail
	if s.Archive, err = store.Open(w.ArchiveDir(), o.Archive); err != nil {
		damaged := errors.As(err, new(*store.MissingError)) || errors.As(err, new(*store.Damage))
		return nil, &OpenError{Store: "archive", Damaged: damaged, Err: err}
	}
	if err := event.Check(w.EventLog(), marks.log); err != nil {
		damaged := errors.Is(err, event.ErrMark) || errors.As(err, new(*event.LineError))
		return nil, &OpenError{Store: "event log", Damaged: damaged, Err: err}
	}
	if s.Log, err = event.OpenOn(o.LogDisk, w.EventLog(), marks.log); err != nil {
		return nil, &OpenError{Store: "event log", Damaged: errors.Is(err, event.ErrMark), Err: err}
	}
	s.Log.Room = newRoom(filepath.Dir(w.EventLog())).take
	s.Log.Unsynced = s.ahead.fail
	return s, w.remember(ctx, s.Frontier, o.Note)
}

// marks are the places up to which archive and log are acknowledged.
type marks struct{ archive, log []byte }

// marks reads them from the frontier, and looks whether more lies behind them
// than the death of a process can leave.
func (w *Writer) marks(ctx context.Context, f *frontier.Frontier, o store.Options) (m marks, err error) {
	if m.archive, err = f.State(ctx, crawl.StateArchive); err != nil {
		return m, err
	}
	if m.log, err = f.State(ctx, crawl.StateEvents); err != nil {
		return m, err
	}
	if m.log == nil { // no turn was ever committed
		if err := w.clear(); err != nil {
			return m, err
		}
		m.log = []byte(event.Empty)
	}
	if m.archive == nil {
		m.archive = store.StartMark()
	}
	o.Mark = m.archive
	exchanges, err := store.Behind(w.ArchiveDir(), o)
	if err != nil {
		return m, &OpenError{Store: "archive", Err: err}
	}
	turns := turnsBehind(w.EventLog(), m.log)
	if exchanges > 1 || turns > 1 {
		return m, &OpenError{Store: "frontier", Damaged: true, Err: fmt.Errorf(
			"%s lags behind: archive and event log go on where its last turn ends (archive mark %q, event log mark %q), so it has lost turns that were acknowledged",
			w.FrontierDir(), m.archive, m.log)}
	}
	return m, nil
}

// turnsBehind counts the turns that the log tells of behind a mark, two at most.
func turnsBehind(path string, mark []byte) int {
	var turns turnCount
	for e := range event.Behind(path, mark) {
		if turns.add(e); turns.n == 2 {
			break
		}
	}
	return turns.n
}

// turnCount counts the turns of which events tell, in the order of the log.
type turnCount struct {
	n        int
	fetched  time.Time // of the last Fetched, where nothing but its turn followed
	renewed  time.Time // of the last Rejudged
	received time.Time // of the last Received
	judged   bool      // waggle judge renewed verdicts
}

// add tells whether an event begins another turn. A page that has the judge renew earlier verdicts
// is logged before them, in one turn, and the file of its site in between; a crawl that is judged
// anew logs its verdicts and then the settings that changed, in one turn as well. So is what came
// from other workers: verdicts, then links of several pages. What is of one turn is of one moment.
func (c *turnCount) add(e event.Event) bool {
	fetched := c.fetched
	c.fetched = time.Time{}
	switch e := e.(type) {
	case event.Fetched:
		c.fetched = e.Time()
	case event.SiteFile: // between a page and the verdicts that it has renewed
		c.fetched = fetched
		return false
	case event.Rejudged:
		with := fetched.Equal(e.Time()) || c.renewed.Equal(e.Time())
		c.renewed = e.Time()
		c.judged = c.judged || e.Judge != ""
		if with {
			return false
		}
	case event.Received:
		with := c.received.Equal(e.Time()) || c.renewed.Equal(e.Time())
		c.received = e.Time()
		if with {
			return false
		}
	case event.Changed:
		if c.renewed.Equal(e.Time()) {
			return false
		}
	}
	if !isTurn(e) {
		return false
	}
	c.n++
	return true
}

// isTurn tells events that go with a turn, most with one of their own.
func isTurn(e event.Event) bool {
	switch e := e.(type) {
	case event.Fetched, event.Failed, event.Seeded, event.Received, event.Changed, event.Rejudged:
		return true
	case event.Dropped: // any other is told after the turn that brought it about
		return e.Reason == web.ReasonScope || e.Reason == web.ReasonDepth || e.Reason == web.ReasonTrap
	}
	return false
}

// remember tells a frontier that has lost the end of its seen-set what is done,
// and the user of what is amiss with it.
func (w *Writer) remember(ctx context.Context, f *frontier.Frontier, note func(string)) error {
	if err := f.Unwitnessed(); err != nil {
		note(fmt.Sprintf("%v; it is made anew, and nothing else is amiss", err))
	}
	if !f.Repaired() {
		return nil
	}
	note("the end of the frontier's seen-set was lost, as in a power failure; it is made again from the log")
	if err := remind(ctx, f, w.Events()); err != nil {
		return err
	}
	return f.Remembered()
}

// Close syncs and closes the stores that are open, the frontier last: what it is still writing goes to the
// others first. Where one of these cannot be synced, the frontier is not.
func (s *Stores) Close() error {
	if s.Frontier != nil {
		_, _ = s.Frontier.Unwritten(0) // a crawl tells what it meets itself
	}
	var err error
	if s.Log != nil {
		err = errors.Join(s.Log.Sync(), s.Log.Close())
	}
	if s.Archive != nil {
		err = errors.Join(err, s.Archive.Close())
	}
	if s.Frontier == nil {
		return err
	}
	if err != nil {
		s.ahead.fail(err)
	}
	closed := s.Frontier.Close()
	if errors.Is(closed, err) { // it says so, too
		return closed
	}
	return errors.Join(err, closed)
}

// syncOrder syncs what the frontier speaks of before the frontier. After a sync that failed none does: the
// system may have dropped what was to be written, and call the next one of the same file a success.
type syncOrder struct {
	mu  sync.Mutex
	err error
}

func (a *syncOrder) sync(do func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = do()
	}
	return a.err
}

// fail says that a sync failed elsewhere.
func (a *syncOrder) fail(err error) { _ = a.sync(func() error { return err }) }

// ScorerState is what the scorer knew at the crawl's last turn, as its State
// gave it; nil if it never gave any. The crawl should not run.
func (c Collection) ScorerState() (state []byte, err error) {
	err = c.examine(func(stored func(name string) ([]byte, error)) error {
		state, err = crawl.ScorerState(stored)
		return err
	})
	return state, err
}

// RestoreJudge gives a judge what it knew at the crawl's last turn. The crawl should
// not run.
func (c Collection) RestoreJudge(j crawl.Judge) error {
	return c.examine(func(stored func(name string) ([]byte, error)) error { return crawl.RestoreJudge(j, stored) })
}

// InheritJudge has a judge of another crawl begin with what that of this one knew at its last
// turn, where it kept anything. This crawl should not run.
func (c Collection) InheritJudge(j crawl.Judge) error {
	if !folder.Exists(c.FrontierDir()) {
		return nil
	}
	return c.examine(func(stored func(name string) ([]byte, error)) error { return crawl.InheritJudge(j, stored) })
}

// examine reads what the frontier stored, without a lock.
func (c Collection) examine(read func(stored func(name string) ([]byte, error)) error) (err error) {
	r, err := frontier.Examine(c.FrontierDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if d := r.Damage(); len(d) > 0 {
		return d[0]
	}
	return read(r.State)
}

// Running tells whether a process has the folder, as far as this one may look.
func (c Collection) Running() bool { return folder.Held(c.dir) }
