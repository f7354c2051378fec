package crawl

import (
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// network tells a network that is down from hosts that are.
//
// A request without any response (no name, no connection, nothing in time) says
// little by itself, unless a new connection was made for it. It is set aside, its lease unended, until it is known what it
// means:
//
//	                    ┌── a later request was answered ──► it counts
//	failure ──► aside ──┤
//	                    └── the network was down ──► forgiven: the link goes back as it was
//
// The life of the network:
//
//	    doubtSites sites fail and none answers,       doubtProbes without an
//	    or nothing else is left to do                 answer, or nobody to ask
//	up ────────────────────────────────────► doubt ────────────────────► down
//	▲                                          │                           │
//	└──────────────── an answer ───────────────┴───────────────────────────┘
//
// In doubt and while the network is down the crawl gives out no links. It probes,
// with one request at a time: for the robots.txt of hosts that answered before,
// since there may be no page left to ask them for; for links, as long as nobody has
// answered in this run, or where all who did have to be left alone for more than a
// minute. In doubt the probes follow one another, later they come after longer and
// longer waits.
//
// A request that was not sent, as the proxy that all of them go through was not reached
// (Failure.Proxy), leaves no doubt: the network is down at once.
//
// A crawl that has but one host left cannot tell otherwise: the failure then counts against
// a host that does not answer.
//
// The network is a part of the Step: it reads no clock. Nothing of it is stored:
// links that were set aside are in the queue again when the frontier is opened.
type network struct {
	delay     time.Duration // between two requests to a host
	state     networkState
	since     time.Time        // the first failure of what is aside
	aside     []aside          // oldest first
	answering []answeringHost  // hosts that answered, one of each site, the latest last
	underWay  map[web.Host]int // requests under way
	answer    time.Time        // the last answer to a link or probe

	probe  web.Lease     // under way; the zero lease = none
	again  bool          // it is for a link that was set aside
	probes int           // without an answer, in this state
	next   time.Time     // when the next one may be sent
	wait   time.Duration // after one without an answer

	// proxied tells that every request goes through one proxy; atProxy, that the request
	// which began the outage, or the last probe, did not reach it.
	proxied, atProxy bool
}

type networkState uint8

const (
	networkUp networkState = iota
	networkDoubt
	networkDown
)

// aside is a failure that was set aside.
type aside struct {
	Arrival
	at time.Time
}

// answeringHost is a host that answered.
type answeringHost struct {
	host web.Host
	site string
	at   web.URL   // what was asked for last
	due  time.Time // of its next request
}

// robots is the address of its robots.txt. It is made for a probe alone: hosts answer once a page.
func (h *answeringHost) robots() web.URL {
	u, err := (web.Canon{}).Resolve(h.at, "/robots.txt")
	if err != nil {
		panic(err) // an address has an origin
	}
	return u
}

const (
	doubtSites    = 8
	doubtProbes   = 3
	mostAnswering = 16
	probeWait     = time.Second // then doubled
	mostWait      = time.Minute
	// idleFor is for how long nothing else may be due, for what is aside to be
	// judged by itself.
	idleFor = time.Minute
)

// answerState is what an arrival says of the network.
type answerState uint8

const (
	unasked answerState = iota // no request was sent
	answered
	silence
)

// answerOf tells whether anybody answered.
func answerOf(a *Arrival) answerState {
	f := a.Failure
	switch {
	case f == nil:
		return answered
	case shortened(a):
		return unasked // it was not waited for
	}
	switch f.Reason {
	case web.ReasonBusy, web.ReasonAddress, web.ReasonPort, web.ReasonContact:
		return unasked
	case web.ReasonDNS, web.ReasonConnect, web.ReasonTLS, web.ReasonCertificate, web.ReasonTimeout, web.ReasonReset:
		return silence
	case web.ReasonRobots:
		if f.Robots == nil {
			return unasked // the rules were known
		}
	case web.ReasonRobotsMissing:
		// A host whose robots.txt could not be had is not asked again for a while.
		if f.Robots == nil && (a.Lease.Host.Failures == 0 || a.Lease.Host.Silent) {
			return silence
		}
	}
	return answered
}

// certainty is what is known of the network at the time of a failure.
type certainty uint8

const (
	networkWorked  certainty = iota // others answered afterwards
	networkUnknown                  // nobody else was asked
	networkFailed                   // nobody answered
)

// given notes that a request is under way.
func (n *network) given(l *web.Lease) {
	if n.underWay == nil {
		n.underWay = make(map[web.Host]int)
	}
	n.underWay[l.URL.Host()]++
}

// resolve takes in an arrival and returns those of which it is now known what they
// mean, in order: this one, others that were set aside, or none. wait is how long
// its host is to be left alone.
func (n *network) resolve(now time.Time, a Arrival, wait time.Duration) (ready []Arrival, said []event.Event) {
	if h := a.Lease.URL.Host(); n.underWay[h] > 1 {
		n.underWay[h]--
	} else {
		delete(n.underWay, h)
	}
	probe := n.probe.URL == a.Lease.URL
	if probe {
		n.probe = web.Lease{}
	}
	link := a.Lease.Kind != web.LinkProbe // the frontier waits for it
	switch answerOf(&a) {
	case answered:
		n.noteAnswer(now, a.Lease.URL, wait)
		if n.state == networkUp || probe || n.state == networkDoubt && a.Lease.Given.After(n.since) {
			ready, said = n.up(now, a.Lease.Given, probe)
		}
	case silence:
		if n.state == networkUp && a.Failure.Connected {
			break // the network works: it counts
		}
		if link {
			if len(n.aside) == 0 && n.state == networkUp {
				n.since = now
			}
			n.aside = append(n.aside, aside{a, now})
		}
		switch {
		case probe:
			n.atProxy = a.Failure.Proxy
			said = n.probeFailed(now, a.Lease.URL, link, n.delay)
		case a.Failure.Proxy && n.state != networkDown:
			n.atProxy = true
			said = n.down(now)
		case n.state == networkUp && n.evidence() >= doubtSites:
			said = n.doubt(now)
		case n.state == networkDoubt && n.probe.URL.IsZero() && n.nobodyElse():
			said = n.down(now)
		}
		return nil, said
	case unasked:
		if probe {
			said = n.probeFailed(now, a.Lease.URL, link, max(n.delay, min(a.Failure.RetryAfter, mostRetryAfter)))
		}
	}
	if link {
		ready = append(ready, a)
	}
	return ready, said
}

// noteAnswer notes that a host answered.
func (n *network) noteAnswer(now time.Time, u web.URL, wait time.Duration) {
	n.answer = now
	k := answeringHost{host: u.Host(), site: u.Host().Domain(), at: u, due: now.Add(wait)}
	n.answering = slices.DeleteFunc(n.answering, func(o answeringHost) bool { return o.site == k.site })
	if len(n.answering) == mostAnswering {
		n.answering = slices.Delete(n.answering, 0, 1)
	}
	n.answering = append(n.answering, k)
}

// up takes in that a request given at a moment was answered: what had failed before
// counts, or is forgiven where the network was down.
func (n *network) up(now, given time.Time, probe bool) (ready []Arrival, said []event.Event) {
	was := n.state
	left := n.aside[:0:0]
	for _, s := range n.aside {
		switch {
		case was == networkDown:
			s.certainty = networkFailed
		case !probe && s.at.After(given):
			left = append(left, s)
			continue
		}
		ready = append(ready, s.Arrival)
	}
	if was == networkDown {
		said = append(said, event.Outage{At: event.At{At: now}, Since: n.since, Over: true})
	}
	n.state, n.aside = networkUp, left
	if len(left) > 0 {
		n.since = left[0].at
	}
	return ready, said
}

// evidence is the number of sites that failed, those left out that had failed
// before.
func (n *network) evidence() int {
	sites := make(map[string]bool, len(n.aside))
	for _, s := range n.aside {
		if s.Lease.Host.Failures == 0 {
			sites[s.Lease.URL.Host().Domain()] = true
		}
	}
	return len(sites)
}

// doubt begins to ask whether the network is down.
func (n *network) doubt(now time.Time) []event.Event {
	n.state, n.probes, n.next, n.atProxy = networkDoubt, 0, now, false
	if n.nobodyElse() {
		return n.down(now)
	}
	return nil
}

// nobodyElse tells that all sites that answered have failed since: none is left to be asked.
func (n *network) nobodyElse() bool { return len(n.answering) > 0 && len(n.others()) == 0 }

// down begins an outage.
func (n *network) down(now time.Time) []event.Event {
	n.state, n.probes, n.wait = networkDown, 0, probeWait
	n.next = now.Add(n.wait)
	return n.outageEvent(now)
}

// outageEvent tells of an outage that goes on.
func (n *network) outageEvent(now time.Time) []event.Event {
	sites, detail := map[string]bool{}, ""
	for _, s := range n.aside {
		sites[s.Lease.URL.Host().Domain()] = true
		detail = s.Detail
	}
	return []event.Event{event.Outage{At: event.At{At: now}, Since: n.since, Sites: len(sites), Probes: n.probes, Next: n.next, Proxy: n.atProxy, Detail: clip(detail, 200)}}
}

// others are the hosts that answered of whose sites none has failed since, the
// latest first.
func (n *network) others() (out []answeringHost) {
	for _, k := range slices.Backward(n.answering) {
		if !slices.ContainsFunc(n.aside, func(s aside) bool { return s.Lease.URL.Host().Domain() == k.site }) {
			out = append(out, k)
		}
	}
	return out
}

// probeFailed takes in a probe without an answer. wait is how long its host is to be left alone:
// others are asked meanwhile.
func (n *network) probeFailed(now time.Time, u web.URL, link bool, wait time.Duration) []event.Event {
	n.probes++
	for i := range n.answering {
		if n.answering[i].host == u.Host() {
			n.answering[i].due = now.Add(wait)
		}
	}
	if n.state == networkDoubt {
		if n.probes >= doubtProbes || len(n.answering) > 0 && n.probes >= len(n.others()) {
			return n.down(now)
		}
		return nil
	}
	// As long as each probe is for a link of another host, none of them waits
	// for long: half of all hosts may be down.
	if !link || n.again {
		n.wait = min(2*n.wait, mostWait)
	}
	n.next = now.Add(n.wait)
	return n.outageEvent(now)
}

// idle takes in that nothing is under way, and nothing can be given out for
// idleFor: what is aside is judged by itself.
func (n *network) idle(now time.Time) (ready []Arrival, said []event.Event) {
	if n.state != networkUp || len(n.aside) == 0 {
		return nil, nil
	}
	// Through a proxy that never let anything through, it is the proxy.
	if e := n.evidence(); e >= 2 || e == 1 && (len(n.others()) > 0 || n.proxied && len(n.answering) == 0) {
		return nil, n.doubt(now)
	}
	for _, s := range n.aside {
		if since := s.Lease.Host.Since; since.IsZero() || !n.answer.After(since) {
			s.certainty = networkUnknown
		}
		ready = append(ready, s.Arrival)
	}
	n.aside = nil
	return ready, nil
}

// order is what may be given out.
type order uint8

const (
	giveLinks order = iota
	giveNothing
	giveProbe // the one that comes with the order
	giveLink  // one link, as a probe: see sent and noLink
)

// ask says what may be given out now.
func (n *network) ask(now time.Time) (order, web.Lease) {
	switch {
	case n.state == networkUp:
		return giveLinks, web.Lease{}
	case !n.probe.URL.IsZero() || now.Before(n.next):
		return giveNothing, web.Lease{}
	}
	if len(n.answering) == 0 {
		return giveLink, web.Lease{}
	}
	choice := n.answering
	if n.state == networkDoubt {
		choice = n.others()
		slices.Reverse(choice)
	}
	var soonest time.Time
	for i := range choice {
		// From the latest on, each probe another one.
		k := choice[len(choice)-1-(n.probes+i)%len(choice)]
		if n.underWay[k.host] > 0 {
			continue
		}
		if !k.due.After(now) {
			return giveProbe, n.sent(web.Lease{Candidate: web.Candidate{URL: k.robots(), Kind: web.LinkProbe}, Given: now})
		}
		if soonest.IsZero() || k.due.Before(soonest) {
			soonest = k.due
		}
	}
	if soonest.Sub(now) > n.delay+mostWait {
		return giveLink, web.Lease{} // nobody who answered may be asked for long
	}
	if n.next = soonest; soonest.IsZero() {
		n.next = now.Add(probeWait)
	}
	return giveNothing, web.Lease{}
}

// sent notes that a lease is given out as a probe.
func (n *network) sent(l web.Lease) web.Lease {
	n.probe, n.again = l, false
	return l
}

// noLink takes in that the frontier had no link to probe with: one that was set
// aside is sent again.
func (n *network) noLink(now time.Time) (l web.Lease, ok bool, said []event.Event) {
	if n.state == networkDoubt {
		return l, false, n.down(now)
	}
	if len(n.aside) == 0 {
		n.next = now.Add(n.wait)
		return l, false, nil
	}
	l = n.aside[0].Lease
	l.Given = now
	n.aside = slices.Delete(n.aside, 0, 1)
	n.probe, n.again = l, true
	return l, true, nil
}

// due is when ask may say something else without an arrival; ok is false when
// there is no such moment.
func (n *network) due() (at time.Time, ok bool) {
	return n.next, n.state != networkUp && n.probe.URL.IsZero()
}
