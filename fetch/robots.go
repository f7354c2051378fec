package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/fetch/robots"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// robotsFirst asks an origin's robots.txt before it lets a request through
// (RFC 9309). Rules live for a day, "unreachable" for a minute or as long as the
// server asks.
type robotsFirst struct {
	pages Fetcher
	files Fetcher // accepts any type, bounds the size
	gate  *Gate
	cap   time.Duration // of Crawl-delay
	clock clock.Clock
	rules *cache[string, verdict]
}

// verdict is what asking for an origin's robots.txt came to: rules, or the
// reason why they are unknown, or a host that cannot be spoken to at all.
type verdict struct {
	rules   *robots.Rules
	missing string
	until   time.Time // when a missing one is asked for again
	dead    *web.Failure
	weight  int // bytes it may take in memory
}

func newRobots(pages, files Fetcher, g *Gate, c clock.Clock, cap time.Duration) *robotsFirst {
	rules := newCache[string](c, robotsBytes, func(v verdict) int { return v.weight })
	return &robotsFirst{pages, files, g, cap, c, rules}
}

func (r *robotsFirst) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if f := checkPort(u); f != nil {
		return nil, f
	}
	v, exchange, err := r.ask(ctx, u)
	if err != nil {
		return nil, err
	}
	switch {
	case v.dead != nil:
		f := *v.dead
		f.Robots = exchange
		return nil, &f
	case v.missing != "":
		return nil, &web.Failure{Reason: web.ReasonRobotsMissing, Temporary: true, Robots: exchange,
			RetryAfter: max(0, v.until.Sub(r.clock.Now())),
			Detail:     fmt.Sprintf("%s: robots.txt is unknown: %s", u, v.missing)}
	case !v.rules.Allowed(Agent, u.RequestPath()):
		return nil, &web.Failure{Reason: web.ReasonRobots, Robots: exchange,
			Detail: fmt.Sprintf("%s: robots.txt of %s disallows it", u, u.Origin())}
	}
	delay, _ := v.rules.CrawlDelay(Agent)
	delay = min(delay, r.cap)
	r.gate.Pace(u.Host(), delay)
	response, err := r.pages.Fetch(ctx, u)
	if response != nil {
		response.CrawlDelay, response.Robots = delay, exchange
	}
	var f *web.Failure
	if errors.As(err, &f) {
		f.Robots = exchange
	}
	return response, err
}

// ask returns the verdict on u's origin, and the exchange that brought it if
// that was needed.
func (r *robotsFirst) ask(ctx context.Context, u web.URL) (v verdict, exchange *web.Response, err error) {
	origin := u.Origin()
	v, _, err = r.rules.get(ctx, origin, func() (v verdict, life time.Duration, err error) {
		file, err := web.Parse(origin + "/robots.txt")
		if err != nil {
			return verdict{missing: err.Error(), weight: 1 << 10}, robotsLife, nil
		}
		answer, err := Follow(ctx, noting{r.files, &exchange}, file, robotsRedirects)
		if ctx.Err() != nil {
			return verdict{}, 0, ctx.Err()
		}
		v, life = judgeRobots(answer, err, exchange != nil)
		v.until = r.clock.Now().Add(life)
		return v, life, nil
	})
	return v, exchange, err
}

// noting keeps the last response of a fetcher.
type noting struct {
	Fetcher
	last **web.Response
}

func (n noting) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := n.Fetcher.Fetch(ctx, u)
	if err == nil {
		*n.last = r
	}
	return r, err
}

// judgeRobots turns what became of a request for robots.txt into a verdict
// and the time for which it holds. answered tells whether the origin itself
// gave a response, if only a redirect.
func judgeRobots(answer *web.Response, err error, answered bool) (verdict, time.Duration) {
	const base = 1 << 10
	var f *web.Failure
	if errors.As(err, &f) {
		switch f.Reason {
		case web.ReasonRedirects, web.ReasonRedirectLoop, web.ReasonRedirectBad:
			// "unavailable", RFC 9309, section 2.3.1.2
			return verdict{rules: robots.FromStatus(404, nil), weight: base}, robotsLife
		case web.ReasonDNS, web.ReasonConnect, web.ReasonAddress, web.ReasonTLS:
			if !answered {
				return verdict{dead: f, weight: base}, 0
			}
		}
	}
	switch {
	case err != nil:
		return verdict{missing: err.Error(), weight: base}, robotsRetryLife
	case answer.Status >= 500:
		return verdict{missing: fmt.Sprintf("%s: status %d", answer.URL, answer.Status), weight: base}, max(robotsRetryLife, answer.RetryAfter)
	case answer.Truncated == "time" || answer.Truncated == "disconnect":
		// The rule that matters may be in the part that did not come.
		return verdict{missing: fmt.Sprintf("%s: cut short by %s", answer.URL, answer.Truncated), weight: base}, robotsRetryLife
	}
	body := answer.Body
	if answer.Truncated != "" { // half a line could disallow more than the whole
		body = body[:bytes.LastIndexByte(body, '\n')+1]
	}
	return verdict{rules: robots.FromStatus(answer.Status, body), weight: base + 2*len(body)}, robotsLife
}
