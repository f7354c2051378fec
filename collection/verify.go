package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Damage is something that is not as it was written.
type Damage struct {
	File   string `json:"file"`            // in the folder of the crawl, or the folder of an earlier round
	Place  string `json:"place,omitempty"` // in the file: "line 12", "offset 4711"
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

func (d Damage) String() string {
	if d.Place == "" {
		return fmt.Sprintf("%s: %s", d.File, d.What)
	}
	return fmt.Sprintf("%s, %s: %s", d.File, d.Place, d.What)
}

// The remedies of damage.
const (
	remedyRepair  = "put the file back, or make the stores anew of what is whole: waggle repair"
	remedyPutBack = "put the file back"
	remedyAgain   = "it is written anew when a run of the crawl ends, and by waggle repair"
)

// Verification is what Verify found.
type Verification struct {
	Whole   bool `json:"whole"`
	Running bool `json:"running"` // a process crawls: what it acknowledged so far was read
	// Interrupted says that a process died while files of the folder took the places
	// of others. Nothing is lost by that: the next process that writes to the folder
	// carries it to its end. Until then nothing else is looked at.
	Interrupted bool `json:"interrupted"`
	Archive     struct {
		Files   int   `json:"files"`
		Records int   `json:"records"`
		Digests int   `json:"digests"` // compared
		Pages   int   `json:"pages"`
		Bytes   int64 `json:"bytes"`
	} `json:"archive"`
	Log struct {
		Lines   int   `json:"lines"`
		Pages   int   `json:"pages"`
		Summed  int   `json:"lines_with_checksum"`
		Bytes   int64 `json:"bytes"`
		Ignored int   `json:"lines_not_acknowledged"` // behind the mark
	} `json:"log"`
	Frontier frontier.Figures `json:"frontier"`
	Harvest  int              `json:"harvest"` // relevant pages
	Lost     int              `json:"lost"`    // addresses in lost.txt
	// Damage is what was found, of each kind at most maxDamage and a count of the
	// rest.
	Damage []Damage `json:"damage"`
	// Notes say what is no damage and good to know.
	Notes []string `json:"notes"`
}

// maxDamage is how many damages of a kind are listed one by one.
const maxDamage = 20

// Verify reads everything that the folder of a crawl holds, compares all
// checksums and digests, and the stores with one another: what they hold up to
// the last turn of the frontier. Nothing is changed. A crawl may run meanwhile:
// what it does after Verify began is not looked at. Where the replacement of files
// was interrupted, that alone is told. progress may be nil.
func (c Collection) Verify(ctx context.Context, progress Progress) (_ *Verification, err error) {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	v := &verification{c: c, ctx: ctx, progress: progress, tallies: map[uint64]tally{}, revisited: map[uint64]bool{}, counts: map[string]int{}, last: map[string]Damage{}}
	v.Damage, v.Notes = []Damage{}, []string{} // lists in JSON, of nothing too
	if err := c.checkKinds(); err != nil {
		return nil, err
	}
	v.Running = folder.Held(c.dir)
	if folder.Exists(c.journalFile()) {
		v.Interrupted = true
		return &v.Verification, nil
	}
	if v.losses, err = c.readLosses(); err != nil {
		return nil, err
	}
	v.Verification.Lost = len(v.losses.urls)
	if d, err := c.checkLosses(); err != nil {
		return nil, err
	} else if d != nil {
		v.bad(*d, "losses")
	}
	// A run that ends meanwhile writes them of more than is looked at.
	if v.harvestFiles, err = c.readHarvestFiles(); err != nil {
		return nil, err
	}
	if v.remains, err = frontier.Examine(c.FrontierDir()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.remains.Close()) }()
	for _, step := range []func() error{v.verifyFrontier, v.verifyArchive, v.verifyLog, v.compare, v.verifyHarvest, v.verifySetup, v.verifyRounds} {
		if err := errors.Join(ctx.Err(), step()); err != nil {
			return nil, err
		}
	}
	v.countRest()
	v.Whole = len(v.Damage) == 0
	return &v.Verification, nil
}

