package spelling

import (
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	known := []string{"waggle", "best-first-both", "best-first-page", "lm10-crf", "crf", "gamma", "scorers", "topics", "apprentice"}
	for name, want := range map[string]string{
		"wagle":          "waggle",
		"Waggle":         "waggle",
		"best-first-bth": "best-first-both, best-first-page",
		"gama":           "gamma",
		"scorer":         "scorers",
		"lm-crf":         "lm10-crf",
		"first":          "best-first-both, best-first-page",
		"something else": "",
		"":               "",
		"q":              "",
	} {
		if got := strings.Join(Near(name, known), ", "); got != want {
			t.Errorf("%q: near are %q, want %q", name, got, want)
		}
	}
	if got := Hint("gama", known); got != "; near names: gamma" {
		t.Errorf("it hints %q", got)
	}
	if got := Hint("something else", known); got != "" {
		t.Errorf("it hints %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"bee", "bee", 0}, {"bee", "bees", 0.25}, {"bee", "ant", 1}, {"pfd", "pdf", 1. / 3}, {"abc", "cab", 2. / 3}, {"", "bee", 1}, {strings.Repeat("b", 201), "b", 1}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%.9s and %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
