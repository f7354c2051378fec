package crawl

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// rings is a web of n hosts with so many pages each: page i links to i+1, and the
// first one of each host to that of the next.
func rings(n, pages int) func(u web.URL) (pageOf, time.Duration) {
	return func(u web.URL) (pageOf, time.Duration) {
		var h, i int
		fmt.Sscanf(u.String(), "http://h%d.example/%d", &h, &i)
		var p pageOf
		if i < pages {
			p.links = append(p.links, fmt.Sprintf("h%d.example/%d 1", h, i+1))
		}
		if i == 1 {
			p.links = append(p.links, fmt.Sprintf("h%d.example/1 1", (h+1)%n), fmt.Sprintf("h%d.example/1 1", (7*h+3)%n))
		}
		return p, 100 * time.Millisecond
	}
}

// down makes requests fail while isDown says so.
func down(of func(web.URL) (pageOf, time.Duration), reason web.Reason, isDown func(at time.Time, h web.Host) bool) func(time.Time, web.URL) (pageOf, time.Duration) {
	return func(at time.Time, u web.URL) (pageOf, time.Duration) {
		if isDown(at, u.Host()) {
			if reason == web.ReasonTimeout {
				return pageOf{failure: reason}, 10 * time.Second
			}
			return pageOf{failure: reason, forGood: reason == web.ReasonDNS || reason == web.ReasonTLS}, time.Millisecond
		}
		return of(u)
	}
}

// between is true for all hosts from one moment to another after the epoch.
func between(from, to time.Duration) func(time.Time, web.Host) bool {
	return func(at time.Time, _ web.Host) bool { return !at.Before(epoch.Add(from)) && at.Before(epoch.Add(to)) }
}

// whole fails unless every page was fetched, and none twice.
func (v *virtualCrawl) whole(hosts, pages int) {
	v.t.Helper()
	if len(v.asked) != hosts*pages {
		v.t.Errorf("%d pages, want %d", len(v.asked), hosts*pages)
	}
	if twice := v.twice(); len(twice) > 0 {
		v.t.Errorf("fetched more than once: %v", twice)
	}
}

// An outage of all hosts loses nothing, whatever the requests fail of and however
// long it lasts; it is told, and what is left goes on at once when it is over. Its
// time is not the crawl's.
func TestOutage(t *testing.T) {
	reasons := []web.Reason{web.ReasonDNS, web.ReasonConnect, web.ReasonTimeout, web.ReasonReset, web.ReasonTLS, web.ReasonRobotsMissing}
	n := 0
	for _, hosts := range []int{2, 3, 9, 500} {
		for _, lasts := range []time.Duration{5 * time.Minute, 5 * time.Hour} {
			for _, workers := range []int{1, 32} {
				n++
				reason := reasons[n%len(reasons)]
				t.Run(fmt.Sprintf("%d hosts, %v, %s, %d workers", hosts, lasts, reason, workers), func(t *testing.T) {
					const pages = 20
					v := newVirtual(t, "h0.example/1")
					v.workers = workers
					from := 10 * time.Second
					if workers == 1 && hosts == 500 {
						from = 200 * time.Second
					}
					v.answer = down(rings(hosts, pages), reason, between(from, from+lasts))
					took := 30*time.Second + time.Duration(hosts*pages)*150*time.Millisecond
					v.policy.Time = took
					if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
						t.Errorf("ended %s", how)
					}
					v.whole(hosts, pages)
					want := []string{"outage", fmt.Sprintf("outage over after %v", lasts)}
					if diff := cmp.Diff(want, v.told("outage", "host-down", "dropped")); diff != "" {
						t.Errorf("told (-want +got):\n%s", diff)
					}
					if over := v.now.Sub(epoch) - lasts; over > took+2*time.Minute {
						t.Errorf("it took %v beside the outage", over)
					}
				})
			}
		}
	}
}

// While the network is down one request is sent at a time, at longer and longer
// intervals, and no page twice.
func TestOutageIsQuiet(t *testing.T) {
	v := newVirtual(t, "h0.example/1")
	v.workers = 32
	network := down(rings(100, 20), web.ReasonConnect, between(20*time.Second, 20*time.Second+5*time.Hour))
	var at []time.Duration
	v.answer = func(now time.Time, u web.URL) (pageOf, time.Duration) {
		if d := now.Sub(epoch); d > 25*time.Second && d < 5*time.Hour {
			at = append(at, d)
		}
		return network(now, u)
	}
	v.run(100 * time.Hour)
	if len(at) < 295 || len(at) > 310 {
		t.Errorf("%d requests in an outage of five hours, want one a minute", len(at))
	}
	for i := 10; i+1 < len(at); i++ {
		if gap := at[i+1] - at[i]; gap < 59*time.Second {
			t.Errorf("%v between two requests", gap)
		}
	}
}

