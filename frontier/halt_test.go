package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/frontier"
)

// A store that stands still while a First runs is told once that has ended: what it writes to
// may be closed then.
func TestHaltWaitsForFirst(t *testing.T) {
	ctx := context.Background()
	f, err := frontier.OpenOn(vfs.NewCrashableMem(), dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	begun, goesOn := make(chan struct{}), make(chan struct{})
	var ended atomic.Bool
	turn := adding(t, 0, 1)
	turn.First = func() (map[string][]byte, error) {
		close(begun)
		<-goesOn
		ended.Store(true)
		return nil, nil
	}
	if _, err := f.Commit(ctx, turn); err != nil {
		t.Fatal(err)
	}
	<-begun
	frontier.Halt(f, broken)
	go close(goesOn)
	for i, ask := range []func() error{
		func() error { _, err := f.Unwritten(100); return err },
		func() error { _, err := f.Commit(ctx, adding(t, 1, 1)); return err },
		func() error { _, err := f.Unwritten(0); return err },
	} {
		if err := ask(); !errors.Is(err, broken) || !ended.Load() {
			t.Errorf("%d: %v, and the First has ended: %v", i, err, ended.Load())
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A store whose log cannot be begun, written or ended stands still, and every later call returns
// why: the process goes on.
func TestLogFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause error
		fails func(op errorfs.Op) bool
	}{
		{"not begun", syscall.EROFS, func(op errorfs.Op) bool {
			return (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite) && strings.HasSuffix(op.Path, ".log")
		}},
		{"folder gone", &fs.PathError{Op: "open", Path: "queue", Err: syscall.ENOENT}, func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".log")
		}},
		{"disk full", syscall.ENOSPC, func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log")
		}},
		{"folder not synced", syscall.EIO, func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpFileSync && strings.HasSuffix(op.Path, "queue")
		}},
	} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, written later %t", c.name, later), func(t *testing.T) {
				var fails atomic.Bool
				broken := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					if fails.Load() && c.fails(op) {
						return c.cause
					}
					return nil
				}))
				f, err := frontier.OpenOn(broken, dir, frontier.Small(frontier.Options{}, 64<<10))
				if err != nil {
					t.Fatal(err)
				}
				fails.Store(true)
				ctx := context.Background()
				for i := 0; err == nil && i < 300; i++ {
					turn := adding(t, i, 100)
					if later {
						turn.First = func() (map[string][]byte, error) { return nil, nil }
					}
					_, err = f.Commit(ctx, turn)
				}
				if !errors.Is(err, c.cause) {
					t.Fatalf("%v", err)
				}
				if _, err := f.Commit(ctx, adding(t, 1000, 1)); !errors.Is(err, c.cause) {
					t.Errorf("the next turn: %v", err)
				}
				if err := f.Sync(); !errors.Is(err, c.cause) {
					t.Errorf("Sync: %v", err)
				}
				_ = f.Close() // what it meets was told
			})
		}
	}
}
