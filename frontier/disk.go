package frontier

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waggle-crawler/waggle/web"
)

// disk is a backend of files: the store has the queues, ledgers and runs the
// seen-set, and the witness says how far these had come. A candidate that is
// leased stays in the store until its lease ends: leasing writes nothing.
type disk struct {
	dir        string
	fs         *lazyFS
	halt       *halt
	lock       *pebble.Lock
	db         *pebble.DB
	ledger     *ledger // the newest; ledgers guards the pointer against who syncs it
	ledgers    sync.Mutex
	witness    *witness
	meta       meta // as committed
	seen       *seenSet
	cold       *cold // of the frontier, whose memory goes with the files
	tableLimit int   // recentMost, less in tests
	job        *job  // nil = none
	opened     bool  // files that no commit speaks of are removed: others may be written in the background
	// What the store speaks of no more.
	obsolete []string // files
	unused   []*run
	batch    *pebble.Batch
	spare    *pebble.Batch    // an empty one; nil = none
	pending  []*pendingCommit // commits on their way, the oldest first
	failed   error            // why no commit is written any more; nil = they are
	// rewritten tells that a link carries something else at its old key, and that no commit has
	// followed.
	rewritten bool
	recent    recentLinks
	buf       []byte
	// unchecked is how many bytes may be committed before the free space is
	// looked at.
	unchecked   int64
	unwitnessed error      // see Frontier.Unwitnessed
	moved       int        // links that were given another key since rescored last wrote out
	puttingBack bool       // there is a statePutBack
	kept        *keptLinks // nil = no links are
	mostKept    int        // in bytes; 0 = none are
	mostMoves   int        // in the list
	moves       []byte     // of the next commit, for the list of moves
	listed      int        // moves in the list
	// Links that were given another key and are in no commit yet: their marks, how the store is to be told unless
	// they are kept, and how many bytes that is.
	placed      []record
	moving      []movedLink // of placed, in its order; none while links are kept
	movingBytes int
	hashes      []uint64 // of several marks, used again
	ahead       *readAhead
	stopping    atomic.Bool // a run that is being written is given up
	fullAt      int64       // records of the ledger when the disk was too full for a run; 0 = it was not
	condensed   string      // the ledger that condense made a run of; close removes it
}

// reserve is the free space below which a commit refuses, in bytes: it leaves
// the store room to write out what it holds in memory, which cannot fail
// without ending the crawl.
const reserve = 192 << 20

// checkEvery is after how many bytes of commits the free space is looked at.
const checkEvery = 16 << 20

func (d *disk) path(name string) string { return d.fs.PathJoin(d.dir, name) }

func (d *disk) queue() string { return d.path("queue") }

func (d *disk) ledgerName(n uint64) string { return d.path(ledgerRef{number: n}.file()) }

func (d *disk) mark(u web.URL) (mark, error) {
	m, err := d.seen.get(hashOf(u))
	if err != nil {
		err = d.readError(err)
	}
	return m, err
}

func (d *disk) marks(of []web.Candidate, to []mark) ([]mark, error) {
	d.hashes = d.hashes[:0]
	for i := range of {
		d.hashes = append(d.hashes, hashOf(of[i].URL))
	}
	d.seen.changes().touch(d.hashes)
	for _, h := range d.hashes {
		m, err := d.seen.get(h)
		if err != nil {
			return to, d.readError(err)
		}
		to = append(to, m)
	}
	return to, nil
}

func (d *disk) setMark(u web.URL, m mark, h *host, fresh bool) {
	id := uint32(noHost)
	if h != nil {
		id = h.id
	}
	d.note(record{hashOf(u), m.tag(), id}, fresh)
}

func (d *disk) addresses() int { return d.seen.n }

func (d *disk) window(h *host) *window { return &h.window }

func (d *disk) hostState(id uint32) (s web.HostState, err error) {
	if err := cmp.Or(d.failed, d.halt.err()); err != nil {
		return s, err
	}
	value, closer, err := d.db.Get(appendHostKey(d.buf[:0], id))
	if err != nil {
		return s, d.readError(fmt.Errorf("host %d: %w", id, err))
	}
	s, err = parseHost(value)
	return s, d.readError(errors.Join(err, closer.Close()))
}

func (d *disk) stored() uint64 { return d.meta.turn }

