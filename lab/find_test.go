package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/job"
)

// Webs of a lab file whose paths lead nowhere are found by their names, and built once where
// only what they are built from is there; one that is named wrongly is told before any is built.
func TestFindWebs(t *testing.T) {
	from, made := t.TempDir(), filepath.Join(t.TempDir(), "webs")
	if err := os.CopyFS(filepath.Join(from, "meadow"), os.DirFS(filepath.Join("..", "docs", "guide", "meadow"))); err != nil {
		t.Fatal(err)
	}
	read := func(webs string) *File {
		t.Helper()
		name := filepath.Join(t.TempDir(), "lab.yaml")
		if err := os.WriteFile(name, []byte("webs: ["+webs+"]\nbudgets: [10]\nscorers: [random]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	builds := 0
	webs := Webs{From: from, Made: made, Progress: func(done, total int, note string) { builds++ }}

	err := read("{path: webs/meadow}, {path: webs/medow}").FindWebs(t.Context(), webs)
	if mistake := (job.Mistake{}); !errors.As(err, &mistake) || builds != 0 {
		t.Errorf("a web that is not there: %v after %d steps of a build, want a mistake and none", err, builds)
	}
	if want := ", which --webs or WAGGLE_WEBS names, holds meadow: name the folder that holds it"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	absent := filepath.Join(from, "absent")
	err = read("{path: webs/meadow}").FindWebs(t.Context(), Webs{From: absent, Made: made, Progress: webs.Progress})
	if want := "the recorded web meadow, and " + absent + ", which --webs or WAGGLE_WEBS names, is not there"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	for range 2 {
		f := read("{path: webs/meadow}")
		if err := f.FindWebs(t.Context(), webs); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(made, "meadow"); f.Webs[0].Path != want {
			t.Fatalf("the web is %s, want %s", f.Webs[0].Path, want)
		}
		w, err := corpus.Open(f.Webs[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if builds == 0 {
			t.Error("the build told nothing")
		}
		builds = 1 // what is built is found again, and tells nothing
	}
	if builds != 1 {
		t.Errorf("the web was built again, in %d steps", builds-1)
	}

	again := read("{path: webs/meadow}")
	if err := again.FindWebs(t.Context(), Webs{Made: made}); err != nil || again.Webs[0].Path != filepath.Join(made, "meadow") {
		t.Errorf("without a folder of webs what was built is %s (%v)", again.Webs[0].Path, err)
	}
	nowhere := read("{path: webs/medow}")
	if was := nowhere.Webs[0].Path; nowhere.FindWebs(t.Context(), Webs{Made: made}) != nil || nowhere.Webs[0].Path != was {
		t.Errorf("what is nowhere is %s", nowhere.Webs[0].Path)
	}

	recorded := Webs{From: made, Made: t.TempDir()}
	f := read("{path: nowhere/meadow}")
	if err := f.FindWebs(t.Context(), recorded); err != nil || f.Webs[0].Path != filepath.Join(made, "meadow") {
		t.Errorf("a recorded web is %s (%v), want it where it is", f.Webs[0].Path, err)
	}
}
