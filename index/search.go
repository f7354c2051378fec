package index

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Reader searches an index. It may be used by several goroutines.
type Reader struct {
	dir      string
	analyzer *parse.Analyzer

	mu     sync.Mutex
	now    *view
	looked time.Time
}

// view is a snapshot that is closed when nobody searches it any more.
type view struct {
	*snapshot
	state state
	keys  *keys
	users int // the Reader is one
}

// Open opens the index in the folder dir for reading. The error wraps ErrNone if there
// is none.
func Open(dir string) (*Reader, error) {
	r := &Reader{dir: dir, analyzer: parse.NewAnalyzer(parse.Languages()...)}
	now, err := r.open()
	if err != nil {
		return nil, err
	}
	r.now, r.looked = now, time.Now()
	return r, nil
}

func (r *Reader) open() (*view, error) {
	s, err := openSnapshot(r.dir)
	if err != nil {
		return nil, err
	}
	k, err := newKeys(s.Index)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the index in %s: %w", r.dir, err), s.close())
	}
	out := &view{snapshot: s, keys: k, users: 1}
	text, err := s.GetInternal([]byte(stateKey))
	if err == nil && text != nil {
		err = json.Unmarshal(text, &out.state)
	}
	if err == nil && text != nil && out.state.Version != stateVersion {
		err = fmt.Errorf("it is of another version of waggle: make it anew with waggle index")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the index in %s: %w", r.dir, err), out.close())
	}
	return out, nil
}

func (x *view) close() error { return errors.Join(x.keys.close(), x.snapshot.close()) }

// take is the newest snapshot, to be given back.
func (r *Reader) take() (*view, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		return nil, errors.New("the index is closed")
	}
	if time.Since(r.looked) > refreshEvery {
		r.looked = time.Now()
		if r.now.stale(r.dir) {
			if next, err := r.open(); err == nil { // else what is open still answers
				r.leave(r.now)
				r.now = next
			}
		}
	}
	r.now.users++
	return r.now, nil
}

func (r *Reader) give(s *view) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(s)
}

// leave is give with the lock held.
func (r *Reader) leave(s *view) error {
	if s.users--; s.users > 0 {
		return nil
	}
	return s.close()
}

// Close closes the reader.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		return nil
	}
	now := r.now
	r.now = nil
	return r.leave(now)
}

// Hit is a page that was found. Its texts are one line each, without control and
// bidirectional characters; they may hold markup, which is to be shown as text.
type Hit struct {
	URL, From      web.URL // From is zero of a seed
	Title          []Span
	Snippet        []Span // up to 240 characters of the text
	Relevance      float64
	Relevant       bool
	Language, MIME string
	Status, Depth  int
	At             time.Time
	Copies         int     // further pages of the index with nearly the same text
	Score          float64 // of the match; comparable within one result
}

// Result is what a search found.
type Result struct {
	Total int // pages that match, before folding
	Hits  []Hit
	More  bool // there are hits behind these
	Took  time.Duration
	Pages int // in the index
}

// check looks at a query and splits its text as the languages of the index do. Where
// there is nothing to match, the best match is the most relevant page.
func (r *Reader) check(q *Query, x *view) (*phrases, error) {
	languages, err := languagesOf(x.Index)
	if err != nil {
		return nil, err
	}
	terms, err := q.check(r.analyzer, languages)
	if err == nil && q.Sort == ByMatch && len(terms.want) == 0 {
		q.Sort = ByRelevance
	}
	return terms, err
}

// Search finds pages. The error is a *QueryError if the query is at fault.
func (r *Reader) Search(ctx context.Context, q Query) (*Result, error) {
	began := time.Now()
	x, err := r.take()
	if err != nil {
		return nil, err
	}
	defer r.give(x)
	terms, err := r.check(&q, x)
	if err != nil {
		return nil, err
	}
	what, err := q.build(x.Index, terms, x.state.Threshold)
	if err != nil {
		return nil, err
	}
	matches, total, more, err := x.find(ctx, what, &q)
	if err != nil {
		return nil, err
	}
	out := &Result{Total: total, More: more}
	for _, m := range matches {
		h, err := hitOf(ctx, x, m, r.analyzer, terms)
		if err != nil {
			return nil, err
		}
		out.Hits = append(out.Hits, h)
	}
	pages, err := x.DocCount()
	out.Pages, out.Took = int(pages), time.Since(began)
	return out, err
}

// Matches are the addresses of the pages that a query finds, in its order, at most
// 10,000, and how many it finds in all. From, Size and Fold are not looked at: a program
// that sorts or filters further gives what is left to Hits.
func (r *Reader) Matches(ctx context.Context, q Query) (list []web.URL, total int, err error) {
	q.From, q.Size, q.Fold = 0, 0, false
	x, err := r.take()
	if err != nil {
		return nil, 0, err
	}
	defer r.give(x)
	terms, err := r.check(&q, x)
	if err != nil {
		return nil, 0, err
	}
	what, err := q.build(x.Index, terms, x.state.Threshold)
	if err != nil {
		return nil, 0, err
	}
	hits, total, _, err := x.first(ctx, what, &q, maxAsked)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range hits {
		u, err := web.Parse(m.ID)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, u)
	}
	return list, total, nil
}

