package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"
	bleveapi "github.com/blevesearch/bleve_index_api"
	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
)

// rewind goes back to the newest checkpoint that the log still holds, and takes out
// what was indexed after it. Where pages were judged anew after that, nothing says how
// they were judged before, and the index is made anew.
func (b *Builder) rewind(ctx context.Context) error {
	list := b.state.Checkpoints
	if a := b.state.Ahead; a != nil {
		tail, err := bytesBefore(b.col.EventLog(), a.Log, a.Bytes)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil || xxh3.Hash(tail) != a.Tail:
			return b.anew()
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		tail, err := tailOf(b.col.EventLog(), list[i].Log)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil || tail != list[i].Tail {
			continue
		}
		switch {
		case i == len(list)-1:
			return nil
		case list[i].Rejudged != list[len(list)-1].Rejudged:
			return b.anew()
		}
		b.state.Checkpoints = list[:i+1]
		return b.removeFrom(ctx, list[i].Pages)
	}
	if len(list) == 0 {
		return nil
	}
	return b.anew()
}

// removeFrom takes out the pages from a number on.
func (b *Builder) removeFrom(ctx context.Context, number int) error {
	least := float64(number)
	q := bleve.NewNumericRangeQuery(&least, nil)
	q.SetField(fieldNumber)
	for {
		r, err := b.bleve.SearchInContext(ctx, bleve.NewSearchRequestOptions(q, 1000, 0, false))
		if err != nil {
			return err
		}
		for _, hit := range r.Hits {
			b.batch.Delete(hit.ID)
		}
		if err := b.write(); err != nil || len(r.Hits) == 0 {
			return err
		}
	}
}

// renew indexes pages anew that were judged anew, as far as the index has them and the
// log does not tell of them again.
func (b *Builder) renew(ctx context.Context, n *news) error {
	for hash, v := range n.verdicts {
		if _, again := n.numbers[hash]; again {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := card(b.bleve, v.URL.String())
		if errors.Is(err, ErrAbsent) {
			continue
		}
		if err != nil {
			return err
		}
		before := p
		if p.take(v); p == before {
			continue
		}
		if err := b.put(p, b.analyzer.In(p.Terms).Words(p.Text)); err != nil {
			return err
		}
		if len(b.pending) >= batchPages || b.size >= batchBytes {
			if err := b.write(); err != nil {
				return err
			}
		}
	}
	return b.write()
}

// card is what the index keeps of a page.
func card(x bleve.Index, address string) (p page, err error) {
	d, err := x.Document(address)
	if err != nil {
		return p, err
	}
	if d == nil {
		return p, fmt.Errorf("%s: %w", event.Line(address), ErrAbsent)
	}
	var text []byte
	d.VisitFields(func(f bleveapi.Field) {
		if f.Name() == fieldCard {
			text = f.Value()
		}
	})
	return p, json.Unmarshal(text, &p)
}

// groupOf is the group of a page: that of the first page of the index with nearly the
// same text, or one of its own.
func (b *Builder) groupOf(ctx context.Context, p *page) (string, error) {
	own := strconv.FormatUint(hashOf(p.URL), 16)
	if p.Hash == 0 {
		return own, nil
	}
	var pieces []query.Query
	for _, piece := range bands(p.Hash) {
		t := bleve.NewTermQuery(piece)
		t.SetField(fieldBand)
		pieces = append(pieces, t)
	}
	pages, err := b.bleve.DocCount()
	if err != nil {
		return "", err
	}
	req := bleve.NewSearchRequestOptions(bleve.NewDisjunctionQuery(pieces...), maxAlike(pages), 0, false)
	req.Fields, req.Score = []string{fieldHash, fieldGroup}, "none"
	req.SortBy([]string{fieldNumber})
	r, err := b.bleve.SearchInContext(ctx, req)
	if err != nil {
		return "", err
	}
	for _, hit := range r.Hits {
		text, _ := hit.Fields[fieldHash].(string)
		group, _ := hit.Fields[fieldGroup].(string)
		if hash, err := strconv.ParseUint(text, 16, 64); err == nil && hit.ID != p.URL && nearCopies(hash, p.Hash) {
			return group, nil
		}
	}
	for i := range b.pending {
		if other := &b.pending[i]; other.URL != p.URL && nearCopies(other.Hash, p.Hash) {
			return other.Group, nil
		}
	}
	return own, nil
}

// maxAlike bounds how many pages are compared with a new one, the oldest first, in an index of so
// many: of a million pages, 61 share a piece of the hash by chance, and twice as many are compared.
func maxAlike(pages uint64) int { return max(256, int(pages>>13)) }
