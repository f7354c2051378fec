// Package watch follows crawls: their figures as their logs grow, their pages, and the
// search of them. What it tells is for people and programs; texts of pages in it are
// untrusted, one line each, without control and bidirectional characters.
package watch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/web"
)

// Crawl is a collection that is watched: the figures of its log so far.
//
//	opened ── read ──► as far as the log goes ◄── read, whenever it has grown
//	  ▲                        │ the log is another one, or was cut back
//	  └────────────────────────┘
//
// A log that is gone or cannot be read leaves the figures as they were, with the error.
// It may be used by several goroutines.
type Crawl struct {
	id   string
	col  collection.Collection
	docs parse.Documents
	arch *collection.Finder

	mu       sync.RWMutex
	figures  *figures.Crawl
	offset   int64  // up to which the log was read
	before   []byte // what stands there before the offset: by it another log is told
	size     int64  // of the log, when it was looked at last
	whole    bool   // it was read to its end once
	damaged  int    // lines that are no events
	cut      string // how much of the end is missing, in words; "" = nothing
	looked   looked // at the last look
	held     looked // when it was held against the mark of the frontier
	err      error  // why it cannot be read at present
	workers  collection.Workers
	heard    fileState // of the file of the workers, when it was read last
	told     fileState // of the job file, when it was read last
	job      string    // what is wrong with that, in words; "" = nothing
	broke    error     // why the crawl ended, where that is known here
	exported *Export   // the last one, where it is not whole
	joins    string    // why it cannot go on on the page; "" = it can, as far as that is known
	closed   string    // why nothing can be told to it, as far as its folder says; "" = nothing
	search   searcher
	places   places
	fields   *FieldFile             // that a person gave; nil = those of the folder
	writable func(dir string) error // nil = folder.Writable
	activity *web.Activity          // what the crawl does; nil where that is not known
	revision int                    // grows with every change
	changed  chan struct{}
}

// New watches a collection, which may be without a log yet. Its id is what it is called
// by those who ask. It is read by Run, or by Read. Documents reads what is no HTML; nil =
// it is not read.
func New(id string, col collection.Collection, documents parse.Documents) *Crawl {
	return &Crawl{id: id, col: col, docs: documents, arch: col.Finder(), figures: figures.New(), changed: make(chan struct{})}
}

// looked is a log as it was at a look.
type looked struct {
	size    int64
	running bool
	at      time.Time // of the last change
}

// tail is how many bytes before the offset are remembered: the checksum of the last
// line is among them.
const tail = 64

// batch is how many events are taken in at a time, so that who asks for figures
// meanwhile need not wait for long.
const batch = 200

// ID is what it is called by those who ask.
func (c *Crawl) ID() string { return c.id }

// Collection is what is watched.
func (c *Crawl) Collection() collection.Collection { return c.col }

// Run follows the log, opens the index once there is one, and makes it where that is
// wanted, until ctx ends. All is looked at so often.
func (c *Crawl) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	defer c.closeIndex()
	var indexing sync.WaitGroup
	defer indexing.Wait()
	for {
		c.lookWhetherClosed()
		c.lookForIndex() // before the log: whoever waits for the log can search then
		c.read(ctx)
		c.lookForActivity()
		if c.wantsIndex() {
			indexing.Go(func() { c.makeIndex(ctx) })
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Until waits until something is true of the state, and returns the state; the error is
// that of ctx.
func (c *Crawl) Until(ctx context.Context, is func(*State) bool) (State, error) {
	for {
		st, changed := c.State(time.Now())
		if is(&st) {
			return st, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return st, ctx.Err()
		}
	}
}

// Read tells whether the log was read to its end once, or cannot be read.
func (s *State) Read() bool { return s.Revision > 0 && s.Reading == 1 }

// read takes in what the log has grown by. It returns early when ctx ends.
func (c *Crawl) read(ctx context.Context) {
	err := c.check()
	if err == nil {
		err = c.readOn(ctx)
	}
	other := c.lookForPlaces()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readWorkers()
	c.readJob()
	if (err == nil) != (c.err == nil) || err != nil && err.Error() != c.err.Error() || !c.whole && ctx.Err() == nil || other {
		c.tell()
	}
	c.err = err
	c.whole = c.whole || err == nil && ctx.Err() == nil
}

// tell wakes those who wait for a change. c.mu is held.
func (c *Crawl) tell() {
	c.revision++
	close(c.changed)
	c.changed = make(chan struct{})
}

// Broke says why the crawl ended, as far as something was wrong; nil = nothing.
func (c *Crawl) Broke(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broke = err
	c.tell()
}

// Export is one that is not whole. A browser tells of it neither a status nor a trailer.
type Export struct {
	Form    string    `json:"form"`
	At      time.Time `json:"at"`
	Why     string    `json:"why"`     // what cannot be read, or was wrong otherwise
	Partial bool      `json:"partial"` // what can be read was asked for, and given
	Refused bool      `json:"refused"` // it was not begun, for what Why says
}

// Exported keeps how the last export went; nil = it is whole.
func (c *Crawl) Exported(e *Export) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e != nil || c.exported != nil {
		c.exported = e
		c.tell()
	}
}

// check begins anew where the log is not the one that was read.
func (c *Crawl) check() error {
	f, err := os.Open(c.col.EventLog())
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	now := make([]byte, len(c.before))
	if len(now) > 0 {
		if _, err := f.ReadAt(now, c.offset-int64(len(now))); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	as := looked{info.Size(), c.col.Running(), info.ModTime()}
	cut := c.cut
	switch {
	case as == c.held:
	case c.held == looked{} || as == c.looked:
		cut = ""
		if err := c.col.CutShort(); err != nil {
			cut = event.Line(err.Error())
		}
		c.held = as
	default: // a log that grows is of a crawl that runs, also where its lock cannot be asked
		cut = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looked = as; cut != c.cut {
		c.cut = cut
		c.tell()
	}
	c.size = info.Size()
	if info.Size() < c.offset || !bytes.Equal(now, c.before) {
		c.figures, c.offset, c.before, c.damaged = figures.New(), 0, nil, 0
		c.tell()
	}
	return nil
}

// readOn reads from the offset to the last whole line.
func (c *Crawl) readOn(ctx context.Context) error {
	c.mu.RLock()
	from, grown := c.offset, c.size > c.offset
	c.mu.RUnlock()
	if !grown {
		return nil
	}
	type entry struct {
		event  event.Event
		offset int64
	}
	var list []entry
	var before []byte
	at, bad := from, 0
	add := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, e := range list {
			c.figures.Add(e.event, e.offset)
		}
		c.offset, c.before = at, bytes.Clone(before)
		c.damaged += bad
		if len(list)+bad > 0 {
			c.tell()
		}
		list, bad = list[:0], 0
	}
	for e, err := range event.EntriesAhead(c.col.EventLog(), from) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			add()
			return err
		}
		if errors.Is(e.Err, event.ErrTorn) {
			break
		}
		at = e.Offset + int64(len(e.Line))
		if e.Err != nil {
			bad++
		} else {
			list = append(list, entry{e.Event, e.Offset})
		}
		before = append(before[:0], e.Line[max(0, len(e.Line)-tail):]...)
		if len(list) >= batch {
			add()
		}
	}
	if at > from {
		add()
	}
	return nil
}

