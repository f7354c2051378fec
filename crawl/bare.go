package crawl

import (
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// retryByHTTP adds to a failure that a seed is asked for by http as well, if it was given
// without a scheme and its server could not be spoken to by https: no connection, no
// trust in it, or no such address in a recorded web. The https address fares as any
// other that failed. It may be tried again, and the http address may lead back to it.
func (s *Step) retryByHTTP(a *Arrival, out *Outcome, preview Preview) error {
	c := &a.Lease.Candidate
	e, ok := out.Event.(event.Failed)
	if !ok || e.Outage || c.URL.Scheme() != "https" {
		return nil
	}
	switch e.Reason {
	case web.ReasonConnect, web.ReasonProxy, web.ReasonTLS, web.ReasonCertificate, web.ReasonRecord:
	default:
		return nil
	}
	to, err := web.Parse("http" + strings.TrimPrefix(c.URL.String(), "https"))
	if err != nil {
		return nil // of an address that has no other form
	}
	next := *c
	next.URL, next.From, next.Kind, next.Tries = to, c.URL, web.LinkRedirect, 0
	queued, _, turn, err := s.admit([]link{{Candidate: next}}, nil, preview)
	if err != nil || len(queued) == 0 {
		return err // it is known
	}
	s.count.Seeds++
	e.To, e.Queued = to, true
	e.Detail = clip(e.Detail+"; it was given without a scheme, so it is asked for by http too", 400)
	out.Event = e
	out.Turn.Add = append(out.Turn.Add, turn.Add...)
	return nil
}