func (d *disk) eachHost(do func(id uint32, s web.HostState) error) error {
	if err := d.await(0); err != nil {
		return err
	}
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{hostPrefix}, UpperBound: []byte{hostPrefix + 1}})
	if err != nil {
		return d.readError(err)
	}
	id := uint32(0)
	for it.First(); it.Valid(); it.Next() {
		s, err := parseHost(it.Value())
		if err == nil && !bytes.Equal(it.Key(), appendHostKey(nil, id)) {
			err = fmt.Errorf("host %s stands at %x: %w", s.Host, it.Key(), errDamaged)
		}
		if err == nil {
			err = do(id, s)
		}
		if err != nil {
			return errors.Join(d.readError(err), it.Close())
		}
		id++
	}
	return d.readError(it.Close())
}

func (d *disk) put(h *host, k key, c *web.Candidate) {
	if d.kept != nil {
		d.putKept(h, k, c)
		return
	}
	d.window(h).put(k, h.queued)
	d.buf = appendCandidate(d.buf[:0], c)
	d.recent.put(k, d.buf)
	d.set(h, k, d.buf)
}

func (d *disk) set(h *host, k key, value []byte) {
	if a := h.preread; a != nil && a.key == k {
		h.preread = nil
	}
	d.changed(h, k, value)
	setLink(d.batch, h.id, k, value)
}

func setLink(b *pebble.Batch, host uint32, k key, value []byte) {
	op := b.SetDeferred(candidateKeySize, len(value))
	appendCandidateKey(op.Key[:0], host, k)
	copy(op.Value, value)
	_ = op.Finish() // fails on an indexed batch only
}

func (d *disk) remove(h *host, k key) {
	if d.kept != nil {
		d.removeKept(h, k)
		return
	}
	d.window(h).remove(k)
	d.delete(h, k)
}

func (d *disk) delete(h *host, k key) {
	d.changed(h, k, nil)
	deleteLink(d.batch, h.id, k)
}

func deleteLink(b *pebble.Batch, host uint32, k key) {
	op := b.DeleteDeferred(candidateKeySize)
	appendCandidateKey(op.Key[:0], host, k)
	_ = op.Finish()
}

func (d *disk) take(h *host, k key, u web.URL) {
	w := d.window(h)
	if d.kept != nil {
		d.kept.out[h.id] = item[keptLink]{k, d.kept.at(h.id, k)}
		d.kept.remove(h.id, k)
	} else {
		w.remove(k)
	}
	w.out = hashOf(u)
	d.seen.out[w.out] = struct{}{}
}

func (d *disk) erase(h *host) {
	delete(d.seen.out, d.window(h).out)
	if d.kept != nil {
		d.eraseKept(h)
		return
	}
	d.delete(h, h.leasedKey)
}

func (d *disk) rekey(h *host, from, to key, c *web.Candidate) {
	if d.kept != nil {
		d.rekeyKept(h, from, to, c)
		return
	}
	d.remove(h, from)
	h.queued--
	d.put(h, to, c)
	h.queued++
	d.setMark(c.URL, mark{to, waiting, h.id}, h, false)
}

func (d *disk) setHost(h *host) {
	h.written = d.planned().turn + 1
	d.buf = appendHost(d.buf[:0], h.state)
	op := d.batch.SetDeferred(1+4, len(d.buf))
	appendHostKey(op.Key[:0], h.id)
	copy(op.Value, d.buf)
	_ = op.Finish()
}

func (d *disk) setState(name string, value []byte) { setState(d.batch, name, value) }

func setState(batch *pebble.Batch, name string, value []byte) {
	if len(value) == 0 {
		op := batch.DeleteDeferred(1 + len(name))
		op.Key[0] = statePrefix
		copy(op.Key[1:], name)
		_ = op.Finish()
		return
	}
	op := batch.SetDeferred(1+len(name), len(value))
	op.Key[0] = statePrefix
	copy(op.Key[1:], name)
	copy(op.Value, value)
	_ = op.Finish()
}

func (d *disk) state(name string) ([]byte, error) {
	if err := d.await(0); err != nil {
		return nil, err
	}
	value, closer, err := d.db.Get(append([]byte{statePrefix}, name...))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, d.readError(err)
	}
	return append([]byte{}, value...), closer.Close()
}

func (d *disk) stateNames(prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := d.await(0); err != nil {
			yield("", err)
			return
		}
		from := append([]byte{statePrefix}, prefix...)
		it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: keyAfter(from)})
		if err != nil {
			yield("", d.readError(err))
			return
		}
		for ok := it.First(); ok; ok = it.Next() {
			if !yield(string(it.Key()[1:]), nil) {
				_ = it.Close()
				return
			}
		}
		if err := it.Close(); err != nil {
			yield("", d.readError(err))
		}
	}
}

