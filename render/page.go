package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/web"
)

// Times of the machine's clock.
const (
	lookEvery = 200 * time.Millisecond // at what a page takes
	closeTime = 2 * time.Second        // to close a page
	// leastTake is how long the document of a page may take to be taken at least; it is a
	// quarter of the page's time where that is more.
	leastTake = 2 * time.Second
	// waitTime bounds all waits of a page for its requests: more than a hundred of them
	// take at a second each.
	waitTime = 5 * time.Minute
)

// page is a page that is being rendered.
type page struct {
	pool    *Pool
	browser *devtools.Browser
	agent   string
	asked   *web.Response
	ctx     context.Context // ends when the page is ended at once
	stop    context.CancelCauseFunc
	work    sync.WaitGroup  // requests on their way
	getting context.Context // of these; ends before ctx when the page was given as much as it may be
	enough  context.CancelCauseFunc
	// send sends what need not be answered to the browser. An error shows at the next call.
	send func(session, method string, params any)

	context, target, session string // of the browser

	rested  chan struct{} // holds a value when the page's clock has come to its end
	undrawn bool          // the browser does not draw it

	mu       sync.Mutex
	out      web.Rendering
	given    bool            // it has its response
	frames   map[string]bool // of the page, by id
	loader   string          // of the document
	pending  int             // requests on their way
	fetched  int             // requests fetched
	bytes    int             // of them
	again    int             // bytes of what was fetched before and given once more
	changed  int             // what has come since: requests, and what tells of the page
	windows  int
	dialogs  int
	workers  int
	moved    web.URL // where a script led
	lost     bool    // the document is another's, or gone
	crashed  bool    // its process in the browser is gone
	turns    map[string]*sync.Mutex
	answered map[int]web.Resource // by their place among the requests
	answers  map[web.URL]*web.Response

	cookies []cookies.Cookie // that scripts found
}

// ended is the cause for which a page ends.
type ended struct {
	reason web.Reason
	detail string
}

func (e *ended) Error() string { return e.detail }

// prepare has the browser of a slot tell what this package goes by.
func (s *slot) prepare(ctx context.Context, b *devtools.Browser, agent string) error {
	var version struct{ UserAgent string }
	for _, c := range []struct {
		method         string
		params, result any
	}{
		{"Browser.getVersion", nil, &version},
		{"Target.setDiscoverTargets", map[string]any{"discover": true}, nil},
		{"Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*"}}}, nil},
	} {
		if err := b.Call(ctx, "", c.method, c.params, c.result); err != nil {
			return fmt.Errorf("the browser cannot be used: %w", err)
		}
	}
	s.agent = strings.TrimSpace(version.UserAgent + " " + agent)
	return nil
}

// left is what a page left of its browser.
type left uint8

const (
	browserWhole left = iota // another page can have it
	browserSpent             // it must be killed
	browserGone              // and it was gone before the page had been shown
)

// newPage is a page that no browser has yet. Its context lasts until stop is called.
func newPage(ctx context.Context, pool *Pool, r *web.Response) *page {
	p := &page{
		pool: pool, asked: r, rested: make(chan struct{}, 1),
		frames: map[string]bool{}, turns: map[string]*sync.Mutex{}, answered: map[int]web.Resource{}, answers: map[web.URL]*web.Response{},
	}
	p.ctx, p.stop = context.WithCancelCause(ctx)
	p.getting, p.enough = context.WithCancelCause(p.ctx)
	return p
}

// render renders a page in the browser of a slot.
func (pool *Pool) render(ctx context.Context, s *slot, r *web.Response) (*web.Rendering, left) {
	p := newPage(ctx, pool, r)
	p.browser, p.agent = s.browser, s.agent
	p.send = func(session, method string, params any) { p.browser.Send(session, method, params) }
	p.out.Started = pool.o.Clock.Now()
	s.set(p)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.watch()
	}()
	err := p.open()
	if err == nil {
		err = p.show()
	}
	p.note(err)
	body := p.take(ctx)
	p.takeCookies(ctx)
	p.stop(nil)
	whole := p.close(ctx)
	<-watched
	p.work.Wait()
	s.set(nil)
	out := p.rendering(body)
	p.mu.Lock()
	crashed := p.crashed
	p.mu.Unlock()
	switch {
	case out.Ended == web.ReasonRenderCrash && out.Body == nil && (crashed || hasEnded(s.browser)):
		return out, browserGone
	case !whole:
		return out, browserSpent
	}
	return out, browserWhole
}

func hasEnded(b *devtools.Browser) bool {
	select {
	case <-b.Done():
		return true
	default:
		return false
	}
}

