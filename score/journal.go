package score

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// journal is the state of a scorer that learns: one entry for each outcome that it
// learnt from, in order. The model is a function of the entries, so a scorer that
// applies them again is the same as the one that was stopped.
//
//	name length byte · name · { entry length uvarint · entry | 0 · flags byte }…
//
// It only grows at its end. The flags, 1 for full and 2 for a rescoring that is
// due, are written when they change, and the last ones hold.
//
// A scorer whose model is smaller than all entries is a snapshotter. Its
// journal begins anew with a snapshot of the model once enough entries follow the
// last one, and never ends:
//
//	0 · name length byte · name · snapshot length uvarint · snapshot · { entry … }…
//
// A scorer that keeps a graph of links is none: when an entry would take its
// journal over the limit the journal is full, and the scorer learns no more. That
// bounds its memory.
type journal struct {
	name       string
	pending    []byte // of the state, since State was last asked
	snapshot   bool   // pending is all of the state, and is not appended to it
	entries    int    // bytes after the head
	head       int    // bytes before the first entry
	limit      int    // bytes of all; 0 = none
	written    byte   // the flags written last
	full       bool
	rescoreDue bool         // everything that waits should be scored anew
	model      snapshotter  // what snapshots are made of; nil = none are made
	learn      func(func()) // runs what computes a model anew: Options.Learn
	shares     bool         // own entries are kept for others, in lessons
	lessons    [][]byte
}

// snapshotter is a scorer whose whole model can be written down.
type snapshotter interface {
	// appendSnapshot appends the model, the same bytes for the same model.
	appendSnapshot(b []byte) []byte
	// readSnapshot sets the model of a new scorer. The reader keeps the error of a
	// snapshot that is none.
	readSnapshot(r *wire.Reader)
}

const (
	flagFull = 1 << iota
	flagDue
)

// A journal begins anew when its entries have more than compactLeast bytes, and
// more than the snapshot divided by compactShare: so a page pays for at most
// compactShare times its own entry, and a resume reads few entries again.
const (
	compactLeast = 1 << 20
	compactShare = 4
)

// journalSetting is the one that scorers with a graph of links share.
func journalSetting() Setting {
	return Setting{Name: "journal", Default: 64, Min: 0.001, Max: 4096, Line: "MiB of links that are kept, after which learning stops"}
}

// newJournal is the journal of a scorer with journalSetting.
func newJournal(name string, o Options) journal {
	j := newSnapshotJournal(name, o, nil)
	j.limit = int(o.set("journal") * (1 << 20))
	return j
}

// newSnapshotJournal is the journal of a snapshotter.
func newSnapshotJournal(name string, o Options, model snapshotter) journal {
	j := journal{name: name, model: model, learn: o.Learn}
	j.begin(nil)
	return j
}

// begin starts the state anew, with a snapshot unless it is nil.
func (j *journal) begin(snapshot []byte) {
	b := append([]byte{byte(len(j.name))}, j.name...)
	if snapshot != nil {
		b = append([]byte{0}, b...)
		b = binary.AppendUvarint(b, uint64(len(snapshot)))
		b = append(b, snapshot...)
	}
	j.pending, j.snapshot, j.head, j.entries, j.written = b, true, len(b), 0, 0
}

// add appends an entry; it returns false, and does nothing, when full.
func (j *journal) add(entry []byte) bool {
	if j.full {
		return false
	}
	size := len(j.pending)
	b := binary.AppendUvarint(j.pending, uint64(len(entry)))
	b = append(b, entry...)
	if j.limit > 0 && j.head+j.entries+len(b)-size > j.limit {
		j.full = true
		return false
	}
	j.pending = b
	j.entries += len(b) - size
	if j.shares {
		j.lessons = append(j.lessons, bytes.Clone(entry))
	}
	return true
}

// Share keeps what is added from now on for other workers of the crawl, as lessons.
func (j *journal) Share() { j.shares = true }

// Lessons are the entries that were added since it was last asked.
func (j *journal) Lessons() [][]byte {
	out := j.lessons
	j.lessons = nil
	return out
}

// addForeign adds the entry of another worker, which is no lesson of this one.
func (j *journal) addForeign(entry []byte) bool {
	shares := j.shares
	j.shares = false
	ok := j.add(entry)
	j.shares = shares
	return ok
}

// requestRescore makes Stale ask for a new score of all links that wait.
func (j *journal) requestRescore() { j.rescoreDue = true }

// Stale returns true once after requestRescore.
func (j *journal) Stale() bool {
	due := j.rescoreDue
	j.rescoreDue = false
	return due
}

