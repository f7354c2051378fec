package frontier

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// forgetfulDisk fails a sync of a ledger once, and has dropped then what was to be written. As the
// system does, it tells that once.
type forgetfulDisk struct {
	vfs.FS
	failing, dropped atomic.Bool
}

func (d *forgetfulDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, c, o...)
	if err == nil && strings.HasPrefix(filepath.Base(name), "ledger-") {
		f = forgetfulFile{f, d}
	}
	return f, err
}

type forgetfulFile struct {
	vfs.File
	on *forgetfulDisk
}

func (f forgetfulFile) Sync() error {
	switch {
	case f.on.dropped.Load():
		return nil
	case f.on.failing.Load():
		f.on.dropped.Store(true)
		return syscall.EIO
	}
	return f.File.Sync()
}

// After a sync of the ledger that failed nothing is called safe any more: after a power failure the
// frontier is as the last sync before left it.
func TestLedgerSyncFails(t *testing.T) {
	adding := func(t *testing.T, from, to int) (turn web.Turn) {
		for i := from; i < to; i++ {
			turn.Add = append(turn.Add, web.Candidate{URL: address(t, fmt.Sprintf("a%d.example/%d", i%7, i))})
		}
		return turn
	}
	for name, save := range map[string]func(t *testing.T, f *Frontier) error{
		"Sync": func(t *testing.T, f *Frontier) error {
			if _, err := f.Commit(t.Context(), adding(t, 10, 20)); err != nil {
				t.Fatal(err)
			}
			return f.Sync()
		},
		"safe Commit": func(t *testing.T, f *Frontier) error {
			turn := adding(t, 10, 20)
			turn.Safe = true
			_, err := f.Commit(t.Context(), turn)
			return errors.Join(err, f.Sync())
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			disk := &forgetfulDisk{FS: mem}
			f, err := open(disk, "frontier", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Commit(t.Context(), adding(t, 0, 10)); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			disk.failing.Store(true)
			if err := save(t, f); !errors.Is(err, syscall.EIO) {
				t.Errorf("saving: %v", err)
			}
			if err := f.Close(); !errors.Is(err, syscall.EIO) {
				t.Errorf("closing: %v", err)
			}
			again, err := open(mem.CrashClone(vfs.CrashCloneCfg{}), "frontier", Options{})
			if err != nil {
				t.Fatalf("after a power failure: %v", err)
			}
			if again.Repaired() {
				t.Error("after a power failure it had to be repaired")
			}
			seenBy(t, again, 10)
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
