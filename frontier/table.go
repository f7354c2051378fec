package frontier

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/offheap"
	"github.com/waggle-crawler/waggle/web"
)

// table is the seen-set: what the frontier knows of every address it ever
// met, by the 64-bit hash of the address alone. Two addresses of one hash are
// one to it, so the second is never queued: among n addresses that happens to
// n²/2^65 of them in expectation (one chance in 370,000 for 10 million, about
// 0.03 addresses in a billion). Somebody can make such addresses: what is done to the second leaves the link of
// the first alone, where they are of two hosts (plan.waits).
//
// It is open addressing with linear probing, in shards that grow by a quarter
// when they are four fifths full. A slot has 32 bytes, an address thus takes
// 40 to 50, and no growth moves more than one shard. The frontier on disk keeps in a
// table what changed last alone: see seen.go.
//
// Shards are in the order of their hashes: a tableReader sorts one after the other.
type table struct {
	shards  []shard
	n       int
	touched uint64 // a sum of no meaning, for which touch has to read
}

type shard struct {
	slots []slot
	n     int
}

// slot is a record of the ledger. Hash 0 is an empty slot: the address with that hash is
// kept under 1.
type slot = record

// tag is a mark in 16 bytes: the key of a waiting address; otherwise seq is 0
// and prio says which.
type tag struct {
	prio float64
	seq  uint64
}

const (
	tagTaken   = 1
	tagDropped = -1
)

func (m mark) tag() tag {
	switch m.how {
	case waiting:
		return tag(m.key)
	case taken:
		return tag{prio: tagTaken}
	default:
		return tag{prio: tagDropped}
	}
}

func (t tag) mark() mark {
	switch {
	case t.seq != 0:
		return mark{key: key(t), how: waiting}
	case t.prio == tagTaken:
		return mark{how: taken}
	default:
		return mark{how: dropped}
	}
}

func (r record) mark() mark {
	m := r.tag.mark()
	if m.how == waiting {
		m.host = r.host
	}
	return m
}

const shardBits = 8

func newTable() *table { return &table{shards: make([]shard, 1<<shardBits)} }

func hashOf(u web.URL) uint64 { return max(xxh3.HashString(u.String()), 1) }

func hashBytes(address []byte) uint64 { return max(xxh3.Hash(address), 1) }

func (t *table) get(hash uint64) mark {
	if s := t.shards[hash>>(64-shardBits)].find(hash); s != nil && s.hash == hash {
		return s.mark()
	}
	return mark{}
}

// set changes the mark of an address.
func (t *table) set(hash uint64, m mark) {
	r := record{hash, m.tag(), noHost}
	if m.how == waiting {
		r.host = m.host
	}
	t.put(r)
}

func (t *table) put(r record) {
	sh := &t.shards[r.hash>>(64-shardBits)]
	s := sh.find(r.hash)
	if s == nil || s.hash == 0 {
		if 5*(sh.n+1) > 4*len(sh.slots) {
			sh.grow()
			s = sh.find(r.hash)
		}
		sh.n++
		t.n++
	}
	*s = r
}

// find returns the slot of a hash, or the empty slot where it would go; nil
// when the shard has no slots.
func (s *shard) find(hash uint64) *slot {
	if len(s.slots) == 0 {
		return nil
	}
	// The highest bits chose the shard; the next ones choose the place.
	place, _ := bits.Mul64(hash<<shardBits, uint64(len(s.slots)))
	for i := int(place); ; {
		if at := &s.slots[i]; at.hash == hash || at.hash == 0 {
			return at
		}
		if i++; i == len(s.slots) {
			i = 0
		}
	}
}

// touch reads the slots of hashes before they are asked for or put: the processor waits for the
// memory of all at a time, and not of one after the other.
func (t *table) touch(hashes []uint64) {
	for _, hash := range hashes {
		if s := &t.shards[hash>>(64-shardBits)]; len(s.slots) > 0 {
			place, _ := bits.Mul64(hash<<shardBits, uint64(len(s.slots)))
			t.touched += s.slots[place].hash
		}
	}
}

// putAll puts marks.
func (t *table) putAll(records []record) {
	var hashes [64]uint64
	for some := range slices.Chunk(records, len(hashes)) {
		for i := range some {
			hashes[i] = some[i].hash
		}
		t.touch(hashes[:len(some)])
		for i := range some {
			t.put(some[i])
		}
	}
}

func (s *shard) grow() {
	old := s.slots
	s.slots = offheap.Make[slot](len(old) + len(old)/4 + 8)
	for i := range old {
		if old[i].hash != 0 {
			*s.find(old[i].hash) = old[i]
		}
	}
	offheap.Free(old)
}

// free gives back the table's memory; the table must not be used any more.
func (t *table) free() {
	for i := range t.shards {
		offheap.Free(t.shards[i].slots)
	}
	t.shards = nil
}

// each calls do with every address and its mark.
func (t *table) each(do func(hash uint64, m mark)) {
	for i := range t.shards {
		for j := range t.shards[i].slots {
			if s := &t.shards[i].slots[j]; s.hash != 0 {
				do(s.hash, s.mark())
			}
		}
	}
}

// tableReader gives the records of a table in the order of their hashes.
type tableReader struct {
	t     *table
	shard int
	of    []record // what is left of the shard before
	buf   []record
}

func (r *tableReader) next() (record, bool, error) {
	for len(r.of) == 0 {
		if r.shard == len(r.t.shards) {
			return record{}, false, nil
		}
		r.buf = r.buf[:0]
		for _, rec := range r.t.shards[r.shard].slots {
			if rec.hash != 0 {
				r.buf = append(r.buf, rec)
			}
		}
		slices.SortFunc(r.buf, func(a, b record) int { return cmp.Compare(a.hash, b.hash) })
		r.of = r.buf
		r.shard++
	}
	rec := r.of[0]
	r.of = r.of[1:]
	return rec, true, nil
}
