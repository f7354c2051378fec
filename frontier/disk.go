package frontier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// Open opens the frontier in the folder dir, or makes one there. It holds what
// the last committed Turn left, however the process ended; after a power
// failure it is what some Turn since the last Sync left, and addresses done
// since then may be unknown again.
//
// The folder holds queue (a pebble store: codec.go draws its keys) and
// ledger-N (the seen-set: ledger.go draws it). One process can have it open.
func Open(dir string, opts Options) (*Frontier, error) {
	return open(vfs.Default, dir, opts)
}

func open(fs vfs.FS, dir string, opts Options) (*Frontier, error) {
	d := &disk{dir: dir, fs: newLazyFS(fs), table: newTable()}
	f := newFrontier(opts, d)
	if err := d.open(f, opts); err != nil {
		return nil, fmt.Errorf("opening the frontier in %s: %w", dir, errors.Join(err, d.release()))
	}
	return f, nil
}

// disk is a shelf of two files: the store has the queues, the ledger the
// seen-set. A candidate that is leased stays in the store until its lease ends:
// leasing writes nothing.
type disk struct {
	dir     string
	fs      *lazyFS
	lock    *pebble.Lock
	db      *pebble.DB
	ledger  *ledger
	meta    meta // as committed
	table   *table
	windows []window // by host id
	batch   *pebble.Batch
	fault   atomic.Pointer[error] // of the store's own goroutines
	buf     []byte
	// unchecked is how many bytes may be committed before the free space is
	// looked at.
	unchecked int64
	repaired  bool // see Frontier.Repaired
}

// reserve is the free space below which a commit refuses, in bytes: it leaves
// the store room to write out what it holds in memory, which cannot fail
// without ending the process.
const reserve = 192 << 20

// checkEvery is after how many bytes of commits the free space is looked at.
const checkEvery = 16 << 20

func (d *disk) path(name string) string { return d.fs.PathJoin(d.dir, name) }

func (d *disk) ledgerName(n uint64) string { return d.path(fmt.Sprintf("ledger-%06d", n)) }

func (d *disk) open(f *Frontier, opts Options) (err error) {
	queue := d.path("queue")
	if err := d.makeFolder(queue); err != nil {
		return err
	}
	lock, err := pebble.LockDirectory(queue, d.fs)
	if err != nil {
		return fmt.Errorf("another process uses it: wait until that ends, or take another folder (%w)", err)
	}
	d.lock = lock
	// The store replays its log at once and tries for ever to write it out.
	if err := d.room(0); err != nil {
		return err
	}
	if err := d.openStore(queue); err != nil {
		return err
	}
	value, closer, err := d.db.Get([]byte{metaPrefix})
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		d.meta = meta{ledger: 1, size: ledgerHeader, next: 1}
		if d.ledger, err = createLedger(d.fs, d.ledgerName(1)); err != nil {
			return err
		}
		if err := errors.Join(d.syncFolder(d.dir), d.sync()); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		d.meta, err = parseMeta(value)
		if err = errors.Join(err, closer.Close()); err != nil {
			return err
		}
	}
	f.next = d.meta.next
	if err := d.readHosts(f); err != nil {
		return err
	}
	if d.ledger == nil {
		if err := d.readLedger(f, opts); err != nil {
			return err
		}
	}
	sync := func() error { return d.ledger.file.Sync() }
	d.fs.syncLedger.Store(&sync)
	for _, h := range f.hosts {
		f.queued += h.n
		if err := f.place(h); err != nil {
			return err
		}
	}
	return d.removeOldLedgers()
}

// openStore opens pebble, tuned for a queue: entries are written once, in no
// order, read once, and deleted from the front of their host.
//
// The profile of BenchmarkFrontier10M says where the CPU time of an entry goes:
// a third into flushes and compactions; a quarter into the memtable, whose skip
// list misses the cache at every level (hence the entries of a Turn go in
// sorted); an eighth into planning the Turn. Nine tenths of a Lease is reading
// one index and one data block (hence small blocks, and no seek at all as long
// as the window has keys).
func (d *disk) openStore(queue string) (err error) {
	o := &pebble.Options{
		FS:                          d.fs,
		Lock:                        d.lock,
		Logger:                      logger{d},
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   32 << 20,
		MemTableSize:                64 << 20,
		MemTableStopWritesThreshold: 3,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       64,
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                500,
		BytesPerSync:                1 << 20,
		DisableTableStats:           true,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { d.fault.CompareAndSwap(nil, &err) },
		},
	}
	for i := range o.Levels {
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		o.Levels[i].BlockSize = 8 << 10
	}
	o.TargetFileSizes[0] = 16 << 20
	err = d.guard(func() error {
		d.db, err = pebble.Open(queue, o)
		return err
	})
	if err != nil {
		return err
	}
	d.batch = d.db.NewBatch()
	return nil
}

