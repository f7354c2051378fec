// Package text turns running text into terms: the words it holds, without the
// common ones, reduced to their stems. Everything that compares texts – pages
// with a topic, anchors with a query – compares terms made here.
package text

import (
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"
)

const (
	minWord  = 2  // characters of the shortest word
	maxWord  = 40 // characters of the longest; longer runs are no words
	maxDigit = 4  // digits of the longest number: years count, serial numbers do not

	// slots is the size of the analyzer's table. With the longest words it
	// takes about 12 MiB; with those of real pages, about 5.
	slots = 1 << 16
)

// Analyzer splits text into words and makes terms of them. It is safe for
// concurrent use, and what it returns depends on nothing but its argument.
//
// A word is a run of letters and digits of 2…40 characters, in lower case and
// in Unicode form NFKC; a soft hyphen within it is left out. Numbers of more
// than four digits are no words. Stop words are dropped, and what is left is
// stemmed (Snowball) by the rules of the analyzer's language, which is English
// unless another one was asked for; English stems none but words of the letters
// a…z. Letters that a language writes in more than one way are one (fold.go). Words of a language that Snowball does not know stand as they are. Runs
// of scripts that are written without spaces (Chinese, Japanese, Thai, …) give
// each pair of neighbouring characters as a term; the analyzer of Japanese leaves
// out pairs with a Hiragana, which are endings and particles, and takes a run of
// Katakana for a word.
//
// An analyzer of several languages uses the rules of the first, and hands out one for
// each of the others by In.
type Analyzer struct {
	// table remembers the terms of words, by the hash of the word. A newer
	// word takes the place of an older one in its slot. It saves time and
	// shares the memory of terms, and never changes a result.
	table    [slots]atomic.Pointer[entry]
	stop     map[string]struct{}
	language string
	stem     stemmer // nil = words are their own stems
	scripts  []*unicode.RangeTable
	lower    *[256]byte        // letters and digits of ASCII in lower case; 0 for what is none, or not known by itself
	fold     *strings.Replacer // of letters of the language; nil = none
	turkish  bool              // the capital of ı is I
	others   []*Analyzer       // of the other languages, in their order
}

// entry is a word in lower case with its term; term is "" for words that are
// dropped. It has 64 bytes, a line of the processor's cache: what looking up a word costs
// is waiting for memory.
type entry struct {
	word [maxWord]byte
	size uint8
	hash uint32 // of term
	term string
}

// NewAnalyzer makes an analyzer of some languages, ISO 639-1 codes; of English if none
// is named.
func NewAnalyzer(languages ...string) *Analyzer {
	if len(languages) == 0 {
		languages = []string{English}
	}
	var all []*Analyzer
	for _, l := range languages {
		l = Canonical(l)
		if slices.ContainsFunc(all, func(a *Analyzer) bool { return a.language == l }) {
			continue
		}
		fold := folder(l)
		all = append(all, &Analyzer{stop: foldedStops(l, fold), language: l, stem: stemmers()[l], scripts: spacelessIn(l), lower: &lower, fold: fold, turkish: l == "tr"})
		if l == "tr" {
			own := lower
			own['I'] = 0 // it is that of ı
			all[len(all)-1].lower = &own
		}
	}
	all[0].others = all[1:]
	return all[0]
}

// Languages are those of the analyzer, its own first.
func (a *Analyzer) Languages() []string {
	out := []string{a.language}
	for _, o := range a.others {
		out = append(out, o.language)
	}
	return out
}

// In is the analyzer of a language that a has, and a itself for any other.
func (a *Analyzer) In(language string) *Analyzer {
	if len(a.others) > 0 && language != a.language {
		for _, o := range a.others {
			if o.language == language {
				return o
			}
		}
	}
	return a
}

// Spaceless tells whether a term is of a script without spaces between words: it is a pair of
// characters, or one alone, as they stand in texts.
func (a *Analyzer) Spaceless(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return r >= firstSpaceless && unicode.In(r, a.scripts...)
}

// Words returns the terms of s in their order.
func (a *Analyzer) Words(s string) []string { return a.AppendWords(nil, s) }

// AppendWords appends the terms of s to dst.
func (a *Analyzer) AppendWords(dst []string, s string) []string {
	a.each(s, func(e *entry) { dst = append(dst, e.term) })
	return dst
}

// FNV-1a, 32 bits: the hash is made while a word is read.
const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619
)

// each calls yield with the word of every term of s in order.
func (a *Analyzer) each(s string, yield func(e *entry)) {
	var buf [maxWord]byte
	for i := 0; i < len(s); {
		if a.lower[s[i]] == 0 {
			if s[i] < utf8.RuneSelf && lower[s[i]] == 0 {
				i++
				continue
			}
			i = a.unicodeRun(s, i, yield)
			continue
		}
		// A run of ASCII letters and digits.
		start, n, hash := i, 0, uint32(fnvOffset)
		for ; i < len(s); i++ {
			c := a.lower[s[i]]
			if c == 0 {
				break
			}
			if n < maxWord {
				buf[n] = c
			}
			n++
			hash = (hash ^ uint32(c)) * fnvPrime
		}
		if i < len(s) && (s[i] >= utf8.RuneSelf || lower[s[i]] != 0) {
			i = a.unicodeRun(s, start, yield) // the word may go on
			continue
		}
		if n < minWord || n > maxWord {
			continue
		}
		if e := a.lookup(buf[:n], hash); e.term != "" {
			yield(e)
		}
	}
}

