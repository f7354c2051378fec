package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// How long a fetch may take.
//
// A request that took slowAfter, or brought nothing in that time, was slow; a host
// is slow until one of its requests is not. The frontier bounds how many workers
// are with slow hosts. What a fetch from one may take depends on how long the host
// has been slow and on the rank of the link: one in the upper half of those given
// out lately has the whole time of the fetcher, any other
//
//	Timeout / (1 + requests in a row that were slow),
//
// beside the delay that politeness may ask for. A fetch that takes longer fails
// for the time, as one that the fetcher ends.
//
// The first visit to a host says whether it is slow. Where many are, and come before
// those that are not, first visits with the whole time would keep all workers. So
// when at least half of the last lookVisits first visits were slow, and other hosts
// that are due wait for a worker, a first visit has shortVisit only, beside the
// delay:
//
//	untried ── shortVisit is over ──► slow ── Backoff later, with the whole time ──► as others
//
// One that takes longer is no failure of the host or the link, and says nothing of
// the network.
//
// A host that answers keeps its pace from its first answer on. When it is asked first
// is a matter of its place, since nobody knows beforehand which host answers: of W
// workers, n slow hosts before it take about Timeout + n/W · (shortVisit + Delay), which
// is 100 s for 1,000 hosts and 32 workers.
const (
	slowAfter  = 3 * time.Second
	shortVisit = 2 * time.Second
	lookVisits = 8
	mostSlow   = 3  // slow requests in a row that count
	lookBack   = 64 // latest links among which a link has its rank
)

// ranks tells the rank of a link by the priorities of those given out lately.
type ranks struct {
	last [lookBack]float64
	n    int
}

func (r *ranks) add(p float64) {
	r.last[r.n%lookBack] = p
	r.n++
}

// upper tells whether a priority is in the upper half.
func (r *ranks) upper(p float64) bool {
	some := slices.Clone(r.last[:min(r.n, lookBack)])
	slices.Sort(some)
	return len(some) == 0 || p >= some[len(some)/2]
}

// firstVisits are the latest first visits to hosts: whether each was slow.
type firstVisits struct {
	last [lookVisits]bool
	n    int
}

func (v *firstVisits) add(slow bool) {
	v.last[v.n%lookVisits] = slow
	v.n++
}

// slow tells whether at least half of the last lookVisits were.
func (v *firstVisits) slow() bool {
	n := 0
	for _, slow := range v.last {
		if slow {
			n++
		}
	}
	return n >= lookVisits/2
}

// untried tells that no request to a host has ended yet, but for quick ones that
// brought no page.
func untried(h *web.HostState) bool { return h.Fetched == 0 && h.Failures == 0 && h.Slow == 0 }

// shortened tells whether an arrival is that of a first visit which had shortVisit
// only, and would have needed more.
func shortened(a *Arrival) bool {
	return a.Failure != nil && a.Failure.Err == errLate && untried(&a.Lease.Host)
}

// pace counts the slow requests of a host, by what came of the last one.
func (s *Step) pace(now time.Time, h *web.HostState, a *Arrival) {
	if untried(&a.Lease.Host) && answerOf(a) != unasked {
		defer func() { s.firstVisits.add(h.Slow > 0) }()
	}
	switch {
	case a.Failure != nil && a.Failure.Robots != nil && a.Failure.Robots.Took >= slowAfter:
		h.Slow = min(h.Slow+1, mostSlow)
	case a.Response != nil && a.Response.Took < slowAfter:
		h.Slow = 0
	case a.Response != nil, answerOf(a) == silence && !a.Lease.Given.IsZero() && now.Sub(a.Lease.Given) >= slowAfter:
		h.Slow = min(h.Slow+1, mostSlow)
	}
}

// prepareLease makes a lease ready to be given out at now. others tells that first visits
// have been slow and other hosts wait for a worker.
func (s *Step) prepareLease(now time.Time, l *web.Lease, others bool) {
	l.Given = now
	h := &l.Host
	again := h.Slow == 1 && h.Fetched == 0 && h.Failures == 0 // after a short visit
	switch {
	case untried(h) && others && s.net.state == networkUp:
		l.Patience = shortVisit + s.policy.Delay
	case h.Slow > 0 && !again && !s.ranks.upper(l.Priority):
		l.Patience = s.policy.Timeout/time.Duration(1+min(l.Host.Slow, mostSlow)) + s.policy.Delay
	}
	s.ranks.add(l.Priority)
	s.net.given(l)
}

// errLate is the cause that ends a fetch which took too long.
var errLate = errors.New("the fetch took too long")

// within ends a context after the time that a lease has.
func within(ctx context.Context, c clock.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	limited, cancel := context.WithCancelCause(ctx)
	fire, stop := c.NewTimer(d)
	go func() {
		defer stop()
		select {
		case <-fire:
			cancel(errLate)
		case <-limited.Done():
		}
	}()
	return limited, func() { cancel(nil) }
}

// Late is the failure of a lease that took longer than its Patience.
func Late(l *web.Lease) *web.Failure {
	why := "a link of its rank on a slow host"
	if untried(&l.Host) {
		why = "a first visit while many hosts are slow; it is tried again with the whole time"
	}
	return &web.Failure{
		Reason: web.ReasonTimeout, Temporary: true, Err: errLate,
		Detail: fmt.Sprintf("%.200s: more than %v, the time for %s", l.URL, l.Patience, why),
	}
}
