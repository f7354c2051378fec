package frontier

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// A commit with more records than a block has is whole where it was committed, and is not there at all where the process
// died while its blocks were written.
func TestCommitOfSeveralBlocks(t *testing.T) {
	const before, after, inBlock = 10, 60, 8
	disk := vfs.NewCrashableMem()
	f, err := open(disk, "frontier", Options{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(f *Frontier, from, to int) *ledger {
		t.Helper()
		l := ledgerOf(f)
		l.most = inBlock * recordSize
		var turn web.Turn
		for i := from; i < to; i++ {
			turn.Add = append(turn.Add, web.Candidate{URL: address(t, fmt.Sprintf("a%d.example/%d", i%7, i))})
		}
		if _, err := f.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		return l
	}
	died := func(of *vfs.MemFS) *vfs.MemFS {
		return of.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	}
	add(f, 0, before)
	torn, at := died(disk), ledgerOf(f).size
	l := add(f, before, after)
	if l.records != after {
		t.Errorf("the ledger has %d records, want %d", l.records, after)
	}
	blocks := bytesOf(t, disk, l.name)[at:]
	const full = blockHeader + inBlock*recordSize
	for n := (after - before) / inBlock; n > 0; n-- {
		if count := binary.LittleEndian.Uint32(blocks[(n-1)*full:]); count != inBlock {
			t.Errorf("block %d has %d records, want %d", n, count, inBlock)
		}
	}
	killed := died(disk)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	into, err := torn.OpenReadWrite(l.name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = into.WriteAt(blocks[:full+full/2], at)
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, fs := range map[string]*vfs.MemFS{"closed": disk, "killed": killed, "torn": torn} {
		t.Run(what, func(t *testing.T) {
			known := after
			if fs == torn {
				known = before
			}
			for range 3 {
				f, err := open(fs, "frontier", Options{})
				if err != nil {
					t.Fatal(err)
				}
				if f.Repaired() {
					t.Error("it had to be repaired")
				}
				seenBy(t, f, known)
				add(f, known, known+20)
				known += 20
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func ledgerOf(f *Frontier) *ledger { return f.backend.(*disk).ledger }

func bytesOf(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	info, err := fs.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}
