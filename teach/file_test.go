package teach

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/topic/paths"
)

// TestFile keeps paths whole, and does not write over what others wrote.
func TestFile(t *testing.T) {
	for _, name := range []string{"paths.tsv", "paths.jsonl"} {
		t.Run(name, func(t *testing.T) { testFile(t, name) })
	}
}

func testFile(t *testing.T, name string) {
	file := filepath.Join(t.TempDir(), name)
	set := func(s string) []paths.Path {
		set, problems, err := paths.Read(strings.NewReader(s), "x")
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		return set
	}
	k, err := OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"http://a.test/\tGoal\n", "http://a.test/\n", "", "http://a.test/\n", ""} {
		if err := k.Save(set(s), History{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("http://b.test/\tGoal\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(set("http://a.test/\tGoal\n"), History{}); err == nil || !strings.Contains(err.Error(), "changed by another program") {
		t.Errorf("another program's words were written over: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(set("http://a.test/\tGoal\n"), History{}); err != nil {
		t.Errorf("after the file was removed: %v", err)
	}
	two, err := OpenFile(filepath.Join(t.TempDir(), "new-"+name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(two.name, []byte("http://b.test/\tGoal\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := two.Save(nil, History{}); err == nil {
		t.Error("a file that appeared meanwhile was written over")
	}
}
