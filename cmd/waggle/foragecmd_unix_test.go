//go:build unix

package main

import (
	"strings"
	"testing"
)

// Two runs do not write to one folder; when the first has ended, the next may.
func TestResultsAreTakenOnce(t *testing.T) {
	dir := t.TempDir()
	lock, err := takeResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := takeResults(dir); err == nil || !strings.Contains(err.Error(), "in use by another waggle") {
		t.Errorf("a second lock: %v, %v", second, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := takeResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
