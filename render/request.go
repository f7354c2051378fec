package render

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/web"
)

// paused is a request that waits to be decided.
type paused struct {
	Session      string `json:"-"`
	RequestID    string
	FrameID      string
	ResourceType string
	Request      struct {
		URL, Method string
		Headers     map[string]string
	}
}

// header is a line of a response's head as the protocol has it.
type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// pixel is the smallest picture: a transparent dot.
const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// request decides a request of the browser.
func (p *page) request(e devtools.Event) {
	q := paused{Session: e.Session}
	if json.Unmarshal(e.Params, &q) != nil {
		return // it waits until the page is closed
	}
	p.mu.Lock()
	ofPage := q.FrameID == "" || p.frames[q.FrameID]
	main := q.FrameID == p.target
	first := main && q.ResourceType == "Document" && !p.given
	p.given = p.given || first
	p.mu.Unlock()
	switch {
	case p.over() || !ofPage:
		p.fail(&q, "Aborted")
	case first:
		p.answer(&q, p.asked)
	case main && q.ResourceType == "Document":
		p.fail(&q, "Aborted") // the document that is there stays
		p.leave(&q)
	case q.ResourceType == "Document":
		p.fulfill(&q, http.StatusOK, []header{{"Content-Type", "text/html"}}, []byte("<!doctype html><title></title>"))
	case q.ResourceType == "Image":
		p.fulfill(&q, http.StatusOK, []header{{"Content-Type", "image/gif"}, {"Access-Control-Allow-Origin", "*"}}, []byte(pixel))
	case q.ResourceType == "Stylesheet":
		p.fulfill(&q, http.StatusOK, []header{{"Content-Type", "text/css"}, {"Access-Control-Allow-Origin", "*"}}, nil)
	case q.ResourceType == "Preflight":
		// It asks whether a script may send more than any page may; waggle's own request
		// sends nothing of that.
		p.fulfill(&q, http.StatusNoContent, []header{
			{"Access-Control-Allow-Origin", q.header("Origin")}, {"Access-Control-Allow-Credentials", "true"},
			{"Access-Control-Allow-Headers", q.header("Access-Control-Request-Headers")}, {"Access-Control-Allow-Methods", "GET"},
		}, nil)
	case !slices.Contains(fetchedTypes, q.ResourceType):
		p.fail(&q, "BlockedByClient")
	default:
		p.resource(&q)
	}
}

// mostAsks is how many requests a page may make, answered with what it was given before or
// refused, for each that may be fetched: a page that polls asks without end. One that needs more
// than may be fetched is shown without the rest, as a page is where a script cannot be reached. To
// end it at the first would leave a document that was read no further than its head.
const mostAsks = 10

// fetchedTypes are what scripts need.
var fetchedTypes = []string{"Script", "XHR", "Fetch", "Other"}

