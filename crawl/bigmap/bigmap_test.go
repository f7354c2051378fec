package bigmap

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

const mostRecent = 1 << 14

// files makes files in a folder of their own, and counts those that are open.
type files struct {
	dir  string
	open int
	fail func() error // of creating, writing and reading; nil = none fails
}

type file struct {
	*os.File
	of *files
}

func (x *files) create() (File, error) {
	if err := x.failure(); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(x.dir, "run-*")
	if err != nil {
		return nil, err
	}
	x.open++
	return &file{f, x}, nil
}

func (x *files) failure() error {
	if x.fail == nil {
		return nil
	}
	return x.fail()
}

func (f *file) Write(b []byte) (int, error) {
	if err := f.of.failure(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	if err := f.of.failure(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

func (f *file) Close() error {
	f.of.open--
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}

// TestMap puts hashes, some of them again with other numbers, and asserts that a map in files
// says what a map in memory says.
func TestMap(t *testing.T) {
	x := &files{dir: t.TempDir()}
	m, want := New(mostRecent, x.create), map[uint64]uint64{}
	rng := rand.New(rand.NewPCG(1, 2))
	var hashes []uint64
	for range 6*mostRecent + 1000 {
		hash := rng.Uint64()
		if len(hashes) > 0 && rng.IntN(4) == 0 {
			hash = hashes[rng.IntN(len(hashes))]
		}
		hashes = append(hashes, hash)
		value := rng.Uint64()
		m.Put(hash, value)
		want[hash] = value
	}
	if len(m.runs) < 2 || len(m.recent) > mostRecent {
		t.Fatalf("%d runs and %d recent hashes: want some of both", len(m.runs), len(m.recent))
	}
	for hash, value := range want {
		if got, ok := m.Get(hash); got != value || !ok {
			t.Fatalf("%x: %d, %t, want %d", hash, got, ok, value)
		}
	}
	for range 10_000 {
		hash := rng.Uint64()
		if _, ok := m.Get(hash); ok {
			t.Fatalf("%x was never put", hash)
		}
	}
	for _, hash := range []uint64{0, 1<<64 - 1} {
		if _, ok := m.Get(hash); ok {
			t.Errorf("%x was never put", hash)
		}
	}
	if err := errors.Join(m.Err(), m.Close()); err != nil || x.open != 0 {
		t.Errorf("%v; %d files are open", err, x.open)
	}
	if left, _ := filepath.Glob(x.dir + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestMapInMemory asserts that nothing is lost without files.
func TestMapInMemory(t *testing.T) {
	m := New(mostRecent, nil)
	for i := range uint64(mostRecent + 10) {
		m.Put(i<<40, i)
	}
	for i := range uint64(mostRecent + 10) {
		if got, ok := m.Get(i << 40); got != i || !ok {
			t.Fatalf("%d: %d, %t", i, got, ok)
		}
	}
	if len(m.runs) != 0 {
		t.Errorf("%d runs", len(m.runs))
	}
}

// TestMapOnBadDisk has files that cannot be made, be written or be read now and then: what was
// put is found, or Err says why not.
func TestMapOnBadDisk(t *testing.T) {
	disk := errors.New("input/output error")
	for _, when := range []struct {
		name    string
		putting bool // it fails while hashes are put
		every   int  // so many operations, one fails
	}{
		{"none is written", true, 1},
		{"every second fails", true, 2},
		{"every tenth fails", true, 10},
		{"none is read", false, 1},
	} {
		t.Run(when.name, func(t *testing.T) {
			x := &files{dir: t.TempDir()}
			m := New(mostRecent, x.create)
			n := 0
			fail := func() error {
				if n++; n%when.every == 0 {
					return disk
				}
				return nil
			}
			if when.putting {
				x.fail = fail
			}
			rng := rand.New(rand.NewPCG(3, 4))
			var hashes []uint64
			for i := range uint64(5 * mostRecent) {
				hashes = append(hashes, rng.Uint64())
				m.Put(hashes[i], i)
			}
			if when.putting && n == 0 {
				t.Fatal("nothing failed")
			}
			x.fail = nil
			if !when.putting {
				x.fail = fail
			}
			for i, hash := range hashes {
				got, ok := m.Get(hash)
				switch {
				case ok && got != uint64(i):
					t.Fatalf("%x: %d, want %d", hash, got, i)
				case !ok && m.Err() == nil:
					t.Fatalf("%x is lost without a word", hash)
				}
			}
			if when.putting == (m.Err() != nil) {
				t.Errorf("Err: %v", m.Err())
			}
			if err := m.Close(); err != nil || x.open != 0 {
				t.Errorf("%v; %d files are open", err, x.open)
			}
		})
	}
}

// BenchmarkMap puts five million hashes after a look for each, and tells what is held then: 3.3
// bytes a hash, of which the map of those that came last is one.
func BenchmarkMap(b *testing.B) {
	const n, most = 5_000_000, 1 << 18
	for b.Loop() {
		x := &files{dir: b.TempDir()}
		m := New(most, x.create)
		rng := rand.New(rand.NewPCG(5, 6))
		for i := range uint64(n) {
			hash := rng.Uint64()
			if _, ok := m.Get(hash); ok {
				b.Fatal("a hash twice")
			}
			m.Put(hash, i)
		}
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		b.ReportMetric(float64(s.HeapAlloc)/n, "B/hash")
		if err := errors.Join(m.Err(), m.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
