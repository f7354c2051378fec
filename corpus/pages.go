package corpus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Pages are the parsed pages of a recorded web, from a file beside it: parsing
// is by far the dearest part of a simulated crawl, and it always gives the
// same. The bytes of the file are in memory once, and all pages share them; a
// page is made from them when it is asked for, which takes some tens of
// microseconds. Pages are safe for concurrent use, stay usable when the Web is
// closed, and need no closing.
//
// pages.bin is made anew when it is absent, damaged, of another version, of
// other WARC files, of a parser that reads other documents, links or languages, or
// when pages parsed anew for comparison differ.
type Pages struct {
	data  string
	words []string
	urls  []web.URL
	at    map[web.URL]int // offset of the record, by recorded address
	// header holds the header of a response by the word of its Content-Type
	// plus one, and blank as many zero bytes as the longest body has. Both are
	// lent out with responses.
	header []web.Header
	blank  []byte
}

// PagesOptions says where parsed pages are kept and who watches.
type PagesOptions struct {
	// Path is the file; "" = pages.bin in the web's folder or, where that
	// cannot be written to, a temporary file that is gone when it was read.
	Path string
	// Progress is told how many of the recorded responses have been parsed,
	// when the file is made; it may be nil. One goroutine calls it.
	Progress func(done, total int)
	// Workers is the number of parsers at a time; 0 = the number of cores.
	Workers int
}

const pagesFile = "pages.bin"

// OpenPages reads the parsed pages of w as p parses them, and makes the file
// where there is none that fits. Errors are those of reading the record
// (*store.Damage) and of writing the file, and ctx's.
func OpenPages(ctx context.Context, w *Web, p *parse.Parser, o PagesOptions) (*Pages, error) {
	stamp, err := w.stamp()
	if err != nil {
		return nil, err
	}
	id := pagesID(stamp, p)
	path := o.Path
	if path == "" {
		path = filepath.Join(w.dir, pagesFile)
	}
	if c, err := readPages(path, id, w.mostKept()); err == nil && c.agree(w, p) {
		return c, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".pages-*")
	lasting := err == nil
	if o.Path == "" && (errors.Is(err, fs.ErrPermission) || isReadOnly(err)) {
		f, err = os.CreateTemp("", "waggle-pages-*")
	}
	if err != nil {
		return nil, fmt.Errorf("parsed pages of %s: %w", w.dir, err)
	}
	made := f.Name()
	err = writePages(ctx, w, p, o, f, id)
	if lasting {
		err = errors.Join(err, f.Chmod(0o644))
	}
	err = errors.Join(err, f.Close())
	if err == nil && lasting {
		if err = os.Rename(made, path); err == nil {
			return readPages(path, id, math.MaxInt64)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parsed pages of %s: %w", w.dir, err), os.Remove(made))
	}
	c, err := readPages(made, id, math.MaxInt64)
	return c, errors.Join(err, os.Remove(made))
}

// pagesID is that of the pages of these WARC files as p reads them.
func pagesID(stamp []byte, p *parse.Parser) [16]byte {
	return xxh3.Hash128(append(stamp[:len(stamp):len(stamp)], p.Reads()...)).Bytes()
}

// keptPages are the parsed pages that are kept beside the web, none where they do
// not fit: nothing is written.
func (w *Web) keptPages(p *parse.Parser) *Pages {
	stamp, err := w.stamp()
	if err != nil {
		return &Pages{}
	}
	c, err := readPages(filepath.Join(w.dir, pagesFile), pagesID(stamp, p), w.mostKept())
	if err != nil || !c.agree(w, p) {
		return &Pages{}
	}
	return c
}

// Has tells whether an address is recorded.
func (c *Pages) Has(u web.URL) bool {
	_, ok := c.at[u]
	return ok
}

// Len is the number of recorded addresses.
func (c *Pages) Len() int { return len(c.at) }

// Page is the page recorded for an address, equal in every field to what
// parsing it anew gives; ok is false where there is none: not recorded, no
// status of 2xx, no body, no text.
func (c *Pages) Page(u web.URL) (p *web.Page, ok bool) {
	at, ok := c.at[u]
	if !ok {
		return nil, false
	}
	d := c.record(at)
	r := d.response()
	if r.what != isPage {
		return nil, false
	}
	p = d.page(u, r.status)
	return p, p != nil
}

// Digest is that of a page's body, and costs next to nothing; ok is false
// where there is no page.
func (c *Pages) Digest(u web.URL) (digest [16]byte, ok bool) {
	at, ok := c.at[u]
	if !ok {
		return digest, false
	}
	d := c.record(at)
	if r := d.response(); r.what != isPage {
		return digest, false
	}
	digest = d.digest()
	return digest, !d.bad
}

// Fetch returns the recorded response as far as a crawl without an archive
// looks at it: status, redirect target, Content-Type, Retry-After, lengths. Raw and Body
// have the recorded lengths and hold zero bytes, but for robots.txt, for
// documents without a Content-Type, and for the beginning of those whose type
// shows there; Parse brings what was in them. What is not
// recorded is web.NotRecorded. Nothing in the response may be written to.
func (c *Pages) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, ok := c.at[u]
	if !ok {
		return web.NotRecorded(u), nil
	}
	d := c.record(at)
	r := d.response()
	out := &web.Response{
		URL: u, Proto: "HTTP/1.1", Status: r.status, Header: c.header[r.kind],
		Raw: c.blank[:r.raw:r.raw], Body: c.blank[:r.body:r.body],
		Location: r.location, Truncated: r.truncated,
	}
	if r.retryAfter != "" {
		out.Header = maps.Clone(out.Header)
		out.Header["Retry-After"] = []string{r.retryAfter}
	}
	if r.kept != "" {
		out.Body = make([]byte, r.body)
		copy(out.Body, r.kept)
	}
	return out, nil
}

