package hollow

import (
	"slices"
	"strings"
	"testing"
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
