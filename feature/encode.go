package feature

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/internal/text"
)

// AppendBinary appends a space as
//
//	subset                               string
//	1 for counts + 2 for surroundings + 4 for O3 of any address  byte
//	pages that a word needed             uvarint
//	keywords   n { string · whole byte }…
//	words      n { string }…             sorted
//	anchors    n { string }…             sorted
//	targets    n { terms }…
//	description  terms
//
// where a string is its length and its bytes, terms are n { string · weight
// float64 LE }…, sorted, and every length and n is a uvarint.
func (s *Space) AppendBinary(b []byte) ([]byte, error) {
	b = appendString(b, string(s.subset))
	flags := byte(0)
	if s.counts {
		flags |= 1
	}
	if s.surroundings {
		flags |= 2
	}
	if s.anyAddress {
		flags |= 4
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(s.minPages))
	b = binary.AppendUvarint(b, uint64(len(s.keywords)))
	for _, k := range s.keywords {
		b = appendString(b, k.text)
		if k.whole {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, list := range [][]string{s.words, s.anchors} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, w := range list {
			b = appendString(b, w)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.targets)))
	for _, t := range append(slices.Clone(s.targets), s.description) {
		b = binary.AppendUvarint(b, uint64(len(t)))
		for _, w := range t {
			b = appendString(b, w.stem)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(w.weight))
		}
	}
	return b, nil
}

// MarshalBinary writes a space as AppendBinary does.
func (s *Space) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Read reads a space that AppendBinary wrote. a makes terms of texts as the
// one of Build did; nil = a new one. It takes no more memory than a few times
// len(b), whatever b holds.
func Read(b []byte, a *text.Analyzer) (*Space, error) {
	if a == nil {
		a = text.NewAnalyzer()
	}
	r := reader{b: b}
	s := &Space{analyzer: a, subset: Subset(r.string())}
	if s.subset != All && s.subset != Words && s.subset != Similarity {
		r.fail("there is no subset %q", s.subset)
	}
	flags := r.byte()
	if flags > 7 {
		r.fail("unknown settings")
	}
	s.counts, s.surroundings, s.anyAddress = flags&1 != 0, flags&2 != 0, flags&4 != 0
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > math.MaxInt32 {
		r.fail("cut short")
	} else {
		s.minPages = int(n)
		r.b = r.b[size:]
	}
	for range r.count(2) {
		k := keyword{text: r.string()}
		k.whole = r.byte() == 1
		if k.text == "" {
			r.fail("an empty keyword")
		}
		s.keywords = append(s.keywords, k)
	}
	s.words, s.anchors = r.sorted(), r.sorted()
	for range r.count(1) {
		s.targets = append(s.targets, r.terms())
	}
	s.description = r.terms()
	if len(r.b) > 0 {
		r.fail("%d bytes behind the end", len(r.b))
	}
	if r.err != nil {
		return nil, fmt.Errorf("features of a model: %w", r.err)
	}
	s.reindex()
	return s, nil
}

// reader takes values off b; after a failure it gives zero values.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.b) {
		r.fail("cut short")
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// count reads the number of things that take at least so many bytes each.
func (r *reader) count(least int) int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64((len(r.b)-size)/least) {
		r.fail("cut short")
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

func (r *reader) string() string { return string(r.take(r.count(1))) }

// sorted reads a list of strings in ascending order, each once.
func (r *reader) sorted() (out []string) {
	for range r.count(1) {
		w := r.string()
		if len(out) > 0 && w <= out[len(out)-1] {
			r.fail("words out of order")
		}
		if r.err != nil {
			return nil
		}
		out = append(out, w)
	}
	return out
}

func (r *reader) terms() (out terms) {
	for range r.count(9) {
		w := weighted{stem: r.string()}
		if b := r.take(8); b != nil {
			w.weight = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		if !(w.weight >= 0 && w.weight <= 1) {
			r.fail("a weight beyond [0,1]")
		}
		if len(out) > 0 && w.stem <= out[len(out)-1].stem {
			r.fail("terms out of order")
		}
		if r.err != nil {
			return nil
		}
		out = append(out, w)
	}
	return out
}

// String tells people: how much of what it looks at.
func (s *Space) String() string {
	return fmt.Sprintf("%s: %d words of pages, %d of anchors, %d keywords, %d targets", s.subset, len(s.words), len(s.anchors), len(s.keywords), len(s.targets))
}
