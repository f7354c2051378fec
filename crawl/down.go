package crawl

import (
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// The life of a host that fails:
//
//	                     MaxFailures in a row          GiveUp after the first
//	answers ──► fails ─────────────────────────► down ────────────────────────► given up
//	   ▲          │                                │
//	   └──────────┴────────── a response ──────────┘
//
// It is tried again after Backoff, then twice as long each time: at most MaxBackoff
// while it fails, at most MaxDown while it is down. Its links wait. A host that
// never gave a page is down after MaxTries failures already, if it never answered
// at all.
//
// A link is given up after MaxTries failures of its own. A failure without any
// response is the link's own where the host had answered the request before; in a
// row of such failures the frontier gives out other links of the host in between.
//
// A document that comes without its end, as it is too slow or the connection breaks,
// is tried again as well; that speaks against no host, since it answered: its other
// links do not wait for that. At the last of MaxTries what came is taken for the page, and told to be cut.
//
// A crawl in which all links that wait are of hosts that are down ends with
// HostsDown. The next run tries these hosts once before their time.

// harm says whether a failure counts against the host, and whether another try of
// the link may succeed.
func harm(a *Arrival) (hurts, temporary bool) {
	if f := a.Failure; f != nil {
		hurts = answerOf(a) == silence || f.Reason == web.ReasonRobotsMissing || f.Reason == web.ReasonProxy
		// No name, or no trust, is for good if the network works.
		return hurts, f.Temporary || hurts && a.certainty == networkUnknown
	}
	if cut(a) {
		return false, true
	}
	switch a.Response.Status {
	case 429, 500, 502, 503, 504:
		return true, true
	case 401, 403, 451:
		// A host that never gave anything but refusals does not want us.
		return a.Lease.Host.Fetched == 0, false
	}
	return false, false
}

// cut tells whether an arrival is a document without its end, or one that could not be read on
// this machine, which is asked for again: see Examine.
func cut(a *Arrival) bool {
	return a.Response != nil && (a.Reason == web.ReasonTimeout || a.Reason == web.ReasonReset || a.Reason == web.ReasonReader)
}

// noName tells whether a name does not exist, as its name server says.
func noName(a *Arrival) bool {
	return a.Failure != nil && a.Reason == web.ReasonDNS && !a.Failure.Temporary
}

// failure takes in what brought no page.
func (s *Step) failure(now time.Time, a Arrival) Outcome {
	if a.certainty == networkFailed || a.Reason == web.ReasonBusy || shortened(&a) {
		return s.putBack(now, a)
	}
	c, host := &a.Lease.Candidate, a.Lease.Host
	e := event.Failed{At: event.At{At: now}, Visit: visit(c), Reason: a.Reason, Detail: clip(a.Detail, 300)}
	answer := answerOf(&a)
	hurts, temporary := harm(&a)
	var wait time.Duration
	if f := a.Failure; f != nil {
		wait = min(f.RetryAfter, mostRetryAfter)
	} else {
		r := a.Response
		e.Bytes, e.Took = a.Bytes, seconds(r.Took)
		if !cut(&a) {
			e.Status = r.Status // of a response that the archive keeps
		}
	}
	switch {
	case hurts:
		s.markFailed(now, &host, answer == silence)
		host.Down = host.Down || noName(&a)
		host.Due = later(host.Due, later(s.due(now, a.Response), now.Add(wait)))
	case answer == unasked:
		host.Due = time.Time{}
	default:
		markAnswered(&host)
		host.Due = later(s.due(now, a.Response), now.Add(wait))
		if wait == 0 {
			host.Due = s.due(now, a.Response)
		}
	}
	s.pace(now, &host, &a)

	again := *c
	if answer != silence || a.Lease.Host.Failures == 0 && host.Fetched > 0 {
		again.Tries++
	}
	why := s.whyGivenUp(now, &host, &a)
	var out Outcome
	if why == "" && temporary && again.Tries < s.policy.MaxTries {
		e.Retry = true
		if c.Priority >= SeedPriority {
			s.count.Seeds++
		}
		out.Turn.Retry = []web.Candidate{again}
	} else {
		s.scorer.Visit(c, nil, web.Verdict{})
		out.Turn.Done = []web.URL{c.URL}
	}
	out.Turn.Hosts = []web.HostState{host}
	switch {
	case why != "":
		s.close(host.Host, web.ReasonHostDead)
		s.why[host.Host] = why
		out.Turn.Drop = []web.Host{host.Host}
	case host.Down && !a.Lease.Host.Down || hurts && a.certainty == networkUnknown:
		out.Also = append(out.Also, event.HostDown{
			At: e.At, Host: host.Host, Reason: a.Reason, Detail: e.Detail, Failures: host.Failures, Since: host.Since, Next: host.Due,
		})
	}
	out.Event = e
	return out
}

// putBack ends a lease that says nothing about its link: it waits again as before.
func (s *Step) putBack(now time.Time, a Arrival) Outcome {
	c, host := a.Lease.Candidate, a.Lease.Host
	if c.Priority >= SeedPriority {
		s.count.Seeds++
	}
	busy, short := a.Reason == web.ReasonBusy, shortened(&a)
	host.Due = s.due(now, nil)
	switch {
	case short:
		host.Slow, host.Due = 1, later(host.Due, now.Add(s.policy.Backoff))
		s.firstVisits.add(true)
	case busy:
		host.Due = later(a.Lease.Host.Due, now.Add(max(a.Failure.RetryAfter, leastBusy)))
	}
	return Outcome{
		Turn: web.Turn{Retry: []web.Candidate{c}, Hosts: []web.HostState{host}},
		Event: event.Failed{
			At: event.At{At: now}, Visit: visit(&c), Reason: a.Reason, Detail: clip(a.Detail, 300), Retry: true, Outage: !busy && !short,
		},
	}
}

// leastBusy is the least time before a host is asked for again that was busy.
const leastBusy = 100 * time.Millisecond

// markAnswered makes of a host one that answers.
func markAnswered(h *web.HostState) {
	h.Failures, h.Since, h.Silent, h.Down = 0, time.Time{}, false, false
}

// markFailed makes of a host one that failed once more.
func (s *Step) markFailed(now time.Time, h *web.HostState, silent bool) {
	h.Failures++
	h.Silent = silent
	if h.Since.IsZero() {
		h.Since = now
	}
	most := s.policy.MaxFailures
	if silent && h.Fetched == 0 {
		most = min(most, s.policy.MaxTries)
	}
	h.Down = h.Failures >= most
	longest := s.policy.MaxBackoff
	if h.Down {
		longest = max(longest, s.policy.MaxDown)
	}
	h.Due = now.Add(s.backoff(h.Failures, longest))
}

// backoff is how long a host is left alone after n failures in a row:
// Backoff · 2^(n−1), at most longest.
func (s *Step) backoff(n int, longest time.Duration) time.Duration {
	d := s.policy.Backoff
	for ; n > 1 && d < longest; n-- {
		d *= 2
	}
	return min(d, longest)
}

// whyGivenUp says why a host that failed is given up, "" if it is not.
func (s *Step) whyGivenUp(now time.Time, h *web.HostState, a *Arrival) string {
	switch {
	case noName(a) && a.certainty == networkWorked:
		return "its name does not exist"
	case h.Down && now.Sub(h.Since) >= s.policy.GiveUp:
		return fmt.Sprintf("no page for %v, in %d tries; the last one: %s", now.Sub(h.Since).Round(time.Minute), h.Failures, clip(a.Detail, 200))
	}
	return ""
}

// hostUp tells of a host that was down and answers again.
func hostUp(now time.Time, was, is *web.HostState) []event.Event {
	if !was.Down || is.Down {
		return nil
	}
	return []event.Event{event.HostDown{At: event.At{At: now}, Host: is.Host, Since: was.Since, Failures: was.Failures, Over: true}}
}

// mostRetryAfter is the longest that a server may ask to be left alone.
const mostRetryAfter = 24 * time.Hour

// Reopened gives the change that the state of each host needs when a crawl goes on
// at now. Moments are moved by what the clock says has passed since the last turn:
// less than nothing where it was set back; and the time in which no run tried a
// host does not count against it. Hosts that are down are due at once.
func (s *Step) Reopened(now time.Time) func(h *web.HostState) {
	gap, known := time.Duration(0), s.count.Last != 0
	if known {
		gap = now.Sub(time.Unix(0, s.count.Last))
	}
	return func(h *web.HostState) {
		// No rule sets a time further ahead; a folder of an older version tells
		// no time of its last turn.
		longest := max(mostRetryAfter, s.policy.MaxDown)
		switch {
		case !known && h.Failures == 0:
			longest = s.policy.Delay
		case !known:
			longest = time.Hour
		case gap < 0 && !h.Due.IsZero():
			h.Due = h.Due.Add(gap)
		}
		if end := now.Add(longest); h.Due.After(end) {
			h.Due = end
		}
		postpone(h, gap, now)
		if h.Down {
			h.Due = now
		}
	}
}

// postpone has time in which a host was not tried not count against it.
func postpone(h *web.HostState, by time.Duration, now time.Time) {
	if !h.Since.IsZero() {
		h.Since = earlier(h.Since.Add(by), now)
	}
}
