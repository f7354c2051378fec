package collection

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Finder finds the responses of a collection by their addresses. It reads where they
// lie when it is first asked, and again what has been added since. 24 bytes are held
// for each.
type Finder struct {
	col Collection

	mu     sync.Mutex
	places map[uint64]foundAt // the last response of each address, by its hash
	files  []foundFile

	earlier earlierRounds
}

// foundFile is a WARC file, with the last record that was read of it.
type foundFile struct {
	path          string
	info          os.FileInfo // of when it was read; nil before
	size          int64
	offset, inner int64
}

// foundAt is where a record lies.
type foundAt struct {
	file   int32
	offset int64
	inner  int64
}

// Finder finds responses of the archive by their addresses, also while the crawl runs.
func (c Collection) Finder() *Finder { return &Finder{col: c} }

// ErrAbsent says that the archive does not hold a response.
var ErrAbsent = errors.New("the archive does not hold it")

// Response is the last response that the archive holds of an address; the
// error is ErrAbsent where it holds none. Safe for concurrent use.
func (a *Finder) Response(ctx context.Context, u web.URL) (*web.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := xxh3.HashString(u.String())
	p, ok := a.places[id]
	if !ok {
		if err := a.update(ctx); err != nil {
			return nil, err
		}
		if p, ok = a.places[id]; !ok {
			return nil, ErrAbsent
		}
	}
	r, err := a.read(p, u)
	if errors.As(err, new(*store.Damage)) { // or the archive was cut back and has grown again
		before := p
		if err := a.update(ctx); err != nil {
			return nil, err
		}
		if p, ok = a.places[id]; !ok {
			return nil, ErrAbsent
		}
		if p != before {
			return a.read(p, u)
		}
	}
	return r, err
}

// read reads the response of an address at its place. a.mu is held.
func (a *Finder) read(p foundAt, u web.URL) (*web.Response, error) {
	f, err := os.Open(a.files[p.file].path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, _, err := store.NewReader(f.Name(), f, info.Size()).ResponseAt(p.offset, p.inner, maxResponse)
	if err == nil && r.URL == u {
		return a.col.whole(&a.earlier, r)
	}
	if err == nil {
		a.places, a.files = nil, nil // another archive took its place
		return nil, fmt.Errorf("%w: the archive has changed, ask again", ErrAbsent)
	}
	return r, err
}

// update reads what the files have grown by, or all of them where one was cut back or
// replaced. a.mu is held.
func (a *Finder) update(ctx context.Context) error {
	err := a.readNew(ctx)
	if errors.Is(err, errCutBack) {
		a.places, a.files = nil, nil
		err = a.readNew(ctx)
	}
	return err
}

var errCutBack = errors.New("the archive was cut back")

func (a *Finder) readNew(ctx context.Context) error {
	paths, err := a.col.ArchiveFiles()
	if err != nil {
		return err
	}
	for i, f := range a.files {
		if i >= len(paths) || f.path != paths[i] {
			a.places, a.files = nil, nil
			break
		}
	}
	if a.places == nil {
		a.places = map[uint64]foundAt{}
	}
	for i, path := range paths {
		if i == len(a.files) {
			a.files = append(a.files, foundFile{path: path})
		}
		if err := a.readOn(ctx, int32(i)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readOn reads file i from the last record on that was read.
func (a *Finder) readOn(ctx context.Context, i int32) error {
	known := &a.files[i]
	f, err := os.Open(known.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	switch {
	case known.info == nil && info.Size() == 0:
		return nil
	case known.info == nil:
	case !os.SameFile(known.info, info): // it may have the size of the one whose place it took
		return errCutBack
	case info.Size() == known.size && info.ModTime().Equal(known.info.ModTime()):
		return nil
	case info.Size() <= known.size: // so may one that got its number on the disk
		return errCutBack
	}
	known.info = info
	r := store.NewReader(known.path, f, info.Size())
	if known.offset > 0 {
		if _, err := r.At(known.offset, known.inner); errors.As(err, new(*store.Damage)) {
			return errCutBack
		} else if err != nil {
			return err
		}
	}
	var rendered foundAt // where the conversion of a response begins, which has the id of
	var of string
	for rec, err := range r.All() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // damage, or the record that is being written: the next one follows
		}
		known.offset, known.inner = rec.Offset, rec.Inner
		at := foundAt{i, rec.Offset, rec.Inner}
		switch {
		case rec.Type() == "conversion":
			rendered, of = at, rec.Get("WARC-Refers-To")
		case !holdsResponse(rec.Type()) || rec.Asked():
		default:
			if rec.Get("WARC-Record-ID") == of {
				at = rendered
			}
			if u, err := web.Parse(rec.Target()); err == nil {
				a.places[xxh3.HashString(u.String())] = at
			}
		}
	}
	known.size = info.Size()
	return nil
}
