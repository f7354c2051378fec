package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/web"
)

// Team says how several workers do one crawl. The zero Team has messages that take no
// time.
type Team struct {
	// Owner is the worker that fetches from a host, in [0, workers); nil = worker 0.
	Owner func(web.Host) int
	// Delay is how long a message is under way, and Every the least time from one to the
	// next in which a worker tells what waits; both ≥ 0.
	Delay, Every time.Duration
	// OwnPrice leaves each worker to take the best of its own links, whatever waits
	// elsewhere, and OwnLessons to learn from its own pages alone: for comparison.
	OwnPriorities, OwnLessons bool
}

// Traffic counts messages, as one to each receiver, and the bytes that they carry.
type Traffic struct {
	Links     int // messages with links, one to a worker with what a page had for it
	Addresses int // links in them
	LinkBytes int
	Lessons   int // lessons, each of which goes to all others
	// LessonBytes are those of a lesson once, and StandingBytes those of a standing once.
	LessonBytes   int
	Standings     int
	StandingBytes int
}

// Outcome is what became of a crawl by several workers.
type Outcome struct {
	Result           // of all together; Elapsed is that of the last
	Workers []Result // of each
	Traffic
}

// RunTeam simulates a crawl by several workers as Run does one by one: each has a
// crawl of its own, with new stages, and the same seeds and policy. o.Workers is how many
// leases each may have at a time. Each worker ends when it knows that the budget is spent;
// as it is told late, they fetch a few pages more.
//
// That all of them have nothing left to do they know at once; a real crawl has to find it
// out.
func RunTeam(ctx context.Context, workers []*crawl.Crawl, record Record, o Options, how Team) (Outcome, error) {
	if len(workers) == 0 {
		return Outcome{}, errors.New("sim: no workers: give 1 or more")
	}
	if how.Delay < 0 || how.Every < 0 {
		return Outcome{}, fmt.Errorf("sim: messages that take %v, at most every %v: give 0 or more", how.Delay, how.Every)
	}
	o, err := o.complete()
	if err != nil {
		return Outcome{}, err
	}
	w := newWorld(record, o)
	p := &messenger{world: w, Team: how, standings: make([]crawl.Standing, len(workers)), waiting: make(map[float64]int)}
	for i, c := range workers {
		if _, ok := c.Frontier.(crawl.Ranking); !ok {
			return Outcome{}, fmt.Errorf("sim: the frontier (%T) cannot tell what waits in it", c.Frontier)
		}
		own := *c
		r := &peer{messenger: p, number: i}
		own.Peers = r
		r.run = w.add(&own)
		r.run.peer = r
	}
	if err := w.run(ctx); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Traffic: p.traffic}
	for _, r := range w.runs {
		x := r.result
		out.Workers = append(out.Workers, x)
		out.Requests += x.Requests
		out.Pages += x.Pages
		out.Missed += x.Missed
		out.Result.Links += x.Links
		out.Outside += x.Outside
		if x.Elapsed >= out.Elapsed {
			out.Elapsed, out.How = x.Elapsed, x.How
		}
	}
	return out, nil
}

// messenger brings messages from worker to worker.
type messenger struct {
	*world
	Team
	inTransit int              // messages
	standings []crawl.Standing // by worker, as the others know it
	sum       crawl.Standing   // of standings
	waiting   map[float64]int  // links by priority, of standings
	sorted    []web.Rung       // waiting, best first; nil = not made yet
	version   int              // of standings
	traffic   Traffic
}

// peer is what one worker sees of the others.
type peer struct {
	*messenger
	run    *run
	number int
	inbox  crawl.Mail
	own    func() crawl.Standing // since something may have changed; nil = nothing has
	last   crawl.Standing        // that was sent
	next   time.Time             // when the next may be sent
	timed  bool                  // and that is to happen
}

var _ crawl.Peers = (*peer)(nil)

func (p *messenger) owner(h web.Host) int {
	if p.Owner == nil {
		return 0
	}
	return p.Owner(h)
}

func (p *peer) Owns(h web.Host) bool { return p.owner(h) == p.number }

