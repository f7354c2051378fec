package collection

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// entry is an event of the new log.
type entry struct {
	event.Entry
	known bool // the old frontier reflects it
	made  bool // of the archive
}

// entries are the events of the new log: the whole lines of the old one, and
// between them by time those that were made of the archive.
func (r *repair) entries() iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		next, stop := iter.Pull2(event.Entries(r.madeLog()))
		defer stop()
		made, err, more := next()
		if errors.Is(err, os.ErrNotExist) {
			more, err = false, nil
		}
		// give yields the made events up to a line of the log, all without one.
		number := 0
		give := func(until *event.Entry) bool {
			for ; more; made, err, more = next() {
				if err = errors.Join(err, made.Err); err != nil {
					yield(entry{}, err)
					return false
				}
				if f, ok := made.Event.(event.Failed); ok && r.finals[number] {
					f.Retry = false
					made.Event = f
				}
				if until != nil && made.Event.Time().After(until.Event.Time()) {
					return true
				}
				known := r.rebuilt.States && r.remains.Standing(visited(made.Event)) == frontier.Done
				if !yield(entry{made, known, true}, nil) {
					return false
				}
				number++
			}
			return true
		}
		for e, err := range r.w.wholeLines() {
			if err != nil {
				yield(entry{}, err)
				return
			}
			if r.leftOut[e.Number] {
				continue
			}
			if !give(&e) || !yield(entry{e, r.known(e), false}, nil) {
				return
			}
		}
		give(nil)
	}
}

