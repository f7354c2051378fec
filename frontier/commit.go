package frontier

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// change says how to commit what was done to a backend since the last commit.
type change struct {
	next  uint64 // the number of the next entry
	quick bool   // it need not be handed to the operating system before the next other one
	later bool   // it is written while the caller goes on
	// state is Turn.State, first Turn.First, and safe Turn.Safe.
	state map[string][]byte
	first func() (map[string][]byte, error)
	safe  bool
}

// pendingCommit is a commit that is being written. The caller goes on meanwhile:
//
//	Commit ─► plan ─► batch ─┬─► the caller
//	                         └┄► First ─► the ledger's block ─► the store's log ─► the witness
//	                             └──────────── on a goroutine, one commit after the other ───┘
//
// What the caller asks of the store before that has ended waits for it, but for links of the
// last commits, which are in memory: see recent. The files of the seen-set change while nothing is
// on its way.
type pendingCommit struct {
	change
	before *pendingCommit // that has to end before; nil = none
	batch  *pebble.Batch
	ledger *ledger
	block  []byte // for the ledger; at, its place there
	at     int64
	placed []record      // the marks of links that moved
	moved  []movedLink   // these links in the same order, unless they are kept: the goroutine has the batch say so
	bytes  int           // of batch, block and moved, as they were handed over
	meta   meta          // as it is then
	began  chan struct{} // closed when First has returned, or will not be called
	done   chan struct{} // closed at the end; what follows is read by others after that
	err    error
	stored bool // the store has it
}

// movedLink is a link that was given another key: the one before, and the link as the store has it.
type movedLink struct {
	from  key
	value []byte
}

// Bounds of the commits that are on their way: more pages than come while a slow disk is synced,
// of which each has some tens of kilobytes.
const (
	mostPending      = 64
	mostPendingBytes = 16 << 20 // a larger one is alone
)

// commit ends a change.
func (d *disk) commit(c change) error {
	switch {
	case d.kept == nil:
	case d.kept.total() > d.mostKept:
		d.unkeep()
	case d.listed+len(d.moves)/moveSize >= d.mostMoves:
		d.storeMoves()
	}
	// What load reads of a link that carries something else now would be what it carried before.
	wait := !c.later || d.rewritten
	d.rewritten = false
	err := d.handOver(c)
	if err == nil && wait {
		err = d.await(0)
	}
	return err
}

// handOver begins to write the ledger's block, then the batch with the ledger's length: the turn is
// committed once the batch is in the store's log. Then the witness says so, but for a quick one,
// which is not there yet. With it the files of the seen-set change, where that is due: see
// seen.go.
func (d *disk) handOver(c change) error {
	m := d.planned()
	if c.first == nil && !c.safe && len(c.state) == 0 && d.batch.Empty() && len(d.ledger.block) == 0 && c.next == m.next && d.ledger.size == m.size {
		return d.await(math.MaxInt)
	}
	bytes := d.batch.Len() + len(d.moves) + d.movingBytes
	for name, value := range c.state {
		bytes += len(name) + len(value)
	}
	if err := d.checkSpace(bytes); err != nil {
		return err
	}
	settled := false
	if d.job != nil && d.job.ended() { // asked once: it may end at any moment
		err := d.await(0)
		if err == nil {
			settled, err = d.settle()
		}
		if err != nil {
			return d.fail(err)
		}
		m = d.planned()
	}
	rotates := d.full(&m)
	most := 0
	if !rotates {
		most = d.mostBeside(bytes + len(d.ledger.block))
	}
	if err := d.await(most); err != nil {
		return err
	}
	m = d.planned()
	w := &pendingCommit{change: c, batch: d.batch, placed: d.placed, moved: d.moving, ledger: d.ledger, began: make(chan struct{}), done: make(chan struct{})}
	d.placed, d.moving, d.movingBytes = nil, nil, 0
	w.block, w.at = d.ledger.cut()
	w.bytes = bytes + len(w.block)
	m.size, m.records, m.next = d.ledger.size, d.ledger.records, c.next
	m.turn++
	d.listMoves(m.turn)
	m.moves = d.listed
	if rotates { // the block is of the old ledger
		if err := w.writeBlock(); err != nil {
			return d.fail(err)
		}
		w.block = nil
		d.seen.changes().putAll(w.placed)
		if err := d.rotate(&m); err != nil {
			return d.fail(err)
		}
		w.ledger = d.ledger
	}
	m.runs = m.runs[:0:0]
	for _, r := range d.seen.runs {
		m.runs = append(m.runs, r.runRef)
	}
	if c.safe {
		m.synced = m.size
	}
	w.meta = m
	w.quick = c.quick && !settled && !rotates
	if n := len(d.pending); n > 0 {
		w.before = d.pending[n-1]
	}
	if d.batch = d.spare; d.batch == nil {
		d.batch = d.db.NewBatch()
	}
	d.spare = nil
	d.pending = append(d.pending, w)
	go d.write(w)
	if len(w.placed) > 0 && !rotates {
		d.seen.putBeside(w.placed)
	}
	if settled || rotates {
		if err := d.await(0); err != nil {
			return err
		}
	}
	if settled {
		if err := d.fs.callAhead(); err != nil {
			return d.fail(err)
		}
		if err := d.sync(); err != nil {
			return d.fail(err)
		}
	}
	if !w.quick {
		d.work()
	}
	return nil
}

