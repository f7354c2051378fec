package nearcopy

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// How texts are compared. docs/results/copies.md has the pages by which Least was chosen, and
// what other rules did there.
const (
	// fewTerms is below how many terms, each occurrence counted, only the same text under the
	// same name is a copy: of a few words a template leaves nothing that tells its pages apart.
	fewTerms = 25
	// mostOccur is how many occurrences of a term are features.
	mostOccur = 2
	// bins is the number of features that a sketch samples, and binBits what it keeps of each.
	bins, binBits = 256, 2
	// Least is the resemblance from which pages of the same name, that is of the same title and
	// headings, are near-copies, if the lengths of their main texts differ by at most
	// mainDiffers of the longer one: where a template has more words than the rest, that differs
	// first. Those of another name are where they have the same text: a template makes pages of
	// two people alike by any bound.
	Least       = 0.90
	mainDiffers = 0.04
	// headings is how many of a page belong to its name.
	headings = 3
	// rows and rowBins are of the keys by which pages of a name that many have are found: of
	// two pages that resemble each other by r, 1-(1-r³)⁴ agree in all bins of a row, .995 where r
	// is Least.
	rows, rowBins = 4, 3
)

// Sketch is what is kept of a page to compare it with others.
//
// The features of a page are its terms, and again those that occur more than once: a sentence
// that is repeated weighs little more than once. Each feature has one hash. Its last byte names a bin, and a bin holds the least
// hash of its features; an empty bin takes that of another, by a walk that is the same in
// every sketch. So two sketches agree in about that share of their bins which the pages have
// of their features in common: their resemblance, or weighted Jaccard coefficient. A sketch
// keeps two bits of each bin, and unequal bins agree in these once in four times: where the
// resemblance is Least, the standard error is .022, and would be .019 with all bits.
//
// Sources: Broder, On the resemblance and containment of documents (1997); Li, Owen, Zhang, One
// permutation hashing (2012); Li, König, b-bit minwise hashing (2010); Shrivastava, Optimal
// densification for fast and accurate minwise hashing (2017), algorithm 1.
type Sketch struct {
	name uint64                   // hash of the title and the first headings
	text uint64                   // hash of the terms outside title and headings, of all headings, and of the main text
	few  bool                     // the page has few terms
	main uint32                   // bytes of the main text; zero where few
	bins [bins * binBits / 8]byte // zero where few
	rows [rows]uint64             // hashes of the first bins, with the name; zero where few
}

// Of is the sketch of a page, nil of one without a term.
func Of(p *web.Page) *Sketch {
	if len(p.Terms) == 0 {
		return nil
	}
	var text uint64
	var minima [bins]uint64 // 0 = none
	n := 0
	for i := range p.Terms {
		t := &p.Terms[i]
		n += int(t.Body)
		h := xxh3.HashString(t.Text)
		if t.Body > t.Head {
			text += mix(h + uint64(t.Body-t.Head))
		}
		for range min(t.Body, mostOccur) {
			h += golden
			f := mix(h)
			if m := &minima[byte(f)]; *m == 0 || f < *m {
				*m = max(f, 1)
			}
		}
	}
	text ^= xxh3.HashString(p.Main)
	title := hashWords(0, p.Title)
	s := &Sketch{name: hashHeadings(title, p.Headings[:min(headings, len(p.Headings))]), text: hashHeadings(text, p.Headings), few: n < fewTerms}
	if s.few {
		s.text = mix(s.text ^ mix(s.name))
		return s
	}
	s.main = uint32(min(len(p.Main), math.MaxUint32))
	for i := range bins {
		at := byte(i)
		for step := uint64(1); minima[at] == 0; step++ {
			at = byte(mix(uint64(i)<<32 | step))
		}
		h := minima[at]
		s.bins[i/4] |= byte(h>>8&3) << (i % 4 * 2)
		if r := i / rowBins; r < rows {
			s.rows[r] = mix(s.rows[r] ^ h)
		}
	}
	for r := range s.rows {
		s.rows[r] = mix(s.rows[r] ^ s.name ^ uint64(r+1))
	}
	return s
}

// Likeness is by how much two pages resemble each other, in [0,1], as their sketches tell, and
// whether that makes them near-copies.
func (s *Sketch) Likeness(o *Sketch) (likeness float64, near bool) {
	switch {
	case s.text == o.text:
		return 1, true
	case s.few || o.few:
		return 0, false
	}
	likeness = resemblance(s.bins[:], o.bins[:])
	return likeness, s.name == o.name && isNear(likeness, s.main, o.main)
}

// isNear tells whether two pages of one name are near-copies, given the lengths of their main texts.
func isNear(likeness float64, a, b uint32) bool {
	return likeness >= Least && float64(max(a, b)-min(a, b)) <= mainDiffers*float64(max(a, b))
}

// resemblance is that of two pages, given the bins of their sketches.
func resemblance(a, b []byte) float64 {
	differ := 0
	for i := 0; i < len(a); i += 8 {
		x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:])
		differ += bits.OnesCount64((x | x>>1) & 0x5555555555555555)
	}
	const chance = 1. / (1 << binBits)
	return max(0, (1-float64(differ)/bins-chance)/(1-chance))
}

// hashHeadings adds texts to a hash, each parted from the one before.
func hashHeadings(h uint64, headings []string) uint64 {
	for _, s := range headings {
		h = hashWords(mix(h+1), s)
	}
	return mix(h)
}

// hashWords adds the letters and digits of a text to a hash, in lower case, with the places
// where words end.
func hashWords(h uint64, s string) uint64 {
	const prime = 1099511628211 // of FNV-1a
	inWord := false
	for _, l := range s {
		switch {
		case 'a' <= l && l <= 'z', '0' <= l && l <= '9': // most are, and need none of the tables below
			h, inWord = (h^uint64(l))*prime, true
		case unicode.IsLetter(l), unicode.IsMark(l), unicode.IsDigit(l):
			h, inWord = (h^uint64(unicode.ToLower(l)))*prime, true
		case inWord:
			h, inWord = mix(h), false
		}
	}
	if inWord {
		h = mix(h)
	}
	return h
}

// golden is the step from the hash of an occurrence to that of the next: 2⁶⁴ divided by the
// golden ratio.
const golden = 0x9e3779b97f4a7c15

// mix spreads all bits of h over all of the result: the finisher of SplitMix64. Source: Steele,
// Lea, Flood, Fast splittable pseudorandom number generators (2014).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
