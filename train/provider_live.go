package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Parser makes pages of responses; *parse.Parser is one.
type Parser interface {
	Parse(r *web.Response) (*web.Page, error)
}

// Live is a source that fetches pages from the web through a crawl's own stack
// of robots rules, delays and address guard, and keeps what it fetched in an
// archive, so that a collection that was stopped fetches no page twice. Make one
// with NewLive.
type Live struct {
	fetch   Fetcher
	parse   Parser
	archive *store.Archive

	mu      sync.Mutex
	pages   map[web.URL]*web.Page // nil: fetched, and none
	moved   map[web.URL]web.URL
	busy    map[web.URL]chan struct{} // being fetched; closed when done
	hosts   []string                  // the origins that answered last, each once, the newest first
	answers int
	silent  int // requests in a row to which nobody answered
}

var _ Source = (*Live)(nil)

// NewLive makes a source of a fetcher, a parser and an archive in the folder
// dir. The fetcher reads the targets of redirects by canon. What the archive holds is
// not fetched again. Close it.
func NewLive(f Fetcher, p Parser, canon web.Canon, dir string, o store.Options) (*Live, error) {
	l := &Live{fetch: f, parse: p, pages: map[web.URL]*web.Page{}, moved: map[web.URL]web.URL{}, busy: map[web.URL]chan struct{}{}}
	var err error
	if l.archive, err = store.Open(dir, o); err != nil {
		return nil, err
	}
	for r, err := range responses(dir) {
		if err != nil {
			return nil, errors.Join(err, l.archive.Close())
		}
		if !r.Location.IsZero() { // of an archive it is what the server sent
			r.Location, _ = canon.Parse(r.Location.String()) // canonical before, so it stays an address
		}
		l.learn(r)
		l.answered(r.URL)
	}
	return l, nil
}

// Close closes the archive; nobody may be fetching.
func (l *Live) Close() error { return l.archive.Close() }

// Fetched is the number of pages at hand.
func (l *Live) Fetched() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pages {
		if p != nil {
			n++
		}
	}
	return n
}

