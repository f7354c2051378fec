package index

import (
	"container/heap"
	"context"
	"errors"
	"runtime"
	"sort"

	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	bleveapi "github.com/blevesearch/bleve_index_api"
	"golang.org/x/sync/errgroup"
)

// found is a document that matches.
type found struct {
	id   uint64     // its number in the snapshot
	key  [3]float64 // by which it stands: the least first
	name string     // by which it stands, where that is no number
}

// before compares documents: that which comes first is less.
func (f *found) before(g *found) bool {
	for i, k := range f.key {
		if k != g.key[i] {
			return k < g.key[i]
		}
	}
	return f.name < g.name
}

// place sets by what a document stands in an order. No two stand at one place.
func (f *found) place(s Sort, score float64, d *docKeys) {
	switch s {
	case ByMatch:
		f.key = [3]float64{-score, -d.relevance, d.number}
	case ByRelevance:
		f.key = [3]float64{-d.relevance, d.number}
	case Newest:
		f.key = [3]float64{-d.time, -d.number}
	case Oldest:
		f.key = [3]float64{d.time, d.number}
	}
}

// passes tells whether a document is among those that a query wants by its numbers, in an
// index that has come so far.
func (q *Query) passes(d *docKeys, at *checkpoint) bool {
	relevant := at.relevant(d.verdict, d.relevance)
	switch {
	case q.MinRelevance > 0 && d.relevance < q.MinRelevance, q.MaxRelevance != nil && d.relevance > *q.MaxRelevance,
		q.Verdict == Relevant && !relevant, q.Verdict == Other && relevant,
		!q.Since.IsZero() && d.time < float64(q.Since.UnixMicro())/1e6, !q.Until.IsZero() && d.time > float64(q.Until.UnixMicro())/1e6:
		return false
	}
	return true
}

const (
	checkEvery = 1024 // documents after which a search looks whether it was given up
	splitAfter = 8192 // view.split
	maxShares  = 4
)

// first gives the first n matches of a query in its order, and how many there are in all.
func (x *view) first(ctx context.Context, what query.Query, q *Query, n int) ([]found, int, error) {
	ctx = context.WithValue(ctx, search.GetScoringModelCallbackKey, search.GetScoringModelCallbackFn(func() string { return bleveapi.BM25Scoring }))
	end := uint64(len(x.keys.known))
	shares := []share{{to: end, n: n}}
	err := shares[0].search(ctx, x, what, q, x.split)
	if left := end - shares[0].to; err == nil && left > 0 {
		k := uint64(min(runtime.GOMAXPROCS(0), maxShares))
		for i := range k {
			shares = append(shares, share{from: end - left + i*left/k, to: end - left + (i+1)*left/k, n: n})
		}
		var group errgroup.Group
		for i := range shares[1:] {
			group.Go(func() error { return shares[1+i].search(ctx, x, what, q, 0) })
		}
		err = group.Wait()
	}
	if err != nil {
		return nil, 0, err
	}
	var list []found
	total := 0
	for _, s := range shares {
		list, total = append(list, s.best...), total+s.total
	}
	sort.Slice(list, func(i, j int) bool { return list[i].before(&list[j]) })
	return list[:min(n, len(list))], total, nil
}

// share is a search of the documents [from,to): how many match, and the first n of them,
// as a heap with the last of these on top.
type share struct {
	from, to uint64
	n        int

	best  []found
	total int
}

var _ heap.Interface = (*share)(nil)

// search looks at the documents. After limit of them that match the words, 0 = all, it
// leaves the others: to is where they begin.
func (r *share) search(ctx context.Context, x *view, what query.Query, q *Query, limit int) (err error) {
	o := search.SearcherOptions{Score: noScore}
	if q.Sort == ByMatch {
		o.Score = ""
	}
	s, err := what.Searcher(ctx, x.keys.reader, x.Mapping(), o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	named, err := x.names(q.Sort)
	if err != nil {
		return err
	}
	keys := keyReader{keys: x.keys}
	sc := &search.SearchContext{DocumentMatchPool: search.NewDocumentMatchPool(s.DocumentMatchPoolSize()+1, 0), IndexReader: x.keys.reader}
	var m *search.DocumentMatch
	if r.from > 0 {
		m, err = s.Advance(sc, bleveapi.NewIndexInternalID(nil, r.from))
	} else {
		m, err = s.Next(sc)
	}
	var f found
	at := x.state.last()
	for seen := 1; err == nil && m != nil; seen++ {
		if f = (found{id: m.IndexInternalID.Value()}); f.id >= r.to {
			return nil
		}
		if seen%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		d, err := keys.of(m.IndexInternalID)
		if err != nil {
			return err
		}
		if q.passes(d, &at) {
			r.total++
			f.place(q.Sort, m.Score, d)
			if named != nil {
				if f.name, err = named(m.IndexInternalID); err != nil {
					return err
				}
			}
			r.add(&f)
		}
		if seen == limit {
			r.to = f.id + 1
			return nil
		}
		sc.DocumentMatchPool.Put(m)
		if m, err = s.Next(sc); err != nil {
			return err
		}
	}
	return err
}

// add takes in a document that matches.
func (r *share) add(f *found) {
	switch {
	case len(r.best) < r.n:
		r.best = append(r.best, *f)
		heap.Fix(r, len(r.best)-1)
	case r.n > 0 && f.before(&r.best[0]):
		r.best[0] = *f
		heap.Fix(r, 0)
	}
}

// The methods of heap.Interface.

func (r *share) Len() int           { return len(r.best) }
func (r *share) Less(i, j int) bool { return r.best[j].before(&r.best[i]) }
func (r *share) Swap(i, j int)      { r.best[i], r.best[j] = r.best[j], r.best[i] }
func (r *share) Push(f any)         { r.best = append(r.best, f.(found)) }

func (r *share) Pop() any {
	last := r.best[len(r.best)-1]
	r.best = r.best[:len(r.best)-1]
	return last
}

// names tells by what a document stands in an order by names; nil for other orders.
func (x *view) names(s Sort) (of func(bleveapi.IndexInternalID) (string, error), err error) {
	r := x.keys.reader
	switch s {
	case ByURL:
		return r.ExternalID, nil
	case ByHost:
		hosts, err := r.DocValueReader([]string{fieldHost})
		if err != nil {
			return nil, err
		}
		return func(id bleveapi.IndexInternalID) (string, error) {
			var host string
			err := hosts.VisitDocValues(id, func(_ string, term []byte) { host = string(term) })
			if err != nil {
				return "", err
			}
			address, err := r.ExternalID(id)
			return host + " " + address, err
		}, nil
	}
	return nil, nil
}

// noScore is bleve's name for searches whose matches have no scores.
const noScore = "none"

// filter is a query that adds nothing to scores.
type filter struct{ query.Query }

// Searcher finds what the query finds.
func (f filter) Searcher(ctx context.Context, r bleveapi.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	o.Score = noScore
	return f.Query.Searcher(ctx, r, m, o)
}
