package frontier

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/web"
)

// Remains is what the files of a frontier hold at one moment, for reading alone:
// whole, damaged, or of a crawl that goes on. It is made by Examine, may be
// checked through (Check), and a new frontier can be made of it (Rebuild). Not
// for concurrent use.
type Remains struct {
	dir    string
	view   *view
	db     *pebble.DB // nil where it cannot be opened
	past   history
	damage []*DamageError

	marks       *table // what the ledger says, up to where it can be read
	ledgerWhole bool   // that is as far as the last commit says
}

// Standing is what a frontier knows of an address.
type Standing uint8

// The standings of an address.
const (
	Unknown Standing = iota // never met
	Waiting
	Done    // or leased
	Dropped // forgotten: it may come back
)

func (m mark) standing() Standing {
	switch m.how {
	case waiting:
		return Waiting
	case taken:
		return Done
	case dropped:
		return Dropped
	}
	return Unknown
}

// Standing tells what the frontier knows of an address.
func (f *Frontier) Standing(u web.URL) Standing {
	m, err := f.backend.mark(u)
	if err != nil {
		f.fail(err) // the next call says so
	}
	return m.standing()
}

// Examine looks at the frontier in the folder dir, which may be in use, and
// changes nothing. What is wrong with it is told by Damage; an error is of the
// system, or of files that another version of this program wrote.
func Examine(dir string) (*Remains, error) { return examine(vfs.Default, dir) }

func examine(fs vfs.FS, dir string) (_ *Remains, err error) {
	r := &Remains{dir: dir, marks: newTable()}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the frontier in %s: %w", dir, errors.Join(err, r.Close()))
		}
	}()
	if r.view, err = openView(fs, dir); err != nil {
		return nil, err
	}
	if r.past, err = readHistory(r.view); !r.note(err) {
		return nil, err
	}
	if r.past.begun {
		if err := r.openStore(); !r.note(openDamage(r.queue(), err)) {
			return nil, err
		}
	}
	if err := r.readMarks(); !r.note(err) {
		return nil, err
	}
	return r, nil
}

// openStore opens the store, if it can be read up to where its history ends.
func (r *Remains) openStore() error {
	db, err := openForReading(r.view.healed(), r.queue())
	if err != nil {
		return err
	}
	m, written, err := readMeta(db)
	if err == nil && (written != r.past.written || m.turn != r.past.last.turn) && len(r.damage) == 0 {
		err = fmt.Errorf("it holds commit %d, and its files commit %d", m.turn, r.past.last.turn)
	}
	if err != nil || m.turn != r.past.last.turn {
		return errors.Join(err, db.Close())
	}
	r.db = db
	return nil
}

// note keeps an error that speaks of damage; false for any other.
func (r *Remains) note(err error) bool {
	var damage *DamageError
	if errors.As(err, &damage) {
		for _, d := range r.damage {
			if d.Error() == damage.Error() {
				return true // it was met on another way
			}
		}
		r.damage = append(r.damage, damage)
		return true
	}
	return err == nil
}

func (r *Remains) queue() string { return r.view.PathJoin(r.dir, "queue") }

// readMarks reads runs and ledgers, up to the last commit. Where commits were lost, or nobody knows
// which was the last, it reads all files that there are, as far as they are whole.
func (r *Remains) readMarks() error {
	if !r.past.written && len(r.damage) == 0 {
		return nil // it was being made: a ledger is empty, and perhaps without its head
	}
	if !r.past.written || slices.ContainsFunc(r.damage, func(d *DamageError) bool { return !d.label }) {
		return r.readAllMarks()
	}
	last := r.past.last
	all := true
	read := func(name string, size int64) error {
		whole, damage, err := r.readMarksOf(name, size)
		switch {
		case err != nil:
			return err
		case damage != nil:
			r.note(damage)
		case whole < size && (name != ledgerRef{number: last.ledger}.file() || whole < last.synced):
			r.note(&DamageError{Path: r.view.PathJoin(r.dir, name), Err: fmt.Errorf("it can be read up to byte %d of %d", whole, size)})
		}
		// An end of the newest ledger that was not synced is made anew by Open, without a word.
		all = all && whole >= size
		return nil
	}
	for _, ref := range last.runs {
		if err := read(ref.file(), ref.size()); err != nil {
			return err
		}
	}
	for _, ref := range append(slices.Clone(last.closed), ledgerRef{number: last.ledger, size: last.size}) {
		if err := read(ref.file(), ref.size); err != nil {
			return err
		}
	}
	r.ledgerWhole = all
	return nil
}

