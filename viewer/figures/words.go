package figures

import (
	"bytes"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// manyPages is from how many pages on the texts of all are searched on all cores.
const manyPages = 50_000

// matchText finds which of many pages are wanted where words are looked for, on all cores.
//
// The texts of pages lie in a row, so a word is looked for in all of them at once: by its rarest
// letter, which the processor finds faster than texts could be taken one by one. The page
// of a place that has the word is the one whose text the place is in.
func (m *matcher) matchText() {
	if len(m.words) == 0 || len(m.pages) < manyPages || m.Only != nil {
		return
	}
	holds := make([]uint16, len(m.pages))
	for n, w := range m.words {
		onAllCores(len(m.texts.pieces), func(k int) {
			first := sort.Search(len(m.pages), func(i int) bool { return m.pages[i].text >= int64(k)<<32 })
			w.search(m.texts.pieces[k], func(i int) {
				if holds[first+i] == uint16(n) {
					holds[first+i]++
				}
			})
		})
	}
	m.holds = holds
	wanted := make([]bool, len(m.pages))
	const some = 1 << 14
	onAllCores((len(wanted)+some-1)/some, func(k int) {
		for i := k * some; i < min((k+1)*some, len(wanted)); i++ {
			wanted[i] = m.is(i)
		}
	})
	m.wanted = wanted
}

// onAllCores calls do with 0…n-1.
func onAllCores(n int, do func(k int)) {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				do(k)
			}
		})
	}
	wait.Wait()
}

// folded is a word that is looked for, letters of both cases being equal.
type folded struct {
	text  string // in lower case
	bytes bool   // other letters than those of ASCII have no case in it: bytes can be compared
	rare  int    // place of the byte that texts have least often
}

func newFolded(word string) folded {
	w := folded{text: strings.ToLower(word), bytes: true}
	for _, r := range w.text {
		w.bytes = w.bytes && (r < utf8.RuneSelf || unicode.SimpleFold(r) == r)
	}
	for i := range len(w.text) {
		if rarity(w.text[i]) > rarity(w.text[w.rare]) {
			w.rare = i
		}
	}
	return w
}

// common are the bytes of addresses and titles in lower case, roughly the commonest first.
const common = "te/oasnihrlp.dcmwu:gfybv-k 0123456789_x=?&jqz%,"

// rarity is the place of a byte in common, or that behind it.
func rarity(b byte) int {
	if i := strings.IndexByte(common, b); i >= 0 {
		return i
	}
	return len(common)
}

// search calls found with each text of a piece that holds the word: an address or a title, by
// the number of its page within the piece, in order.
func (w folded) search(piece []byte, found func(i int)) {
	if !w.bytes {
		w.searchEach(piece, found)
		return
	}
	low := w.text[w.rare]
	high := upper(low)
	nextLow, nextHigh := -1, -1 // places of the byte, from pos on; len(piece) = none
	next := func(known *int, b byte, pos int) int {
		if *known < pos {
			*known = len(piece)
			if k := bytes.IndexByte(piece[pos:], b); k >= 0 {
				*known = pos + k
			}
		}
		return *known
	}
	at, page := 0, 0 // of the text that is looked at
	for pos := 0; pos < len(piece); {
		k := next(&nextLow, low, pos)
		if high != low {
			k = min(k, next(&nextHigh, high, pos))
		}
		if k == len(piece) {
			return
		}
		border, end := textEnds(piece, at)
		for ; k >= end; border, end = textEnds(piece, at) {
			at, page = end, page+1
		}
		pos = k + 1
		from := k - w.rare
		to := from + len(w.text)
		if from >= at+4 && to <= end && (to <= border || from >= border) && w.equals(piece[from:to]) {
			found(page)
			pos = end
		}
	}
}

// textEnds tells where the address and the title end of the texts that begin at a place of a
// piece; see texts.
func textEnds(piece []byte, at int) (border, end int) {
	n, m := int(piece[at])<<8|int(piece[at+1]), int(piece[at+2])<<8|int(piece[at+3])
	return at + 4 + n, at + 4 + n + m
}

// searchEach is search for a word with letters of other scripts that have a case. A text
// without such letters does not hold it.
func (w folded) searchEach(piece []byte, found func(i int)) {
	for at, page := 0, 0; at < len(piece); page++ {
		border, end := textEnds(piece, at)
		if w.within(piece[at+4:border]) || w.within(piece[border:end]) {
			found(page)
		}
		at = end
	}
}

func (w folded) within(text []byte) bool {
	return slices.ContainsFunc(text, func(b byte) bool { return b >= utf8.RuneSelf }) &&
		strings.Contains(strings.ToLower(string(text)), w.text)
}

// equals tells whether text is the word; both have the same length.
func (w folded) equals(text []byte) bool {
	for i, b := range text {
		if lower(b) != w.text[i] {
			return false
		}
	}
	return true
}

// in tells whether a text holds the word.
func (w folded) in(text []byte) bool {
	if !w.bytes {
		return w.within(text)
	}
	for i := 0; i+len(w.text) <= len(text); i++ {
		if w.text == "" || lower(text[i+w.rare]) == w.text[w.rare] && w.equals(text[i:i+len(w.text)]) {
			return true
		}
	}
	return false
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func upper(b byte) byte {
	if b >= 'a' && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}
