package frontiertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

// Model is a frontier in the fewest words: every question is answered by
// looking at everything. It is what a Frontier is compared with.
type Model struct {
	max    int
	all    int
	short  bool
	links  map[web.URL]*link
	states map[web.Host]web.HostState
	blobs  map[string]string
	next   int
	now    time.Time
	// How many links a Lease has looked at since the last turn that ended one, and the best of
	// them; and the same of a Lease that was interrupted by the death of the process.
	looked, interrupted   int
	best8, interruptedOne web.URL
}

type link struct {
	web.Candidate
	seq    int
	how    int     // one of the constants below
	stored float64 // priority of a leased link, should the process die
}

const (
	queued = iota
	leased
	done
	dropped
)

// NewModel makes a model of an empty frontier.
func NewModel(opts Options) *Model {
	return &Model{
		max:    cmp.Or(opts.MaxPerHost, 10_000),
		all:    opts.Max,
		short:  opts.Shortest,
		links:  make(map[web.URL]*link),
		states: make(map[web.Host]web.HostState),
		blobs:  make(map[string]string),
	}
}

// Clone is a model that goes its own way from here.
func (m *Model) Clone() *Model {
	c := *m
	c.links = make(map[web.URL]*link)
	for u, l := range m.links {
		own := *l
		c.links[u] = &own
	}
	c.states, c.blobs = maps.Clone(m.states), maps.Clone(m.blobs)
	return &c
}

// Reopen is what becomes of a frontier when its process dies.
func (m *Model) Reopen() {
	m.now = time.Time{}
	m.interrupted, m.interruptedOne = m.looked, m.best8
	for _, l := range m.links {
		if l.how == leased {
			l.how, l.Priority = queued, l.stored
		}
	}
}

// better orders links as they leave.
func better(a, b *link) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.seq, b.seq))
}

// waiting returns the queued links of a host, of all hosts for "", best first.
func (m *Model) waiting(h web.Host) (out []*link) {
	for _, l := range m.links {
		if l.how == queued && (h == "" || l.URL.Host() == h) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, better)
	return out
}

func (m *Model) busy(h web.Host) bool {
	for _, l := range m.links {
		if l.how == leased && l.URL.Host() == h {
			return true
		}
	}
	return false
}

func (m *Model) add(c web.Candidate) (web.Admission, *web.Candidate) {
	l, seen := m.links[c.URL]
	m.next++
	fresh := &link{Candidate: c, seq: m.next}
	switch {
	case seen && (l.how == leased || l.how == done):
		return web.Known, nil
	case seen && l.how == queued && m.short && c.Depth >= l.Depth:
		return web.Known, nil
	case seen && l.how == queued && !m.short && c.Priority <= l.Priority:
		return web.Known, nil
	case seen && l.how == queued:
		m.links[c.URL] = fresh
		return web.Raised, nil
	}
	var out *web.Candidate
	if all := m.waiting(c.URL.Host()); len(all) >= m.max {
		worst := all[len(all)-1]
		if better(worst, fresh) < 0 {
			return web.Refused, nil
		}
		worst.how = dropped
		out = &web.Candidate{}
		*out = worst.Candidate
	}
	m.links[c.URL] = fresh
	return web.Queued, out
}

// Preview is Frontier.Preview.
func (m *Model) Preview(forget []web.URL, found []web.Candidate) []web.Admission {
	return m.Clone().Commit(web.Turn{Forget: forget, Add: found}).Added
}

// Commit is Frontier.Commit.
func (m *Model) Commit(t web.Turn) (r web.Receipt) {
	if len(t.Done)+len(t.Retry) > 0 {
		m.looked, m.interrupted = 0, 0
	}
	for _, u := range t.Forget {
		if l, ok := m.links[u]; ok && l.how == done {
			l.how = dropped
		}
	}
	r.Added = make([]web.Admission, len(t.Add))
	for i, c := range t.Add {
		var out *web.Candidate
		if r.Added[i], out = m.add(c); out != nil {
			r.Dropped = append(r.Dropped, *out)
		}
	}
	for _, u := range t.Done {
		m.links[u] = &link{Candidate: web.Candidate{URL: u}, how: done}
	}
	for _, c := range t.Retry {
		if l, ok := m.links[c.URL]; ok && l.how == leased {
			l.how = dropped
		}
		a, out := m.add(c)
		if out != nil {
			r.Dropped = append(r.Dropped, *out)
		}
		if a == web.Refused {
			r.Dropped = append(r.Dropped, c)
		}
	}
	for _, u := range t.Leave {
		if l, ok := m.links[u]; ok && l.how == queued {
			l.how = dropped
		}
	}
	for _, h := range t.Drop {
		all := m.waiting(h)
		for _, l := range all {
			l.how = dropped
		}
		r.Forgotten = append(r.Forgotten, len(all))
	}
	for _, s := range t.Hosts {
		m.states[s.Host] = s
	}
	for name, b := range t.State {
		m.blobs[name] = string(b)
	}
	for all := m.waiting(""); m.all > 0 && len(all) > m.all; all = m.waiting("") {
		worst := slices.MaxFunc(all, better)
		worst.how = dropped
		r.Crowded = append(r.Crowded, worst.Candidate)
	}
	return r
}

