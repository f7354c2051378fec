package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
)

// A bag is a zip file of one folder:
//
//	bag/bagit.txt                 the version
//	bag/bag-info.txt              what it holds, of when, how much
//	bag/data/archive/*.warc.gz    the records
//	bag/data/harvest.tsv          the relevant pages
//	bag/data/events.jsonl         the log, whole lines
//	bag/data/job.yaml, …          what the crawl was told
//	bag/manifest-sha256.txt       the checksums of data
//	bag/tagmanifest-sha256.txt    the checksums of the other files
//
// Of several collections each has a folder of its own in data, but for harvest.tsv and
// archive. Without opt-outs, the log stays out, as it tells of pages that opt out.
//
// Source: RFC 8493, BagIt 1.0.
func writeBag(ctx context.Context, in *Input, out io.Writer) error {
	s, err := in.look(ctx)
	if err != nil {
		return err
	}
	var g gaps
	z := newZipFile(out, s.last)
	err = in.archive(ctx, s, &g,
		func(name string) (io.Writer, error) { return z.create("bag/data/archive/"+name, true) },
		func(store.Entry, string) error { return nil })
	if err != nil {
		return err
	}
	w, err := z.create("bag/data/harvest.tsv", false)
	if err != nil {
		return err
	}
	if err := writeHarvest(ctx, in, w); errors.Is(err, ErrPartial) {
		g.add(err)
	} else if err != nil {
		return err
	}
	for i, c := range in.Collections {
		place := "bag/data/"
		if len(in.Collections) > 1 {
			place += fmt.Sprintf("%d-", i+1)
		}
		if err := bagFiles(z, in, c, place, len(in.Collections) > 1); err != nil {
			return err
		}
	}
	z.end()
	payload := len(z.files)
	var manifest bytes.Buffer
	total := int64(0)
	for _, f := range z.files {
		fmt.Fprintf(&manifest, "%s  %s\n", f.sha256, strings.TrimPrefix(f.path, "bag/"))
		total += f.bytes
	}
	for _, f := range []struct{ name, content string }{
		{"bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"},
		{"bag-info.txt", fmt.Sprintf("External-Description: %s\nBagging-Date: %s\nPayload-Oxum: %d.%d\nBag-Software-Agent: waggle, https://github.com/waggle-crawler/waggle\n",
			in.title(s), z.at.Format("2006-01-02"), total, payload)},
		{"manifest-sha256.txt", manifest.String()},
	} {
		if err := z.add("bag/"+f.name, []byte(f.content)); err != nil {
			return err
		}
	}
	z.end()
	var tags bytes.Buffer
	for _, f := range z.files[payload:] {
		fmt.Fprintf(&tags, "%s  %s\n", f.sha256, strings.TrimPrefix(f.path, "bag/"))
	}
	if err := z.add("bag/tagmanifest-sha256.txt", tags.Bytes()); err != nil {
		return err
	}
	if err := z.close(); err != nil {
		return err
	}
	return g.err()
}

// bagFiles adds the files of a collection beside archive and harvest.
func bagFiles(z *zipFile, in *Input, c collection.Collection, place string, several bool) error {
	if several {
		place += event.Line(strings.Map(plainName, folderName(c))) + "/"
	}
	files := []string{c.JobFile(), c.ExampleFile(), c.ProvenanceFile(), c.LostFile()}
	if !in.WithoutOptOuts {
		files = append(files, c.EventLog())
	}
	for _, name := range files {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = func() error {
			out, err := z.create(place+filepath.Base(name), false)
			if err != nil {
				return err
			}
			if name != c.EventLog() {
				_, err = io.Copy(out, f)
				return err
			}
			return copyLines(out, f)
		}()
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// plainName keeps what may stand in the name of a file anywhere, and in a manifest.
func plainName(r rune) rune {
	if strings.ContainsRune(`/\:*?"<>|%`, r) || r < ' ' {
		return '_'
	}
	return r
}

// copyLines copies the whole lines of a file that may still grow.
func copyLines(out io.Writer, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end := info.Size()
	for b := make([]byte, 64<<10); end > 0; {
		part := b[:min(end, int64(len(b)))]
		if _, err := f.ReadAt(part, end-int64(len(part))); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			end -= int64(len(part) - i - 1)
			break
		}
		end -= int64(len(part))
	}
	_, err = io.Copy(out, io.NewSectionReader(f, 0, end))
	return err
}
