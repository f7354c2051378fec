package collection

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// MergeOptions say how folders are merged.
type MergeOptions struct {
	Archive store.Options // of the new archive; Mark and Room are set by Merge
	// AcceptLoss goes on without the folders of workers that are missing.
	AcceptLoss bool
	Progress   Progress // nil tells nobody
}

// MergeReport is what Merge did.
type MergeReport struct {
	Workers  []string // names, as they were merged
	Pages    int
	Relevant int
	Twice    int // pages that two workers had; one of each is kept
	Waiting  int // links
	Missing  []string
}

// Merging ends the name of the folder in which Merge makes a crawl until it is complete.
const Merging = ".merging"

// RefusedError says why folders cannot be merged, and what can be. Nothing was done.
type RefusedError struct{ why string }

func (e *RefusedError) Error() string { return e.why }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Merge makes one crawl of the folders of all workers of a crawl, in the folder out,
// which must not be there (else a RefusedError, as with other folders that are none of one crawl): as if one worker had fetched all pages, in the order of the
// workers' clocks. The folders stay as they are, and must not be in use.
//
//	archives    the exchanges of all, by time, byte by byte as they are
//	event logs  the events of all, by time; one start and one end of the crawl for each
//	            time that any of them ran; of what all of them did, such as acts, one
//	frontiers   see frontier.Merge; muted links wait again
//	set-up      and what scorer and judge learnt: of the worker with most pages
//
// A page that two workers have, as one was lost with it and another fetched it again, is
// kept once. What a worker had in flight when it died, and nobody fetched again, counts
// as far as its log has it.
//
// The new folder is made beside out, under another name, which it loses when it is
// complete. A process that dies on the way leaves that, and the next one begins anew; a
// folder of that name which no merge has left is refused.
func Merge(ctx context.Context, out string, from []Collection, o MergeOptions) (_ *MergeReport, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	if folder.Exists(out) {
		return nil, refused("%s is there already: choose a new folder", out)
	}
	m := &merge{ctx: ctx, o: o, tmp: filepath.Clean(out) + Merging, seen: map[uint64]int{}, acts: map[int]event.Act{}, settings: map[string]string{}, bodies: map[uint64]struct{}{}}
	defer func() {
		for _, s := range m.sources {
			err = errors.Join(err, s.close())
		}
	}()
	for _, step := range []func() error{func() error { return m.open(from) }, m.check, m.survey} {
		if err := errors.Join(ctx.Err(), step()); err != nil {
			return nil, err
		}
	}
	if err := m.begin(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{m.mergeArchives, m.mergeLogs, m.mergeFrontiers, m.mergeSetup} {
		if err := errors.Join(ctx.Err(), step()); err != nil {
			return nil, errors.Join(err, m.w.Close(), os.RemoveAll(m.tmp))
		}
	}
	if err := m.w.Close(); err != nil {
		return nil, err
	}
	if err := os.Rename(m.tmp, out); err != nil {
		return nil, err
	}
	return &m.report, errors.Join(
		store.OS{}.SyncDir(filepath.Dir(filepath.Clean(out))),
		os.Remove(filepath.Join(out, mergeMark)), // of use in the other name alone
	)
}

// merge is the work of Merge. Its life is the order of the steps there.
type merge struct {
	ctx     context.Context
	o       MergeOptions
	tmp     string
	w       *Writer // of tmp
	sources []*source
	report  MergeReport

	// From survey.
	seen map[uint64]int    // the source of each page, by the hash of its address
	acts map[int]event.Act // by number; one that was not refused, of a worker that has the page, where there is one

	// From mergeArchives.
	archiveMark []byte

	// Of mergeLogs.
	log      *event.Log
	logMark  []byte
	retrace  *crawl.Retrace
	running  int // sources whose run is open
	started  bool
	ended    bool // the last event of a run was its end
	taken    int  // acts
	settings map[string]string
	bodies   map[uint64]struct{} // of pages
}

// source is a worker's folder.
type source struct {
	w       *Writer
	remains *frontier.Remains
	member  crawl.Member

	archiveFile int // up to where archive and log are acknowledged
	archiveEnd  int64
	logEnd      int64

	began time.Time
	pages int
	tail  web.URL           // a page behind that, which counts all the same
	twice map[uint64]string // addresses of pages that are kept of another source

	visits map[uint64]bool // nil until tells is asked

	running bool
	stats   web.FrontierStats // the last that its log told
	how     event.Ending
}

func (s *source) close() error {
	var err error
	if s.remains != nil {
		err = s.remains.Close()
	}
	return errors.Join(err, s.w.Close())
}

// open takes the folders.
func (m *merge) open(from []Collection) error {
	for _, c := range from {
		if !c.Begun() {
			return refused("%s holds no crawl", c.dir)
		}
		for _, s := range m.sources {
			if same(c.dir, s.w.dir) {
				return refused("%s is given twice", c.dir)
			}
		}
		w, err := c.Lock()
		if err != nil {
			return err
		}
		s := &source{w: w, twice: map[uint64]string{}}
		m.sources = append(m.sources, s)
		if s.remains, err = frontier.Examine(w.FrontierDir()); err != nil {
			return err
		}
		if d := s.remains.Damage(); len(d) > 0 {
			return s.damaged(d[0])
		}
		b, err := s.remains.State(crawl.StateCluster)
		if err != nil {
			return err
		}
		if b == nil { // it was brought back from a store
			if b, err = os.ReadFile(w.MemberFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if b == nil {
			return refused("%s is of a crawl by one worker alone, and needs no merging: exports read several crawls, by --with", c.dir)
		}
		if err := json.Unmarshal(b, &s.member); err != nil {
			return fmt.Errorf("%s: which worker it is of cannot be read: %w", c.dir, err)
		}
		if err := s.readMarks(m.ctx); err != nil {
			return err
		}
	}
	return nil
}

// same tells whether two names are of one folder.
func same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errors.Join(errA, errB) == nil && os.SameFile(x, y)
}

// check refuses folders that are not those of all workers of one crawl.
func (m *merge) check() error {
	given, others := map[string]*source{}, map[string]string{}
	first := m.sources[0]
	for _, s := range m.sources {
		if s.member.Crawl != first.member.Crawl {
			return refused("%s and %s are of two crawls: merge the folders of one", first.w.dir, s.w.dir)
		}
		if twin := given[s.member.Worker]; twin != nil {
			return refused("%s and %s are of the same worker: one is a copy of the other; give the later one alone", twin.w.dir, s.w.dir)
		}
		given[s.member.Worker] = s
		maps.Copy(others, s.member.Others)
	}
	for _, id := range slices.Sorted(maps.Keys(others)) {
		if given[id] == nil {
			m.report.Missing = append(m.report.Missing, others[id])
		}
	}
	if slices.Sort(m.report.Missing); len(m.report.Missing) > 0 && !m.o.AcceptLoss {
		return refused("the folder of %s is missing: give the folders of all workers of the crawl; if it is lost for good, --accept-loss merges the others", strings.Join(m.report.Missing, " and that of "))
	}
	return nil
}

// survey reads the logs for which pages there are, and finds those that are there twice.
func (m *merge) survey() error {
	for _, s := range m.sources {
		s.began = time.Time{}
		for e, err := range s.entries() {
			if err != nil {
				return err
			}
			if s.began.IsZero() {
				s.began = e.Event.Time()
			}
		}
	}
	slices.SortStableFunc(m.sources, func(a, b *source) int {
		return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.member.Name, b.member.Name), cmp.Compare(a.member.Worker, b.member.Worker))
	})
	for i, s := range m.sources {
		m.report.Workers = append(m.report.Workers, s.member.Name)
		for e, err := range s.entries() {
			if err := errors.Join(err, m.ctx.Err()); err != nil {
				return err
			}
			switch ev := e.Event.(type) {
			case event.Fetched:
				s.pages++
				h := hashOf(ev.URL.String())
				if of, ok := m.seen[h]; !ok {
					m.seen[h] = i
				} else if of != i && s.twice[h] == "" {
					s.twice[h] = ev.URL.String()
					m.report.Twice++
				}
			case event.Act:
				if have, ok := m.acts[ev.Number]; !ok || have.Refused != "" && ev.Refused == "" || have.Absent && !ev.Absent {
					m.acts[ev.Number] = ev
				}
			}
		}
	}
	for i, s := range m.sources {
		if err := s.findTail(); err != nil {
			return err
		}
		if s.tail.IsZero() {
			continue
		}
		h := hashOf(s.tail.String())
		if _, ok := m.seen[h]; ok {
			s.tail = web.URL{} // another has it
		} else {
			m.seen[h] = i
		}
	}
	return nil
}

