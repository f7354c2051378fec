package frontier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/waggle-crawler/waggle/web"
)

// keptLinks are all links that wait, in memory, while they are few and are scored anew. To read them all
// of the store every few pages, past those that moved, and to write each of them under another key
// there cost more than to learn and to score:
//
//	a link enters, leaves    is in the store with the commit
//	a link moves             the commit says so in a list of moves, and the store has it where it was
//	the list is long         the store has each link where it is, and the list begins anew
//
// So store and list tell all, whenever the process ends: what reads links of the store reads the
// list first, and finds a link by its number alone: numbers are not used again, so what the list says of links that
// left means nothing. The list is empty in a frontier that was closed, but where the disk was nearly full or a
// turn was refused. Where too many links wait, the store has them alone, as it had before.
type keptLinks struct {
	queues[keptLink]
	out  map[uint32]item[keptLink] // what is leased, by the number of the host
	size int                       // of the links, in bytes
	// Where the next Rescore begins most likely, and what was scored for it.
	began     bool
	host      uint32
	first     key
	prescored []*keptLink
}

// keptLink is a link that waits.
type keptLink struct {
	c      web.Candidate // its bytes are those of value
	value  []byte        // as the store has it
	hash   uint64        // of its address
	stored float64       // its priority in the store
	score  float64       // as prescore has it, if scored
	scored bool
}

const (
	// mostKept bounds the links that are kept, in bytes; links of a kilobyte each would take so many
	// where they begin to be.
	mostKept = 32 << 20
	// mostMoves is about how long the list is at most: 8 MB. Each of so many links as are kept has
	// moved some times by then, and is written once.
	mostMoves = 1 << 19
	moveSize  = 16
)

// bytes is about what a link takes in memory.
func (l *keptLink) bytes() int { return 256 + len(l.c.URL.String()) + len(l.value) }

// total is about what all take.
func (k *keptLinks) total() int { return k.size + 24*len(k.of) }

// set gives a link other bytes.
func (l *keptLink) set(value []byte, c *web.Candidate) {
	l.c, l.value = *c, value
	memory := len(value) - len(c.Memory)
	features := memory - len(binary.AppendUvarint(nil, uint64(len(c.Memory)))) - len(c.Features)
	if len(c.Features) > 0 {
		l.c.Features = value[features : features+len(c.Features) : features+len(c.Features)]
	}
	if len(c.Memory) > 0 {
		l.c.Memory = value[memory:]
	}
}

// keep reads all links that wait.
func (d *disk) keep() error {
	if err := d.await(0); err != nil {
		return err
	}
	d.endReadAhead()
	moves, err := readMoves(d.db)
	if err != nil {
		return err
	}
	k := &keptLinks{out: make(map[uint32]item[keptLink])}
	leased := make(map[uint32]key)
	for _, h := range d.cold.ring {
		if h.busy() {
			leased[h.id] = h.leasedKey
		}
	}
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: []byte{candidatePrefix}, UpperBound: []byte{candidatePrefix + 1}})
	if err != nil {
		return err
	}
	var parser candidateParser
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var host uint32
		var at key
		if host, at, err = parseCandidateKey(it.Key()); err != nil {
			break
		}
		l := &keptLink{value: bytes.Clone(it.Value()), stored: at.prio}
		at = moves.of(at)
		if l.c, err = parser.parse(l.value, at); err != nil {
			break
		}
		l.hash = hashOf(l.c.URL)
		if k.size += l.bytes(); len(moves) == 0 && k.total() > d.mostKept {
			d.mostKept = 0 // they are too many
			return it.Close()
		}
		if leased[host] == at {
			k.out[host] = item[keptLink]{at, l}
			continue
		}
		for uint32(len(k.of)) <= host {
			k.of = append(k.of, nil)
		}
		k.of[host] = append(k.of[host], item[keptLink]{at, l})
	}
	if err := errors.Join(err, it.Close()); err != nil {
		return err
	}
	if len(moves) > 0 {
		for _, q := range k.of {
			k.reorder(q, 0, len(q))
		}
	}
	d.kept, d.recent = k, recentLinks{} // which is not told what changes from here on
	return nil
}

// unkeep has the store have all links where they are, from the next commit on, and keeps none any more until the
// frontier is opened again: a frontier that grew so large stays large. What is loaded is read of the store from
// here on, so the commit is waited for.
func (d *disk) unkeep() {
	d.storeMoves()
	d.kept, d.mostKept = nil, 0
	d.rewritten = true
	for _, h := range d.cold.ring {
		h.window, h.preread = window{out: h.window.out}, nil
	}
}