// keyAfter is the first key that does not begin with a prefix, whose last byte is not 255.
func keyAfter(prefix []byte) []byte {
	after := bytes.Clone(prefix)
	after[len(after)-1]++
	return after
}

// readError is the error to return after reading the store gave err: why no commit is written
// any more, if that is so, or damage.
func (d *disk) readError(err error) error {
	if lasting := cmp.Or(d.failed, d.halt.err()); lasting != nil {
		return lasting
	}
	return damageOf(d.queue(), err)
}

// checkSpace is an error if the disk lacks space for n bytes more. It looks after every
// checkEvery bytes.
func (d *disk) checkSpace(n int) error {
	if d.unchecked -= int64(n); d.unchecked > 0 {
		return nil
	}
	d.unchecked = checkEvery
	need := reserve + int64(n)
	if lacks := d.lacks(need); lacks > 0 {
		return fmt.Errorf("the disk of %s is nearly full, %d MiB are free and %d needed: make room, and start again",
			d.dir, (need-lacks)>>20, need>>20)
	}
	return nil
}

// sync makes all that was committed survive a power failure: the ledger first,
// since the store's log speaks of its length, and the witness last.
func (d *disk) sync() error {
	if err := d.await(0); err != nil {
		return err
	}
	return d.syncCommitted()
}

func (d *disk) syncLedger(l *ledger) error { return d.fs.syncing(l.file.Sync) }

// syncCommitted is sync of what was written, whatever failed after that. Where the ledger is newer
// than that, rotate has synced the one before.
func (d *disk) syncCommitted() error {
	if err := d.syncLedger(d.ledger); err != nil {
		return err
	}
	if err := d.fs.syncStale(); err != nil {
		return err
	}
	d.meta.synced = d.meta.size
	d.fs.hard.Store(true)
	defer d.fs.hard.Store(false)
	err := d.halt.run(func() error {
		return d.db.Set([]byte{metaPrefix}, d.meta.append(nil), pebble.Sync)
	})
	if err != nil {
		return err
	}
	if err := d.witness.write(witnessRecord{d.meta.turn, d.meta.turn}); err != nil {
		return err
	}
	return d.witness.file.Sync()
}

func (d *disk) peek(h *host, i int) (key, error) {
	few := func(have int) error {
		return d.readError(fmt.Errorf("host %s should have %d links waiting and has %d: %w", h.state.Host, h.queued, have, errDamaged))
	}
	if d.kept != nil {
		q, _ := d.kept.find(h.id, key{})
		if i >= len(q) {
			return key{}, few(len(q))
		}
		return q[i].key, nil
	}
	w := d.window(h)
	if i >= len(w.head) {
		if err := d.fill(h, w); err != nil {
			return key{}, err
		}
	}
	if i >= len(w.head) {
		return key{}, few(len(w.head))
	}
	return w.head[i], nil
}

// fill reads the best keys of a host into its window.
func (d *disk) fill(h *host, w *window) (err error) {
	defer func() { err = d.readError(err) }()
	from := w.low
	if n := len(w.head); n > 0 {
		from = w.head[n-1]
	}
	it, err := d.iter(h)
	if err != nil {
		return err
	}
	ok := false
	if from.seq == 0 {
		ok = it.First()
	} else {
		ok = it.SeekGE(appendCandidateKey(d.buf[:0], h.id, from))
	}
	for ; ok && len(w.head) < headSize; ok = it.Next() {
		_, k, err := parseCandidateKey(it.Key())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		n := len(w.head)
		if k == h.leasedKey || n > 0 && !w.head[n-1].before(k) {
			continue
		}
		w.head = append(w.head, k)
		if n == 0 { // it is leased next most likely, and stands here
			c, err := parseCandidate(it.Value(), k)
			if err != nil {
				return errors.Join(err, it.Close())
			}
			h.preread = &prereadCandidate{k, c}
		}
	}
	return it.Close()
}

func (d *disk) iter(h *host) (*pebble.Iterator, error) {
	if err := d.await(0); err != nil {
		return nil, err
	}
	var lower, upper [5]byte
	lower[0], upper[0] = candidatePrefix, candidatePrefix
	binary.BigEndian.PutUint32(lower[1:], h.id)
	binary.BigEndian.PutUint32(upper[1:], h.id+1)
	return d.db.NewIter(&pebble.IterOptions{LowerBound: lower[:], UpperBound: upper[:]})
}

