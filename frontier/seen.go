package frontier

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// seenSet is the seen-set of a frontier on disk. What changed last is in memory and in
// ledgers, all else in runs on disk:
//
//	recent ◄── changes        its records are in the newest ledger
//	  │ full: a new ledger and a new table begin
//	  ▼
//	frozen                    its records are in older ledgers, until it is a run
//	  │ sorted and written, in the background
//	  ▼
//	runs   newer ones of about one size become one, in the background
//
// An address is looked for in that order; the first that has it is right. What the store
// speaks of, ledgers and runs, is changed by a commit, and a file that the commit no longer
// speaks of goes once that commit would survive a power failure. So there is a
// moment of the process's death at which neither is whole for none of them.
//
// In memory are what changed last and about 11 bits for every other address; see run.go. The profile
// of BenchmarkFill with four million links says that this costs little: get has 3 % of processor
// time, a fifth of it in runs, and sorting and merging have less than one.
type seenSet struct {
	recent, frozen *table
	runs           []*run              // the oldest first
	out            map[uint64]struct{} // what is leased: on disk it waits
	n              int                 // addresses
	noting         chan struct{}       // closed when putBeside has ended; nil = it has
}

// changes is recent, as it is once all is put that was to be.
func (s *seenSet) changes() *table {
	if s.noting != nil {
		<-s.noting
		s.noting = nil
	}
	return s.recent
}

// putBeside puts the marks of links that moved while the caller goes on.
func (s *seenSet) putBeside(marks []record) {
	t, done := s.changes(), make(chan struct{})
	s.noting = done
	go func() {
		defer close(done)
		t.putAll(marks)
	}()
}

// recentMost is how many addresses changed before they are made a run of.
const recentMost = 1 << 20

func newSeen() *seenSet { return &seenSet{recent: newTable(), out: make(map[uint64]struct{})} }

// get returns what is known of an address.
func (s *seenSet) get(hash uint64) (mark, error) {
	if _, out := s.out[hash]; out {
		return mark{how: taken}, nil
	}
	if m := s.changes().get(hash); m.how != unknown {
		return m, nil
	}
	if s.frozen != nil {
		if m := s.frozen.get(hash); m.how != unknown {
			return m, nil
		}
	}
	for _, r := range slices.Backward(s.runs) {
		if rec, ok, err := r.find(hash); ok || err != nil {
			return rec.mark(), err
		}
	}
	return mark{}, nil
}

// sources are all records, the oldest first.
func (s *seenSet) sources(index bool) (from []source, err error) {
	for _, r := range s.runs {
		src, err := r.reader(index)
		if err != nil {
			return nil, err
		}
		from = append(from, src)
	}
	if s.frozen != nil {
		from = append(from, &tableReader{t: s.frozen})
	}
	return append(from, &tableReader{t: s.changes()}), nil
}

// free gives back memory and files.
func (s *seenSet) free() error {
	var errs []error
	s.changes().free()
	if s.frozen != nil {
		s.frozen.free()
	}
	for _, r := range s.runs {
		errs = append(errs, r.close())
	}
	s.runs = nil
	return errors.Join(errs...)
}

// ledgerRef is a ledger that is written no more.
type ledgerRef struct {
	number  uint64
	size    int64
	records int64
}

func (d *disk) runName(r runRef) string { return d.path(r.file()) }

func (r runRef) file() string { return fmt.Sprintf("run-%06d-%06d", r.first, r.last) }

func (r ledgerRef) file() string { return fmt.Sprintf("ledger-%06d", r.number) }

// span reads the name of a file of the seen-set: of which ledgers it is. ok is false for other files.
func span(name string) (first, last uint64, ok bool) {
	if n, _ := fmt.Sscanf(name, "ledger-%d", &first); n == 1 {
		return first, first, ledgerRef{number: first}.file() == name
	}
	n, _ := fmt.Sscanf(name, "run-%d-%d", &first, &last)
	return first, last, n == 2 && last-first < 1<<24 && runRef{first: first, last: last}.file() == name
}

// note changes the mark of an address; fresh tells that it had none.
func (d *disk) note(r record, fresh bool) {
	d.seen.changes().put(r)
	d.ledger.add(r)
	if fresh {
		d.seen.n++
	}
}

// job is work in the background on the files of the seen-set. There is one at a time.
type job struct {
	done chan struct{} // closed at the end
	err  error
	run  *run // that was written, nil where files were removed
	from int  // it stands for all runs from here on, or for frozen if there are none
}

// ended tells whether it has.
func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// start begins a job. Whoever starts one waits for it: see settle, and release.
func (d *disk) start(work func(j *job) error) {
	j := &job{done: make(chan struct{})}
	d.job = j
	go func() {
		defer close(j.done)
		j.err = work(j)
	}()
}

