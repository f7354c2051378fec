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

// Robots asks an origin's robots.txt before it lets a request through (RFC
// 9309).
//
// The life of what is known of an origin:
//
//	           asked            2xx, 3xx, 4xx
//	unknown ──────────► asking ───────────────► rules, for a day ──► unknown
//	   ▲                  │ 429, 5xx, no whole answer
//	   └──────────────────┴── unknown for now: not asked again for a minute or,
//	                          if that is longer, for its Retry-After
//
// While the rules are unknown nothing is fetched, and nothing counts as
// disallowed. A request that did not come to be sent because politeness asks to
// wait (web.ReasonBusy) leaves all as it was: the next goes on at the address to
// which the redirects of the file led, where there were any.
type Robots struct {
	o     RobotsOptions
	rules *cache[string, verdict] // by origin
	ways  *cache[string, Way]     // by origin, to an address that was to be waited for
}

// RobotsOptions say what Robots stands before. Pages and Files are needed.
type RobotsOptions struct {
	// Pages fetches what robots.txt allows.
	Pages Fetcher
	// Files fetches robots.txt: documents of any type, bounded in size.
	Files Fetcher
	// Gate is told of a Crawl-delay; nil = nobody is.
	Gate *Gate
	// CrawlDelayCap bounds a Crawl-delay; 0 ignores it.
	CrawlDelayCap time.Duration
	// Clock tells the time; nil = the machine's.
	Clock Clock
	// Kept are the rules of an earlier run, and keep those of this one; nil =
	// each run asks for itself.
	Kept *KeptFile
}

// verdict is what asking for an origin's robots.txt came to: rules, or the
// reason why they are unknown, or a host that cannot be spoken to at all.
type verdict struct {
	rules   *robots.Rules
	missing string
	until   time.Time // when a missing one is asked for again
	reached bool      // a missing one's server, as Failure.Connected
	dead    *web.Failure
	weight  int // bytes it may take in memory

	status int    // that the rules were made of, with
	body   []byte // these lines; both for Kept, and only until they are kept
}

// NewRobots returns a fetcher that obeys robots.txt.
func NewRobots(o RobotsOptions) *Robots {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	r := &Robots{
		o:     o,
		rules: newCache[string](o.Clock, robotsBytes, func(v verdict) int { return v.weight }),
		ways:  newCache[string](o.Clock, robotsWaysBytes, Way.weight),
	}
	if o.Kept != nil {
		for _, k := range o.Kept.take() {
			r.rules.put(k.Origin, k.verdict(), k.Until)
		}
	}
	return r
}

// before returns a fetcher that obeys the same rules before another one than
// RobotsOptions.Pages.
func (r *Robots) before(pages Fetcher) *Robots {
	other := &Robots{o: r.o, rules: r.rules, ways: r.ways}
	other.o.Pages = pages
	return other
}

// Fetch fetches u if the robots.txt of its origin allows it.
func (r *Robots) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	web.AtStage(ctx, web.StageRobots)
	v, exchange, err := r.ask(stagesOfRobots(ctx), u)
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
			RetryAfter: max(0, v.until.Sub(r.o.Clock.Now())), Connected: v.reached,
			Detail: fmt.Sprintf("%s: robots.txt is unknown: %s", u, v.missing)}
	case !v.rules.Allowed(Agent, u.RequestPath()):
		return nil, &web.Failure{Reason: web.ReasonRobots, Robots: exchange,
			Detail: fmt.Sprintf("%s: robots.txt of %s disallows it", u, u.Origin())}
	}
	delay, _ := v.rules.CrawlDelay(Agent)
	delay = min(delay, r.o.CrawlDelayCap)
	if r.o.Gate != nil {
		r.o.Gate.Pace(u.Host(), delay)
	}
	response, err := r.o.Pages.Fetch(ctx, u)
	if response != nil {
		response.CrawlDelay, response.Robots = max(response.CrawlDelay, delay), exchange
		response.Sitemaps = v.rules.Sitemaps()
	}
	var f *web.Failure
	if errors.As(err, &f) {
		f.Robots = exchange
	}
	return response, err
}

// stagesOfRobots has a request for robots.txt told as what it is for.
func stagesOfRobots(ctx context.Context) context.Context {
	return web.WithStages(ctx, func(s web.Stage) {
		if s == web.StageRequest {
			s = web.StageRobots
		}
		web.AtStage(ctx, s)
	})
}

