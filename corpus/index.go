package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// The index of a recorded web is text:
//
//	waggle index 1
//	file NAME SIZE MTIME                              a line for each WARC file; ns
//	page FILE OFFSET INNER STATUS MIME ADDRESS        FILE counts from 0; sorted by address
//	end CRC                                           of all before; crc32 (IEEE), hexadecimal
//
// Fields are parted by tabs. It is made anew whenever anything in it does not
// fit, so it needs no repair.
const (
	indexName  = "index.txt"
	indexMagic = "waggle index 1\n"
)

// loadIndex fills pages and order: from the index file where that fits the
// WARC files, else from these, and then writes the file. A folder that cannot
// be written to is no error.
func (w *Web) loadIndex() error {
	path := filepath.Join(w.dir, indexName)
	stamp, err := w.stamp()
	if err != nil {
		return err
	}
	if data, err := os.ReadFile(path); err == nil && w.parseIndex(data, stamp) {
		return nil
	}
	if err := w.scan(); err != nil {
		return err
	}
	return writeWhole(path, w.formatIndex(stamp))
}

// stamp is the part of an index that tells which files it is of.
func (w *Web) stamp() ([]byte, error) {
	b := []byte(indexMagic)
	for _, f := range w.files {
		info, err := f.f.Stat()
		if err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, "file\t%s\t%d\t%d\n", filepath.Base(f.path), info.Size(), info.ModTime().UnixNano())
	}
	return b, nil
}

// Hash is a hash of all that is recorded: of the bytes of the WARC files and of
// the rules for addresses, if there are any, and so the same for a copy of the
// web. It reads them once, which takes about as long
// as the disk does.
func (w *Web) Hash() (uint64, error) {
	h := xxh3.New()
	if w.Addresses != (Addresses{}) {
		fmt.Fprintf(h, "%+v\n", w.Addresses)
	}
	for _, f := range w.files {
		info, err := f.f.Stat()
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(h, "%d\n", info.Size())
		if _, err := io.Copy(h, io.NewSectionReader(f.f, 0, info.Size())); err != nil {
			return 0, fmt.Errorf("recorded web %s: %w", w.dir, err)
		}
	}
	return h.Sum64(), nil
}

func (w *Web) formatIndex(stamp []byte) []byte {
	var b bytes.Buffer
	b.Write(stamp)
	for _, address := range w.order {
		p := w.pages[address]
		fmt.Fprintf(&b, "page\t%d\t%d\t%d\t%d\t%s\t%s\n", p.file, p.offset, p.inner, p.status, p.mime, address)
	}
	fmt.Fprintf(&b, "end\t%08x\n", crc32.ChecksumIEEE(b.Bytes()))
	return b.Bytes()
}

// parseIndex reads an index and tells whether it fits.
func (w *Web) parseIndex(data, stamp []byte) bool {
	body, ok := bytes.CutPrefix(data, stamp)
	if !ok {
		return false
	}
	end := bytes.LastIndex(data, []byte("\nend\t")) + 1
	if end == 0 || string(data[end:]) != fmt.Sprintf("end\t%08x\n", crc32.ChecksumIEEE(data[:end])) {
		return false
	}
	text := string(body[:len(body)-(len(data)-end)])
	n := strings.Count(text, "\n")
	pages := make(map[string]place, n)
	order := make([]string, 0, n)
	mimes := map[string]string{} // so that equal ones share memory
	for line := range strings.Lines(text) {
		var f [7]string
		for i := range f[:6] {
			f[i], line, _ = strings.Cut(line, "\t")
		}
		f[6] = strings.TrimSuffix(line, "\n")
		file, e1 := strconv.Atoi(f[1])
		offset, e2 := strconv.ParseInt(f[2], 10, 64)
		inner, e3 := strconv.ParseInt(f[3], 10, 64)
		status, e4 := strconv.ParseInt(f[4], 10, 16)
		if f[0] != "page" || errors.Join(e1, e2, e3, e4) != nil || file < 0 || file >= len(w.files) {
			return false
		}
		mime, ok := mimes[f[5]]
		if !ok {
			mime = strings.Clone(f[5])
			mimes[mime] = mime
		}
		pages[f[6]] = place{int32(file), int16(status), offset, inner, mime}
		order = append(order, f[6])
	}
	w.pages, w.order = pages, order
	return true
}

// scan reads all WARC files. Of several responses of one address the latest
// counts; of equally late ones the last. A page comes before what another page asked for at
// its address. The place of a page that was rendered is that of its rendering, which its
// response follows.
func (w *Web) scan() error {
	w.pages = map[string]place{}
	dates := map[string]time.Time{}
	asked := map[string]bool{} // what only a page asked for
	if len(w.files) > math.MaxInt32 {
		return fmt.Errorf("recorded web %s: %d WARC files are too many", w.dir, len(w.files))
	}
	for i, file := range w.files {
		var rendered store.Entry // the conversion before a response
		for e, err := range store.Index(file.path) {
			if err == nil && e.Type == "conversion" {
				rendered = e
				continue
			}
			if err != nil {
				return fmt.Errorf("recorded web %s is damaged: build it again, or from these files with waggle web build, which leaves damaged records out: %w", w.dir, err)
			}
			if e.Type != "response" && e.Type != "resource" || e.Status < 100 || e.Status > 999 {
				continue
			}
			u, err := web.Parse(e.Target)
			if err != nil {
				continue // dns: and the like
			}
			address := u.String()
			if before, ok := dates[address]; ok && (asked[address] == e.Asked && e.Date.Before(before) || e.Asked && !asked[address]) {
				continue
			}
			dates[address], asked[address] = e.Date, e.Asked
			if e.ID == rendered.Of && rendered.Of != "" {
				e.Offset, e.Inner = rendered.Offset, rendered.Inner
			}
			w.pages[address] = place{int32(i), int16(e.Status), e.Offset, e.Inner, clean(e.MIME)}
		}
	}
	w.order = make([]string, 0, len(w.pages))
	for address := range w.pages {
		w.order = append(w.order, address)
	}
	slices.Sort(w.order)
	return nil
}

// clean keeps a media type in one field of the index.
func clean(mime string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return -1
		}
		return r
	}, mime)
}

// writeWhole writes a file so that it is there whole or as before; where the
// folder does not allow writing it does nothing.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".index-*")
	if err != nil {
		return nil // read-only
	}
	bw := bufio.NewWriter(f)
	bw.Write(data)
	err = errors.Join(bw.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
