package crawl

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/web"
)

// Renderer makes of a response what a browser shows of it. It is safe for concurrent use; of
// pages that wait, those of links of higher priority mostly go first. The rendering is nil where no
// browser was to be had. The error is ctx's.
type Renderer interface {
	Render(ctx context.Context, r *web.Response, priority float64) (*web.Rendering, error)
}

// Render says which pages are rendered.
type Render string

// The policies of rendering.
const (
	RenderAuto   Render = "auto"   // those that say too little as they are sent; "" is the same
	RenderAlways Render = "always" // all
	RenderNever  Render = "never"  // none, and what a recorded web holds of renderings is left aside
)

// A page is rendered where that is likely to bring more than what was sent: text, or links.
// It is a measured rule, which each host teaches, and all hosts together teach of the next.
//
// A page without scripts never is. Of pages with scripts there are kinds, by what was sent
// (hints.kind). For each kind the crawl and each host count its pages, those of them that were
// rendered, and those that rendering gave more (web.Renders). With p, what is expected before
// anything was rendered, a kind's share of gains is
//
//	of the crawl  c = (gained + 4·p) / (rendered + 4)
//	of a host     h = (gained + c) / (rendered + 1)
//
// A page of a kind is rendered where h is at least a third; and else now and then, as sites
// change: after as many pages of the kind as every says times (p/c)², and four times that for
// each page of it that was rendered. A page whose title says that it asks for a login never is,
// where it is no harvest for that reason.
type renderKind int

const (
	kindBare       renderKind = iota // almost no text, and no list of links
	kindUnfinished                   // something in it waits to be filled in
	kindEnd                          // it leads almost nowhere
	kindFull                         // none of these
)

// Of each kind: the share of gains that is expected before anything was rendered, and the
// least that is expected of a host whatever others showed; and after how many pages one is
// rendered all the same. A bare page that is a shell may be all that is sent of a site, so
// one of each host is rendered that has not sent shownPages others.
var renderKinds = [web.RenderKinds]struct {
	prior, least float64
	every        int
}{
	kindBare:       {prior: 0.9, least: leastGain, every: 8},
	kindUnfinished: {prior: 0.6, every: 16},
	kindEnd:        {prior: 0.4, every: 24},
	kindFull:       {prior: 0.1, every: 40},
}

const (
	crawlPages = 4 // that the share of gains of the crawl begins with
	hostPages  = 1 // that the share of gains of a host begins with
	leastGain  = 1. / 3
	shownPages = 6  // that are not bare: a host which sent so many sends what it has
	shellWords = 30 // fewer, and fewer links than endLinks, are a shell: there are short pages that are whole
	bareWords  = 80 // fewer are almost no text
	listLinks  = 10 // of the page's own site: a page of few words that has as many is a list
	endLinks   = 3  // fewer lead almost nowhere: of the page's own site
	gainLinks  = 2  // that are new are a gain
	moreWords  = 40 // more are a gain
	anyWords   = 10 // more are a gain where nothing but noWords was sent
	noWords    = 5
	doublings  = 16 // of every, at most
	// wordLetters are those of a word, with the space behind it, where words have none
	// between them.
	wordLetters = 8
)

// renders tells whether a page of a host is rendered, in a crawl that has counted all. A
// shell has almost nothing in it, or something that waits to be filled in.
func (k renderKind) renders(host *web.HostState, all *[web.RenderKinds]web.Renders, shell bool) bool {
	of, n := renderKinds[k], host.Renders[k]
	crawl := (float64(all[k].Gained) + of.prior*crawlPages) / float64(all[k].Done+crawlPages)
	if shell && host.Fetched-host.Renders[kindBare].Pages < shownPages {
		crawl = max(of.least, crawl)
	}
	if (float64(n.Gained)+crawl*hostPages)/float64(n.Done+hostPages) >= leastGain {
		return true
	}
	return float64(n.Pages+1) >= float64(of.every<<min(2*n.Done, doublings))*(of.prior/crawl)*(of.prior/crawl)
}

// content is how much a page says.
type content struct {
	words int // outside links
	links map[web.URL]bool
	near  int // links of the page's own site
}

