package viewer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/lab/read"
	"github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/viewer/watch"
	"github.com/waggle-crawler/waggle/web"
)

// bodyView is what the archive holds of a page, and its links.
type bodyView struct {
	// Archived tells that the archive holds the page; if not, Missing says why.
	Archived bool        `json:"archived"`
	Missing  string      `json:"missing,omitempty"`
	Src      string      `json:"src,omitempty"` // of the frame that shows it, below the folder
	Proto    string      `json:"proto,omitempty"`
	Headers  [][2]string `json:"headers,omitempty"`
	Parts    []read.Part `json:"parts,omitempty"`
	Rest     int         `json:"rest"` // characters of the text behind these parts
	// Values are those of the fields that a person wants; Fields says what is wrong with these.
	Values []watch.Values `json:"values,omitempty"`
	Fields string         `json:"fields,omitempty"`
	Links  []linkView     `json:"links"`
	More   int            `json:"more"` // links that are not listed
}

// linkView is a link of a page with what became of its target.
type linkView struct {
	URL      web.URL  `json:"url"`
	Anchor   string   `json:"anchor"`
	NoFollow bool     `json:"nofollow,omitempty"`
	Priority *float64 `json:"priority,omitempty"` // that the link gave it
	figures.Fate
}

// maxLinks bounds what is shown of a page.
const maxLinks = 1000

// serveBody answers with what the archive holds of a page, and with its links. The
// first time, the archive is read for where its pages lie.
func (s *Server) serveBody(c *crawl, w http.ResponseWriter, r *http.Request) {
	q := &query{values: r.URL.Query()}
	u, wanted := q.address("url"), q.number("text", maxQuery, maxQuery)
	if q.err != nil {
		answer(w, nil, watch.Wrong{Err: q.err})
		return
	}
	var p figures.Page
	got, err := c.Fetched(u, &p)
	if err != nil {
		answer(w, nil, c.Why(err))
		return
	}
	v := &bodyView{Links: []linkView{}}
	x := s.look(r.Context(), c, u)
	if x.err != nil {
		v.Missing = event.Line(c.Why(x.err).Error())
		c.linksOfEvent(v, got)
		answer(w, v, nil)
		return
	}
	v.Archived = true
	v.Parts, v.Rest = head(x.parts, wanted)
	v.Src = fmt.Sprintf("page/%s/%s/%d/", s.cap, c.ID(), p.Number)
	v.Proto, v.Headers = event.Line(x.proto), x.headers
	c.linksOfPage(v, got, x.page)
	if v.Values, err = c.Values(r.Context(), u); err != nil {
		v.Fields = event.Line(err.Error())
	}
	answer(w, v, nil)
}

// head is the first n characters of a text in parts, and how many there are behind them.
func head(parts []read.Part, n int) (first []read.Part, rest int) {
	for _, p := range parts {
		size := utf8.RuneCountInString(p.Text)
		if size > n {
			rest += size - n
			p.Text = string([]rune(p.Text)[:n])
		}
		if p.Text != "" {
			first = append(first, p)
		}
		n = max(0, n-size)
	}
	return first, rest
}

// linksOfPage lists the links of a parsed page, each address once.
func (c *crawl) linksOfPage(v *bodyView, e event.Fetched, p *web.Page) {
	found, skipped := told(e)
	seen := map[web.URL]bool{}
	c.With(func(f *figures.Crawl) {
		for _, l := range p.Links {
			if seen[l.URL] || l.URL == e.URL {
				continue
			}
			seen[l.URL] = true
			if len(v.Links) == maxLinks {
				v.More++
				continue
			}
			v.add(f, linkView{URL: l.URL, Anchor: clip(l.Anchor), NoFollow: l.NoFollow}, found, skipped)
		}
		for _, l := range e.Queued { // that robots.txt names
			if !seen[l.URL] && l.Link == web.LinkSitemap && len(v.Links) < maxLinks {
				v.add(f, linkView{URL: l.URL, Anchor: clip(l.Anchor)}, found, skipped)
			}
		}
	})
}

// linksOfEvent lists the links that the log tells of, where the page cannot be had.
func (c *crawl) linksOfEvent(v *bodyView, e event.Fetched) {
	found, skipped := told(e)
	c.With(func(f *figures.Crawl) {
		for _, l := range e.Queued {
			v.add(f, linkView{URL: l.URL, Anchor: clip(l.Anchor)}, found, skipped)
		}
		for _, l := range e.Skipped {
			v.add(f, linkView{URL: l.URL}, found, skipped)
		}
	})
	if n := len(v.Links) - maxLinks; n > 0 {
		v.Links, v.More = v.Links[:maxLinks], n
	}
}

// told is what an event tells of the links of its page.
func told(e event.Fetched) (found map[web.URL]float64, skipped map[web.URL]web.Reason) {
	found, skipped = map[web.URL]float64{}, map[web.URL]web.Reason{}
	for _, l := range e.Queued {
		found[l.URL] = l.Priority
	}
	for _, l := range e.Skipped {
		skipped[l.URL] = l.Reason
	}
	return found, skipped
}

