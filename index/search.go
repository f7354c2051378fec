package index

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Reader searches an index. It may be used by several goroutines.
type Reader struct {
	dir      string
	analyzer *parse.Analyzer
	every    time.Duration // how often it looks whether the index was written
	patience time.Duration // for how long a search waits for what was written

	mu      sync.Mutex
	now     *view // nil: it is closed
	looked  time.Time
	renewal chan struct{} // closed when a newer snapshot is there; nil while none is opened

	closing    chan struct{}
	background sync.WaitGroup
}

// view is a snapshot that is closed when nobody searches it any more.
type view struct {
	*snapshot
	state state
	keys  *keys
	split int // documents after which what is left of a search is shared among goroutines
	users int // the Reader is one
}

// Open opens the index in the folder dir for reading. The error wraps ErrNone if there
// is none. To find that out takes next to nothing, so that it may be asked again and again.
func Open(dir string) (*Reader, error) {
	r := &Reader{dir: dir, every: refreshEvery, patience: patience, closing: make(chan struct{})}
	now, err := r.open()
	if err != nil {
		return nil, err
	}
	r.analyzer = parse.NewAnalyzer(parse.Languages()...)
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
	out := &view{snapshot: s, keys: k, split: splitAfter, users: 1}
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

// patience is for how long a search waits for a newer snapshot, unless told otherwise.
const patience = 20 * time.Millisecond

// take is the newest snapshot, to be given back. A newer one is opened in the background,
// and its keys are read before it is searched: whoever does not have that long gets the one
// before.
func (r *Reader) take() (*view, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil && r.renewal == nil && time.Since(r.looked) > r.every {
		r.looked = time.Now()
		if r.now.stale(r.dir) {
			r.renewal = make(chan struct{})
			r.background.Go(r.renew)
		}
	}
	if renewal := r.renewal; renewal != nil {
		r.mu.Unlock()
		timer := time.NewTimer(r.patience)
		select {
		case <-renewal:
		case <-timer.C:
		}
		timer.Stop()
		r.mu.Lock()
	}
	if r.now == nil {
		return nil, errors.New("the index is closed")
	}
	r.now.users++
	return r.now, nil
}

// renew puts a newer snapshot in the place of the present one. Where none can be opened,
// that still answers.
func (r *Reader) renew() {
	next, err := r.open()
	if err == nil {
		next.keys.warm(r.closing) // what cannot be read now, a search tries to read again
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.renewal)
	r.renewal = nil
	switch {
	case err != nil:
	case r.now == nil:
		next.close() // it was read only: what it leaves is a temporary folder
	default:
		r.leave(r.now)
		r.now = next
	}
}

// Warm has the first searches be as quick as later ones: what they would read is read in
// the background.
func (r *Reader) Warm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		return
	}
	x := r.now
	x.users++
	r.background.Go(func() {
		x.keys.warm(r.closing)
		r.give(x)
	})
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
	now := r.now
	r.now = nil
	r.mu.Unlock()
	if now == nil {
		return nil
	}
	close(r.closing)
	r.background.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
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
	what, err := q.build(x.Index, terms)
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