// readAllMarks reads all files of the seen-set, in the order of what they speak of. They are
// whole if each ledger that there was is there, or a run of it, but for an end of the newest that
// nobody knows of.
func (r *Remains) readAllMarks() error {
	names, err := r.view.List(r.dir)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, _, ok := span(name); return !ok })
	slices.SortStableFunc(names, func(a, b string) int {
		_, lastA, _ := span(a)
		_, lastB, _ := span(b)
		return cmp.Compare(lastA, lastB)
	})
	have := make(map[uint64]bool) // by ledger
	newest := uint64(0)
	for _, name := range names {
		first, last, _ := span(name)
		ledger := strings.HasPrefix(name, "ledger-")
		whole, damage, err := r.readMarksOf(name, math.MaxInt64)
		if err != nil {
			return err
		}
		if damage != nil {
			r.note(damage)
		}
		newest = max(newest, last)
		own := ledger && last == r.past.last.ledger
		if size := r.view.files[r.view.PathJoin(r.dir, name)].size; ledger {
			if own {
				size = r.past.last.size
			} else if _, more := r.view.files[r.view.PathJoin(r.dir, ledgerRef{number: last + 1}.file())]; more {
				size -= blockHeader // the end
			} else {
				size = ledgerHeader
			}
			if whole < size && damage == nil && (!own || whole < r.past.last.synced) {
				r.note(&DamageError{Path: r.view.PathJoin(r.dir, name), Err: fmt.Errorf("it can be read up to byte %d of %d", whole, size)})
			}
			if whole < size {
				continue
			}
		} else if whole < size || whole <= ledgerHeader {
			continue // it was being written, or it is damaged, which shows in what is missing
		}
		for n := first; n <= last; n++ {
			have[n] = true
		}
	}
	own := ledgerRef{number: r.past.last.ledger}.file()
	switch {
	case !r.past.written:
	case !have[r.past.last.ledger] && !slices.Contains(names, own):
		return &DamageError{Path: r.view.PathJoin(r.dir, own), Err: errors.New("it is missing")}
	case len(names) == 1 && newest == r.past.last.ledger && len(r.past.last.runs) == 0:
		r.ledgerWhole = have[newest] // earlier versions had one alone
	default:
		r.ledgerWhole = newest >= r.past.last.ledger && uint64(len(have)) == newest
	}
	return nil
}

// readMarksOf reads a file of the seen-set up to a place, as far as it is whole. It returns how far
// that is, and what is wrong with the file as such.
func (r *Remains) readMarksOf(name string, end int64) (whole int64, damage *DamageError, err error) {
	path := r.view.PathJoin(r.dir, name)
	f, err := r.view.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, &DamageError{Path: path, Err: errors.New("it is missing")}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	magic := ledgerMagic()
	if strings.HasPrefix(name, "run-") {
		magic = runMagic()
	}
	whole, _, err = readLedger(f, path, magic, end, func(rec record) { r.marks.set(rec.hash, rec.mark()) })
	if errors.As(err, &damage) {
		return whole, damage, nil
	}
	return whole, nil, err
}

// Begun tells whether the files hold a commit, or held one.
func (r *Remains) Begun() bool { return r.past.written || len(r.damage) > 0 }

// Damage is what is known to be wrong: after Examine what Open would refuse,
// after Check everything.
func (r *Remains) Damage() []*DamageError { return r.damage }

// Unwitnessed is Frontier.Unwitnessed.
func (r *Remains) Unwitnessed() error { return r.past.unwitnessed }

// Standing tells what the ledger knows of an address.
func (r *Remains) Standing(u web.URL) Standing { return r.marks.get(hashOf(u)).standing() }

// Priority is that of an address that is Waiting.
func (r *Remains) Priority(u web.URL) float64 { return r.marks.get(hashOf(u)).prio }

// State is what a Turn stored under name, nil if nothing was. A *DamageError says
// that it cannot be read.
func (r *Remains) State(name string) ([]byte, error) {
	if r.db == nil {
		return nil, nil
	}
	value, closer, err := r.db.Get(append([]byte{statePrefix}, name...))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, damageOf(r.queue(), err)
	}
	return bytes.Clone(value), closer.Close()
}

// States are those that Turns stored under names that are wanted.
func (r *Remains) States(wanted func(name string) bool) (map[string][]byte, error) {
	states := make(map[string][]byte)
	if r.db == nil {
		return states, nil
	}
	n := &rebuilder{remains: r}
	return states, n.eachLive(statePrefix, func(w storedWrite) error {
		if name := string(w.key[1:]); wanted(name) {
			states[name] = bytes.Clone(w.value)
		}
		return nil
	})
}

// Figures are what Check counted.
type Figures struct {
	Hosts   int   `json:"hosts"`
	Waiting int   `json:"waiting"` // links, those being fetched among them
	Done    int   `json:"done"`    // addresses
	Tables  int   `json:"tables"`
	Bytes   int64 `json:"bytes"` // of all files
}