// Send brings links to their owners, and the rest to all others.
func (p *peer) Send(_ context.Context, m crawl.Mail, _ *web.Turn) error {
	to := make([]crawl.Mail, len(p.runs))
	for _, c := range m.Links {
		i := p.owner(c.URL.Host())
		to[i].Links = append(to[i].Links, c)
		p.traffic.Addresses++
		p.traffic.LinkBytes += len(c.URL.String()) + len(c.From.String()) + len(c.Features) + len(c.Memory) + 16
	}
	for _, l := range m.Lessons {
		if p.OwnLessons {
			break
		}
		p.traffic.Lessons++
		p.traffic.LessonBytes += len(l.Data) + 1
	}
	for i := range to {
		if i == p.number {
			continue
		}
		if len(to[i].Links) > 0 {
			p.traffic.Links++
		}
		if to[i].Moved = m.Moved; !p.OwnLessons {
			to[i].Lessons = m.Lessons
		}
		if to[i].Empty() {
			continue
		}
		mail, receiver := to[i], p.runs[i]
		p.inTransit++
		p.at(p.clock.now.Add(p.Delay), func(context.Context) error {
			p.inTransit--
			in := &receiver.peer.inbox
			in.Links = append(in.Links, mail.Links...)
			in.Moved = append(in.Moved, mail.Moved...)
			in.Lessons = append(in.Lessons, mail.Lessons...)
			receiver.woken = true
			return nil
		})
	}
	return nil
}

func (p *peer) Receive(context.Context) (m crawl.Mail, err error) {
	m, p.inbox = p.inbox, crawl.Mail{}
	return m, nil
}

// Arrived is nil: the simulation wakes workers.
func (p *peer) Arrived() <-chan struct{} { return nil }

func (p *peer) Tell(_ time.Time, _ bool, own func() crawl.Standing) { p.own = own }

// sendStanding sends the others the standing of this worker if it has changed, now or as soon
// as Team.Every allows it.
func (p *peer) sendStanding() {
	if p.own == nil {
		return
	}
	if now := p.clock.now; now.Before(p.next) {
		if !p.timed {
			p.timed = true
			p.at(p.next, func(context.Context) error {
				p.timed = false
				p.sendStanding()
				return nil
			})
		}
		return
	}
	s := p.own()
	if p.own = nil; reflect.DeepEqual(s, p.last) {
		return
	}
	p.last, p.next = s, p.clock.now.Add(p.Every)
	if p.OwnPriorities {
		s = crawl.Standing{Pages: s.Pages, InFlight: s.InFlight}
	}
	p.traffic.Standings++
	p.traffic.StandingBytes += 16 + 4*len(s.Waiting)
	p.inTransit++
	p.at(p.clock.now.Add(p.Delay), func(context.Context) error {
		p.inTransit--
		p.setStanding(p.number, s)
		for _, r := range p.runs {
			if r.peer != p && r.inFlight < p.opt.Workers {
				r.woken = true // others look when they are done with what they fetch
			}
		}
		return nil
	})
}

// setStanding takes in the standing of a worker.
func (p *messenger) setStanding(worker int, s crawl.Standing) {
	old := p.standings[worker]
	p.standings[worker] = s
	p.sum.Pages += s.Pages - old.Pages
	p.sum.InFlight += s.InFlight - old.InFlight
	p.sum.Held += s.Held - old.Held
	p.sum.Better += s.Better - old.Better
	for _, r := range old.Waiting {
		if p.waiting[r.Priority] -= r.Links; p.waiting[r.Priority] == 0 {
			delete(p.waiting, r.Priority)
		}
	}
	for _, r := range s.Waiting {
		p.waiting[r.Priority] += r.Links
	}
	p.sorted = nil
	p.version++
}

// Others is the sum of all standings without that of this worker.
func (p *peer) Others() (crawl.Standing, int) {
	if p.sorted == nil {
		keys := slices.SortedFunc(maps.Keys(p.waiting), func(a, b float64) int { return cmp.Compare(b, a) })
		p.sorted = make([]web.Rung, 0, len(keys))
		for _, k := range keys {
			p.sorted = append(p.sorted, web.Rung{Priority: k, Links: p.waiting[k]})
		}
	}
	own := p.standings[p.number]
	s := p.sum
	s.Pages -= own.Pages
	s.InFlight -= own.InFlight
	s.Held -= own.Held
	s.Better -= own.Better
	mine := own.Waiting
	for _, r := range p.sorted {
		if len(mine) > 0 && math.Float64bits(mine[0].Priority) == math.Float64bits(r.Priority) {
			r.Links -= mine[0].Links
			mine = mine[1:]
		}
		if r.Links > 0 {
			s.Waiting = append(s.Waiting, r)
		}
	}
	return s, p.version
}

// Idle tells that no other worker has anything to do, and that nothing is under way.
func (p *peer) Idle() bool {
	if p.inTransit > 0 {
		return false
	}
	for _, r := range p.runs {
		f := r.crawl.Frontier.Stats(p.clock.now)
		// One whose next pages promise too little gives out none of what waits.
		may := f.Queued > f.Held && (r.crawl.Policy.UntilGain == 0 || r.waits || r.woken)
		if r.peer != p && !r.over && (r.inFlight > 0 || may || !r.peer.inbox.Empty()) {
			return false
		}
	}
	return true
}
