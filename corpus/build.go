package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Source is where a recorded web is built from: an Exchange, a Crawl, another
// recorded web, WARCs, Packages, or what a program has Made.
type Source interface {
	// feed tells the builder all there is.
	feed(ctx context.Context, b *builder) error
}

// Options says how a recorded web is built.
type Options struct {
	// Name, Description, Source and Licence replace what the source says,
	// where they are not empty. Without any name it is that of the folder.
	Name, Description, Source, Licence string
	// Force replaces a recorded web that is there already.
	Force bool
	// Software is named in the WARC files.
	Software string
	// Progress is told what was done, of how much (0 = unknown), and what is
	// going on; it may be nil. It is called by one goroutine at a time.
	Progress func(done, total int, note string)
	// Now dates pages whose moment is unknown; nil = time.Now.
	Now func() time.Time
}

// Built is what became of a build.
type Built struct {
	Manifest Manifest
	Count    Count
	// Notes tell, for people, what was left out and why.
	Notes []string
}

// Detect tells which source a path is: a folder with pages.jsonl.zst or
// pages.jsonl, the folder of a crawl, a WARC file or a folder of them, or a .tsv table
// of packages.
func Detect(path string) (Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(path, name))
		return err == nil
	}
	switch {
	case info.IsDir() && (has(pagesName) || has(plainName)):
		return Exchange{Dir: path}, nil
	case info.IsDir() && has(manifestName):
		return Recorded{Dir: path}, nil
	case info.IsDir() && has(crawlArchive):
		return Crawl{Dir: path}, nil
	case info.IsDir():
		if list, err := store.Paths(path); err == nil && len(list) > 0 {
			return WARCs{Paths: []string{path}}, nil
		}
	case strings.HasSuffix(path, ".warc") || strings.HasSuffix(path, ".warc.gz"):
		return WARCs{Paths: []string{path}}, nil
	case strings.HasSuffix(path, ".tsv"):
		return Packages{Table: path}, nil
	}
	return nil, fmt.Errorf("%s is nothing a recorded web can be built from: want a folder with %s or %s, the folder of a crawl, WARC files, or a .tsv table of packages", path, pagesName, plainName)
}

// Build makes the recorded web dir from a source. Nothing half-made is left
// behind: the folder appears when it is whole. It is an error (fs.ErrExist) if
// dir is there, unless Options.Force says to replace the recorded web in it.
func Build(ctx context.Context, dir string, src Source, o Options) (built Built, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	tell, mu := o.Progress, sync.Mutex{}
	o.Progress = func(done, total int, note string) {
		if tell != nil {
			mu.Lock()
			defer mu.Unlock()
			tell(done, total, note)
		}
	}
	dir = filepath.Clean(dir)
	if err := mayReplace(dir, o.Force); err != nil {
		return Built{}, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return Built{}, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-*")
	if err != nil {
		return Built{}, err
	}
	lock, err := folder.Lock(tmp)
	if err != nil {
		return Built{}, errors.Join(err, os.RemoveAll(tmp))
	}
	defer func() {
		if rest := errors.Join(os.RemoveAll(tmp), lock.Close()); err == nil {
			err = rest
		}
	}()
	if err := removeRemains(dir, tmp); err != nil {
		return Built{}, err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return Built{}, err
	}
	b := &builder{opt: o, dir: tmp, now: o.Now().UTC().Truncate(time.Second), seen: map[web.URL]bool{}}
	b.built.Manifest.Name = filepath.Base(dir)
	if err := b.run(ctx, src); err != nil {
		return Built{}, err
	}
	if err := b.finish(src); err != nil {
		return Built{}, fmt.Errorf("building %s: %w", dir, err)
	}
	if err := os.Remove(filepath.Join(tmp, lockName)); err != nil {
		return Built{}, err
	}
	if err := replace(tmp, dir); err != nil {
		return Built{}, err
	}
	return b.built, nil
}

const (
	lockName = "lock"           // file of folder.Lock
	young    = 10 * time.Second // of such a file that another build may be about to lock
)

// removeRemains removes the folders of earlier builds of dir whose processes were killed. How old they
// are is told by the folder tmp of this build, so that one clock has dated all: that of the file system.
func removeRemains(dir, tmp string) error {
	own, err := os.Stat(filepath.Join(tmp, lockName))
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "."+filepath.Base(dir)+"-")
		if !ok || !e.IsDir() || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		remains := filepath.Join(filepath.Dir(dir), e.Name())
		made, err := os.Stat(filepath.Join(remains, lockName))
		if err != nil || own.ModTime().Sub(made.ModTime()) < young || folder.Held(remains) {
			continue // of no build, or of one that runs
		}
		if err := os.RemoveAll(remains); err != nil {
			return fmt.Errorf("the folder of a build that was killed: %w", err)
		}
	}
	return nil
}

