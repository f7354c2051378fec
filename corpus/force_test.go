package corpus

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recorded web is not replaced where its folder holds what is not of it.
func TestForceKeepsOtherFiles(t *testing.T) {
	src := Exchange{exchange(t, small, nil)}
	dir := filepath.Join(t.TempDir(), "web")
	o := options
	o.Force = true
	for _, name := range []string{"notes.txt", filepath.Join("pool", "labels.tsv"), filepath.Join("truth", "mine.txt")} {
		if _, err := Build(t.Context(), dir, src, o); err != nil {
			t.Fatal(err)
		}
		open(t, dir)
		own := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(own), 0o755), os.WriteFile(own, []byte("mine"), 0o644)); err != nil {
			t.Fatal(err)
		}
		if _, err := Build(t.Context(), dir, src, o); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "("+name+")") {
			t.Errorf("with %s: %v", name, err)
		}
		if b, err := os.ReadFile(own); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if err := os.Remove(own); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, manifestName), []byte("name: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), dir, src, o); err != nil {
		t.Errorf("over a manifest that cannot be read: %v", err)
	}
}