// verification is the work of Verify. Its life is the order of its steps there.
type verification struct {
	Verification
	c        Collection
	ctx      context.Context
	progress Progress
	losses   *losses
	remains  *frontier.Remains
	counts   map[string]int    // damages, by kind
	last     map[string]Damage // the last of each kind

	// From verifyFrontier: how far archive and log are acknowledged; -1 if that
	// is not known, and all of them is read.
	archiveFile int
	archiveEnd  int64
	logEnd      int64
	turned      bool // a turn was committed, or that is not known
	behind      int  // exchanges in the archive behind the mark

	tallies      map[uint64]tally
	repeats      repeats
	checkpoints  checkpoints
	harvestFiles harvestFiles
	ended        bool            // a run came to its end
	revisited    map[uint64]bool // addresses whose body is in the archive of an earlier round, by their hashes
}

// bad notes a damage of a kind.
func (v *verification) bad(d Damage, kind string) {
	if v.counts[kind]++; v.counts[kind] <= maxDamage {
		v.Damage = append(v.Damage, d)
	}
	v.last[kind] = d
}

// countRest notes how many damages of each kind were not listed.
func (v *verification) countRest() {
	for _, kind := range slices.Sorted(maps.Keys(v.counts)) {
		if n := v.counts[kind] - maxDamage; n > 0 {
			d := v.last[kind]
			d.Place, d.What = "", fmt.Sprintf("%d more like these", n)
			v.Damage = append(v.Damage, d)
		}
	}
}

// verifyFrontier reads the frontier, and the marks of the other two in it.
func (v *verification) verifyFrontier() error {
	v.archiveFile, v.archiveEnd, v.logEnd = -1, -1, -1
	var err error
	v.Frontier, err = v.remains.Check(v.ctx, func(done, total int64) { v.progress("frontier", done, total) })
	if err != nil {
		return err
	}
	for _, d := range v.remains.Damage() {
		v.bad(Damage{v.c.inFolder(d.Path), "", d.Err.Error(), remedyRepair}, "frontier")
	}
	if err := v.remains.Unwitnessed(); err != nil {
		v.Notes = append(v.Notes, fmt.Sprintf("%v; the next run makes it anew", err))
	}
	logged, errLog := v.remains.State(crawl.StateEvents)
	archived, errArchive := v.remains.State(crawl.StateArchive)
	v.turned = errLog != nil || logged != nil || len(v.remains.Damage()) > 0
	if errors.Join(errLog, errArchive) != nil || logged == nil {
		if len(v.Damage) == 0 && v.c.tellsOfTurns() {
			v.bad(Damage{v.c.inFolder(v.c.FrontierDir()), "", "it is missing or empty, but the event log tells of a crawl", remedyRepair}, "frontier")
		} else if len(v.Damage) == 0 && !v.Running {
			kept, err := v.c.keepsRecords()
			if kept {
				v.bad(Damage{v.c.inFolder(v.c.FrontierDir()), "", fmt.Sprintf("it is missing or empty, as is %s, but the archive holds what the crawl fetched", v.c.inFolder(v.c.EventLog())), remedyRepair}, "frontier")
			}
			return err
		}
		return nil
	}
	if v.logEnd, err = strconv.ParseInt(string(logged), 10, 64); err != nil {
		v.logEnd = -1
	}
	if archived == nil {
		v.archiveFile, v.archiveEnd = 0, 0
		return nil
	}
	if v.archiveFile, v.archiveEnd, err = store.MarkedFile(archived); err != nil {
		v.archiveFile, v.archiveEnd = -1, -1
	}
	return nil
}

// verifyArchive reads all records up to the mark.
func (v *verification) verifyArchive() error {
	files, err := v.c.archiveFiles()
	if err != nil {
		return err
	}
	files = upTo(v.archiveFile, files)
	var done, total int64
	has := map[int]archiveFile{}
	last := v.archiveFile
	for _, f := range files {
		has[f.number] = f
		total += f.size
		if v.archiveFile < 0 {
			last = max(last, f.number)
		}
	}
	for n := 0; n <= last; n++ {
		f, ok := has[n]
		end := int64(-1)
		if n == v.archiveFile {
			end = v.archiveEnd
		}
		switch {
		case !ok && end == 0:
			continue
		case !ok:
			v.bad(Damage{v.c.inFolder(v.c.ArchiveDir()), fmt.Sprintf("file %05d", n), "it is missing", remedyRepair}, "archive")
			continue
		case end > f.size:
			v.bad(Damage{v.c.inFolder(f.path), fmt.Sprintf("offset %d", f.size), fmt.Sprintf("the file ends; it should have %d bytes", end), remedyRepair}, "archive")
			end = f.size
		}
		if n < last {
			if err := v.verifyEnd(f); err != nil {
				return err
			}
		}
		if err := v.verifyFile(f, end, done, total); err != nil {
			return err
		}
		done += f.size
	}
	if v.archiveFile >= 0 && !v.Running {
		v.behind, err = exchangesBehind(v.ctx, files, v.archiveFile, v.archiveEnd)
	}
	return err
}

