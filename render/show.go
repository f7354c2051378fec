package render

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Times of the page's clock.
const (
	slice     = 500 * time.Millisecond // after which the page is looked at
	firstTime = 6 * time.Second        // that every page has
	quietTime = 1 * time.Second        // without anything new, of a page at rest
	mostTime  = 15 * time.Second       // for a page that always has something new
	moreTime  = 10 * time.Second       // the same, after it was scrolled
)

// Bounds of a wait until a page is drawn, by the clock.
const (
	frameTime  = 2 * time.Second
	mostFrames = 3
)

// script is run in a world of its own: it sees the document and nothing of the page's
// scripts, and these see nothing of it.
//
//go:embed script.js
var script string

// world is the name of that world.
const world = "waggle"

// show lets a page come to rest and show what it has.
func (p *page) show() error {
	if err := p.rest(firstTime, mostTime); err != nil {
		return err
	}
	if err := p.evaluate(script, nil); err != nil {
		return err
	}
	if err := p.more(); err != nil {
		return err
	}
	return p.routes()
}

// rest lets the page's clock run, for a time at least, until nothing new comes, or for a
// time at most.
func (p *page) rest(least, most time.Duration) error {
	var ran, quiet time.Duration
	before := -1
	for ran < least || quiet < quietTime && ran < most {
		if err := p.run(slice); err != nil {
			return err
		}
		ran += slice
		elements := 0
		if err := p.evaluate(`document.getElementsByTagName("*").length`, &elements); err != nil {
			return err
		}
		p.mu.Lock()
		now := p.changed + elements
		p.mu.Unlock()
		if quiet += slice; now != before {
			quiet = 0
		}
		before = now
	}
	return nil
}

// run lets the page's clock run for some time. It stands while requests are on their way.
func (p *page) run(d time.Duration) error {
	select {
	case <-p.rested: // of a time before
	default:
	}
	if err := p.call(p.session, "Emulation.setVirtualTimePolicy", map[string]any{
		"policy": "pauseIfNetworkFetchesPending", "budget": d.Milliseconds(),
	}, nil); err != nil {
		return err
	}
	select {
	case <-p.rested:
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// frame has the page drawn, as far as a page without a window is: observers of what is in
// sight are told with that. Where the processors are busy it happens that a browser never
// draws a page: then that is waited for, mostFrames times frameTime in all, and it is shown without.
func (p *page) frame() error {
	for n := 0; n < mostFrames && !p.undrawn; n++ {
		ctx, cancel := context.WithTimeout(p.ctx, frameTime)
		err := p.evaluateIn(ctx, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, nil)
		cancel()
		if p.ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if err := p.run(slice); err != nil {
			return err
		}
	}
	p.undrawn = true
	return nil
}

// more scrolls to the end of the page, and presses what loads more, until that has
// brought nothing twice.
func (p *page) more() error {
	limit := p.pool.o.Limits.More
	for n, nothing := 0, 0; n < limit && nothing < 2; n++ {
		var did struct {
			Clicked bool
			Size    int
		}
		// Observers are told of what came last, and then of where the page was scrolled to:
		// of both at once some would see the first alone.
		if err := p.frame(); err != nil {
			return err
		}
		if err := p.run(slice); err != nil {
			return err
		}
		if err := p.evaluate(`waggle.more()`, &did); err != nil {
			return err
		}
		p.mu.Lock()
		if did.Clicked {
			p.out.Clicks++
		} else {
			p.out.Scrolls++
		}
		p.mu.Unlock()
		if err := p.frame(); err != nil {
			return err
		}
		if err := p.rest(quietTime, moreTime); err != nil {
			return err
		}
		size := 0
		if err := p.evaluate(`waggle.size()`, &size); err != nil {
			return err
		}
		if nothing++; size > did.Size {
			nothing = 0
		}
	}
	return nil
}

// routes opens the routes within the page, and has the script keep what each shows.
func (p *page) routes() error {
	var list []string
	if err := p.evaluate(fmt.Sprintf(`waggle.routes(%d)`, p.pool.o.Limits.Routes), &list); err != nil {
		return err
	}
	for _, route := range list {
		text, err := json.Marshal(route)
		if err != nil {
			return err
		}
		if err := p.evaluate(fmt.Sprintf(`waggle.open(%s)`, text), nil); err != nil {
			return err
		}
		if err := p.rest(quietTime, moreTime); err != nil {
			return err
		}
		if err := p.evaluate(fmt.Sprintf(`waggle.keep(%s, %d)`, text, p.pool.o.Limits.Body), nil); err != nil {
			return err
		}
		p.mu.Lock()
		p.out.Routes++
		p.mu.Unlock()
	}
	return nil
}

// errThrown is wrapped by the error of an expression that threw.
var errThrown = errors.New("in the page")

// evaluate runs an expression in waggle's world of the page, and reads its value.
func (p *page) evaluate(expression string, value any) error {
	return p.evaluateIn(p.ctx, expression, value)
}

func (p *page) evaluateIn(ctx context.Context, expression string, value any) error {
	var w struct{ ExecutionContextID int }
	if err := p.browser.Call(ctx, p.session, "Page.createIsolatedWorld", map[string]any{"frameId": p.target, "worldName": world}, &w); err != nil {
		return err
	}
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.browser.Call(ctx, p.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "contextId": w.ExecutionContextID, "returnByValue": true, "awaitPromise": true,
	}, &r)
	switch {
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return fmt.Errorf("%w: %.200s %.200s", errThrown, r.ExceptionDetails.Text, r.ExceptionDetails.Exception.Description)
	case value == nil:
		return nil
	}
	return json.Unmarshal(r.Result.Value, value)
}

// take takes the document, nil where there is none to be had.
func (p *page) take(ctx context.Context) []byte {
	p.mu.Lock()
	ended, lost, moved, given := p.out.Ended, p.lost || p.session == "" || p.loader == "", p.moved, p.given
	p.mu.Unlock()
	switch ended {
	case web.ReasonRenderMemory, web.ReasonRenderCPU, web.ReasonRenderCrash:
		return nil // it would only go on
	}
	if lost || !given || ctx.Err() != nil {
		return nil
	}
	limit := leastTake
	if ended != web.ReasonRenderDialogs { // which may hold the page for good
		limit = max(limit, p.pool.o.Limits.Time/4)
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var doc struct {
		HTML string
		Cut  bool
	}
	expression := fmt.Sprintf("%s;waggle.take(%d,%q)", script, p.pool.o.Limits.Body, moved.String())
	if err := p.evaluateIn(within, expression, &doc); err != nil {
		p.mu.Lock()
		if p.out.Ended == "" {
			p.out.Ended, p.out.Detail = web.ReasonRenderCrash, err.Error()
			if errors.Is(err, context.DeadlineExceeded) {
				p.out.Ended, p.out.Detail = web.ReasonRenderTime, "it does not answer"
			}
		}
		p.mu.Unlock()
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if doc.Cut && p.out.Ended == "" {
		p.out.Ended, p.out.Detail = web.ReasonRenderSize, fmt.Sprintf("its document has more than %d bytes", p.pool.o.Limits.Body)
	}
	return []byte(doc.HTML)
}
