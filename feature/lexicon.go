package feature

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/web"
)

// Lexicon numbers words and weighs them, so that pages and texts become vectors
// of the vector space model. Models that compare whole pages carry one: those
// over clusters of pages and those over the text of links. It is immutable and
// safe for concurrent use.
type Lexicon struct {
	words []string          // sorted; a word's ID is its place
	idf   []float64         // [words] ≥ 0
	id    map[string]uint32 // of words
}

// CountWords makes a lexicon of the words that occur in least of n documents or
// more; document(i) gives the words of each, however often. The weight is
//
//	idf = ln((n+1)/n_w),   n_w documents hold w
//
// that of Batsakis, Petrakis & Milios 2009, equation 2, with one document more,
// so that a word of all documents weighs little and not nothing. A df overrides
// it with the table's weights (nil: none).
func CountWords(n, least int, document func(i int) []string, df *text.DF) *Lexicon {
	last := make(map[string]int) // the document that a word was last counted in, from 1
	count := make(map[string]int)
	for i := range n {
		for _, w := range document(i) {
			if last[w] != i+1 {
				last[w] = i + 1
				count[w]++
			}
		}
	}
	maps.DeleteFunc(count, func(_ string, c int) bool { return c < least })
	l := &Lexicon{words: slices.Sorted(maps.Keys(count))}
	for _, w := range l.words {
		idf := math.Log(float64(n+1) / float64(count[w]))
		if df != nil {
			idf = df.IDF(w)
		}
		l.idf = append(l.idf, idf)
	}
	l.reindex()
	return l
}

// CountTerms is CountWords for the terms of pages.
func CountTerms(pages []*web.Page, least int, df *text.DF) *Lexicon {
	var words []string
	return CountWords(len(pages), least, func(i int) []string {
		words = words[:0]
		for _, t := range pages[i].Terms {
			words = append(words, t.Text)
		}
		return words
	}, df)
}

func (l *Lexicon) reindex() {
	l.id = make(map[string]uint32, len(l.words))
	for i, w := range l.words {
		l.id[w] = uint32(i)
	}
}

// Len is the number of words.
func (l *Lexicon) Len() int { return len(l.words) }

// Word is the word of an ID below Len.
func (l *Lexicon) Word(id uint32) string { return l.words[id] }

// Page is the vector of a page's terms, tf·idf, of length 1; nil when it holds
// no word of the lexicon. Dot products of such vectors are cosines, for which
// it makes no difference whether tf is divided by the greatest, as in equation 1
// of that paper.
func (l *Lexicon) Page(p *web.Page) sparse.Vector {
	v := make(sparse.Vector, 0, len(p.Terms))
	for _, t := range p.Terms {
		if id, ok := l.id[t.Text]; ok {
			v = append(v, sparse.Entry{ID: id, Value: float64(t.Body) * l.idf[id]})
		}
	}
	return unit(sparse.New(v))
}

// Text is the same for words in any order, such as those of an anchor.
func (l *Lexicon) Text(words []string) sparse.Vector {
	v := l.Counts(words)
	for i := range v {
		v[i].Value *= l.idf[v[i].ID]
	}
	return unit(v)
}

// Counts is how often each word of the lexicon is among words.
func (l *Lexicon) Counts(words []string) sparse.Vector {
	v := make(sparse.Vector, 0, len(words))
	for _, w := range words {
		if id, ok := l.id[w]; ok {
			v = append(v, sparse.Entry{ID: id, Value: 1})
		}
	}
	return sparse.New(v)
}

// Link is how often each word of the lexicon stands in or near a link, as
// LinkWords names them. a makes terms of texts, as the parser's analyzer does.
func (l *Lexicon) Link(a interface{ Words(s string) []string }, link *web.Link) sparse.Vector {
	v := make(sparse.Vector, 0, 32)
	linkWords(text.SplitterOf(a), link, func(tagged []byte) {
		if id, ok := l.id[string(tagged)]; ok {
			v = append(v, sparse.Entry{ID: id, Value: 1})
		}
	})
	return sparse.New(v)
}

// LinkWords appends the words of a link and its surroundings, tagged by where
// they stand: anchor:bee, around:bee (up to ten words before and after the
// anchor), heading:bee, url:bee (path and query).
func LinkWords(dst []string, a *text.Analyzer, link *web.Link) []string {
	linkWords(text.SplitterOf(a), link, func(tagged []byte) { dst = append(dst, string(tagged)) })
	return dst
}

// linkWords calls yield for each word; the bytes are its until it returns.
func linkWords(a text.Splitter, link *web.Link, yield func(tagged []byte)) {
	var words [32]string
	var tagged [64]byte
	for _, part := range [...]struct{ tag, text string }{
		{"anchor:", link.Anchor}, {"around:", link.Before}, {"around:", link.After},
		{"heading:", link.Heading}, {"url:", link.URL.RequestPath()},
	} {
		for _, w := range a.AppendWords(words[:0], part.text) {
			yield(append(append(tagged[:0], part.tag...), w...))
		}
	}
}

// Top is how often the n words of a page occur there that have the highest
// tf·idf, among equals the first by ID.
func (l *Lexicon) Top(p *web.Page, n int) sparse.Vector {
	v := make(sparse.Vector, 0, len(p.Terms))
	for _, t := range p.Terms {
		if id, ok := l.id[t.Text]; ok {
			v = append(v, sparse.Entry{ID: id, Value: float64(t.Body)})
		}
	}
	if len(v) > n {
		weight := func(e sparse.Entry) float64 { return e.Value * l.idf[e.ID] }
		slices.SortFunc(v, func(a, b sparse.Entry) int {
			return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.ID, b.ID))
		})
		v = v[:n]
	}
	return sparse.New(v)
}

// unit scales v in place to length 1; nil when it has none.
func unit(v sparse.Vector) sparse.Vector {
	n := v.Norm()
	if n == 0 {
		return nil
	}
	for i := range v {
		v[i].Value /= n
	}
	return v
}

// AppendBinary appends a lexicon as
//
//	words uvarint · { length uvarint · word · idf float64 LE }…   sorted
func (l *Lexicon) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(len(l.words)))
	for i, w := range l.words {
		b = wire.AppendString(b, w)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(l.idf[i]))
	}
	return b, nil
}

// MarshalBinary writes a lexicon as AppendBinary does.
func (l *Lexicon) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary reads what AppendBinary wrote. It takes no more memory than a
// few times len(b), whatever b holds.
func (l *Lexicon) UnmarshalBinary(b []byte) error {
	r := wire.NewReader(b)
	n := r.Count(9)
	read := Lexicon{words: make([]string, 0, n), idf: make([]float64, 0, n)}
	for i := range n {
		w, idf := r.String(), r.Float64()
		switch {
		case r.Err() != nil:
		case !(idf >= 0 && idf <= math.MaxFloat32):
			r.Fail("%q weighs %v", w, idf)
		case i > 0 && w <= read.words[i-1]:
			r.Fail("%q stands behind %q", w, read.words[i-1])
		}
		if r.Err() != nil {
			break
		}
		read.words, read.idf = append(read.words, w), append(read.idf, idf)
	}
	if err := r.End(); err != nil {
		return fmt.Errorf("words of a model: %w", err)
	}
	read.reindex()
	*l = read
	return nil
}