// verifyEnd looks whether a file that another follows has its end.
func (v *verification) verifyEnd(f archiveFile) error {
	lacks, err := store.CheckEnd(f.path)
	var damage *store.Damage
	if !errors.As(err, &damage) {
		return err
	}
	if lacks || f.size == 0 { // any other damage is that of a record
		v.bad(Damage{v.c.inFolder(f.path), fmt.Sprintf("offset %d", damage.Offset), damage.Err.Error(), remedyRepair}, "archive")
	}
	return nil
}

// verifyFile reads the records of a file.
func (v *verification) verifyFile(f archiveFile, end, done, total int64) error {
	v.Archive.Files++
	w := &walker{
		piece: func(p store.Piece) error {
			v.Archive.Bytes += p.End - p.Offset
			v.Archive.Digests += p.Digests
			if p.Damage != nil {
				v.bad(Damage{v.c.inFolder(f.path), fmt.Sprintf("offset %d", p.Offset), cause(p.Damage).Error(), remedyRepair}, "archive")
			} else {
				v.Archive.Records++
			}
			v.progress("archive", done+p.End, total)
			return v.ctx.Err()
		},
		exchange: func(x exchange, group []store.Piece) error {
			if x.meta.Reason == web.ReasonRobots && !x.meta.Page {
				return nil
			}
			if slices.ContainsFunc(group, func(p store.Piece) bool { return p.Type == "revisit" && p.Target == x.url }) {
				v.revisited[hashOf(x.url)] = true
			}
			if x.meta.Page {
				v.Archive.Pages++
			}
			h := hashOf(x.url)
			t := v.tallies[h]
			t.keep(x)
			v.tallies[h] = t
			return nil
		},
		// What is beside a damaged piece: the log tells whether it is known.
		orphan: func(url string, _ []store.Piece) error {
			h := hashOf(url)
			t := v.tallies[h]
			t.keptBare++
			v.tallies[h] = t
			return nil
		},
		headless: func(store.Piece) error { return nil },
	}
	return w.walk(f.path, end)
}

// verifyLog reads all lines up to the mark.
func (v *verification) verifyLog() error {
	info, err := os.Stat(v.c.EventLog())
	if errors.Is(err, os.ErrNotExist) {
		if v.remains.Begun() && v.turned {
			v.bad(Damage{v.c.inFolder(v.c.EventLog()), "", "it is missing", remedyRepair}, "log")
		}
		return nil
	}
	if err != nil {
		return err
	}
	name, turns := v.c.inFolder(v.c.EventLog()), turnCount{}
	if v.logEnd > info.Size() {
		v.bad(Damage{name, fmt.Sprintf("offset %d", info.Size()), fmt.Sprintf("the log ends; it should have %d bytes", v.logEnd), remedyRepair}, "log")
	}
	for e, err := range event.Entries(v.c.EventLog()) {
		if err := errors.Join(err, v.ctx.Err()); err != nil {
			return err
		}
		acknowledged := v.logEnd < 0 || e.Offset < v.logEnd
		if !acknowledged && v.Running {
			break
		}
		if e.Err != nil {
			if acknowledged && !(errors.Is(e.Err, event.ErrTorn) && v.logEnd < 0) {
				v.bad(Damage{name, fmt.Sprintf("line %d", e.Number), errors.Unwrap(e.Err).Error(), remedyRepair}, "log")
			}
			continue
		}
		if !acknowledged {
			v.Log.Ignored++
			turns.add(e.Event)
			continue
		}
		if splits(e, v.logEnd) {
			v.bad(Damage{name, fmt.Sprintf("line %d", e.Number), saidOfSplit(v.logEnd), remedyRepair}, "log")
		}
		v.take(e, v.repeats.find(e))
		v.progress("event log", e.Offset, info.Size())
	}
	if turns.n > 1 || v.behind > 1 {
		if v.Running, err = v.moved(); v.Running || err != nil {
			return err
		}
		v.bad(Damage{v.c.inFolder(v.c.FrontierDir()), "", fmt.Sprintf("it lags behind: event log and archive tell of %d turns more", max(turns.n, v.behind)), remedyRepair}, "behind")
	} else if turns.judged {
		v.Notes = append(v.Notes, "waggle judge was interrupted before its verdicts counted: the same command begins anew")
	} else if turns.n+v.behind > 0 {
		v.Notes = append(v.Notes, "a page was in flight when the crawl ended: the next run fetches it again")
	}
	return nil
}

