package corpus

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/store"
)

func (x Crawl) feed(ctx context.Context, b *builder) error {
	earlier, err := x.earlier()
	if err != nil {
		return err
	}
	archive := filepath.Join(x.Dir, crawlArchive)
	if len(earlier) == 0 {
		return WARCs{[]string{archive}}.feed(ctx, b)
	}
	files, err := store.Paths(archive)
	if err != nil {
		return err
	}
	bodies, err := findBodies(ctx, b, files, earlier)
	if err != nil {
		return err
	}
	defer bodies.close()
	lost, err := WARCs{}.records(ctx, b, files, bodies)
	if err != nil {
		return err
	}
	switch {
	case lost == 1:
		b.note("the body of 1 page that was as before is in no archive of an earlier round: it is not served")
	case lost > 1:
		b.note("the bodies of %s pages that were as before are in no archive of an earlier round: they are not served", terminal.Number(lost))
	}
	return nil
}

// earlier are the archives of the rounds before that of the folder, the last one first.
func (x Crawl) earlier() (archives []string, err error) {
	first, n, err := store.RoundAt(x.Dir)
	if err != nil || n == 0 {
		return nil, err
	}
	for i := n - 1; i > 0; i-- {
		archives = append(archives, filepath.Join(first, store.RoundsDir, store.RoundName(i), crawlArchive))
	}
	return append(archives, filepath.Join(first, crawlArchive)), nil
}

// earlierBodies are the responses of earlier rounds whose bodies the archive of a round refers
// to. nil has none.
type earlierBodies struct {
	at   map[string]store.Entry // by the id of the record
	open map[string]bodyFile    // by path
}

type bodyFile struct {
	*os.File
	*store.Reader
}

// findBodies finds what the revisits in files refer to, in the archives of earlier rounds.
func findBodies(ctx context.Context, b *builder, files, earlier []string) (*earlierBodies, error) {
	wanted := map[string]bool{}
	for e, err := range store.Index(files...) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && e.Type == "revisit" {
			wanted[e.Of] = true
		}
	} // what is wrong with these files is told when they are read
	x := &earlierBodies{at: map[string]store.Entry{}, open: map[string]bodyFile{}}
	for _, dir := range earlier {
		if len(x.at) == len(wanted) {
			break // what is older need not be read
		}
		list, err := store.Paths(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for e, err := range store.Index(list...) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if damage := (*store.Damage)(nil); errors.As(err, &damage) {
				b.note("damaged, left out: %v", damage)
				continue
			}
			if err != nil {
				return nil, err
			}
			if _, found := x.at[e.ID]; !found && e.Type == "response" && wanted[e.ID] {
				x.at[e.ID] = e
			}
		}
	}
	return x, nil
}

func (x *earlierBodies) close() {
	for f := range maps.Values(x.open) {
		f.File.Close() // it was read only
	}
}

// whole is a revisit as a response, with the body that it refers to: the record of that with the
// name and the moment of the revisit, so that it is the last version of the page, and what a browser
// made of it in the same round goes with it. ok is false where the body cannot be had; then the
// revisit is as it was.
func (x *earlierBodies) whole(revisit read) (whole read, ok bool) {
	if x == nil {
		return revisit, false
	}
	e, ok := x.at[revisit.Get("WARC-Refers-To")]
	if !ok {
		return revisit, false
	}
	f, ok := x.open[e.File]
	if !ok {
		file, err := os.Open(e.File)
		if err != nil {
			return revisit, false
		}
		info, err := file.Stat()
		if err != nil {
			file.Close()
			return revisit, false
		}
		f = bodyFile{file, store.NewReader(e.File, file, info.Size())}
		x.open[e.File] = f
	}
	before, err := f.At(e.Offset, e.Inner)
	if err != nil || before.Length > maxBody {
		return revisit, false
	}
	block, err := io.ReadAll(before.Block)
	if err != nil {
		return revisit, false
	}
	rec := *before
	rec.File, rec.Offset = revisit.File, revisit.Offset
	// Of the revisit: which record it is, and who was spoken to, how and when, as what.
	own := []string{"WARC-Record-ID", "WARC-Date", "WARC-IP-Address", "WARC-Protocol", "WARC-Resource-Type"}
	is := func(f store.Field) bool {
		return slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, f.Name) })
	}
	rec.Fields = slices.DeleteFunc(slices.Clone(before.Fields), is)
	for _, f := range revisit.Fields {
		if is(f) {
			rec.Fields = append(rec.Fields, f)
		}
	}
	return read{&rec, block}, true
}