// header is a line of the request's head.
func (q *paused) header(name string) string {
	for k, v := range q.Request.Headers {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// leave notes where a script leads, and ends the page.
func (p *page) leave(q *paused) {
	u, err := web.Parse(q.Request.URL)
	if err != nil || q.Request.Method != http.MethodGet {
		p.end(web.ReasonRenderMoved, "a script sends a form to %.200q", q.Request.URL)
		return
	}
	p.mu.Lock()
	p.moved = u
	p.mu.Unlock()
	p.end(web.ReasonRenderMoved, "a script leads to %.200s", u)
}

// resource fetches what the page asks for, or refuses it.
func (p *page) resource(q *paused) {
	u, err := web.Parse(q.Request.URL)
	o := &p.pool.o
	var why web.Reason
	switch {
	case q.header("Service-Worker") != "", q.header("Sec-Purpose") != "", q.header("Purpose") != "", // for other pages than this
		q.header("Accept") == "text/event-stream", // without an end
		strings.HasPrefix(q.header("Accept"), "image/"):
		p.fail(q, "BlockedByClient")
		return
	case err != nil:
		why = web.ReasonProtocol
	case q.Request.Method != http.MethodGet:
		why = web.ReasonMethod
	default:
		why = o.Refuse(p.asked.URL, u)
	}
	var cached *web.Response
	if q.ResourceType == "Script" && err == nil {
		cached = p.pool.cache.get(p.script(q, u))
	}
	p.mu.Lock()
	place := p.out.Requests
	p.out.Requests++
	p.changed++
	asks := p.out.Requests > mostAsks*o.Limits.Requests
	known := cmp.Or(cached, p.answers[u])
	switch {
	case asks, why == "" && known == nil && (p.fetched >= o.Limits.Requests || p.bytes > o.Limits.Bytes):
		why = web.ReasonRenderRequests
	case why == "" && known != nil && !p.giveAgain(known):
		why = web.ReasonRenderRequests
	}
	if why != "" {
		p.refuse(why)
		p.mu.Unlock()
		p.fail(q, "BlockedByClient")
		if asks {
			p.end(why, "it asks more than %d times", mostAsks*o.Limits.Requests)
		}
		return
	}
	if cached != nil {
		p.mu.Unlock()
		p.answer(q, cached)
		return
	}
	p.fetched++
	p.pending++
	turn := p.turns[u.Host().Name()]
	if turn == nil {
		turn = new(sync.Mutex)
		p.turns[u.Host().Name()] = turn
	}
	p.mu.Unlock()
	p.work.Go(func() { p.fetch(q, u, place, turn, known != nil) })
}

// giveAgain tells whether a page may be given what was fetched before, and counts it: what a page
// asks for again and again is held for its browser each time. p.mu is held.
func (p *page) giveAgain(r *web.Response) bool {
	if p.again+len(r.Body) > 2*p.pool.o.Limits.Bytes {
		return false
	}
	p.again += len(r.Body)
	return true
}

// origin is the Origin that the request for an address is sent with, "" for none.
func (q *paused) origin(u web.URL) string {
	if origin := q.header("Origin"); origin != u.Origin() {
		return origin
	}
	return ""
}

// script is what the answer to the request for a script is kept by.
func (p *page) script(q *paused, u web.URL) request {
	of := p.asked.URL
	return request{of.Scheme() + "://" + of.Host().Domain(), of.Origin() == u.Origin(), q.origin(u), u}
}

// errFull is the failure of what a page is not given, as it was given as much as it may be.
var errFull = &web.Failure{Reason: web.ReasonRenderRequests, Detail: "the page was given as much as it may be"}

// refuse counts a request that brings nothing. p.mu is held.
func (p *page) refuse(why web.Reason) {
	if p.out.Refused == nil {
		p.out.Refused = map[web.Reason]int{}
	}
	p.out.Refused[why]++
}

// fetch fetches a resource. A page has one request at a time to a host on its way: the
// others would only wait at the gate. What it asks for again it is given again. Once it has been
// given as much as it may be, nothing more is asked for, and what is on its way is given up. counted
// tells that giveAgain has counted the answer.
func (p *page) fetch(q *paused, u web.URL, place int, turn *sync.Mutex, counted bool) {
	var f *web.Failure
	turn.Lock()
	p.mu.Lock()
	r, known := p.answers[u]
	p.mu.Unlock()
	err := p.ctx.Err()
	if err == nil && !known {
		err = context.Cause(p.getting)
	}
	if err == nil && !known {
		ctx := p.pool.o.Page(p.getting, p.asked.URL)
		if origin := q.origin(u); origin != "" {
			ctx = p.pool.o.Origin(ctx, origin)
		}
		r, err = p.pool.o.Resources.Fetch(ctx, u)
		if err != nil && !errors.As(err, &f) && p.ctx.Err() == nil && p.getting.Err() != nil {
			err = context.Cause(p.getting)
		}
	}
	kind := strings.ToLower(q.ResourceType)
	p.mu.Lock()
	switch {
	case known:
		p.fetched--
		if err == nil && !counted && !p.giveAgain(r) {
			err = errFull
			p.refuse(errFull.Reason)
		}
	case err == nil:
		if p.bytes += len(r.Body); p.bytes > p.pool.o.Limits.Bytes {
			p.enough(errFull)
		}
		p.answers[u] = r
		p.answered[place] = web.Resource{Response: r, Type: kind}
	case errors.As(err, &f):
		p.refuse(f.Reason)
		if f.Robots != nil { // the answer of robots.txt is kept, whatever it says
			p.answered[place] = web.Resource{Response: f.Robots}
		}
	}
	p.mu.Unlock()
	turn.Unlock()
	if err != nil || p.over() {
		p.fail(q, "BlockedByClient")
	} else {
		if q.ResourceType == "Script" && r.Status == http.StatusOK && r.Truncated == "" {
			p.pool.cache.put(p.script(q, u), r)
		}
		p.answer(q, r)
	}
	p.mu.Lock()
	p.pending--
	p.mu.Unlock()
}

// answer gives the page a response.
func (p *page) answer(q *paused, r *web.Response) {
	var lines []header
	typed := false
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			continue // a browser that is told to answer with it does not answer at all
		}
		switch name {
		case "Connection", "Keep-Alive", "Transfer-Encoding", "Trailer", "Upgrade", "Content-Length", "Content-Encoding", // of the transfer
			"Set-Cookie", "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data", "Content-Disposition", "Link", "Refresh",
			"Report-To", "Reporting-Endpoints", "Nel", "Accept-Ch", "Origin-Trial": // of a browser with a network and a memory
			continue
		case "Content-Type":
			typed = true
		}
		for _, v := range values {
			lines = append(lines, header{name, strings.Map(printable, v)})
		}
	}
	if !typed && r == p.asked {
		lines = append(lines, header{"Content-Type", "text/html"})
	}
	slices.SortFunc(lines, func(a, b header) int { return strings.Compare(a.Name, b.Name) })
	p.fulfill(q, r.Status, lines, r.Body)
}

// printable replaces what cannot stand in a head.
func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return ' '
	}
	return r
}

func (p *page) fulfill(q *paused, status int, lines []header, body []byte) {
	p.send(q.Session, "Fetch.fulfillRequest", map[string]any{
		"requestId": q.RequestID, "responseCode": status, "responseHeaders": lines, "body": base64.StdEncoding.EncodeToString(body),
		// Without one a browser does not answer with a status that it has no phrase for.
		"responsePhrase": cmp.Or(http.StatusText(status), "Unknown"),
	})
}

func (p *page) fail(q *paused, reason string) {
	p.send(q.Session, "Fetch.failRequest", map[string]any{"requestId": q.RequestID, "errorReason": reason})
}