// note notes how a page ended. A browser that died is the page's doing. What waggle's own script
// makes of an odd page may throw: then the page shows no more than it has.
func (p *page) note(err error) {
	if err == nil || errors.Is(err, errThrown) || p.ctx.Err() != nil && context.Cause(p.ctx) == context.Canceled {
		return
	}
	var e *ended
	if !errors.As(context.Cause(p.ctx), &e) && !errors.As(err, &e) {
		e = &ended{web.ReasonRenderCrash, err.Error()}
	}
	p.end(e.reason, "%s", e.detail)
}

// end ends a page, for the first of what it did.
func (p *page) end(why web.Reason, format string, args ...any) {
	p.mu.Lock()
	if p.out.Ended == "" {
		p.out.Ended, p.out.Detail = why, fmt.Sprintf(format, args...)
	}
	p.mu.Unlock()
	p.stop(&ended{why, ""})
}

// over tells whether the page has been ended.
func (p *page) over() bool { return p.ctx.Err() != nil }

// open makes a page in a context of its own.
func (p *page) open() error {
	var made struct{ BrowserContextID, TargetID, SessionID string }
	if err := p.call("", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true}, &made); err != nil {
		return err
	}
	p.context = made.BrowserContextID
	if err := p.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.context}, &made); err != nil {
		return err
	}
	p.mu.Lock()
	p.target = made.TargetID
	p.frames[p.target] = true // that of a page has the page's id
	p.mu.Unlock()
	if err := p.call("", "Target.attachToTarget", map[string]any{"targetId": p.target, "flatten": true}, &made); err != nil {
		return err
	}
	p.session = made.SessionID
	for _, c := range []struct {
		session, method string
		params          map[string]any
	}{
		{"", "Browser.setDownloadBehavior", map[string]any{"behavior": "deny", "browserContextId": p.context, "eventsEnabled": true}},
		{p.session, "Page.enable", nil},
		{p.session, "Inspector.enable", nil},
		{p.session, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}},
		{p.session, "Emulation.setUserAgentOverride", map[string]any{"userAgent": p.agent}},
		{p.session, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}},
		{p.session, "Emulation.setVirtualTimePolicy", map[string]any{
			"policy": "pause", "initialVirtualTime": float64(p.out.Started.UnixMilli()) / 1000,
		}},
	} {
		if err := p.call(c.session, c.method, c.params, nil); err != nil {
			return err
		}
	}
	if err := p.giveCookies(); err != nil {
		return err
	}
	var gone struct{ ErrorText, LoaderID string }
	if err := p.call(p.session, "Page.navigate", map[string]any{"url": p.asked.URL.String()}, &gone); err != nil {
		return err
	}
	if gone.ErrorText != "" {
		return &ended{web.ReasonRenderCrash, "the browser does not take the page: " + gone.ErrorText}
	}
	return nil
}

// call is Browser.Call within the life of the page.
func (p *page) call(session, method string, params, result any) error {
	return p.browser.Call(p.ctx, session, method, params, result)
}

// close closes the page. It tells whether the browser is fit for another.
func (p *page) close(ctx context.Context) bool {
	if p.context == "" || p.out.Ended == web.ReasonRenderMemory || p.out.Ended == web.ReasonRenderCPU {
		return false
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return p.browser.Call(within, "", "Target.disposeBrowserContext", map[string]any{"browserContextId": p.context}, nil) == nil
}

// watch ends the page when it takes more than it may.
func (p *page) watch() {
	o := &p.pool.o.Limits
	before, err := p.browser.Usage()
	counted := err == nil
	began := time.Now()
	last := began
	var busy time.Duration // without waits for requests
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.browser.Done():
			p.end(web.ReasonRenderCrash, "the browser ended")
			return
		case now := <-look.C:
			p.mu.Lock()
			waits := p.pending > 0
			p.mu.Unlock()
			if !waits {
				busy += now.Sub(last)
			}
			last = now
			switch {
			case busy > o.Time:
				p.end(web.ReasonRenderTime, "it was busy for %v", o.Time)
			case now.Sub(began) > waitTime:
				p.end(web.ReasonRenderTime, "with its requests it took %v", waitTime)
			case counted:
				u, err := p.browser.Usage()
				switch spent := u.CPU - before.CPU; {
				case err != nil:
				case u.Memory > o.Memory:
					p.end(web.ReasonRenderMemory, "the browser takes %d MiB for it, of %d MiB", u.Memory>>20, o.Memory>>20)
				case spent > o.Time:
					p.end(web.ReasonRenderCPU, "it took %v of the processors' time, of %v", spent.Round(time.Second), o.Time)
				}
			}
		}
	}
}

