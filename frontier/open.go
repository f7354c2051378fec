package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Open opens the frontier in the folder dir, or makes one there. It holds what
// the last committed Turn left, however the process ended. Where that cannot be
// so, since files are damaged or a power failure took what was written after the
// last Sync, the error is a *DamageError.
//
// Damage within a table of the store is found when the table is read there: by
// Open for hosts, states and the outline of all tables, by a later call for
// links, which then fails with a *DamageError. Remains.Check reads everything.
//
// The folder holds queue (a pebble store: codec.go draws its keys), ledger-N
// (the seen-set: ledger.go draws it) and witness (witness.go). One process can
// have it open.
func Open(dir string, opts Options) (*Frontier, error) {
	if opts.FS != nil {
		return open(opts.FS, dir, opts)
	}
	return open(vfs.Default, dir, opts)
}

func open(fs vfs.FS, dir string, opts Options) (*Frontier, error) {
	h := newHalt()
	d := &disk{dir: dir, fs: newLazyFS(fs, h, opts.Ahead), halt: h, table: newTable()}
	f := newFrontier(opts, d)
	if err := d.open(f, opts); err != nil {
		return nil, fmt.Errorf("opening the frontier in %s: %w", dir, errors.Join(err, d.release()))
	}
	return f, nil
}

func (d *disk) open(f *Frontier, opts Options) (err error) {
	if err := d.makeFolder(d.queue()); err != nil {
		return err
	}
	lock, err := pebble.LockDirectory(d.queue(), d.fs)
	if err != nil {
		return fmt.Errorf("another process uses it: wait until that ends, or take another folder (%w)", err)
	}
	d.lock = lock
	// The store replays its log at once and tries for ever to write it out.
	if err := d.room(0); err != nil {
		return err
	}
	past, err := d.history()
	if err != nil {
		return err
	}
	if err := d.openStore(opts, past.begun); err != nil {
		return err
	}
	if past.written {
		err = d.takeUp(f, past)
	} else {
		err = d.begin()
	}
	if err != nil {
		return err
	}
	sync := func() error { return d.ledger.file.Sync() }
	d.fs.syncLedger.Store(&sync)
	d.table.each(func(_ uint64, m mark) {
		if m.how == waiting {
			f.spread.add(m.prio, 1)
		}
	})
	for _, h := range f.hosts {
		f.queued += h.n
		if err := f.place(h); err != nil {
			return err
		}
	}
	return d.removeOldLedgers()
}

// history reads the files' history, before anything is changed.
func (d *disk) history() (h history, err error) {
	v, err := openView(d.fs, d.dir)
	if err != nil {
		return h, err
	}
	h, err = readHistory(v)
	return h, errors.Join(err, v.close())
}

// begin makes the files of a new frontier.
func (d *disk) begin() (err error) {
	d.meta = meta{ledger: 1, size: ledgerHeader, next: 1}
	if d.ledger, err = createLedger(d.fs, d.ledgerName(1)); err != nil {
		return err
	}
	if d.witness, err = openWitness(d.fs, d.path(witnessName), testimony{}); err != nil {
		return err
	}
	return errors.Join(d.syncFolder(d.dir), d.sync())
}

// takeUp reads what the files hold.
func (d *disk) takeUp(f *Frontier, past history) (err error) {
	d.meta, _, err = readMeta(d.db)
	if err != nil {
		return openDamage(d.queue(), err)
	}
	if d.meta.turn != past.last.turn {
		return &DamageError{Path: d.queue(), Err: fmt.Errorf("it holds commit %d, and its files commit %d", d.meta.turn, past.last.turn)}
	}
	f.next = d.meta.next
	if err := d.readHosts(f); err != nil {
		return damageOf(d.queue(), err)
	}
	if d.witness, err = openWitness(d.fs, d.path(witnessName), testimony{d.meta.turn, past.said.synced}); err != nil {
		return err
	}
	d.unwitnessed = past.unwitnessed
	return d.readLedger(f)
}

