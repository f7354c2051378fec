package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples of CONTRIBUTING.md compile where it says that they go: a scorer, a
// judge and an export, each with its row. They are laid over the packages, which stay
// as they are.
func TestContributing(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var code []string
	for _, m := range regexp.MustCompile("(?s)\\n( *)```go\\n(.*?)```").FindAllStringSubmatch(read("CONTRIBUTING.md"), -1) {
		code = append(code, regexp.MustCompile(`(?m)^`+m[1]).ReplaceAllString(m[2], ""))
	}
	if len(code) != 7 {
		t.Fatalf("CONTRIBUTING.md has %d blocks of Go: want a scorer, a need, a judge and an export, and the rows of three", len(code))
	}

	dir, replace := t.TempDir(), map[string]string{}
	lay := func(name, text string) {
		at := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, name)] = at
	}
	// A row goes behind the last one of a function that returns a list.
	withRow := func(name, function, row string) string {
		text := read(name)
		at := strings.Index(text, "func "+function+"()")
		if at < 0 {
			t.Fatalf("%s has no function %s", name, function)
		}
		end := at + strings.Index(text[at:], "\n\t}\n") + 1
		return text[:end] + row + text[end:]
	}
	lay("score/longanchor.go", "package score\n\nimport \"github.com/waggle-crawler/waggle/web\"\n\nvar _ Scorer = longAnchor{}\n\n"+code[0]+code[2]+"\nvar _ = description\n")
	lay("score/description.go", withRow("score/description.go", "Descriptions", code[1]))
	lay("judge/mention.go", `package judge

import (
	"cmp"
	"context"

	"github.com/waggle-crawler/waggle/web"
)

var _ Judge = mention{}

`+code[3])
	lay("judge/description.go", withRow("judge/description.go", "Descriptions", code[4]))
	lay("export/export.go", withRow("export/export.go", "Forms", code[5])+code[6])

	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "./score", "./judge", "./export")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the examples of CONTRIBUTING.md do not compile: %v\n%s", err, out)
	}
}