// ask returns the verdict on u's origin, and the exchange that brought it if
// that was needed.
func (r *Robots) ask(ctx context.Context, u web.URL) (v verdict, exchange *web.Response, err error) {
	origin := u.Origin()
	v, _, err = r.rules.get(ctx, origin, func() (v verdict, life time.Duration, err error) {
		to, moved := r.ways.take(origin)
		if !moved {
			file, err := web.Parse(origin + "/robots.txt")
			if err != nil {
				return verdict{missing: err.Error(), weight: 1 << 10}, robotsLife, nil
			}
			to = Way{file}
		}
		answer, err := to.Follow(ctx, responseKeeper{r.o.Files, &exchange}, robotsRedirects)
		var f *web.Failure
		switch {
		case ctx.Err() != nil:
			return verdict{}, 0, ctx.Err()
		case err != nil && !errors.As(err, &f):
			return verdict{}, 0, err
		case f != nil && f.Reason == web.ReasonBusy:
			f.Robots = exchange // of a redirect that led to where one has to wait
			if len(to) > 1 {
				r.ways.put(origin, to, r.o.Clock.Now().Add(f.RetryAfter+robotsWayLife))
			}
			return verdict{}, 0, f
		}
		v, life = judgeRobots(answer, f, moved || exchange != nil)
		v.until, v.reached = r.o.Clock.Now().Add(life), f != nil && f.Connected
		if r.o.Kept != nil && life > 0 {
			r.o.Kept.add(keptRules{Origin: origin, Status: v.status, Body: v.body, Missing: v.missing}, v.until, life)
		}
		v.body = nil
		return v, life, nil
	})
	return v, exchange, err
}

// responseKeeper keeps the last response of a fetcher.
type responseKeeper struct {
	Fetcher
	last **web.Response
}

func (n responseKeeper) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := n.Fetcher.Fetch(ctx, u)
	if err == nil {
		*n.last = r
	}
	return r, err
}

// ruleWeight is the memory that a verdict takes beside its rules, in bytes.
const ruleWeight = 1 << 10

// judgeRobots turns what became of a request for robots.txt into a verdict
// and the time for which it holds. answered tells whether the origin itself
// gave a response, if only a redirect.
func judgeRobots(answer *web.Response, f *web.Failure, answered bool) (verdict, time.Duration) {
	if f != nil {
		if f.Proxy {
			return verdict{dead: f, weight: ruleWeight}, 0
		}
		switch f.Reason {
		case web.ReasonRedirects, web.ReasonRedirectLoop, web.ReasonRedirectBad, web.ReasonRedirectTells:
			// "unavailable", RFC 9309, section 2.3.1.2
			return rulesOf(404, nil), robotsLife
		case web.ReasonDNS, web.ReasonConnect, web.ReasonProxy, web.ReasonAddress, web.ReasonPort, web.ReasonContact, web.ReasonTLS, web.ReasonCertificate:
			if !answered {
				return verdict{dead: f, weight: ruleWeight}, 0
			}
		}
		return missing(f.Error(), f.RetryAfter)
	}
	if answer.Status/100 == 2 && (answer.Truncated == "time" || answer.Truncated == "disconnect") {
		// The rule that matters may be in the part that did not come. Of others only the status counts.
		return missing(fmt.Sprintf("%s: cut short by %s", answer.URL, answer.Truncated), answer.RetryAfter)
	}
	body := answer.Body
	if answer.Truncated != "" { // half a line could disallow more than the whole
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	v := rulesOf(answer.Status, body)
	if v.rules == nil {
		return missing(fmt.Sprintf("%s: status %d", answer.URL, answer.Status), answer.RetryAfter)
	}
	return v, robotsLife
}

// rulesOf is the verdict of a whole answer; its rules are nil where they are
// unknown.
func rulesOf(status int, body []byte) verdict {
	if status < 200 || status >= 300 {
		body = nil
	}
	v := verdict{weight: ruleWeight, status: status, body: body}
	if rules, ok := robots.FromStatus(status, body); ok {
		v.rules, v.weight = rules, ruleWeight+rules.Weight()
	}
	return v
}

func missing(why string, retryAfter time.Duration) (verdict, time.Duration) {
	return verdict{missing: why, weight: ruleWeight + len(why)}, max(robotsRetryLife, retryAfter)
}

// Sitemaps are those that the robots.txt of the host of a response names; none where the request for it failed.
func Sitemaps(r *web.Response, err error) ([]string, error) {
	switch {
	case errors.As(err, new(*web.Failure)):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return r.Sitemaps, nil
}