// storeMoves has the store have each link where it is, from the next commit on.
func (d *disk) storeMoves() {
	put := func(host uint32, at item[keptLink]) {
		if l := at.link; l.stored != at.prio {
			deleteLink(d.batch, host, key{l.stored, at.seq})
			setLink(d.batch, host, at.key, l.value)
			l.stored = at.prio
		}
	}
	for host, q := range d.kept.of {
		for _, at := range q {
			put(uint32(host), at)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(d.kept.out)) {
		put(host, d.kept.out[host])
	}
	if d.listed > 0 {
		_ = d.batch.DeleteRange([]byte{movePrefix}, []byte{movePrefix + 1}, nil) // fails on an indexed batch only
	}
	d.moves, d.listed = d.moves[:0], 0
}

func (d *disk) putKept(h *host, at key, c *web.Candidate) {
	l := &keptLink{hash: hashOf(c.URL), stored: at.prio}
	l.set(appendCandidate(nil, c), c)
	l.c.Priority = at.prio
	d.kept.size += l.bytes()
	d.kept.put(h.id, at, l)
	setLink(d.batch, h.id, at, l.value)
}

func (d *disk) removeKept(h *host, at key) {
	l := d.kept.at(h.id, at)
	if l == nil {
		return // it was lost, as damage may have it
	}
	d.kept.remove(h.id, at)
	d.kept.size -= l.bytes()
	deleteLink(d.batch, h.id, key{l.stored, at.seq})
}

func (d *disk) eraseKept(h *host) {
	at, is := d.kept.out[h.id]
	if !is {
		return // as in removeKept
	}
	delete(d.kept.out, h.id)
	d.kept.size -= at.link.bytes()
	deleteLink(d.batch, h.id, key{at.link.stored, at.seq})
}

// rekeyKept is rekey. What scores links beside may read the one that was there.
func (d *disk) rekeyKept(h *host, from, to key, c *web.Candidate) {
	was := d.kept.at(h.id, from)
	d.kept.remove(h.id, from)
	l := &keptLink{c: was.c, value: was.value, hash: was.hash, stored: was.stored}
	if revised(&l.c, c) {
		d.revise(h, from, l, c)
	}
	l.c.Priority = to.prio
	d.kept.put(h.id, to, l)
	d.noteMove(h, to, l)
}

// revise gives a link what it carries now.
func (d *disk) revise(h *host, at key, l *keptLink, c *web.Candidate) {
	d.kept.size -= l.bytes()
	l.set(appendCandidate(nil, c), c)
	d.kept.size += l.bytes()
	setLink(d.batch, h.id, key{l.stored, at.seq}, l.value)
}

// noteMove notes, for the next commit, where a link is now.
func (d *disk) noteMove(h *host, to key, l *keptLink) {
	d.notePlace(record{l.hash, tag(to), h.id})
	d.moves = binary.BigEndian.AppendUint64(d.moves, to.seq)
	d.moves = binary.BigEndian.AppendUint64(d.moves, math.Float64bits(to.prio))
}

// listMoves puts what moved into the list, with a commit of that number.
func (d *disk) listMoves(turn uint64) {
	if len(d.moves) == 0 {
		return
	}
	op := d.batch.SetDeferred(1+8, len(d.moves))
	op.Key[0] = movePrefix
	binary.BigEndian.PutUint64(op.Key[1:], turn)
	copy(op.Value, d.moves)
	_ = op.Finish()
	d.listed += len(d.moves) / moveSize
	d.moves = d.moves[:0]
}

func (d *disk) rescoreKept(h *host, from key, n int, score func(c *web.Candidate, prescored *float64) (float64, error)) (next key, looked int, err error) {
	q, i, j, next := d.kept.slice(h.id, from, n)
	for x := range q[i:j] {
		at := &q[i+x]
		l := at.link
		var p float64
		if l.scored {
			p, err = score(&l.c, &l.score)
		} else {
			c := l.c
			if p, err = score(&c, nil); err == nil && revised(&l.c, &c) {
				d.revise(h, at.key, l, &c)
			}
		}
		if err != nil {
			return key{}, x, err
		}
		if p != at.prio {
			at.prio, l.c.Priority = p, p
			d.noteMove(h, at.key, l)
		}
	}
	d.kept.reorder(q, i, j)
	return next, j - i, nil
}

// ahead are the n links from which the next Rescore begins most likely. What is scored of them holds for that
// Rescore, which has to follow before anything is learnt.
func (k *keptLinks) ahead(n int) []*keptLink {
	k.prescored = k.prescored[:0]
	from := k.first
	for host := k.host; k.began && n > 0 && int(host) < len(k.of); host++ {
		q, i, j, _ := k.slice(host, from, n)
		for _, at := range q[i:j] {
			k.prescored = append(k.prescored, at.link)
		}
		n -= j - i
		from = key{}
	}
	return k.prescored
}

// rescoredKept ends what was scored for a Rescore.
func (d *disk) rescoredKept() {
	for i, l := range d.kept.prescored {
		l.scored = false
		d.kept.prescored[i] = nil
	}
	d.kept.prescored = d.kept.prescored[:0]
}

// moves are the priorities of links that the store has at another place, by their numbers.
type moves map[uint64]float64

// of is the place of a link, given its key in the store.
func (m moves) of(k key) key {
	if p, ok := m[k.seq]; ok {
		k.prio = p
	}
	return k
}

// readMoves reads the list of moves.
func readMoves(db *pebble.DB) (moves, error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{movePrefix}, UpperBound: []byte{movePrefix + 1}})
	if err != nil {
		return nil, err
	}
	m := make(moves)
	for it.First(); it.Valid() && err == nil; it.Next() {
		for b := it.Value(); len(b) > 0 && err == nil; {
			if len(b) < moveSize {
				err = fmt.Errorf("moves at %x: %w", it.Key(), errDamaged)
				break
			}
			p := math.Float64frombits(binary.BigEndian.Uint64(b[8:]))
			if math.IsNaN(p) {
				err = fmt.Errorf("moves at %x: %w", it.Key(), errDamaged)
			}
			m[binary.BigEndian.Uint64(b)] = p
			b = b[moveSize:]
		}
	}
	return m, errors.Join(err, it.Close())
}
