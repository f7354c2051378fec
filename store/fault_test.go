package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// memory is a file system that can fail at any operation and forget, as a
// power failure does, what was not synced.
type memory struct {
	files map[string]*memFile // by path
	known map[string]bool     // paths that SyncDir has made last
	fail  func(op string) (keep int, err error)
	ops   int
}

type memFile struct {
	m            *memory
	data, synced []byte
}

var errCrash = errors.New("crashed")

func newMemory() *memory { return &memory{files: map[string]*memFile{}, known: map[string]bool{}} }

func (m *memory) step(op string) (int, error) {
	m.ops++
	if m.fail == nil {
		return 0, nil
	}
	return m.fail(op)
}

func (m *memory) MkdirAll(string) error { return nil }

func (m *memory) List(dir string) (list []FileInfo, err error) {
	for path, f := range m.files {
		if filepath.Dir(path) == dir {
			list = append(list, FileInfo{filepath.Base(path), int64(len(f.data))})
		}
	}
	return list, nil
}

func (m *memory) Create(path string) (File, error) {
	if _, err := m.step("create"); err != nil {
		return nil, err
	}
	if m.files[path] != nil {
		return nil, fs.ErrExist
	}
	m.files[path] = &memFile{m: m}
	return m.files[path], nil
}

func (m *memory) Open(path string) (File, error) {
	if f := m.files[path]; f != nil {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

func (m *memory) Remove(path string) error {
	if _, err := m.step("remove"); err != nil {
		return err
	}
	delete(m.files, path)
	return nil
}

func (m *memory) SyncDir(string) error {
	if _, err := m.step("syncdir"); err != nil {
		return err
	}
	for path := range m.files {
		m.known[path] = true
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, at int64) (int, error) {
	keep, err := f.m.step("write")
	if err != nil {
		p = p[:min(keep, len(p))]
	}
	if end := int(at) + len(p); end > len(f.data) {
		f.data = append(f.data, make([]byte, end-len(f.data))...)
	}
	copy(f.data[at:], p)
	return len(p), err
}

func (f *memFile) Truncate(n int64) error {
	if _, err := f.m.step("truncate"); err != nil {
		return err
	}
	f.data = f.data[:n]
	return nil
}

func (f *memFile) Sync() error {
	if _, err := f.m.step("sync"); err != nil {
		return err
	}
	f.synced = append([]byte(nil), f.data...)
	return nil
}

func (f *memFile) Close() error { return nil }

// powerFailure forgets what was not synced, or keeps a random part of it.
func (m *memory) powerFailure(rnd *rand.Rand) {
	for path, f := range m.files {
		if !m.known[path] && rnd.IntN(2) == 0 {
			delete(m.files, path)
			continue
		}
		if n := len(f.data) - len(f.synced); n > 0 {
			f.data = f.data[:len(f.synced)+rnd.IntN(n+1)]
			for i := len(f.synced); i < len(f.data); i++ {
				if rnd.IntN(50) == 0 {
					f.data[i] = 0
				}
			}
		} else {
			f.data = append([]byte(nil), f.synced...)
		}
	}
}

func (m *memory) save(t testing.TB, dir string) {
	t.Helper()
	for path, f := range m.files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), f.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCrash lets an archive crash at each of its file operations in turn, with
// a part of the interrupted write done, opens it again at the last mark that
// was acknowledged, and goes on until all pages are kept. No acknowledged
// record may be lost, none be kept twice, and every record must read.
func TestCrash(t *testing.T) {
	const pages = 12
	total := 0 // operations of a run that is left alone
	for at := 0; at == 0 || at <= total; at++ {
		for _, power := range []bool{false, true} {
			rnd := rand.New(rand.NewPCG(uint64(at), 1))
			m := newMemory()
			run := func(mark []byte, acknowledged int) ([]byte, int, error) {
				a, err := Open("dir", Options{Files: m, MaxFile: 4000, Mark: mark})
				if err != nil {
					return mark, acknowledged, err
				}
				for i := acknowledged; i < pages; i++ {
					next, err := a.Append(encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), strings.Repeat("word ", i))))
					if err != nil {
						return mark, acknowledged, err
					}
					if power { // what is acknowledged must then be synced
						if err := a.Sync(); err != nil {
							return mark, acknowledged, err
						}
					}
					mark, acknowledged = next, i+1
				}
				return mark, acknowledged, a.Close()
			}
			if at > 0 {
				m.fail = func(string) (int, error) {
					if m.ops >= at {
						return rnd.IntN(3000), errCrash
					}
					return 0, nil
				}
			}
			mark, done, err := run(StartMark(), 0)
			if at == 0 {
				if err != nil {
					t.Fatal(err)
				}
				total = max(total, m.ops)
			} else if m.ops >= at {
				if !errors.Is(err, errCrash) {
					t.Fatalf("crash at operation %d: %v", at, err)
				}
				m.fail = nil
				if power {
					m.powerFailure(rnd)
				}
				if _, done, err = run(mark, done); err != nil {
					t.Fatalf("after a crash at operation %d (power %v): %v", at, power, err)
				}
			}
			dir := t.TempDir()
			m.save(t, dir)
			rep, err := Verify(nil, paths(t, dir)...)
			if err != nil || !rep.OK() {
				t.Fatalf("after a crash at operation %d (power %v): %+v, %v", at, power, rep, err)
			}
			got := targets(t, dir)
			if len(got) != pages || done != pages {
				t.Fatalf("after a crash at operation %d (power %v): %d pages kept: %v", at, power, len(got), got)
			}
			for i, u := range got {
				if want := fmt.Sprintf("https://example.org/%d", i); u != want {
					t.Fatalf("page %d is %s", i, u)
				}
			}
		}
	}
	t.Logf("crashed at each of %d operations, by kill and by power failure", total)
}