// logger keeps pebble quiet.
type logger struct{ d *disk }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf is called when the store cannot go on; it must not return. On the
// caller's goroutine, commit catches the panic; on one of the store's own it
// ends the process, which loses no committed turn.
func (l logger) Fatalf(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			panic(storeFailure{err})
		}
	}
	panic(storeFailure{fmt.Errorf(format, args...)})
}

type storeFailure struct{ error }

func (d *disk) readHosts(f *Frontier) error {
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{hostPrefix}, UpperBound: []byte{hostPrefix + 1}})
	if err != nil {
		return err
	}
	for it.First(); it.Valid(); it.Next() {
		s, err := parseHost(it.Value())
		if err == nil && !bytes.Equal(it.Key(), appendHostKey(d.buf[:0], uint32(len(f.hosts)))) {
			err = fmt.Errorf("host %s stands at %x: %w", s.Host, it.Key(), errDamaged)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
		f.addHost(s)
	}
	d.windows = make([]window, len(f.hosts))
	return it.Close()
}

// readLedger makes the seen-set, the counts and the windows from the ledger.
func (d *disk) readLedger(f *Frontier, opts Options) (err error) {
	name := d.ledgerName(d.meta.ledger)
	replay := func(r record) {
		was, is := d.table.get(r.hash), r.mark()
		d.table.set(r.hash, is)
		if int64(r.host) >= int64(len(f.hosts)) {
			return
		}
		h, w := f.hosts[r.host], &d.windows[r.host]
		if was.how == waiting {
			w.remove(was.key)
			h.n--
		}
		if is.how == waiting {
			w.put(is.key, h.n)
			h.n++
		}
	}
	d.ledger, err = openLedger(d.fs, name, d.meta.size, replay)
	switch {
	case err != nil:
		return err
	case d.ledger.size == d.meta.size:
		if d.ledger.records > 2*int64(d.table.n)+1<<20 {
			return d.renewLedger(f, false)
		}
		return nil
	case d.ledger.size >= d.meta.synced || opts.Repair:
		d.repaired = true
		return d.renewLedger(f, true)
	}
	return fmt.Errorf("%w: %s is damaged at byte %d of %d, in a part that was safe on disk: restore the folder; "+
		"a repair keeps all waiting links but forgets which addresses were done after that point",
		ErrDamaged, name, d.ledger.size, d.meta.size)
}

// renewLedger writes a ledger of what holds now and goes over to it. With
// repair, what waits is taken from the store instead of the old ledger, whose
// end is lost.
func (d *disk) renewLedger(f *Frontier, repair bool) error {
	old := d.ledger
	fresh, err := createLedger(d.fs, d.ledgerName(d.meta.ledger+1))
	if err != nil {
		return err
	}
	d.ledger = fresh
	if repair {
		d.table.each(func(hash uint64, m mark) {
			if m.how == waiting {
				d.table.set(hash, mark{how: dropped})
			}
		})
		clear(d.windows)
		for _, h := range f.hosts {
			h.n = 0
		}
	}
	err = nil
	note := func(hash uint64, t tag, host uint32) {
		fresh.add(record{hash, t, host})
		if err == nil && len(fresh.block) > 1<<20 {
			err = fresh.write()
		}
	}
	it, iterErr := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{candidatePrefix}, UpperBound: []byte{candidatePrefix + 1}})
	if iterErr != nil {
		return iterErr
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		id, k, keyErr := parseCandidateKey(it.Key())
		address, addressErr := addressOf(it.Value())
		if keyErr != nil || addressErr != nil || int64(id) >= int64(len(f.hosts)) {
			err = fmt.Errorf("candidate at %x: %w", it.Key(), errDamaged)
			break
		}
		hash := hashBytes(address)
		if repair {
			d.table.set(hash, mark{k, waiting})
			d.windows[id].put(k, f.hosts[id].n)
			f.hosts[id].n++
		}
		note(hash, tag(k), id)
	}
	if err = errors.Join(err, it.Close()); err != nil {
		return err
	}
	d.table.each(func(hash uint64, m mark) {
		if m.how != waiting {
			note(hash, m.tag(), noHost)
		}
	})
	if err = errors.Join(err, fresh.write(), fresh.file.Sync()); err != nil {
		return err
	}
	if err := d.syncFolder(d.dir); err != nil {
		return err
	}
	d.meta.ledger++
	if err := d.commit(f.next, false); err != nil {
		return err
	}
	return errors.Join(d.sync(), old.file.Close())
}

