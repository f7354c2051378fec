package event

import (
	"strings"
	"testing"
)

// Of acts on keywords the last that is not undone holds; undone, those before it.
func TestKeywordsAfter(t *testing.T) {
	for name, x := range map[string]struct{ acts, want string }{
		"none":                        {"", "-"},
		"one":                         {"a>b", "b"},
		"undone":                      {"a>b undo1", "a"},
		"two":                         {"a>b b>c", "c"},
		"the last undone":             {"a>b b>c undo2", "b"},
		"both, the last first":        {"a>b b>c undo2 undo1", "a"},
		"both, the first first":       {"a>b b>c undo1 undo2", "a"},
		"the first undone":            {"a>b b>c undo1", "c"},
		"judged anew between":         {"a>b x>c undo2", "x"},
		"judged anew, and undone":     {"a>b undo1 x>c undo3", "x"},
		"another act is undone":       {"a>b other undo2", "b"},
		"set again after the undoing": {"a>b undo1 a>c", "c"},
		"undone, set again, undone":   {"a>b b>c undo2 b>d undo4 undo1", "a"},
		"of three the middle last":    {"a>b b>c c>d undo1 undo3 undo2", "a"},
		"of three the middle stays":   {"a>b b>c c>d undo1 undo3", "c"},
	} {
		var acts []Act
		for word := range strings.FieldsSeq(x.acts) {
			a := Act{Number: len(acts) + 1, Do: Pause}
			if from, to, ok := strings.Cut(word, ">"); ok {
				a.Do, a.Keywords, a.KeywordsBefore = Keywords, []string{to}, []string{from}
			} else if n, ok := strings.CutPrefix(word, "undo"); ok {
				a.Do, a.Act = Undo, int(n[0]-'0')
			}
			acts = append(acts, a)
		}
		got := "-"
		if words, ok := KeywordsAfter(acts); ok {
			got = strings.Join(words, ",")
		}
		if got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}