// Hits are what a query says of pages: q.Size of them from q.From on, in the order given,
// with the words of q.Text marked. If q.Fold, of near-copies only the first is given.
// Pages that the index does not hold are passed over. more tells that there are others.
func (r *Reader) Hits(ctx context.Context, q Query, pages []web.URL) (hits []Hit, more bool, err error) {
	x, err := r.take()
	if err != nil {
		return nil, false, err
	}
	defer r.give(x)
	terms, err := r.check(&q, x)
	if err != nil {
		return nil, false, err
	}
	if !q.Fold {
		pages, q.From = pages[min(q.From, len(pages)):], 0
	}
	seen, passed := map[string]bool{}, 0
	for _, u := range pages {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		p, err := card(x.Index, u)
		switch {
		case errors.Is(err, ErrAbsent):
			continue
		case err != nil:
			return nil, false, err
		case q.Fold && seen[p.Group]:
			continue
		case len(hits) == cmp.Or(q.Size, defaultSize):
			return hits, true, nil
		}
		seen[p.Group] = true
		if passed++; passed <= q.From {
			continue
		}
		h, err := hitOf(ctx, x, &search.DocumentMatch{ID: u.String()}, r.analyzer, terms)
		if err != nil {
			return nil, false, err
		}
		hits = append(hits, h)
	}
	return hits, false, nil
}

// find gives the matches that are asked for. Where near-copies are folded, it asks for
// more of them until enough groups are there.
func (x *view) find(ctx context.Context, what query.Query, q *Query) (matches []*search.DocumentMatch, total int, more bool, err error) {
	size := cmp.Or(q.Size, defaultSize)
	want := q.From + size
	ask := want + 1
	if q.Fold {
		ask = 2*want + 10
	}
	for {
		hits, total, whole, err := x.first(ctx, what, q, min(ask, maxAsked))
		if err != nil {
			return nil, 0, false, err
		}
		kept := hits[:0:0]
		seen := map[string]bool{}
		for _, hit := range hits {
			group, _ := hit.Fields[fieldGroup].(string)
			if q.Fold && seen[group] {
				continue
			}
			seen[group] = true
			kept = append(kept, hit)
		}
		if len(kept) > want || whole || ask >= maxAsked {
			from, to := min(q.From, len(kept)), min(want, len(kept))
			return kept[from:to], total, len(kept) > want, nil
		}
		ask *= 3
	}
}

// first gives at most n matches in the order of the query, and tells whether they are all
// there are. They may be fewer although there are more: of hits of one score all are
// given or none, unless n is maxAsked, as their order is not bleve's.
func (x *view) first(ctx context.Context, what query.Query, q *Query, n int) (hits search.DocumentMatchCollection, total int, whole bool, err error) {
	req := bleve.NewSearchRequestOptions(what, n, 0, false)
	if q.Fold {
		req.Fields = []string{fieldGroup}
	}
	byScore := q.Sort == ByMatch
	if !byScore {
		req.Score = "none"
	}
	order, known, err := x.keys.order(q.Sort)
	switch {
	case err != nil:
		return nil, 0, false, err
	case byScore:
		req.SortBy([]string{"-_score"})
	case known:
		req.SortByCustom(search.SortOrder{order})
	case q.Sort == ByHost:
		req.SortBy([]string{fieldHost, "_id"})
	default:
		req.SortBy([]string{"_id"})
	}
	r, err := x.SearchInContext(ctx, req)
	if err != nil {
		return nil, 0, false, err
	}
	hits, total, whole = r.Hits, int(r.Total), uint64(len(r.Hits)) == r.Total
	if byScore {
		if !whole && n < maxAsked && len(hits) > 0 {
			last := hits[len(hits)-1].Score
			hits = hits[:slices.IndexFunc(hits, func(h *search.DocumentMatch) bool { return h.Score == last })]
		}
		order.ties(hits)
	}
	if known {
		err = order.err
	}
	return hits, total, whole, err
}

func hitOf(ctx context.Context, x *view, m *search.DocumentMatch, a *parse.Analyzer, terms *phrases) (h Hit, err error) {
	u, err := web.Parse(m.ID)
	if err != nil {
		return h, err
	}
	p, err := card(x.Index, u)
	if err != nil {
		return h, err
	}
	from, _ := web.Parse(p.From) // zero of a seed
	h = Hit{
		URL: u, From: from, Relevance: p.Relevance, Relevant: p.Reason == "" && p.Relevance >= x.state.Threshold,
		Language: p.Language, MIME: p.MIME, Status: p.Status, Depth: p.Depth, At: time.UnixMicro(p.At).UTC(), Score: m.Score,
	}
	mark := terms.marks()
	a = a.In(p.Terms)
	h.Title = mark.spans(a, p.Title, maxTitle)
	h.Snippet = mark.snippet(a, p.Text)
	group := bleve.NewTermQuery(p.Group)
	group.SetField(fieldGroup)
	req := bleve.NewSearchRequestOptions(group, 0, 0, false)
	req.Score = "none"
	r, err := x.SearchInContext(ctx, req)
	if err != nil {
		return h, err
	}
	h.Copies = max(0, int(r.Total)-1)
	return h, nil
}

// Text is the title and the text of a page as they were indexed. The error wraps
// ErrAbsent if the page is not there.
func (r *Reader) Text(_ context.Context, u web.URL) (title, text string, err error) {
	x, err := r.take()
	if err != nil {
		return "", "", err
	}
	defer r.give(x)
	p, err := card(x.Index, u)
	return p.Title, p.Text, err
}
