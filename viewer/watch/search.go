package watch

import (
	"context"
	"errors"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/index"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/web"
)

// searcher is the index of a crawl, once there is one. crawl.mu guards it.
type searcher struct {
	reader *index.Reader // nil: there is none
	state  IndexState
	again  time.Time // when one that could not be opened is tried again
	busy   time.Time // when one that another process was making is to be made here
	when   Indexing
	asked  bool // a person wants it made
	begun  bool // makeIndex is at work
	made   bool // it was made here once
	whole  bool // it has had all pages since it is being made here
	failed bool // the last attempt did
}

// retryAfter is how long an index that cannot be opened is left alone.
const retryAfter = 10 * time.Second

// PageList is what a filter wants of the pages.
type PageList struct {
	Pages []Listed `json:"pages"`
	All   int      `json:"all"`   // how many there are; in a search of the index, folded near-copies among them
	More  bool     `json:"more"`  // there are others behind these
	Index bool     `json:"index"` // the index was searched; if not, titles and addresses
	// Matches are the pages that the words are on, before other filters. Only the best
	// 10,000 of them are looked at.
	Matches int `json:"matches,omitempty"`
}

// Listed is a page in a list, with what a search marks in it.
type Listed struct {
	figures.Page
	Marked  []Span `json:"marked,omitempty"`  // the title
	Snippet []Span `json:"snippet,omitempty"` // a piece of the text
	Copies  int    `json:"copies,omitempty"`  // further pages with nearly the same text
}

// Span is a piece of text, to be shown as text.
type Span struct {
	Text   string `json:"text"`
	Marked bool   `json:"marked"` // it is a word that was looked for
}

// lookForIndex opens the index when there is one. One that is first made is opened when it has
// all pages: until then titles find more than it does.
func (c *Crawl) lookForIndex() {
	c.mu.RLock()
	open := c.search.reader != nil || c.search.begun && !c.search.whole
	again := c.search.again
	c.mu.RUnlock()
	if open || time.Now().Before(again) {
		return
	}
	r, err := index.Open(index.Dir(c.col))
	if errors.Is(err, index.ErrNone) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.search
	was := s.state
	switch {
	case err == nil && s.failed: // why it is not whole
	case err == nil:
		s.state.Error = ""
	default:
		s.state.Error = event.Line(err.Error())
		s.again = time.Now().Add(retryAfter)
	}
	if s.reader, s.state.There = r, r != nil; r != nil {
		r.Warm()
	}
	if s.state != was {
		c.tell()
	}
}

// closeIndex closes what lookForIndex opened.
func (c *Crawl) closeIndex() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.search.reader != nil {
		c.search.reader.Close() // it was read only: what it leaves is a temporary folder
	}
	c.search.reader, c.search.state.There = nil, false
}

// Search is what is wanted of near-copies: an index knows them by the texts of pages, the log as
// the crawl told them.
type Search struct {
	Fold     bool    // of near-copies, and pages with the same body, only the first
	CopiesOf web.URL // only near-copies of this page, itself among them; zero = all
}

// Wrong is an error that is the fault of who asks.
type Wrong struct{ Err error }

func (e Wrong) Error() string { return e.Err.Error() }
func (e Wrong) Unwrap() error { return e.Err }

// Conflict is an error of the crawl as it is now: what is asked for could be done otherwise.
type Conflict struct{ Err error }

func (e Conflict) Error() string { return e.Err.Error() }
func (e Conflict) Unwrap() error { return e.Err }

// Absent is an error of what is not there.
type Absent struct{ Err error }

func (e Absent) Error() string { return e.Err.Error() }
func (e Absent) Unwrap() error { return e.Err }

// Find lists pages: by the index where words or near-copies are looked for and there is
// one, else by what the log tells.
func (c *Crawl) Find(ctx context.Context, f figures.Filter, q Search) (PageList, error) {
	c.mu.RLock()
	r := c.search.reader
	c.mu.RUnlock()
	what := index.Query{Text: f.Text, Since: f.Since, Until: f.Until, From: f.From, Size: f.N, Fold: q.Fold, CopiesOf: q.CopiesOf}
	got := PageList{Pages: []Listed{}}
	logged := 0 // copies that the log tells of
	if !q.CopiesOf.IsZero() {
		there := false
		c.With(func(x *figures.Crawl) {
			logged = x.CopiesOf(q.CopiesOf)
			_, _, there = x.Page(q.CopiesOf)
		})
		if !there {
			return got, Absent{errors.New("no page of this address was fetched")}
		}
	}
	if r == nil || f.N == 0 || f.Text == "" && (what.CopiesOf.IsZero() || logged > 0) {
		f.Fold, f.CopiesOf = q.Fold && q.CopiesOf.IsZero(), q.CopiesOf
		c.With(func(x *figures.Crawl) {
			var pages []figures.Page
			pages, got.All = x.List(f)
			for _, p := range pages {
				l := Listed{Page: p}
				if f.Fold {
					l.Copies = x.Copies(p.Number)
				}
				got.Pages = append(got.Pages, l)
			}
		})
		got.More = f.From+len(got.Pages) < got.All
		return got, nil
	}
	if f.Host != "" {
		what.Hosts = []string{string(f.Host)}
	}
	err := c.searchIndex(ctx, r, what, f, &got)
	switch {
	case errors.As(err, new(*index.QueryError)):
		err = Wrong{err}
	case errors.Is(err, index.ErrAbsent):
		err = Absent{err}
	}
	return got, err
}

// searchIndex searches the index. Filters and orders are those of the figures, so that
// they mean the same with and without an index.
func (c *Crawl) searchIndex(ctx context.Context, r *index.Reader, what index.Query, f figures.Filter, got *PageList) error {
	matches, total, err := r.Matches(ctx, what)
	if err != nil {
		return err
	}
	got.Index, got.Matches = true, total
	from, n := f.From, f.N
	f.Text, f.From, f.N = "", 0, len(matches)
	var numbers []int
	c.With(func(x *figures.Crawl) {
		f.Only = x.Named(matches)
		numbers, got.All = x.Numbers(f)
	})
	byURL := map[web.URL]figures.Page{}
	what.From, what.Size = from, n
	hits, more, err := r.Hits(ctx, what, func(yield func(web.URL) bool) {
		for _, i := range numbers {
			var p figures.Page
			c.With(func(x *figures.Crawl) { p, _ = x.Numbered(i) })
			if u, err := web.Parse(p.URL); err == nil {
				if byURL[u] = p; !yield(u) {
					return
				}
			}
		}
	})
	if err != nil {
		return err
	}
	got.More = more
	for _, h := range hits {
		got.Pages = append(got.Pages, Listed{byURL[h.URL], spans(h.Title), spans(h.Snippet), h.Copies})
	}
	return nil
}

func spans(list []index.Span) []Span {
	var out []Span
	for _, s := range list {
		out = append(out, Span{s.Text, s.Marked})
	}
	return out
}
