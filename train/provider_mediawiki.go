package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// Fetcher brings what an address holds, politely; *fetch.Stack is one. It is
// safe for concurrent use.
type Fetcher interface {
	Fetch(ctx context.Context, u web.URL) (*web.Response, error)
}

// MediaWiki is a provider of in-links that asks a wiki's own "what links here":
//
//	GET API?action=query&list=backlinks&bltitle=TITLE&blnamespace=0
//	        &blfilterredir=nonredirects&bllimit=N&format=json&formatversion=2&maxlag=5
//
// and goes on by the "continue" of each answer until it has what is wanted. Only
// articles (namespace 0) are named. Pages of other sites have no in-links here.
// A wiki whose answers go on without end, or without anything new, is asked no
// further than maxQuestions and maxStale say; what it named by then counts, and
// is said to be cut.
// One question is asked at a time, and the Fetcher keeps them apart; when the
// wiki asks for a pause (maxlag, 429, 503) it is given one, three times.
//
// Fetcher must take application/json. robots.txt of most wikis forbids the
// folder of the API to crawlers of pages; the API is for programs, so the
// Fetcher for it may leave robots.txt unread.
type MediaWiki struct {
	api   web.URL
	fetch Fetcher
	clock clock.Clock
	// prefix and suffix are around a title in an article's address.
	prefix, suffix string
	// Asked is told of each question, of which there may be several for one
	// title; it may be nil.
	Asked func(title string)
}

var _ Inlinks = (*MediaWiki)(nil)

// NewMediaWiki asks the wiki whose API is at an address, such as
// https://en.wikipedia.org/w/api.php, how its articles are addressed. c waits
// when the wiki asks for it; nil = the machine's clock.
func NewMediaWiki(ctx context.Context, api web.URL, f Fetcher, c clock.Clock) (*MediaWiki, error) {
	if c == nil {
		c = clock.System{}
	}
	m := &MediaWiki{api: api, fetch: f, clock: c}
	var info struct {
		Query struct {
			General struct {
				ArticlePath string `json:"articlepath"`
				Server      string `json:"server"`
			} `json:"general"`
		} `json:"query"`
	}
	if err := m.ask(ctx, url.Values{"action": {"query"}, "meta": {"siteinfo"}, "siprop": {"general"}}, &info); err != nil {
		return nil, err
	}
	g := info.Query.General
	if strings.HasPrefix(g.Server, "//") {
		g.Server = api.Scheme() + ":" + g.Server
	}
	var ok bool
	m.prefix, m.suffix, ok = strings.Cut(cmp.Or(g.Server, api.Origin())+g.ArticlePath, "$1")
	if !ok {
		return nil, fmt.Errorf("%s does not tell how articles are addressed (articlepath %q): is it a MediaWiki API?", api, g.ArticlePath)
	}
	return m, nil
}

