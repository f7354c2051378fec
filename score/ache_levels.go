package score

import (
	"encoding/binary"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// The three levels of ACHE: a link is an example of
//
//	level 0  if the page behind it was relevant
//	level 1  if a link of that page was of level 0
//	level 2  if a link of that page was of level 1
//
// and of nothing otherwise. For each level a linear machine tells its links from those of
// the other levels; the priority is
//
//	100·(2−level) + min(99, 100·P(level))   for the level of the greatest P
//
// so that a level outweighs any probability. A link that comes nearer is from then on an
// example of the nearer level too.
//
// Source: Barbosa & Freire, Searching for Hidden-Web Databases, 2005, section 3.2, as the
// later program ACHE orders the levels. "Like": the examples come from the links that this
// crawl followed, where ACHE crawls backwards from relevant pages before it begins; the
// way back leads through the pages fetched last, as many as the setting ways says.

// acheLevels is the number of levels.
const acheLevels = 3

func acheLevelsSettings() []Setting {
	return append(acheSettings(false), Setting{Name: "ways", Default: 20000, Min: 1, Max: 1e6, Whole: true, Line: "pages fetched last through which the way back leads"})
}

func newACHELevels(o Options) (Scorer, error) {
	a := makeACHE(o)
	a.ways = make(ways, int(o.set("ways")))
	a.journal = newSnapshotJournal("ache-like-levels", o, a)
	return a, nil
}

// way is a link that was followed: number is that of the visit, 0 for none; the page
// that holds the link was fetched in visit parent, 0 if that is not known.
type way struct {
	number, parent uint64
	level          int // acheLevels for none yet
	features       []uint32
}

// ways are the links followed last. They stand at their number modulo the length.
type ways []way

// find is the link of a visit, nil when it is forgotten.
func (w ways) find(number uint64) *way {
	if number == 0 {
		return nil
	}
	if l := &w[number%uint64(len(w))]; l.number == number {
		return l
	}
	return nil
}

// follow records a link, and offers it and the two on the way to it to the samples of
// their levels when the page behind it was relevant.
func (a *ache) follow(l way, relevant bool) {
	l.level = acheLevels
	at := &a.ways[l.number%uint64(len(a.ways))]
	*at = l
	if !relevant {
		return
	}
	for level := 0; level < acheLevels && at != nil; level++ {
		if level < at.level {
			at.level = level
			a.offer(&a.samples[level], at.features)
		}
		at = a.ways.find(at.parent)
	}
}

// level is the likeliest level of a link and its probability. A level that has no machine
// is that of no link.
func (a *ache) level(f []uint32) (level int, p float64) {
	for l, m := range a.models {
		if m == nil {
			continue
		}
		if q := m.Probability(f); q > p {
			level, p = l, q
		}
	}
	return level, p
}

// appendTo appends
//
//	links uvarint, { number, parent, level uvarint · features uvarint, { uint16 LE }… }…
func (w ways) appendTo(b []byte) []byte {
	n := 0
	for i := range w {
		if w[i].number > 0 {
			n++
		}
	}
	b = binary.AppendUvarint(b, uint64(n))
	for i := range w {
		if l := &w[i]; l.number > 0 {
			b = binary.AppendUvarint(b, l.number)
			b = binary.AppendUvarint(b, l.parent)
			b = binary.AppendUvarint(b, uint64(l.level))
			b = appendWords(b, l.features)
		}
	}
	return b
}

func (w ways) read(r *wire.Reader) {
	for range r.Count(4) {
		l := way{number: uint64(r.Number(math.MaxInt64)), parent: uint64(r.Number(math.MaxInt64)), level: r.Number(acheLevels)}
		l.features = readWords(r)
		w[l.number%uint64(len(w))] = l
	}
}

// appendWords appends hashed words: number uvarint, { uint16 LE }…
func appendWords(b []byte, words []uint32) []byte {
	b = binary.AppendUvarint(b, uint64(len(words)))
	for _, f := range words {
		b = binary.LittleEndian.AppendUint16(b, uint16(f))
	}
	return b
}

func readWords(r *wire.Reader) []uint32 {
	words := make([]uint32, r.Count(2))
	for i := range words {
		words[i] = uint32(r.Uint16())
	}
	return words
}