// wholeLines are the lines of the log that can be read; none if it is missing.
func (c Collection) wholeLines() iter.Seq2[event.Entry, error] {
	return func(yield func(event.Entry, error) bool) {
		for e, err := range event.Entries(c.EventLog()) {
			if errors.Is(err, os.ErrNotExist) {
				return
			}
			if err == nil && e.Err != nil {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// linesUpTo are the events of the lines that can be read, up to the first that is
// not within.
func (c Collection) linesUpTo(within func(event.Entry) bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for e, err := range c.wholeLines() {
			if err == nil && !within(e) || !yield(e.Event, err) {
				return
			}
		}
	}
}

// writeLog writes the new log, where it is not the old one, and brings the new
// frontier up to what it tells.
func (r *repair) writeLog() (err error) {
	if r.retrace, err = crawl.NewRetrace(r.oldState); err != nil {
		return err
	}
	r.rewrite = r.made > 0 || r.damaged > 0 || len(r.leftOut) > 0 || r.torn || r.started == nil
	var log *event.Log
	if r.rewrite {
		if log, err = event.Open(r.newLog(), nil); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, log.Close()) }()
	}
	first := true
	for e, err := range r.entries() {
		if err := errors.Join(err, r.ctx.Err()); err != nil {
			return err
		}
		if first {
			if err := r.begin(log, e); err != nil {
				return err
			}
			first = false
		}
		switch {
		case log == nil:
		case e.made:
			r.report.Made++
			r.newMark, err = log.Append(e.Event)
		default:
			r.newMark, err = log.AppendEntry(e.Entry)
		}
		if err != nil {
			return err
		}
		if err := r.apply(e); err != nil {
			return err
		}
	}
	if !r.rewrite {
		r.newMark = strconv.AppendInt(nil, r.logSize, 10)
	} else if err := log.Sync(); err != nil {
		return err
	}
	if r.newMark == nil {
		r.newMark = []byte(event.Empty)
	}
	return r.nameLost()
}

// begin makes a new log begin as logs do, where that line was lost.
func (r *repair) begin(log *event.Log, e entry) error {
	if _, ok := e.Event.(event.Started); ok {
		return nil
	}
	s := event.Started{Name: filepath.Base(r.w.dir)}
	if r.started != nil {
		s = *r.started
	}
	s.At, s.Resumed = event.At{At: e.Event.Time()}, false
	r.retrace.Add(s, false)
	if log == nil {
		return nil
	}
	_, err := log.Append(s)
	return err
}

// oldState is what the old frontier stored.
func (r *repair) oldState(name string) ([]byte, error) {
	if !r.rebuilt.States {
		return nil, nil
	}
	return r.remains.State(name)
}

// apply brings the new frontier up to an event.
func (r *repair) apply(e entry) error {
	r.retrace.Add(e.Event, e.known)
	r.host(e.Event)
	switch ev := e.Event.(type) {
	case event.Seeded:
		for _, f := range ev.Queued {
			r.offer(e, web.Candidate{URL: f.URL, Kind: cmp.Or(f.Link, web.LinkSeed), Priority: f.Priority})
		}
		r.refused(ev.Skipped)
		r.waitMuted(e, web.Candidate{Kind: web.LinkSeed, Priority: crawl.SeedPriority}, ev.Skipped)
	case event.Fetched:
		if e.made && r.endUnknown() {
			r.depths[ev.URL] = ev.Depth
		}
		r.lack(ev.URL)
		r.done(ev.URL)
		r.name(ev.From)
		for _, f := range ev.Queued {
			r.offer(e, web.Candidate{URL: f.URL, From: ev.URL, Kind: cmp.Or(f.Link, web.LinkA), Depth: ev.Depth + 1, Priority: f.Priority})
		}
		r.refused(ev.Skipped)
		r.waitMuted(e, web.Candidate{From: ev.URL, Kind: web.LinkA, Depth: ev.Depth + 1}, ev.Skipped)
	case event.Received:
		for _, f := range ev.Queued {
			r.offer(e, web.Candidate{URL: f.URL, From: ev.From, Kind: cmp.Or(f.Link, web.LinkA), Depth: ev.Depth, Priority: f.Priority})
		}
		r.refused(ev.Skipped)
		r.waitMuted(e, web.Candidate{From: ev.From, Kind: web.LinkA, Depth: ev.Depth}, ev.Skipped)
	case event.Failed:
		r.failed(e, ev)
	case event.Dropped:
		return r.dropped(e, ev)
	case event.Changed:
		return r.changed(e)
	}
	if len(r.turn.Add)+len(r.turn.Done) < 1000 {
		return nil
	}
	return r.commit()
}

// failed takes in a failure.
func (r *repair) failed(e entry, f event.Failed) {
	r.lack(f.URL)
	r.name(f.From)
	again := web.Candidate{URL: f.URL, From: f.From, Kind: f.Link, Depth: f.Depth, Priority: f.Priority}
	if f.Retry {
		r.offer(e, again)
	} else if r.tallies[hashOf(f.URL.String())].final { // no seed that entered once more
		r.done(f.URL)
	}
	switch {
	case f.To.IsZero():
	case f.Queued:
		again.URL, again.From, again.Kind, again.Redirects = f.To, f.URL, web.LinkRedirect, 1
		r.offer(e, again)
	default:
		skipped := []event.Skipped{{URL: f.To, Reason: f.Reason}}
		r.refused(skipped)
		r.waitMuted(e, web.Candidate{From: f.URL, Kind: web.LinkRedirect, Depth: f.Depth, Redirects: 1, Priority: f.Priority}, skipped)
	}
}

// later tells whether the old frontier, which is whole up to a mark, is of an
// earlier time than an event.
func (r *repair) later(e entry) bool { return r.logMark >= 0 && !e.known }

// dropped lets links leave that wait in the new frontier, as they did in the old one
// before the event.
func (r *repair) dropped(e entry, d event.Dropped) error {
	if e.known || r.logMark < 0 && r.rebuilt.SeenWhole || d.Reason == web.ReasonMuted {
		return nil // the seen-set knows better; and what is muted waits, see waitMuted
	}
	if err := r.commit(); err != nil {
		return err
	}
	for _, u := range d.URLs {
		if r.gone[hashOf(u.String())] == e.Number && r.front.Standing(u) == frontier.Waiting {
			r.turn.Leave = append(r.turn.Leave, u)
		}
	}
	if d.Host != "" {
		r.turn.Drop = []web.Host{d.Host}
	}
	return r.commit()
}

// refused remembers links that the frontier holds for done as they were out of
// scope, or of a host that had given enough, if a change that the old frontier has
// not seen is to come.
func (r *repair) refused(list []event.Skipped) {
	if r.newly == 0 {
		return
	}
	for _, s := range list {
		if s.Reason == web.ReasonScope || s.Reason == web.ReasonHostPages {
			r.left[s.URL] = true
		}
	}
}

// waitMuted has links wait that were found in a muted place, unless the states of the old frontier
// have them: the next run takes them out where the place is muted still.
func (r *repair) waitMuted(e entry, like web.Candidate, list []event.Skipped) {
	if e.known && r.rebuilt.States {
		return
	}
	kind := like.Kind
	for _, s := range list {
		if s.Reason == web.ReasonMuted {
			like.URL, like.Kind = s.URL, cmp.Or(s.Link, kind)
			r.offer(e, like)
		}
	}
}

// changed makes such links unknown, as the crawl did when its settings changed: they
// enter where they are found again.
func (r *repair) changed(e entry) error {
	if !r.later(e) {
		return nil
	}
	if err := r.commit(); err != nil {
		return err
	}
	r.newly--
	for u := range r.left {
		if r.front.Standing(u) == frontier.Done && !r.tallies[hashOf(u.String())].final {
			r.turn.Forget = append(r.turn.Forget, u)
		}
	}
	clear(r.left)
	return r.commit()
}

func (r *repair) commit() error {
	t := &r.turn
	if len(t.Forget)+len(t.Add)+len(t.Done)+len(t.Leave)+len(t.Drop) == 0 {
		return nil
	}
	_, err := r.front.Commit(r.ctx, r.turn)
	r.turn = web.Turn{}
	return err
}

// done makes sure that an address is not fetched again.
func (r *repair) done(u web.URL) {
	if r.front.Standing(u) != frontier.Done {
		r.turn.Done = append(r.turn.Done, u)
		r.report.Done++
	}
}

// offer lets a link wait that the log says was queued, if it should and does not.
func (r *repair) offer(e entry, c web.Candidate) {
	h := hashOf(c.URL.String())
	r.name(c.URL)
	if r.tallies[h].final {
		return
	}
	switch r.remains.Standing(c.URL) {
	case frontier.Done:
		seed := c.Kind == web.LinkSeed && c.From.IsZero()
		switch {
		case !r.later(e):
			return
		case r.front.Standing(c.URL) == frontier.Unknown || r.front.Standing(c.URL) == frontier.Dropped:
			// It was made unknown, see changed.
		case seed:
			r.turn.Forget = append(r.turn.Forget, c.URL)
		default:
			return
		}
	case frontier.Waiting:
		c.Priority = r.remains.Priority(c.URL)
		if r.front.Standing(c.URL) != frontier.Waiting {
			r.repaid[h] = struct{}{}
		}
	case frontier.Dropped:
		if muted := r.muted[h] && !r.rebuilt.States; !muted && (e.known || !r.rebuilt.States || r.leaves(e, c.URL)) {
			return
		}
	case frontier.Unknown:
		if r.leaves(e, c.URL) {
			return
		}
	}
	if r.front.Standing(c.URL) != frontier.Waiting {
		r.turn.Add = append(r.turn.Add, c)
	}
}

// leaves tells whether the log says later than an event that a link left.
func (r *repair) leaves(e entry, u web.URL) bool {
	return r.gone[hashOf(u.String())] > e.Number || r.goneHost[u.Host()] > e.Number
}

// readLinks looks in archived pages for addresses that log and frontier have lost.
func (r *repair) readLinks() error {
	if r.parser == nil || !r.logLost && !r.lossesMissing && len(r.depths) == 0 && r.rebuilt.Owed <= len(r.repaid) {
		return nil
	}
	n := int64(0)
	for p, err := range Readable(r.w.Pages(r.ctx, r.parser, nil)) {
		if err != nil {
			return err
		}
		depth, unlogged := r.depths[p.URL]
		if unlogged {
			r.report.Linked++
		}
		for _, l := range p.Links {
			r.name(l.URL)
			if unlogged && !l.NoFollow && !p.Directives.NoFollow {
				r.offer(entry{}, web.Candidate{URL: l.URL, From: p.URL, Kind: l.Kind, Depth: depth + 1})
			}
			if r.remains.Standing(l.URL) == frontier.Waiting {
				r.offer(entry{}, web.Candidate{URL: l.URL, From: p.URL, Kind: l.Kind, Depth: 1})
			}
		}
		if len(r.turn.Add) >= 1000 {
			if err := r.commit(); err != nil {
				return err
			}
		}
		n++
		r.progress("links of archived pages", n, int64(len(r.tallies)))
	}
	return r.commit()
}

// eachWaiting calls do with every link that waits in the new frontier.
func (r *repair) eachWaiting(do func(c *web.Candidate)) (err error) {
	for at := []byte(nil); ; {
		at, err = r.front.Rescore(r.ctx, at, 10_000, func(c *web.Candidate) float64 {
			do(c)
			return c.Priority
		})
		if at == nil || err != nil {
			return err
		}
	}
}

// writeFrontier stores in the new frontier what the crawl needs to go on, and
// closes it. New archive files are written as well, as their ends are stored.
func (r *repair) writeFrontier() (err error) {
	if r.changes, err = r.replaceArchive(); err != nil {
		return err
	}
	if r.damaged > 0 {
		r.losses.note(fmt.Sprintf("%d lines of the event log could not be read", r.damaged))
	}
	turn := web.Turn{State: map[string][]byte{}}
	if r.retrace.Began() {
		turn.State = r.retrace.States()
		if r.report.Unnamed = unnamed(r.retrace.Pages(), r.tallies, r.losses); r.report.Unnamed > 0 {
			r.losses.note(fmt.Sprintf("%s fetched %s", counted(r.report.Unnamed, "page was", "pages were"), saidOfUnnamed))
		}
	} else if kept, err := r.w.keepsRecords(); err != nil {
		return err
	} else if !kept && !r.w.tellsOfTurns() {
		return r.front.Close() // the crawl begins anew, with nothing to go on behind
	}
	if list := r.losses.text(); list != nil {
		turn.State[stateLosses] = list
	}
	turn.State[crawl.StateEvents] = r.newMark
	if n := len(r.files); n > 0 {
		turn.State[crawl.StateArchive] = store.MarkAt(r.files[n-1].number, r.files[n-1].size)
	} else {
		turn.State[crawl.StateArchive] = store.StartMark()
	}
	for _, name := range slices.Sorted(maps.Keys(r.hosts)) {
		if h := r.front.Host(name); r.hosts[name].tell(&h) {
			turn.Hosts = append(turn.Hosts, h)
		}
	}
	if _, err := r.front.Commit(r.ctx, turn); err != nil {
		return err
	}
	r.report.Waiting = r.front.Stats(time.Time{}).Queued
	r.report.Owed = max(0, r.rebuilt.Owed-len(r.repaid))
	return r.front.Close()
}

// swap puts the new files in the places of the old ones.
func (r *repair) swap() error {
	changes, err := r.planSwap()
	if err != nil {
		return err
	}
	if err := r.w.carryOut(changes); err != nil {
		return err
	}
	return os.RemoveAll(r.madeLog())
}

// planSwap are the changes that do so.
func (r *repair) planSwap() (journal, error) {
	if list := r.losses.text(); list != nil {
		if err := folder.Write(r.newLost(), list); err != nil {
			return nil, err
		}
	}
	before := r.w.inFolder(vacantName(filepath.Join(r.w.dir, "before-repair")))
	changes := r.changes
	aside := func(path string) {
		if folder.Exists(path) {
			changes = append(changes, change{Kind: "aside", From: r.w.inFolder(path), To: before + "/" + filepath.Base(path)})
			r.report.Before = before
		}
	}
	move := func(path string) {
		changes = append(changes, change{Kind: "move", From: r.w.inFolder(path) + ".new", To: r.w.inFolder(path)})
	}
	aside(r.w.FrontierDir())
	move(r.w.FrontierDir())
	if r.rewrite {
		aside(r.w.EventLog())
		move(r.w.EventLog())
		aside(r.w.HarvestFile()) // it is of the old log; a new one is written last
	}
	if !folder.Exists(r.newLost()) {
		return changes, nil
	}
	if r.lossesDamaged {
		aside(r.w.LostFile())
	}
	move(r.w.LostFile())
	sums, err := r.w.sumsWithLosses(r.newLost())
	if err != nil || sums == nil {
		return changes, err
	}
	move(r.w.SumFile())
	return changes, folder.WriteFrom(r.newSums(), func(out io.Writer) error {
		_, err := out.Write(sums)
		return err
	})
}