// splits tells whether the mark of the log lies within a line: lines before it were
// added, or removed.
func splits(e event.Entry, mark int64) bool {
	return e.Offset < mark && mark < e.Offset+int64(len(e.Line))
}

// saidOfSplit says so.
func saidOfSplit(mark int64) string {
	return fmt.Sprintf("the last acknowledged line should end at byte %d, within this one: lines before it were added or removed", mark)
}

// moved tells whether a run has begun since the frontier was looked at.
func (v *verification) moved() (_ bool, err error) {
	r, err := frontier.Examine(v.c.FrontierDir())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	logged, err := r.State(crawl.StateEvents)
	return err == nil && logged != nil && string(logged) != strconv.FormatInt(v.logEnd, 10), nil
}

// take takes in an acknowledged line; again says that it was there before.
func (v *verification) take(e event.Entry, again bool) {
	v.Log.Lines++
	v.Log.Bytes += int64(len(e.Line))
	if e.Summed {
		v.Log.Summed++
	}
	v.checkpoints.add(e)
	if again {
		v.bad(Damage{v.c.inFolder(v.c.EventLog()), fmt.Sprintf("line %d", e.Number), saidOfRepeat, remedyRepair}, "log")
		return
	}
	switch e.Event.(type) {
	case event.Fetched:
		v.Log.Pages++
	case event.Ended:
		v.ended = true
	}
	count(v.tallies, e.Event)
}

// compare compares archive, log and frontier address by address.
func (v *verification) compare() error {
	damaged := len(v.Damage) > 0 // what follows may be its consequence
	odd := map[uint64]string{}   // what is wrong with an address
	for h, t := range v.tallies {
		switch {
		case t.missing() > 0:
			odd[h] = "the event log tells of it, and it is not in the archive"
		case t.unlogged(true) > 0 || t.unlogged(false) > 0:
			odd[h] = "it is in the archive, and the event log does not tell of it"
			if t.final && t.keptPages > 1 {
				odd[h] = "it is in the archive more than once"
			}
		}
	}
	for _, u := range v.losses.urls {
		delete(odd, hashOf(u))
	}
	notDone := func(u web.URL) {
		if len(v.remains.Damage()) == 0 && v.remains.Begun() && v.remains.Standing(u) != frontier.Done {
			v.bad(Damage{v.c.inFolder(v.c.FrontierDir()), u.String(), "the event log says that it is done, and the frontier does not know that", remedyRepair}, "not done")
		}
	}
	for e, err := range v.acknowledged() {
		if err != nil {
			return err
		}
		u := visited(e)
		if u.IsZero() {
			continue
		}
		h := hashOf(u.String())
		if what, ok := odd[h]; ok {
			delete(odd, h)
			v.bad(Damage{v.c.inFolder(v.c.ArchiveDir()), u.String(), what, remedyRepair}, "archive and log")
		}
		if v.tallies[h].final {
			notDone(u)
		}
	}
	if pages, _, _, err := crawl.Spent(v.remains.State); err == nil && !damaged && !v.Running {
		if n := unnamed(pages, v.tallies, v.losses); n > 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("%s fetched %s", counted(n, "page was", "pages were"), saidOfUnnamed))
		}
	}
	if len(odd) > 0 && !damaged {
		v.bad(Damage{v.c.inFolder(v.c.ArchiveDir()), "", fmt.Sprintf("the event log does not tell of %d addresses that it holds", len(odd)), remedyRepair}, "unlogged")
	}
	return nil
}

