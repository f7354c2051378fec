package event

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Each ending has words of its own, which the guide has too.
func TestEndings(t *testing.T) {
	guide, err := os.ReadFile("../docs/guide/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, e := range Endings() {
		words := e.Words()
		if words == string(e) || words == "" || met[words] {
			t.Errorf("%s is %q", e, words)
		}
		met[words] = true
		if row := fmt.Sprintf("| `%s` | %s |\n", e, words); !strings.Contains(string(guide), row) {
			t.Errorf("docs/guide/operations.md is without %s", row)
		}
	}
	if got := Ending("Odd\x1b[31m").Words(); strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