// learn remembers a response.
func (l *Live) learn(r *web.Response) {
	if r.Status >= 300 && r.Status < 400 && !r.Location.IsZero() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.moved[r.URL] = r.Location
		return
	}
	var p *web.Page
	if r.Status >= 200 && r.Status < 300 && len(r.Body) > 0 {
		if p, _ = l.parse.Parse(r); p != nil { // what is no document is no page
			p = r.WithoutTelling(p)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages[r.URL] = p
}

// Page fetches the page at u, or where it has moved to, unless it is known.
func (l *Live) Page(ctx context.Context, u web.URL) (*web.Page, error) {
	at := u
	for range maxRedirects + 1 {
		if err := l.bring(ctx, at); err != nil {
			return nil, err
		}
		l.mu.Lock()
		p, page := l.pages[at]
		to, moved := l.moved[at]
		l.mu.Unlock()
		switch {
		case p != nil:
			return p, nil
		case page:
			return nil, fmt.Errorf("%s holds no document: %w", at, ErrNoPage)
		case !moved || to == at:
			return nil, fmt.Errorf("%s moved to nowhere: %w", at, ErrNoPage)
		}
		at = to
	}
	return nil, fmt.Errorf("%s moved more than %d times: %w", u, maxRedirects, ErrNoPage)
}

// bring makes sure that what an address holds is known; two who ask at a time
// fetch once.
func (l *Live) bring(ctx context.Context, u web.URL) error {
	for {
		l.mu.Lock()
		_, page := l.pages[u]
		_, moved := l.moved[u]
		wait, busy := l.busy[u]
		if page || moved {
			l.mu.Unlock()
			return nil
		}
		if !busy {
			break
		}
		l.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done := make(chan struct{})
	l.busy[u] = done
	l.mu.Unlock()
	err := l.get(ctx, u)
	l.mu.Lock()
	delete(l.busy, u)
	close(done)
	l.mu.Unlock()
	return err
}

// get fetches an address and keeps what it brought.
func (l *Live) get(ctx context.Context, u web.URL) error {
	l.mu.Lock()
	before := l.answers
	l.mu.Unlock()
	r, err := l.fetch.Fetch(ctx, u)
	if err == nil {
		l.mu.Lock()
		l.answered(u)
		l.silent = 0
		l.answers++
		l.mu.Unlock()
	}
	var failure *web.Failure
	switch {
	case errors.As(err, &failure):
		if isSilence(failure) {
			if err := l.doubt(ctx, before); err != nil {
				return err
			}
		}
		return fmt.Errorf("%s: %s: %w", u, failure.Reason.Meaning(), ErrNoPage)
	case err != nil:
		return err
	case r.Status == 429 || r.Status >= 500:
		// Another time it may answer: it is not remembered.
		return fmt.Errorf("%s: status %d: %w", u, r.Status, ErrNoPage)
	}
	l.learn(r)
	b, err := l.archive.EncodeResponse(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.pages[u]; p != nil && (p.Directives.NoIndex || p.Directives.NoArchive) {
		return nil // it asks not to be kept; the graph will not take it
	}
	if _, err := l.archive.Append(b); err != nil {
		return fmt.Errorf("keeping %s: %w", u, err)
	}
	return nil
}

// hostsAsked is how many hosts that answered are asked before the network is taken for down:
// one of them may be gone for good.
const hostsAsked = 4

// answered remembers the host of an address. Who calls it holds the lock, or is alone.
func (l *Live) answered(u web.URL) {
	origin := u.Origin()
	others := slices.DeleteFunc(l.hosts, func(o string) bool { return o == origin })
	l.hosts = slices.Insert(others[:min(len(others), hostsAsked-1)], 0, origin)
}

// mostSilent is how many requests in a row may stay without an answer before the network is
// doubted.
const mostSilent = 8

// isSilence tells a failure for which nobody need have been reached.
func isSilence(f *web.Failure) bool {
	switch f.Reason {
	case web.ReasonDNS, web.ReasonConnect, web.ReasonTimeout, web.ReasonReset, web.ReasonTLS:
		return !f.Connected
	case web.ReasonRobotsMissing:
		return f.Robots == nil && !f.Connected
	}
	return f.Proxy
}

// doubt counts a request that began after so many answers, and to which nobody answered. After
// mostSilent of them the hosts that answered last are asked for their robots.txt: lists of links
// name many hosts that are gone. The error says that none of them answers either: the pages that
// are left would all seem to be gone.
func (l *Live) doubt(ctx context.Context, before int) error {
	l.mu.Lock()
	if l.answers == before {
		l.silent++
	}
	hosts := slices.Clone(l.hosts)
	if l.silent < mostSilent || len(hosts) == 0 {
		l.mu.Unlock()
		return nil
	}
	l.silent = 0
	l.mu.Unlock()
	var failure *web.Failure
	for _, origin := range hosts {
		u, err := web.Parse(origin + "/robots.txt")
		if err != nil {
			return err
		}
		_, err = l.fetch.Fetch(ctx, u)
		switch {
		case err != nil && !errors.As(err, &failure):
			return err
		case err == nil || !isSilence(failure):
			return nil
		}
	}
	return fmt.Errorf("the network does not answer: no page was had for %d addresses in a row, nor robots.txt of %s, which had answered (%w): the same command goes on later", mostSilent, strings.Join(hosts, ", "), failure)
}

// Resolve follows the redirects met so far. http and https of one address are
// taken for one page where only one of them is known, as practically every site
// has it: links to the other form would lead to it by a redirect that nobody
// fetched.
func (l *Live) Resolve(u web.URL) web.URL {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.follow(u)
	if l.pages[at] != nil {
		return at
	}
	scheme, rest, _ := strings.Cut(u.String(), "://")
	if twin, err := web.Parse(map[string]string{"http": "https", "https": "http"}[scheme] + "://" + rest); err == nil {
		if t := l.follow(twin); l.pages[t] != nil {
			return t
		}
	}
	return at
}

func (l *Live) follow(u web.URL) web.URL {
	for range maxRedirects {
		to, ok := l.moved[u]
		if !ok {
			break
		}
		u = to
	}
	return u
}

// maxPage bounds a page read from an archive, in bytes.
const maxPage = 64 << 20

// responses reads the responses of the archive in a folder, if there is one, with what a
// browser made of them.
func responses(dir string) func(yield func(*web.Response, error) bool) {
	return func(yield func(*web.Response, error) bool) {
		paths, err := store.Paths(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		var by *web.Rendering // of the response that follows, which has the id of
		var of string
		for rec, err := range store.Records(paths...) {
			if err != nil {
				yield(nil, fmt.Errorf("%w: collect again into a new folder", err))
				return
			}
			if rec.Type() == "conversion" {
				if by, of, err = store.ReadRendering(rec, maxPage); err != nil {
					yield(nil, err)
					return
				}
				continue
			}
			if rec.Type() != "response" || rec.Asked() {
				continue
			}
			r, err := store.ReadResponse(rec, maxPage)
			if err == nil && by != nil && rec.Get("WARC-Record-ID") == of {
				r.Rendering = by
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