// finish counts what was recorded and writes the manifest.
func (b *builder) finish(src Source) error {
	if len(b.seen) == 0 {
		return fmt.Errorf("the source holds no page%s", notes(b.built.Notes))
	}
	manifest := filepath.Join(b.dir, manifestName)
	if err := writeManifest(manifest, b.built.Manifest); err != nil {
		return err
	}
	b.opt.Progress(len(b.seen), len(b.seen), "indexing")
	w, err := Open(b.dir) // makes the index, and proves that the web opens
	if err != nil {
		return err
	}
	c := w.Count()
	b.built.Manifest.Synthetic = b.built.Manifest.Synthetic || w.marked()
	if x, ok := src.(Listed); ok {
		err = x.add(b, w)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	b.built.Count = c
	b.built.Manifest.Pages, b.built.Manifest.Hosts = c.Pages, c.Hosts
	if c.Pages == 0 {
		return fmt.Errorf("the source holds no page%s", notes(b.built.Notes))
	}
	return writeManifest(manifest, b.built.Manifest)
}

// SyntheticMark is what pages that a program made up name as their generator. A
// crawl archives them like any others, and a web built from that is as
// synthetic as they are.
const SyntheticMark = "waggle synthetic web"

// marked tells whether the first page of some host bears the mark.
func (w *Web) marked() bool {
	const head = 1024 // bytes in which a page names its generator
	seen := map[web.Host]bool{}
	for _, address := range w.order {
		u, err := web.Parse(address)
		if st := w.pages[address].status; err != nil || seen[u.Host()] || st < 200 || st > 299 || u.Path() == "/robots.txt" {
			continue
		}
		r, err := w.read(address)
		if err != nil {
			continue // what is damaged is told of by those who need it
		}
		seen[u.Host()] = true
		if bytes.Contains(r.Body[:min(head, len(r.Body))], []byte(`<meta name=generator content="`+SyntheticMark+`">`)) {
			return true
		}
	}
	return false
}

func notes(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// mayReplace refuses to touch what is no recorded web.
func mayReplace(dir string, force bool) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(list) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, manifestName)); err != nil {
		return fmt.Errorf("%s: %w, and is no recorded web: choose another folder", dir, os.ErrExist)
	}
	for _, pages := range []string{pagesName, plainName} {
		if _, err := os.Stat(filepath.Join(dir, pages)); err == nil {
			return fmt.Errorf("%s: %w, and holds the pages a web is built from: choose another folder", dir, os.ErrExist)
		}
	}
	if !force {
		return fmt.Errorf("%s: %w: choose another folder, or replace the recorded web in it with --force", dir, os.ErrExist)
	}
	switch others, err := foreign(dir); {
	case err != nil:
		return err
	case len(others) > 0:
		return fmt.Errorf("%s: %w, and holds files that are not of the recorded web (%s), which would be lost: move them away, or choose another folder", dir, os.ErrExist, strings.Join(others, ", "))
	}
	return nil
}

// foreign names up to three files in the folder of a recorded web that are not of it.
func foreign(dir string) (names []string, err error) {
	own := map[string]bool{lockName: true, manifestName: true, indexName: true, pagesFile: true, labelsName: true}
	m, broken := readManifest(filepath.Join(dir, manifestName))
	for _, t := range m.Topics {
		own[filepath.Clean(filepath.FromSlash(t.Truth))] = true
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		in, file := filepath.Split(name)
		switch {
		case err != nil:
			return err
		case own[name], in == "" && strings.HasSuffix(file, ".warc.gz"):
		case in == "" && (strings.HasPrefix(file, ".index-") || strings.HasPrefix(file, ".pages-")): // of a process that was killed
		case broken != nil && in == "truth"+string(filepath.Separator): // which topics have a truth is not known
		default:
			names = append(names, name)
		}
		if len(names) == 3 {
			return filepath.SkipAll
		}
		return nil
	})
	return names, err
}

// replace puts tmp in the place of dir.
func replace(tmp, dir string) error {
	old := tmp + ".old"
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	had := err == nil
	if err := os.Rename(tmp, dir); err != nil {
		if had {
			err = errors.Join(err, os.Rename(old, dir))
		}
		return err
	}
	if had {
		return os.RemoveAll(old)
	}
	return nil
}

// builder takes what a source tells and writes it.
//
// Sources run in one goroutine and hand over units of work. All cores render
// them; one goroutine appends the results in the order of the units, so equal
// sources give equal files.
type builder struct {
	opt     Options
	dir     string
	now     time.Time
	archive *store.Archive
	built   Built
	seen    map[web.URL]bool // addresses recorded
	bare    []web.URL        // seeds that were given without a scheme, for which https was taken
	twice   int              // addresses given again, and left out
	again   result           // the first of these
	total   int              // expected addresses, 0 = unknown
	temp    string           // folder for the time of the build, "" = none

	queue chan chan result // of units in order; each gives one result
	work  chan func()
}

