package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/fetch/robots"
	"github.com/waggle-crawler/waggle/web"
)

// Latency is how long a request takes: log-normal, with the given median, and
// ln(latency) having the standard deviation Spread. Sizes of real answers'
// times are close to that. The zero Latency is none.
type Latency struct {
	Median time.Duration // ≥ 0
	Spread float64       // 0 = always the median; 1 means that one request in six takes e times as long
}

func (l Latency) validate() error {
	if l.Median < 0 || !(l.Spread >= 0 && l.Spread <= 5) {
		return fmt.Errorf("sim: latency with median %v and spread %v: want a median of at least 0 and a spread in [0,5]", l.Median, l.Spread)
	}
	return nil
}

// of is the latency of an address: a function of seed and address, in whole
// microseconds.
func (l Latency) of(seed uint64, u web.URL) time.Duration {
	if l.Median == 0 {
		return 0
	}
	if l.Spread == 0 {
		return l.Median
	}
	// uniform lies in (0,1), so that the normal quantile of it is finite.
	uniform := (float64(xxh3.HashStringSeed(u.String(), seed)>>12) + 0.5) / (1 << 52)
	normal := math.Sqrt2 * math.Erfinv(2*uniform-1)
	d := float64(l.Median) * math.Exp(l.Spread*normal)
	return min(time.Duration(d), time.Hour).Round(time.Microsecond)
}

// Bounds and lifetimes of robots.txt, as on the network.
const (
	agent           = "waggle"
	robotsRedirects = 5
	robotsLife      = 24 * time.Hour
	robotsRetryLife = time.Minute // of "unreachable"
	crawlDelayCap   = time.Minute
)

// network answers from a record as the network would through a live fetcher:
// robots.txt is asked first, and documents of other types are refused.
type network struct {
	record   Record
	opt      Options
	delay    time.Duration // between two requests to a host
	types    []string
	origins  map[string]*origin
	requests int
}

// origin is what is known of the robots.txt of an origin.
type origin struct {
	rules   *robots.Rules
	missing string // why rules are unknown
	until   time.Time
	// news is the exchange that brought the rules, until a page reports it.
	news *web.Response
}

func newNetwork(record Record, o Options, delay time.Duration) *network {
	types := o.Types
	if types == nil {
		types = []string{"text/html", "application/xhtml+xml"}
	}
	return &network{record: record, opt: o, delay: delay, types: types, origins: map[string]*origin{}}
}

// reach is how long a request for u takes that begins now, that for robots.txt
// and the delay behind it included.
func (n *network) reach(ctx context.Context, now time.Time, u web.URL) (time.Duration, error) {
	var took time.Duration
	o := &origin{rules: robots.AllowAll()}
	if !n.opt.IgnoreRobots {
		var err error
		if o, took, err = n.ask(ctx, now, u); err != nil {
			return 0, err
		}
	}
	if o.missing != "" || !o.rules.Allowed(agent, u.RequestPath()) {
		return took, nil
	}
	n.requests++
	return took + n.opt.Latency.of(n.opt.Seed, u), nil
}

// ask learns the rules of u's origin, and how long that took.
func (n *network) ask(ctx context.Context, now time.Time, u web.URL) (*origin, time.Duration, error) {
	name := u.Origin()
	if o := n.origins[name]; o != nil && now.Before(o.until) {
		return o, 0, nil
	}
	o := &origin{}
	n.origins[name] = o
	var took time.Duration
	file, err := web.Parse(name + "/robots.txt")
	if err != nil {
		return nil, 0, err
	}
	for hops := 0; err == nil; hops++ {
		var r *web.Response
		if r, err = n.record.Fetch(ctx, file); err != nil {
			break
		}
		n.requests++
		if n.opt.Asked != nil {
			n.opt.Asked()
		}
		took += n.opt.Latency.of(n.opt.Seed, file) + n.delay
		o.news = r
		if r.Status < 300 || r.Status >= 400 || r.Location.IsZero() || hops == robotsRedirects {
			break
		}
		file = r.Location
	}
	var f *web.Failure
	if err != nil && !errors.As(err, &f) {
		return nil, 0, fmt.Errorf("fetching %s: %w", file, err)
	}
	life := robotsLife
	switch {
	case err != nil:
		o.missing, life = err.Error(), robotsRetryLife
	case o.news.Status >= 500:
		o.missing, life = fmt.Sprintf("%s: status %d", file, o.news.Status), robotsRetryLife
	case o.news.Status >= 300 && o.news.Status < 400: // unavailable, RFC 9309, section 2.3.1.2
		o.rules = robots.FromStatus(http.StatusNotFound, nil)
	default:
		o.rules = robots.FromStatus(o.news.Status, o.news.Body)
	}
	o.until = now.Add(took + life)
	return o, took, nil
}