// settle takes in the job, which has ended: what the next commit speaks of is changed. Nothing is on
// its way meanwhile.
func (d *disk) settle() (changed bool, err error) {
	d.assertStill()
	j := d.job
	d.job = nil
	if folder.Full(j.err) {
		d.fullAt = max(1, d.ledger.records)
		return false, nil // what there is can be read and added to: see work
	}
	if j.err != nil || j.run == nil {
		return false, j.err
	}
	d.fullAt = 0
	if replaced := d.seen.runs[j.from:]; len(replaced) > 0 {
		for _, r := range replaced {
			d.obsolete = append(d.obsolete, r.name)
			d.unused = append(d.unused, r)
		}
		d.seen.runs = append(d.seen.runs[:j.from:j.from], j.run)
		return true, nil
	}
	for _, l := range d.meta.closed {
		d.obsolete = append(d.obsolete, d.ledgerName(l.number))
	}
	d.seen.runs = append(d.seen.runs, j.run)
	// Close writes d.meta also where the commit fails that follows: it has to be whole.
	d.meta.closed, d.meta.runs = nil, append(slices.Clone(d.meta.runs), j.run.runRef)
	d.seen.frozen.free()
	d.seen.frozen = nil
	return true, nil
}

// full tells whether it is time for a new ledger.
func (d *disk) full(m *meta) bool {
	full := d.seen.changes().n >= d.tableLimit || d.ledger.records >= 4*int64(d.tableLimit) || len(m.closed) > 0
	return full && d.job == nil && d.seen.frozen == nil
}

// assertStill panics where a commit is on its way.
func (d *disk) assertStill() {
	if len(d.pending) > 0 {
		panic(fmt.Sprintf("frontier: the files of the seen-set change while %d commits are on their way", len(d.pending)))
	}
}

// rotate begins a new ledger and a new table, and changes what a commit will say. The old ledger is
// safe from a power failure then. Nothing is on its way meanwhile.
func (d *disk) rotate(m *meta) error {
	d.assertStill()
	if err := d.syncLedger(d.ledger); err != nil {
		return err
	}
	fresh, err := createLedger(d.fs, d.ledgerName(m.ledger+1))
	if err != nil {
		return err
	}
	old := d.ledger
	d.ledgers.Lock()
	d.ledger = fresh
	d.ledgers.Unlock()
	if err := errors.Join(old.file.Close(), d.syncLedger(fresh), d.syncFolder(d.dir)); err != nil {
		return err
	}
	m.closed = append(slices.Clone(m.closed), ledgerRef{m.ledger, old.size, old.records})
	m.ledger++
	m.size, m.records, m.synced = fresh.size, 0, fresh.size
	d.fullAt = min(d.fullAt, 1) // it counted records of the old one
	d.seen.recent, d.seen.frozen = newTable(), d.seen.changes()
	return nil
}

// work begins what there is to do in the background. Files that were replaced are removed first:
// that makes room. Where the disk was too full for a run, the next one waits until the ledger has
// grown by an eighth of the records that a table holds.
func (d *disk) work() {
	if d.job != nil || !d.opened { // a commit within Open begins nothing
		return
	}
	if names, runs := d.obsolete, d.unused; len(names) > 0 {
		d.obsolete, d.unused = nil, nil
		d.start(func(*job) error {
			var errs []error
			for _, r := range runs {
				errs = append(errs, r.close())
			}
			for _, name := range names {
				_ = d.fs.Remove(name) // what cannot be removed is left to the next Open: see removeOld
			}
			return errors.Join(errs...)
		})
		return
	}
	if d.fullAt > 0 && d.ledger.records < d.fullAt+int64(d.tableLimit)/8 {
		return
	}
	if frozen := d.seen.frozen; frozen != nil {
		from, ref := len(d.seen.runs), d.nextRun(d.meta.closed[len(d.meta.closed)-1].number)
		if d.lacks(runRef{records: int64(frozen.n)}.size()+reserve) > 0 {
			return
		}
		d.start(func(j *job) (err error) {
			j.from = from
			j.run, err = d.writeRun(ref, int64(frozen.n), []source{&tableReader{t: frozen}}, nil)
			return err
		})
		return
	}
	from := mergeFrom(d.seen.runs)
	if from == len(d.seen.runs) {
		return
	}
	var most, size int64
	for _, r := range d.seen.runs[from:] {
		most += r.records
		size += r.size()
	}
	if d.lacks(size+2*reserve) > 0 {
		return // later, if ever: what there is can be read
	}
	runs := slices.Clone(d.seen.runs[from:])
	ref := runRef{first: runs[0].first, last: runs[len(runs)-1].last}
	d.start(func(j *job) error {
		j.from = from
		var sources []source
		for _, r := range runs {
			src, err := r.reader(false)
			if err != nil {
				return err
			}
			sources = append(sources, src)
		}
		var err error
		j.run, err = d.writeRun(ref, most, sources, nil)
		return err
	})
}

