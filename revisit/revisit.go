// Package revisit keeps a collection up to date: what its rounds know of each page, which
// pages a round asks for again, and what it found changed.
//
// A round is a crawl of its own in the folder of the collection, see package collection.
// Its life:
//
//	Read    what the rounds so far know, from the last of them
//	Choose  the pages that are worth a visit: relevant ones that change come sooner
//	Before  a fetcher asks for them by ETag and Last-Modified
//	Read    what is known then, and the report of what changed
package revisit

import (
	"cmp"
	"context"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Round is what a round of a collection found.
type Round struct {
	// Before is what was known before it, and Known what is known since; both are sorted
	// by address, as text.
	Before, Known []collection.Known
	// NotModified counts the pages of which the server said, without a body, that they are
	// as they were.
	NotModified int

	fates map[web.URL]Fate // of the pages of Before that were asked for
	// What sitemaps and feeds told of pages of Before, those that were not visited yet, and how
	// that came true.
	told map[web.URL]web.Date
	said Said
}

// Read reads what round number, in the folder col, found; it may run still. The parser is
// that of the crawl: by the words of a page it tells whether more than its bytes has
// changed. It parses the pages that are new or have other bytes than before.
func Read(ctx context.Context, col collection.Collection, number int, p crawl.Parser) (*Round, error) {
	r := &Round{fates: map[web.URL]Fate{}, told: map[web.URL]web.Date{}}
	claims := map[web.URL]bool{} // of pages that were not visited since: whether they are said to have changed
	heard := map[web.URL]bool{}  // of those that were
	at := map[web.URL]int{}
	for k, err := range col.Known() {
		if err != nil {
			return nil, err
		}
		at[k.URL] = len(r.Known)
		r.Before = append(r.Before, k)
		k.Due, k.Spare = 0, 0 // the chance that it had changed is needed
		r.Known = append(r.Known, k)
	}
	fresh := map[web.URL]bool{} // of other bytes than before
	for e, err := range col.Visits() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case event.Fetched:
			i, ok := at[e.URL]
			if !ok {
				i = len(r.Known)
				at[e.URL] = i
				r.Known = append(r.Known, collection.Known{URL: e.URL, From: e.From, Depth: e.Depth, First: e.At.At})
			}
			k := &r.Known[i]
			if k.Digest != e.Digest {
				fresh[e.URL] = true
				k.Digest, k.Body = e.Digest, number
			}
			if ok {
				k.Visits++
				if changed, told := claims[e.URL]; told {
					heard[e.URL] = changed
					delete(claims, e.URL)
				}
				r.fates[e.URL] = Unchanged // unless its words say otherwise
				if e.Bytes == 0 {
					r.NotModified++
				}
			}
			k.Title, k.Relevance, k.Relevant, k.Last = e.Title, e.Relevance, e.Relevant, e.At.At
			k.Gone, k.To, k.Failed = time.Time{}, web.URL{}, 0
			k.Entries, k.Said = e.Entries, ""
			for _, d := range e.Dated {
				if i, ok := at[d.URL]; ok && crawl.Covers(e.URL, d.URL) {
					if changed, ok := crawl.ChangeTold(d.Changed, r.Known[i].Last, e.At.At); ok {
						claims[d.URL], r.told[d.URL] = changed, d.Changed
					}
				}
			}
		case event.Failed:
			i, ok := at[e.URL]
			if !ok || e.Retry {
				continue
			}
			k := &r.Known[i]
			switch {
			case e.Status == http.StatusNotFound, e.Status == http.StatusGone:
				r.fates[e.URL], k.To = Vanished, web.URL{}
			case !e.To.IsZero() && e.To != e.URL && e.Status/100 == 3: // a seed without a scheme may be asked for by http instead
				r.fates[e.URL], k.To = Moved, e.To
			default:
				r.fates[e.URL] = Failed
				k.Failed++
				continue
			}
			if k.Gone.IsZero() {
				k.Gone = e.At.At
			}
		}
	}
	if err := r.compare(ctx, col, p, fresh, at); err != nil {
		return nil, err
	}
	for u, changed := range heard {
		r.learn(&r.Known[at[u]], changed)
	}
	for u, changed := range claims {
		if changed {
			r.Known[at[u]].Said = r.told[u]
		}
	}
	byAddress := func(a, b collection.Known) int { return cmp.Compare(a.URL.String(), b.URL.String()) }
	slices.SortFunc(r.Before, byAddress)
	slices.SortFunc(r.Known, byAddress)
	return r, nil
}

// compare takes the words of pages that are of other bytes than before.
func (r *Round) compare(ctx context.Context, col collection.Collection, p crawl.Parser, fresh map[web.URL]bool, at map[web.URL]int) error {
	words, terms := map[web.URL]string{}, map[web.URL]string{}
	for page, err := range collection.Readable(col.Pages(ctx, p, func(u web.URL) bool { return fresh[u] })) {
		if err != nil {
			return err
		}
		words[page.URL], terms[page.URL] = wordsOf(page), termsOf(page)
	}
	for u := range fresh {
		k := &r.Known[at[u]]
		was := k.Words
		k.Words = words[u]
		now := k.Words
		if !strings.HasPrefix(was, asWritten) {
			now = terms[u]
		}
		if _, known := r.fates[u]; known && (was == "" || now == "" || was != now) {
			r.fates[u] = Changed
			k.Changes++
		}
	}
	return nil
}

// asWritten begins a hash of wordsOf. One without it is of termsOf, in folders of versions that
// compared those.
const asWritten = "w"

// wordsOf is a hash of which words stand on a page, and how often, as they are written: digits
// and short words too, with what stands beside them without a space. Their order does not
// count, so that a list that is shuffled at each visit is no change.
func wordsOf(p *web.Page) string {
	words := strings.Fields(p.Title)
	for i := range p.Leaves {
		words = append(words, strings.Fields(p.Leaves[i].Text)...)
	}
	slices.Sort(words)
	h := xxh3.New()
	for _, w := range words {
		_, _ = h.WriteString(w) // a hash takes everything
		_, _ = h.WriteString("\x00")
	}
	return asWritten + strconv.FormatUint(h.Sum64(), 16)
}

// termsOf is a hash of how often which terms stand on a page: those that a judge compares,
// without common words and most numbers.
func termsOf(p *web.Page) string {
	var b []byte
	for _, t := range p.Terms {
		b = append(append(b, t.Text...), 0)
		b = binary.AppendVarint(b, int64(t.Body))
	}
	return strconv.FormatUint(xxh3.Hash(b), 16)
}
