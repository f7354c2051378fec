// Package render makes pages as a browser shows them: it gives a response to a Chromium,
// lets the scripts of the page run, and takes the document that they leave.
//
// # What the browser may do
//
// It has no network. Each request of a page is taken from it and decided here:
//
//	the page itself                    the response that the crawl fetched: no second request
//	pictures, styles                   an empty one stands for them
//	fonts, films, pings, sockets       refused
//	scripts and data, by GET           fetched by Options.Resources: robots.txt, gate, guard
//	anything that is no GET            refused: it could change something at the server
//	frames                             an empty document: a frame is a link of the page
//	another page in place of this one  refused; it is a link of the page
//
// Where the system allows it, the browser's processes are in a network of their own as
// well, in which there is nothing. Elsewhere its way out is a proxy that does not exist.
//
// # The time of a page
//
// Its clock is virtual. It stands while requests are on their way, however long they wait
// for their turn, and runs ahead as soon as nothing is left to do: a timer of four seconds
// costs none. So pages do not give up on a polite crawler, and what they become does not
// depend on how fast the machine is.
//
// # The life of a page
//
//	opened → given its response → at rest → scrolled, asked for more, its routes
//	opened → taken → closed
//	   └──── ended: by what Limits bound, or by what no page of a crawl may do
//
// A page that is ended is taken as it is then, if it still answers. Each page has a
// context of its own, without storage of others and without cookies but those of
// Options.Cookies for it, and each browser one page at
// a time. A browser that does not answer is killed, and the next page has another. Where the
// browser, or its process for the page, is gone before the page was shown, such as by a
// system that is short of memory, the page is given to another browser, mostTries times in all.
//
// Where no browser starts, pages are not rendered. It is tried again with the first page after a
// pause, which doubles from firstPause to longestPause, mostStarts times in a row; but not where the
// system refuses the sandbox.
package render

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/web"
)

// Fetcher brings what an address holds. It is safe for concurrent use; the error is a
// *web.Failure, or ctx's.
type Fetcher interface {
	Fetch(ctx context.Context, u web.URL) (*web.Response, error)
}

