package fetch

import (
	"context"
	"errors"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Resources fetches what a page asks for once its scripts run: documents of any media
// type, each by the robots.txt, the gate and the route that pages pass, so that there is
// still one request at a time to a host and to an address, a delay apart. A request waits
// for its turn until its context ends. What the bodies take is not counted in
// Options.Memory: who asks bounds that.
func (s *Stack) Resources() Fetcher { return s.resources }

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

// patient is a fetcher that comes again where politeness asks it to.
type patient struct {
	Fetcher
	clock Clock
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
