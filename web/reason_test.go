package web_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// Every reason has plain words of its own, short enough for a column.
func TestReasonWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	said := map[string]web.Reason{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		r := web.Reason(word)
		if r.Brief() == word && word != "empty" || r.Meaning() == word || utf8.RuneCountInString(r.Brief()) > 24 {
			t.Errorf("%s: %q, %q", word, r.Brief(), r.Meaning())
		}
		for _, text := range []string{r.Brief(), r.Meaning()} {
			if other, twice := said[text]; twice {
				t.Errorf("%s and %s are both %q", other, r, text)
			}
			said[text] = r
		}
		return true
	})
	if n < 30 {
		t.Errorf("only %d reasons were found", n)
	}
	if odd := web.Reason("odd"); odd.Brief() != "odd" || odd.Meaning() != "odd" {
		t.Errorf("an unknown reason: %q, %q", odd.Brief(), odd.Meaning())
	}
}