// fetch is what the request for u brought, that reach began.
func (n *network) fetch(ctx context.Context, now time.Time, u web.URL) (*web.Response, error) {
	var exchange *web.Response
	var pause time.Duration
	if !n.opt.IgnoreRobots {
		o := n.origins[u.Origin()]
		exchange, o.news = o.news, nil
		switch {
		case o.missing != "":
			return nil, &web.Failure{Reason: web.ReasonRobotsMissing, Temporary: true, Robots: exchange,
				Detail: fmt.Sprintf("%s: robots.txt is unknown: %s", u, o.missing)}
		case !o.rules.Allowed(agent, u.RequestPath()):
			return nil, &web.Failure{Reason: web.ReasonRobots, Robots: exchange,
				Detail: fmt.Sprintf("%s: robots.txt of %s disallows it", u, u.Origin())}
		}
		pause, _ = o.rules.CrawlDelay(agent)
		pause = min(pause, crawlDelayCap)
	}
	recorded, err := n.record.Fetch(ctx, u)
	if err == nil {
		err = n.refuse(recorded)
	}
	if err != nil {
		var f *web.Failure
		if errors.As(err, &f) {
			own := *f
			own.Robots = exchange
			return nil, &own
		}
		return nil, err
	}
	r := *recorded
	r.Took = n.opt.Latency.of(n.opt.Seed, u)
	r.Started = now.Add(-r.Took)
	r.RetryAfter = retryAfter(first(r.Header, "Retry-After"))
	r.CrawlDelay, r.Robots = pause, exchange
	return &r, nil
}

// refuse is the failure of a document that is of a type not asked for, by its
// header or, without one, by how it begins.
func (n *network) refuse(r *web.Response) error {
	if r.Status >= 300 || slices.Contains(n.types, "*/*") {
		return nil
	}
	if h := first(r.Header, "Content-Type"); h != "" {
		if !slices.Contains(n.types, mediaType(h)) {
			return &web.Failure{Reason: web.ReasonType, Detail: fmt.Sprintf("%s: status %d, Content-Type %.100q, %d bytes", r.URL, r.Status, h, len(r.Raw))}
		}
		return nil
	}
	if guess := sniff(r.Body); len(r.Body) > 0 && !slices.Contains(n.types, mediaType(guess)) {
		return &web.Failure{Reason: web.ReasonType, Detail: fmt.Sprintf("%s: status %d, no Content-Type, looks like %s, %d bytes", r.URL, r.Status, guess, len(r.Raw))}
	}
	return nil
}

// retryAfter reads a Retry-After header in seconds, at most an hour. A date
// belongs to the time of the recording, and counts as none.
func retryAfter(s string) time.Duration {
	seconds, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Hour)
}

// mediaType is a Content-Type without its parameters.
func mediaType(s string) string {
	kind, _, _ := strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// sniff guesses the media type of a document from how it begins.
func sniff(body []byte) string {
	start := string(body[:min(len(body), 512)])
	if strings.HasPrefix(start, "<?xml") && strings.Contains(start, "<html") {
		return "application/xhtml+xml"
	}
	return http.DetectContentType([]byte(start))
}

func first(h web.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}
