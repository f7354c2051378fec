package collection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// ActFile is the path of acts.jsonl: what people told the crawl, an act a line, oldest
// first. The log has each of them once the crawl has taken it in.
func (c Collection) ActFile() string { return filepath.Join(c.dir, "acts.jsonl") }

// actsForAll is the path of acts-for-all.jsonl, which a folder of one of several workers has in
// place of acts.jsonl: what people told it, for all workers. The crawl numbers it among what
// they told others; the log has that.
func (c Collection) actsForAll() string { return filepath.Join(c.dir, "acts-for-all.jsonl") }

// OfSeveral tells whether the folder is that of one of several workers of a crawl.
func (c Collection) OfSeveral() bool { return folder.Exists(c.actsForAll()) }

// BeOfSeveral makes the folder that of one of several workers: what people tell it from now on
// is for all of them.
func (w *Writer) BeOfSeveral() error {
	if w.OfSeveral() {
		return nil
	}
	return folder.Write(w.actsForAll(), nil)
}

// ActsForAll reads what people tell this folder for all workers, as it grows.
func (c Collection) ActsForAll() crawl.Acts { return &actReader{path: c.actsForAll()} }

// mostActs bounds acts.jsonl, in bytes.
const mostActs = 16 << 20

// Act keeps an act for the crawl, which takes it in within a second if it runs, and else
// when it goes on. It survives a power failure once Act has returned. number is that of
// the act among all of the crawl; 0 where several workers do it, and it is not known yet. It is
// safe to call from several processes.
func (c Collection) Act(a event.Act) (number int, err error) {
	if err := a.Check(); err != nil {
		return 0, err
	}
	if !c.Begun() {
		return 0, fmt.Errorf("%s holds no crawl that could be told anything", c.dir)
	}
	path, forAll := c.ActFile(), c.OfSeveral()
	if forAll {
		if how := c.over(); how != "" {
			return 0, fmt.Errorf("the crawl of all workers is over (%s), and takes nothing in any more: make one of their folders with waggle cluster merge, and tell that", event.Ending(how).Words())
		}
		if full := c.full(); full != "" {
			return 0, errors.New(full)
		}
		path = c.actsForAll()
		a.Told, a.Known = time.Now().UTC(), c.known()
	}
	line, err := appendAct(nil, a)
	if err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := folder.Await(f); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() > mostActs {
		return 0, fmt.Errorf("%s has more than %d MiB: the crawl can be told nothing more", path, mostActs>>20)
	}
	if n := info.Size(); n > 0 { // a process may have died while it wrote
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, n-1); err != nil {
			return 0, err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return 0, err
	}
	end, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		err = f.Sync()
	}
	if err != nil || forAll {
		return 0, err
	}
	all := make([]byte, end)
	if _, err := f.ReadAt(all, 0); err != nil {
		return 0, err
	}
	return bytes.Count(all, []byte{'\n'}), nil
}

