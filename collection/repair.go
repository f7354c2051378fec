package collection

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// RepairOptions say how to repair.
type RepairOptions struct {
	// Parser reads the links of archived pages, where log and frontier have lost
	// addresses: some are found there. nil does not look.
	Parser   crawl.Parser
	Progress Progress // nil tells nobody
}

// Progress is told how far a long work has come: of what, and how much of how
// much: bytes, or pages of "links of archived pages".
type Progress func(of string, done, total int64)

// Repair makes frontier and event log anew of what is whole of archive, log and
// frontier, so that they tell the same story and the crawl can go on.
//
//	archive    stays as it is, but for damaged pieces, which are moved to
//	           archive/damaged
//	event log  its whole lines, and an event for every exchange of the archive
//	           that none of them tells of
//	frontier   what it holds that can be read; what the log tells beyond that
//
// Nothing is cut back: what was in flight and is whole counts as done. The new
// files are complete before they take the places of the old ones; a process that
// dies on the way leaves the old ones, or the new ones for the next that locks
// the folder.
func (w *Writer) Repair(ctx context.Context, o RepairOptions) (*RepairReport, error) {
	r := w.newRepair(ctx, o)
	err := r.run(r.readMarks, r.readLog, r.readArchive, r.judge, r.writeLog, r.writeFrontier, r.swap)
	if err != nil {
		return nil, err
	}
	if r.report.Left, _, err = w.setupDamage(); err != nil {
		return nil, err
	}
	switch {
	case r.report.Whole:
		err = r.mendHarvest()
	case r.retrace.Began():
		err = w.SaveHarvest()
	default: // the crawl begins anew, and with it its log
		err = os.RemoveAll(w.ProvenanceFile())
	}
	return r.report, err
}

// mendHarvest writes harvest.tsv and harvest.yaml anew, where one of them is not what
// the log tells now.
func (r *repair) mendHarvest() error {
	var m checkpoints
	ended := false
	for e, err := range r.w.wholeLines() {
		if err != nil {
			return err
		}
		if r.logMark >= 0 && !r.known(e) {
			break
		}
		m.add(e)
		_, ends := e.Event.(event.Ended)
		ended = ended || ends
	}
	files, err := r.w.readHarvestFiles()
	if err != nil {
		return err
	}
	match, err := r.w.matchHarvest(m, files)
	if err != nil {
		return err
	}
	for path, is := range map[string]agreement{r.w.HarvestFile(): match.table, r.w.ProvenanceFile(): match.provenance} {
		switch {
		case is == strange:
			r.found("%s was not what the event log tells", r.w.inFolder(path))
		case is == missing && ended:
			r.found("%s was not there", r.w.inFolder(path))
		case is == earlier:
			r.found("%s was of an earlier time than the event log", r.w.inFolder(path))
		}
	}
	if r.report.Whole = !r.trouble; r.report.Whole {
		return nil
	}
	slices.Sort(r.report.Found)
	h, err := r.w.harvestAt(m.lines)
	if err != nil {
		return err
	}
	by, err := r.w.provenanceAt(m)
	if err != nil {
		return err
	}
	return r.w.writeHarvest(h, by[m.lines])
}

func (w *Writer) newRepair(ctx context.Context, o RepairOptions) *repair {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	return &repair{
		w: w, ctx: ctx, parser: o.Parser, progress: o.Progress, report: &RepairReport{},
		tallies: map[uint64]tally{}, bodies: map[uint64]struct{}{}, spans: map[string][]span{},
		hosts: map[web.Host]*hostTale{}, left: map[web.URL]bool{}, named: map[string]bool{}, leftOut: map[int]bool{}, repaid: map[uint64]struct{}{},
		withoutEnd: map[int]bool{}, retried: map[uint64]retry{}, finals: map[int]bool{}, depths: map[web.URL]int{},
		pieces: map[web.URL]bool{},
	}
}

// run takes over what the old frontier holds, and goes through the steps until
// one fails or there is nothing to repair: then it leaves nothing behind.
func (r *repair) run(steps ...func() error) (err error) {
	if err := r.clear(); err != nil {
		return err
	}
	defer func() {
		if r.remains != nil {
			err = errors.Join(err, r.remains.Close())
		}
		if r.front != nil {
			err = errors.Join(err, r.front.Close())
		}
		if err != nil || r.report.Whole {
			err = errors.Join(err, r.clear())
		}
	}()
	if r.remains, err = frontier.Examine(r.w.FrontierDir()); err != nil {
		return err
	}
	if err := r.readLosses(); err != nil {
		return err
	}
	r.rebuilt, err = r.remains.Rebuild(r.ctx, r.newFrontier(), func(done, total int64) { r.progress("frontier", done, total) })
	if err == nil {
		r.front, err = frontier.Open(r.newFrontier(), frontier.Options{MaxPerHost: -1, MaxNames: -1})
	}
	for _, step := range steps {
		if err = errors.Join(err, r.ctx.Err()); err != nil || r.report.Whole {
			return err
		}
		err = step()
	}
	return err
}

