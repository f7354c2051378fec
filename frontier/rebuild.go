package frontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// RebuildReport is what a new frontier took over from the remains of another.
type RebuildReport struct {
	Waiting int // links
	Done    int // addresses
	// Owed is the number of links of which only the ledger tells that they
	// wait: their addresses are not in what can be read.
	Owed int
	// States tells whether everything is there that Turns stored.
	States bool
	// SeenWhole tells whether all of the ledger was read: what it says of an address
	// is what the old frontier knew of it last.
	SeenWhole bool
	// Sound tells that nothing was damaged: the new frontier is the old one.
	Sound bool
	// Lost is the number of the last commits that the store has lost.
	Lost uint64
}

// Rebuild makes a new frontier in the folder dir of what can be read of another,
// and closes it. Everything is read and checked on the way.
//
//	ledger readable   a link waits if the ledger says so; its bytes come from
//	                  wherever they are found
//	queue readable    what the queue holds waits
//	neither           what is found waits, but for what the part of the ledger
//	                  that can be read says is done
//
// An address that is done by the ledger is done. States are taken over from a
// store that holds what some commit left, be it an earlier one than was lost;
// otherwise none are, as what fits together is not known.
func (r *Remains) Rebuild(ctx context.Context, dir string, progress func(done, total int64)) (RebuildReport, error) {
	return r.rebuild(ctx, vfs.Default, dir, progress)
}

func (r *Remains) rebuild(ctx context.Context, fs vfs.FS, dir string, progress func(done, total int64)) (b RebuildReport, err error) {
	if _, err := r.Check(ctx, progress); err != nil {
		return b, err
	}
	f, err := open(fs, dir, Options{MaxPerHost: -1, MaxNames: -1})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if f.Stats(f.now).Seen > 0 || f.named > 0 {
		return b, fmt.Errorf("%s holds a frontier already", dir)
	}
	n := &rebuilder{ctx: ctx, remains: r, f: f, disk: f.backend.(*disk), live: r.db != nil, taken: make(map[uint64]takenWrite)}
	for _, d := range r.damage {
		b.Lost = max(b.Lost, d.Lost)
		if strings.HasPrefix(d.Path, r.queue()) && !d.label {
			n.pieces = true
			n.live = n.live && d == r.past.cut
		}
	}
	b.SeenWhole = r.ledgerWhole
	b.Sound = (r.ledgerWhole || !r.past.written) && len(r.damage) == 0
	if err := n.takeHosts(); err != nil {
		return b, err
	}
	if err := n.takeLinks(); err != nil {
		return b, err
	}
	if err := n.takeMarks(&b); err != nil {
		return b, err
	}
	b.Waiting = f.queued
	if n.live {
		b.States = true
		if err := n.takeStates(); err != nil {
			return b, err
		}
	}
	return b, n.commit()
}

// rebuilder makes a frontier of remains.
type rebuilder struct {
	ctx     context.Context
	remains *Remains
	f       *Frontier
	disk    *disk
	live    bool // the store holds what some commit left
	pieces  bool // there may be more in its files, piece by piece
	changes int  // since the last commit
	// taken are the writes of which links that wait were taken, by the hashes of their addresses.
	taken map[uint64]takenWrite
}

// takenWrite is which write of a link was taken.
type takenWrite struct {
	atPlace bool // its key is the place of the link
	number  uint64
}

// changed commits now and then.
func (n *rebuilder) changed() error {
	if n.changes++; n.changes < 1000 {
		return nil
	}
	return n.commit()
}

func (n *rebuilder) commit() error {
	n.changes = 0
	return errors.Join(n.ctx.Err(), n.disk.commit(change{next: n.f.next}))
}

// takeHosts takes over what is known of hosts, of each what was written last.
func (n *rebuilder) takeHosts() error {
	type version struct {
		state  web.HostState
		number uint64
	}
	last := map[web.Host]version{}
	take := func(w storedWrite) error {
		if len(w.key) != 1+4 || w.key[0] != hostPrefix {
			return nil
		}
		s, err := parseHost(w.value)
		if v, ok := last[s.Host]; err == nil && (!ok || w.number >= v.number) {
			last[s.Host] = version{s, w.number}
		}
		return nil
	}
	if err := n.eachFound(hostPrefix, take); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		h, err := n.f.host(name, "")
		if err != nil {
			return err
		}
		h.state = last[name].state
		n.disk.setHost(h)
		if err := n.changed(); err != nil {
			return err
		}
	}
	return nil
}

