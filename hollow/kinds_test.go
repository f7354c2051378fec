package hollow

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each phrase of a kind with hints has one of them: no page is told otherwise for a text that
// was not searched.
func TestHints(t *testing.T) {
	hinted := 0
	for _, k := range kinds {
		for _, phrase := range k.text {
			if k.hints == nil {
				continue
			}
			hinted++
			if !slices.ContainsFunc(k.hints, func(hint string) bool { return strings.Contains(phrase, hint) }) {
				t.Errorf("%s: %q has none of the hints %q", k.reason, phrase, k.hints)
			}
		}
	}
	if hinted == 0 {
		t.Error("no kind has hints")
	}
}

// The quick way to lower case is that of package strings.
func TestAppendLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ A-Za-z\t\n\x1cäİſ ]*`)).Draw(t, "text")
		want := "before "
		for _, w := range strings.Fields(strings.ToLower(s)) {
			want += w + " "
		}
		if got := string(appendLower([]byte("before "), s)); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