// repair is the work of Repair. Its life is the order of its steps there.
type repair struct {
	w             *Writer
	ctx           context.Context
	parser        crawl.Parser
	progress      Progress
	report        *RepairReport
	remains       *frontier.Remains
	rebuilt       frontier.RebuildReport
	front         *frontier.Frontier // the new one
	losses        *losses
	lossesDamaged bool // lost.txt is
	lossesMissing bool // and the old frontier holds no copy of it

	// From readMarks: how far the old frontier says that archive and log go.
	archiveMark struct {
		number int
		end    int64
		known  bool
	}
	logMark int64 // -1 if it is not known
	turned  bool  // a turn was committed, or that is not known
	alone   bool  // the archive is all that tells of the crawl

	// From readLog.
	tallies  map[uint64]tally
	bodies   map[uint64]struct{} // of pages, to know a duplicate
	logSize  int64               // of its whole lines, from the first
	damaged  int                 // lines
	repeats  repeats
	leftOut  map[int]bool     // lines that are there already, or of a rejudgement that never counted
	logLost  bool             // it has lost lines
	torn     bool             // its last line has no end
	turns    turnCount        // behind the mark
	rejudged []int            // lines behind the mark that waggle judge wrote
	settings int              // of them, those of settings
	newly    int              // settings that changed behind the mark
	started  *event.Started   // the first one
	last     time.Time        // of its last event
	goneHost map[web.Host]int // the line that dropped a host's links last
	gone     map[uint64]int   // the line that dropped a link last
	muted    map[uint64]bool  // links that were left in a muted place last

	// From readArchive.
	files      []archiveFile
	spans      map[string][]span // damaged pieces, by file
	absent     []int             // numbers of files that are missing, or have nothing left
	lastFile   int               // the highest number of a file
	withoutEnd map[int]bool      // numbers of files before that one that have lost their ends
	exchanges  int               // behind the mark
	headless   []store.Piece     // metadata without a response
	earlier    earlierRounds     // of which the archive of a round has bodies
	made       int               // events, in the file madeLog
	retried    map[uint64]retry  // of these, the last failure of an address that is tried again
	finals     map[int]bool      // of these, failures after which it is not
	trouble    bool              // something is to be repaired
	pieces     map[web.URL]bool  // addresses of pieces of exchanges, where the archive alone tells of the crawl
	named      map[string]bool   // addresses that are done, with an outcome that no store tells so far

	// From writeLog.
	retrace *crawl.Retrace
	rewrite bool   // the log is written anew
	newMark []byte // of its end
	turn    web.Turn
	depths  map[web.URL]int // of pages whose links neither log nor frontier tell of
	hosts   map[web.Host]*hostTale
	left    map[web.URL]bool    // links refused in a way that a change of settings may undo
	repaid  map[uint64]struct{} // links that were owed, and have an address again

	changes journal // from writeFrontier: of the archive
}

// archiveFile is a file of the archive.
type archiveFile struct {
	path   string
	number int
	size   int64
}

type span struct{ from, to int64 }

func (r *repair) newFrontier() string { return r.w.FrontierDir() + ".new" }
func (r *repair) newLog() string      { return r.w.EventLog() + ".new" }
func (r *repair) madeLog() string     { return r.w.EventLog() + ".made" }
func (r *repair) newLost() string     { return r.w.LostFile() + ".new" }
func (r *repair) newSums() string     { return r.w.SumFile() + ".new" }

