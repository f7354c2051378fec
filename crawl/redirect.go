package crawl

import (
	"math"
	"strconv"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// redirect follows a 3xx response: its target becomes a candidate with the
// priority of its source.
func (s *Step) redirect(now time.Time, a Arrival, preview Preview) (Outcome, error) {
	c, to := &a.Lease.Candidate, a.Response.Location
	s.scorer.Visit(c, nil, web.Verdict{})
	host := a.Lease.Host
	markAnswered(&host)
	s.pace(now, &host, &a)
	host.Due = s.due(now, a.Response)
	e := event.Failed{
		At: event.At{At: now}, Visit: visit(c),
		Reason: web.ReasonRedirect, Status: a.Response.Status,
		Bytes: a.Bytes, Took: seconds(a.Response.Took), To: to,
	}
	var turn web.Turn
	switch {
	case to.IsZero() && a.Response.Repeats:
		e.Reason, e.Detail = web.ReasonRedirectTells, a.Detail
	case to.IsZero():
		e.Reason, e.Detail = web.ReasonRedirectBad, a.Detail
	case to == c.URL || to == c.From && c.Redirects > 0:
		e.Reason = web.ReasonRedirectLoop
	case c.Redirects >= s.policy.MaxRedirects:
		e.Reason = web.ReasonRedirects
	default:
		if c.Priority >= SeedPriority && (c.Kind != web.LinkAgain || s.seeds[c.URL]) && s.extend(to) && s.sharing != nil {
			s.sharing.moved = append(s.sharing.moved, to)
		}
		next := *c
		next.URL, next.From, next.Kind = to, c.URL, web.LinkRedirect
		next.Redirects, next.Tries = c.Redirects+1, 0
		switch {
		case c.Kind == web.LinkAgain: // where it moved to is a new page
			next.Priority = s.rank(&next, s.score(&next))
		case s.lists.isEntry(c):
			next.Priority = math.Nextafter(next.Priority, math.Inf(1)) // what it brings is known before the next entry is asked for
		}
		queued, skipped, t, err := s.admit([]link{{Candidate: next}}, nil, preview)
		if err != nil {
			return Outcome{}, err
		}
		turn = t
		switch {
		case len(queued) > 0, s.sending() > 0:
			e.Queued = true
			if next.Priority >= SeedPriority && len(queued) > 0 {
				s.count.Seeds++
			}
		case len(skipped) > 0:
			e.Reason, e.Detail = skipped[0].Reason, "redirect to an address that is not fetched"
		default:
			e.Reason = web.ReasonRedirectKnown
		}
	}
	turn.Done = append(turn.Done, c.URL)
	turn.Hosts = []web.HostState{host}
	return Outcome{Turn: turn, Event: e}, nil
}

// seedMoved tells whether a failure is a redirect of a seed that was followed: where it led is in the scope.
func seedMoved(e *event.Failed) bool {
	return e.Reason == web.ReasonRedirect && e.Queued && e.Priority >= SeedPriority
}

// extend takes where a seed moved to into the scope, and tells whether that is new.
func (s *Step) extend(to web.URL) bool {
	if !s.policy.Scope.extend(to) {
		return false
	}
	s.moved = append(s.moved, to)
	s.fresh[stateMoved+strconv.Itoa(s.count.Moved)] = []byte(to.String())
	s.count.Moved++
	return true
}
