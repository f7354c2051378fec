package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// entries are the records of the archive of a collection that are exported, in their
// order: without opt-outs, those alone that the log tells about, without the pages that
// opt out and what these asked for. The record that a running crawl is writing is no damage.
func (in *Input) entries(ctx context.Context, s *survey, i int, c collection.Collection, g *gaps) iter.Seq2[store.Entry, error] {
	all := in.allEntries(ctx, s, i, c, g)
	if !in.WithoutOptOuts {
		return all
	}
	return func(yield func(store.Entry, error) bool) {
		var o optOutFilter
		for e, err := range all {
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
			if !s.crawl[i].extent.Holds(e.File, e.Offset) {
				continue
			}
			u, err := web.Parse(e.Target)
			for _, e := range o.take(e, err == nil && s.left(in, u)) {
				if !yield(e, nil) {
					return
				}
			}
		}
		for _, e := range o.flush(false) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// optOutFilter takes from a series of records those of pages that opt out. What a page
// asked for while a browser rendered it lies before the page:
//
//	response (asked), request …, response (the page), request, metadata
//
// so from there on records are held until the metadata tells whose they are.
type optOutFilter struct {
	held []store.Entry
	left bool // the page opts out
}

// take takes in a record, and gives those that are known to stay. left says that the
// address of the record opts out.
func (o *optOutFilter) take(e store.Entry, left bool) (stay []store.Entry) {
	if len(o.held) > 0 && o.held[0].File != e.File {
		stay = o.flush(false) // its page is not there
	}
	if len(o.held) == 0 {
		o.left = false
	}
	if left && !e.Asked && e.Type != "request" {
		o.left = true
	}
	switch {
	case left && e.Type != "metadata":
	case e.Asked || len(o.held) > 0:
		if !left {
			o.held = append(o.held, e)
		}
	case !left:
		stay = append(stay, e)
	}
	if e.Type == "metadata" {
		stay = append(stay, o.flush(true)...)
	}
	return stay
}

// flush gives the held records. Those that were asked for stay if whose they are is known
// and that page does not opt out.
func (o *optOutFilter) flush(known bool) (stay []store.Entry) {
	gone := map[string]bool{}
	for _, e := range o.held {
		if e.Asked && (o.left || !known) {
			gone[e.ID] = true
		}
		if !gone[e.ID] && !(e.Beside != "" && gone[e.Beside]) {
			stay = append(stay, e)
		}
	}
	o.held = nil
	return stay
}

// allEntries are the records of the archive of a collection, in their order.
func (in *Input) allEntries(ctx context.Context, s *survey, i int, c collection.Collection, g *gaps) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		paths, err := c.ArchiveFiles()
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		for e, err := range store.Index(paths...) {
			var damage *store.Damage
			switch {
			case ctx.Err() != nil:
				yield(store.Entry{}, ctx.Err())
				return
			case errors.As(err, &damage):
				if !damage.Torn || s.crawl[i].ended {
					g.add(err)
				}
				continue
			case err != nil:
				yield(store.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// archive copies the records of all collections that are exported: for each WARC file
// with records, create gives what it is written to. note is told each record as it
// lies in the copy, with the name of that. Of a round the records of earlier rounds
// follow that hold the bodies which its revisit records refer to.
//
// Records are copied byte for byte; what is damaged, or left out, is not there.
func (in *Input) archive(ctx context.Context, s *survey, g *gaps, create func(name string) (io.Writer, error), note func(store.Entry, string) error) error {
	a := archiveCopy{g: g, create: create, note: note}
	defer a.close()
	for i, c := range in.Collections {
		prefix := ""
		if len(in.Collections) > 1 {
			prefix = fmt.Sprintf("%d-", i+1)
		}
		bodies := map[uint64]bool{} // by the hashes of the ids of their records
		for e, err := range in.entries(ctx, s, i, c, g) {
			if err != nil {
				return err
			}
			if e.Type == "revisit" {
				bodies[xxh3.HashString(e.Of)] = true
			}
			if err := a.add(e, prefix); err != nil {
				return err
			}
		}
		if err := in.earlier(ctx, c, bodies, prefix, &a); err != nil {
			return err
		}
	}
	return nil
}

// earlier copies the records of the rounds before c that hold bodies. What another of the
// collections holds is copied with that.
func (in *Input) earlier(ctx context.Context, c collection.Collection, bodies map[uint64]bool, prefix string, a *archiveCopy) error {
	before, err := c.RoundsBefore()
	if err != nil {
		return err
	}
	for n, round := range slices.Backward(before) {
		if len(bodies) == 0 {
			return nil
		}
		paths, err := round.ArchiveFiles()
		if err != nil {
			return err
		}
		whole := slices.ContainsFunc(in.Collections, func(other collection.Collection) bool { return sameFolder(other.Dir(), round.Dir()) })
		for e, err := range store.Index(paths...) {
			var damage *store.Damage
			switch id := xxh3.HashString(e.ID); {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.As(err, &damage):
				continue // what is missed for it is told below
			case err != nil:
				return err
			case e.Type == "response" && bodies[id]:
				delete(bodies, id)
				if whole {
					continue
				}
				if err := a.add(e, fmt.Sprintf("%sround-%d-", prefix, n)); err != nil {
					return err
				}
			}
		}
	}
	if n := len(bodies); n > 0 {
		a.g.add(fmt.Errorf("%s: the bodies of %s in no archive of an earlier round: put the folders of these back", c.Dir(), counted(n, "page that was as before are", "pages that were as before are")))
	}
	return nil
}

// sameFolder tells whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// archiveCopy copies records, file by file.
type archiveCopy struct {
	g       *gaps
	create  func(name string) (io.Writer, error)
	note    func(store.Entry, string) error
	src     *os.File
	out     io.Writer
	name    string
	written int64
}

func (a *archiveCopy) close() {
	if a.src != nil {
		a.src.Close() // it was only read
	}
}

// add copies a record. The copy of its file is named as that is, behind prefix.
func (a *archiveCopy) add(e store.Entry, prefix string) (err error) {
	if e.Length == 0 {
		a.g.add(fmt.Errorf("%s, offset %d: the record of %.200q shares a gzip member with others and was left out: zip the file record by record", e.File, e.Offset, e.Target))
		return nil
	}
	if name := prefix + filepath.Base(e.File); a.src == nil || a.src.Name() != e.File || a.name != name {
		a.close()
		if a.src, err = os.Open(e.File); err != nil {
			return err
		}
		a.name, a.written = name, 0
		if a.out, err = a.create(a.name); err != nil {
			return err
		}
	}
	if _, err := io.Copy(a.out, io.NewSectionReader(a.src, e.Offset, e.Length)); err != nil {
		return err
	}
	e.Offset, a.written = a.written, a.written+e.Length
	return a.note(e, a.name)
}