// mostBeside is how many commits may be on their way beside one of so many bytes.
func (d *disk) mostBeside(bytes int) (n int) {
	for _, w := range slices.Backward(d.pending) {
		if bytes += w.bytes; n == mostPending-1 || bytes > mostPendingBytes {
			break
		}
		n++
	}
	return n
}

// planned is the store's record as the last commit leaves it, whether it is written or not.
func (d *disk) planned() meta {
	if n := len(d.pending); n > 0 {
		return d.pending[n-1].meta
	}
	return d.meta
}

// write writes a commit. The store may end the goroutine, or never return: see halt.
func (d *disk) write(w *pendingCommit) {
	w.err = errHalted
	began := false
	defer func() {
		if !began {
			close(w.began)
		}
		w.before = nil
		close(w.done)
	}()
	if w.before != nil {
		select {
		case <-w.before.done:
			if w.before.err != nil {
				w.err = w.before.err
				return
			}
		case <-d.halt.done:
		}
	}
	if err := d.halt.err(); err != nil {
		w.err = err
		return
	}
	var state map[string][]byte
	if w.first != nil {
		var err error
		if state, err = w.first(); err != nil {
			w.err = &writeError{err, true}
			return
		}
	}
	close(w.began)
	began = true
	w.err = d.store(w, state)
}

// store hands a commit to the operating system, or to the platter where it is to be safe.
func (d *disk) store(w *pendingCommit, state map[string][]byte) error {
	for _, states := range [...]map[string][]byte{w.state, state} {
		for _, name := range sortedNames(states) {
			setState(w.batch, name, states[name])
		}
	}
	for i := range w.moved {
		m, is := &w.moved[i], &w.placed[i]
		deleteLink(w.batch, is.host, m.from)
		setLink(w.batch, is.host, key(is.tag), m.value)
	}
	if err := w.writeBlock(); err != nil {
		return err
	}
	if w.safe {
		if err := d.syncLedger(w.ledger); err != nil {
			return err
		}
		if err := d.fs.syncStale(); err != nil {
			return err
		}
		d.fs.hard.Store(true)
		defer d.fs.hard.Store(false)
	}
	if err := w.batch.Set([]byte{metaPrefix}, w.meta.append(nil), nil); err != nil {
		return err
	}
	how := pebble.Sync // lazyFS makes of it "handed to the operating system"
	if w.quick {
		how = pebble.NoSync
	}
	if err := w.batch.Commit(how); err != nil {
		return fmt.Errorf("writing to %s: %w", d.dir, err)
	}
	w.stored = true
	if w.quick {
		return nil
	}
	synced := d.witness.synced
	if w.safe {
		synced = w.meta.turn
	}
	if err := d.witness.write(witnessRecord{w.meta.turn, synced}); err != nil {
		return err
	}
	if w.safe {
		return d.witness.file.Sync()
	}
	return nil
}

func (w *pendingCommit) writeBlock() error {
	if len(w.block) == 0 {
		return nil
	}
	if _, err := w.ledger.file.WriteAt(w.block, w.at); err != nil {
		return fmt.Errorf("writing %s: %w", w.ledger.name, err)
	}
	return nil
}

// await waits until at most so many commits are on their way. Of one that failed it returns the
// error, once no First is running any more; those behind it are not written. So does every later
// call.
func (d *disk) await(most int) error {
	for d.failed == nil && len(d.pending) > 0 {
		w := d.pending[0]
		select {
		case <-w.done:
		default:
			if len(d.pending) <= most {
				if err := d.halt.err(); err != nil {
					return d.fail(err)
				}
				return nil
			}
			<-w.began
			select {
			case <-w.done:
			case <-d.halt.done:
				return d.fail(d.halt.err())
			}
		}
		if w.stored {
			d.meta = w.meta
		}
		if w.err != nil {
			return d.fail(cmp.Or(d.halt.err(), w.err))
		}
		d.pending = slices.Delete(d.pending, 0, 1)
		if w.block != nil {
			d.ledger.spare = w.block[:0]
		}
		if d.spare == nil && w.batch.Len() <= mostSpare {
			w.batch.Reset()
			d.spare = w.batch
		} else if err := w.batch.Close(); err != nil {
			return d.fail(err)
		}
	}
	return cmp.Or(d.failed, d.halt.err())
}

// mostSpare bounds the batch that is used again, in bytes.
const mostSpare = 1 << 20

// fail makes an error the answer to all that is asked from now on. What is on its way is
// forgotten, and no First is running any more when it returns.
func (d *disk) fail(err error) error {
	for _, w := range d.pending {
		<-w.began
	}
	d.pending = nil
	if d.failed == nil {
		if d.failed = err; !errors.As(err, new(*writeError)) {
			d.failed = &writeError{err, false}
		}
	}
	return d.failed
}

// unwritten counts the turns with a First that are on their way, at most so many. With none
// of them there is no other commit on its way either.
func (d *disk) unwritten(most int) (n int, err error) {
	if most == 0 {
		return 0, d.await(0)
	}
	count := func() {
		n = 0
		for _, w := range d.pending {
			if w.first != nil {
				n++
			}
		}
	}
	if err := d.await(math.MaxInt); err != nil {
		return 0, err
	}
	for count(); n > most; count() {
		if err := d.await(len(d.pending) - 1); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// errHalted is of a commit on whose goroutine the store ended.
var errHalted = errors.New("the store stands still")

// writeError is why a commit was not written: neither is any after it.
type writeError struct {
	error
	first bool // it is of Turn.First
}

func (e *writeError) Unwrap() error { return e.error }
