//go:build unix

package devtools_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// What the browser of a program left that was killed goes when the next one starts, and
// nothing else does.
func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	program := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-30 * time.Second)
	made := func(name string, locked bool, age time.Time) string {
		dir := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Join(dir, "profile", "Default"), 0o700); err != nil {
			t.Fatal(err)
		}
		if locked {
			lock, err := folder.Lock(dir)
			if err != nil {
				t.Fatal(err)
			}
			if name == "waggle-browser-runs" {
				t.Cleanup(func() { lock.Close() })
			} else {
				lock.Close()
			}
		}
		if err := os.Chtimes(dir, age, age); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	left := made("waggle-browser-left", true, long)
	stay := []string{
		made("waggle-browser-runs", true, long),
		made("waggle-browser-begins", true, time.Now()),
		made("waggle-browser-without", false, long),
		made("another", true, long),
	}
	target := made("target", true, long)
	if err := os.Symlink(target, filepath.Join(tmp, "waggle-browser-link")); err != nil {
		t.Fatal(err)
	}
	if _, err := devtools.Start(t.Context(), devtools.Options{Program: program}); err == nil {
		t.Fatal("a browser that ends at once was started")
	}
	if folder.Exists(left) {
		t.Errorf("%s is there", left)
	}
	for _, dir := range append(stay, filepath.Join(target, "profile")) {
		if !folder.Exists(dir) {
			t.Errorf("%s is gone", dir)
		}
	}
	if all, _ := filepath.Glob(filepath.Join(tmp, "waggle-browser-*")); len(all) != 4 {
		t.Errorf("there are %q", all)
	}
}