// storeOptions are those of pebble, tuned for a queue: entries are written once,
// in no order, read once, and deleted from the front of their host.
//
// The profile of BenchmarkFrontier10M says where the CPU time of an entry goes:
// a third into flushes and compactions; a quarter into the memtable, whose skip
// list misses the cache at every level (hence the entries of a Turn go in
// sorted); an eighth into planning the Turn. Nine tenths of a Lease is reading
// one index and one data block (hence small blocks, and no seek at all as long
// as the window has keys).
func storeOptions(fs vfs.FS, h *halt) *pebble.Options {
	o := &pebble.Options{
		FS:                          fs,
		Logger:                      h,
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
		EventListener:               h.listener(),
	}
	for i := range o.Levels {
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		o.Levels[i].BlockSize = 8 << 10
	}
	o.TargetFileSizes[0] = 16 << 20
	return o
}

// openStore opens pebble. Whether there is a store already is known.
func (d *disk) openStore(opts Options, begun bool) error {
	o := storeOptions(storeFS{d.fs, d.halt}, d.halt)
	o.Lock = d.lock
	o.ErrorIfNotExists = begun
	if opts.buffer > 0 {
		o.MemTableSize = opts.buffer
	}
	var db *pebble.DB
	err := d.halt.run(func() (err error) {
		defer func() {
			switch p := recover().(type) { // as pebble meets some damage, and a full disk
			case nil:
			case error:
				err = p
			default:
				err = fmt.Errorf("%v", p)
			}
		}()
		db, err = pebble.Open(d.queue(), o)
		return err
	})
	if err != nil {
		return openDamage(d.queue(), err)
	}
	d.db, d.batch = db, db.NewBatch()
	return nil
}

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

// readLedger makes the seen-set, the counts and the windows from the ledger. An
// end that no Sync made safe may be missing: it is made anew, see Repaired.
func (d *disk) readLedger(f *Frontier) (err error) {
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
	if _, err := d.fs.Stat(name); err != nil { // opening it for writing would make it
		return damageOf(name, err)
	}
	d.ledger, err = openLedger(d.fs, name, d.meta.size, replay)
	switch {
	case err != nil:
		return damageOf(name, err)
	case d.ledger.size == d.meta.size:
		if d.ledger.records > 2*int64(d.table.n)+1<<20 {
			return d.renewLedger(f, false)
		}
		return nil
	case d.ledger.size >= d.meta.synced:
		d.meta.forgetful = true
		return d.renewLedger(f, true)
	}
	return &DamageError{Path: name, Err: fmt.Errorf("it can be read up to byte %d of %d, of which %d were safe on disk", d.ledger.size, d.meta.size, d.meta.synced)}
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
		return damageOf(d.queue(), err)
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

// close syncs and lets go of the files. Of a store that stands still the failure
// was told already.
func (d *disk) close() error {
	var err error
	if d.halt.err() == nil {
		err = d.sync()
	}
	return errors.Join(err, d.release())
}

// release lets go of the files without writing.
func (d *disk) release() error {
	var errs []error
	if d.db != nil && d.halt.err() == nil {
		errs = append(errs, d.batch.Close(), d.halt.run(d.db.Close))
	}
	if d.ledger != nil {
		errs = append(errs, d.ledger.file.Close())
	}
	if d.witness != nil {
		errs = append(errs, d.witness.file.Close())
	}
	if d.lock != nil {
		if d.halt.err() == nil {
			errs = append(errs, d.lock.Close())
		}
		errs = append(errs, d.fs.unlock())
	}
	d.table.free()
	return errors.Join(errs...)
}

// Repaired tells whether the end of the seen-set was lost, as after a power
// failure, and made anew from the store: every waiting link is there, but
// addresses that were done since the last Sync may be unknown. Turn.Done makes
// them known; then Remembered must be called, until which it stays so.
func (f *Frontier) Repaired() bool {
	d, ok := f.shelf.(*disk)
	return ok && d.meta.forgetful
}

// Remembered tells a frontier that was Repaired that it knows again what is
// done.
func (f *Frontier) Remembered() error {
	d, ok := f.shelf.(*disk)
	if !ok || f.broken != nil {
		return f.broken
	}
	d.meta.forgetful = false
	return f.Sync()
}

// Unwitnessed says why Open could not tell whether the last commits are there,
// nil if it could. Everything else was as it should be.
func (f *Frontier) Unwitnessed() error {
	if d, ok := f.shelf.(*disk); ok {
		return d.unwitnessed
	}
	return nil
}
