package fetch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Resources fetches what a page asks for once its scripts run: documents of any media
// type, each by the robots.txt, the gate and the route that pages pass, so that there is
// still one request at a time to a host and to an address, a delay apart. A request waits
// for its turn until its context ends. What the bodies take is not counted in
// Options.Memory: who asks bounds that.
func (s *Stack) Resources() Fetcher { return s.resources }

// WithPage has the requests of a context be those of a page: with them go the cookies of
// its site, see Options.Cookies.
func WithPage(ctx context.Context, page web.URL) context.Context {
	return context.WithValue(ctx, pageKey{}, page)
}

type pageKey struct{}

// WithOrigin has the requests of a context say from which origin a script asks, such as
// "https://a.example": by that a server tells whether the script may read its answer.
//
// Source: RFC 6454, section 7.
func WithOrigin(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

type originKey struct{}

func originOf(ctx context.Context) string {
	origin, _ := ctx.Value(originKey{}).(string)
	return origin
}

// Validators are what a server said of the version of a document that it gave before: its
// ETag and Last-Modified, as received, "" for none.
type Validators struct{ ETag, LastModified string }

// WithValidators has the requests of a context ask for a document only if it is another one
// than that of the validators: otherwise the server answers 304, without a body.
//
// Source: RFC 9110, sections 13.1.2 and 13.1.3.
func WithValidators(ctx context.Context, v Validators) context.Context {
	return context.WithValue(ctx, validatorsKey{}, v)
}

type validatorsKey struct{}

// special are the headers that a request of a context has beside those of all, in the
// order in which they are sent.
func special(ctx context.Context) (headers [][2]string) {
	add := func(name, value string) {
		if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			headers = append(headers, [2]string{name, value})
		}
	}
	add("Origin", originOf(ctx))
	if v, ok := ctx.Value(validatorsKey{}).(Validators); ok {
		add("If-None-Match", v.ETag)
		add("If-Modified-Since", v.LastModified)
	}
	return headers
}

// patient is a fetcher that comes again where politeness asks it to.
type patient struct {
	Fetcher
	clock Clock
	left  *time.Duration // for which it still waits, in all; nil = for as long as it is asked to
}

func (p patient) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	var robots *web.Response // fetched on the way, before a wait
	for {
		r, err := p.Fetcher.Fetch(ctx, u)
		var f *web.Failure
		switch {
		case err == nil:
			if r.Robots == nil {
				r.Robots = robots
			}
			return r, nil
		case !errors.As(err, &f):
			return nil, err
		}
		if f.Robots == nil {
			f.Robots = robots
		}
		if f.Reason != web.ReasonBusy || ctx.Err() != nil {
			return nil, err
		}
		if p.left != nil {
			if f.RetryAfter <= 0 || f.RetryAfter > *p.left {
				return nil, err
			}
			*p.left -= f.RetryAfter
		}
		robots = f.Robots
		fire, stop := p.clock.NewTimer(max(f.RetryAfter, time.Millisecond))
		select {
		case <-fire:
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		}
	}
}
