package event

import (
	"cmp"
	"errors"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// Rejudged says what a judge says anew of pages that were fetched before. During a
// run the view of its judge has changed. Between runs all pages were judged anew:
// then it names the judge and its threshold, and what else changed follows as
// Changed.
type Rejudged struct {
	At
	Judge     string    `json:"judge,omitempty"`
	Threshold float64   `json:"threshold,omitempty"`
	Pages     []Verdict `json:"pages"` // those of which something else is said
}

// Verdict is what a judge says of a page.
type Verdict struct {
	URL        web.URL `json:"url"`
	Relevance  float64 `json:"relevance"`
	Similarity float64 `json:"similarity"`
	Relevant   bool    `json:"relevant,omitempty"`
	Was        bool    `json:"was,omitempty"` // relevant, before
	// Reason is why the page is no harvest from now on whatever its relevance, where the log had no
	// reason so far: its kind is no longer wanted. It is as a Reason of Fetched: later verdicts leave
	// it, and one that calls the page relevant overrules it.
	Reason web.Reason `json:"reason,omitempty"`
	// Wanted tells that the reason which the log had holds no more, whether or not the page is relevant:
	// its kind is wanted again. It holds until a later verdict has a Reason.
	Wanted bool `json:"wanted,omitempty"`
}

// Overrules tells whether the page counts although there was a reason to leave it out when it was
// fetched: its kind counts now, or a person wants it. A copy never does.
func (v Verdict) Overrules(r web.Reason) bool {
	return r != "" && (v.Relevant || v.Wanted) && !r.Copy()
}

// After is v with what holds still of last, the verdict that was told of the same page before it.
func (v Verdict) After(last Verdict) Verdict {
	v.Wanted = v.Wanted || last.Wanted && v.Reason == ""
	v.Reason = cmp.Or(last.Reason, v.Reason)
	return v
}

// Change is 1 if the page is relevant and was not before, -1 if it was and is not, else 0.
func (v Verdict) Change() int {
	switch {
	case v.Relevant && !v.Was:
		return 1
	case v.Was && !v.Relevant:
		return -1
	}
	return 0
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
		o.b = AppendText(o.b, v.URL.String())
		o.float("relevance", v.Relevance)
		o.float("similarity", v.Similarity)
		o.flag("relevant", v.Relevant)
		o.flag("was", v.Was)
		o.optText("reason", string(v.Reason))
		o.flag("wanted", v.Wanted)
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

// Said are the relevances that were told of a page, oldest first: that which it was
// fetched with, and those of later judgements. The events are those of a log as it was
// written, and not Renewed. A torn last line is no error.
func Said(events iter.Seq2[Event, error], u web.URL) (relevances []float64, err error) {
	for e, err := range events {
		if errors.Is(err, ErrTorn) {
			return relevances, nil
		}
		if err != nil {
			return relevances, err
		}
		switch e := e.(type) {
		case Fetched:
			if e.URL == u {
				relevances = append(relevances, e.Relevance)
			}
		case Rejudged:
			for _, v := range e.Pages {
				if v.URL == u {
					relevances = append(relevances, v.Relevance)
				}
			}
		}
	}
	return relevances, nil
}

// Renewed gives the pages of a sequence the verdicts that were told of them
// last. told is where the Rejudged events are looked for: the same sequence, or a
// part of it that holds them all. Of every page that changed some 60 bytes are
// held. A Rejudged event of the result tells no change, as nothing changes any
// more: each page of it was before as it is.
func Renewed(told, events iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		seed := maphash.MakeSeed()
		last := map[uint64]Verdict{}
		for e, err := range told {
			if r, ok := e.(Rejudged); ok && err == nil {
				for _, v := range r.Pages {
					id := maphash.Comparable(seed, v.URL)
					v.URL = web.URL{}
					last[id] = v.After(last[id])
				}
			}
		}
		for e, err := range events {
			switch p := e.(type) {
			case Fetched:
				if v, ok := last[maphash.Comparable(seed, p.URL)]; ok && err == nil {
					if p.Reason = cmp.Or(p.Reason, v.Reason); v.Overrules(p.Reason) {
						p.Overruled, p.Reason = p.Reason, ""
					}
					p.Wanted = v.Wanted
					p.Relevance, p.Similarity, p.Relevant = v.Relevance, v.Similarity, v.Relevant && p.Reason == ""
					e = p
				}
			case Rejudged:
				e = p.with(func(v *Verdict) { v.Was = v.Relevant })
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// with is a copy whose verdicts were changed.
func (r Rejudged) with(change func(v *Verdict)) Rejudged {
	r.Pages = slices.Clone(r.Pages)
	for i := range r.Pages {
		change(&r.Pages[i])
	}
	return r
}
