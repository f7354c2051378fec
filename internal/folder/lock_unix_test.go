//go:build unix

package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestLockIsHeldOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("the second lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	again.Close()
}

// Where the system gives no lock, nobody is told to have it.
func TestNoLocks(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close() // of a closed file there are no locks either
	if err := lockFile(f); errors.Is(err, ErrLocked) || !errors.Is(err, syscall.EBADF) || !strings.Contains(err.Error(), "has no locks") {
		t.Errorf("%v", err)
	}
	if locked(f) {
		t.Error("somebody is told to have it")
	}
}

// Those who ask whether a folder is held do not see each other, and are not in the way of who
// wants it.
func TestHeldIsAQuestion(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !Held(dir) {
		t.Error("a folder that is held is told to be free")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 5000 {
				if Held(dir) {
					t.Error("a folder that nobody holds is told to be held")
					return
				}
			}
		})
	}
	asking.Wait()

	over := make(chan struct{})
	for range 4 {
		asking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					Held(dir)
				}
			}
		})
	}
	for range 2000 {
		l, err := Lock(dir)
		if err != nil {
			t.Errorf("nobody holds it: %v", err)
			break
		}
		if _, err := Lock(dir); !errors.Is(err, ErrLocked) {
			t.Errorf("the second lock: %v", err)
			break
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(over)
	asking.Wait()
}

// A folder that one process makes and removes again is at no time had by two.
func TestRemovedMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	var group sync.WaitGroup
	var holders atomic.Int32
	for range 4 {
		group.Go(func() {
			for range 500 {
				l, err := Lock(dir)
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) > 1 || !Exists(filepath.Join(dir, "lock")) {
					t.Error("two have it, or its lock is gone")
				}
				holders.Add(-1)
				l.Close()
				New{dir}.Remove()
			}
		})
	}
	group.Wait()
	New{dir}.Remove()
	if Exists(dir) {
		t.Error("it is still there")
	}
}