// makeFolder makes a folder that survives a power failure: each new one is
// fsynced in its parent.
func (d *disk) makeFolder(name string) error {
	_, err := d.fs.Stat(name)
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := d.fs.PathDir(name)
	if parent != name {
		if err := d.makeFolder(parent); err != nil {
			return err
		}
	}
	if err := d.fs.MkdirAll(name, 0o777); err != nil {
		return err
	}
	return d.syncFolder(parent)
}

func (d *disk) syncFolder(name string) error {
	dir, err := d.fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// removeOldLedgers removes ledgers that a renewal left behind.
func (d *disk) removeOldLedgers() error {
	names, err := d.fs.List(d.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, "ledger-") && d.path(name) != d.ledger.name {
			if err := d.fs.Remove(d.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (d *disk) mark(u web.URL) mark { return d.table.get(hashOf(u)) }

func (d *disk) setMark(u web.URL, m mark, h *host) {
	id := uint32(noHost)
	if h != nil {
		id = h.id
	}
	hash := hashOf(u)
	d.table.set(hash, m)
	d.ledger.add(record{hash, m.tag(), id})
}

func (d *disk) seen() int { return d.table.n }

func (d *disk) window(h *host) *window {
	for uint32(len(d.windows)) <= h.id {
		d.windows = append(d.windows, window{})
	}
	return &d.windows[h.id]
}

func (d *disk) put(h *host, k key, c *web.Candidate) {
	d.window(h).put(k, h.n)
	d.buf = appendCandidate(d.buf[:0], c)
	d.set(h, k, d.buf)
}

func (d *disk) set(h *host, k key, value []byte) {
	op := d.batch.SetDeferred(candidateKeySize, len(value))
	appendCandidateKey(op.Key[:0], h.id, k)
	copy(op.Value, value)
	_ = op.Finish() // fails on an indexed batch only
}

func (d *disk) remove(h *host, k key) {
	d.window(h).remove(k)
	d.delete(h, k)
}

func (d *disk) delete(h *host, k key) {
	op := d.batch.DeleteDeferred(candidateKeySize)
	appendCandidateKey(op.Key[:0], h.id, k)
	_ = op.Finish()
}

func (d *disk) take(h *host, k key, u web.URL) {
	d.window(h).remove(k)
	d.table.set(hashOf(u), mark{how: taken})
}

func (d *disk) erase(h *host) { d.delete(h, h.out) }

func (d *disk) rekey(h *host, from, to key, c *web.Candidate) {
	d.remove(h, from)
	h.n--
	d.put(h, to, c)
	h.n++
	d.setMark(c.URL, mark{to, waiting}, h)
}

func (d *disk) setHost(h *host) {
	d.buf = appendHost(d.buf[:0], h.state)
	op := d.batch.SetDeferred(1+4, len(d.buf))
	appendHostKey(op.Key[:0], h.id)
	copy(op.Value, d.buf)
	_ = op.Finish()
}

func (d *disk) setState(name string, value []byte) {
	op := d.batch.SetDeferred(1+len(name), len(value))
	op.Key[0] = statePrefix
	copy(op.Key[1:], name)
	copy(op.Value, value)
	_ = op.Finish()
}

func (d *disk) state(name string) ([]byte, error) {
	value, closer, err := d.db.Get(append([]byte{statePrefix}, name...))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, value...), closer.Close()
}

// commit writes the ledger's block, then the batch with the ledger's length:
// the turn is committed once the batch is in the store's log.
func (d *disk) commit(next uint64, quick bool) error {
	if d.batch.Empty() && len(d.ledger.block) == 0 && next == d.meta.next {
		return nil
	}
	if err := d.room(d.batch.Len()); err != nil {
		return err
	}
	if err := d.ledger.write(); err != nil {
		return err
	}
	m := d.meta
	m.size, m.records, m.next = d.ledger.size, d.ledger.records, next
	d.buf = m.append(d.buf[:0])
	if err := d.batch.Set([]byte{metaPrefix}, d.buf, nil); err != nil {
		return err
	}
	how := pebble.Sync // lazyFS makes of it "handed to the operating system"
	if quick {
		how = pebble.NoSync
	}
	if err := d.guard(func() error { return d.batch.Commit(how) }); err != nil {
		return fmt.Errorf("writing to %s: %w", d.dir, err)
	}
	d.meta = m
	d.batch.Reset()
	return nil
}

// guard runs a write to the store, which panics where it cannot go on.
func (d *disk) guard(write func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			failure, ok := p.(storeFailure)
			if !ok {
				panic(p)
			}
			d.fault.CompareAndSwap(nil, &failure.error)
			err = failure.error
		}
	}()
	if fault := d.fault.Load(); fault != nil {
		return *fault
	}
	return write()
}

// room looks now and then whether the disk has room for n bytes more.
func (d *disk) room(n int) error {
	if d.unchecked -= int64(n); d.unchecked > 0 {
		return nil
	}
	d.unchecked = checkEvery
	usage, err := d.fs.GetDiskUsage(d.dir)
	if err != nil {
		return nil // not every file system tells
	}
	if need := reserve + uint64(n); usage.AvailBytes < need {
		return fmt.Errorf("the disk of %s is nearly full, %d MiB are free and %d needed: make room, then resume",
			d.dir, usage.AvailBytes>>20, need>>20)
	}
	return nil
}

// sync makes all that was committed survive a power failure: the ledger first,
// since the store's log speaks of its length.
func (d *disk) sync() error {
	if err := d.ledger.file.Sync(); err != nil {
		return err
	}
	if err := d.fs.syncStale(); err != nil {
		return err
	}
	d.meta.synced = d.ledger.size
	d.fs.hard.Store(true)
	defer d.fs.hard.Store(false)
	return d.guard(func() error {
		return d.db.Set([]byte{metaPrefix}, d.meta.append(nil), pebble.Sync)
	})
}

func (d *disk) peek(h *host, i int) (key, error) {
	w := d.window(h)
	if i >= len(w.head) {
		if err := d.fill(h, w); err != nil {
			return key{}, err
		}
	}
	if i >= len(w.head) {
		return key{}, fmt.Errorf("host %s should have %d links waiting and has %d: %w", h.state.Host, h.n, len(w.head), errDamaged)
	}
	return w.head[i], nil
}

// fill reads the best keys of a host into its window.
func (d *disk) fill(h *host, w *window) error {
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
		if n := len(w.head); k != h.out && (n == 0 || w.head[n-1].before(k)) {
			w.head = append(w.head, k)
		}
	}
	return it.Close()
}

