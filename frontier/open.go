package frontier

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
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
// The folder holds queue (a pebble store: codec.go draws its keys), ledger-N and
// run-N (the seen-set: ledger.go and run.go draw them) and witness (witness.go). One process can
// have it open. A folder that an earlier version wrote is taken up, and is one of this version
// from the first commit on.
func Open(dir string, opts Options) (*Frontier, error) {
	if opts.FS != nil {
		return open(opts.FS, dir, opts)
	}
	return open(vfs.Default, dir, opts)
}

func open(fs vfs.FS, dir string, opts Options) (*Frontier, error) {
	h := newHalt()
	d := &disk{dir: dir, fs: newLazyFS(fs, h, opts.Ahead), halt: h, seen: newSeen(), tableLimit: cmp.Or(opts.recent, recentMost),
		mostKept: max(cmp.Or(opts.kept, mostKept), 0), mostMoves: cmp.Or(opts.moves, mostMoves)}
	f := newFrontier(opts, d)
	f.cold, f.siteByHash = newCold(d, cmp.Or(opts.hot, hotHosts)), make(map[uint64]*site)
	d.cold = f.cold
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
	if err := d.checkSpace(0); err != nil {
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
	sync := func() error {
		d.ledgers.Lock()
		defer d.ledgers.Unlock()
		return d.syncLedger(d.ledger)
	}
	d.fs.syncLedger.Store(&sync)
	if err := d.removeOld(); err != nil {
		return err
	}
	d.opened = true
	return nil
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
	if d.witness, err = openWitness(d.fs, d.path(witnessName), witnessRecord{}); err != nil {
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
	hot, err := d.readHosts(f)
	if err != nil {
		return damageOf(d.queue(), err)
	}
	if d.witness, err = openWitness(d.fs, d.path(witnessName), witnessRecord{d.meta.turn, past.witnessed.synced}); err != nil {
		return err
	}
	d.unwitnessed = past.unwitnessed
	if d.listed = d.meta.moves; d.listed > 0 {
		if err := d.keep(); err != nil {
			return damageOf(d.queue(), err)
		}
	}
	if err := d.readSeen(f); err != nil {
		return err
	}
	if err := d.takeUpPutBack(f); err != nil {
		return damageOf(d.queue(), err)
	}
	return f.placeHosts(hot)
}

// storeOptions are those of pebble, tuned for a queue: entries are written once,
// in no order, read once, and deleted from the front of their host.
//
// By the profile of BenchmarkFill with ten million links, made where the cache held nothing, 28 % of
// the processor time was reading what is leased and the keys that follow (hence small blocks, and no seek
// as long as the window has keys). The buffer, whose skip list misses the processor's caches, took 8 %
// (hence the entries of a Turn go in sorted), flushes and compactions 7 %, and collecting garbage 12 %.
// Bloom filters in all levels made no difference that could be told from noise, in that cache and in
// this; they were left out.
func storeOptions(fs vfs.FS, h *halt) *pebble.Options {
	// Pebble takes what its buffers have, one that is used again with them, from the size of the cache:
	// one that is not larger than they are holds nothing.
	const (
		buffer  = 32 << 20
		buffers = 3
		blocks  = 32 << 20 // cached at the least
	)
	o := &pebble.Options{
		FS:                          fs,
		Logger:                      h,
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   blocks + (buffers+1)*buffer,
		MemTableSize:                buffer,
		MemTableStopWritesThreshold: buffers,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       64,
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                500,
		BytesPerSync:                1 << 20,
		DisableTableStats:           true,
		EventListener:               h.listener(),
		Cleaner:                     cleaner{},
	}
	for i := range o.Levels {
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		o.Levels[i].BlockSize = 8 << 10
	}
	o.TargetFileSizes[0] = 16 << 20
	return o
}

// cleaner removes a log once its entries are in tables. Pebble would keep four of them, 256 MB, to
// write over, as a file that has its blocks is synced faster; but logs here are seldom synced. It
// does so only for a cleaner that does not read the files, and fileReader says that this one does.
type cleaner struct {
	pebble.DeleteCleaner
	fileReader
}

// fileReader has the mark of pebble's other cleaner, one level deeper than DeleteCleaner has its
// methods, which so are those of cleaner.
type fileReader struct{ pebble.ArchiveCleaner }

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
	d.halt.opened.Store(true)
	d.db, d.batch = db, db.NewBatch()
	return nil
}

// readHosts makes the hosts, all of them cold, and returns those that are to be at hand once their
// links are counted.
func (d *disk) readHosts(f *Frontier) (hot []uint32, err error) {
	err = d.eachHost(func(id uint32, s web.HostState) error {
		if odd := f.addCold(&s); odd || len(s.Host.Name()) < len(s.Host) {
			hot = append(hot, id)
		}
		return nil
	})
	return hot, err
}

// placeHosts puts the hosts where they belong.
func (f *Frontier) placeHosts(hot []uint32) error {
	f.placeCold()
	var errs []error
	for _, id := range hot {
		h, err := f.at(id)
		if err != nil {
			return err
		}
		if len(h.state.Host.Name()) < len(h.state.Host) {
			errs = append(errs, f.join(h))
		}
	}
	for _, id := range hot {
		errs = append(errs, f.place(f.hosts[id]))
	}
	return errors.Join(errs...)
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

// close syncs what was written and lets go of the files. What failed before was told already.
func (d *disk) close() error {
	_ = d.await(0)
	var err error
	listed := d.listed > 0
	if d.halt.err() == nil && d.failed == nil {
		if err = d.endList(); err == nil {
			err = d.condense()
		}
	}
	d.stopping.Store(true) // the next Open begins with it anew
	if err == nil && d.halt.err() == nil {
		if err = d.fs.callAhead(); err == nil {
			err = d.syncCommitted()
		}
	}
	if err == nil && d.condensed != "" {
		_ = d.fs.Remove(d.condensed)
	}
	if err == nil && d.halt.err() == nil && (listed || d.db.Metrics().WAL.Size > mostLog) {
		err = d.halt.run(d.db.Flush)
	}
	return errors.Join(err, d.release())
}

// endList has the store have each link where it is.
func (d *disk) endList() error {
	if d.listed == 0 || !d.batch.Empty() || len(d.ledger.block) > 0 || d.lacks(int64(d.kept.size)+reserve) > 0 {
		return nil // a turn was not committed, or the list stays for want of room
	}
	d.storeMoves()
	return d.commit(change{next: d.meta.next})
}

// mostLog bounds the log that a closed frontier leaves, in bytes. It holds each move of a link, and
// a table only the last: what is written out at the end is a small part of it. So does a ledger. A log with
// a list of moves is always written out.
const mostLog = 2 << 20

// condense makes a run of the ledger where that is several times smaller, as a scorer that learns has moved what
// waits again and again. What the store speaks of is changed by the sync that follows; the ledger is
// to be removed after it.
func (d *disk) condense() error {
	small := runRef{records: int64(d.seen.n)}.size()
	if d.ledger.size <= mostLog || d.ledger.size < 4*small || d.lacks(small+reserve) > 0 {
		return nil
	}
	if len(d.ledger.block) > 0 || d.job != nil || d.seen.frozen != nil || len(d.meta.closed) > 0 {
		return nil // a turn was not committed, or the files are changing already
	}
	d.condensed = d.ledger.name
	m := d.meta
	if err := d.rotate(&m); err != nil {
		return err
	}
	r, err := d.writeRun(d.nextRun(d.meta.ledger), int64(d.seen.frozen.n), []source{&tableReader{t: d.seen.frozen}}, nil)
	if err != nil {
		return err
	}
	d.seen.runs = append(d.seen.runs, r)
	m.closed, m.runs = nil, append(slices.Clone(m.runs), r.runRef)
	d.meta = m
	return nil
}

// release lets go of the files without writing.
func (d *disk) release() error {
	var errs []error
	d.stopping.Store(true)
	_ = d.await(0) // what it meets was told, or does not count
	d.endReadAhead()
	if j := d.job; j != nil {
		<-j.done
		if j.run != nil {
			errs = append(errs, j.run.close())
		}
	}
	for _, r := range d.unused {
		errs = append(errs, r.close())
	}
	if d.db != nil && d.halt.err() == nil {
		if d.spare != nil {
			errs = append(errs, d.spare.Close())
		}
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
	errs = append(errs, d.seen.free())
	d.cold.free()
	return errors.Join(errs...)
}

// Repaired tells whether the end of the seen-set was lost, as after a power
// failure, and made anew from the store: every waiting link is there, but
// addresses that were done since the last Sync may be unknown. Turn.Done makes
// them known; then Remembered must be called, until which it stays so.
func (f *Frontier) Repaired() bool {
	d, ok := f.backend.(*disk)
	return ok && d.meta.forgetful
}

// Remembered tells a frontier that was Repaired that it knows again what is
// done.
func (f *Frontier) Remembered() error {
	d, ok := f.backend.(*disk)
	if !ok || f.broken != nil {
		return f.broken
	}
	if err := d.await(0); err != nil { // it would bring its own meta
		return f.fail(err)
	}
	d.meta.forgetful = false
	return f.Sync()
}

// Unwitnessed says why Open could not tell whether the last commits are there,
// nil if it could. Everything else was as it should be.
func (f *Frontier) Unwitnessed() error {
	if d, ok := f.backend.(*disk); ok {
		return d.unwitnessed
	}
	return nil
}
