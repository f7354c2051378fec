package collection

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// listLost writes lost.txt: the pages that the log tells of and the archive does
// not hold, an address a line.
func (w *Writer) listLost(note func(string)) error {
	kept := map[string]bool{}
	for r, err := range w.records() {
		var damage *store.Damage
		if errors.As(err, &damage) {
			continue // what it held is lost
		}
		if err != nil {
			return err
		}
		if r.Type() == "response" {
			kept[r.Target()] = true
		}
	}
	n := 0
	err := folder.WriteFrom(w.LostFile(), func(out io.Writer) error {
		list := bufio.NewWriter(out)
		for p, err := range w.Fetched() {
			if err != nil {
				return err
			}
			if !kept[p.URL.String()] && p.Reason != web.ReasonNoIndex && !p.Directives.NoArchive {
				n++
				fmt.Fprintln(list, p.URL)
			}
		}
		return list.Flush()
	})
	if err != nil {
		return err
	}
	note(fmt.Sprintf("%d pages are lost; lost.txt lists them, but for those of which the log was lost too", n))
	return nil
}

// remind tells a frontier that lost the end of its memory which addresses are
// done, by the log.
func remind(ctx context.Context, f crawl.Frontier, events iter.Seq2[event.Event, error]) error {
	var done []web.URL
	tell := func(n int) error {
		if len(done) < n {
			return nil
		}
		_, err := f.Commit(ctx, web.Turn{Done: done})
		done = done[:0]
		return err
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case event.Fetched:
			done = append(done, e.URL)
		case event.Failed:
			if !e.Retry {
				done = append(done, e.URL)
			}
		}
		if err := tell(1000); err != nil {
			return err
		}
	}
	return tell(1)
}
