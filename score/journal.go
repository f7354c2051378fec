package score

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

// journal is the state of a scorer that learns: one entry for each thing that it
// was told, in order. The model is a function of the entries, so a scorer that
// applies them again is the same as the one that was stopped.
//
//	name length byte · name · { entry length uvarint · entry }… · [ 0 · flags byte ]
//
// The flags, 1 for full and 2 for a rescoring that is due, are there only when
// one is set.
//
// It only grows at its end: what State returned stays as it is. When an entry
// would take it over its limit the journal is full, and the scorer learns no
// more: that bounds its memory. A crawl stores the whole state after every
// page, so the limit bounds that work as well.
type journal struct {
	log     []byte
	name    int // bytes before the first entry
	limit   int // bytes of log
	full    bool
	due     bool // everything that waits should be scored anew
	changed bool
	learn   func(func()) // runs what computes a model anew: Options.Learn
}

const (
	flagFull = 1 << iota
	flagDue
)

// journalSetting is the one that scorers with a journal share.
func journalSetting() Setting {
	return Setting{Name: "journal", Default: 64, Min: 0.001, Max: 4096, Line: "MiB of what was learned, after which learning stops"}
}

func newJournal(name string, o Options) journal {
	log := append([]byte{byte(len(name))}, name...)
	return journal{log: log, name: len(log), limit: int(o.set("journal") * (1 << 20)), learn: o.Learn}
}

// add appends an entry; it returns false, and does nothing, when full.
func (j *journal) add(entry []byte) bool {
	if j.full {
		return false
	}
	if len(j.log)+binary.MaxVarintLen32+len(entry) > j.limit {
		j.full, j.changed = true, true
		return false
	}
	j.log = binary.AppendUvarint(j.log, uint64(len(entry)))
	j.log = append(j.log, entry...)
	j.changed = true
	return true
}

// ask makes Stale ask for a new score of all links that wait.
func (j *journal) ask() { j.due, j.changed = true, true }

// Stale returns true once after ask.
func (j *journal) Stale() bool {
	if !j.due {
		return false
	}
	j.due, j.changed = false, true
	return true
}

// State returns the journal, nil if nothing has changed since it was last
// asked.
func (j *journal) State() []byte {
	if !j.changed {
		return nil
	}
	j.changed = false
	flags := byte(0)
	if j.full {
		flags |= flagFull
	}
	if j.due {
		flags |= flagDue
	}
	if flags != 0 {
		return append(slices.Clone(j.log), 0, flags)
	}
	return j.log[:len(j.log):len(j.log)]
}

// restore reads a journal and applies each entry. It is called on a new one.
func (j *journal) restore(state []byte, apply func(*entry)) error {
	if len(state) == 0 {
		return nil
	}
	if len(state) < j.name || string(state[:j.name]) != string(j.log) {
		return fmt.Errorf("scorer %s: the state is that of another scorer; resume with the one of the first run", j.log[1:])
	}
	for b := state[j.name:]; len(b) > 0; {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return j.damaged()
		}
		if n == 0 {
			if len(b) != 2 || b[1] > flagFull|flagDue {
				return j.damaged()
			}
			j.full, j.due = b[1]&flagFull != 0, b[1]&flagDue != 0
			state = state[:len(state)-2]
			break
		}
		e := &entry{b: b[k : k+int(n)]}
		apply(e)
		if e.err != nil || len(e.b) > 0 {
			return j.damaged()
		}
		b = b[k+int(n):]
	}
	j.log = slices.Clone(state)
	return nil
}

// entries yields the entries in order.
func (j *journal) entries() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for b := j.log[j.name:]; len(b) > 0; {
			n, k := binary.Uvarint(b)
			if !yield(&entry{b: b[k : k+int(n)]}) {
				return
			}
			b = b[k+int(n):]
		}
	}
}

func (j *journal) damaged() error {
	return fmt.Errorf("scorer %s: the state is damaged; it cannot be resumed", j.log[1:j.name])
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
