package frontier

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/web"
)

// Rescore sets the priorities of n waiting candidates anew, in the order of
// hosts and best first, and returns where to go on; entry numbers stay. From
// nil it begins, and next is nil when it is through. What the score moves down
// within its host is met again, with the same result. It is never NaN, and
// must not call the frontier. It may also change what else the candidate carries,
// but not its address: that is kept as well. Where the process dies in a call, all
// of its n stay as they were.
func (f *Frontier) Rescore(ctx context.Context, from []byte, n int, score func(*web.Candidate) float64) (next []byte, err error) {
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	var id uint32
	var at key // zero at the beginning of a host
	if from != nil {
		if id, at, err = parseCandidateKey(from); err != nil {
			return nil, fmt.Errorf("the place from which to rescore: %w", err)
		}
	}
	slice := n
	var touched []*host
	var lowest float64 // of the host's new priorities
	checked := func(c *web.Candidate, prescored *float64) (float64, error) {
		was := c.Priority
		var p float64
		if prescored != nil {
			p = *prescored
		} else {
			p = score(c)
		}
		p += 0 // -0 becomes 0
		if math.IsNaN(p) {
			return p, fmt.Errorf("rescoring %s gave NaN: a priority must be a number", c.URL)
		}
		f.spread.add(was, -1)
		f.spread.add(p, 1)
		lowest = min(lowest, p)
		return p, nil
	}
	for n > 0 && id < f.named {
		looked := 0
		if f.hosts[id] == nil && f.cold.host(id).queued == 0 {
			id, at = id+1, key{}
			continue
		}
		h, err := f.at(id)
		if err != nil {
			return nil, f.fail(err)
		}
		if h.queued > 0 {
			lowest = math.Inf(1)
			if at, looked, err = f.backend.rescore(h, at, n, checked); err != nil {
				return nil, f.fail(err)
			}
			touched = append(touched, h)
			f.sunk(h, lowest)
			n -= looked
		}
		if h.queued == 0 || at.seq == 0 {
			id, at = id+1, key{}
		}
	}
	if err := f.backend.commit(change{next: f.next, quick: true, later: true}); err != nil {
		return nil, f.fail(err)
	}
	if err := f.backend.rescored(f.queued); err != nil {
		return nil, f.fail(err)
	}
	for _, h := range touched {
		if err := f.place(h); err != nil {
			return nil, f.fail(err)
		}
	}
	if err := f.cool(); err != nil {
		return nil, f.fail(err)
	}
	if id >= f.named {
		f.backend.startReadAhead(0, key{}, slice+readMore)
		return nil, nil
	}
	f.backend.startReadAhead(id, at, slice+readMore)
	return appendCandidateKey(nil, id, at), nil
}

// Prescore begins to score, on other cores, links that the next Rescore will give new priorities, if
// that is one of n links from where the last one has ended: it takes these in place of its own. The
// caller calls join before that Rescore, and before anything else that the score depends on changes: it
// helps, and returns once all are scored. Score changes nothing, and is called by several goroutines at a
// time.
func (f *Frontier) Prescore(n int, score func(*web.Candidate) float64) (join func()) {
	if f.broken != nil {
		return func() {}
	}
	return f.backend.prescore(n, score)
}

// revised tells whether a candidate carries something else now, its priority
// aside.
func revised(was, is *web.Candidate) bool {
	return was.From != is.From || was.Kind != is.Kind || was.Depth != is.Depth || was.Redirects != is.Redirects || was.Tries != is.Tries ||
		!bytes.Equal(was.Features, is.Features) || !bytes.Equal(was.Memory, is.Memory)
}
