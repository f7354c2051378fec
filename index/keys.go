package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/numeric"
	"github.com/blevesearch/bleve/v2/search"
	bleveapi "github.com/blevesearch/bleve_index_api"
)

// keys are the numbers by which hits are ordered, of the documents of a snapshot. bleve
// by itself reads them from the segments for every page that matches, in every search,
// which takes longer than to find the pages. Here they are kept once they were read, 32
// bytes a page. They may be used by several goroutines.
type keys struct {
	reader bleveapi.IndexReader

	mu    sync.RWMutex
	known []docKeys // by the number of the document in the snapshot
}

// docKeys are those of a document.
type docKeys struct {
	relevance, time, number float64
	read                    bool
}

func newKeys(x bleve.Index) (*keys, error) {
	inner, err := x.Advanced()
	if err != nil {
		return nil, err
	}
	r, err := inner.Reader()
	return &keys{reader: r}, err
}

func (k *keys) close() error { return k.reader.Close() }

// keyOrder is an order of hits by their keys, for one search.
type keyOrder struct {
	keys   *keys
	values bleveapi.DocValueReader
	of     func(docKeys) (first, second float64) // the least comes first
	err    error                                 // the first of reading
}

var _ search.SearchSort = (*keyOrder)(nil)

// order is an order by keys; ok is false where they do not tell it.
func (k *keys) order(s Sort) (o *keyOrder, ok bool, err error) {
	o = &keyOrder{keys: k}
	switch s {
	case ByMatch, ByRelevance:
		o.of = func(d docKeys) (float64, float64) { return -d.relevance, d.number }
	case Newest:
		o.of = func(d docKeys) (float64, float64) { return -d.time, -d.number }
	case Oldest:
		o.of = func(d docKeys) (float64, float64) { return d.time, d.number }
	default:
		return nil, false, nil
	}
	o.values, err = k.reader.DocValueReader([]string{fieldRelevance, fieldTime, fieldNumber})
	return o, true, err
}

// Value is the key of a hit as text, of which the least comes first.
func (o *keyOrder) Value(hit *search.DocumentMatch) string {
	first, second := o.of(o.read(hit.IndexInternalID))
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(numeric.Float64ToInt64(first))^1<<63)
	binary.BigEndian.PutUint64(b[8:], uint64(numeric.Float64ToInt64(second))^1<<63)
	return string(b[:])
}

// read is what is known of a document, or is read of it.
func (o *keyOrder) read(id bleveapi.IndexInternalID) docKeys {
	n := id.Value()
	o.keys.mu.RLock()
	var d docKeys
	if int(n) < len(o.keys.known) {
		d = o.keys.known[n]
	}
	o.keys.mu.RUnlock()
	if d.read {
		return d
	}
	d.read = true
	err := o.values.VisitDocValues(id, func(field string, term []byte) {
		if shift, err := numeric.PrefixCoded(term).Shift(); err != nil || shift != 0 {
			return // a range in which the number lies
		}
		i, err := numeric.PrefixCoded(term).Int64()
		if err != nil {
			return
		}
		switch v := numeric.Int64ToFloat64(i); field {
		case fieldRelevance:
			d.relevance = v
		case fieldTime:
			d.time = v
		case fieldNumber:
			d.number = v
		}
	})
	if err != nil {
		o.err = errors.Join(o.err, err)
		return d
	}
	o.keys.mu.Lock()
	defer o.keys.mu.Unlock()
	if more := int(n) + 1 - len(o.keys.known); more > 0 {
		o.keys.known = append(slices.Grow(o.keys.known, more), make([]docKeys, more)...)
	}
	o.keys.known[n] = d
	return d
}

// ties orders hits of equal scores, which stand side by side.
func (o *keyOrder) ties(hits search.DocumentMatchCollection) {
	for from := 0; from < len(hits); {
		to := from + 1
		for to < len(hits) && hits[to].Score == hits[from].Score {
			to++
		}
		if to > from+1 {
			order := map[*search.DocumentMatch]string{}
			for _, h := range hits[from:to] {
				order[h] = o.Value(h)
			}
			slices.SortFunc(hits[from:to], func(a, b *search.DocumentMatch) int { return strings.Compare(order[a], order[b]) })
		}
		from = to
	}
}

// UpdateVisitor takes values that bleve read; it reads none.
func (o *keyOrder) UpdateVisitor(string, []byte) {}

// DecodeValue is a key for people.
func (o *keyOrder) DecodeValue(value string) string { return fmt.Sprintf("%x", value) }

// Descending tells that the greatest comes first.
func (o *keyOrder) Descending() bool { return false }

// RequiresDocID tells that addresses are needed.
func (o *keyOrder) RequiresDocID() bool { return false }

// RequiresScoring tells that scores are needed.
func (o *keyOrder) RequiresScoring() bool { return false }

// RequiresFields are those that bleve has to read.
func (o *keyOrder) RequiresFields() []string { return nil }

// Reverse is for searches that go backwards, of which there are none.
func (o *keyOrder) Reverse() {}

// Copy is the order itself: a search is made once.
func (o *keyOrder) Copy() search.SearchSort { return o }