// EventAt is the event that begins at an offset of the log.
func (c *Crawl) EventAt(offset int64) (event.Event, error) {
	for e, err := range event.EntriesFrom(c.col.EventLog(), offset) {
		if err == nil {
			err = e.Err
		}
		return e.Event, err
	}
	return nil, io.ErrUnexpectedEOF
}

// State is what is told of a crawl whenever it changes.
type State struct {
	ID       string          `json:"id"`
	Dir      string          `json:"dir"`
	Revision int             `json:"revision"`
	Running  bool            `json:"running"`       // a process has the folder
	Paused   bool            `json:"paused"`        // that stands still, as a person told it
	Reading  float64         `json:"reading"`       // share of the log that was read, until all of it was or it cannot be read; then 1
	Damaged  int             `json:"damaged"`       // lines of the log that are no events
	Cut      string          `json:"cut,omitempty"` // the end of the log is missing: how much, in words
	Error    string          `json:"error,omitempty"`
	Job      string          `json:"job,omitempty"`    // what is wrong with the job file, and what helps
	Closed   string          `json:"closed,omitempty"` // why it can be told nothing and cannot go on; "" where that is not known
	Joins    string          `json:"joins,omitempty"`  // why it goes on by a command alone: it is of one of several workers, or a round; "" = it is neither
	Now      time.Time       `json:"now"`
	Index    IndexState      `json:"index"`
	Activity *Activity       `json:"activity,omitempty"` // of a crawl that runs
	Figures  figures.Figures `json:"figures"`
	Workers  int             `json:"workers"`          // of a crawl that several do; else 0
	Export   *Export         `json:"export,omitempty"` // the last one, where it is not whole
}

// State is the present one, and a channel that is closed when there is another.
func (c *Crawl) State(now time.Time) (State, <-chan struct{}) {
	running := c.col.Running()
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := State{
		ID: c.id, Dir: event.Line(c.col.Dir()), Revision: c.revision, Running: running, Reading: 1, Damaged: c.damaged, Cut: c.cut,
		Now: now.UTC(), Index: c.search.state, Figures: c.figures.Figures(),
		Job: c.job, Closed: c.closed, Joins: c.joins, Workers: len(c.workers.Workers), Export: c.exported,
	}
	if running {
		s.Activity = activityOf(c.activity, now)
		s.Paused = c.figures.Paused() || c.activity != nil && c.activity.Idle == web.IdlePaused
	}
	switch {
	case !c.whole && c.size > 0 && c.err == nil:
		s.Reading = float64(c.offset) / float64(c.size)
	case !c.whole && c.err == nil: // the index was opened before
		s.Reading = 0
	}
	switch {
	case errors.Is(c.err, fs.ErrNotExist) && c.offset == 0: // it has not begun
		s.Reading = 1
	case errors.Is(c.err, fs.ErrNotExist):
		s.Error = goneWords(event.Line(c.col.Dir())) + " What is shown was read before."
	case c.err != nil:
		s.Error = event.Line(c.err.Error())
	case c.broke != nil && !running:
		s.Error = event.Line("The crawl could not go on: " + c.broke.Error())
	}
	return s, c.changed
}

// With calls f with the figures, which do not change meanwhile.
func (c *Crawl) With(f func(*figures.Crawl)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f(c.figures)
}
