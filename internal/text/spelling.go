package text

import (
	"cmp"
	"strings"
	"unicode"
)

// Spelling gives terms the words by which texts write them first.
type Spelling map[string]string

// Add takes in a text. Words that a makes no single term of are left out.
func (s Spelling) Add(a Splitter, text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) }) {
		if terms := a.Words(word); len(terms) == 1 {
			if _, known := s[terms[0]]; !known {
				s[terms[0]] = word
			}
		}
	}
}

// Of are the words of terms, with spaces between them; a term that is not spelt stands
// for itself.
func (s Spelling) Of(terms ...string) string {
	words := make([]string, len(terms))
	for i, term := range terms {
		words[i] = cmp.Or(s[term], term)
	}
	return strings.Join(words, " ")
}
