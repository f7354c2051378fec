package frontier

import (
	"encoding/binary"
	"fmt"

	"github.com/waggle-crawler/waggle/web"
)

// Late re-scoring looks at rescoreTries candidates for one lease and then gives the best of
// them. What it put back is on disk before the page has come, so a process that dies between the
// two would look at as many more after its restart, and may lease another link than it would
// have:
//
//	turn ─► Lease: looks at 1 … 8 ─► fetch ─► turn
//	                  └┄ killed ┄► Lease: looks at 9 … 16
//
// So each candidate that is put back is stored with the number of those looked at and the
// address of the best of them, until the next turn, and the first Lease after a restart goes on
// from there.

// statePutBack is the name of the state that holds it: number uvarint · address. None of the
// crawl's states has a space in its name.
const statePutBack = "put back"

// putBack stores, with the next commit, that so many were looked at, and the best of them.
func (d *disk) putBack(tries int, best web.URL) {
	d.setState(statePutBack, append(binary.AppendUvarint(nil, uint64(tries)), best.String()...))
	d.puttingBack = true
}

// forgetPutBack removes that, with the next commit.
func (d *disk) forgetPutBack() {
	if d.puttingBack {
		d.setState(statePutBack, nil)
		d.puttingBack = false
	}
}

// takeUpPutBack reads what a process left that died after a Lease.
func (d *disk) takeUpPutBack(f *Frontier) error {
	b, err := d.state(statePutBack)
	if err != nil || b == nil {
		return err
	}
	d.puttingBack = true
	tries, n := binary.Uvarint(b)
	if n <= 0 || tries > rescoreTries {
		return fmt.Errorf("what was put back: %w", errDamaged)
	}
	u, err := web.Parse(string(b[n:]))
	if err != nil {
		return fmt.Errorf("what was put back: %w", errDamaged)
	}
	f.interrupted, f.interruptedBest = int(tries), u
	return nil
}

// resumeLease is how many candidates an interrupted Lease has looked at, and the best of
// them: none where there is none, or where that one does not wait for a ready host any more.
func (f *Frontier) resumeLease() (tries int, looked []putBackLink, err error) {
	if f.interrupted == 0 {
		return 0, nil, nil
	}
	tries, f.interrupted = f.interrupted, 0
	h, err := f.find(f.interruptedBest.Host())
	if err != nil || h == nil || h.queued == 0 {
		return 0, nil, err
	}
	ready := false
	for c := range f.ready {
		ready = ready || h.inHeap == &f.ready[c]
	}
	if !ready {
		return 0, nil, nil
	}
	known, err := f.backend.marks([]web.Candidate{{URL: f.interruptedBest}}, nil)
	if err != nil || known[0].how != waiting {
		return 0, nil, err
	}
	c, err := f.backend.load(h, known[0].key) // it need not be the best of its host: others were not looked at yet
	return tries, []putBackLink{{h, known[0].key, c}}, err
}

func (m *memory) putBack(int, web.URL) {} // it dies with the process
func (m *memory) forgetPutBack()       {}
