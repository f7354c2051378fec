package frontier

import "github.com/waggle-crawler/waggle/web"

// planSite is what the plan goes by to bound the names of a site: its counts at
// the beginning of the Turn, and what has entered since.
type planSite struct {
	of    *site // nil of a new one
	names int   // that wait for a first visit
	most  int
	fresh int // of names, those that have not failed
	links int // of young hosts
	// rank has the names that may leave for better ones, the worst on top; it is
	// made when it is needed.
	rank heap[*planHost]
}

// mayEnter counts a new link of a host for its site, unless it is bounded and the
// site has its share of names, all of them better, or of links for them.
func (p *plan) mayEnter(ph *planHost, k key, bounded bool) (bool, error) {
	h := ph.h
	if h != nil && h.state.Fetched >= grown {
		return true, nil
	}
	s := p.site(ph)
	name := ph.queued == 0 && (h == nil || h.state.Fetched == 0 && !h.busy())
	if bounded && s.fresh > p.f.crowdLimit && s.links >= p.f.maxPerHost {
		return false, nil
	}
	if bounded && name && s.names >= s.most {
		if ok, err := p.displace(s, k); err != nil || !ok {
			return false, err
		}
	}
	s.links++
	switch {
	case name:
		s.names++
		s.fresh += ph.freshCount()
		if s.rank.less != nil {
			s.add(ph, k)
		}
	case ph.rank > 0 && k.before(ph.best):
		s.move(ph, k)
	}
	return true, nil
}

// moveInRank gives a name its place among those of its site after one of its links went from one place to another.
func (p *plan) moveInRank(ph *planHost, from, to key) error {
	switch {
	case ph.rank == 0:
	case to.before(ph.best):
		ph.site.move(ph, to)
	case from == ph.best: // the best link sank, as Shortest has it
		best, err := p.best(ph, to)
		if err != nil {
			return err
		}
		ph.site.move(ph, best)
	}
	return nil
}

// best returns the best of k and of the links that wait for a host.
func (p *plan) best(ph *planHost, k key) (key, error) {
	if ph.h != nil && ph.h.queued > 0 {
		err := p.f.backend.each(ph.h, func(old key, _ *web.Candidate) error {
			if _, left := ph.gone[old]; !left && old.before(k) {
				k = old
			}
			return nil
		})
		if err != nil {
			return key{}, err
		}
	}
	for i := range p.fresh {
		if e := &p.fresh[i]; e.alive && e.ph == ph && e.key.before(k) {
			k = e.key
		}
	}
	return k, nil
}

// freshCount is what a name adds to planSite.fresh: 0 or 1.
func (ph *planHost) freshCount() int {
	if ph.h != nil && ph.h.state.Failures > 0 {
		return 0
	}
	return 1
}

// displace has the worst name of a site leave for a new one whose link is at k, if
// that is better.
func (p *plan) displace(s *planSite, k key) (bool, error) {
	if s.rank.less == nil {
		if err := p.rankNames(s); err != nil {
			return false, err
		}
	}
	if s.rank.len() == 0 || !k.before(s.rank.top().best) {
		return false, nil
	}
	worst := s.rank.top()
	s.rank.remove(0)
	s.names--
	s.fresh -= worst.freshCount()
	s.links -= worst.queued
	return true, p.empty(worst, func(c *web.Candidate) { p.displaced = append(p.displaced, *c) })
}

// rankNames makes the rank of a site's names.
func (p *plan) rankNames(s *planSite) error {
	s.rank.less = func(a, b *planHost) bool { return b.best.before(a.best) }
	s.rank.moved = func(ph *planHost, i int) { ph.rank = i + 1 }
	var unseen []*host
	if s.of != nil {
		if err := p.f.warmUnseen(s.of); err != nil {
			return err
		}
		unseen = s.of.unseen
	}
	for _, h := range unseen {
		ph := p.host(h.state.Host)
		if h.busy() || ph.queued == 0 {
			continue
		}
		best, err := p.f.backend.peek(h, 0)
		if err != nil {
			return err
		}
		ph.site = s
		s.add(ph, best)
	}
	for i := range p.fresh {
		e := &p.fresh[i]
		switch ph := e.ph; {
		case !e.alive || ph.site != s || ph.h != nil && (ph.h.state.Fetched > 0 || ph.h.busy()):
		case ph.rank == 0:
			s.add(ph, e.key)
		case e.key.before(ph.best):
			s.move(ph, e.key)
		}
	}
	return nil
}

// move changes the best link of a name in the rank.
func (s *planSite) move(ph *planHost, best key) {
	ph.best = best
	s.rank.fix(ph.rank - 1)
}

func (s *planSite) add(ph *planHost, best key) {
	ph.best = best
	s.rank.push(ph)
}

// site returns the plan's view of a host's site.
func (p *plan) site(ph *planHost) *planSite {
	if ph.site != nil {
		return ph.site
	}
	var s *site
	var domain string
	if ph.h != nil {
		s, domain = ph.h.site, ph.h.site.name
	} else {
		domain = ph.name.Domain()
		s, ph.domain = p.f.site(domain), domain
	}
	if ph.site = p.sites[domain]; ph.site == nil {
		ph.site = p.places.add()
		ph.site.most = (&site{}).maxNames(p.f.nameLimit)
		if s != nil {
			*ph.site = planSite{of: s, names: s.names, most: s.maxNames(p.f.nameLimit), fresh: s.fresh, links: s.links}
		}
		p.sites[domain] = ph.site
	}
	return ph.site
}
