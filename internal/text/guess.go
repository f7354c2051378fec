package text

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
)

const (
	minGuess = 60  // bytes: with less, a guess of the language is often wrong
	maxGuess = 400 // bytes a guess looks at: more would cost more and tell no more
)

// Guess tells the language by the statistics of a text, an ISO 639-1
// code, "" when that is not certain. English is known by its commonest words, which costs a
// hundredth of asking whatlanggo.
func Guess(s string) string {
	if len(s) < minGuess {
		return ""
	}
	if isEnglish(start(s, 5*maxGuess)) {
		return "en"
	}
	sample := start(s, maxGuess)
	if !isProse(sample) {
		return ""
	}
	info := whatlanggo.Detect(sample)
	if info.Lang < 0 || !info.IsReliable() {
		return ""
	}
	return info.Lang.Iso6391()
}

// isProse tells whether nine of ten characters of s are letters or spaces, as
// they are in sentences and not in code, tables or lists of dates.
func isProse(s string) bool {
	all, letters := 0, 0
	for _, r := range s {
		all++
		if r == ' ' || unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		}
	}
	return letters*10 >= all*9
}

// isEnglish tells whether at least every tenth word of s is one of a few that
// English uses all the time and its neighbours do not, and three of them occur.
func isEnglish(s string) bool {
	words, hits := 0, 0
	var seen uint16
	for word := range strings.FieldsSeq(s) {
		words++
		if i := slices.Index(englishWords[:], word); i >= 0 {
			hits++
			seen |= 1 << i
		}
	}
	return hits*10 >= words && bits.OnesCount16(seen) >= 3
}

// englishWords holds words that mark a text as English. It is a table, never changed.
var englishWords = [...]string{"the", "and", "to", "this", "that", "with", "from", "are", "by", "be", "for", "of", "The", "This", "you", "it"}

// start is the start of s of at most n bytes.
func start(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// GuessWords tells the language of a few words, such as keywords, an ISO 639-1 code, ""
// when they do not tell. It goes by the script, by what Guess says of longer texts, by
// function words among the words, by which table of document frequencies knows them, and by their letters.
//
// A letter that only one language has decides where English knows none of the words. Else
// the words are of another language than English only if English knows at most half of
// them, and if that language knows them better than any other by wordMargin halvings of
// their shares in all, better than English by as much, and their letters are likeliest in it
// too: a table of one language may hold names, such as “terraform”. Words that half of the
// tables know do not count: they are names.
func GuessWords(s string) string {
	if l := scriptOf(s); l != "" {
		return l
	}
	if l := Guess(s); l != "" {
		return Canonical(l)
	}
	words := latinWords(s)
	if len(words) == 0 {
		return ""
	}
	read := map[string][]float64{} // [words]
	steps := func(language string) []float64 {
		if read[language] == nil {
			read[language] = knows(language, words)
		}
		return read[language]
	}
	english := steps(English)
	if l := byFunctionWords(words, steps); l != "" {
		return l
	}
	foreign := 0
	for _, k := range english {
		if k == unknownStep {
			foreign++
		}
	}
	if 2*foreign < len(words) {
		return English
	}
	if foreign == len(words) {
		if l := byOwnLetter(words); l != "" {
			return l
		}
	}
	others := map[string][]float64{} // [words]
	holders := make([]int, len(words))
	for _, l := range Tables() {
		if l == English {
			continue
		}
		others[l] = steps(l)
		for i, k := range others[l] {
			if k < unknownStep {
				holders[i]++
			}
		}
	}
	best, most, second := "", 0., 0.
	for _, l := range Tables() {
		gain := 0.
		for i, k := range others[l] {
			if 2*holders[i] < len(others) {
				gain += (english[i] - k) / tableSteps
			}
		}
		if gain > most {
			best, most, second = l, gain, most
		} else {
			second = max(second, gain)
		}
	}
	var rest []string
	for i, w := range words {
		if 2*holders[i] < len(others) {
			rest = append(rest, w)
		}
	}
	letters, sure := byLetters(rest)
	switch {
	case most-second < wordMargin && sure:
		return letters
	case most-second >= wordMargin && letters == best:
		return best
	}
	return ""
}

// byOwnLetter is the language whose own letters stand among words, of those that have no table of
// document frequencies, "" without such a letter or with those of several.
func byOwnLetter(words []string) (language string) {
	for _, own := range [...]struct{ language, letters string }{{"tr", "ığ"}, {"hu", "őű"}, {"ro", "ăț"}} {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, own.letters) }) {
			continue
		}
		if language != "" {
			return ""
		}
		language = own.language
	}
	return language
}