// Acts reads acts.jsonl as it grows. told are the acts that the log has: where the file
// is missing or was cut, it is made of them again.
func (c Collection) Acts(told []event.Act) (crawl.Acts, error) {
	b, err := os.ReadFile(c.ActFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if bytes.Count(b, []byte{'\n'}) < len(told) {
		var lines []byte
		for _, a := range told {
			if lines, err = appendAct(lines, a); err != nil {
				return nil, err
			}
		}
		if err := folder.Write(c.ActFile(), lines); err != nil {
			return nil, err
		}
	}
	return &actReader{path: c.ActFile()}, nil
}

// appendAct appends a line of acts.jsonl.
func appendAct(b []byte, a event.Act) ([]byte, error) {
	line, err := json.Marshal(struct {
		Do    event.Verb `json:"do"`
		URL   web.URL    `json:"url,omitzero"`
		Place string     `json:"place,omitempty"`
		Pages int        `json:"pages,omitempty"`
		Delay string     `json:"delay,omitempty"`
		Words []string   `json:"keywords,omitempty"`
		Act   int        `json:"act,omitempty"`
		Told  time.Time  `json:"told,omitzero"`
		Known int        `json:"known,omitempty"`
	}{a.Do, a.URL, a.Place, a.Pages, a.Delay, a.Keywords, a.Act, a.Told, a.Known})
	return append(append(b, line...), '\n'), err
}

type actReader struct {
	path string
	read int // acts up to size
	size int64
}

// After implements crawl.Acts. A line that is no act is one that is refused.
func (r *actReader) After(n int) ([]event.Act, error) {
	info, err := os.Stat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() == r.size && r.read <= n:
		return nil, nil
	}
	b, err := os.ReadFile(r.path)
	if err != nil {
		return nil, err
	}
	var acts []event.Act
	r.read = 0
	for line := range bytes.Lines(b[:min(len(b), 2*mostActs)]) {
		if line[len(line)-1] != '\n' {
			break // it is being written
		}
		if r.read++; r.read <= n {
			continue
		}
		a, err := event.ReadAct(line)
		a.Number, a.Refused, a.Own, a.Absent = r.read, "", 0, false
		if err != nil {
			a = event.Act{Number: r.read, Refused: err.Error()}
		}
		acts = append(acts, a)
	}
	r.size = info.Size()
	return acts, nil
}

// Told are the acts that the crawl took in, as the log has them, and after them those
// that wait for it, without a time.
func (c Collection) Told() (acts []event.Act, err error) {
	acts = c.Logged()
	waiting, err := c.Waiting(acts)
	return append(acts, waiting...), err
}

// Logged are the acts that the crawl took in, as the log has them. What cannot be read of it is left out.
func (c Collection) Logged() (acts []event.Act) {
	for e, err := range event.ReadKinds(c.EventLog(), event.Act{}.Kind()) {
		if a, ok := e.(event.Act); ok && err == nil {
			acts = append(acts, a)
		}
	}
	return acts
}

// Waiting are the acts that the folder was told and that wait, after those that the log has.
// Where several workers do the crawl they have no number yet, and are refused where it was
// over before they were sent, or takes in nothing more.
func (c Collection) Waiting(logged []event.Act) ([]event.Act, error) {
	if !c.OfSeveral() {
		return (&actReader{path: c.ActFile()}).After(len(logged))
	}
	sent := 0
	for _, a := range logged {
		sent = max(sent, a.Own)
	}
	waiting, err := c.ActsForAll().After(sent)
	over, full := c.over(), c.full()
	for i := range waiting {
		waiting[i].Number = 0
		switch {
		case waiting[i].Refused != "":
		case full != "":
			waiting[i].Refused = full
		case over != "":
			waiting[i].Refused = tooLate
		}
	}
	return waiting, err
}

// tooLate is why what a worker was told last did not get to the others.
const tooLate = "the crawl was over before any worker took it in"

// over is how the crawl of several workers ended, as far as the folder knows; "" where it did
// not, or its worker runs.
func (c Collection) over() string {
	if c.Running() {
		return ""
	}
	all, err := c.Workers()
	if err != nil {
		return ""
	}
	return all.Over
}

// full is why the crawl of several workers takes in nothing more, as far as the folder knows.
func (c Collection) full() string {
	all, err := c.Workers()
	if err != nil {
		return ""
	}
	return all.Full
}

// known is how many acts of the crawl of several workers the folder knows of.
func (c Collection) known() int {
	all, err := c.Workers()
	if err != nil {
		return 0
	}
	return all.Acts
}

// Look finds pages in the archive, while the crawl runs as well: those with status 200
// whose body can be parsed. One whose record is damaged is none, as in Readable.
func (c Collection) Look(p crawl.Parser) crawl.Look {
	f := c.Finder()
	return func(ctx context.Context, u web.URL) (*web.Page, error) {
		r, err := f.Response(ctx, u)
		if errors.Is(err, ErrAbsent) || errors.As(err, new(*store.Damage)) || err == nil && r.Status != 200 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		page, err := p.Parse(r)
		if err != nil {
			return nil, nil // it was fetched, and is no page
		}
		return page, nil
	}
}
