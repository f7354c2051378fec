//go:build unix

package folder

import (
	"errors"
	"path/filepath"
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
