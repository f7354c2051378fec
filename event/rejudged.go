package event

import (
	"hash/maphash"
	"iter"

	"github.com/waggle-crawler/waggle/web"
)

// Rejudged says what a judge says anew of pages that were fetched before: its
// view of what is wanted has changed, or another judge was asked.
type Rejudged struct {
	At
	Pages []Verdict `json:"pages"`
}

// Verdict is what a judge says of a page.
type Verdict struct {
	URL        web.URL `json:"url"`
	Relevance  float64 `json:"relevance"`
	Similarity float64 `json:"similarity"`
	Relevant   bool    `json:"relevant,omitempty"`
	Was        bool    `json:"was,omitempty"` // relevant, before
}

// Kind is "rejudged".
func (Rejudged) Kind() string { return "rejudged" }

// Doubt is what the first pages of a crawl show of how well its judge can tell
// wanted pages from others, and what would help.
type Doubt struct {
	At
	Notes []string `json:"notes"`
}

// Kind is "doubt".
func (Doubt) Kind() string { return "doubt" }

// verdicts writes those of pages.
func (o *object) verdicts(l []Verdict) {
	o.key("pages")
	o.b = append(o.b, '[')
	for i, v := range l {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, `{"url":`...)
		o.b = appendString(o.b, v.URL.String())
		o.float("relevance", v.Relevance)
		o.float("similarity", v.Similarity)
		o.flag("relevant", v.Relevant)
		o.flag("was", v.Was)
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

// Renewed gives the pages of a sequence the verdicts that were told of them
// last. It ranges over the sequence twice, first for what was told anew, of
// which it holds some 40 bytes a page.
func Renewed(events iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		type key = uint64
		seed := maphash.MakeSeed()
		last := map[key]Verdict{}
		for e, err := range events {
			if r, ok := e.(Rejudged); ok && err == nil {
				for _, v := range r.Pages {
					id := maphash.Comparable(seed, v.URL)
					v.URL = web.URL{}
					last[id] = v
				}
			}
		}
		for e, err := range events {
			if p, ok := e.(Fetched); ok && err == nil && len(last) > 0 {
				if v, ok := last[maphash.Comparable(seed, p.URL)]; ok {
					p.Relevance, p.Similarity, p.Relevant = v.Relevance, v.Similarity, v.Relevant && p.Reason == ""
					e = p
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
