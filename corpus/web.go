// Package corpus holds recorded webs: real sites, kept as WARC files, on which
// a crawl can be repeated and its finds be compared with the truth.
//
// A recorded web is a folder:
//
//	web.yaml              name, source, licence, counts, topics (see Manifest)
//	NAME-00000.warc.gz …  the responses: pages, redirects, robots.txt
//	truth/TOPIC.txt       the relevant addresses of a topic, one a line
//	labels.tsv            address, label, …: where people have labelled pages
//	index.txt             where each address lies; made anew when it does not
//	                      fit the WARC files, see index.go
//
// Its life: built (Build) from pages somebody has, opened (Open), looked into
// (Lookup, Survey), served to any crawler (Server) or fetched from directly
// (Fetcher). A recorded web never changes while it is open.
package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// maxBody bounds a body read from a record, as kept and as decoded, in bytes.
const maxBody = 64 << 20

// ErrNotRecorded is the error of Lookup for an address without a record.
var ErrNotRecorded = errors.New("not in the record")

// Web is an open recorded web. It is safe for concurrent use.
type Web struct {
	Manifest
	dir   string
	files []*warc
	pages map[string]place // by canonical address
	order []string         // addresses, sorted
}

// warc is an open WARC file.
type warc struct {
	path    string
	f       *os.File
	size    int64
	readers sync.Pool // of *store.Reader
}

// place is where the response of an address lies.
type place struct {
	file   int32 // index in Web.files
	status int16
	offset int64
	inner  int64
	mime   string
}

// Open opens a recorded web. Errors name the file, the place and what helps:
// web.yaml absent or wrong (with its line), no WARC files, a damaged one
// (a *store.Damage). The index is read, or made and kept where it is absent or
// does not fit the files.
func Open(dir string) (*Web, error) {
	m, err := readManifest(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s is not a recorded web: %s: %w", dir, remedy(dir), err)
	}
	if err != nil {
		return nil, err
	}
	w := &Web{Manifest: m, dir: dir}
	if err := w.open(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// remedy tells what is there instead of a recorded web, and how one is made.
func remedy(path string) string {
	src, err := Detect(path)
	if err != nil {
		return fmt.Sprintf("it has no %s (waggle web build makes one)", manifestName)
	}
	is := "it can become one"
	switch src.(type) {
	case WARCs:
		is = "it holds WARC files"
	case Crawl:
		is = "it is the folder of a crawl"
	}
	return fmt.Sprintf("%s, of which waggle web build %s -o WEB makes one", is, path)
}

func (w *Web) open() error {
	paths, err := store.Paths(w.dir)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s holds no WARC files: make a recorded web of it with waggle web build %s -o WEB", w.dir, w.dir)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("recorded web: %w", err)
		}
		info, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		w.files = append(w.files, &warc{path: path, f: f, size: info.Size()})
	}
	return w.loadIndex()
}

// Close releases the files. Nothing else may be called after it.
func (w *Web) Close() error {
	var errs []error
	for _, f := range w.files {
		errs = append(errs, f.f.Close())
	}
	w.files = nil
	return errors.Join(errs...)
}

// Dir is the folder of the web.
func (w *Web) Dir() string { return w.dir }

// Len is the number of recorded addresses: pages, redirects and robots.txt.
func (w *Web) Len() int { return len(w.order) }

// Count sorts the recorded addresses.
type Count struct {
	Pages     int // answered with a status of 2xx, robots.txt apart
	Redirects int // 3xx
	Robots    int // robots.txt and tdmrep.json, whatever the answer
	Errors    int // any other status
	Hosts     int // that have pages
}

// Count sorts the recorded addresses.
func (w *Web) Count() Count {
	var c Count
	hosts := map[web.Host]bool{}
	for u := range w.URLs() {
		switch s := w.pages[u.String()].status; {
		case isRobots(u), isReservations(u):
			c.Robots++
		case s >= 200 && s < 300:
			c.Pages++
			hosts[u.Host()] = true
		case s >= 300 && s < 400:
			c.Redirects++
		default:
			c.Errors++
		}
	}
	c.Hosts = len(hosts)
	return c
}

// Has tells whether an address is recorded.
func (w *Web) Has(u web.URL) bool {
	_, ok := w.pages[u.String()]
	return ok
}