func contentOf(p *web.Page) content {
	s := content{links: make(map[web.URL]bool, len(p.Links))}
	linked := make([]int, len(p.Leaves)+1) // links that begin at a leaf, less those that ended before
	for i := range p.Links {
		if l := &p.Links[i]; l.First <= l.Last && l.First >= 0 && l.Last < len(p.Leaves) {
			linked[l.First]++
			linked[l.Last+1]--
		}
	}
	within, letters, words := 0, 0, 0
	for i := range p.Leaves {
		if within += linked[i]; within == 0 {
			letters += utf8.RuneCountInString(p.Leaves[i].Text)
			words += len(strings.Fields(p.Leaves[i].Text))
		}
	}
	s.words = max(words, letters/wordLetters)
	domain := p.URL.Host().Domain()
	for i := range p.Links {
		if u := p.Links[i].URL; u != p.URL && !s.links[u] {
			s.links[u] = true
			if u.Host().Domain() == domain {
				s.near++
			}
		}
	}
	return s
}

// moreText tells whether a page says more than it did as it was sent: a quarter of its text,
// and moreWords; or anyWords where next to nothing was sent.
func (s content) moreText(sent content) bool {
	least := max(moreWords, sent.words/4)
	if sent.words <= noWords {
		least = anyWords
	}
	return s.words-sent.words >= least
}

// fresh are the links that were not sent.
func (s content) fresh(sent content) map[web.URL]bool {
	for u := range sent.links {
		delete(s.links, u)
	}
	return s.links
}

// renderOutcome is what became of a page when it came to rendering, of an Arrival.
type renderOutcome struct {
	counts bool // for the host
	kind   renderKind
	done   bool
	absent bool             // it was to be rendered, and there was no browser
	text   bool             // there is more of it
	fresh  map[web.URL]bool // links that were not sent
	event  *event.Rendered  // nil for a page that was not rendered
}

// count adds a page to what its host and the crawl have counted. Rendering gave it more where
// it brought text, or links that the crawl did not know: the same menu on every page is worth
// it once.
func (d *renderOutcome) count(host, crawl *[web.RenderKinds]web.Renders, queued []event.Found) {
	if !d.counts {
		return
	}
	links := 0
	for _, f := range queued {
		if !f.Raised && d.fresh[f.URL] {
			links++
		}
	}
	for _, n := range []*web.Renders{&host[d.kind], &crawl[d.kind]} {
		n.Pages++
		if d.done {
			n.Done++
		}
		if d.done && (d.text || links >= gainLinks) {
			n.Gained++
		}
	}
}

// coreRelease runs what waits, and computes nothing, without holding a core.
type coreRelease func(wait func())

// page parses a response, and renders it where the policy says so.
func (c *Crawl) page(ctx context.Context, a *Arrival, r *web.Response, release coreRelease) (*web.Page, error) {
	by := r.Rendering // of a record
	r.Rendering = nil
	p, err := c.Parser.Parse(r)
	if err != nil || c.Policy.Render == RenderNever || by == nil && c.Renderer == nil || !isHTML(r, p) {
		return p, err
	}
	var sent content
	if by == nil {
		hints := look(r.Body)
		always := c.Policy.Render == RenderAlways
		if !always && !hints.scripts {
			return p, nil
		}
		sent = contentOf(p)
		kind := hints.kind(&sent)
		shell := hints.unfinished || sent.words < shellWords && sent.near < endLinks
		if !always && (!kind.renders(&a.Lease.Host, &a.Lease.Renders, shell) || c.Policy.Hollow && hollow.LoginByTitle(p)) {
			a.rendered = renderOutcome{counts: true, kind: kind}
			return p, nil
		}
		release(func() { by, err = c.Renderer.Render(ctx, r, a.Lease.Priority) })
		if err != nil {
			return nil, err
		}
		if by == nil {
			a.rendered.absent = true
			return p, nil
		}
		a.rendered = renderOutcome{counts: hints.scripts, kind: kind, done: true}
		by = withoutTelling(r, by)
	} else {
		sent = contentOf(p)
	}
	r.Rendering = by
	shown := p
	if by.Body != nil {
		if shown, err = c.Parser.Parse(r); err != nil {
			return nil, err
		}
		both := *shown // scripts may have removed an element by which the page says its wishes
		both.Directives = p.Directives.And(shown.Directives)
		shown = &both
	}
	now := contentOf(shown)
	a.rendered.event = &event.Rendered{
		Took: seconds(by.Took), SentWords: sent.words, Words: now.words, SentLinks: len(sent.links), Links: len(now.links),
		Requests: by.Requests, Refused: by.Refused, Scrolls: by.Scrolls, Clicks: by.Clicks, Routes: by.Routes,
		Ended: by.Ended, Detail: clip(by.Detail, 300), AsSent: by.Body == nil,
		Again: max(by.Tries-1, 0),
	}
	less := now.words < sent.words || len(now.links) < len(sent.links)
	text, fresh := now.moreText(sent), now.fresh(sent)
	// A rendering that has less than was sent, and brings nothing for it, is left aside. Such is a page
	// that was ended while the browser, which reads a document from its beginning, waited for a script
	// in its head. A page whose script leads elsewhere has one link: that is what a reader sees.
	if by.Body != nil && less && !text && len(fresh) < gainLinks && by.Ended != web.ReasonRenderMoved {
		asSent := *by // a recorded web keeps its own
		asSent.Body = nil
		r.Rendering, a.rendered.event.AsSent = &asSent, true
		return p, nil
	}
	a.rendered.text, a.rendered.fresh = text, fresh
	return shown, nil
}

