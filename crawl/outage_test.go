package crawl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// TestNetwork replays transcripts of what is heard of a network. A host is a name;
// its links are numbered. Commands:
//
//	new [delay=D] [proxied]
//	tick D                      time passes
//	give HOST…                  links of these hosts are given out
//	answer HOST…                one of their links, or the probe, was answered
//	silence HOST… [failures=N]  brought nothing, and the host had failed N times
//	silence HOST… at-proxy      was not sent: the proxy was not reached
//	busy HOST [retry-after=D]   the gate was closed
//	idle                        nothing else is to be done
//	ask                         what may be given out
//	no link                     the frontier has none to probe with
//
// What an arrival makes known is told as "counts", "counts, the network unknown" or
// "forgiven".
func TestNetwork(t *testing.T) {
	datadriven.Walk(t, "testdata/network", func(t *testing.T, path string) {
		var n *network
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		now := start
		out := map[string]web.Lease{} // given out, by host
		links := 0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			tell := func(ready []Arrival, said []event.Event) {
				for _, e := range said {
					e := e.(event.Outage)
					switch {
					case e.Over:
						fmt.Fprintf(&b, "outage over after %v\n", now.Sub(e.Since))
					case e.Probes == 0 && e.Proxy:
						fmt.Fprintf(&b, "outage of the proxy since %v, %d sites, next probe in %v\n", e.Since.Sub(start), e.Sites, e.Next.Sub(now))
					case e.Probes == 0:
						fmt.Fprintf(&b, "outage since %v, %d sites, next probe in %v\n", e.Since.Sub(start), e.Sites, e.Next.Sub(now))
					default:
						fmt.Fprintf(&b, "probe %d in vain, next in %v\n", e.Probes, e.Next.Sub(now))
					}
				}
				for _, a := range ready {
					what := "arrives"
					if answerOf(&a) == silence {
						what = [...]string{"counts", "counts, the network unknown", "forgiven"}[a.certainty]
					}
					fmt.Fprintf(&b, "%s %s\n", a.Lease.URL.Host(), what)
				}
			}
			give := func(l web.Lease) {
				l.Given = now
				n.given(&l)
				out[string(l.URL.Host())] = l
			}
			link := func(host string) web.Lease {
				links++
				u, err := web.Parse(fmt.Sprintf("http://%s/%d", host, links))
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return web.Lease{Candidate: web.Candidate{URL: u, Kind: web.LinkA}, Host: web.HostState{Host: u.Host()}}
			}
			var hosts []string
			option := map[string]string{}
			for _, a := range d.CmdArgs {
				switch {
				case a.Key == "at-proxy", a.Key == "proxied":
				case len(a.Vals) > 0:
					option[a.Key] = a.Vals[0]
				default:
					hosts = append(hosts, spread(a.Key)...)
				}
			}
			switch d.Cmd {
			case "new":
				delay, _ := time.ParseDuration(option["delay"])
				n = &network{delay: delay, proxied: d.HasArg("proxied")}
				clear(out)
				now, links = start, 0
			case "tick":
				by, err := time.ParseDuration(hosts[0])
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				now = now.Add(by)
			case "give":
				for _, h := range hosts {
					give(link(h))
				}
			case "answer", "silence", "busy":
				for _, h := range hosts {
					l, ok := out[h]
					if !ok {
						fmt.Fprintf(&b, "nothing was asked of %s\n", h)
						continue
					}
					delete(out, h)
					fmt.Sscan(option["failures"], &l.Host.Failures)
					a := Arrival{Lease: l, Response: &web.Response{URL: l.URL, Status: 404}, Reason: web.ReasonStatus}
					if d.Cmd != "answer" {
						a.Failure = &web.Failure{Reason: web.ReasonConnect, Temporary: true, Proxy: d.HasArg("at-proxy")}
						if d.Cmd == "busy" {
							a.Failure.Reason = web.ReasonBusy
							a.Failure.RetryAfter, _ = time.ParseDuration(option["retry-after"])
						}
						a.Response, a.Reason = nil, a.Failure.Reason
					}
					tell(n.resolve(now, a, n.delay))
				}
			case "idle":
				tell(n.idle(now))
			case "no":
				l, ok, said := n.noLink(now)
				if tell(nil, said); ok {
					give(l)
					fmt.Fprintf(&b, "%s again\n", l.URL)
				}
			case "ask":
				what, probe := n.ask(now)
				switch what {
				case giveLinks:
					b.WriteString("links\n")
				case giveLink:
					b.WriteString("a link as a probe\n")
					if len(hosts) > 0 {
						l := link(hosts[0])
						give(n.sent(l))
					}
				case giveProbe:
					fmt.Fprintf(&b, "probe %s\n", probe.URL)
					give(probe)
				default:
					at, ok := n.due()
					fmt.Fprintf(&b, "nothing; a probe is out: %t, next in %v\n", !ok, at.Sub(now))
				}
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return b.String()
		})
	})
}

// A proxy that answers and opens no connection is heard, and what it refuses speaks against the
// host; one that is not reached says nothing.
func TestProxyHeard(t *testing.T) {
	for _, c := range []struct {
		failure          web.Failure
		heard            answerState
		hurts, temporary bool
	}{
		{web.Failure{Reason: web.ReasonProxy}, answered, true, false},
		{web.Failure{Reason: web.ReasonProxy, Temporary: true}, answered, true, true},
		{web.Failure{Reason: web.ReasonConnect, Temporary: true}, silence, true, true},
		{web.Failure{Reason: web.ReasonConnect, Temporary: true, Proxy: true}, silence, true, true},
	} {
		a := Arrival{Failure: &c.failure, Reason: c.failure.Reason}
		hurts, temporary := harm(&a)
		if heard := answerOf(&a); heard != c.heard || hurts != c.hurts || temporary != c.temporary {
			t.Errorf("%+v: heard %v, hurts %v, temporary %v", c.failure, heard, hurts, temporary)
		}
	}
}