// Check reads everything: every block of every table, every host and link, and
// compares store and ledger link by link. progress, unless nil, is told now and
// then how many bytes of how many were read. What is wrong is added to Damage.
func (r *Remains) Check(ctx context.Context, progress func(done, total int64)) (Figures, error) {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	var n Figures
	for _, f := range r.view.files {
		n.Bytes += f.size
	}
	if r.db == nil {
		return n, nil
	}
	before := len(r.damage)
	if err := r.checkTables(ctx, &n, progress); err != nil {
		return n, err
	}
	if len(r.damage) > before {
		return n, nil // what they hold cannot be compared
	}
	if err := r.checkHosts(&n); !r.note(damageOf(r.queue(), err)) {
		return n, err
	}
	if err := r.checkLinks(ctx, &n); !r.note(damageOf(r.queue(), err)) {
		return n, err
	}
	return n, nil
}

// checkTables reads the checksums of every block of the live tables.
func (r *Remains) checkTables(ctx context.Context, n *Figures, progress func(done, total int64)) error {
	levels, err := r.db.SSTables()
	if err != nil {
		return err
	}
	var done, total int64
	for _, level := range levels {
		for _, t := range level {
			total += int64(t.Size)
			n.Tables++
		}
	}
	for _, level := range levels {
		for _, t := range level {
			if err := ctx.Err(); err != nil {
				return err
			}
			path := r.view.PathJoin(r.queue(), fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum)))
			if err := r.withTable(path, (*sstable.Reader).ValidateBlockChecksums); err != nil && !r.note(openDamage(path, err)) {
				return err
			}
			done += int64(t.Size)
			progress(done, total)
		}
	}
	return nil
}

// withTable opens a table for do.
func (r *Remains) withTable(path string, do func(*sstable.Reader) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // as pebble meets some damage
			err = fmt.Errorf("%v", p)
		}
	}()
	f, err := r.view.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return err
	}
	o := storeOptions(r.view, newHalt())
	o.EnsureDefaults()
	t, err := sstable.NewReader(context.Background(), readable, o.MakeReaderOptions())
	if err != nil {
		return err
	}
	return errors.Join(do(t), t.Close())
}

func (r *Remains) checkHosts(n *Figures) error {
	it, err := r.db.NewIter(&pebble.IterOptions{LowerBound: []byte{hostPrefix}, UpperBound: []byte{hostPrefix + 1}})
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		var s web.HostState
		if s, err = parseHost(it.Value()); err == nil && !bytes.Equal(it.Key(), appendHostKey(nil, uint32(n.Hosts))) {
			err = fmt.Errorf("host %s stands at %x: %w", s.Host, it.Key(), errDamaged)
		}
		n.Hosts++
	}
	return errors.Join(err, it.Close())
}

// checkLinks compares the links of the store with those that wait by the ledger, and with the hosts for which they wait.
func (r *Remains) checkLinks(ctx context.Context, n *Figures) error {
	it, err := r.db.NewIter(&pebble.IterOptions{LowerBound: []byte{candidatePrefix}, UpperBound: []byte{candidatePrefix + 1}})
	if err != nil {
		return err
	}
	moves, err := readMoves(r.db)
	if err != nil {
		return errors.Join(err, it.Close())
	}
	hosts, err := r.db.NewIter(&pebble.IterOptions{LowerBound: []byte{hostPrefix}, UpperBound: []byte{hostPrefix + 1}})
	if err != nil {
		return errors.Join(err, it.Close())
	}
	var at web.HostState // of the host whose links are read
	next := uint32(0)    // its number, and one
	hosts.First()
	strange := 0
	for it.First(); it.Valid() && err == nil; it.Next() {
		var host uint32
		var k key
		if host, k, err = parseCandidateKey(it.Key()); err != nil {
			break
		}
		k = moves.of(k)
		var c web.Candidate
		if c, err = parseCandidate(it.Value(), k); err != nil {
			break
		}
		for ; next <= host && hosts.Valid() && err == nil; hosts.Next() { // both stand by numbers
			at, err = parseHost(hosts.Value())
			next++
		}
		if m := r.marks.get(hashOf(c.URL)); m.how != waiting || m.key != k || int64(host) >= int64(n.Hosts) || at.Host != c.URL.Host() {
			strange++
		}
		if n.Waiting++; n.Waiting%4096 == 0 {
			err = ctx.Err()
		}
	}
	if err := errors.Join(err, it.Close(), hosts.Close()); err != nil {
		return err
	}
	byLedger := 0
	r.marks.each(func(_ uint64, m mark) {
		switch m.how {
		case waiting:
			byLedger++
		case taken:
			n.Done++
		}
	})
	if !r.ledgerWhole || r.past.cut != nil {
		return nil // they need not agree
	}
	if missing := byLedger - (n.Waiting - strange); strange > 0 || missing > 0 {
		return &DamageError{Path: r.queue(), Err: fmt.Errorf("of %d links that wait by the ledger it holds %d, and %d others", byLedger, n.Waiting-strange, strange)}
	}
	return nil
}

// Close lets go of the files.
func (r *Remains) Close() error {
	var errs []error
	if r.db != nil {
		errs = append(errs, r.db.Close())
	}
	if r.view != nil {
		errs = append(errs, r.view.close())
	}
	r.marks.free()
	return errors.Join(errs...)
}
