package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
)

// Open reads what was written since the last Sync, and the first record of each
// file, and refuses what is damaged there without changing anything. The rest is
// for Verify to read.
func TestDamagedAtOpening(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{MaxFile: 9000})
	var mark []byte
	var synced int64
	page := func(i int) []byte {
		return encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), strings.Repeat("<p>Hello", i)))
	}
	for i := range 9 {
		mark = appendTo(t, a, page(i))
		if i == 7 {
			if err := a.Sync(); err != nil {
				t.Fatal(err)
			}
			synced = a.size
		}
	}
	if a.number < 1 || synced == 0 || a.size <= synced {
		t.Fatalf("the archive ends at %s, synced up to %d", mark, synced)
	}
	last := paths(t, dir)[a.number]
	whole, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 13 {
		b := bytes.Clone(whole)
		b[at] ^= 4
		if err := os.WriteFile(last, b, 0o644); err != nil {
			t.Fatal(err)
		}
		o, err := Open(dir, Options{Mark: mark})
		if err == nil {
			o.Close()
		}
		var damage *Damage
		if int64(at) >= synced && !errors.As(err, &damage) && !harmless(whole, b) {
			t.Fatalf("byte %d of %d damaged, synced up to %d: %v", at, len(whole), synced, err)
		}
		if err != nil && (!errors.As(err, &damage) || damage.File != last) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if left, err := os.ReadFile(last); err != nil || !bytes.Equal(left, b) {
			t.Fatalf("byte %d: the file was changed (%v)", at, err)
		}
		if rep, err := Verify(nil, last); err != nil || rep.OK() && !harmless(whole, b) {
			t.Fatalf("byte %d: Verify says %+v, %v", at, rep, err)
		}
	}
	if err := os.WriteFile(last, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	for bad := range 2 { // an archive of an earlier version tells the same of its end
		if bad == 1 {
			whole[len(whole)-100] ^= 1
			if err := os.WriteFile(last, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o, err := Open(dir, Options{Mark: fmt.Appendf(nil, "warc 1 %d %d", a.number, len(whole))})
		if (err == nil) != (bad == 0) {
			t.Errorf("version 1, %d bytes damaged: %v", bad, err)
		}
		if err == nil {
			o.Close()
		}
	}
}

// A response that is read at its place is as it was written or is told as damaged, also where
// what is damaged still decodes to as many bytes.
func TestDamagedResponse(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	x := pageExchange(t, "https://example.org/", "<p>cars have engines and wheels, <a href=/2>left</a> <a href=/3>right</a>, and cars")
	appendTo(t, a, encode(t, a, x))
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(paths(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	var offset, end int64 // of the response
	for rec, err := range NewReader("f", bytes.NewReader(whole), int64(len(whole))).All() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type() == "response" {
			offset = rec.Offset
		} else if offset > 0 && end == 0 {
			end = rec.Offset
		}
	}
	told := 0
	for at := offset + 10; at < end; at++ { // behind the header of the gzip member
		for _, n := range []int64{1, 40} {
			b := bytes.Clone(whole)
			for i := at; i < min(at+n, end); i++ {
				b[i] ^= 0x55
			}
			p, _, err := NewReader("f", bytes.NewReader(b), int64(len(b))).ResponseAt(offset, 0, 1<<20)
			var damage *Damage
			switch {
			case errors.As(err, &damage) && damage.Offset == offset:
				told++
			case err != nil:
				t.Fatalf("byte %d: %v", at, err)
			case !bytes.Equal(p.Body, x.Response.Body) || !harmless(whole, b):
				t.Fatalf("%d bytes damaged from byte %d of the response: read as\n%s", n, at-offset, p.Body)
			}
		}
	}
	if told == 0 {
		t.Fatal("nothing was damaged")
	}
}

// A response in a file without checksums is read whatever follows it.
func TestResponseBeforeDamage(t *testing.T) {
	for _, torn := range []string{"", "WAR", "\x00\x00\x00\x00\x00\x00\x00\x00"} {
		file := foreign + torn
		at := int64(strings.LastIndex(file, "WARC/1.0"))
		p, _, err := NewReader("f", strings.NewReader(file), int64(len(file))).ResponseAt(at, 0, 1<<20)
		if err != nil || string(p.Body) != "abc" {
			t.Errorf("before %q: %+v, %v", torn, p, err)
		}
	}
}

// harmless tells whether two files hold the same records: a bit of a gzip header
// may mean nothing.
func harmless(a, b []byte) bool {
	var read [2][]byte
	for i, file := range [][]byte{a, b} {
		for rec, err := range NewReader("", bytes.NewReader(file), int64(len(file))).All() {
			if err != nil {
				return false
			}
			block, err := io.ReadAll(rec.Block)
			if err != nil {
				return false
			}
			read[i] = append(fmt.Appendf(read[i], "%v", rec.Fields), block...)
		}
	}
	return bytes.Equal(read[0], read[1])
}

// Behind counts what lies behind a mark, up to two exchanges.
func TestBehind(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{MaxFile: 3000})
	marks := [][]byte{a.Mark()}
	for i := range 6 {
		marks = append(marks, appendTo(t, a, encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), "<p>Hello"))))
	}
	for i, mark := range marks {
		if n, err := Behind(dir, Options{Mark: mark}); err != nil || n != min(2, len(marks)-1-i) {
			t.Errorf("behind mark %d: %d, %v", i, n, err)
		}
	}
	last := paths(t, dir)[a.number]
	all, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "waggle-20240101.warc.gz"), all, 0o444); err != nil { // a copy that somebody made
		t.Fatal(err)
	}
	if n, err := Behind(dir, Options{Mark: marks[len(marks)-1]}); err != nil || n != 0 {
		t.Errorf("beside a file of somebody else: %d behind the last mark, %v", n, err)
	}
	if err := os.Truncate(last, a.size-1); err != nil { // killed in the middle of a write
		t.Fatal(err)
	}
	if n, err := Behind(dir, Options{Mark: marks[5]}); err != nil || n != 0 {
		t.Errorf("behind the mark before a torn exchange: %d, %v", n, err)
	}
}

// counted counts the bytes that are read of a file.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n += n
	return n, err
}

// Where each few bytes look like the start of another record, each costs little.
func TestManyDamages(t *testing.T) {
	const lines = 1000
	data := strings.Repeat("WARC/1.\n", lines) + strings.Repeat("x", window)
	file := &counted{ReaderAt: strings.NewReader(data)}
	damages := 0
	used := allocated.By(func() {
		for _, err := range NewReader("f", file, int64(len(data))).All() {
			if err != nil {
				damages++
			}
		}
	})
	if damages != lines {
		t.Errorf("%d damages, want %d", damages, lines)
	}
	if used > lines*glance {
		t.Errorf("%d bytes allocated", used)
	}
	if file.n > 3*lines*glance {
		t.Errorf("%d bytes read of %d", file.n, len(data))
	}
}
