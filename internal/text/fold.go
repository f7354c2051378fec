package text

import "strings"

// Letters that are written in more than one way are one letter to an analyzer, as they are to
// search engines: what people leave out on a keyboard, what encodings of the past had no place
// for, and what only the place in a word decides. Forms of Unicode that are the same letter
// (full width, ligatures, composed and not) are folded by NFKC in every language.

// folding are pairs of texts, the second of which takes the place of the first, before words are
// cut to stems. The letters taken are those by which the stemmers know their endings.
//
// Sources: Lucene's ArabicNormalizer, PersianNormalizer, HindiNormalizer and
// GreekLowerCaseFilter, in part; Snowball's Russian stemmer, which takes ё for е.
func folding(language string) []string {
	switch language {
	case "ar": // short vowels, the long stroke; what carries a hamza; the two forms of ya
		return append(arabicSigns(), "أ", "ا", "إ", "ا", "آ", "ا", "ٱ", "ا", "ى", "ي")
	case "fa": // the Arabic forms of letters that Persian has its own of
		return append(arabicSigns(), "أ", "ا", "إ", "ا", "ٱ", "ا", "ي", "ی", "ى", "ی", "ك", "ک", "ة", "ه", "ۀ", "ه")
	case "el": // capitals have no accents, and σ at the end of a word is ς
		return []string{"ς", "σ", "ά", "α", "έ", "ε", "ή", "η", "ί", "ι", "ό", "ο", "ύ", "υ", "ώ", "ω", "ϊ", "ι", "ΐ", "ι", "ϋ", "υ", "ΰ", "υ"}
	case "fr":
		return []string{"œ", "oe", "æ", "ae"}
	case "hi": // the two ways to write a nasal, and a dot that is often left out
		return []string{"न्", "ं", "ँ", "ं", "\u093c", ""}
	case "ro": // a comma below, for which encodings of the past had a cedilla
		return []string{"ș", "ş", "ț", "ţ"}
	case "ru":
		return []string{"ё", "е"}
	}
	return nil
}

// arabicSigns are the signs of short vowels and the stroke that makes a word longer.
func arabicSigns() (out []string) {
	for r := 'ً'; r <= 'ْ'; r++ {
		out = append(out, string(r), "")
	}
	return append(out, "ـ", "", "\u0670", "")
}

// folder folds the letters of a language; nil = it has none that are written in more than one way.
func folder(language string) *strings.Replacer {
	pairs := folding(language)
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// Fold is a word in lower case and in form NFKC with the letters that a language writes in more
// than one way as the analyzer of that language takes them.
func Fold(language, word string) string {
	if f := folder(language); f != nil {
		return f.Replace(word)
	}
	return word
}

// foldedStops are the stop words of a language, as fold makes of its words; nil = as they are.
func foldedStops(language string, fold *strings.Replacer) map[string]struct{} {
	set := stopWords(language)
	if fold == nil {
		return set
	}
	folded := make(map[string]struct{}, len(set))
	for word := range set {
		folded[fold.Replace(word)] = struct{}{}
	}
	return folded
}

// undotted makes one letter of both i of a stem in Turkish, which words in capitals and names
// from other languages (Internet, ISO) mix up.
func undotted(stem string) string { return strings.ReplaceAll(stem, "ı", "i") }
