package archtest

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

	texts := map[string]string{}
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
	texts["score/longanchor.go"] = "package score\n\nimport \"github.com/waggle-crawler/waggle/web\"\n\nvar _ Scorer = longAnchor{}\n\n" + code[0] + code[2] + "\nvar _ = description\n"
	texts["score/description.go"] = withRow("score/description.go", "scorers", code[1])
	texts["judge/mention.go"] = `package judge

import (
	"cmp"
	"context"

	"github.com/waggle-crawler/waggle/web"
)

var _ Judge = mention{}

` + code[3]
	texts["judge/description.go"] = withRow("judge/description.go", "Descriptions", code[4])
	texts["export/export.go"] = withRow("export/export.go", "Forms", code[5]) + code[6]

	for _, e := range typeErrors(t, root, texts, "score", "judge", "export") {
		t.Errorf("the examples of CONTRIBUTING.md do not compile: %v", e)
	}
}

// typeErrors are what is wrong with packages of the module, with texts laid over their
// files and beside them. Only types are checked, which takes far less time than to
// compile; what they import is as go build left it.
func typeErrors(t *testing.T, root string, texts map[string]string, packages ...string) (wrong []error) {
	t.Helper()
	list := func(args ...string) []string {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	exported := map[string]string{}
	args := []string{"-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	for pair := range slices.Chunk(list(args...), 2) {
		exported[pair[0]] = pair[1]
	}
	files := token.NewFileSet()
	check := types.Config{
		Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) }),
		Error:    func(err error) { wrong = append(wrong, err) },
	}
	for _, p := range packages {
		names := list("-f", `{{join .GoFiles "\n"}}`, "./"+p)
		for name := range texts {
			if dir, file := filepath.Split(name); dir == p+"/" && !slices.Contains(names, file) {
				names = append(names, file)
			}
		}
		var parsed []*ast.File
		for _, name := range names {
			var text any // nil for what is in the file
			if over, ok := texts[p+"/"+name]; ok {
				text = over
			}
			f, err := parser.ParseFile(files, filepath.Join(root, p, name), text, parser.SkipObjectResolution)
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			parsed = append(parsed, f)
		}
		check.Check(p, files, parsed, nil) // Error has heard of each
	}
	return wrong
}
