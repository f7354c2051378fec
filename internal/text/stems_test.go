package text

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/blevesearch/snowballstem"
)

// stemTable are words and their stems by another program; stems.py beside it made it.
//
//go:embed testdata/stems.tsv
var stemTable string

// otherStems are the stems of an analyzer where it goes by another version of a rule.
var otherStems = map[string]string{
	"belutši":  "belutš",
	"altaïque": "altaïqu",
}

// Words of every language with stems are cut as another program of the same rules cuts them.
func TestStemsOfAnotherProgram(t *testing.T) {
	const least = 150 // words of a language
	words := map[string]int{}
	for line := range strings.Lines(stemTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("%q", line)
		}
		stem := stemmers()[f[0]]
		if stem == nil {
			t.Fatalf("%s has no stems", f[0])
		}
		words[f[0]]++
		word, want := f[1], f[2]
		if other, ok := otherStems[word]; ok {
			want = other
		}
		if f[0] == "ru" { // the other program takes ё for е itself, and this one is given words so (Fold)
			word = strings.ReplaceAll(word, "ё", "е")
		}
		env := snowballstem.NewEnv(word)
		if stem(env); env.Current() != want {
			t.Errorf("%s: %q is cut to %q, by the other program to %q", f[0], f[1], env.Current(), want)
		}
	}
	for language := range stemmers() {
		if words[language] < least {
			t.Errorf("%s: %d words, want %d", language, words[language], least)
		}
	}
}