// result is a rendered unit: one address, or a verbatim record.
type result struct {
	url    web.URL // of a response; zero for other records
	from   string  // where the unit came from, for messages
	again  bool    // a response to keep even if its address is recorded
	record []byte
	err    error
}

func (b *builder) run(ctx context.Context, src Source) error {
	if x, ok := src.(describer); ok {
		if err := x.describe(b); err != nil {
			return err
		}
	}
	m, o := &b.built.Manifest, b.opt
	for _, f := range []struct {
		to   *string
		from string
	}{{&m.Name, o.Name}, {&m.Description, o.Description}, {&m.Source, o.Source}, {&m.Licence, o.Licence}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	archive, err := store.Create(b.dir, store.Options{
		Prefix: fileName(m.Name), Software: o.Software, Job: m.Name, Now: func() time.Time { return b.now },
	})
	if err != nil {
		return err
	}
	b.archive = archive
	b.queue = make(chan chan result, 4*runtime.GOMAXPROCS(0))
	b.work = make(chan func())

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { // closes queue and work, which ends the others
		defer close(b.queue)
		defer close(b.work)
		return src.feed(ctx, b)
	})
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for f := range b.work {
				f()
			}
			return nil
		})
	}
	g.Go(func() error {
		for unit := range b.queue {
			select {
			case r := <-unit:
				if err := b.keep(r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	err = errors.Join(g.Wait(), archive.Close())
	if b.temp != "" {
		err = errors.Join(err, os.RemoveAll(b.temp))
	}
	if err != nil {
		return err
	}
	if b.twice > 0 {
		b.note("%d addresses were given more than once, and the first page kept: %s (%s) is one", b.twice, b.again.url, b.again.from)
	}
	if x, ok := src.(finisher); ok {
		return x.finish(b)
	}
	return nil
}

// describer and finisher are sources that know more than pages: the manifest
// beforehand, and files to lie beside the WARCs afterwards.
type (
	describer interface{ describe(b *builder) error }
	finisher  interface{ finish(b *builder) error }
)

// fileName makes a name usable as the beginning of file names.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, strings.TrimLeft(s, "."))
}

// scratch makes a folder that lasts until all units are rendered.
func (b *builder) scratch() (dir string, err error) {
	b.temp, err = os.MkdirTemp("", "waggle-build-*")
	return b.temp, err
}

// put hands over a unit of work.
func (b *builder) put(ctx context.Context, render func() result) error {
	out := make(chan result, 1)
	select {
	case b.queue <- out:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case b.work <- func() { out <- render() }:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep appends a rendered unit.
func (b *builder) keep(r result) error {
	if r.err != nil {
		return r.err
	}
	if r.record == nil {
		return nil
	}
	if !r.url.IsZero() && !r.again && b.seen[r.url] {
		if b.twice == 0 {
			b.again = r
		}
		b.twice++
		return nil
	}
	if !r.url.IsZero() && !b.seen[r.url] {
		b.seen[r.url] = true
		if len(b.seen)%100 == 0 {
			b.opt.Progress(len(b.seen), b.total, "recording")
		}
	}
	_, err := b.archive.Append(r.record)
	return err
}

// maxNotes bounds the notes of a build.
const maxNotes = 100

// note is called by the source alone while that runs.
func (b *builder) note(format string, args ...any) {
	if len(b.built.Notes) < maxNotes {
		b.built.Notes = append(b.built.Notes, fmt.Sprintf(format, args...))
	}
}

func isRobots(u web.URL) bool { return u.RequestPath() == "/robots.txt" }

func isReservations(u web.URL) bool { return u.RequestPath() == web.ReservationsPath }

// page renders a page made up from its parts.
func (b *builder) page(from string, u web.URL, status int, contentType string, lastModified time.Time, at time.Time, body []byte) result {
	head := fmt.Appendf(nil, "HTTP/1.1 %03d %s\r\n", status, http.StatusText(status))
	if contentType != "" {
		head = fmt.Appendf(head, "Content-Type: %s\r\n", oneLine(contentType))
	}
	if !lastModified.IsZero() {
		head = fmt.Appendf(head, "Last-Modified: %s\r\n", lastModified.UTC().Format(http.TimeFormat))
	}
	head = fmt.Appendf(head, "Content-Length: %d", len(body))
	return b.response(from, &web.Response{URL: u, Started: at, Status: status, Head: head, Raw: body})
}

// redirect renders a redirect from one address to another.
func (b *builder) redirect(from string, u, to web.URL) result {
	head := fmt.Appendf(nil, "HTTP/1.1 301 Moved Permanently\r\nLocation: %s\r\nContent-Length: 0", to)
	return b.response(from, &web.Response{URL: u, Started: b.now, Status: http.StatusMovedPermanently, Head: head})
}

func (b *builder) response(from string, p *web.Response) result {
	record, err := b.archive.EncodeResponse(p)
	return result{url: p.URL, from: from, record: record, err: err}
}

func oneLine(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, []byte(s)))
}