// entries are the acknowledged events of a log.
func (s *source) entries() iter.Seq2[event.Entry, error] {
	return func(yield func(event.Entry, error) bool) {
		if s.logEnd == 0 {
			return
		}
		if err := event.Check(s.w.EventLog(), strconv.AppendInt(nil, s.logEnd, 10)); err != nil {
			yield(event.Entry{}, s.damaged(err))
			return
		}
		for e, err := range event.Entries(s.w.EventLog()) {
			if err == nil && e.Offset >= s.logEnd {
				return
			}
			if err == nil && e.Err != nil {
				err = s.damaged(e.Err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// behind are the whole lines behind what is acknowledged.
func (s *source) behind() iter.Seq2[event.Entry, error] {
	return func(yield func(event.Entry, error) bool) {
		for e, err := range event.EntriesFrom(s.w.EventLog(), s.logEnd) {
			if errors.Is(err, fs.ErrNotExist) || err == nil && e.Err != nil {
				return // torn
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// findTail finds the page that was logged and not acknowledged, if there is one.
func (s *source) findTail() error {
	var turns turnCount
	for e, err := range s.behind() {
		if err != nil {
			return err
		}
		turns.add(e.Event)
		if p, ok := e.Event.(event.Fetched); ok {
			s.tail = p.URL
		}
	}
	if turns.n > 1 {
		return s.damaged(fmt.Errorf("%s lags behind its event log", s.w.FrontierDir()))
	}
	return nil
}

// mergeMark is a file that is in a folder as long as a merge makes it: what is there may be
// removed.
const mergeMark = "merge-begun"

// abandoned tells whether a folder is absent, or what a merge that died left: one with the mark, or
// one that was made and has no mark yet.
func abandoned(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	unmarked := true
	for _, e := range entries {
		if e.Name() == mergeMark {
			return true, nil
		}
		unmarked = unmarked && (e.Name() == "lock" || e.Name() == mergeMark+".new")
	}
	return unmarked && err == nil, err
}

// begin makes the new folder.
func (m *merge) begin() error {
	c := At(m.tmp)
	if folder.Held(m.tmp) {
		return fmt.Errorf("%s is being written by another waggle: wait for it to end, or stop it", m.tmp)
	}
	if ours, err := abandoned(m.tmp); err != nil {
		return fmt.Errorf("the folder in which the new one is made: %w", err)
	} else if !ours {
		return refused("%s would be the name of the new folder until it is complete, and holds files that no merge has begun: move it away, or choose another new folder", m.tmp)
	}
	if err := os.RemoveAll(m.tmp); err != nil {
		return err
	}
	w, err := c.Lock()
	if err != nil {
		return err
	}
	if err := folder.Write(filepath.Join(m.tmp, mergeMark), nil); err != nil {
		return errors.Join(err, w.Close())
	}
	m.w = w
	return nil
}

// best is the worker with most pages.
func (m *merge) best() *source {
	return slices.MaxFunc(m.sources, func(a, b *source) int { return cmp.Compare(a.pages, b.pages) })
}

// takeMuted has the muted links wait that workers keep: the next run takes those out that are
// muted still.
func (m *merge) takeMuted(f *frontier.Frontier) error {
	var turn web.Turn
	commit := func() error {
		_, err := f.Commit(m.ctx, turn)
		turn = web.Turn{}
		return err
	}
	for _, s := range m.sources {
		for c, err := range crawl.Muted(s.remains.State) {
			if err != nil {
				return s.damaged(err)
			}
			if f.Standing(c.URL) == frontier.Done {
				continue
			}
			if turn.Add = append(turn.Add, c); len(turn.Add) < 1000 {
				continue
			}
			if err := commit(); err != nil {
				return err
			}
		}
	}
	return commit()
}

// mergeFrontiers writes the new frontier, with what the crawl needs to go on.
func (m *merge) mergeFrontiers() error {
	var all []*frontier.Remains
	for _, s := range m.sources {
		all = append(all, s.remains)
	}
	learnt, err := m.best().remains.States(crawl.Learnt)
	if err != nil {
		return err
	}
	_, err = frontier.Merge(m.ctx, m.w.FrontierDir(), all, learnt, func(done, total int64) { m.o.Progress("frontiers", done, total) })
	if err != nil {
		return err
	}
	f, err := frontier.Open(m.w.FrontierDir(), frontier.Options{MaxPerHost: -1, MaxNames: -1})
	if err != nil {
		return err
	}
	turn := web.Turn{State: m.retrace.States()}
	for _, s := range m.sources {
		if s.tail.IsZero() {
			continue
		}
		turn.Done = append(turn.Done, s.tail)
		for e, err := range s.behind() {
			if err != nil {
				return errors.Join(err, f.Close())
			}
			if p, ok := e.Event.(event.Fetched); ok {
				for _, l := range p.Queued {
					if f.Standing(l.URL) == frontier.Unknown {
						turn.Add = append(turn.Add, web.Candidate{URL: l.URL, From: p.URL, Kind: cmp.Or(l.Link, web.LinkA), Depth: p.Depth + 1, Priority: l.Priority})
					}
				}
			}
		}
	}
	if err := m.takeMuted(f); err != nil {
		return errors.Join(err, f.Close())
	}
	lost := &losses{known: map[string]bool{}}
	for _, s := range m.sources {
		own, err := s.w.readLosses()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		lost.take(own.text())
	}
	for _, name := range m.report.Missing {
		lost.note(fmt.Sprintf("the folder of worker %s was not merged", name))
	}
	if list := lost.text(); list != nil {
		turn.State[stateLosses] = list
		if err := folder.Write(m.w.LostFile(), list); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	turn.State[crawl.StateEvents], turn.State[crawl.StateArchive] = m.logMark, m.archiveMark
	_, err = f.Commit(m.ctx, turn)
	m.report.Waiting = f.Stats(time.Time{}).Queued
	return errors.Join(err, f.Close())
}

// mergeSetup writes what the crawl was told, and the harvest.
func (m *merge) mergeSetup() error {
	best := m.best().w
	for _, path := range best.setupFiles() {
		if err := copyFile(path, filepath.Join(m.tmp, filepath.Base(path))); err != nil {
			return err
		}
	}
	var lines []byte
	for n := 1; n <= m.taken; n++ {
		var err error
		if lines, err = appendAct(lines, m.acts[n]); err != nil {
			return err
		}
	}
	if lines != nil {
		if err := folder.Write(m.w.ActFile(), lines); err != nil {
			return err
		}
	}
	job, err := best.Job()
	if err != nil {
		return err
	}
	if err := m.w.SaveJob(job); err != nil {
		return err
	}
	h, err := m.w.harvest(m.ctx)
	if err != nil {
		return err
	}
	m.report.Relevant = h.Len()
	return m.w.SaveHarvest()
}

// copyFile copies a file, if it is there.
func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	return folder.WriteFrom(to, func(out io.Writer) error {
		_, err := io.Copy(out, src)
		return err
	})
}