// rendering is what came of the page.
func (p *page) rendering(body []byte) *web.Rendering {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.out
	out.Body = body
	out.Took = p.pool.o.Clock.Now().Sub(out.Started)
	for i := range p.out.Requests {
		if r, ok := p.answered[i]; ok {
			out.Resources = append(out.Resources, r)
		}
	}
	return &out
}

// handle takes an event. It is called on one goroutine and returns soon.
func (p *page) handle(e devtools.Event) {
	p.mu.Lock()
	own := e.Session == "" || e.Session == p.session
	p.mu.Unlock()
	switch {
	case e.Method == "Fetch.requestPaused":
		p.request(e)
	case e.Method == "Target.attachedToTarget":
		p.attached(e)
	case e.Method == "Emulation.virtualTimeBudgetExpired" && own:
		select {
		case p.rested <- struct{}{}:
		default:
		}
	case e.Method == "Target.targetCreated":
		p.window(e)
	case e.Method == "Page.windowOpen":
		p.count(&p.windows, p.pool.o.Limits.Windows, web.ReasonRenderWindows, "windows")
	case e.Method == "Page.javascriptDialogOpening":
		p.dialog(e)
	case e.Method == "Browser.downloadWillBegin", e.Method == "Page.downloadWillBegin":
		p.end(web.ReasonRenderDownload, "it starts a download")
	case e.Method == "Inspector.targetCrashed" && own, e.Method == "Target.targetCrashed":
		p.mu.Lock()
		p.crashed = true
		p.mu.Unlock()
		p.lose(web.ReasonRenderCrash, "its process in the browser failed")
	case e.Method == "Page.frameAttached" && own:
		var x struct{ FrameID string }
		if json.Unmarshal(e.Params, &x) == nil {
			p.mu.Lock()
			p.frames[x.FrameID] = true
			p.mu.Unlock()
		}
	case e.Method == "Page.frameNavigated" && own:
		p.navigated(e)
	}
}

// count counts what a page may do some times, and ends the page that does it oftener.
func (p *page) count(n *int, most int, why web.Reason, what string) {
	p.mu.Lock()
	*n++
	much := *n > most
	p.mu.Unlock()
	if much {
		p.end(why, "it opens more than %d %s", most, what)
	}
}

// lose ends a page whose document is gone.
func (p *page) lose(why web.Reason, format string, args ...any) {
	p.mu.Lock()
	p.lost = true
	p.mu.Unlock()
	p.end(why, format, args...)
}

// navigated takes in that a frame shows another document.
func (p *page) navigated(e devtools.Event) {
	var x struct {
		Frame struct{ ID, ParentID, LoaderID, URL string }
	}
	if json.Unmarshal(e.Params, &x) != nil || x.Frame.ParentID != "" {
		return
	}
	p.mu.Lock()
	first := p.given && p.loader == ""
	if first {
		p.loader = x.Frame.LoaderID
	}
	other := p.loader != "" && p.loader != x.Frame.LoaderID
	p.mu.Unlock()
	if other {
		p.lose(web.ReasonRenderMoved, "a script leads to %.200q", x.Frame.URL)
	}
}

// attached takes in a worker or a frame, which waits until it is let go.
func (p *page) attached(e devtools.Event) {
	var x struct {
		SessionID          string
		WaitingForDebugger bool
		TargetInfo         struct{ Type string }
	}
	if json.Unmarshal(e.Params, &x) != nil || !x.WaitingForDebugger {
		return
	}
	switch x.TargetInfo.Type {
	case "worker", "shared_worker", "service_worker":
		p.count(&p.workers, p.pool.o.Limits.Workers, web.ReasonRenderWorkers, "workers")
	}
	if !p.over() {
		p.send(x.SessionID, "Runtime.runIfWaitingForDebugger", nil)
	}
}

// window closes a window that a page opened.
func (p *page) window(e devtools.Event) {
	var x struct {
		TargetInfo struct{ TargetID, Type, OpenerID, BrowserContextID string }
	}
	if json.Unmarshal(e.Params, &x) != nil || x.TargetInfo.Type != "page" || x.TargetInfo.OpenerID == "" {
		return
	}
	p.send("", "Target.closeTarget", map[string]any{"targetId": x.TargetInfo.TargetID})
	p.count(&p.windows, p.pool.o.Limits.Windows, web.ReasonRenderWindows, "windows")
}

// dialog answers a dialog as somebody does who closes it.
func (p *page) dialog(e devtools.Event) {
	var x struct{ Type string }
	json.Unmarshal(e.Params, &x) // of an unknown kind where it cannot be read
	p.send(e.Session, "Page.handleJavaScriptDialog", map[string]any{"accept": x.Type == "beforeunload"})
	p.count(&p.dialogs, p.pool.o.Limits.Dialogs, web.ReasonRenderDialogs, "dialogs")
}
