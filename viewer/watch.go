package viewer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/viewer/figures"
)

// crawl is a collection that is watched: the figures of its log so far.
//
//	opened ── read ──► as far as the log goes ◄── read, whenever it has grown
//	  ▲                        │ the log is another one, or was cut back
//	  └────────────────────────┘
//
// A log that is gone or cannot be read leaves the figures as they were, with the error.
type crawl struct {
	id   string
	col  collection.Collection
	arch *collection.Finder

	mu       sync.RWMutex
	figures  *figures.Crawl
	offset   int64  // up to which the log was read
	before   []byte // what stands there before the offset: by it another log is told
	size     int64  // of the log, when it was looked at last
	whole    bool   // it was read to its end once
	damaged  int    // lines that are no events
	err      error  // why it cannot be read at present
	search   searcher
	revision int // grows with every change
	changed  chan struct{}
}

func newCrawl(id string, col collection.Collection) *crawl {
	return &crawl{id: id, col: col, arch: col.Finder(), figures: figures.New(), changed: make(chan struct{})}
}

// tail is how many bytes before the offset are remembered: the checksum of the last
// line is among them.
const tail = 64

// batch is how many events are taken in at a time, so that who asks for figures
// meanwhile need not wait for long.
const batch = 200

// read takes in what the log has grown by. It returns early when ctx ends.
func (c *crawl) read(ctx context.Context) {
	err := c.check()
	if err == nil {
		err = c.readOn(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if (err == nil) != (c.err == nil) || err != nil && err.Error() != c.err.Error() || !c.whole && ctx.Err() == nil {
		c.tell()
	}
	c.err = err
	c.whole = c.whole || err == nil && ctx.Err() == nil
}

// tell wakes those who wait for a change. c.mu is held.
func (c *crawl) tell() {
	c.revision++
	close(c.changed)
	c.changed = make(chan struct{})
}

// check begins anew where the log is not the one that was read.
func (c *crawl) check() error {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size = info.Size()
	if info.Size() < c.offset || !bytes.Equal(now, c.before) {
		c.figures, c.offset, c.before, c.damaged = figures.New(), 0, nil, 0
		c.tell()
	}
	return nil
}

// readOn reads from the offset to the last whole line.
func (c *crawl) readOn(ctx context.Context) error {
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
	for e, err := range event.EntriesFrom(c.col.EventLog(), from) {
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

// eventAt is the event that begins at an offset of the log.
func (c *crawl) eventAt(offset int64) (event.Event, error) {
	for e, err := range event.EntriesFrom(c.col.EventLog(), offset) {
		if err == nil {
			err = e.Err
		}
		return e.Event, err
	}
	return nil, io.ErrUnexpectedEOF
}

// state is what is told of a crawl whenever it changes.
type state struct {
	ID       string          `json:"id"`
	Dir      string          `json:"dir"`
	Revision int             `json:"revision"`
	Running  bool            `json:"running"` // a process has the folder
	Reading  float64         `json:"reading"` // share of the log that was read, until all of it was; then 1
	Damaged  int             `json:"damaged"` // lines of the log that are no events
	Error    string          `json:"error,omitempty"`
	Now      time.Time       `json:"now"`
	Index    indexState      `json:"index"`
	Figures  figures.Figures `json:"figures"`
}

// state is the present one, and a channel that is closed when there is another.
func (c *crawl) state(now time.Time) (state, <-chan struct{}) {
	running := c.col.Running()
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := state{
		ID: c.id, Dir: event.Line(c.col.Dir()), Revision: c.revision, Running: running, Reading: 1, Damaged: c.damaged,
		Now: now.UTC(), Index: c.search.state, Figures: c.figures.Figures(),
	}
	if !c.whole && c.size > 0 {
		s.Reading = float64(c.offset) / float64(c.size)
	}
	switch {
	case errors.Is(c.err, fs.ErrNotExist) && c.offset == 0: // it has not begun
		s.Reading = 1
	case errors.Is(c.err, fs.ErrNotExist):
		s.Error = fmt.Sprintf("%s is not there any more. What is shown was read before.", event.Line(c.col.EventLog()))
	case c.err != nil:
		s.Error = event.Line(c.err.Error())
	}
	return s, c.changed
}

// with calls f with the figures, which do not change meanwhile.
func (c *crawl) with(f func(*figures.Crawl)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f(c.figures)
}
