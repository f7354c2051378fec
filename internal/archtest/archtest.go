// Package archtest holds the code to ARCHITECTURE.md and to the rules of the
// house that a machine can check. It is run as a test and imported by nobody.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Table is the package table of ARCHITECTURE.md: for each package, by its path
// below the module, those of the module that it may import. "all" among them
// allows everything.
type Table map[string][]string

// ReadTable finds the table in the text of ARCHITECTURE.md: the one whose first
// column is headed "package" and whose third "may import". The word internal
// in the last column stands for internal/clock and internal/text.
func ReadTable(markdown string) (Table, error) {
	table := Table{}
	inside := false
	for i, line := range strings.Split(markdown, "\n") {
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cols := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cols {
			cols[i] = strings.TrimSpace(cols[i])
		}
		if len(cols) == 3 && cols[0] == "package" && cols[2] == "may import" {
			inside = true
			continue
		}
		if !inside || strings.Trim(line, "|-: ") == "" {
			continue
		}
		if len(cols) != 3 {
			return nil, fmt.Errorf("ARCHITECTURE.md:%d: %d columns, not 3", i+1, len(cols))
		}
		name := strings.Trim(cols[0], "`")
		if _, twice := table[name]; twice {
			return nil, fmt.Errorf("ARCHITECTURE.md:%d: package %s is listed twice", i+1, name)
		}
		table[name] = []string{}
		for p := range strings.SplitSeq(cols[2], ",") {
			switch p = strings.Trim(strings.TrimSpace(p), "`"); p {
			case "–", "-", "":
			case "internal":
				table[name] = append(table[name], "internal/clock", "internal/text")
			default:
				table[name] = append(table[name], p)
			}
		}
	}
	if len(table) == 0 {
		return nil, errors.New(`ARCHITECTURE.md: no table with the columns "package", "owns" and "may import"`)
	}
	for name, may := range table {
		for _, p := range may {
			if _, ok := table[p]; !ok && p != "all" {
				return nil, fmt.Errorf("ARCHITECTURE.md: %s may import %s, which is not listed", name, p)
			}
		}
	}
	return table, nil
}

// Package is what the checks need of a package.
type Package struct {
	Path    string   // below the module: "fetch/robots"
	Name    string   // in its package clause
	Dir     string   // absolute
	Imports []string // of the module, below it; those of tests are not among them
}

// List asks the go command for the packages of the module in dir.
func List(dir string) ([]Package, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Dir,Imports,Module", "./...")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []Package
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Name, Dir string
			Imports               []string
			Module                *struct{ Path string }
		}
		if err := dec.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Module == nil {
			return nil, fmt.Errorf("go list: %s belongs to no module", p.ImportPath)
		}
		below := func(path string) (string, bool) {
			return strings.CutPrefix(path, p.Module.Path+"/")
		}
		path, ok := below(p.ImportPath)
		if !ok {
			path = "." // the module's root
		}
		pkg := Package{Path: path, Name: p.Name, Dir: p.Dir}
		for _, imp := range p.Imports {
			if q, ok := below(imp); ok {
				pkg.Imports = append(pkg.Imports, q)
			}
		}
		packages = append(packages, pkg)
	}
}

