package index

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/numeric"
	bleveapi "github.com/blevesearch/bleve_index_api"
)

// keys are the numbers by which hits are ordered and filtered, of the documents of a
// snapshot. bleve by itself reads them from the segments for every page that matches, in
// every search, which takes longer than to find the pages. Here they are kept once they
// were read, 40 bytes a page. They may be used by several goroutines.
type keys struct {
	reader bleveapi.IndexReader
	mu     sync.Mutex      // held by who writes known
	known  []docKeys       // by the number of the document in the snapshot
	hashes []atomic.Uint64 // of the addresses, see hashOf; 0 = not read yet
}

// docKeys are those of a document.
type docKeys struct {
	relevance, time, number float64     // time in s since 1970
	verdict                 int32       // see page.verdict
	ready                   atomic.Bool // the others hold
}

func newKeys(x bleve.Index) (*keys, error) {
	inner, err := x.Advanced()
	if err != nil {
		return nil, err
	}
	r, err := inner.Reader()
	if err != nil {
		return nil, err
	}
	s, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.Join(fmt.Errorf("an index of the kind %T", r), r.Close())
	}
	n := 0
	for _, segment := range s.Segments() {
		n += int(segment.FullSize())
	}
	return &keys{reader: r, known: make([]docKeys, n), hashes: make([]atomic.Uint64, n)}, nil
}

func (k *keys) close() error { return k.reader.Close() }

// warm reads the keys of all documents, until stop is closed.
func (k *keys) warm(stop <-chan struct{}) {
	r := keyReader{keys: k}
	for n := range uint64(len(k.known)) {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := r.of(bleveapi.NewIndexInternalID(nil, n)); err != nil {
			return // the search that needs it tells
		}
		if _, err := k.hash(n); err != nil {
			return
		}
	}
}

// address is that of a document.
func (k *keys) address(n uint64) (string, error) {
	return k.reader.ExternalID(bleveapi.NewIndexInternalID(nil, n))
}

// hash is that of the address of a document.
func (k *keys) hash(n uint64) (uint64, error) {
	if h := k.hashes[n].Load(); h != 0 {
		return h, nil
	}
	address, err := k.address(n)
	if err != nil {
		return 0, err
	}
	h := hashOf(address)
	k.hashes[n].Store(h)
	return h, nil
}

// keyReader reads keys for one goroutine.
type keyReader struct {
	*keys
	values bleveapi.DocValueReader // nil until one has to be read
}

// of are the keys of a document.
func (r *keyReader) of(id bleveapi.IndexInternalID) (*docKeys, error) {
	n := id.Value()
	if n >= uint64(len(r.known)) {
		return nil, fmt.Errorf("document %d of %d", n, len(r.known))
	}
	d := &r.known[n]
	if d.ready.Load() {
		return d, nil
	}
	if r.values == nil {
		var err error
		if r.values, err = r.reader.DocValueReader([]string{fieldRelevance, fieldVerdict, fieldTime, fieldNumber}); err != nil {
			return nil, err
		}
	}
	var relevance, verdict, time, number float64
	err := r.values.VisitDocValues(id, func(field string, term []byte) {
		if shift, err := numeric.PrefixCoded(term).Shift(); err != nil || shift != 0 {
			return // a range in which the number lies
		}
		i, err := numeric.PrefixCoded(term).Int64()
		if err != nil {
			return
		}
		switch v := numeric.Int64ToFloat64(i); field {
		case fieldRelevance:
			relevance = v
		case fieldVerdict:
			verdict = v
		case fieldTime:
			time = v
		case fieldNumber:
			number = v
		}
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !d.ready.Load() {
		d.relevance, d.time, d.number, d.verdict = relevance, time, number, int32(verdict)
		d.ready.Store(true)
	}
	return d, nil
}
