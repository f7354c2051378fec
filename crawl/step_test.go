package crawl

import (
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// TestStep replays transcripts of what happens to a crawl and what its step
// makes of that. Commands:
//
//	new [pages=N] [depth=N] [host-pages=N] [delay=D] [reach=R] [failures=N] [nofollow] [give-up=D]
//	start          one seed a line
//	page URL [relevance=R] [fetched=N] [depth=N] [body=B] [retry-after=D] [noindex] [meta-nofollow]
//	               one link a line: ADDRESS [score] [nofollow]
//	pages URL [body=B]   pages with {1..3} or {a..c} in their address; only what is told beside
//	redirect URL to=URL [hops=N] [from=URL] [retry-after=D] [seed]
//	fail URL reason=R [temporary] [retry-after=D] [tries=N] [failures=N] [unknown | outage]
//	status URL code=N [retry-after=D] [tries=N] [failures=N] [fetched=N] [took=D]
//	priority URL P   what becomes of the priority P of a link
//
// After each URL there may be of its host: [fetched=N] [failures=N] [since=D ago]
// [silent] [down] [slow=N], and [given=D ago] of the lease. The scorer's priority of
// a link is the number that is its anchor.
func TestStep(t *testing.T) {
	datadriven.Walk(t, "testdata/step", func(t *testing.T, path string) {
		var s *Step
		known := map[web.URL]float64{}
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		preview := func(found []web.Candidate) ([]web.Admission, error) {
			out := make([]web.Admission, len(found))
			for i, c := range found {
				p, seen := known[c.URL]
				switch {
				case !seen:
					out[i] = web.Queued
				case c.Priority > p:
					out[i] = web.Raised
				}
			}
			return out, nil
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(key string) string {
				for _, a := range d.CmdArgs {
					if a.Key == key && len(a.Vals) > 0 {
						return strings.Join(a.Vals, ",")
					}
				}
				return ""
			}
			num := func(key string) (n int) {
				if v := arg(key); v != "" {
					if _, err := fmt.Sscan(v, &n); err != nil {
						d.Fatalf(t, "%s: %v", key, err)
					}
				}
				return n
			}
			span := func(key string) time.Duration {
				v, err := time.ParseDuration(arg(key))
				if arg(key) != "" && err != nil {
					d.Fatalf(t, "%s: %v", key, err)
				}
				return v
			}
			address := func(s string) web.URL {
				u, err := web.Parse("http://" + s)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return u
			}
			lease := func() web.Lease {
				u := address(d.CmdArgs[0].Key)
				l := web.Lease{Candidate: web.Candidate{URL: u, Tries: num("tries"), Redirects: num("hops"), Depth: num("depth"), Priority: 0.5}}
				if d.HasArg("seed") {
					l.Kind, l.Priority = web.LinkSeed, SeedPriority
				}
				if f := arg("from"); f != "" {
					l.From = address(f)
				}
				l.Host = web.HostState{
					Host: u.Host(), Fetched: num("fetched"), Failures: num("failures"), Slow: num("slow"),
					Silent: d.HasArg("silent"), Down: d.HasArg("down"),
				}
				if d.HasArg("since") {
					l.Host.Since = now.Add(-span("since"))
				}
				l.Given = now.Add(-span("given"))
				return l
			}
			settle := func(out Outcome, err error) string {
				if err != nil {
					return "error: " + err.Error()
				}
				for _, c := range out.Turn.Add {
					known[c.URL] = c.Priority
				}
				for _, u := range out.Turn.Done {
					known[u] = SeedPriority * 2
				}
				return show(out, now)
			}
			switch d.Cmd {
			case "new":
				s = NewStep(Policy{
					Pages: num("pages"), MaxDepth: num("depth"), MaxHostPages: num("host-pages"), Delay: span("delay"),
					MaxFailures: num("failures"), Scope: Scope{Reach: Reach(arg("reach"))}, HonourNoFollow: d.HasArg("nofollow"), GiveUp: span("give-up"),
				}, anchorScorer{}, nil)
				clear(known)
				return ""
			case "start":
				var seeds []web.URL
				for _, l := range strings.Fields(d.Input) {
					seeds = append(seeds, address(l))
				}
				return settle(s.Start(now, seeds, preview))
			case "page":
				var relevance float64
				if r := arg("relevance"); r != "" {
					fmt.Sscan(r, &relevance)
				}
				l := lease()
				body := l.URL.String()[len("http://"):]
				if b := arg("body"); b != "" {
					body = b
				}
				p := &web.Page{URL: l.URL, Status: 200, Digest: md5.Sum([]byte(body))}
				p.Directives.NoFollow = d.HasArg("meta-nofollow")
				a := Arrival{Lease: l, Response: &web.Response{URL: l.URL, Status: 200, RetryAfter: span("retry-after")}, Page: p,
					Verdict: web.Verdict{Relevance: relevance, Relevant: relevance >= 0.5}}
				if d.HasArg("noindex") {
					p.Directives.NoIndex = true
					a.Reason = web.ReasonNoIndex
				}
				for line := range strings.Lines(d.Input) {
					f := strings.Fields(line)
					k := web.Link{URL: address(f[0]), Kind: web.LinkA, NoFollow: slices.Contains(f, "nofollow")}
					if len(f) > 1 {
						k.Anchor = f[1]
					}
					p.Links = append(p.Links, k)
				}
				a.Features = anchorScorer{}.Extract(p, a.Verdict)
				return settle(s.Arrive(now, a, preview))
			case "pages":
				var out strings.Builder
				for _, name := range spread(d.CmdArgs[0].String()) {
					l := web.Lease{Candidate: web.Candidate{URL: address(name)}, Host: web.HostState{Host: address(name).Host()}}
					body := name
					if b := arg("body"); b != "" {
						body = b
					}
					p := &web.Page{URL: l.URL, Status: 200, Digest: md5.Sum([]byte(body))}
					got, err := s.Arrive(now, Arrival{Lease: l, Response: &web.Response{URL: l.URL, Status: 200}, Page: p}, preview)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					for line := range strings.Lines(show(got, now)) {
						if strings.HasPrefix(line, "  event") {
							out.WriteString(line)
						}
					}
				}
				return out.String()
			case "redirect":
				l := lease()
				r := &web.Response{URL: l.URL, Status: 301, RetryAfter: span("retry-after"), Repeats: d.HasArg("secret")}
				if to := arg("to"); to != "" {
					r.Location = address(to)
				}
				return settle(s.Arrive(now, Arrival{Lease: l, Response: r, Reason: web.ReasonRedirect}, preview))
			case "fail":
				f := &web.Failure{Reason: web.Reason(arg("reason")), Detail: "it did", Temporary: d.HasArg("temporary"), RetryAfter: span("retry-after")}
				a := Arrival{Lease: lease(), Failure: f, Reason: f.Reason, Detail: f.Detail}
				switch {
				case d.HasArg("unknown"):
					a.certainty = networkUnknown
				case d.HasArg("outage"):
					a.certainty = networkFailed
				}
				return settle(s.Arrive(now, a, preview))
			case "status":
				l := lease()
				r := &web.Response{URL: l.URL, Status: num("code"), RetryAfter: span("retry-after"), Took: span("took")}
				return settle(s.Arrive(now, Arrival{Lease: l, Response: r, Reason: web.ReasonStatus}, preview))
			case "priority":
				var p float64
				fmt.Sscan(d.CmdArgs[1].Key, &p)
				return fmt.Sprintln(s.Rerank(&web.Candidate{URL: address(d.CmdArgs[0].Key), Priority: p}))
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// spread writes an address with {1..3} or {a..c} in it once for each.
func spread(s string) (out []string) {
	i := strings.IndexByte(s, '{')
	if i < 0 {
		return []string{s}
	}
	before, rest := s[:i], s[i+1:]
	span, after, _ := strings.Cut(rest, "}")
	from, to, _ := strings.Cut(span, "..")
	var a, b int
	if _, err := fmt.Sscan(from, &a); err == nil {
		fmt.Sscan(to, &b)
		for n := a; n <= b; n++ {
			out = append(out, spread(fmt.Sprintf("%s%d%s", before, n, after))...)
		}
		return out
	}
	for c := from[0]; c <= to[0]; c++ {
		out = append(out, spread(before+string(c)+after)...)
	}
	return out
}

// anchorScorer takes an anchor's text for the priority.
type anchorScorer struct{}

func (anchorScorer) Extract(p *web.Page, _ web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	for i := range p.Links {
		out[i] = []byte(p.Links[i].Anchor)
	}
	return out
}

func (anchorScorer) Visit(*web.Candidate, *web.Page, web.Verdict) []byte { return nil }

func (anchorScorer) Score(c *web.Candidate) (v float64) {
	if _, err := fmt.Sscan(string(c.Features), &v); err != nil {
		return 0
	}
	return v
}

func (anchorScorer) Stale() bool           { return false }
func (anchorScorer) Rescores() bool        { return false }
func (anchorScorer) State() ([]byte, bool) { return nil, false }
func (anchorScorer) Restore([]byte) error  { return nil }

// show writes an outcome as a person would tell it.
func show(out Outcome, now time.Time) string {
	var b strings.Builder
	short := func(u web.URL) string { return strings.TrimPrefix(u.String(), "http://") }
	switch e := out.Event.(type) {
	case event.Fetched:
		fmt.Fprintf(&b, "fetched %s relevant=%v", short(e.URL), e.Relevant)
		if e.Reason != "" {
			fmt.Fprintf(&b, " (%s)", e.Reason)
		}
		b.WriteByte('\n')
		for _, s := range e.Skipped {
			fmt.Fprintf(&b, "  skip %s: %s\n", short(s.URL), s.Reason)
		}
	case event.Seeded:
		for _, s := range e.Skipped {
			fmt.Fprintf(&b, "  skip %s: %s\n", short(s.URL), s.Reason)
		}
	case event.Failed:
		fmt.Fprintf(&b, "failed %s: %s", short(e.URL), e.Reason)
		if e.Detail != "" {
			fmt.Fprintf(&b, " (%s)", e.Detail)
		}
		if e.Outage {
			b.WriteString(" in an outage")
		}
		b.WriteByte('\n')
	case nil:
		b.WriteString("nothing to tell\n")
	}
	for _, c := range out.Turn.Add {
		fmt.Fprintf(&b, "  queue %s %v depth %d\n", short(c.URL), c.Priority, c.Depth)
	}
	for _, u := range out.Turn.Done {
		fmt.Fprintf(&b, "  done %s\n", short(u))
	}
	for _, c := range out.Turn.Retry {
		fmt.Fprintf(&b, "  retry %s after %d tries\n", short(c.URL), c.Tries)
	}
	for _, h := range out.Turn.Hosts {
		due := "at once"
		if !h.Due.IsZero() {
			due = "in " + h.Due.Sub(now).String()
		}
		fmt.Fprintf(&b, "  host %s due %s, fetched %d, failures %d, barren %d", h.Host, due, h.Fetched, h.Failures, h.Barren)
		if h.Slow > 0 {
			fmt.Fprintf(&b, ", slow %d", h.Slow)
		}
		if h.Silent {
			b.WriteString(", silent")
		}
		if h.Down {
			b.WriteString(", down")
		}
		b.WriteByte('\n')
	}
	for _, h := range out.Turn.Drop {
		fmt.Fprintf(&b, "  drop %s\n", h)
	}
	for _, e := range out.Also {
		switch e := e.(type) {
		case event.HostDown:
			if e.Over {
				fmt.Fprintf(&b, "  event: %s answers again\n", e.Host)
			} else {
				fmt.Fprintf(&b, "  event: %s does not answer (%s), failed %d times in %v, next in %v\n", e.Host, e.Reason, e.Failures, now.Sub(e.Since), e.Next.Sub(now))
			}
		case event.Trap:
			fmt.Fprintf(&b, "  event: trap %s, %d copies, such as %s\n", e.Shape, e.Copies, short(e.Like))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(out.Turn.State)) {
		if strings.HasPrefix(k, stateClosed) || strings.HasPrefix(k, stateMoved) {
			fmt.Fprintf(&b, "  state %s %s\n", k, out.Turn.State[k])
		}
	}
	return b.String()
}

// When all that waits is scored anew, for a scorer that always asks for it: at once in a small
// crawl, after a hundredth of the pages so far in a long one, and where more than a hundred thousand
// links wait not before there was a page for each 64 of them.
func TestSweepBegins(t *testing.T) {
	for _, c := range []struct{ pages, waiting, next int }{
		{100, 1000, 100},
		{2400, 10_000, 2400},
		{10_000, 100_000, 10_101},
		{10_000, 128_000, 12_000},
		{10_000, 1_000_000, 25_625},
		{10_000, 3_000_000, 56_875},
		{10_000_000, 100_000_000, 11_562_500},
		{100_000_000, 2_000_000, 101_010_101},
	} {
		s := NewStep(Policy{}, alwaysStale{}, nil)
		s.count.Pages, s.count.SweepBegan = c.pages, c.pages
		for _, at := range []int{c.pages, max(c.pages, c.next-1), c.next} {
			s.count.Pages = at
			if _, due := s.Sweep(func() int { return c.waiting }); due != (at >= c.next) {
				t.Errorf("%+v: begun at page %d: %t", c, at, due)
			}
		}
	}
}

type alwaysStale struct{ anchorScorer }

func (alwaysStale) Stale() bool { return true }
