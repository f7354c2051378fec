package frontier

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/wal"
)

// history is what the files of a store say of its commits.
//
//	tables ────────── flushed │ logs ──────────────────────── last
//	              turn 1 … F  │ F+1 … M, without a gap
//
// pebble replays what logs it finds as far as they can be read, and holds the
// end of the last of them for the place where the process died. So it does not
// notice a log that is cut, removed or zeroed at its end, nor a manifest that
// lost its end and with it the tables that came after. The numbers of the
// commits tell.
type history struct {
	begun     bool   // there is a store
	written   bool   // and a commit in it
	last      meta   // the last one that can be reached
	end       string // the log that holds it, "" when tables do
	read      int64  // how far that log can be read, in bytes
	witnessed witnessRecord
	cut       *DamageError // what says that the end is lost, and nothing before it
	// unwitnessed says why the witness is silent, nil if it is not.
	unwitnessed error
}

const witnessName = "witness"

// readHistory reads the history of a frontier in a view of it. The error is a
// *DamageError where the store cannot be opened, or commits that were acknowledged
// cannot be reached; then what can be told is told all the same.
func readHistory(v *view) (h history, err error) {
	queue := v.PathJoin(v.dir, "queue")
	names, err := v.List(queue)
	if err != nil {
		return h, err
	}
	own, err := v.List(v.dir)
	if err != nil {
		return h, err
	}
	has := func(names []string, prefix string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) })
	}
	committed := slices.ContainsFunc(own, func(n string) bool {
		f := v.file(v.PathJoin(v.dir, n))
		_, _, seen := span(n)
		return seen && f != nil && f.size > ledgerHeader
	})
	tables := slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".sst") })
	if !has(names, manifestMark) && !committed && !tables && !slices.Contains(own, witnessName) {
		return h, nil
	}
	h.begun = true
	var damage error
	for _, mark := range []string{manifestMark, formatMark} {
		// The second one is missing where the store was being made, too.
		if !has(names, mark) && (mark == manifestMark || committed || slices.Contains(own, witnessName)) {
			damage = cmp.Or(damage, error(&DamageError{Path: queue, Err: fmt.Errorf("the file %s… is missing", mark), label: true}))
		}
	}
	damage = cmp.Or(damage, checkOptions(v, queue, names))
	if h.last, h.written, err = flushedMeta(v.healed(), queue); err != nil {
		return h, cmp.Or(damage, openDamage(queue, err))
	}
	if err := h.readLogs(v, queue); err != nil {
		return h, err
	}
	if !h.written && committed {
		return h, cmp.Or(damage, error(&DamageError{Path: queue, Err: errors.New("it holds no commit, but the ledger beside it does")}))
	}
	return h, cmp.Or(h.askWitness(v), damage)
}

// checkOptions reads the file in which the store keeps its options as pebble
// will.
func checkOptions(v *view, queue string, names []string) error {
	last := ""
	for _, name := range names {
		if strings.HasPrefix(name, "OPTIONS-") && (len(name) > len(last) || len(name) == len(last) && name > last) {
			last = name
		}
	}
	if last == "" {
		return nil
	}
	path := v.PathJoin(queue, last)
	f, err := v.Open(path)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err == nil {
		o := storeOptions(v, newHalt())
		o.EnsureDefaults()
		err = o.CheckCompatibility(queue, string(text))
	}
	if err != nil {
		return &DamageError{Path: path, Err: fmt.Errorf("%.60v", err), label: true}
	}
	return nil
}

// flushedMeta is the meta record as the tables have it.
func flushedMeta(v *view, queue string) (m meta, written bool, err error) {
	db, err := openForReading(v.without(func(name string) bool { return strings.HasSuffix(name, ".log") }), queue)
	if err != nil {
		return m, false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return readMeta(db)
}

// openForReading opens the store in a view.
func openForReading(v *view, queue string) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil { // as pebble meets some damage
			err = fmt.Errorf("%v", p)
		}
	}()
	o := storeOptions(v, newHalt())
	o.ReadOnly, o.ErrorIfNotExists = true, true
	return pebble.Open(queue, o)
}

// readMeta reads the meta record of a store, if it has one.
func readMeta(db *pebble.DB) (m meta, written bool, err error) {
	value, closer, err := db.Get([]byte{metaPrefix})
	if errors.Is(err, pebble.ErrNotFound) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m, err = parseMeta(value)
	return m, err == nil, errors.Join(err, closer.Close())
}

// readLogs follows the commits through the store's logs.
func (h *history) readLogs(v *view, queue string) error {
	logs, err := wal.Scan(wal.Dir{FS: v, Dirname: queue})
	if err != nil {
		return err
	}
	for _, log := range logs {
		if err := h.readLog(v, log); err != nil {
			return err
		}
	}
	return nil
}

// readLog follows the commits through one log, up to its end or to where it
// cannot be read: a gap behind that shows in the next log, or by the witness.
func (h *history) readLog(v *view, log wal.LogicalLog) (err error) {
	_, name := log.SegmentLocation(0)
	r := log.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	var batch bytes.Buffer
	for {
		rec, at, err := r.NextRecord()
		h.end, h.read = name, at.Physical
		if err != nil {
			return nil
		}
		batch.Reset()
		if _, err := io.Copy(&batch, rec); err != nil {
			return err
		}
		m, ok, err := metaOfBatch(batch.Bytes())
		switch {
		case err != nil:
			return &DamageError{Path: name, Err: fmt.Errorf("at byte %d: %w", at.Physical, err)}
		case !ok || h.written && m.turn < h.last.turn:
			continue // of a log that is in tables already
		case m.turn > h.last.turn+1:
			return &DamageError{Path: name, Lost: m.turn - h.last.turn - 1,
				Err: fmt.Errorf("before its byte %d, commits %d to %d are missing from the store's logs", at.Physical, h.last.turn+1, m.turn-1)}
		}
		h.last, h.written = m, true
	}
}

// metaOfBatch is the meta record among the writes of a batch, the last of them.
func metaOfBatch(batch []byte) (m meta, ok bool, err error) {
	for r := batchrepr.Read(batch); ; {
		_, key, value, more, err := r.Next()
		if err != nil {
			return m, false, errDamaged
		}
		if !more {
			return m, ok, nil
		}
		if len(key) == 1 && key[0] == metaPrefix {
			if m, err = parseMeta(value); err != nil {
				return m, false, err
			}
			ok = true
		}
	}
}

// askWitness compares the last commit with what the witness says.
func (h *history) askWitness(v *view) error {
	if h.written && h.last.version < 2 {
		return nil // of a time before witnesses
	}
	t, err := readWitness(v, v.PathJoin(v.dir, witnessName))
	var damage *DamageError
	if errors.As(err, &damage) {
		if h.last.turn > 0 {
			h.unwitnessed = damage
		}
		return nil
	}
	h.witnessed = t
	if err != nil || h.last.turn >= t.turn {
		return err
	}
	d := &DamageError{Path: h.end, Lost: t.turn - h.last.turn, Unsynced: h.last.turn >= t.synced}
	place := fmt.Sprintf("it can be read up to byte %d, commit %d", h.read, h.last.turn)
	if h.end == "" {
		d.Path, place = v.PathJoin(v.dir, "queue"), fmt.Sprintf("it holds commits up to %d, and no log", h.last.turn)
	}
	d.Err = fmt.Errorf("%s; commits up to %d were acknowledged, those up to %d safe from a power failure", place, t.turn, t.synced)
	h.cut = d
	return d
}
