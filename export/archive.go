package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// entries are the records of the archive of a collection that are exported, in their
// order. The record that a running crawl is writing is no damage.
func (in *Input) entries(ctx context.Context, s *survey, i int, c collection.Collection, g *gaps) iter.Seq2[store.Entry, error] {
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
			if u, err := web.Parse(e.Target); err == nil && s.left(in, u) {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// archive copies the records of all collections that are exported: for each WARC file
// with records, create gives what it is written to. note is told each record as it
// lies in the copy, with the name of that.
//
// Records are copied byte for byte; what is damaged, or left out, is not there.
func (in *Input) archive(ctx context.Context, s *survey, g *gaps, create func(name string) (io.Writer, error), note func(store.Entry, string) error) error {
	for i, c := range in.Collections {
		var src *os.File
		var out io.Writer
		var name string
		var written int64
		err := func() error {
			for e, err := range in.entries(ctx, s, i, c, g) {
				if err != nil {
					return err
				}
				if e.Length == 0 {
					g.add(fmt.Errorf("%s, offset %d: the record of %.200q shares a gzip member with others and was left out: zip the file record by record", e.File, e.Offset, e.Target))
					continue
				}
				if src == nil || src.Name() != e.File {
					if src != nil {
						src.Close() // it was only read
					}
					if src, err = os.Open(e.File); err != nil {
						return err
					}
					if name = filepath.Base(e.File); len(in.Collections) > 1 {
						name = fmt.Sprintf("%d-%s", i+1, name)
					}
					if out, err = create(name); err != nil {
						return err
					}
					written = 0
				}
				if _, err := io.Copy(out, io.NewSectionReader(src, e.Offset, e.Length)); err != nil {
					return err
				}
				e.Offset, written = written, written+e.Length
				if err := note(e, name); err != nil {
					return err
				}
			}
			return nil
		}()
		if src != nil {
			src.Close() // it was only read
		}
		if err != nil {
			return err
		}
	}
	return nil
}
