package score

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// What is read of texts is what a plain way reads of them, which makes sets and texts in lower case each time.
func TestPlainReading(t *testing.T) {
	hub := func(s string) bool {
		s = strings.ToLower(s[:min(len(s), 80)])
		return slices.ContainsFunc(hubWords[:], func(w string) bool { return strings.Contains(s, w) })
	}
	class := func(s string) byte {
		switch {
		case s == "":
			return '0'
		case strings.Trim(s, "0123456789") == "":
			return '9'
		case strings.ContainsAny(s, "0123456789"):
			return 'm'
		case strings.ContainsAny(s, "-_"):
			return '-'
		}
		return 'a'
	}
	texts := []string{"", "12", "a1", "a-b", "İndex", "all", "ALL pages", "all\x00pages", "tOc", strings.Repeat("x", 76) + "index", strings.Repeat("x", 75) + "index", "\xff index", "Kategorie", "CATEGORIES"}
	rng := rand.New(rand.NewPCG(19, 2))
	parts := append([]string{"1", "-", "_", "x", "é", "İ", " ", "\xc4", "in", "dex", "Al", "l"}, hubWords[:]...)
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(9) {
			part := parts[rng.IntN(len(parts))]
			if rng.IntN(3) == 0 {
				part = strings.ToUpper(part)
			}
			b.WriteString(part[rng.IntN(len(part)):])
		}
		texts = append(texts, b.String())
	}
	hubs, classes := 0, map[byte]int{}
	for _, s := range texts {
		if got := isHub(s); got != hub(s) {
			t.Errorf("isHub(%q) = %v", s, got)
		} else if got {
			hubs++
		}
		if got := segmentClass(s); got != class(s) {
			t.Errorf("segmentClass(%q) = %c, want %c", s, got, class(s))
		}
		if got := hasDigit(s); got != strings.ContainsAny(s, "0123456789") {
			t.Errorf("hasDigit(%q) = %v", s, got)
		}
		classes[segmentClass(s)]++
	}
	if hubs < len(texts)/20 || hubs > len(texts)*19/20 || len(classes) != 5 {
		t.Errorf("of %d texts %d speak of a list, and they have the classes %v", len(texts), hubs, classes)
	}
}