func (d *disk) iter(h *host) (*pebble.Iterator, error) {
	var lower, upper [5]byte
	lower[0], upper[0] = candidatePrefix, candidatePrefix
	binary.BigEndian.PutUint32(lower[1:], h.id)
	binary.BigEndian.PutUint32(upper[1:], h.id+1)
	return d.db.NewIter(&pebble.IterOptions{LowerBound: lower[:], UpperBound: upper[:]})
}

func (d *disk) worst(h *host, bound key) (key, bool, error) {
	w := d.window(h)
	if n := len(w.head); n > 0 && n == h.n { // all of them
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
func (d *disk) fillTail(h *host, t *tail, bound key) (int, error) {
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
		if k != h.out {
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
	d.buf = appendCandidateKey(d.buf[:0], h.id, k)
	value, closer, err := d.db.Get(d.buf)
	if err != nil {
		return web.Candidate{}, fmt.Errorf("a link of host %s: %w", h.state.Host, err)
	}
	c, err := parseCandidate(value, k)
	return c, errors.Join(err, closer.Close())
}

func (d *disk) each(h *host, do func(k key, c *web.Candidate) error) error {
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
func (d *disk) from(h *host, k key, do func(k key, value []byte) (more bool, err error)) (key, error) {
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
		if err == nil && k != h.out {
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

func (d *disk) rescore(h *host, from key, n int, score func(*web.Candidate) (float64, error)) (next key, looked int, err error) {
	w := d.window(h)
	next, err = d.from(h, from, func(was key, value []byte) (bool, error) {
		if looked == n {
			return false, nil
		}
		looked++
		c, err := parseCandidate(value, was)
		if err != nil {
			return false, err
		}
		p, err := score(&c)
		if is := (key{p, was.seq}); err == nil && is != was {
			w.remove(was)
			w.put(is, h.n-1)
			d.delete(h, was)
			d.set(h, is, value)
			d.setMark(c.URL, mark{is, waiting}, h)
		}
		return true, err
	})
	return next, looked, err
}

func (d *disk) close() error { return errors.Join(d.sync(), d.release()) }

// release lets go of the files without writing.
func (d *disk) release() error {
	var errs []error
	if d.db != nil {
		errs = append(errs, d.batch.Close(), d.db.Close())
	}
	if d.ledger != nil {
		errs = append(errs, d.ledger.file.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	d.table.free()
	return errors.Join(errs...)
}

// ErrDamaged is wrapped by the error of Open for a seen-set that is damaged in
// a part which had been synced; Options.Repair opens it all the same.
var ErrDamaged = errors.New("seen-set")

// Repaired tells whether Open found the end of the seen-set lost, as after a
// power failure: every waiting link is there, but addresses that were done
// since the last Sync may be unknown again. Turn.Done makes them known.
func (f *Frontier) Repaired() bool {
	d, ok := f.shelf.(*disk)
	return ok && d.repaired
}