func (d *disk) worst(h *host, bound key) (key, bool, error) {
	if d.kept != nil {
		k, ok := d.kept.worst(h.id, bound)
		return k, ok, nil
	}
	w := d.window(h)
	if n := len(w.head); n > 0 && n == h.queued { // all of them
		if bound.seq != 0 {
			n = search(w.head, bound)
		}
		return w.head[max(n-1, 0)], n > 0, nil
	}
	if w.tail == nil {
		w.tail = &tail{}
	}
	t := w.tail
	i := len(t.keys)
	if bound.seq != 0 {
		i = search(t.keys, bound)
	}
	if i == 0 {
		var err error
		if i, err = d.fillTail(h, t, bound); err != nil || i == 0 {
			return key{}, false, err
		}
	}
	return t.keys[i-1], true, nil
}

// fillTail reads keys worse than those in the tail's front, and returns how
// many of the tail's keys are before bound then.
func (d *disk) fillTail(h *host, t *tail, bound key) (_ int, err error) {
	defer func() { err = d.readError(err) }()
	it, err := d.iter(h)
	if err != nil {
		return 0, err
	}
	ok := false
	switch {
	case len(t.keys) > 0:
		ok = it.SeekLT(appendCandidateKey(d.buf[:0], h.id, t.keys[0]))
	case t.high.seq != 0:
		ok = it.SeekLT(appendCandidateKey(d.buf[:0], h.id, key{t.high.prio, t.high.seq + 1}))
	default:
		ok = it.Last()
	}
	var read []key // worst first
	for ; ok && len(read) < tailSize; ok = it.Prev() {
		_, k, err := parseCandidateKey(it.Key())
		if err != nil {
			return 0, errors.Join(err, it.Close())
		}
		if k != h.leasedKey {
			read = append(read, k)
		}
	}
	t.prepend(read)
	n := len(t.keys)
	if bound.seq != 0 {
		n = search(t.keys, bound)
	}
	return n, it.Close()
}

func (d *disk) load(h *host, k key) (web.Candidate, error) {
	if d.kept != nil {
		if l := d.kept.at(h.id, k); l != nil {
			return l.c, nil
		}
		return web.Candidate{}, d.readError(fmt.Errorf("a link of host %s: %w", h.state.Host, errDamaged))
	}
	if a := h.preread; a != nil && a.key == k {
		h.preread = nil
		return a.c, nil
	}
	if c, ok := d.ahead.has(h.id, k); ok {
		return c, nil
	}
	if value := d.recent.get(k); value != nil {
		c, err := parseCandidate(value, k)
		return c, d.readError(err)
	}
	d.buf = appendCandidateKey(d.buf[:0], h.id, k)
	value, closer, err := d.db.Get(d.buf)
	if errors.Is(err, pebble.ErrNotFound) && len(d.pending) > 0 { // it is on its way
		if err := d.await(0); err != nil {
			return web.Candidate{}, err
		}
		value, closer, err = d.db.Get(d.buf)
	}
	if err != nil {
		return web.Candidate{}, d.readError(fmt.Errorf("a link of host %s: %w", h.state.Host, err))
	}
	c, err := parseCandidate(value, k)
	return c, d.readError(errors.Join(err, closer.Close()))
}

func (d *disk) each(h *host, do func(k key, c *web.Candidate) error) error {
	if d.kept != nil {
		q, _ := d.kept.find(h.id, key{})
		for _, at := range q {
			c := at.link.c
			if err := do(at.key, &c); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := d.from(h, key{}, func(k key, value []byte) (bool, error) {
		c, err := parseCandidate(value, k)
		if err == nil {
			err = do(k, &c)
		}
		return true, err
	})
	return err
}

// from calls do with h's waiting candidates from the first that is not before
// k on, of all when k is zero, until do wants no more: it returns the key that
// do did not want.
func (d *disk) from(h *host, k key, do func(k key, value []byte) (more bool, err error)) (_ key, err error) {
	defer func() { err = d.readError(err) }()
	it, err := d.iter(h)
	if err != nil {
		return key{}, err
	}
	ok := false
	if k.seq == 0 {
		ok = it.First()
	} else {
		ok = it.SeekGE(appendCandidateKey(d.buf[:0], h.id, k))
	}
	for ; ok; ok = it.Next() {
		_, k, err := parseCandidateKey(it.Key())
		more := true
		if err == nil && k != h.leasedKey {
			more, err = do(k, it.Value())
		}
		if err != nil {
			return key{}, errors.Join(err, it.Close())
		}
		if !more {
			return k, it.Close()
		}
	}
	return key{}, it.Close()
}