func (j *journal) flags() (b byte) {
	if j.full {
		b |= flagFull
	}
	if j.rescoreDue {
		b |= flagDue
	}
	return b
}

// State returns what the state has gained since it was last asked; snapshot says that
// this is all of it, and that what was returned before is to be forgotten.
func (j *journal) State() (state []byte, snapshot bool) {
	if j.model != nil && j.entries > max(compactLeast, j.head/compactShare) {
		j.begin(j.model.appendSnapshot(make([]byte, 0, j.head)))
	}
	if f := j.flags(); f != j.written {
		j.pending = append(j.pending, 0, f)
		j.entries += 2
		j.written = f
	}
	if len(j.pending) == 0 || j.snapshot && j.entries == 0 && j.pending[0] != 0 {
		return nil, false // nothing was learnt yet
	}
	state, snapshot = j.pending, j.snapshot
	j.pending, j.snapshot = nil, false
	return state, snapshot
}

// restore reads a state and applies each entry. It is called on a new journal.
func (j *journal) restore(state []byte, apply func(*entry)) error {
	if len(state) == 0 {
		return nil
	}
	b, snapshot := state, false
	if b[0] == 0 && j.model != nil {
		b, snapshot = b[1:], true
	}
	if len(b) <= len(j.name) || int(b[0]) != len(j.name) || string(b[1:1+len(j.name)]) != j.name {
		return fmt.Errorf("scorer %s: the state is that of another scorer; resume with the one of the first run", j.name)
	}
	b = b[1+len(j.name):]
	next := func() *entry {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil
		}
		e := &entry{b: b[k : k+int(n)]}
		b = b[k+int(n):]
		return e
	}
	if snapshot {
		e := next()
		if e == nil {
			return j.damaged()
		}
		r := wire.NewReader(e.b)
		if j.model.readSnapshot(r); r.End() != nil {
			return j.damaged()
		}
	}
	j.head = len(state) - len(b)
	j.entries = len(b)
	for len(b) > 0 {
		e := next()
		switch {
		case e == nil:
			return j.damaged()
		case len(e.b) > 0:
			apply(e)
		case len(b) == 0 || b[0] > flagFull|flagDue:
			return j.damaged()
		default:
			j.written = b[0]
			b = b[1:]
		}
		if e.err != nil || len(e.b) > 0 {
			return j.damaged()
		}
	}
	j.full, j.rescoreDue = j.limit > 0 && j.written&flagFull != 0, j.written&flagDue != 0
	j.pending, j.snapshot = nil, false
	return nil
}

func (j *journal) damaged() error {
	return fmt.Errorf("scorer %s: the state is damaged; it cannot be resumed", j.name)
}

// entry reads the values of a journal's entry in the order written. After an
// error every value is 0.
type entry struct {
	b   []byte
	err error
}

var errEntry = errors.New("score: an entry ends early")

func (e *entry) uvarint() uint64 {
	v, k := binary.Uvarint(e.b)
	if k <= 0 {
		return e.fail()
	}
	e.b = e.b[k:]
	return v
}

func (e *entry) byte() byte {
	if len(e.b) == 0 {
		return byte(e.fail())
	}
	v := e.b[0]
	e.b = e.b[1:]
	return v
}

func (e *entry) uint64() uint64 {
	if len(e.b) < 8 {
		return e.fail()
	}
	v := binary.LittleEndian.Uint64(e.b)
	e.b = e.b[8:]
	return v
}

func (e *entry) float64() float64 {
	v := math.Float64frombits(e.uint64())
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.err = errEntry
		return 0
	}
	return v
}

// count reads how many things of at least size bytes follow.
func (e *entry) count(size int) int {
	n := e.uvarint()
	if n > uint64(len(e.b)/size) {
		return int(e.fail())
	}
	return int(n)
}

// bytes reads the next n bytes, as many as there are at most.
func (e *entry) bytes(n int) []byte {
	b := e.b[:min(n, len(e.b))]
	e.b = e.b[len(b):]
	return b
}

// rest reads all that is left.
func (e *entry) rest() []byte {
	b := e.b
	e.b = nil
	return b
}

func (e *entry) fail() uint64 {
	e.err, e.b = errEntry, nil
	return 0
}

func (e *entry) uint16() uint16 { return uint16(e.byte()) | uint16(e.byte())<<8 }

func (e *entry) uint32() uint32 { return uint32(e.uint16()) | uint32(e.uint16())<<16 }