// A crawl whose first requests all fail waits for the network: its seeds are not
// lost.
func TestOutageFromTheStart(t *testing.T) {
	for _, reason := range []web.Reason{web.ReasonConnect, web.ReasonDNS, web.ReasonTimeout} {
		v := newVirtual(t, "h0.example/1", "h1.example/1", "h2.example/1")
		v.answer = down(rings(3, 10), reason, between(0, 5*time.Hour))
		if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
			t.Errorf("%s: ended %s", reason, how)
		}
		v.whole(3, 10)
		if told := v.told("outage", "host-down", "dropped"); !slices.Equal(told, []string{"outage", "outage over after 5h0m0s"}) {
			t.Errorf("%s: told %v", reason, told)
		}
	}
	// Through a dead proxy one seed is enough.
	v := newVirtual(t, "h0.example/1")
	v.policy.Proxied = true
	v.answer = down(rings(1, 10), web.ReasonConnect, between(0, 10*time.Minute))
	if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	v.whole(1, 10)
	if told := v.told("outage", "host-down", "dropped"); !slices.Equal(told, []string{"outage", "outage over after 10m0s"}) {
		t.Errorf("told %v", told)
	}
}

// A crawl of one host cannot tell the network from the host. It waits a while, and
// ends when the host is down for longer; the next run goes on.
func TestOneHost(t *testing.T) {
	v := newVirtual(t, "h0.example/1")
	v.dir = t.TempDir()
	v.answer = down(rings(1, 30), web.ReasonConnect, between(5*time.Second, 5*time.Second+5*time.Minute))
	if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	v.whole(1, 30)

	v = newVirtual(t, "h0.example/1")
	v.dir = t.TempDir()
	v.answer = down(rings(1, 30), web.ReasonConnect, between(5*time.Second, 5*time.Hour))
	if how := v.run(1000 * time.Hour); how != event.HostsDown || v.now.Sub(epoch) > 15*time.Minute {
		t.Errorf("ended %s after %v", how, v.now.Sub(epoch))
	}
	end := v.events[len(v.events)-1].(event.Ended)
	if end.Frontier.Held != 1 || end.Frontier.Down != 1 || !end.Next.After(v.now) || end.Until.Sub(epoch).Round(time.Hour) != 72*time.Hour {
		t.Errorf("the end tells %+v", end)
	}
	if told := v.told("host-down"); len(told) == 0 || told[0] != "h0.example down, over: false" {
		t.Errorf("told %v", told)
	}
	// Two hours later the host is still down; it is tried once.
	v.now = epoch.Add(2 * time.Hour)
	before := len(v.events)
	if how := v.run(1000 * time.Hour); how != event.HostsDown {
		t.Errorf("ended %s", how)
	}
	tries := 0
	for _, e := range v.events[before:] {
		if _, ok := e.(event.Failed); ok {
			tries++
		}
	}
	if tries != 1 {
		t.Errorf("%d tries in the second run, want 1", tries)
	}
	v.now = epoch.Add(6 * time.Hour)
	if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	v.whole(1, 30)
}

// A seed that refuses stays queued: the next run tries it.
func TestRefusedSeed(t *testing.T) {
	for _, reason := range []web.Reason{web.ReasonConnect, web.ReasonDNS} {
		v := newVirtual(t, "h0.example/1")
		v.dir = t.TempDir()
		v.answer = down(rings(1, 3), reason, between(0, time.Hour))
		if how := v.run(1000 * time.Hour); how != event.HostsDown || v.now.Sub(epoch) > 2*time.Minute {
			t.Errorf("%s: ended %s after %v", reason, how, v.now.Sub(epoch))
		}
		v.now = epoch.Add(2 * time.Hour)
		if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
			t.Errorf("%s: ended %s", reason, how)
		}
		v.whole(1, 3)
	}
}

