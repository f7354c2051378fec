package bigmap

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

const most = 1 << 12

// files makes files in a folder of their own, and counts those that are open and what is read.
type files struct {
	dir   string
	open  int
	reads int
	wrong int          // reads that failed
	fail  func() error // of creating, writing and reading; nil = none fails
	cut   int64        // bytes from which on nothing can be read; 0 = none
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
	f.of.reads++
	if err := f.of.failure(); err != nil {
		f.of.wrong++
		return 0, err
	}
	if f.of.cut > 0 && at+int64(len(b)) > f.of.cut {
		return 0, io.EOF
	}
	return f.File.ReadAt(b, at)
}

func (f *file) Close() error {
	f.of.open--
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}

// TestMap puts hashes, some of them again with other numbers, and asserts that a map in files
// says what a map in memory says, with few files and few reads.
func TestMap(t *testing.T) {
	x := &files{dir: t.TempDir()}
	m, want := New(most, x.create), map[uint64]uint64{}
	rng := rand.New(rand.NewPCG(1, 2))
	hashes := []uint64{0, math.MaxUint64, 1, 0, math.MaxUint64}
	const n = 50*most + 1000
	for i := range n {
		if i >= len(hashes) {
			hash := rng.Uint64()
			if rng.IntN(4) == 0 {
				hash = hashes[rng.IntN(len(hashes))]
			}
			hashes = append(hashes, hash)
		}
		value := rng.Uint64()
		m.Put(hashes[i], value)
		want[hashes[i]] = value
		if limit := math.Log2(float64(i+1)/most) + 1; len(m.runs) > 0 && float64(len(m.runs)) > limit {
			t.Fatalf("%d runs after %d hashes, want at most %.1f", len(m.runs), i+1, limit)
		}
		if len(m.recent) >= most {
			t.Fatalf("%d hashes are in memory", len(m.recent))
		}
	}
	if len(m.runs) < 2 || x.open != len(m.runs) {
		t.Fatalf("%d runs, %d files", len(m.runs), x.open)
	}
	for _, r := range m.runs[:cap(m.runs)][len(m.runs):] {
		if r != nil {
			t.Error("a run that became a part of another stays in memory")
		}
	}
	for hash, value := range want {
		if got, ok := m.Get(hash); got != value || !ok {
			t.Fatalf("%x: %d, %t, want %d", hash, got, ok, value)
		}
	}
	x.reads = 0
	for range 10_000 {
		if hash := rng.Uint64(); want[hash] == 0 {
			if _, ok := m.Get(hash); ok {
				t.Fatalf("%x was never put", hash)
			}
		}
	}
	if most := 10_000 * len(m.runs) / 50; x.reads > most || x.reads == 0 {
		t.Errorf("%d reads for 10,000 hashes that were never put, want at most %d", x.reads, most)
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
	m := New(most, nil)
	for i := range uint64(most + 10) {
		m.Put(i<<40, i)
	}
	for i := range uint64(most + 10) {
		if got, ok := m.Get(i << 40); got != i || !ok {
			t.Fatalf("%d: %d, %t", i, got, ok)
		}
	}
	if len(m.runs) != 0 {
		t.Errorf("%d runs", len(m.runs))
	}
}

// TestMapOnBadDisk has files that cannot be made, be written or be read now and then, each hash
// with an older number: what was put last is found, or Err says why not.
func TestMapOnBadDisk(t *testing.T) {
	disk := errors.New("input/output error")
	for _, when := range []struct {
		name             string
		putting, getting int // so many operations, one fails; 0 = none
	}{
		{"none is written", 1, 0},
		{"every second fails", 2, 0},
		{"every tenth fails", 10, 0},
		{"none is read", 0, 1},
		{"every tenth read fails", 0, 10},
		{"now and then all the time", 12, 7},
	} {
		t.Run(when.name, func(t *testing.T) {
			x := &files{dir: t.TempDir()}
			m := New(most, x.create)
			n := 0
			failing := func(every int) func() error {
				if every == 0 {
					return nil
				}
				return func() error {
					if n++; n%every == 0 {
						return disk
					}
					return nil
				}
			}
			rng := rand.New(rand.NewPCG(3, 4))
			hashes := make([]uint64, 10*most)
			for i := range hashes {
				hashes[i] = rng.Uint64()
			}
			x.fail = failing(when.putting)
			for round := range uint64(2) {
				for i, hash := range hashes {
					m.Put(hash, uint64(i)<<1|round)
				}
			}
			if when.putting > 0 && n == 0 {
				t.Fatal("nothing failed")
			}
			x.fail = failing(when.getting)
			lost := 0
			for i, hash := range hashes {
				was := n
				got, ok := m.Get(hash)
				switch {
				case ok && got != uint64(i)<<1|1:
					t.Fatalf("%x: %d, want %d", hash, got, i<<1|1)
				case !ok && (m.Err() == nil || n == was):
					t.Fatalf("%x is lost without a word", hash)
				case !ok:
					lost++
				}
			}
			if (x.wrong > 0) != (m.Err() != nil) || when.getting > 0 && lost == 0 {
				t.Errorf("%d reads failed and %d hashes are lost; Err: %v", x.wrong, lost, m.Err())
			}
			if err := m.Close(); err != nil || x.open != 0 {
				t.Errorf("%v; %d files are open", err, x.open)
			}
		})
	}
}

// TestMapAfterAFullDisk asserts that the memory that hashes took while no file could be written
// is given back.
func TestMapAfterAFullDisk(t *testing.T) {
	x := &files{dir: t.TempDir(), fail: func() error { return errors.New("no space left on device") }}
	m := New(most, x.create)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 * most {
		m.Put(rng.Uint64(), 1)
	}
	if len(m.recent) != 100*most {
		t.Fatalf("%d hashes are in memory", len(m.recent))
	}
	x.fail = nil
	for len(m.runs) == 0 {
		m.Put(rng.Uint64(), 1)
	}
	if len(m.recent) > 0 || m.full != most {
		t.Errorf("%d hashes are in memory, and %d may be", len(m.recent), m.full)
	}
	runtime.GC()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if after.HeapAlloc > 8<<20 { // 400,000 hashes in a map take 15 MB
		t.Errorf("%d bytes are held", after.HeapAlloc)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestMapOfACutFile asserts that a file that ends early is an error, where it is looked into and
// where it becomes a part of another.
func TestMapOfACutFile(t *testing.T) {
	x := &files{dir: t.TempDir()}
	m := New(most, x.create)
	rng := rand.New(rand.NewPCG(7, 8))
	var hashes []uint64
	for range most {
		hashes = append(hashes, rng.Uint64())
		m.Put(hashes[len(hashes)-1], 1)
	}
	x.cut = most * pairSize / 2
	for range most { // a second run, of which the first would be a part
		m.Put(rng.Uint64(), 1)
	}
	if len(m.runs) != 1 || len(m.recent) != most {
		t.Fatalf("%d runs, %d hashes in memory", len(m.runs), len(m.recent))
	}
	if !errors.Is(m.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("that a run cannot be read is not told: %v", m.Err())
	}
	m.err = nil
	lost := 0
	for _, hash := range hashes {
		if _, ok := m.Get(hash); !ok {
			lost++
		}
	}
	if lost == 0 || !errors.Is(m.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("%d are lost; Err: %v", lost, m.Err())
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkMap puts five million hashes after a look for each, and tells what is held then: 3.3
// bytes a hash, of which the map of those that came last is nearly two.
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