// clear removes what a repair left that did not come to its end.
func (r *repair) clear() error {
	var errs []error
	for _, name := range []string{r.newFrontier(), r.newLog(), r.madeLog(), r.newLost(), r.newSums()} {
		errs = append(errs, os.RemoveAll(name))
	}
	for _, dir := range []string{r.w.ArchiveDir(), filepath.Join(r.w.ArchiveDir(), "damaged")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".new") {
				errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// found notes what is to be repaired.
func (r *repair) found(format string, args ...any) {
	r.trouble = true
	r.report.Found = append(r.report.Found, fmt.Sprintf(format, args...))
}

// readLosses reads lost.txt. If it is damaged, the copy in the old frontier counts.
// That may be of an earlier repair, so the addresses in the file count as well that
// the frontier holds for done. Without a copy, the others are found again if log or
// archived pages speak of them.
func (r *repair) readLosses() error {
	damage, err := r.w.checkLosses()
	if err != nil {
		return err
	}
	if r.losses, err = r.w.readLosses(); err != nil {
		return err
	}
	if damage == nil {
		if damage, err = r.lackingLosses(); damage == nil || err != nil {
			return err
		}
	}
	r.found("%s", damage)
	r.lossesDamaged = true
	r.losses.keep(func(url string) bool {
		u, err := web.Parse(url)
		return err == nil && u.String() == url && r.remains.Standing(u) == frontier.Done
	})
	list, err := r.remains.State(stateLosses)
	if err != nil && !errors.As(err, new(*frontier.DamageError)) {
		return err
	}
	// The copy goes first: what is made of it alone has the checksum it had, should
	// SHA256SUMS be damaged too and be put back.
	whole := &losses{known: map[string]bool{}}
	whole.take(list)
	for _, u := range r.losses.urls {
		whole.add(u)
	}
	if r.lossesMissing = len(list) == 0; r.lossesMissing {
		whole.note("this list was damaged, and made anew: some addresses may be missing")
	}
	r.losses = whole
	return nil
}

// lackingLosses looks for lines that lost.txt lacks by its copy, where SHA256SUMS
// does not tell whether it is whole.
func (r *repair) lackingLosses() (*Damage, error) {
	name := filepath.Base(r.w.LostFile())
	if sums, damages, err := r.w.readSums(); err != nil || len(damages) == 0 && sums[name] != "" {
		return nil, err
	}
	list, err := r.remains.State(stateLosses)
	if err != nil {
		return nil, nil // the frontier tells of its damage itself
	}
	held := losses{known: map[string]bool{}}
	held.take(list)
	for _, u := range held.urls {
		if !r.losses.known[u] {
			return &Damage{name, "", "it lacks addresses that the frontier knows to be lost", remedyRepair}, nil
		}
	}
	for _, n := range held.notes {
		if !slices.Contains(r.losses.notes, n) {
			return &Damage{name, "", "it lacks a line that the frontier has of it", remedyRepair}, nil
		}
	}
	return nil, nil
}

// readMarks reads what the old frontier says of the other stores.
func (r *repair) readMarks() error {
	r.logMark = -1
	r.turned = true
	r.report.Learnt, r.report.Done = r.rebuilt.States, r.rebuilt.Done
	for _, d := range r.remains.Damage() {
		r.found("%s is damaged: %v", r.w.inFolder(d.Path), d.Err)
	}
	var logged []byte
	if r.rebuilt.States {
		var err error
		if logged, err = r.remains.State(crawl.StateEvents); err != nil {
			return err
		}
	}
	if logged == nil {
		r.turned = !r.rebuilt.States || len(r.remains.Damage()) > 0
		if len(r.remains.Damage()) > 0 {
			return nil
		}
		if r.w.tellsOfTurns() {
			r.turned = true
			r.found("%s is missing or empty", r.w.inFolder(r.w.FrontierDir()))
			return nil
		}
		var err error
		if r.alone, err = r.w.keepsRecords(); r.alone {
			r.turned = true // what is left of the frontier does not tell
			r.found("%s and %s are missing or empty", r.w.inFolder(r.w.FrontierDir()), r.w.inFolder(r.w.EventLog()))
		}
		return err
	}
	if at, err := strconv.ParseInt(string(logged), 10, 64); err == nil {
		r.logMark = at
	}
	archived, err := r.remains.State(crawl.StateArchive)
	if err != nil {
		return err
	}
	if archived == nil { // nothing of the archive was acknowledged yet
		archived = store.StartMark()
	}
	m := &r.archiveMark
	m.number, m.end, err = store.MarkedFile(archived)
	m.known = err == nil
	return err
}

// standing is what the old frontier knows of an address, by its ledger or, where
// that is lost, by what waits in its store.
func (r *repair) standing(u web.URL) frontier.Standing {
	if s := r.remains.Standing(u); s != frontier.Unknown {
		return s
	}
	return r.front.Standing(u)
}

// known tells whether the old frontier reflects an event of the old log.
func (r *repair) known(e event.Entry) bool { return e.Offset < r.logMark }

// readLog counts what the log tells.
func (r *repair) readLog() error {
	r.goneHost, r.gone, r.muted = map[web.Host]int{}, map[uint64]int{}, map[uint64]bool{}
	var total int64
	if info, err := os.Stat(r.w.EventLog()); err == nil {
		total = info.Size()
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	} else if r.alone {
		r.logLost = true
		return nil
	} else if r.remains.Begun() && r.turned {
		r.found("%s is missing", r.w.inFolder(r.w.EventLog()))
		r.logLost = true
		return nil
	}
	for e, err := range event.Entries(r.w.EventLog()) {
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err := errors.Join(err, r.ctx.Err()); err != nil {
			return err
		}
		switch {
		case errors.Is(e.Err, event.ErrTorn):
			r.torn = true
			continue
		case e.Err != nil:
			r.damaged++
			var line *event.LineError
			if errors.As(e.Err, &line) {
				r.found("%s, line %d: %v", r.w.inFolder(line.Path), line.Line, line.Err)
			}
			continue
		}
		if splits(e, r.logMark) {
			r.found("%s, line %d: %s", r.w.inFolder(r.w.EventLog()), e.Number, saidOfSplit(r.logMark))
		}
		r.logSize = e.Offset + int64(len(e.Line))
		if r.repeats.find(e) {
			r.found("%s, line %d: %s", r.w.inFolder(r.w.EventLog()), e.Number, saidOfRepeat)
			r.leftOut[e.Number] = true
			continue
		}
		r.count(e)
		r.progress("event log", r.logSize, total)
	}
	r.logLost = r.damaged > 0 || r.alone
	if r.logMark > r.logSize {
		r.logLost = true
		r.found("%s ends at byte %d of %d", r.w.inFolder(r.w.EventLog()), r.logSize, r.logMark)
	}
	return nil
}

// count takes in a line of the log.
func (r *repair) count(e event.Entry) {
	if r.logMark >= 0 && !r.known(e) {
		begins := r.turns.add(e.Event)
		switch renewed := e.Event.(type) {
		case event.Rejudged:
			if renewed.Judge != "" {
				r.rejudged = append(r.rejudged, e.Number)
			}
		case event.Changed:
			r.newly++
			if !begins {
				r.rejudged = append(r.rejudged, e.Number)
				r.settings++
			}
		}
	}
	r.last = e.Event.Time()
	switch ev := e.Event.(type) {
	case event.Started:
		if r.started == nil {
			r.started = &ev
		}
	case event.Fetched:
		r.bodies[hashOf(ev.Digest)] = struct{}{}
	case event.Dropped:
		if ev.Host != "" {
			r.goneHost[ev.Host] = e.Number
		}
		for _, u := range ev.URLs {
			h := hashOf(u.String())
			if delete(r.muted, h); ev.Reason == web.ReasonMuted {
				r.muted[h] = true // it is kept as a muted link
			} else {
				r.gone[h] = e.Number
			}
		}
	}
	count(r.tallies, e.Event)
	r.countAgain(e)
}

// countAgain forgets that a link left which is queued again, and notes one that was found in a
// muted place.
func (r *repair) countAgain(e event.Entry) {
	for _, l := range linksOf(e.Event) {
		switch l.Reason {
		case "":
			h := hashOf(l.To.String())
			delete(r.gone, h)
			delete(r.muted, h)
		case web.ReasonMuted:
			r.muted[hashOf(l.To.String())] = true
		}
	}
}

// judge decides whether there is anything to repair. What the death of a process
// leaves is not: the next run puts that in order.
func (r *repair) judge() error {
	if r.turns.n > 1 || r.exchanges > 1 {
		r.found("the frontier has lost turns that archive and event log tell of")
	} else if len(r.rejudged) > 0 {
		// waggle judge died before its verdicts counted, and nothing followed.
		for _, n := range r.rejudged {
			r.leftOut[n] = true
		}
		r.newly -= r.settings
	}
	if !r.rebuilt.Sound && !r.trouble {
		r.found("the frontier's seen-set is not whole")
	}
	missing := 0
	for _, t := range r.tallies {
		if t.missing() > 0 {
			missing++
		}
	}
	for _, u := range r.losses.urls {
		if t := r.tallies[hashOf(u)]; t.missing() > 0 {
			missing-- // that is known
		}
	}
	if missing > 0 {
		r.found("the archive lacks what the event log tells of for %d addresses", missing)
	}
	r.report.Whole, r.report.Alone = !r.trouble, r.alone
	return nil
}