// Disagreements lists where packages and table disagree: a package that is not
// listed, one that is listed and absent, an import that the table forbids.
func (t Table) Disagreements(packages []Package) (out []string) {
	have := map[string]bool{}
	for _, p := range packages {
		have[p.Path] = true
		may, listed := t[p.Path]
		if !listed {
			out = append(out, fmt.Sprintf("package %s is not in the table of ARCHITECTURE.md: add a row that says what it owns and may import", p.Path))
			continue
		}
		for _, imp := range p.Imports {
			if !slices.Contains(may, imp) && !slices.Contains(may, "all") {
				out = append(out, fmt.Sprintf("%s imports %s, which ARCHITECTURE.md does not allow: it may import %s", p.Path, imp, list(may)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !have[name] {
			out = append(out, fmt.Sprintf("package %s is in the table of ARCHITECTURE.md and holds no Go files: write it, or remove its row", name))
		}
	}
	return out
}

func list(l []string) string {
	if len(l) == 0 {
		return "none of ours"
	}
	return strings.Join(l, ", ")
}

// Habits lists where a file breaks a rule of the house:
//
//   - no init function, no package named for what it is not about;
//   - a variable of a package is an error, a compiled expression, an
//     assertion of the compiler's, or says in a comment why it may be one;
//   - where the table's users rely on it (see Deterministic), no reading of
//     the machine's clock or of chance that was not handed in;
//   - no note to oneself;
//   - no more than maxLines lines, but for a reason said in a comment among the
//     first headLines: "// Longer than 600 lines: one table."
//
// name is the file's name for messages; tests are held to the last two rules only.
func Habits(p Package, name string, src []byte) (out []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	complain := func(pos token.Pos, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s: %s", fset.Position(pos), fmt.Sprintf(format, args...)))
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			for _, word := range []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"} {
				if strings.Contains(c.Text, word) {
					complain(c.Pos(), "a comment says %s: do it, or leave it out", word)
				}
			}
		}
	}
	if n := bytes.Count(src, []byte("\n")); n > maxLines && !longForAReason(fset, file) {
		complain(file.Name.Pos(), "%d lines: split the file by themes at %d, or say the reason in a comment at its head, \"// %s …\"", n, maxLines, longBecause)
	}
	if strings.HasSuffix(name, "_test.go") {
		return out, nil
	}
	if slices.Contains([]string{"util", "utils", "common", "helpers", "helper", "models", "manager", "misc", "base", "shared"}, p.Name) {
		complain(file.Name.Pos(), "a package called %s: name it for what it owns", p.Name)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				complain(d.Pos(), "an init function: do it where it is asked for")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, s := range d.Specs {
				spec := s.(*ast.ValueSpec)
				if !harmless(spec) && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
					complain(spec.Pos(), "variable %s of the package: make it a constant or a field, or say in a comment why nobody changes it", spec.Names[0].Name)
				}
			}
		}
	}
	if Deterministic(p.Path) {
		for pos, what := range impure(file) {
			complain(pos, "%s: time and chance are handed in", what)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Bounds of a file's length, and how a reason for a longer one begins.
const (
	maxLines    = 600
	headLines   = 30
	longBecause = "Longer than 600 lines:"
)

// longForAReason tells whether a file says at its head why it is long.
func longForAReason(fset *token.FileSet, file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			_, reason, said := strings.Cut(c.Text, longBecause)
			if said && strings.TrimSpace(reason) != "" && fset.Position(c.Pos()).Line <= headLines {
				return true
			}
		}
	}
	return false
}

// Deterministic tells the packages that must do the same again when given the
// same again.
func Deterministic(path string) bool {
	return slices.Contains([]string{"crawl", "frontier", "score", "judge", "event"}, path)
}

// harmless tells variables that need no reason: nobody changes them.
func harmless(s *ast.ValueSpec) bool {
	if t, ok := s.Type.(*ast.Ident); ok && t.Name == "error" {
		return true
	}
	blank := true
	for _, n := range s.Names {
		blank = blank && n.Name == "_"
	}
	if blank {
		return true
	}
	if len(s.Values) == 0 {
		return false
	}
	for _, v := range s.Values {
		call, ok := v.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := f.X.(*ast.Ident)
		if !ok || !slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, pkg.Name+"."+f.Sel.Name) {
			return false
		}
	}
	return true
}

// impure finds uses of the machine's clock and of chance without a source, and
// what they are.
func impure(file *ast.File) map[token.Pos]string {
	found := map[token.Pos]string{}
	names := map[string]string{} // local name → import path
	for _, imp := range file.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if path == "math/rand/v2" {
			name = "rand"
		}
		if imp.Name != nil {
			name = imp.Name.Name
		}
		switch path {
		case "time", "math/rand", "math/rand/v2":
			if name == "." {
				found[imp.Pos()] = "dot import of " + path
			}
			names[name] = path
		case "crypto/rand":
			found[imp.Pos()] = "import of crypto/rand"
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		use := sel.Sel.Name
		switch names[pkg.Name] {
		case "time":
			if slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, use) {
				found[sel.Pos()] = "time." + use
			}
		case "math/rand", "math/rand/v2":
			if !slices.Contains([]string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}, use) {
				found[sel.Pos()] = "rand." + use + " without a source"
			}
		}
		return true
	})
	return found
}

// AllHabits applies Habits to every Go file of packages, those of other
// systems included. root is left out of the messages.
func AllHabits(root string, packages []Package) (out []string, err error) {
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			broken, err := Habits(p, name, src)
			if err != nil {
				return nil, err
			}
			out = append(out, broken...)
		}
	}
	return out, nil
}