// Matches are hashes (XXH3, 64 bits) of the addresses of the pages that a query finds, in
// its order, at most 10,000, and how many it finds in all. From, Size and Fold are not
// looked at: a program that sorts or filters further gives what is left to Hits.
func (r *Reader) Matches(ctx context.Context, q Query) (list []uint64, total int, err error) {
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
	what, err := q.build(x.Index, terms)
	if err != nil {
		return nil, 0, err
	}
	matches, total, err := x.first(ctx, what, &q, maxAsked)
	if err != nil {
		return nil, 0, err
	}
	list = make([]uint64, len(matches))
	for i, m := range matches {
		if list[i], err = x.keys.hash(m.id); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}

// Hits are what a query says of pages: q.Size of them from q.From on, in the order given,
// with the words of q.Text marked. If q.Fold, of near-copies only the first is given.
// Pages that the index does not hold are passed over. more tells that there are others.
func (r *Reader) Hits(ctx context.Context, q Query, pages iter.Seq[web.URL]) (hits []Hit, more bool, err error) {
	x, err := r.take()
	if err != nil {
		return nil, false, err
	}
	defer r.give(x)
	terms, err := r.check(&q, x)
	if err != nil {
		return nil, false, err
	}
	seen, passed := map[string]bool{}, 0
	for u := range pages {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if passed < q.From && !q.Fold {
			passed++
			continue
		}
		p, err := card(x.Index, u.String())
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
		h, err := hitOf(ctx, x, scoredPage{page: p}, r.analyzer, terms)
		if err != nil {
			return nil, false, err
		}
		hits = append(hits, h)
	}
	return hits, false, nil
}

// scoredPage is a page that matches, with what it scores.
type scoredPage struct {
	page
	score float64
}

// find gives the matches that are asked for. Where near-copies are folded, it asks for
// more of them until enough groups are there.
func (x *view) find(ctx context.Context, what query.Query, q *Query) (matches []scoredPage, total int, more bool, err error) {
	want := q.From + cmp.Or(q.Size, defaultSize)
	ask := want + 1
	if q.Fold {
		ask = 2*want + 10
	}
	for {
		list, total, err := x.first(ctx, what, q, min(ask, maxAsked))
		if err != nil {
			return nil, 0, false, err
		}
		groups, matches := map[string]bool{}, []scoredPage{}
		for i, m := range list {
			if !q.Fold && i < q.From {
				continue
			}
			if !q.Fold && i == want || len(groups) > want {
				break
			}
			p, err := x.page(m.id)
			if err != nil {
				return nil, 0, false, err
			}
			if q.Fold && groups[p.Group] {
				continue
			}
			if groups[p.Group] = true; !q.Fold || len(groups) > q.From && len(groups) <= want {
				one := scoredPage{page: p}
				if q.Sort == ByMatch {
					one.score = -m.key[0]
				}
				matches = append(matches, one)
			}
		}
		if !q.Fold {
			return matches, total, total > want, nil
		}
		if len(groups) > want || len(list) == total || ask >= maxAsked {
			return matches, total, len(groups) > want, nil
		}
		ask *= 3
	}
}

// page is what the index keeps of a document.
func (x *view) page(id uint64) (page, error) {
	address, err := x.keys.address(id)
	if err != nil {
		return page{}, err
	}
	return card(x.Index, address)
}

func hitOf(ctx context.Context, x *view, p scoredPage, a *parse.Analyzer, terms *phrases) (h Hit, err error) {
	u, err := web.Parse(p.URL)
	if err != nil {
		return h, err
	}
	from, _ := web.Parse(p.From) // zero of a seed
	at := x.state.last()
	h = Hit{
		URL: u, From: from, Relevance: p.Relevance, Relevant: at.relevant(int32(p.verdict()), p.Relevance),
		Language: p.Language, MIME: p.MIME, Status: p.Status, Depth: p.Depth, At: time.UnixMicro(p.At).UTC(), Score: p.score,
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

// Behind tells whether the log of the crawl goes on where what is indexed ends. A last line
// without an end, as a crawl that was killed leaves it, is never indexed.
func (r *Reader) Behind(c collection.Collection) (bool, error) {
	x, err := r.take()
	if err != nil {
		return false, err
	}
	defer r.give(x)
	for e, err := range event.EntriesFrom(c.EventLog(), x.state.last().Log) {
		return err == nil && !errors.Is(e.Err, event.ErrTorn), err
	}
	return false, nil
}

// Text is the title and the text of a page as they were indexed. The error wraps
// ErrAbsent if the page is not there.
func (r *Reader) Text(_ context.Context, u web.URL) (title, text string, err error) {
	x, err := r.take()
	if err != nil {
		return "", "", err
	}
	defer r.give(x)
	p, err := card(x.Index, u.String())
	return p.Title, p.Text, err
}
