package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/index"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/job"
)

// Indexing says when the index of a crawl that is watched is made.
type Indexing uint8

// When an index is made.
const (
	WhenAsked Indexing = iota // by MakeIndex
	WithRoom                  // while the crawl runs, where RoomForIndex is free
	Always                    // at once, and as long as the crawl runs
)

// RoomForIndex is the free space of a disk, in bytes, from which on an index is made
// unasked: it takes some kilobytes a page.
const RoomForIndex = 10 << 30

// IndexState is what is told of an index.
type IndexState struct {
	There   bool   `json:"there"`             // it can be searched
	Making  bool   `json:"making"`            // it is being made here
	Indexed int    `json:"indexed,omitempty"` // pages, of those to index, while it is made
	Pages   int    `json:"pages,omitempty"`
	Error   string `json:"error,omitempty"` // why it is not there, or not whole
	// Closed is why none can be made in the folder of the crawl; "" where that is not known.
	Closed string `json:"closed,omitempty"`
}

// Index says when the index is made. It is called before Run.
func (c *Crawl) Index(when Indexing) { c.search.when = when }

// lookWhetherClosed notes whether the folder of the crawl, and that of its index, may be written, and whether it
// goes on by a command alone.
func (c *Crawl) lookWhetherClosed() {
	dir := index.Dir(c.col)
	if !folder.Exists(dir) {
		dir = c.col.Dir()
	}
	whyNoIndex, whyClosed := MayNotWrite(dir, c.writable), MayNotWrite(c.col.Dir(), c.writable)
	if whyClosed != "" {
		whyClosed += ": open a copy of the crawl, or open it as a user who may"
	}
	if c.Gone() {
		whyClosed = goneWords(event.Line(c.col.Dir()))
	}
	joins := ""
	if c.col.OfSeveral() {
		joins = "it is of one of several workers, which goes on with the others: waggle crawl -o " + event.Line(c.col.Dir()) + " --resume --join ENGINE"
	} else if err := c.col.ByCommand(event.Line(c.col.Dir())); err != nil {
		joins = err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.search.state.Closed != whyNoIndex || c.closed != whyClosed || c.joins != joins {
		c.search.state.Closed, c.closed, c.joins = whyNoIndex, whyClosed, joins
		c.tell()
	}
}

// AskWritable has writable say why no file can be made in a folder, nil where one can; nil =
// folder.Writable. It is called before Run.
func (c *Crawl) AskWritable(writable func(dir string) error) { c.writable = writable }

// MayNotWrite says why no file can be made in a folder, or in the nearest folder above that is
// there, "" where that is not known; writable is as of Crawl.AskWritable.
func MayNotWrite(dir string, writable func(dir string) error) string {
	if writable == nil {
		writable = folder.Writable
	}
	for !folder.Exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	if err := writable(dir); closed(err) {
		return "the user who runs waggle open may not write in " + event.Line(dir)
	}
	return ""
}

// Closed says why nothing can be told to the crawl, and what helps, "" where that is not known.
func (c *Crawl) Closed() string {
	c.lookWhetherClosed()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// closed tells whether an error is that of a folder that may not be written.
func closed(err error) bool { return errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) }

// MakeIndex has Run make the index, as long as the crawl runs. The error says why that cannot be.
func (c *Crawl) MakeIndex() error {
	c.lookWhetherClosed()
	if c.Gone() {
		return errors.New(goneWords(event.Line(c.col.Dir())))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if why := c.search.state.Closed; why != "" {
		dir := event.Line(c.col.Dir())
		return fmt.Errorf("%s: open a copy of the crawl, or open it as a user who may; waggle index %s --index FOLDER makes an index elsewhere, which waggle search %[2]s --index FOLDER searches", why, dir)
	}
	if !c.search.state.Making {
		c.search.asked, c.search.state.Error = true, ""
		c.tell()
	}
	return nil
}

// wantsIndex tells whether the index is to be made now, and notes that this is begun.
func (c *Crawl) wantsIndex() bool {
	running := c.col.Running()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.search
	switch {
	case s.state.Closed != "", s.begun || s.failed && !s.asked || c.offset == 0, time.Now().Before(s.busy):
		return false
	case s.asked, s.when == Always && (running || !s.made):
	case s.when == WithRoom && running:
		if free, err := c.col.Free(); err != nil || free < RoomForIndex {
			return false
		}
	default:
		return false
	}
	s.begun, s.whole = true, false
	return true
}

// indexBegun tells that the index is being made here.
func (c *Crawl) indexBegun() {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.search
	s.asked, s.failed, s.state.Making, s.state.Error = false, false, true, ""
	c.tell()
}

// makeIndex makes the index as long as the crawl runs, unless another process does.
func (c *Crawl) makeIndex(ctx context.Context) {
	b, err := index.NewBuilder(c.col, index.Dir(c.col), job.LinkParser(c.col, c.docs))
	if err == nil {
		c.indexBegun()
		err = b.Follow(ctx, c.col.Running, func(p index.Progress) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.search.state.Indexed, c.search.state.Pages = p.Indexed, p.Pages
			c.search.whole = c.search.whole || p.Indexed >= p.Pages
			c.tell()
		})
		err = errors.Join(err, b.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.search
	s.begun = false
	if errors.Is(err, index.ErrBusy) { // what there is of it can be searched, and nothing here has changed
		s.busy = time.Now().Add(retryAfter)
		return
	}
	s.state.Making, s.state.Indexed, s.state.Pages, s.asked, s.made = false, 0, 0, false, true
	switch {
	case err == nil:
		s.again = time.Time{} // it is opened at once, although another one could not be
	case ctx.Err() != nil:
	case closed(err):
		s.failed, s.state.Error = true, "the folder of the crawl cannot be written: "+event.Line(err.Error())
	default:
		s.failed, s.state.Error = true, event.Line(err.Error())
	}
	c.tell()
}
