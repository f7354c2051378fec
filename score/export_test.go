package score

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/waggle-crawler/waggle/internal/wire"
)

// Compact begins the journal of a scorer anew with a snapshot of its model; false
// if the scorer cannot write one.
func Compact(s Scorer) bool {
	h, ok := s.(interface{ own() *journal })
	if !ok || h.own().model == nil {
		return false
	}
	j := h.own()
	j.begin(j.model.appendSnapshot(nil))
	return true
}

func (j *journal) own() *journal { return j }

// tape is a model of which nothing is known but its size: a snapshotter for tests.
type tape struct {
	journal
	size   int
	learnt int
}

func newTape(size int) *tape {
	m := &tape{size: size}
	m.journal = newSnapshotJournal("tape", Options{}, m)
	return m
}

func (m *tape) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(m.learnt))
	return append(b, make([]byte, m.size)...)
}

func (m *tape) readSnapshot(r *wire.Reader) {
	m.learnt = r.Number(math.MaxInt32)
	r.Take(m.size)
}

// The state grows by what was learnt and begins anew now and then: a page writes a
// bounded multiple of its own entry, a run that goes on reads few entries, and
// learning does not end.
func TestStateGrowsByWhatWasLearnt(t *testing.T) {
	for _, size := range []int{0, 100, 10 << 20} {
		m := newTape(size)
		var state []byte
		lesson := make([]byte, 500)
		written, most, snapshots := 0, 0, 0
		const pages = 200_000
		for range pages {
			if !m.add(lesson) {
				t.Fatal("learning ended")
			}
			m.learnt++
			b, snapshot := m.State()
			if snapshot {
				state = state[:0]
				snapshots++
			} else {
				most = max(most, len(b))
			}
			state = append(state, b...)
			written += len(b)
		}
		bound := size + max(compactLeast, size/compactShare) + 1000
		if snapshots < 2 || most > 600 || written > pages*502*(compactShare+2) || len(state) > bound {
			t.Errorf("a model of %d bytes: %d snapshots; at most %d bytes added, %d written a page, a state of %d", size, snapshots, most, written/pages, len(state))
		}
		again := newTape(size)
		if err := again.restore(state, func(e *entry) { e.rest(); again.learnt++ }); err != nil || again.learnt != pages {
			t.Errorf("a model of %d bytes: restored with %d of %d entries, %v", size, again.learnt, pages, err)
		}
	}
}