// eachFound calls do with what is found under keys of a kind: what the store
// holds, then what else its files do.
func (n *rebuilder) eachFound(prefix byte, do func(storedWrite) error) error {
	if n.live {
		if err := n.eachLive(prefix, do); err != nil {
			return err
		}
	}
	if n.pieces {
		return n.remains.eachWrite(do)
	}
	return nil
}

// eachLive calls do with what the store holds under keys of a kind; links are where they moved to.
func (n *rebuilder) eachLive(prefix byte, do func(storedWrite) error) error {
	var list moves
	if prefix == candidatePrefix {
		var err error
		if list, err = readMoves(n.remains.db); err != nil {
			return err
		}
	}
	it, err := n.remains.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}})
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		at := it.Key()
		if host, k, err := parseCandidateKey(at); prefix == candidatePrefix && err == nil {
			at = appendCandidateKey(nil, host, list.of(k))
		}
		err = do(storedWrite{at, it.Value(), 0})
	}
	return errors.Join(err, it.Close())
}

// takeLinks takes over the links that wait.
func (n *rebuilder) takeLinks() error {
	take := func(w storedWrite) error {
		if len(w.key) != candidateKeySize || w.key[0] != candidatePrefix {
			return nil
		}
		_, k, _ := parseCandidateKey(w.key)
		c, err := parseCandidate(w.value, k)
		if err != nil {
			return nil // it was written so: nobody can read it
		}
		return n.takeLink(&c, k, w.number)
	}
	return n.eachFound(candidatePrefix, take)
}

// takeLink takes over a link, if it waits, with the bytes that belong to its
// place where there are several: those under its key, or else, as a link that moved may be revised
// where the store had it, those that were written last.
func (n *rebuilder) takeLink(c *web.Candidate, k key, number uint64) error {
	hash := hashOf(c.URL)
	old := n.remains.marks.get(hash)
	own, err := n.disk.seen.get(hash)
	if err != nil {
		return err
	}
	place := k
	switch {
	case n.live && !n.pieces && !n.remains.ledgerWhole:
	case old.how == waiting:
		place = old.key
	case old.how == taken || old.how == dropped || n.remains.ledgerWhole:
		return nil
	}
	h, err := n.f.host(c.URL.Host(), "")
	if err != nil {
		return err
	}
	if own.how == waiting {
		switch was := n.taken[hash]; {
		case own.host != h.id:
			return nil // one of another host has its hash
		case k == place && (number >= was.number || !was.atPlace):
		case k != place && !was.atPlace && k.seq == place.seq && number > was.number:
		default:
			return nil
		}
		n.disk.remove(h, own.key)
		h.queued--
		n.f.queued--
	}
	n.taken[hash] = takenWrite{k == place, number}
	n.f.next = max(n.f.next, place.seq+1)
	n.disk.put(h, place, c)
	h.queued++
	n.f.queued++
	n.disk.setMark(c.URL, mark{place, waiting, h.id}, h, own.how == unknown)
	return n.changed()
}

// takeMarks takes over what the ledger says of all other addresses.
func (n *rebuilder) takeMarks(b *RebuildReport) (err error) {
	n.remains.marks.each(func(hash uint64, m mark) {
		own, failed := n.disk.seen.get(hash)
		if err = cmp.Or(err, failed); err != nil || own.how == waiting {
			return
		}
		note := func(hash uint64, how status) {
			n.disk.note(record{hash, mark{how: how}.tag(), noHost}, own.how == unknown)
			err = n.changed()
		}
		switch m.how {
		case waiting:
			b.Owed++
			note(hash, dropped)
		case taken:
			b.Done++
			note(hash, taken)
		case dropped:
			note(hash, dropped)
		}
	})
	return err
}

func (n *rebuilder) takeStates() error {
	return n.eachLive(statePrefix, func(w storedWrite) error {
		n.disk.setState(string(w.key[1:]), w.value)
		return n.changed()
	})
}