// unicodeRun yields the terms of the run of word characters at s[i:] and
// returns the index behind it, greater than i.
func (a *Analyzer) unicodeRun(s string, i int, yield func(*entry)) int {
	var buf [maxWord * utf8.UTFMax]byte
	word := buf[:0]
	chars := 0
	var before rune // the spaceless character before, 0 at the start of a run
	paired := false // before is part of a pair already
	flushWord := func() {
		if chars >= minWord && chars <= maxWord {
			if e := a.lookup(word, hashOf(word)); e.term != "" {
				yield(e)
			}
		}
		word, chars = word[:0], 0
	}
	japanese := a.language == "ja"
	pair := func(rs ...rune) {
		b := buf[:0]
		for _, r := range rs {
			b = utf8.AppendRune(b, r)
		}
		if e := a.lookup(b, hashOf(b)); e.term != "" {
			yield(e)
		}
	}
	flushPairs := func() {
		if before != 0 && !paired {
			pair(before)
		}
		before, paired = 0, false
	}
	first := i
	kana := false // the word is of Katakana
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if japanese && chars > 0 && kana != isKatakana(r) {
			flushWord()
		}
		kana = japanese && isKatakana(r)
		switch {
		case r == softHyphen:
		case japanese && unicode.Is(unicode.Hiragana, r):
			flushWord()
			flushPairs()
		case r >= firstSpaceless && unicode.In(r, a.scripts...):
			flushWord()
			if before != 0 {
				pair(before, r)
				paired = true
			}
			before = r
		case unicode.IsLetter(r) || unicode.IsDigit(r) || chars > 0 && unicode.IsMark(r):
			flushPairs()
			if chars < maxWord {
				if a.turkish && r == 'I' {
					r = 'ı'
				}
				word = utf8.AppendRune(word, unicode.ToLower(r))
			}
			chars++
		default:
			flushWord()
			flushPairs()
			if i == first {
				i += size
			}
			return i
		}
		i += size
	}
	flushWord()
	flushPairs()
	return i
}

const (
	softHyphen     = '\u00ad'
	firstSpaceless = '\u0e00' // no script of spacelessIn has an earlier character
)

// isKatakana knows the letters of Katakana, the mark of a long vowel among them.
// Those of half width are made whole by NFKC.
func isKatakana(r rune) bool {
	return r == 'ー' || r >= '\uff66' && r <= '\uff9f' || unicode.Is(unicode.Katakana, r)
}

// lower maps the bytes of ASCII letters and digits to lower case, others to 0.
var lower = func() (t [256]byte) {
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = c, c
	}
	return t
}()

func hashOf[T string | []byte](word T) uint32 {
	h := uint32(fnvOffset)
	for i := range len(word) {
		h = (h ^ uint32(word[i])) * fnvPrime
	}
	return h
}

// lookup returns the entry of a word in lower case, of the given hash.
func (a *Analyzer) lookup(word []byte, hash uint32) *entry {
	slot := &a.table[(hash^hash>>16)%slots]
	if e := slot.Load(); e != nil && string(e.word[:e.size]) == string(word) {
		return e
	}
	e := &entry{term: a.makeTerm(string(word))}
	e.hash = hashOf(e.term)
	if len(word) <= len(e.word) { // or long for its letters of several bytes: it is made anew each time
		e.size = uint8(copy(e.word[:], word))
		slot.Store(e)
	}
	return e
}

// makeTerm returns the term of a word in lower case, "" if it has none.
func (a *Analyzer) makeTerm(word string) string {
	letters, digits := 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z':
			letters++
		case c >= '0' && c <= '9':
			digits++
		}
	}
	switch {
	case digits == len(word):
		if digits > maxDigit {
			return ""
		}
		return word
	case letters+digits < len(word):
		folded := norm.NFKC.String(word)
		if folded == word {
			return a.cut(word)
		}
		// Folding can bring spaces ("ͺ") and capitals ("ᴬ").
		word = strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, folded)
		for i := range len(word) {
			if word[i] < 'a' || word[i] > 'z' {
				return a.cut(word)
			}
		}
	case digits > 0:
		return word
	}
	if _, ok := a.stop[word]; ok {
		return ""
	}
	return a.stemOf(word)
}

// cut is the term of a word that has other letters than a…z, which are none of English.
func (a *Analyzer) cut(word string) string {
	if a.language == English {
		return word
	}
	if a.fold != nil {
		word = a.fold.Replace(word)
	}
	if _, ok := a.stop[word]; ok {
		return ""
	}
	return a.stemOf(word)
}

// stemOf is the stem of a word by the rules of the analyzer's language.
func (a *Analyzer) stemOf(word string) string {
	if a.stem == nil {
		return word
	}
	env := snowballstem.NewEnv(word)
	a.stem(env)
	stem := env.Current()
	if a.turkish {
		stem = undotted(stem)
	}
	if len(stem) <= len(word) && word[:len(stem)] == stem {
		return word[:len(stem)] // share the word's memory
	}
	return stem
}