// Options say how pages are rendered. Resources is needed.
type Options struct {
	// Program is the browser, a path or a name; "" = the one on this machine.
	Program string
	// Unsandboxed permits to start the browser without its sandbox where the system gives
	// it none.
	Unsandboxed bool
	// Browsers is the number of browsers, each with one page at a time; 0 = 1.
	Browsers int
	Limits   Limits
	// Resources fetches what pages ask for. It waits for the turn of each.
	Resources Fetcher
	// Origin says to Resources, by the context, which origin a script asks from; nil =
	// it is not told.
	Origin func(ctx context.Context, origin string) context.Context
	// Page says to Resources, by the context, for which page it fetches; nil = it is not told.
	Page func(ctx context.Context, page web.URL) context.Context
	// Cookies are what scripts of pages find and leave as document.cookie; nil = none.
	Cookies *cookies.Jar
	// Refuse says why a page may not ask for an address, "" where it may; nil = it may.
	Refuse func(page, u web.URL) web.Reason
	// Agent is what waggle calls itself, behind the name of the browser where pages
	// read it.
	Agent string
	// Note is told what the user should know; nil tells nobody.
	Note func(string)
	// Clock dates renderings; nil = the machine's. Limits run on the machine's clock.
	Clock Clock
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Limits bound what a page may take. A zero value has the default.
type Limits struct {
	// Time is how long a page may be busy, waits for its requests apart, and how much of
	// the processors' time its browser may spend on it; default 20 s.
	Time time.Duration
	// Memory bounds the bytes that its browser takes; default 1 GiB. Only Linux tells.
	Memory int64
	// Body bounds the bytes of the document; default 10 MiB.
	Body int
	// Requests bounds the requests that are fetched for a page; default 60. It may ask ten
	// times as often for what is not fetched. Bytes bounds
	// their bodies; default 30 MiB. It may be given twice as much of what was fetched before.
	Requests int
	Bytes    int
	// More bounds how often a page is scrolled or asked for more; default 10, less than 0
	// = not at all. Routes bounds the routes within a page that are opened; default 20.
	More, Routes int
	// Windows, Dialogs and Workers bound how many of each a page may open; default 3, 5
	// and 16.
	Windows, Dialogs, Workers int
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	if l.Time <= 0 {
		l.Time = 20 * time.Second
	}
	if l.Memory <= 0 {
		l.Memory = 1 << 30
	}
	set(&l.Body, 10<<20)
	set(&l.Requests, 60)
	set(&l.Bytes, 30<<20)
	set(&l.More, 10)
	set(&l.Routes, 20)
	set(&l.Windows, 3)
	set(&l.Dialogs, 5)
	set(&l.Workers, 16)
	return l
}

// pagesOfBrowser is how many pages a browser renders before another takes its place: what
// it has not given back by then is given back so.
const pagesOfBrowser = 200

// mostTries is how often a page is shown whose browser is gone each time.
const mostTries = 3

// Pool renders pages, as many at a time as it has browsers. A browser is started when the
// first page needs it. Safe for concurrent use.
type Pool struct {
	o     Options
	queue *queue
	cache *cache

	mu     sync.Mutex
	way    int       // of ways, that worked last
	failed error     // why there is no browser; nil = there is one, or none was needed yet
	starts int       // in a row that failed
	next   time.Time // before which none is started; zero where failed is for good
	untold bool      // the user does not know of failed yet
}

// slot is the place of a browser.
type slot struct {
	browser *devtools.Browser // nil until it is needed
	pages   int               // that it has rendered
	agent   string            // what pages read as its name

	mu   sync.Mutex
	page *page // that it renders; nil between pages
}

// New makes a pool. It looks whether there is a browser and starts none; the error is a
// *devtools.AbsentError.
func New(o Options) (*Pool, error) {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Refuse == nil {
		o.Refuse = func(web.URL, web.URL) web.Reason { return "" }
	}
	if o.Origin == nil {
		o.Origin = func(ctx context.Context, _ string) context.Context { return ctx }
	}
	if o.Page == nil {
		o.Page = func(ctx context.Context, _ web.URL) context.Context { return ctx }
	}
	o.Browsers = max(o.Browsers, 1)
	o.Limits = o.Limits.withDefaults()
	if o.Program == "" {
		program, err := devtools.Find()
		if err != nil {
			return nil, err
		}
		o.Program = program
	}
	return &Pool{o: o, queue: newQueue(o.Browsers), cache: newCache()}, nil
}

// Close ends the browsers. It is called when every Render has returned.
func (p *Pool) Close() error {
	var errs []error
	for range p.o.Browsers {
		s, _ := p.queue.take(context.Background(), 0)
		if s.browser != nil {
			errs = append(errs, s.browser.Close())
		}
	}
	return errors.Join(errs...)
}

// Try starts a browser, so that what is wrong is known before the first page.
func (p *Pool) Try(ctx context.Context) error {
	s, err := p.queue.take(ctx, 0)
	if err != nil {
		return err
	}
	defer p.queue.put(s)
	return p.ready(ctx, s)
}

// Render renders the page that a server sent. Of pages that wait for a browser the one of the
// highest priority is next, but for one in four, which is the one that has waited longest. Whatever the page does, there is a rendering, if only one that says how it ended. The
// error is a *web.Failure of web.ReasonBrowser where there is no browser, or ctx's.
func (p *Pool) Render(ctx context.Context, r *web.Response, priority float64) (*web.Rendering, error) {
	s, err := p.queue.take(ctx, priority)
	if err != nil {
		return nil, err
	}
	defer p.queue.put(s)
	var asked []web.Resource // in vain
	var before *web.Rendering
	for try := 1; ; try++ {
		if err := p.ready(ctx, s); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.tell()
			if before != nil {
				return before, nil
			}
			return nil, &web.Failure{Reason: web.ReasonBrowser, Detail: fmt.Sprintf("%.200s: %v", r.URL, err), Err: err}
		}
		out, left := p.render(ctx, s, r)
		if s.pages++; left != browserWhole {
			s.browser.Kill() // at worst a folder among temporary ones stays
			s.browser = nil
		} else if s.pages >= pagesOfBrowser {
			s.browser.Close()
			s.browser = nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out.Tries, out.Resources = try, append(asked, out.Resources...)
		if left != browserGone || try == mostTries {
			return out, nil
		}
		asked, before = out.Resources, out
	}
}

// way is how a browser can be started.
type way struct{ offline, unsandboxed bool }

// ways are all, the best first.
var ways = []way{{offline: true}, {}, {offline: true, unsandboxed: true}, {unsandboxed: true}}

// Bounds of how often a browser is started that does not start.
const (
	firstPause   = 10 * time.Second
	longestPause = time.Hour
	mostStarts   = 12 // in a row
)

// ready has a browser in the slot that answers. The error says why none starts, or that it is not
// tried again yet.
func (p *Pool) ready(ctx context.Context, s *slot) error {
	if s.browser != nil && !hasEnded(s.browser) {
		return nil
	}
	if s.browser != nil {
		s.browser.Kill()
		s.browser = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil && (p.next.IsZero() || p.o.Clock.Now().Before(p.next)) {
		return p.failed
	}
	b, err := p.first(ctx, s)
	if ctx.Err() != nil {
		if err == nil {
			b.Kill()
		}
		return ctx.Err()
	}
	if err == nil {
		if p.failed != nil {
			p.o.Note("the browser starts now: pages that scripts make are rendered from here on")
		}
		s.browser, s.pages = b, 0
		p.failed, p.starts, p.next = nil, 0, time.Time{}
		return nil
	}
	p.failed, p.next, p.untold = err, time.Time{}, true
	p.starts++
	if !errors.Is(err, devtools.ErrSandbox) && p.starts < mostStarts {
		p.next = p.o.Clock.Now().Add(p.pause())
	}
	return err
}

// pause is how long no browser is started after as many starts in a row that failed. p.mu is held.
func (p *Pool) pause() time.Duration { return min(firstPause<<(p.starts-1), longestPause) }

// tell says once of each start that failed what comes of it.
func (p *Pool) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.untold {
		return
	}
	p.untold = false
	note := "no browser starts, so pages that scripts make are taken as they are sent: " + p.failed.Error()
	switch {
	case !p.next.IsZero():
		note += fmt.Sprintf(". It is tried again in %v", p.pause())
	case p.starts == mostStarts:
		note += fmt.Sprintf(". It was tried %d times and is not tried again in this run", mostStarts)
	}
	p.o.Note(note)
}

// first starts a browser in the first way that works, from the one on that worked last.
func (p *Pool) first(ctx context.Context, s *slot) (*devtools.Browser, error) {
	var refused error                  // the sandbox, by the system
	without := ways[p.way].unsandboxed // the system gives it none
	for way := p.way; way < len(ways); way++ {
		w := ways[way]
		if w.unsandboxed && !(p.o.Unsandboxed && without) {
			break
		}
		b, err := p.start(ctx, s, w)
		if err != nil && ctx.Err() == nil && !errors.Is(err, devtools.ErrSandbox) && !errors.Is(err, devtools.ErrOffline) {
			// On a busy machine one may end at its start by chance, and the next way confines it less.
			b, err = p.start(ctx, s, w)
		}
		switch {
		case err == nil:
			if w.unsandboxed && !ways[p.way].unsandboxed {
				p.o.Note("the browser runs without its sandbox, as is permitted: the system gives it none")
			}
			p.way = way
			return b, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, devtools.ErrSandbox):
			refused, without = err, true
		case refused == nil && !errors.Is(err, devtools.ErrOffline):
			refused = err
		}
	}
	if errors.Is(refused, devtools.ErrSandbox) {
		return nil, fmt.Errorf("%w. Crawl as a user that is not root, on a system that allows user name spaces; "+
			"or, where the machine or the container has nothing to lose, permit it with fetch.unsandboxed in the job file, or --unsandboxed", refused)
	}
	return nil, refused
}

// start starts a browser for a slot.
func (p *Pool) start(ctx context.Context, s *slot, w way) (*devtools.Browser, error) {
	b, err := devtools.Start(ctx, devtools.Options{
		Program: p.o.Program, NoSandbox: w.unsandboxed, Offline: w.offline, Event: s.handle,
		Args: []string{
			// Nobody listens there; this machine is no exception.
			"--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
			"--host-resolver-rules=MAP * ~NOTFOUND",
			"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy",
			"--js-flags=--random-seed=1,--max-old-space-size=" + fmt.Sprint(p.o.Limits.Memory>>21),
			"--window-size=1280,1600", "--hide-scrollbars", "--disable-extensions", "--disable-sync", "--disable-remote-fonts",
			"--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,WebRtcHideLocalIpsWithMdns,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
			"--autoplay-policy=user-gesture-required",
		},
	})
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, b, p.o.Agent); err != nil {
		b.Kill()
		return nil, err
	}
	return b, nil
}

// handle takes an event of the slot's browser.
func (s *slot) handle(e devtools.Event) {
	s.mu.Lock()
	p := s.page
	s.mu.Unlock()
	if p != nil {
		p.handle(e)
	}
}

func (s *slot) set(p *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = p
}