// Parse is the page of a response that Fetch gave, so that Pages are a parser.
// The error of what is no page is that of parsing it: it wraps parse.ErrType, or is the
// *web.Failure of a damaged document.
func (c *Pages) Parse(r *web.Response) (*web.Page, error) {
	if p, ok := c.Page(r.URL); ok {
		return p, nil
	}
	if at, ok := c.at[r.URL]; ok {
		d := c.record(at)
		var why error
		switch r := d.response(); r.what {
		case isOther:
			why = fmt.Errorf("%s%w", d.rest(), parse.ErrType)
		case isDamaged:
			why = &web.Failure{Reason: web.Reason(d.word()), Detail: d.rest()}
		}
		if why != nil && !d.bad {
			return nil, why
		}
	}
	return nil, fmt.Errorf("%s is not among the parsed pages, or not whole there", r.URL)
}

// agreeing is the number of pages parsed anew when a file is opened.
const agreeing = 12

// agree tells whether pages, taken from all over the web, are as p parses them
// today.
func (c *Pages) agree(w *Web, p *parse.Parser) bool {
	if len(c.at) != len(w.order) {
		return false
	}
	for i := range agreeing {
		if len(w.order) == 0 {
			break
		}
		r, err := w.read(w.order[i*len(w.order)/agreeing])
		if err != nil {
			return false
		}
		got, ok := c.Page(r.URL)
		want, _ := parsePage(p, r)
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, want) {
			return false
		}
	}
	return true
}

// parsePage is the page of a recorded response, nil if it is none; the error
// says why where it was tried.
func parsePage(p *parse.Parser, r *web.Response) (*web.Page, error) {
	if r.Status < 200 || r.Status >= 300 || len(r.Body) == 0 {
		return nil, nil
	}
	return p.Parse(r)
}

// writePages parses all of w on several cores and writes the file. What is
// written is a function of web and parser: one goroutine encodes the pages in
// the order of the record.
func writePages(ctx context.Context, w *Web, p *parse.Parser, o PagesOptions, f io.Writer, stamp [16]byte) error {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	type parsed struct {
		r    *web.Response
		page *web.Page
		why  error // there is no page
		err  error
	}
	// Results come in the order of the queue: each is a channel in it. Order of
	// shutdown: this function cancels; the feeder closes the queue and the
	// jobs; the workers return; nobody waits on a result, which is buffered.
	ctx, cancel := context.WithCancel(ctx)
	type job struct {
		address string
		result  chan<- parsed
	}
	queue := make(chan (<-chan parsed), 4*o.Workers)
	jobs := make(chan job)
	addresses := w.byPlace()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(queue)
		defer close(jobs)
		for _, address := range addresses {
			result := make(chan parsed, 1)
			select {
			case queue <- result:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- job{address, result}:
			case <-ctx.Done():
				return
			}
		}
	}()
	workers := make(chan struct{}, o.Workers)
	for range o.Workers {
		go func() {
			for j := range jobs {
				var x parsed
				if x.r, x.err = w.read(j.address); x.err == nil {
					x.page, x.why = parsePage(p, x.r)
				}
				j.result <- x
			}
			workers <- struct{}{}
		}()
	}
	defer func() {
		cancel()
		<-done
		for range o.Workers {
			<-workers
		}
	}()

	e := newEncoder(f, stamp)
	n := 0
	for result := range queue {
		var x parsed
		select {
		case x = <-result:
		case <-ctx.Done():
			return ctx.Err()
		}
		if x.err != nil {
			return x.err
		}
		if err := e.add(x.r, x.page, x.why); err != nil {
			return err
		}
		if n++; o.Progress != nil {
			o.Progress(n, len(addresses))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return e.finish()
}

// errStale is the error of a file that cannot be used as it is.
var errStale = errors.New("parsed pages are stale")

// mostKept bounds a file of parsed pages, in bytes, by what the WARC files have: a larger one is made anew.
func (w *Web) mostKept() int64 {
	most := int64(64 << 20)
	for _, f := range w.files {
		most += 64 * f.size
	}
	return most
}

// readPages reads the file of at most so many bytes, if it is whole and of the given stamp.
func readPages(path string, stamp [16]byte, most int64) (*Pages, error) {
	data, err := readString(path, most)
	if err != nil {
		return nil, err
	}
	if len(data) < len(pagesMagic)+16+tailSize {
		return nil, errStale
	}
	body, sum := data[:len(data)-8], data[len(data)-8:]
	if data[:len(pagesMagic)] != pagesMagic || data[len(pagesMagic):][:16] != string(stamp[:]) ||
		binary.LittleEndian.Uint64([]byte(sum)) != xxh3.HashString(body) {
		return nil, errStale
	}
	return newPages(body)
}