// best returns the candidates that may be leased, best first: every one of
// every ready host.
func (m *Model) best() []*link {
	return slices.DeleteFunc(m.waiting(""), func(l *link) bool {
		h := l.URL.Host()
		return m.busy(h) || m.states[h].Due.After(m.now)
	})
}

// floor is the priority of the n-th best of the links that wait for hosts that are not
// down, −Inf where fewer do.
func (m *Model) floor(n int) float64 {
	for _, l := range m.waiting("") {
		if s := m.states[l.URL.Host()]; s.Down && s.Due.After(m.now) && !m.busy(s.Host) {
			n++
		}
	}
	if all := m.waiting(""); n <= len(all) {
		return all[n-1].Priority
	}
	return math.Inf(-1)
}

// Lease is Frontier.Lease.
func (m *Model) Lease(now time.Time, n, among int, rescore func(*web.Candidate) float64) (out []web.Lease) {
	if now.After(m.now) {
		m.now = now
	}
	floor := func() float64 {
		if among == 0 {
			return math.Inf(-1)
		}
		return m.floor(max(among-len(out), 1))
	}
	for len(out) < n {
		all := m.best()
		if len(all) == 0 || all[0].Priority < floor() {
			break
		}
		chosen, stored := all[0], all[0].Priority
		if rescore != nil {
			var looked []*link
			tries := 0
			if m.interrupted > 0 {
				l := m.links[m.interruptedOne]
				if slices.Contains(all, l) {
					tries, looked, stored = m.interrupted, []*link{l}, l.Priority
				}
				m.interrupted = 0
			}
			for ; tries < 8; tries++ {
				l, floor := m.best()[0], floor()
				if l.Priority < floor {
					break
				}
				c := l.Candidate
				was := l.Priority
				l.Priority = rescore(&c)
				if m.best()[0] == l && l.Priority >= floor {
					looked, stored = []*link{l}, was
					break
				}
				looked = append(looked, l)
				best := slices.MinFunc(looked, better)
				stored = best.Priority
				m.looked, m.best8 = tries+1, best.URL
			}
			if len(looked) == 0 || slices.MinFunc(looked, better).Priority < floor() {
				break
			}
			chosen = slices.MinFunc(looked, better)
		}
		if s := m.states[chosen.URL.Host()]; s.Silent && s.Failures%2 == 1 && len(m.waiting(s.Host)) > 1 {
			chosen.Priority = stored
			chosen = m.waiting(s.Host)[1]
			stored = chosen.Priority
		}
		chosen.how, chosen.stored = leased, stored
		h := chosen.URL.Host()
		s := m.states[h]
		s.Host = h
		out = append(out, web.Lease{Candidate: chosen.Candidate, Host: s})
	}
	return out
}

// Waiting are the candidates that wait, best first.
func (m *Model) Waiting() (out []web.Candidate) {
	for _, l := range m.waiting("") {
		out = append(out, l.Candidate)
	}
	return out
}

// State is Frontier.State.
func (m *Model) State(name string) []byte {
	b, ok := m.blobs[name]
	if !ok {
		return nil
	}
	return []byte(b)
}

// StateNames are the names of Frontier.StateNames.
func (m *Model) StateNames(prefix string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m.blobs)) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// Revise is Frontier.Revise.
func (m *Model) Revise(revise func(*web.HostState)) {
	for h, s := range m.states {
		revise(&s)
		m.states[h] = s
	}
}

// Rescore is Frontier.Rescore.
func (m *Model) Rescore(score func(*web.Candidate) float64) {
	for _, l := range m.waiting("") {
		c := l.Candidate
		l.Priority = score(&c)
	}
}