// withoutTelling is a rendering without what was asked for at addresses that repeat what lets the user in at
// the site of the page or at their own. Scripts know what they can read of it, such as cookies, whatever is
// concealed in what they were sent: so it is concealed in the document, too.
func withoutTelling(r *web.Response, by *web.Rendering) *web.Rendering {
	if r.Conceal == nil {
		return by
	}
	less := *by
	less.Detail = r.Conceal(by.Detail)
	if less.Body != nil {
		less.Body = []byte(r.Conceal(string(by.Body)))
		less.Concealed = bytes.Count(less.Body, []byte(web.Concealed))
	}
	less.Resources = nil
	for _, x := range by.Resources {
		switch {
		case !r.Tells(x.URL) && !x.Tells(x.URL):
			less.Resources = append(less.Resources, x)
		case x.Robots != nil:
			less.Resources = append(less.Resources, web.Resource{Response: x.Robots})
		}
	}
	return &less
}

// isHTML tells whether a browser shows a response as a page: not a document that was made
// into one.
func isHTML(r *web.Response, p *web.Page) bool {
	kind := ""
	if v := r.Header["Content-Type"]; len(v) > 0 {
		kind, _, _ = strings.Cut(v[0], ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return p.MIME == "text/html" && (kind == "" || kind == "text/html") || kind == "application/xhtml+xml"
}

// hints are what the source of a page tells of what its scripts may do.
type hints struct {
	scripts    bool // there are any
	unfinished bool // something waits to be filled in
}

func (h hints) kind(sent *content) renderKind {
	switch {
	case sent.words < bareWords && sent.near < listLinks:
		return kindBare
	case h.unfinished:
		return kindUnfinished
	case sent.near < endLinks:
		return kindEnd
	}
	return kindFull
}

// mostSource bounds the bytes of a source that are looked at.
const mostSource = 512 << 10

// look reads the tags of a source. It does so only once there is a script in it.
func look(src []byte) (h hints) {
	src = src[:min(len(src), mostSource)]
	if !hasScript(src) {
		return h
	}
	h.scripts = true
	for !h.unfinished {
		i := bytes.IndexByte(src, '<')
		if i < 0 {
			return h
		}
		src = src[i+1:]
		if len(src) == 0 || !isLetter(src[0]) {
			continue
		}
		end := bytes.IndexByte(src, '>')
		if end < 0 {
			return h
		}
		tag := bytes.ToLower(src[:min(end, 512)])
		src = src[end+1:]
		name := tag[:nameEnd(tag)]
		attributes := tag[len(name):]
		switch string(name) {
		case "script", "style":
			src = behind(src, name)
			continue
		case "noscript":
			inner := src[:len(src)-len(behind(src, name))]
			h.unfinished = bytes.Contains(bytes.ToLower(inner[:min(len(inner), 1000)]), []byte("javascript"))
			src = src[len(inner):]
			continue
		}
		after := bytes.TrimLeft(src[:min(len(src), 200)], " \t\r\n")
		empty := bytes.HasPrefix(after, []byte("</"))
		switch {
		case bytes.Contains(attributes, []byte("aria-busy=\"true\"")), hasWord(attributes, busyNames):
			h.unfinished = true
		case !empty:
			h.unfinished = begins(after, waitingTexts)
		case bytes.IndexByte(name, '-') > 0:
			h.unfinished = true // an element of the page's own making
		case isContainer(string(name)):
			h.unfinished = hasWord(attributes, containerNames)
		}
	}
	return h
}

// Words in the id and the class of elements: of what waits to be filled in, and of what is
// usually filled.
var (
	busyNames      = [][]byte{[]byte("skeleton"), []byte("spinner"), []byte("loading"), []byte("load-more"), []byte("loadmore"), []byte("infinite"), []byte("show-more")}
	containerNames = [][]byte{[]byte("root"), []byte("app"), []byte("content"), []byte("main"), []byte("results"), []byte("list"), []byte("items"), []byte("feed"), []byte("posts"), []byte("articles"), []byte("entries"), []byte("body"), []byte("__next"), []byte("mount"), []byte("related"), []byte("menu"), []byte("nav")}
	waitingTexts   = []string{"loading", "please wait", "load more", "show more", "more results", "mehr laden", "mehr anzeigen", "weitere laden", "charger plus", "voir plus", "cargar más", "ver más"}
)

func isContainer(name string) bool {
	switch name {
	case "div", "main", "section", "article", "aside", "nav", "ul", "ol", "tbody", "table":
		return true
	}
	return false
}

// hasWord tells whether the id or the class of a tag has one of some words in it, apart from
// the letters around them.
func hasWord(attributes []byte, words [][]byte) bool {
	for _, name := range [][]byte{[]byte("id="), []byte("class=")} {
		_, rest, ok := bytes.Cut(attributes, name)
		if !ok {
			continue
		}
		value := rest
		if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
			value, _, _ = bytes.Cut(rest[1:], rest[:1])
		} else if i := bytes.IndexAny(rest, " \t\r\n"); i >= 0 {
			value = rest[:i]
		}
		for _, w := range words {
			for at := value; ; {
				i := bytes.Index(at, w)
				if i < 0 {
					break
				}
				if (i == 0 || !isLetter(at[i-1])) && (i+len(w) == len(at) || !isLetter(at[i+len(w)])) {
					return true
				}
				at = at[i+len(w):]
			}
		}
	}
	return false
}

func begins(text []byte, with []string) bool {
	for _, w := range with {
		if len(text) >= len(w) && strings.EqualFold(string(text[:len(w)]), w) {
			return true
		}
	}
	return false
}

// hasScript tells whether there is a script that a browser runs: data is none.
func hasScript(src []byte) bool {
	for {
		i := bytes.IndexByte(src, '<')
		if i < 0 || len(src) < i+8 {
			return false
		}
		src = src[i+1:]
		if src[0]|0x20 != 's' || !bytes.EqualFold(src[:6], []byte("script")) {
			continue
		}
		end := bytes.IndexByte(src, '>')
		if end < 0 {
			return false
		}
		tag := bytes.ToLower(src[6:min(end, 512)])
		if !bytes.Contains(tag, []byte("json")) && !bytes.Contains(tag, []byte("text/template")) && !bytes.Contains(tag, []byte("text/x-")) &&
			!bytes.Contains(tag, []byte("speculationrules")) && !bytes.Contains(tag, []byte("importmap")) {
			return true
		}
	}
}

// behind is what follows the end of an element whose content is text.
func behind(src, name []byte) []byte {
	for {
		i := bytes.Index(src, []byte("</"))
		if i < 0 {
			return nil
		}
		src = src[i+2:]
		if len(src) >= len(name) && bytes.EqualFold(src[:len(name)], name) {
			return src
		}
	}
}

func nameEnd(tag []byte) int {
	for i, b := range tag {
		if !isLetter(b) && b != '-' && (b < '0' || b > '9') {
			return i
		}
	}
	return len(tag)
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// Asks says why a page may not ask for an address while it is rendered, "" where it may: one
// that Exclude names, and, where the crawl is bound to hosts or domains, one that is neither
// of the page's own domain nor of a seed's. Include and Within name pages; what pages are made
// of lies beside them.
func (s Scope) Asks(page, u web.URL, seeds map[string]bool) web.Reason {
	for _, x := range s.Exclude {
		if x.MatchString(u.String()) {
			return web.ReasonScope
		}
	}
	if d := u.Host().Domain(); (s.Reach == ReachHost || s.Reach == ReachDomain) && d != page.Host().Domain() && !seeds[d] {
		return web.ReasonScope
	}
	return ""
}
