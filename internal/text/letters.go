package text

import (
	"maps"
	"math"
	"slices"
	"sync"
	"unicode/utf8"
)

// Words that no table holds tell their language by their letters, where they have enough of
// them: by which letter follows two others, counted over the stems of each table.
const (
	// letterMargin is by how many halvings of their likelihood words must be likelier in a
	// language than in every other, and englishMargin than in English.
	letterMargin, englishMargin = 8, 12
	// letterPrior is how often each of letterCount letters counts before any was seen.
	letterPrior, letterCount = 0.3, 30
	// leastStem is the length of stems that are counted: shorter ones are of all languages.
	leastStem = 4
)

// letterModel counts which letter follows two others in the stems of a language. The
// beginning of a stem counts as two letters, its end as one in stems that are counted.
type letterModel struct {
	triples map[[3]rune]int
	pairs   map[[2]rune]int
}

// letterModels are those of the languages in Latin letters that have a table. They are made
// the first time; nobody changes them.
var letterModels = sync.OnceValue(func() map[string]letterModel {
	models := map[string]letterModel{}
	for _, l := range latinTables() {
		models[l] = newLetterModel(l)
	}
	return models
})

// latinTables are the languages in Latin letters that have a table. The others are told by their
// scripts.
func latinTables() []string {
	return slices.DeleteFunc(Tables(), func(l string) bool { return slices.Contains([]string{"ja", "ru", "zh"}, l) })
}

func newLetterModel(language string) letterModel {
	m := letterModel{map[[3]rune]int{}, map[[2]rune]int{}}
	for stem := range table(language) {
		if utf8.RuneCountInString(stem) < leastStem {
			continue
		}
		r := []rune("^^" + stem + "$")
		for i := 2; i < len(r); i++ {
			m.triples[[3]rune(r[i-2:i+1])]++
			m.pairs[[2]rune(r[i-2:i])]++
		}
	}
	return m
}

// likelihood is log₂ of the probability of the letters of a stem. Its end is left out, as a
// stemmer may have left more of an unknown word.
func (m letterModel) likelihood(stem string) (sum float64) {
	r := []rune("^^" + stem)
	for i := 2; i < len(r); i++ {
		sum += math.Log2((float64(m.triples[[3]rune(r[i-2:i+1])]) + letterPrior) /
			(float64(m.pairs[[2]rune(r[i-2:i])]) + letterPrior*letterCount))
	}
	return sum
}

// byLetters is the language in which the letters of words in lower case are likeliest, of those
// in Latin letters that have a table. It is sure where that is another language than English,
// by both margins.
func byLetters(words []string) (best string, sure bool) {
	most, second, english := math.Inf(-1), math.Inf(-1), 0.
	for _, l := range slices.Sorted(maps.Keys(letterModels())) {
		m, a, sum := letterModels()[l], NewAnalyzer(l), 0.
		for _, w := range words {
			for _, stem := range a.Words(w) {
				sum += m.likelihood(stem)
			}
		}
		if l == English {
			english = sum
		}
		if sum > most {
			best, most, second = l, sum, most
		} else {
			second = max(second, sum)
		}
	}
	return best, best != English && most-second >= letterMargin && most-english >= englishMargin
}
