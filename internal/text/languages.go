package text

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// English is the language of an Analyzer that was made without one.
const English = "en"

// stemmer cuts the word of an environment to its stem.
type stemmer func(*snowballstem.Env) bool

// stemmers are those of Snowball by ISO 639-1 codes.
func stemmers() map[string]stemmer {
	return map[string]stemmer{
		"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, English: english.Stem, "es": spanish.Stem, "fi": finnish.Stem,
		"fr": french.Stem, "ga": irish.Stem, "hu": hungarian.Stem, "it": italian.Stem, "nl": dutch.Stem, "no": norwegian.Stem,
		"pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem, "sv": swedish.Stem, "ta": tamil.Stem, "tr": turkish.Stem,
	}
}

// spaceless are the scripts that put no space between words.
var spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// spacelessIn are the scripts whose words an analyzer of a language finds by pairs of
// characters. Japanese writes words from abroad in Katakana, which are words as they
// stand; Korean puts particles behind its words, which pairs leave aside.
func spacelessIn(language string) []*unicode.RangeTable {
	switch language {
	case "ja":
		return slices.DeleteFunc(slices.Clone(spaceless), func(t *unicode.RangeTable) bool { return t == unicode.Katakana })
	case "ko":
		return append(slices.Clone(spaceless), unicode.Hangul)
	}
	return spaceless
}

// Canonical is the code by which analyzers know a language: an ISO 639-1 code in lower
// case, "no" for both kinds of Norwegian.
func Canonical(language string) string {
	switch language = strings.ToLower(language); language {
	case "nb", "nn":
		return "no"
	}
	return language
}

// Languages are the codes of the languages of which there is more to know than where
// words begin and end: stems, common words or both, or how to part what is written
// without spaces. Sorted.
func Languages() []string {
	set := map[string]bool{"ja": true, "ko": true, "th": true}
	for l := range stemmers() {
		set[l] = true
	}
	for l := range stopLists() {
		set[l] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Stemmed tells whether words of a language are cut to stems.
func Stemmed(language string) bool {
	_, ok := stemmers()[Canonical(language)]
	return ok
}

// stopFile holds the stop words of languages other than English, "# LANGUAGE" before
// those of each: the lists of bleve v2.6.3 (analysis/lang/*/stop_words_*.go), which are
// those of Snowball and of Jacques Savoy (see NOTICE), without words of one letter; and
// a short list of pairs of characters for Chinese.
//
//go:embed stopwords.txt
var stopFile string

// stopLists are the stop words of languages other than English, a list with spaces and
// line ends.
var stopLists = sync.OnceValue(func() map[string]string {
	lists := map[string]string{}
	for part := range strings.SplitSeq(stopFile[len("# "):], "\n# ") {
		language, words, _ := strings.Cut(part, "\n")
		lists[language] = words
	}
	return lists
})