// byFunctionWords is the language of which function words stand among some words, more than of
// English, unless English knows the other words so much better that these outweigh them, or another
// language is hardly worse. stepsIn are those of the words in the table of a language.
func byFunctionWords(words []string, stepsIn func(language string) []float64) string {
	count := func(language string) (n int, is map[string]struct{}) {
		is = stopWords(language)
		for _, w := range words {
			if _, ok := is[w]; ok {
				n++
			}
		}
		return n, is
	}
	own, _ := count(English)
	english := stepsIn(English)
	best, most, second := "", 0., 0.
	for _, l := range latinTables() {
		hits, is := count(l)
		if l == English || hits <= own {
			continue
		}
		steps, sum := stepsIn(l), functionGain*float64(hits)
		for i, w := range words {
			if _, ok := is[w]; !ok {
				sum += (english[i] - steps[i]) / tableSteps
			}
		}
		if sum > most {
			best, most, second = l, sum, most
		} else {
			second = max(second, sum)
		}
	}
	if most-second < wordMargin {
		return ""
	}
	return best
}

const (
	// functionGain is what a function word counts, in halvings of shares.
	functionGain = 4
	// wordMargin is by how many halvings of shares the words of a language must be more
	// common in it than in others.
	wordMargin = 2
	// unknownStep is the step of a word that a table does not hold.
	unknownStep = 15 * tableSteps
)

// scriptOf is the language of words that are mostly of a script which tells it.
func scriptOf(s string) string {
	letters, most := 0, 0
	language := ""
	for _, script := range []struct {
		language string
		tables   []*unicode.RangeTable
	}{
		{"", []*unicode.RangeTable{unicode.Latin}},
		{"zh", []*unicode.RangeTable{unicode.Han}},
		{"ja", []*unicode.RangeTable{unicode.Hiragana, unicode.Katakana}},
		{"ko", []*unicode.RangeTable{unicode.Hangul}},
		{"th", []*unicode.RangeTable{unicode.Thai}},
		{"el", []*unicode.RangeTable{unicode.Greek}},
		{"ru", []*unicode.RangeTable{unicode.Cyrillic}},
		{"ar", []*unicode.RangeTable{unicode.Arabic}},
		{"ta", []*unicode.RangeTable{unicode.Tamil}},
		{"hi", []*unicode.RangeTable{unicode.Devanagari}},
		{"hy", []*unicode.RangeTable{unicode.Armenian}},
	} {
		n := 0
		for _, r := range s {
			if unicode.In(r, script.tables...) {
				n++
			}
		}
		letters += n
		if n > most || script.language == "ja" && n > 0 && language == "zh" {
			language, most = script.language, n
		}
	}
	switch language {
	case "ru", "ar", "hi": // others write so too
		if l := Guess(s); l != "" {
			return Canonical(l)
		}
	}
	return language
}

// latinWords are the words of s in lower case, without numbers.
func latinWords(s string) (words []string) {
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if utf8.RuneCountInString(w) >= minWord && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// knows are the steps of words in the table of a language, those of its stop words 0.
func knows(language string, words []string) []float64 {
	a, shares := NewAnalyzer(language), table(language)
	out := make([]float64, len(words))
	for i, w := range words {
		stems := a.Words(w)
		if len(stems) == 0 {
			continue
		}
		out[i] = unknownStep
		if share, ok := shares[stems[0]]; ok {
			out[i] = math.Min(-tableSteps*math.Log2(float64(share)), unknownStep)
		}
	}
	return out
}