func (v *bodyView) add(f *figures.Crawl, l linkView, found map[web.URL]float64, skipped map[web.URL]web.Reason) {
	if p, ok := found[l.URL]; ok {
		l.Priority = &p
	}
	l.Fate = f.Fate(l.URL)
	if reason, ok := skipped[l.URL]; ok && l.Fate.Fate == event.Unseen {
		l.Fate = figures.Fate{Fate: event.NotTaken, Reason: reason, Brief: event.Line(reason.Brief())}
	}
	v.Links = append(v.Links, l)
}

// clip makes text of a page fit for a list.
func clip(s string) string {
	const most = 200
	s = event.Line(s[:min(len(s), 4*most)])
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// view is an archived page as it is shown.
type view struct {
	crawl   *crawl
	url     web.URL
	number  int       // of the page, and when it was fetched: a crawl that is begun anew has another one
	at      time.Time // of this address
	page    *web.Page // nil: err says why
	parts   []read.Part
	proto   string
	headers [][2]string
	harmless.Page
	err error
}

// views are those looked at last.
type views struct {
	mu   sync.Mutex
	list []*view // the latest last
}

// maxViews bounds them.
const maxViews = 8

// look reads a page from the archive, or finds it among those kept.
func (s *Server) look(ctx context.Context, c *crawl, u web.URL) *view {
	var p figures.Page
	c.With(func(f *figures.Crawl) { p, _, _ = f.Page(u) })
	s.shown.mu.Lock()
	i := slices.IndexFunc(s.shown.list, func(v *view) bool { return v.crawl == c && v.url == u && v.number == p.Number && v.at.Equal(p.At) })
	if i >= 0 {
		v := s.shown.list[i]
		s.shown.mu.Unlock()
		return v
	}
	s.shown.mu.Unlock()
	v := s.read(ctx, c, u, &p)
	if v.err != nil {
		return v // perhaps it can be read the next time
	}
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	if len(s.shown.list) == maxViews {
		s.shown.list = slices.Delete(s.shown.list, 0, 1)
	}
	s.shown.list = append(s.shown.list, v)
	return v
}

func (s *Server) read(ctx context.Context, c *crawl, u web.URL, p *figures.Page) *view {
	v := &view{crawl: c, url: u, number: p.Number, at: p.At}
	a, err := c.Archived(ctx, u)
	if v.err = err; err != nil {
		return v
	}
	r := a.Response
	v.page = a.Page
	v.proto = fmt.Sprintf("%s %d", r.Proto, r.Status)
	for line := range strings.Lines(string(r.Head)) {
		if name, value, ok := strings.Cut(line, ":"); ok && len(v.headers) < 100 {
			v.headers = append(v.headers, [2]string{clip(name), clip(value)})
		}
	}
	v.parts = read.Parts(v.page)
	v.Page = harmless.Options{
		ResourcePath: func(k int) string {
			return fmt.Sprintf("/%s/load/%s/%s/%d/%d", s.folder, s.cap, c.ID(), p.Number, k)
		},
		Styles: true, Images: true, Canon: a.Canon, Plain: !a.IsHTML,
	}.Show(v.page, a.Shown)
	return v
}

// serveArchived answers for the frame: CRAWL/NUMBER/ is a page, CRAWL/NUMBER/K its k-th
// image or style sheet.
func (s *Server) serveArchived(w http.ResponseWriter, r *http.Request, kind, rest string) {
	h := w.Header()
	h.Del("X-Frame-Options") // the policy says who may frame it
	// What is in the frame is of no origin, and so is what it asks for.
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	f := strings.Split(rest, "/")
	if r.Method != http.MethodGet || len(f) != 4 || !same(f[0], s.cap) {
		harmless.Refuse(w)
		return
	}
	c := s.find(f[1])
	number, k := harmless.Number(f[2]), harmless.Number(f[3])
	if c == nil || (kind == "load") != (k >= 0) || k < 0 && f[3] != "" {
		harmless.Refuse(w)
		return
	}
	var p figures.Page
	var ok bool
	c.With(func(x *figures.Crawl) { p, ok = x.Numbered(number) })
	u, err := web.Parse(p.URL)
	if !ok || err != nil {
		harmless.Refuse(w)
		return
	}
	v := s.look(r.Context(), c, u)
	if kind == "load" {
		if k >= len(v.Resources) {
			harmless.Refuse(w)
			return
		}
		if res := v.Resources[k]; res.Wants(w, r) {
			got, err := c.Response(r.Context(), res.URL)
			if err != nil {
				got = nil
			}
			res.Write(w, got)
		}
		return
	}
	if !harmless.Framed(w, r) {
		return
	}
	doc := v.HTML
	if v.err != nil {
		doc = harmless.Notice("This page cannot be shown", event.Line(c.Why(v.err).Error())+".")
	}
	s.writePage(w, r, doc)
}

// writePage answers with a document for the frame.
func (s *Server) writePage(w http.ResponseWriter, r *http.Request, doc []byte) {
	load := s.sources(r, "/"+s.folder+"/load/"+s.cap+"/")
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline' "+load+"; img-src "+load+"; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors "+s.sources(r, ""))
	w.Write(doc) // a reader that leaves is no fault
}
