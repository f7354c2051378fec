package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// MergeReport is what a frontier took over from those of several workers.
type MergeReport struct {
	Waiting int // links
	Done    int // addresses
}

// Merge makes a new frontier in the folder dir of those of several workers of one
// crawl, and closes it. They must be whole: a damaged one is an error.
//
//	done in one of them       is done
//	waits in some of them     waits, with the highest of its priorities
//	left all that knew it     may come back
//
// Of a host the state counts of whoever fetched most from it, with the latest moment
// at which it may be asked again. states are stored in it.
func Merge(ctx context.Context, dir string, from []*Remains, states map[string][]byte, progress func(done, total int64)) (report MergeReport, err error) {
	for _, r := range from {
		if _, err := r.Check(ctx, progress); err != nil {
			return report, err
		}
		if len(r.damage) > 0 {
			return report, r.damage[0]
		}
		if r.past.written && !r.ledgerWhole {
			return report, fmt.Errorf("the seen-set of the frontier in %s is not whole", r.dir)
		}
	}
	f, err := open(vfs.Default, dir, Options{MaxPerHost: -1, MaxNames: -1})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if f.Stats(f.now).Seen > 0 || f.named > 0 {
		return report, fmt.Errorf("%s holds a frontier already", dir)
	}
	m := &merger{from: from, rebuilder: rebuilder{ctx: ctx, f: f, disk: f.backend.(*disk), live: true}}
	for _, step := range []func() error{m.takeHosts, m.takeLinks, m.takeMarks} {
		if err := step(); err != nil {
			return report, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		m.disk.setState(name, states[name])
	}
	m.report.Waiting = f.queued
	return m.report, m.commit()
}

// merger is a frontier that is made of several.
type merger struct {
	rebuilder
	from   []*Remains
	report MergeReport
}

// each calls do with what the frontiers hold under keys of a kind, one after the other.
func (m *merger) each(prefix byte, do func(storedWrite) error) error {
	for _, r := range m.from {
		if r.db == nil {
			continue // nothing was ever committed
		}
		if m.remains = r; r.past.begun {
			if err := m.eachLive(prefix, do); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *merger) takeHosts() error {
	last := map[web.Host]web.HostState{}
	err := m.each(hostPrefix, func(w storedWrite) error {
		s, err := parseHost(w.value)
		if err != nil {
			return err
		}
		if old, ok := last[s.Host]; ok {
			due := s.Due
			if old.Due.After(due) {
				due = old.Due
			}
			if c := cmp.Compare(old.Fetched, s.Fetched); c > 0 || c == 0 && !s.Due.After(old.Due) {
				s = old
			}
			s.Due = due
		}
		last[s.Host] = s
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		h, err := m.f.host(name, "")
		if err != nil {
			return err
		}
		h.state = last[name]
		m.disk.setHost(h)
		if err := m.changed(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) takeLinks() error {
	return m.each(candidatePrefix, func(w storedWrite) error {
		_, k, err := parseCandidateKey(w.key)
		if err != nil {
			return err
		}
		c, err := parseCandidate(w.value, k)
		if err != nil {
			return err
		}
		return m.takeLink(&c, k)
	})
}

// takeLink takes over a link that waits in the frontier which is read.
func (m *merger) takeLink(c *web.Candidate, k key) error {
	hash := hashOf(c.URL)
	if at := m.remains.marks.get(hash); at.how != waiting || at.key != k {
		return nil
	}
	for _, r := range m.from {
		if r.marks.get(hash).how == taken {
			return nil
		}
	}
	h, err := m.f.host(c.URL.Host(), "")
	if err != nil {
		return err
	}
	own, err := m.disk.seen.get(hash)
	if err != nil {
		return err
	}
	if own.how == waiting {
		if own.key.prio >= k.prio || own.host != h.id { // one of another host has its hash
			return nil
		}
		m.disk.remove(h, own.key)
		h.queued--
		m.f.queued--
	}
	place := key{prio: k.prio, seq: m.f.next}
	m.f.next++
	m.disk.put(h, place, c)
	h.queued++
	m.f.queued++
	m.disk.setMark(c.URL, mark{place, waiting, h.id}, h, own.how == unknown)
	return m.changed()
}

// takeMarks takes over what the frontiers know of all other addresses.
func (m *merger) takeMarks() (err error) {
	for _, r := range m.from {
		r.marks.each(func(hash uint64, at mark) {
			own, failed := m.disk.seen.get(hash)
			if err = cmp.Or(err, failed); err != nil {
				return
			}
			note := func(hash uint64, how status) {
				m.disk.note(record{hash, mark{how: how}.tag(), noHost}, own.how == unknown)
				err = m.changed()
			}
			switch {
			case own.how == waiting || own.how == taken:
			case at.how == taken:
				m.report.Done++
				note(hash, taken)
			case own.how != dropped:
				note(hash, dropped)
			}
		})
	}
	return err
}