// verifyHarvest compares harvest.tsv and harvest.yaml with the log.
func (v *verification) verifyHarvest() error {
	match, err := v.c.matchHarvest(v.checkpoints, v.harvestFiles)
	v.Harvest = match.pages
	if err != nil {
		return err
	}
	damaged := len(v.Damage) > 0 // what follows may be its consequence
	for _, x := range []struct {
		path string
		is   agreement
	}{{v.c.HarvestFile(), match.table}, {v.c.ProvenanceFile(), match.provenance}} {
		name := v.c.inFolder(x.path)
		switch {
		case x.is == strange && !damaged:
			v.bad(Damage{name, "", "it is not what the event log tells", remedyAgain}, "harvest")
		case v.Running:
		case x.is == missing && v.ended:
			v.Notes = append(v.Notes, name+" is not there: "+remedyAgain)
		case x.is == earlier:
			v.Notes = append(v.Notes, name+" is of an earlier time than the event log: "+remedyAgain)
		}
	}
	return nil
}

// acknowledged are the whole lines of the log up to the mark.
func (v *verification) acknowledged() iter.Seq2[event.Event, error] {
	return v.c.linesUpTo(func(e event.Entry) bool { return v.logEnd < 0 || e.Offset < v.logEnd })
}

// verifySetup reads what the crawl was set up with.
func (v *verification) verifySetup() error {
	if !v.c.Begun() {
		v.bad(Damage{v.c.inFolder(v.c.JobFile()), "", "it is missing", remedyPutBack}, "setup")
	}
	damages, sums, err := v.c.setupDamage()
	if err != nil {
		return err
	}
	for _, d := range damages {
		v.bad(d, "setup")
	}
	if !sums && v.c.Begun() {
		v.Notes = append(v.Notes, fmt.Sprintf("there is no %s: whether examples, model, critic and known.jsonl are as they were is not known", filepath.Base(v.c.SumFile())))
	}
	return nil
}

// Add adds a damage that the caller found.
func (v *Verification) Add(d Damage) {
	v.Damage, v.Whole = append(v.Damage, d), false
}

// Lines are what was found in sentences.
func (v *Verification) Lines() (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if v.Interrupted && v.Running {
		say("files of the folder are being replaced: verify again")
	} else if v.Interrupted {
		say("waggle repair or waggle judge was interrupted while it replaced files, and nothing is lost")
		say("the next waggle repair, waggle judge or waggle crawl --resume carries it to its end: verify again then")
	}
	if v.Interrupted {
		return lines
	}
	say("archive: %s in %s of %s, %s; %s right", counted(v.Archive.Pages, "page", "pages"), counted(v.Archive.Records, "record", "records"),
		counted(v.Archive.Files, "file", "files"), megabytes(v.Archive.Bytes), counted(v.Archive.Digests, "digest is", "digests are"))
	say("event log: %s in %s, %s; %d of them have a checksum", counted(v.Log.Pages, "page", "pages"), counted(v.Log.Lines, "line", "lines"), megabytes(v.Log.Bytes), v.Log.Summed)
	say("frontier: %s, %s, %s; %s, %s", counted(v.Frontier.Waiting, "link waits", "links wait"), counted(v.Frontier.Done, "address is done", "addresses are done"),
		counted(v.Frontier.Hosts, "host", "hosts"), counted(v.Frontier.Tables, "table", "tables"), megabytes(v.Frontier.Bytes))
	say("harvest: %s", counted(v.Harvest, "page", "pages"))
	if v.Lost > 0 {
		say("lost: %s, in lost.txt", counted(v.Lost, "address", "addresses"))
	}
	for _, n := range v.Notes {
		say("note: %s", n)
	}
	if v.Running {
		say("the crawl goes on: what it had acknowledged when this began was looked at")
	}
	remedies := map[string]bool{}
	for _, d := range v.Damage {
		say("DAMAGED %s", d)
		if !remedies[d.Remedy] {
			remedies[d.Remedy] = true
			say("        %s", d.Remedy)
		}
	}
	if v.Whole {
		say("everything is whole, and archive, log and frontier agree")
	}
	return lines
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + " MB"
}
