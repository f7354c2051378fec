package main

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// Two runs do not write to one folder; when the first has ended, the next may.
func TestForageLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not locked here")
	}
	c := forageCmd{Out: t.TempDir()}
	lock, err := c.lock()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := c.lock(); err == nil || !strings.Contains(err.Error(), "in use by another waggle") {
		t.Errorf("a second lock: %v, %v", second, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	var again *os.File
	if again, err = c.lock(); err != nil {
		t.Fatal(err)
	}
	again.Close()
}