// Half of all hosts down, in whatever order they are met, is no outage. The other
// half is fetched whole, the links of those that are down wait, and the next run
// goes on with them.
func TestHalfDown(t *testing.T) {
	const hosts, pages = 60, 6
	for name, isDown := range map[string]func(h int) bool{
		"every other": func(h int) bool { return h%2 == 1 },
		"the second":  func(h int) bool { return h >= hosts/2 },
		"the first":   func(h int) bool { return h > 0 && h <= hosts/2 },
	} {
		for _, from := range []time.Duration{0, 4 * time.Second} {
			for _, workers := range []int{1, 16} {
				t.Run(fmt.Sprintf("%s, from %v, %d workers", name, from, workers), func(t *testing.T) {
					v := newVirtual(t, "hub.example/")
					v.dir, v.workers = t.TempDir(), workers
					ring := rings(hosts, pages)
					network := down(ring, web.ReasonConnect, func(at time.Time, h web.Host) bool {
						var n int
						if _, err := fmt.Sscanf(string(h), "h%d.example", &n); err != nil {
							return false
						}
						return isDown(n) && at.Sub(epoch) >= from && at.Sub(epoch) < 48*time.Hour
					})
					v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
						if u.Host() != "hub.example" {
							return network(at, u)
						}
						var p pageOf
						for h := range hosts {
							p.links = append(p.links, fmt.Sprintf("h%d.example/1 1", h))
						}
						return p, 10 * time.Millisecond
					}
					if how := v.run(1000 * time.Hour); how != event.HostsDown {
						t.Errorf("ended %s", how)
					}
					if told := v.told("outage", "dropped"); len(told) > 0 {
						t.Errorf("told %v", told)
					}
					for h := range hosts {
						for p := range pages {
							if a := fmt.Sprintf("h%d.example/%d", h, p+1); !isDown(h) && v.asked[a] != 1 {
								t.Fatalf("%s, of a host that answers, was fetched %d times", a, v.asked[a])
							}
						}
					}
					v.now = epoch.Add(49 * time.Hour)
					if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
						t.Errorf("the second run ended %s", how)
					}
					delete(v.asked, "hub.example/")
					v.whole(hosts, pages)
				})
			}
		}
	}
}

// A host that is down is tried at growing intervals while others are crawled, and
// given up after the time allowed.
func TestGivenUp(t *testing.T) {
	v := newVirtual(t, "h0.example/1", "dead.example/1")
	v.policy.Delay = 20 * time.Minute // so that the crawl lasts
	ring := rings(1, 400)
	var tries []time.Duration
	v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
		if u.Host() == "dead.example" {
			tries = append(tries, at.Sub(epoch).Round(time.Minute))
			return pageOf{failure: web.ReasonConnect}, time.Millisecond
		}
		return ring(u)
	}
	if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	v.whole(1, 400)
	if len(tries) < 12 || len(tries) > 30 || tries[len(tries)-1] < 72*time.Hour || tries[len(tries)-1] > 79*time.Hour {
		t.Errorf("tries at %v", tries)
	}
	if told := v.told("dropped"); !slices.Equal(told, []string{"0 of dead.example dropped: host-dead"}) {
		t.Errorf("told %v", told)
	}
}

// What a crawl is paused for does not count against a host that is down, nor for the budget,
// also where the network goes down before it is paused, or while it is.
func TestPausedFor(t *testing.T) {
	for _, c := range []struct {
		name     string
		hosts    int
		from, to time.Duration // of an outage of all hosts
	}{
		{"no outage", 3, 0, 0},
		{"a failure is set aside meanwhile", 1, 0, 0},
		{"before", 3, 119 * time.Minute, 81 * time.Hour},
		{"while", 3, 2 * time.Hour, 81 * time.Hour},
		{"over meanwhile", 3, 119 * time.Minute, 10 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVirtual(t, "h0.example/1", "dead.example/1")
			v.policy.Delay = 20 * time.Minute // so that the crawl lasts
			v.pause, v.goOn = 2*time.Hour, 80*time.Hour
			outage := between(c.from, c.to)
			v.answer = down(rings(c.hosts, 100), web.ReasonConnect, func(at time.Time, h web.Host) bool {
				return outage(at, h) || h == "dead.example" && at.Before(epoch.Add(90*time.Hour))
			})
			if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
				t.Errorf("ended %s", how)
			}
			if told := v.told("dropped"); told != nil || v.asked["dead.example/1"] != 1 {
				t.Errorf("told %v", told)
			}
			still := v.goOn - 2*time.Hour
			if took := v.now.Sub(epoch) - still; v.spent > took+time.Minute || v.spent < took-2*time.Hour {
				t.Errorf("%v were spent of %v", v.spent, took)
			}
		})
	}
}

// A page that never comes costs its tries and no other page of its host.
func TestStuckPage(t *testing.T) {
	v := newVirtual(t, "h0.example/1")
	ring := rings(1, 20)
	tries := 0
	v.answer = func(at time.Time, u web.URL) (pageOf, time.Duration) {
		if u.Path() == "/stuck" {
			tries++
			return pageOf{failure: web.ReasonTimeout}, 10 * time.Second
		}
		p, took := ring(u)
		if u.Path() == "/1" {
			p.links = append(p.links, "h0.example/stuck 9")
		}
		return p, took
	}
	if how := v.run(1000 * time.Hour); how != event.FrontierEmpty {
		t.Errorf("ended %s", how)
	}
	v.whole(1, 20)
	if tries != 3 {
		t.Errorf("the page that never comes was tried %d times, want 3", tries)
	}
}