// What Open cuts off is off the disk before anything is written in its place: else a power failure could
// bring records of before back, among those that replaced them.
func TestCutIsSynced(t *testing.T) {
	m := newMemory()
	a, err := Open("dir", Options{Files: m, Mark: StartMark()})
	if err != nil {
		t.Fatal(err)
	}
	var marks [][]byte
	for i := range 2 {
		mark, err := a.Append(encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), "")))
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, mark)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var ops []string
	m.fail = func(op string) (int, error) {
		ops = append(ops, op)
		return 0, nil
	}
	if a, err = Open("dir", Options{Files: m, Mark: marks[0]}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ops, " "); got != "truncate sync" {
		t.Errorf("opened by: %s", got)
	}
	for path, f := range m.files {
		if len(f.synced) != len(f.data) || int64(len(f.data)) != a.size {
			t.Errorf("%s: %d bytes, %d on the disk, %d are the archive's", path, len(f.data), len(f.synced), a.size)
		}
	}
}

// badSector is a file of which one place cannot be read.
type badSector struct {
	File
	at int64
}

func (f badSector) ReadAt(p []byte, at int64) (int, error) {
	if at <= f.at && f.at < at+int64(len(p)) {
		return 0, &fs.PathError{Op: "read", Path: "a", Err: syscall.EIO}
	}
	return f.File.ReadAt(p, at)
}

type badSectors struct {
	Files
	at int64
}

func (d badSectors) Open(path string) (File, error) {
	f, err := d.Files.Open(path)
	return badSector{f, d.at}, err
}

// What the disk does not give may be whole: nothing is cut off there.
func TestBadSectorIsNoTornTail(t *testing.T) {
	m := newMemory()
	a, err := Create("a", Options{Files: m})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		body := make([]byte, 2000)
		for j := range body {
			body[j] = byte(rand.Uint32())
		}
		appendTo(t, a, encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), string(body))))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	file := m.files[filepath.Join("a", a.name(0))]
	size := len(file.data)
	for _, at := range []int64{10, int64(size / 3), int64(size - 10)} {
		if _, err := Open("a", Options{Files: badSectors{m, at}}); !errors.Is(err, syscall.EIO) {
			t.Errorf("a bad sector at %d of %d: %v", at, size, err)
		}
		if file := m.files[filepath.Join("a", a.name(0))]; file == nil || len(file.data) != size {
			t.Fatalf("a bad sector at %d: the file was cut", at)
		}
	}
	damages, records := 0, 0
	for _, err := range NewReader("a", badSector{file, int64(size / 3)}, int64(size)).All() {
		if err != nil {
			damages++
		} else {
			records++
		}
	}
	if damages != 1 || records < 400 {
		t.Errorf("a bad sector gives %d damages, and %d records are read", damages, records)
	}
}

// A file of somebody else, of the same form of name, is not the one that is synced.
func TestSyncLastSyncsItsOwn(t *testing.T) {
	m := newMemory()
	a, err := Create("a", Options{Files: m})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, a, encode(t, a, pageExchange(t, "https://example.org/", "<p>Hello")))
	m.files[filepath.Join("a", a.name(20240101))] = &memFile{m: m, data: []byte("foreign")}
	if err := SyncLast("a", Options{Files: m}); err != nil {
		t.Fatal(err)
	}
	if own := m.files[filepath.Join("a", a.name(0))]; len(own.synced) != len(own.data) {
		t.Error("the file of the archive is not synced")
	}
}