// lacks is how many bytes of so many the disk does not have, 0 where it does not tell.
func (d *disk) lacks(need int64) int64 {
	usage, err := d.fs.GetDiskUsage(d.dir)
	if err != nil {
		return 0 // not every file system tells
	}
	return max(0, need-int64(min(usage.AvailBytes, math.MaxInt64)))
}

// mergeFrom is the first of the runs that are to become one, all up to the newest: at least three,
// of which none is longer than twice all newer ones. So an address is written
// again a few times, and there are a dozen runs at most.
func mergeFrom(runs []*run) int {
	from, newer := len(runs), int64(0)
	for i, r := range slices.Backward(runs) {
		if newer > 0 && r.records > 2*newer {
			break
		}
		from, newer = i, newer+r.records
	}
	if len(runs)-from < 3 {
		return len(runs)
	}
	return from
}

// nextRun is a run of the ledgers behind those of the newest run, up to last.
func (d *disk) nextRun(last uint64) runRef {
	first := uint64(1)
	if n := len(d.seen.runs); n > 0 {
		first = d.seen.runs[n-1].last + 1
	}
	return runRef{first: first, last: last}
}

// errStopping is of a run that was not written to its end as the frontier is being closed.
var errStopping = errors.New("the frontier is being closed")

// writeRun makes a run of records, each changed by change unless that is nil. It survives a
// power failure then.
func (d *disk) writeRun(ref runRef, most int64, from []source, change func(r *record)) (*run, error) {
	w, err := createRun(d.fs, d.runName(ref), ref, most)
	if err != nil {
		return nil, err
	}
	err = mergeRecords(from, func(r record) error {
		if d.stopping.Load() {
			return errStopping
		}
		if change != nil {
			change(&r)
		}
		return w.add(r)
	})
	if err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	r, err := w.finish()
	if err != nil {
		return nil, err
	}
	if err := d.syncFolder(d.dir); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// readSeen makes the seen-set, and the counts and windows of hosts, of ledgers and runs. An
// end of the newest ledger that no Sync made safe may be missing: then what waits is taken from the
// store instead, see Repaired.
func (d *disk) readSeen(f *Frontier) error {
	for _, ref := range d.meta.runs {
		r, err := openRun(d.fs, d.runName(ref), ref)
		if err != nil {
			return damageOf(d.runName(ref), err)
		}
		d.seen.runs = append(d.seen.runs, r)
	}
	if err := d.remember(); err != nil {
		return err
	}
	for _, ref := range d.meta.closed {
		l, err := d.readLedger(ref.number, ref.size)
		if l != nil {
			err = errors.Join(err, l.file.Close())
		}
		if err == nil && l.size < ref.size {
			err = &DamageError{Path: l.name, Err: fmt.Errorf("it can be read up to byte %d of %d", l.size, ref.size)}
		}
		if err != nil {
			return err
		}
	}
	var err error
	if d.ledger, err = d.readLedger(d.meta.ledger, d.meta.size); err != nil {
		return err
	}
	switch {
	case d.ledger.size == d.meta.size:
		return d.count(f)
	case d.ledger.size >= d.meta.synced:
		d.meta.forgetful = true
		return d.renewSeen(f)
	}
	return &DamageError{Path: d.ledger.name, Err: fmt.Errorf("it can be read up to byte %d of %d, of which %d were safe on disk", d.ledger.size, d.meta.size, d.meta.synced)}
}

// remember takes the newest runs into recent where they are small, as condense makes them: to look there
// costs less than to look into a file.
func (d *disk) remember() error {
	from, n := len(d.seen.runs), int64(0)
	for from > 0 && n+d.seen.runs[from-1].records <= int64(d.tableLimit)/4 {
		from--
		n += d.seen.runs[from].records
	}
	for _, r := range d.seen.runs[from:] {
		src, err := r.reader(false)
		if err != nil {
			return damageOf(r.name, err)
		}
		for rec, ok, err := src.next(); ok || err != nil; rec, ok, err = src.next() {
			if err != nil {
				return damageOf(r.name, err)
			}
			d.seen.recent.put(rec)
		}
	}
	return nil
}

// readLedger takes a ledger into recent.
func (d *disk) readLedger(number uint64, size int64) (*ledger, error) {
	name := d.ledgerName(number)
	if _, err := d.fs.Stat(name); err != nil { // opening it for writing would make it
		return nil, damageOf(name, err)
	}
	l, err := openLedger(d.fs, name, size, d.seen.recent.put)
	return l, damageOf(name, err)
}

// count reads all of the seen-set, and counts what waits for whom.
func (d *disk) count(f *Frontier) error {
	from, err := d.seen.sources(true)
	if err != nil {
		return damageOf(d.dir, err)
	}
	d.seen.n = 0
	return damageOf(d.dir, mergeRecords(from, func(r record) error {
		d.seen.n++
		if m := r.mark(); m.how == waiting && r.host < f.named {
			c := f.cold.host(r.host)
			if c.queued == 0 || m.key.before(c.head) {
				c.head = m.key
			}
			c.queued++
			f.spread.add(m.prio, 1)
		}
		return nil
	}))
}

// renewSeen writes the seen-set anew, with what waits taken from the store, and goes over to it.
func (d *disk) renewSeen(f *Frontier) error {
	from, err := d.seen.sources(true)
	if err != nil {
		return damageOf(d.dir, err)
	}
	most := int64(d.seen.recent.n)
	for _, r := range d.seen.runs {
		most += r.records
	}
	// What waits is written twice: as dropped, and as what waits.
	if need := 2*(runRef{records: most}).size() + reserve; d.lacks(need) > 0 {
		return fmt.Errorf("the end of what %s knows of addresses was lost, as after a power failure, and writing it anew takes %d MiB, of which the disk lacks %d: make room, and start again; nothing was changed",
			d.dir, need>>20, d.lacks(need)>>20+1)
	}
	last := d.meta.ledger // of the runs; those of what waits count on, as if they had been ledgers
	all, err := d.writeRun(runRef{first: 1, last: last}, most, from, func(r *record) {
		if r.mark().how == waiting {
			*r = record{r.hash, mark{how: dropped}.tag(), noHost}
		}
	})
	if err != nil {
		return damageOf(d.dir, err)
	}
	d.unused = append(d.unused, d.seen.runs...)
	d.seen.runs = []*run{all}
	renew := func() {
		d.seen.recent.free()
		d.seen.recent = newTable()
	}
	flush := func() error {
		if d.seen.recent.n == 0 {
			return nil
		}
		last++
		r, err := d.writeRun(d.nextRun(last), int64(d.seen.recent.n), []source{&tableReader{t: d.seen.recent}}, nil)
		if err != nil {
			return err
		}
		d.seen.runs = append(d.seen.runs, r)
		renew()
		return nil
	}
	renew()
	err = d.eachWaiting(int(f.named), func(r record) error {
		d.seen.recent.put(r)
		if d.seen.recent.n < d.tableLimit {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return damageOf(d.queue(), err)
	}
	if err := d.count(f); err != nil {
		return err
	}
	old := d.ledger
	if d.ledger, err = createLedger(d.fs, d.ledgerName(last+1)); err != nil {
		return err
	}
	if err := errors.Join(d.syncLedger(d.ledger), d.syncFolder(d.dir)); err != nil {
		return err
	}
	d.meta.ledger, d.meta.closed = last+1, nil
	d.meta.synced = d.ledger.size
	if err := d.commit(change{next: f.next}); err != nil {
		return err
	}
	for _, r := range d.unused {
		err = errors.Join(err, r.close())
	}
	d.unused = nil
	return errors.Join(err, d.sync(), old.file.Close())
}

// eachWaiting calls do with the marks of the links that wait, as the store has them.
func (d *disk) eachWaiting(hosts int, do func(r record) error) error {
	moves, err := readMoves(d.db)
	if err != nil {
		return err
	}
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{candidatePrefix}, UpperBound: []byte{candidatePrefix + 1}})
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		id, k, keyErr := parseCandidateKey(it.Key())
		address, addressErr := addressOf(it.Value())
		if keyErr != nil || addressErr != nil || int64(id) >= int64(hosts) {
			err = fmt.Errorf("candidate at %x: %w", it.Key(), errDamaged)
			break
		}
		err = do(record{hashBytes(address), tag(moves.of(k)), id})
	}
	return errors.Join(err, it.Close())
}

// removeOld removes files of the seen-set that the store does not speak of, as the death of a
// process leaves them, or a system that did not let them be removed: such are passed over.
func (d *disk) removeOld() error {
	names, err := d.fs.List(d.dir)
	if err != nil {
		return err
	}
	keep := map[string]bool{d.ledger.name: true}
	for _, r := range d.meta.runs {
		keep[d.runName(r)] = true
	}
	for _, l := range d.meta.closed {
		keep[d.ledgerName(l.number)] = true
	}
	for _, name := range names {
		if _, _, ok := span(name); ok && !keep[d.path(name)] {
			_ = d.fs.Remove(d.path(name))
		}
	}
	return nil
}
