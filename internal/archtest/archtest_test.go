package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

func house(t *testing.T) (Table, []Package) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	// The go command's own look at the folders is invisible to the cache of
	// test results: this walk makes it notice new ones.
	err = filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	packages, err := List(root(t))
	if err != nil {
		t.Fatal(err)
	}
	return table, packages
}

func TestImportsFollowTheTable(t *testing.T) {
	table, packages := house(t)
	for _, d := range table.Disagreements(packages) {
		t.Error(d)
	}
}

func TestHabitsOfTheHouse(t *testing.T) {
	_, packages := house(t)
	broken, err := AllHabits(root(t), packages)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

// A test that takes long asks package long, and nothing else, whether it is to run.
func TestOneWayToTakeLong(t *testing.T) {
	top := root(t)
	others := []string{"testing." + "Short()", `"WAGGLE_` + `LONG"`}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || filepath.Base(filepath.Dir(name)) == "long" {
			return err
		}
		b, err := os.ReadFile(name)
		for _, other := range others {
			if strings.Contains(string(b), other) {
				t.Errorf("%s: %s: ask long.Test, long.Of or long.Count", name, other)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

const plan = "text\n\n" +
	"| package | owns | may import |\n" +
	"|---|---|---|\n" +
	"| `web` | words | – |\n" +
	"| `internal/clock` | time | – |\n" +
	"| `internal/text` | words | web |\n" +
	"| `fetch/robots` | rules | web, internal |\n" +
	"| `fetch` | HTTP | web, internal, fetch/robots |\n" +
	"| `cmd/waggle` | flags | all |\n" +
	"\n| other | table |\n|---|---|\n| `x` | y |\n"

func TestTableAndImports(t *testing.T) {
	table, err := ReadTable(plan)
	if err != nil {
		t.Fatal(err)
	}
	whole := []Package{
		{Path: "web"}, {Path: "internal/clock"},
		{Path: "internal/text", Imports: []string{"web"}},
		{Path: "fetch/robots", Imports: []string{"web", "internal/clock", "internal/text"}},
		{Path: "fetch", Imports: []string{"fetch/robots"}},
		{Path: "cmd/waggle", Imports: []string{"fetch", "web", "internal/clock"}},
	}
	for _, c := range []struct {
		name   string
		change func(p []Package) []Package
		want   []string
	}{
		{"as planned", func(p []Package) []Package { return p }, nil},
		{"an arrow upwards", func(p []Package) []Package {
			p[0].Imports = []string{"fetch"}
			return p
		}, []string{"web imports fetch, which ARCHITECTURE.md does not allow: it may import none of ours"}},
		{"an arrow sideways", func(p []Package) []Package {
			p[3].Imports = []string{"fetch"}
			return p
		}, []string{"fetch/robots imports fetch, which ARCHITECTURE.md does not allow: it may import web, internal/clock, internal/text"}},
		{"a package nobody planned", func(p []Package) []Package { return append(p, Package{Path: "stuff"}) },
			[]string{"package stuff is not in the table of ARCHITECTURE.md: add a row that says what it owns and may import"}},
		{"a package nobody wrote", func(p []Package) []Package { return p[1:] },
			[]string{"package web is in the table of ARCHITECTURE.md and holds no Go files: write it, or remove its row"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := table.Disagreements(c.change(slices.Clone(whole))); !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestTableErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no table":         "| a | b |\n|---|---|\n",
		"listed twice":     plan[:strings.Index(plan, "\n\n| other")] + "\n| `web` | again | – |\n",
		"unknown import":   strings.Replace(plan, "| `web` | words | – |", "| `web` | words | nowhere |", 1),
		"a column missing": strings.Replace(plan, "| `web` | words | – |", "| `web` | words |", 1),
	} {
		if table, err := ReadTable(text); err == nil {
			t.Errorf("%s: no error, but %v", name, table)
		}
	}
}

func TestHabits(t *testing.T) {
	for _, c := range []struct {
		name, path, src string
		want            []string // parts of the complaints, in order
	}{
		{"harmless variables", "crawl", "package crawl\nimport (\"errors\"; \"regexp\")\n" +
			"var ErrX = errors.New(`x`)\nvar word = regexp.MustCompile(`x`)\nvar _ I = (*T)(nil)\n" +
			"// table is never changed.\nvar table = map[string]int{}\nvar e error\nvar (\n\ta = 1 // because\n)\n", nil},
		{"a singleton", "web", "package web\nvar cache = map[string]int{}\nvar n int\n",
			[]string{"variable cache", "variable n"}},
		{"init", "web", "package web\nfunc init() {}\ntype T int\nfunc (T) init() {}\n", []string{"2:1: an init function"}},
		{"a drawer for everything", "util", "package util\n", []string{"called util"}},
		{"the clock, renamed", "crawl", "package crawl\nimport t \"time\"\nfunc f() t.Time { return t.Now() }\n", []string{"time.Now"}},
		{"a moment is no clock", "crawl", "package crawl\nimport \"time\"\nfunc f(n time.Time) time.Time { return n.Add(time.Second) }\n", nil},
		{"chance for all", "score", "package score\nimport \"math/rand/v2\"\nfunc f() int { return rand.IntN(3) }\n", []string{"rand.IntN"}},
		{"chance handed in", "score", "package score\nimport \"math/rand/v2\"\nfunc f(r *rand.Rand) int { return rand.New(rand.NewPCG(1, 2)).IntN(r.IntN(3)) }\n", nil},
		{"the clock where it is free", "fetch", "package fetch\nimport \"time\"\nfunc f() time.Time { return time.Now() }\n", nil},
		{"601 lines", "web", "package web\n" + strings.Repeat("\n", 600), []string{"601 lines: split"}},
		{"600 lines", "web", "package web\n" + strings.Repeat("\n", 599), nil},
		{"601 lines for a reason", "web", "// Longer than 600 lines: one table.\n\npackage web\n" + strings.Repeat("\n", 600), nil},
		{"601 lines for no reason", "web", "// Longer than 600 lines:\n\npackage web\n" + strings.Repeat("\n", 600), []string{"lines: split"}},
		{"601 lines, the reason at their end", "web", "package web\n" + strings.Repeat("\n", 600) + "// Longer than 600 lines: one table.\n", []string{"lines: split"}},
		{"a note to oneself", "web", "package web\n// TO" + "DO later\n", []string{"2:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Habits(Package{Path: c.path, Name: filepath.Base(c.path)}, "x.go", []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}