// NextDue is Frontier.NextDue.
func (m *Model) NextDue() (at time.Time, ok bool) {
	for _, l := range m.waiting("") {
		h := l.URL.Host()
		if due := m.states[h].Due; !m.busy(h) && due.After(m.now) && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok
}

// Stats is Frontier.Stats.
func (m *Model) Stats(now time.Time) (s web.FrontierStats) {
	if now.After(m.now) {
		m.now = now
	}
	hosts := make(map[web.Host]bool)
	for _, l := range m.links {
		s.Seen++
		h := l.URL.Host()
		switch {
		case l.how == leased:
			s.Leased++
			hosts[h] = true
		case l.how == queued:
			s.Queued++
			if !hosts[h] && !m.busy(h) {
				if m.states[h].Due.After(m.now) {
					s.Waiting++
					if m.states[h].Down {
						s.Down++
						s.Held += len(m.waiting(h))
					}
				} else {
					s.Ready++
				}
			}
			hosts[h] = true
		}
	}
	s.Hosts = len(hosts)
	return s
}

// againstModel makes random calls of a frontier and of the model and compares
// all they return.
func againstModel(t *testing.T, m Maker) {
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			MaxPerHost: rapid.SampledFrom([]int{1, 2, 3, 40}).Draw(t, "max"),
			Max:        rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "all"),
			Shortest:   rapid.IntRange(0, 3).Draw(t, "shortest") == 0,
		}
		f, err := m.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		model := NewModel(opts)
		d := &Driver{
			Draw:  func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) },
			Now:   Start,
			Later: rapid.Bool().Draw(t, "later"),
		}
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			if m.Reopen != nil && d.Draw(25, "reopen") == 0 {
				if f, err = m.Reopen(f, opts); err != nil {
					t.Fatalf("reopen: %v", err)
				}
				model.Reopen()
			}
			if err := d.Step(f, model); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Same compares what can be asked without changing anything.
func Same(f Frontier, m *Model, now time.Time) error {
	if err := differ("Stats", f.Stats(now), m.Stats(now), nil); err != nil {
		return err
	}
	at, ok := f.NextDue()
	wantAt, wantOK := m.NextDue()
	return differ("NextDue", fmt.Sprint(at.UTC(), ok), fmt.Sprint(wantAt.UTC(), wantOK), nil)
}

// Drain leases everything from both, host by host, and compares: equal
// frontiers drain equally. It ends both.
func Drain(f Frontier, m *Model, now time.Time) error {
	ctx := context.Background()
	now = now.Add(1000 * time.Hour)
	for {
		got, err := f.Lease(ctx, now, Hosts+1, 0, nil)
		want := m.Lease(now, Hosts+1, 0, nil)
		if err := differ("Lease", leases(got), leases(want), err); err != nil {
			return err
		}
		if len(want) == 0 {
			return Same(f, m, now)
		}
		var t web.Turn
		for _, l := range want {
			t.Done = append(t.Done, l.URL)
		}
		if _, err := f.Commit(ctx, t); err != nil {
			return err
		}
		m.Commit(t)
	}
}

func differ(what string, got, want any, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		return fmt.Errorf("%s differs from the model:\n got %s\nwant %s", what, g, w)
	}
	return nil
}

func leases(ls []web.Lease) (out []string) {
	for _, l := range ls {
		h := l.Host
		out = append(out, fmt.Sprintf("%s | %s due %v fetched %d failures %d barren %d slow %d silent %t down %t since %v renders %v",
			whole(l.Candidate), h.Host, h.Due.UTC(), h.Fetched, h.Failures, h.Barren, h.Slow, h.Silent, h.Down, h.Since.UTC(), h.Renders))
	}
	return out
}

func receipt(r web.Receipt) string {
	s := fmt.Sprint(r.Added, r.Forgotten)
	for _, c := range r.Dropped {
		s += " dropped " + whole(c)
	}
	for _, c := range r.Crowded {
		s += " crowded out " + whole(c)
	}
	return s
}

// whole writes all of a candidate.
func whole(c web.Candidate) string {
	return fmt.Sprintf("%s from %s %s depth %d redirects %d tries %d priority %v features %x memory %x",
		c.URL, c.From, c.Kind, c.Depth, c.Redirects, c.Tries, c.Priority, c.Features, c.Memory)
}
