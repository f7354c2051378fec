package frontier

import (
	"bytes"

	"github.com/waggle-crawler/waggle/web"
)

func (d *disk) rescore(h *host, from key, n int, score func(c *web.Candidate, prescored *float64) (float64, error)) (next key, looked int, err error) {
	if d.kept != nil {
		return d.rescoreKept(h, from, n, score)
	}
	w := d.window(h)
	var all []key // as they are in the end, where they are few
	few := from.seq == 0 && h.queued <= headSize
	h.preread = nil
	again := func(was key, value []byte, hash uint64, c *web.Candidate, prescored *float64) error {
		looked++
		var before web.Candidate
		if prescored == nil {
			before = *c
		}
		p, err := score(c, prescored)
		if err != nil {
			return err
		}
		if prescored == nil && revised(&before, c) {
			value = appendCandidate(nil, c)
			d.set(h, was, value)
			d.recent.put(was, value)
			d.rewritten = true
		}
		if is := (key{p, was.seq}); is != was {
			d.recent.move(was, is)
			w.remove(was)
			w.put(is, h.queued-1)
			d.notePlace(record{hash, tag(is), h.id})
			if d.moving == nil {
				d.moving = make([]movedLink, 0, n)
			}
			d.moving = append(d.moving, movedLink{was, value})
			d.movingBytes += 2*candidateKeySize + len(value)
			d.moved++
		}
		if few {
			all = append(all, key{p, was.seq})
		}
		return nil
	}
	defer func() {
		if few && err == nil && next.seq == 0 {
			w.fill(all)
		}
	}()
	ahead := d.ahead
	links, whole, err := ahead.of(h.id, from)
	if err != nil {
		return key{}, 0, d.readError(err)
	}
	// It need not note what changes here: this host is not asked for before it is read again.
	d.ahead = nil
	defer func() { d.ahead = ahead }()
	for i := range links {
		l := &links[i]
		if l.key == h.leasedKey {
			continue
		}
		if looked == n {
			return l.key, looked, nil
		}
		var prescored *float64
		if l.scored {
			prescored = &l.score
		}
		if err := again(l.key, l.value, l.hash, &l.c, prescored); err != nil {
			return key{}, looked, err
		}
		from = key{l.prio, l.seq + 1} // behind it
	}
	if whole {
		return key{}, looked, nil
	}
	next, err = d.from(h, from, func(was key, value []byte) (bool, error) {
		if looked == n {
			return false, nil
		}
		c, err := parseCandidate(value, was)
		if err == nil {
			err = again(was, bytes.Clone(value), hashOf(c.URL), &c, nil)
		}
		return true, err
	})
	return next, looked, err
}

// When rescored writes out. Four bounds both sides: a look for the next link steps over about four
// dead entries for each live one at most, and in a file that is written out a link stands once
// for at least four times that links were moved. With fewer than 8192 moves the dead entries are few in
// any case, and a small crawl that scores anew after each page would write a file every few
// pages.
// docs/results/flagship.md, "What it costs", has processor time and disk of whole crawls before and
// with these two values; it has no others.
const (
	flushPerLink = 4    // moves for each link that waits
	flushAfter   = 8192 // moves at the least
)

// rescored begins to keep the links that wait where they are few. Otherwise it begins to write out what
// the store holds in memory once enough links were moved: that, which is written
// out at 32 MiB otherwise, would hold many dead entries for each live one, every look for the
// next link would step over them, and the log would keep them all.
func (d *disk) rescored(waiting int) error {
	if d.kept != nil {
		d.rescoredKept()
		return nil
	}
	if waiting < d.mostKept>>10 { // links of a kilobyte each fit
		return d.readError(d.keep())
	}
	if d.moved < max(flushAfter, flushPerLink*waiting) {
		return nil
	}
	d.moved = 0
	if err := d.await(0); err != nil {
		return err
	}
	return d.halt.run(func() error {
		_, err := d.db.AsyncFlush()
		return err
	})
}

// notePlace is note of a link that moved: the mark is put when the commit is handed over.
func (d *disk) notePlace(r record) {
	d.placed = append(d.placed, r)
	d.ledger.add(r)
}