// Inlinks asks for each page of the layer in turn.
func (m *MediaWiki) Inlinks(ctx context.Context, layer []web.URL, limit int) ([]InlinkList, error) {
	out := make([]InlinkList, len(layer))
	for i, u := range layer {
		title, ok := m.title(u)
		if !ok {
			continue
		}
		var err error
		if out[i], err = m.backlinks(ctx, title, limit); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const (
	maxBacklinks = 500 // what a wiki gives anybody at a time
	maxQuestions = 200 // about one page
	maxStale     = 10  // of these, one after the other that name no further page
)

func (m *MediaWiki) backlinks(ctx context.Context, title string, limit int) (known InlinkList, err error) {
	question := url.Values{
		"action": {"query"}, "list": {"backlinks"}, "bltitle": {title},
		"blnamespace": {"0"}, "blfilterredir": {"nonredirects"},
	}
	seen := map[web.URL]bool{}
	for questions, stale := 0, 0; len(known.Pages) < limit; questions++ {
		if questions == maxQuestions || stale == maxStale {
			known.Cut = true
			break
		}
		if m.Asked != nil {
			m.Asked(title)
		}
		before := len(known.Pages)
		question.Set("bllimit", fmt.Sprint(min(limit-len(known.Pages), maxBacklinks)))
		var answer struct {
			Continue map[string]string `json:"continue"`
			Query    struct {
				Backlinks []struct {
					Title string `json:"title"`
				} `json:"backlinks"`
			} `json:"query"`
		}
		if err := m.ask(ctx, question, &answer); err != nil {
			return InlinkList{}, fmt.Errorf("what links to %s: %w", title, err)
		}
		for _, b := range answer.Query.Backlinks {
			if u, err := m.address(b.Title); err == nil && !seen[u] && len(known.Pages) < limit {
				seen[u] = true
				known.Pages = append(known.Pages, u)
			}
		}
		if stale++; len(known.Pages) > before {
			stale = 0
		}
		on := answer.Continue["blcontinue"]
		if on == "" || on == question.Get("blcontinue") {
			known.Cut = on != "" && len(known.Pages) < limit // it would tell the same again
			break
		}
		for k, v := range answer.Continue {
			question.Set(k, v)
		}
	}
	return known, nil
}

// pauses is how often a wiki is given the pause it asks for, each at most
// maxPause.
const (
	pauses   = 3
	maxPause = time.Minute
)

// ask puts a question to the API and reads the answer.
func (m *MediaWiki) ask(ctx context.Context, question url.Values, answer any) error {
	question.Set("format", "json")
	question.Set("formatversion", "2")
	question.Set("maxlag", "5")
	u, err := web.Parse(m.api.String() + "?" + question.Encode())
	if err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		r, err := m.fetch.Fetch(ctx, u)
		if err != nil {
			return fmt.Errorf("the wiki's API %s: %w", m.api, err)
		}
		var failed struct {
			Error *struct{ Code, Info string } `json:"error"`
		}
		errBody := json.Unmarshal(r.Body, &failed)
		busy := r.Status == 429 || r.Status == 503 || failed.Error != nil && (failed.Error.Code == "maxlag" || failed.Error.Code == "ratelimited")
		switch {
		case busy && tries < pauses:
			if err := m.wait(ctx, r.RetryAfter); err != nil {
				return err
			}
			continue
		case busy:
			return fmt.Errorf("the wiki's API %s is busy; the same command goes on later", m.api)
		case r.Status != 200:
			return fmt.Errorf("the wiki's API %s answers %d: is the address right? It mostly ends in /w/api.php", m.api, r.Status)
		case r.Truncated != "":
			return fmt.Errorf("the answer of the wiki's API %s is cut short (%s); the same command tries again", m.api, r.Truncated)
		case errBody != nil:
			return fmt.Errorf("%s is no MediaWiki API: it does not answer in JSON, or not as one does; its address mostly ends in /w/api.php", m.api)
		case failed.Error != nil:
			return fmt.Errorf("the wiki's API %s: %s (%s)", m.api, failed.Error.Info, failed.Error.Code)
		}
		if err := json.Unmarshal(r.Body, answer); err != nil {
			return fmt.Errorf("the answer of %s is not that of a MediaWiki API: its address mostly ends in /w/api.php", m.api)
		}
		return nil
	}
}

func (m *MediaWiki) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		d = 5 * time.Second
	}
	fire, stop := m.clock.NewTimer(min(d, maxPause))
	defer stop()
	select {
	case <-fire:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// title is that of an article by its address; ok is false for other pages.
func (m *MediaWiki) title(u web.URL) (title string, ok bool) {
	rest, ok := strings.CutPrefix(u.String(), m.prefix)
	if !ok {
		// http and https of a wiki are the same wiki.
		_, a, _ := strings.Cut(u.String(), "://")
		_, b, _ := strings.Cut(m.prefix, "://")
		if rest, ok = strings.CutPrefix(a, b); !ok {
			return "", false
		}
	}
	if rest, ok = strings.CutSuffix(rest, m.suffix); !ok {
		return "", false
	}
	if strings.ContainsAny(rest, "?&") {
		return "", false // a version, a diff, an edit
	}
	title, err := url.PathUnescape(rest)
	return strings.ReplaceAll(title, "_", " "), err == nil && title != ""
}

var errTitle = errors.New("no title")

// address is that of an article by its title, as MediaWiki writes it in links:
// blanks are underscores, and of ASCII ;:@$!*(),/~ stay besides letters, digits
// and -._ (wfUrlencode).
func (m *MediaWiki) address(title string) (web.URL, error) {
	if title == "" {
		return web.URL{}, errTitle
	}
	var b strings.Builder
	b.WriteString(m.prefix)
	for i := range len(title) {
		switch c := title[i]; {
		case c == ' ':
			b.WriteByte('_')
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._;:@$!*(),/~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	b.WriteString(m.suffix)
	return web.Parse(b.String())
}
