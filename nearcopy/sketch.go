package nearcopy

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// How texts are compared. docs/results/copies.md has the pages by which Least was chosen, and
// what other rules did there.
const (
	// shingle is how many words that follow each other are one feature of a text.
	shingle = 3
	// fewWords is below how many words only the same text under the same name is a copy: of a few
	// words a template leaves nothing that tells its pages apart.
	fewWords = 40
	// bins is the number of features that a sketch samples.
	bins = 256
	// Least is the resemblance from which pages of the same name, that is of the same title and
	// headings, are near-copies. Those of another name are where they have the same words in the
	// same order: a template makes pages of two people alike by any bound.
	Least = 0.90
	// headings is how many of a page count.
	headings = 3
)

// Sketch is what is kept of a page to compare it with others.
//
// Each feature of the text has one hash. Its last byte names a bin, and a bin holds the least
// hash of its features; an empty bin takes that of another, by a walk that is the same in
// every sketch. So two sketches agree in about that share of their bins which the texts have
// of their features in common: their resemblance, or Jaccard coefficient. A sketch keeps one
// byte of each bin, and unequal bins agree in that once in 256 times.
//
// Sources: Broder, On the resemblance and containment of documents (1997); Li, Owen, Zhang, One
// permutation hashing (2012); Li, König, b-bit minwise hashing (2010); Shrivastava, Optimal
// densification for fast and accurate minwise hashing (2017), algorithm 1.
type Sketch struct {
	name uint64     // hash of title and headings
	text uint64     // hash of all words in their order
	few  bool       // the text has few words
	bins [bins]byte // zero where few
	keys []uint64   // see there
}

// Of is the sketch of a page, nil of one without a word.
func Of(p *web.Page) *Sketch {
	var name, text reader
	name.add(p.Title)
	name.end()
	for _, h := range p.Headings[:min(headings, len(p.Headings))] {
		name.mark()
		name.add(h)
		name.end()
	}
	text.sampled = true
	for i := range p.Leaves {
		text.add(p.Leaves[i].Text)
		text.end()
	}
	if text.words == 0 {
		return nil
	}
	s := &Sketch{name: mix(name.all), text: mix(text.all), few: text.words < fewWords}
	if s.few {
		s.keys = []uint64{mix(s.text ^ mix(s.name))}
		return s
	}
	full := text.fill()
	for i, h := range full {
		s.bins[i] = byte(h >> 8)
	}
	s.keys = s.keysOf(&full)
	return s
}

// Rows of bins by which near-copies are found: of two pages of one name that resemble each other by
// r, 1-(1-r⁵)⁵ agree in all bins of a row, .99 where r is Least, and have a key in common. As a
// key holds the name, pages which one template makes alike do not crowd one another.
const rows, rowBins = 5, 5

// keysOf are the keys of a page: one for each row, and one for its text.
func (s *Sketch) keysOf(full *[bins]uint64) []uint64 {
	out := []uint64{mix(s.text)}
	for i := range rows {
		h := mix(s.name ^ uint64(i))
		for _, b := range full[i*rowBins : (i+1)*rowBins] {
			h = mix(h ^ b)
		}
		out = append(out, h)
	}
	return out
}

// Likeness is by how much two pages resemble each other, in [0,1], as their sketches tell, and
// whether that makes them near-copies.
func (s *Sketch) Likeness(o *Sketch) (likeness float64, near bool) {
	switch {
	case s.text == o.text:
		return 1, !s.few || s.name == o.name
	case s.few || o.few:
		return 0, false
	}
	same := 0
	for i := range s.bins {
		if s.bins[i] == o.bins[i] {
			same++
		}
	}
	const chance = 1. / 256
	likeness = max(0, (float64(same)/bins-chance)/(1-chance))
	return likeness, likeness >= Least && s.name == o.name
}

// reader reads words of a text that comes in pieces.
type reader struct {
	word    uint64              // hash of the word so far, 0 before its first letter
	last    [shingle - 1]uint64 // the words before
	words   int
	all     uint64
	sampled bool
	minima  [bins]uint64 // 0 = none
}

