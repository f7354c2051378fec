package feature

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
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
	b = wire.AppendString(b, string(s.subset))
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
		b = wire.AppendString(b, k.text)
		if k.whole {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, list := range [][]string{s.words, s.anchors} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, w := range list {
			b = wire.AppendString(b, w)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.targets)))
	for _, t := range append(slices.Clone(s.targets), s.description) {
		b = binary.AppendUvarint(b, uint64(len(t)))
		for _, w := range t {
			b = wire.AppendString(b, w.stem)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(w.weight))
		}
	}
	return b, nil
}

// MarshalBinary writes a space as AppendBinary does.
func (s *Space) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// Read reads a space that AppendBinary wrote. a makes terms of texts as the
// one of Build did; nil = a new one. It takes no more memory than a few times
// len(b), whatever b holds.
func Read(b []byte, a *text.Analyzer) (*Space, error) {
	if a == nil {
		a = text.NewAnalyzer()
	}
	r := reader{wire.NewReader(b)}
	s := &Space{analyzer: a, subset: Subset(r.String())}
	if s.subset != All && s.subset != Words && s.subset != Similarity {
		r.Fail("there is no subset %q", s.subset)
	}
	flags := r.Byte()
	if flags > 7 {
		r.Fail("unknown settings")
	}
	s.counts, s.surroundings, s.anyAddress = flags&1 != 0, flags&2 != 0, flags&4 != 0
	s.minPages = r.Number(math.MaxInt32)
	for range r.Count(2) {
		k := keyword{text: r.String()}
		k.whole = r.Byte() == 1
		if k.text == "" {
			r.Fail("an empty keyword")
		}
		s.keywords = append(s.keywords, k)
	}
	s.words, s.anchors = r.sorted(), r.sorted()
	for range r.Count(1) {
		s.targets = append(s.targets, r.terms())
	}
	s.description = r.terms()
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("features of a model: %w", err)
	}
	s.reindex()
	return s, nil
}

// reader reads the lists of a space.
type reader struct{ *wire.Reader }

// sorted reads a list of strings in ascending order, each once.
func (r *reader) sorted() (out []string) {
	for range r.Count(1) {
		w := r.String()
		if len(out) > 0 && w <= out[len(out)-1] {
			r.Fail("words out of order")
		}
		if r.Err() != nil {
			return nil
		}
		out = append(out, w)
	}
	return out
}

func (r *reader) terms() (out terms) {
	for range r.Count(9) {
		w := term{stem: r.String(), weight: r.Float64()}
		if !(w.weight >= 0 && w.weight <= 1) {
			r.Fail("a weight beyond [0,1]")
		}
		if len(out) > 0 && w.stem <= out[len(out)-1].stem {
			r.Fail("terms out of order")
		}
		if r.Err() != nil {
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
