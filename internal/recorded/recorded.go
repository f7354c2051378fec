// Package recorded finds the recorded webs that tests and benchmarks read. They are too
// large for the repository: without them such a test is skipped.
package recorded

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir is the folder of recorded webs: $WAGGLE_WEBS, by default shared/webs beside the
// clone. It may be absent.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("WAGGLE_WEBS"); dir != "" {
		return dir
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "..", "shared", "webs")
		}
		up := filepath.Dir(root)
		if up == root {
			t.Fatal("no go.mod above the working directory")
		}
		root = up
	}
}

// Web is the folder of the recorded web of that name. Without it the test or benchmark
// is skipped.
func Web(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(Dir(t), name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("needs the recorded web %s: set WAGGLE_WEBS to a folder that holds it, see CONTRIBUTING.md", name)
	}
	return dir
}
