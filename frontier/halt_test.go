package frontier_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

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
