package figures

import (
	"math"
	"strings"
)

// texts keeps addresses and titles of pages, in pieces that never move:
//
//	length of the address, length of the title (2 bytes each, big-endian), address, title
//
// A text longer than 64 KiB is cut.
type texts struct{ pieces [][]byte }

const textPiece = 1 << 20

// add keeps two texts and returns where they are.
func (t *texts) add(address, title string) int64 {
	const most = 1<<16 - 1
	address, title = address[:min(len(address), most)], title[:min(len(title), maxTitle)]
	title = strings.ToValidUTF8(title, "") // the cut may have gone through a letter
	n := len(t.pieces) - 1
	if n < 0 || len(t.pieces[n])+4+len(address)+len(title) > cap(t.pieces[n]) {
		t.pieces = append(t.pieces, make([]byte, 0, textPiece))
		n++
	}
	p := t.pieces[n]
	at := int64(n)<<32 | int64(len(p))
	p = append(p, byte(len(address)>>8), byte(len(address)), byte(len(title)>>8), byte(len(title)))
	p = append(p, address...)
	t.pieces[n] = append(p, title...)
	return at
}

// maxTitle bounds a title, in bytes.
const maxTitle = 300

// get returns both texts as they lie there.
func (t *texts) get(at int64) (address, title []byte) {
	p := t.pieces[at>>32][uint32(at):]
	n, m := int(p[0])<<8|int(p[1]), int(p[2])<<8|int(p[3])
	return p[4 : 4+n], p[4+n : 4+n+m]
}

// words gives numbers to words of which there are few. "" is 0.
type words struct {
	list []string
	by   map[string]uint16
}

func newWords() words { return words{[]string{""}, map[string]uint16{"": 0}} }

// maxWords bounds them; what comes after is one word.
const maxWords = 60_000

func (w *words) number(s string) uint16 {
	n, ok := w.by[s]
	if !ok {
		if len(w.list) >= maxWords {
			s = "other"
			if n, ok := w.by[s]; ok {
				return n
			}
		}
		n = uint16(len(w.list))
		s = strings.Clone(s)
		w.list = append(w.list, s)
		w.by[s] = n
	}
	return n
}

// encode makes a number of a priority that keeps its order and its first two digits:
// the upper half of its 32 bits, in the order of numbers.
func encode(priority float64) uint16 {
	b := math.Float32bits(float32(priority))
	if b>>31 == 1 {
		return uint16(^b >> 16)
	}
	return uint16(b>>16) | 1<<15
}

func decode(n uint16) float64 {
	b := uint32(n) << 16
	if n>>15 == 1 {
		return float64(math.Float32frombits(b &^ (1 << 31)))
	}
	return float64(math.Float32frombits(^b))
}
