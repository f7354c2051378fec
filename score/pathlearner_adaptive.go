package score

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// adaptivePaths is the path learner with feedback: paths of other sites tell which
// words links have there, and the pages of the current site tell where on its pages
// the good links are.
//
// A link followed was rated s, and its page, once there, is worth w by all that
// the model knows of it (Worth). The next rating s of a link is drawn to what
// links beside it were worth, from the wide to the near:
//
//	m₀ = s · (k + Σ w)/(k + Σ s)     all links followed so far
//	m₁ = (k·m₀ + Σ w)/(k + n)        the n of the same page
//	m₂ = (k·m₁ + Σ w)/(k + n)        those at the same place of that page
//
// Each is the posterior mean of a share with the one before it as prior, worth k
// links; a place is a tag path. m₀ is at most 1, m₂ the priority.
//
// With critic 1 the judge's relevance stands for w. That goal pages are known by
// the judge alone costs it the lists that lead to them.
type adaptivePaths struct {
	journal
	guide  *guide.Guide
	page   func(*web.Page, web.Verdict) float64
	judged bool
	k      float64
	every  int

	all    outcome
	beside map[uint64]outcome // by page, and by place on a page
	next   int                // links followed when what waits is scored anew
}

// outcome is what links were worth.
type outcome struct {
	n        int
	expected float64 // Σ s
	got      float64 // Σ w
}

var _ Scorer = (*adaptivePaths)(nil)

func adaptivePathsSettings() []Setting {
	return append(guideSettings(),
		Setting{Name: "critic", Max: 1, Whole: true, Line: "what a page turned out to be worth: 0 by the model itself, 1 by the judge"},
		Setting{Name: "k", Default: 4, Min: 0.001, Max: 1e6, Line: "links that the rating before counts as, against those seen"},
		Setting{Name: "every", Default: 5, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew, and later a twentieth of the pages so far"})
}

func newAdaptivePaths(o Options) (Scorer, error) {
	g, err := guideOf(o)
	if err != nil {
		return nil, err
	}
	l := &adaptivePaths{
		guide: g, page: o.Page, judged: o.set("critic") >= 0.5,
		k: o.set("k"), every: int(o.set("every")), beside: make(map[uint64]outcome),
	}
	l.journal = newSnapshotJournal("pathlearner-adaptive", o, l)
	l.next = l.every
	return l, nil
}

// Extract gives of each link
//
//	hash of its tag path uint32 LE · what it shows, as pathLearner has it
func (l *adaptivePaths) Extract(p *web.Page, _ web.Verdict) [][]byte {
	out := l.guide.Links(p)
	for i, shows := range out {
		f := make([]byte, 0, 4+len(shows))
		f = binary.LittleEndian.AppendUint32(f, uint32(xxh3.HashString(p.Links[i].TagPath)))
		out[i] = append(f, shows...)
	}
	return out
}

// waitingLink is a link in the frontier, as features and memory have it.
type waitingLink struct {
	page, place uint64 // numbers of the page that holds it, and of its place there
	shows       []byte
	at          []byte // place of its page on the path
}

// read reads features and memory; ok is false for a seed.
func (*adaptivePaths) read(c *web.Candidate) (p waitingLink, ok bool) {
	if len(c.Features) < 4 {
		return p, false
	}
	p.shows = c.Features[4:]
	if len(c.Memory) >= 8 {
		p.page, p.at = binary.LittleEndian.Uint64(c.Memory), c.Memory[8:]
	}
	tags := uint64(binary.LittleEndian.Uint32(c.Features))
	p.place = xxh3.Hash(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, p.page), tags))
	return p, true
}

// Visit compares a page with what was expected of it, and returns what its links
// share:
//
//	hash of the address uint64 LE · place, see Place
//
// The entry is
//
//	s float64 LE · w float64 LE · page uint64 LE · place on it uint64 LE
func (l *adaptivePaths) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	link, ok := l.read(c)
	at := l.guide.Visit(link.shows, link.at, p)
	if ok {
		worth := l.guide.Worth(at)
		if l.judged {
			worth = unit(l.page(p, v))
		}
		line := make([]byte, 0, 32)
		line = binary.LittleEndian.AppendUint64(line, math.Float64bits(l.guide.Rate(l.guide.Place(link.at), link.shows)))
		line = binary.LittleEndian.AppendUint64(line, math.Float64bits(worth))
		line = binary.LittleEndian.AppendUint64(line, link.page)
		line = binary.LittleEndian.AppendUint64(line, link.place)
		if l.add(line) {
			due := l.next
			if l.apply(&entry{b: line}); l.next != due {
				l.requestRescore()
			}
		}
	}
	memory, _ := at.AppendBinary(binary.LittleEndian.AppendUint64(nil, graphHash(p.URL))) // never fails
	return memory
}

func (l *adaptivePaths) apply(e *entry) {
	expected, got, page, place := e.float64(), e.float64(), e.uint64(), e.uint64()
	if e.err != nil || !(expected >= 0 && expected <= 1+1e-9 && got >= 0 && got <= 1+1e-9) {
		e.err = errors.New("score: a link worth more than all or less than nothing")
		return
	}
	add := func(o outcome) outcome { return outcome{o.n + 1, o.expected + expected, o.got + got} }
	l.all = add(l.all)
	for _, key := range []uint64{page, place} {
		l.beside[key] = add(l.beside[key])
	}
	if l.all.n >= l.next {
		l.next = l.all.n + max(l.every, l.all.n/20)
	}
}

// Score is in [0,1]. A seed has 1.
func (l *adaptivePaths) Score(c *web.Candidate) float64 {
	link, ok := l.read(c)
	if !ok {
		return 1
	}
	s := l.guide.Rate(l.guide.Place(link.at), link.shows)
	m := min(1, s*(l.k+l.all.got)/(l.k+l.all.expected))
	for _, key := range []uint64{link.page, link.place} {
		near := l.beside[key]
		m = (l.k*m + near.got) / (l.k + float64(near.n))
	}
	return m
}

func (*adaptivePaths) Rescores() bool               { return true }
func (l *adaptivePaths) Restore(state []byte) error { return l.restore(state, l.apply) }

// appendSnapshot appends outcomes, each
//
//	n uvarint · expected float64 LE · got float64 LE
//
// that of all links, the links followed when what waits is scored anew uvarint, and
// those by page and place: number uvarint, { key uint64 LE · outcome }….
func (l *adaptivePaths) appendSnapshot(b []byte) []byte {
	put := func(o outcome) {
		b = binary.AppendUvarint(b, uint64(o.n))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(o.expected))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(o.got))
	}
	put(l.all)
	b = binary.AppendUvarint(b, uint64(l.next))
	b = binary.AppendUvarint(b, uint64(len(l.beside)))
	for _, key := range slices.Sorted(maps.Keys(l.beside)) {
		b = binary.LittleEndian.AppendUint64(b, key)
		put(l.beside[key])
	}
	return b
}

func (l *adaptivePaths) readSnapshot(r *wire.Reader) {
	get := func() outcome { return outcome{r.Number(math.MaxInt32), r.Float64(), r.Float64()} }
	l.all = get()
	l.next = r.Number(math.MaxInt32)
	for range r.Count(25) {
		key := r.Uint64()
		l.beside[key] = get()
	}
}
