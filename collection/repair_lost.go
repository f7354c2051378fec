package collection

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// lose notes an address as lost.
func (r *repair) lose(url string) {
	if r.losses.add(url) {
		r.report.Lost = append(r.report.Lost, url)
	}
}

// unacknowledged tells whether the turn was never acknowledged of which the archive holds a piece and the log does
// not tell, as far as that is known: the address is fetched again. Where the archive alone tells of the crawl, it is
// remembered for losePieces.
func (r *repair) unacknowledged(u web.URL) bool {
	standing := r.standing(u)
	if standing == frontier.Unknown && r.alone {
		r.pieces[u] = true
		return true
	}
	return standing == frontier.Waiting || standing == frontier.Unknown && !r.logLost && !r.endUnknown()
}

// losePieces notes as lost the addresses of which the archive alone tells, and that no link of its pages leads to.
func (r *repair) losePieces() error {
	if !r.retrace.Began() {
		return nil // seeds enter, as the crawl begins anew
	}
	byName := func(a, b web.URL) int { return cmp.Compare(a.String(), b.String()) }
	for _, u := range slices.SortedFunc(maps.Keys(r.pieces), byName) {
		if r.front.Standing(u) != frontier.Waiting && !r.tallies[hashOf(u.String())].final {
			r.lose(u.String())
			r.done(u)
		}
	}
	return r.commit()
}

// lack notes as lost what the log tells of and the archive should hold.
func (r *repair) lack(u web.URL) {
	h := hashOf(u.String())
	if t := r.tallies[h]; t.missing() > 0 {
		r.lose(u.String())
	}
}

// triedAgain tells whether a lost address waits, by the log or the old frontier: all that is lost of it is the
// answer to an attempt that another one follows.
func (r *repair) triedAgain(u web.URL) bool {
	t := r.tallies[hashOf(u.String())]
	return !t.final && r.front.Standing(u) == frontier.Waiting && (t.missing() > 0 || r.remains.Standing(u) == frontier.Waiting)
}

// name remembers an address of which a log that lost lines may not tell the
// outcome.
func (r *repair) name(u web.URL) {
	if !u.IsZero() && r.remains.Standing(u) == frontier.Done && !r.tallies[hashOf(u.String())].final {
		r.named[u.String()] = true
	}
}

// nameLost notes as lost the addresses that are done by the frontier, and of which
// no store tells what became of them: pages that asked not to be kept, and
// failures, in lines that were lost. They are found where others speak of them.
func (r *repair) nameLost() error {
	for _, p := range r.headless {
		u, err := web.Parse(p.Target)
		if err != nil || r.tallies[hashOf(p.Target)].final || isRobots(p.Target) || r.unacknowledged(u) {
			continue
		}
		r.lose(p.Target)
		r.done(u)
	}
	if err := r.commit(); err != nil {
		return err
	}
	for _, url := range r.losses.urls {
		if u, err := web.Parse(url); err == nil && !r.triedAgain(u) {
			r.done(u)
		}
	}
	if err := r.commit(); err != nil {
		return err
	}
	if err := r.eachWaiting(func(c *web.Candidate) { r.name(c.From) }); err != nil {
		return err
	}
	if err := errors.Join(r.readLinks(), r.losePieces()); err != nil {
		return err
	}
	for name := range r.named {
		u, err := web.Parse(name)
		if r.tallies[hashOf(name)].final || err == nil && r.front.Standing(u) == frontier.Waiting {
			delete(r.named, name)
		}
	}
	if len(r.named) == 0 {
		return nil
	}
	// What was refused for its address is done as well, and was never fetched; and
	// so are links of a trap.
	for e, err := range r.entries() {
		if err != nil {
			return err
		}
		for _, l := range linksOf(e.Event) {
			if l.Reason != "" {
				delete(r.named, l.To.String())
			}
		}
		if d, ok := e.Event.(event.Dropped); ok {
			for _, u := range d.URLs {
				delete(r.named, u.String())
			}
		}
	}
	for _, u := range slices.Sorted(maps.Keys(r.named)) {
		r.lose(u)
	}
	return nil
}