// FNV-1a over the letters of a word.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// add reads words: runs of letters and digits, in lower case. In scripts that write no spaces
// each letter is a word.
func (r *reader) add(s string) {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			w := r.word
			for ; i < len(s) && letters[s[i]] != 0; i++ {
				if w == 0 {
					w = fnvOffset
				}
				w = (w ^ uint64(letters[s[i]])) * fnvPrime
			}
			if r.word = w; i < len(s) && s[i] < utf8.RuneSelf {
				r.end()
				i++
			}
			continue
		}
		l, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case isUnspaced(l):
			r.end()
			r.letter(uint64(l))
			r.end()
		case unicode.IsLetter(l), unicode.IsMark(l), unicode.IsDigit(l):
			r.letter(uint64(unicode.ToLower(l)))
		default:
			r.end()
		}
	}
}

// letters are those of ASCII and its digits, in lower case; 0 for other bytes.
var letters = func() (of [256]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			of[c] = c
		case 'A' <= c && c <= 'Z':
			of[c] = c | 0x20
		}
	}
	return of
}()

// isUnspaced tells letters of Chinese, Japanese, Thai, Lao, Khmer and Burmese.
func isUnspaced(l rune) bool {
	return l >= 0x0E00 && unicode.In(l, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func (r *reader) letter(c uint64) {
	if r.word == 0 {
		r.word = fnvOffset
	}
	r.word = (r.word ^ c) * fnvPrime
}

// mark parts two texts.
func (r *reader) mark() { r.all = mix(r.all + 1) }

// end ends a word, if there is one.
func (r *reader) end() {
	if r.word == 0 {
		return
	}
	w := mix(r.word)
	r.word = 0
	r.all = (r.all ^ w) * fnvPrime
	if !r.sampled {
		return
	}
	before := r.last
	r.last = [shingle - 1]uint64{before[1], w}
	if r.words++; r.words < shingle {
		return
	}
	h := mix(before[0] + 3*before[1] + 5*w)
	if m := &r.minima[byte(h)]; *m == 0 || h < *m {
		*m = max(h, 1)
	}
}

// fill gives empty bins what others hold.
func (r *reader) fill() (full [bins]uint64) {
	for i := range full {
		at := byte(i)
		for step := uint64(1); r.minima[at] == 0; step++ {
			at = byte(mix(uint64(i)<<32 | step))
		}
		full[i] = r.minima[at]
	}
	return full
}

// mix spreads all bits of h over all of the result: the finisher of SplitMix64. Source: Steele,
// Lea, Flood, Fast splittable pseudorandom number generators (2014).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// A sketch as it is stored:
//
//	version 1  1 byte
//	few        1 byte, 0 or 1
//	name, text 8 bytes each
//	bins       256 bytes; none where few
const (
	version   = 1
	headBytes = 2 + 8 + 8
)

// append adds the stored form of s to b, without its keys.
func (s *Sketch) append(b []byte) []byte {
	few := byte(0)
	if s.few {
		few = 1
	}
	b = append(b, version, few)
	b = binary.LittleEndian.AppendUint64(b, s.name)
	b = binary.LittleEndian.AppendUint64(b, s.text)
	if !s.few {
		b = append(b, s.bins[:]...)
	}
	return b
}

// parseSketch reads what append wrote, and returns what follows.
func parseSketch(b []byte) (s Sketch, rest []byte, ok bool) {
	if len(b) < headBytes || b[0] != version || b[1] > 1 {
		return s, nil, false
	}
	s.few = b[1] == 1
	s.name, s.text = binary.LittleEndian.Uint64(b[2:]), binary.LittleEndian.Uint64(b[10:])
	b = b[headBytes:]
	if !s.few {
		if len(b) < bins {
			return s, nil, false
		}
		b = b[copy(s.bins[:], b):]
	}
	return s, b, true
}