// Status is the recorded HTTP status of an address, 0 if it is not recorded.
func (w *Web) Status(u web.URL) int { return int(w.pages[u.String()].status) }

// Lookup reads the response recorded for an address, with what a browser made of it where
// that is recorded. The error wraps
// ErrNotRecorded, or is a *store.Damage. The caller may keep and change what
// it gets.
func (w *Web) Lookup(u web.URL) (*web.Response, error) {
	return w.read(u.String())
}

func (w *Web) read(address string) (*web.Response, error) {
	at, ok := w.pages[address]
	if !ok {
		return nil, fmt.Errorf("%s: %w", address, ErrNotRecorded)
	}
	file := w.files[at.file]
	r, ok := file.readers.Get().(*store.Reader)
	if !ok {
		r = store.NewReader(file.path, file.f, file.size)
	}
	defer file.readers.Put(r)
	response, _, err := r.ResponseAt(at.offset, at.inner, maxBody)
	if c := w.Canon(); err == nil && c != (web.Canon{}) && !response.Location.IsZero() {
		response.Location, _ = c.Parse(response.Location.String()) // canonical before, so it stays an address
	}
	return response, err
}

// URLs lists every recorded address, sorted.
func (w *Web) URLs() iter.Seq[web.URL] {
	return func(yield func(web.URL) bool) {
		for _, s := range w.order {
			u, err := web.Parse(s)
			if err == nil && !yield(u) {
				return
			}
		}
	}
}

// Pages reads every recorded response in the order of the files, which is the
// cheapest. After an error the iteration goes on.
func (w *Web) Pages() iter.Seq2[*web.Response, error] {
	return func(yield func(*web.Response, error) bool) {
		for _, address := range w.byPlace() {
			if !yield(w.read(address)) {
				return
			}
		}
	}
}

// byPlace lists the addresses in the order of the files.
func (w *Web) byPlace() []string {
	list := slices.Clone(w.order)
	slices.SortFunc(list, func(a, b string) int {
		p, q := w.pages[a], w.pages[b]
		if p.file != q.file {
			return int(p.file) - int(q.file)
		}
		if p.offset != q.offset {
			return int(min(max(p.offset-q.offset, -1), 1))
		}
		return int(min(max(p.inner-q.inner, -1), 1))
	})
	return list
}

// Topic finds a topic by name; the error lists the names there are.
func (w *Web) Topic(name string) (Topic, error) {
	var names []string
	for _, t := range w.Topics {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return Topic{}, fmt.Errorf("recorded web %s has no topics", w.Name)
	}
	return Topic{}, fmt.Errorf("recorded web %s has no topic %q; it has %s", w.Name, name, strings.Join(names, ", "))
}

// Truth reads the relevant addresses of a topic. Some may not be recorded:
// Survey counts them. The error names the line of a bad address.
func (w *Web) Truth(topic string) (map[web.URL]bool, error) {
	t, err := w.Topic(topic)
	if err != nil {
		return nil, err
	}
	if t.Truth == "" {
		return nil, fmt.Errorf("recorded web %s: topic %s has no truth", w.Name, topic)
	}
	list, err := readAddresses(filepath.Join(w.dir, filepath.FromSlash(t.Truth)))
	if err != nil {
		return nil, err
	}
	set := make(map[web.URL]bool, len(list))
	for _, u := range list {
		set[u] = true
	}
	return set, nil
}

// Fetcher fetches from the record within the process: the quickest way to
// simulate a crawl. What is not recorded is web.NotRecorded.
type Fetcher struct{ Web *Web }

// Fetch returns the recorded response. The error is a *web.Failure, or ctx's.
func (f Fetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := f.Web.Lookup(u)
	if errors.Is(err, ErrNotRecorded) {
		return web.NotRecorded(u), nil
	}
	if err != nil {
		return nil, &web.Failure{Reason: web.ReasonProtocol, Detail: err.Error(), Err: err}
	}
	return p, nil
}

// Seeds are those of all topics, each once, n at most.
func (w *Web) Seeds(n int) (out []web.URL) {
	seen := map[web.URL]bool{}
	for _, t := range w.Topics {
		for _, s := range t.Seeds {
			if !seen[s] && len(out) < n {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}
