package score

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// anthelion is a bandit over hosts, with naive Bayes over links. Of the links
// of the host with the greatest value the most probable goes first; with the
// chance λ it is that of a random host. For a host with good relevant and bad
// other pages, and a link whose probability is p, the value is one of
//
//	0  (good+1)/(bad+1)
//	1  a sample of Beta(1+good, 1+bad), drawn anew when the host gave a page
//	2  p
//	3  (good+1)/(bad+1) · p
//	4  a sample of Beta(1+good, 1+bad) · p
//
// The features of a link are the words of its address, hashed to 10,000, and
// four more: it was found on a relevant, on another page; a sibling, fetched
// from the same page, was relevant, was not. λ falls as λ·decay/(decay+t)
// after t pages.
//
// Source: Meusel, Mika & Blanco, Focused Crawling for Structured Data, 2014,
// and its program Anthelion. "Like": the program's search for the best host
// always compares with 0 and so does not find the maximum, its λ falls by an integer
// division, and it never sets one of its sibling features. All three are corrected
// here. Siblings are links with the same page of first discovery. To fetch one page
// of a random host, all links that wait are scored again before and after it, which
// costs time in proportion to the frontier: a large λ is for small frontiers.
type anthelion struct {
	journal
	analyzer      text.Splitter
	lambda, decay float64
	value, every  int
	seed          uint64

	t     int
	hosts map[uint64]hostTally
	class [2]bayes
	brood []byte // by page fetched: 1 a relevant page came of it, 2 another

	// What the score of each link is made of, as it is at the present counts: all that waits is
	// scored anew every few pages, and logarithms would be a third of a score. See settle and weigh.
	exploring    bool                    // the next page is to be one of a random host
	prior, sizes float64                 // logarithms of the odds of a link, of the shares of features
	odds         [addressDim + 4]float64 // ln (n_good+1)/(n_bad+1) of each feature

	// The words of addresses. Each address has one place, by its hash, and takes that of another one.
	addresses [addressPlaces]atomic.Pointer[addressFeatures]
}

// addressPlaces bounds what is kept of addresses. Among 10,000 addresses one in seven shares its place.
const addressPlaces = 1 << 16

// addressFeatures are the words of an address, as features says.
type addressFeatures struct {
	address string
	words   []uint16
}

type hostTally struct{ good, bad uint32 }

// bayes counts features of one class.
type bayes struct {
	links, features uint32
	count           [addressDim + 4]uint32
}

const (
	addressDim     = 10000
	fromIrrelevant = addressDim + iota - 1
	fromRelevant
	besideRelevant
	besideIrrelevant
)

var _ Scorer = (*anthelion)(nil)

func anthelionSettings() []Setting {
	return []Setting{
		{Name: "lambda", Default: 0.1, Max: 1, Line: "λ: chance of a random host"},
		{Name: "decay", Default: 1000, Min: 1, Max: 1e9, Line: "pages after which λ is half of it"},
		{Name: "value", Default: 3, Max: 4, Whole: true, Line: "of a host: 0 ratio, 1 Beta sample, 2 its best link, 3 ratio × link, 4 sample × link"},
		{Name: "every", Default: 25, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew"},
	}
}

func newAnthelion(o Options) (Scorer, error) {
	a := &anthelion{
		analyzer: text.SplitterOf(o.Analyzer), lambda: o.set("lambda"), decay: o.set("decay"),
		value: int(o.set("value")), every: int(o.set("every")), seed: o.Seed, hosts: make(map[uint64]hostTally),
	}
	a.journal = newSnapshotJournal("anthelion-like", o, a)
	a.settle()
	return a, nil
}

// Extract keeps nothing: all is in the address and the memory.
func (*anthelion) Extract(p *web.Page, _ web.Verdict) [][]byte { return noFeatures(p) }

// features puts the features of a candidate into out, which is empty: the words of its address,
// sorted, each once, then the flags.
func (a *anthelion) features(out []uint16, c *web.Candidate) []uint16 {
	out = append(out, a.words(c.URL)...)
	if len(c.Memory) != 5 {
		return out
	}
	out = append(out, fromIrrelevant+uint16(c.Memory[0]&1))
	if page := int(binary.LittleEndian.Uint32(c.Memory[1:])); page < len(a.brood) {
		if a.brood[page]&1 != 0 {
			out = append(out, besideRelevant)
		}
		if a.brood[page]&2 != 0 {
			out = append(out, besideIrrelevant)
		}
	}
	return out
}

// longestKept is how many bytes an address has at most whose words are kept: some hundred MB are then all of them.
const longestKept = 512

// words are the words of an address: all that waits is scored anew every few pages.
func (a *anthelion) words(u web.URL) []uint16 {
	address := u.String()
	place := &a.addresses[xxh3.HashString(address)%addressPlaces]
	if f := place.Load(); f != nil && f.address == address {
		return f.words
	}
	var room [32]string
	var out []uint16
	for _, w := range a.analyzer.AppendWords(room[:0], address) {
		out = append(out, uint16(xxh3.HashString(w)%addressDim))
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(address) <= longestKept {
		place.Store(&addressFeatures{strings.Clone(address), out}) // it may be a part of a page
	}
	return out
}

// Visit counts the page for its host and its link, and returns what the links
// found there share:
//
//	1 if the page is relevant, else 0 byte · its number uint32 LE
//
// The entry is
//
//	flags byte: 1 relevant, 2 found on a page · host hash uint64 LE
//	number of that page uint32 LE · features of the link uint16 LE each
func (a *anthelion) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	memory := make([]byte, 1, 5)
	if v.Relevant {
		memory[0] = 1
	}
	memory = binary.LittleEndian.AppendUint32(memory, uint32(len(a.brood)))
	line := []byte{memory[0]}
	line = binary.LittleEndian.AppendUint64(line, hostHash(c.URL))
	if len(c.Memory) == 5 {
		line[0] |= 2
		line = append(line, c.Memory[1:]...)
	} else {
		line = append(line, 0, 0, 0, 0)
	}
	for _, f := range a.features(nil, c) {
		line = binary.LittleEndian.AppendUint16(line, f)
	}
	explored := a.exploring
	if a.add(line) {
		a.apply(&entry{b: line})
		if explored || a.exploring || a.t%a.every == 0 {
			a.requestRescore()
		}
	}
	return memory
}

func hostHash(u web.URL) uint64 { return xxh3.HashString(string(u.Host())) }

func (a *anthelion) apply(e *entry) {
	a.t++
	flags, host, page := e.byte(), e.uint64(), e.uint32()
	h, relevant := a.hosts[host], flags&1
	if relevant == 1 {
		h.good++
	} else {
		h.bad++
	}
	a.hosts[host] = h
	b := &a.class[relevant]
	b.links++
	for len(e.b) > 0 {
		if f := e.uint16(); int(f) < len(b.count) {
			b.count[f]++
			b.features++
			a.weigh(f)
		}
	}
	if flags&2 != 0 && int(page) < len(a.brood) {
		a.brood[page] |= 2 - relevant
	}
	a.brood = append(a.brood, 0)
	a.settle()
}

// settle works out what all links share at the present counts.
func (a *anthelion) settle() {
	lambda := a.lambda * a.decay / (a.decay + float64(a.t))
	a.exploring = fraction(draw(a.seed, 0, uint64(a.t))) < lambda
	bad, good := &a.class[0], &a.class[1]
	a.prior = math.Log(float64(good.links+1) / float64(bad.links+1))
	a.sizes = math.Log(float64(bad.features+uint32(len(bad.count))) / float64(good.features+uint32(len(good.count))))
}

// weigh works out the odds of a feature at the present counts.
func (a *anthelion) weigh(f uint16) {
	a.odds[f] = math.Log(float64(a.class[1].count[f]+1) / float64(a.class[0].count[f]+1))
}

// probability is naive Bayes with add-one smoothing.
func (a *anthelion) probability(c *web.Candidate) float64 {
	var room [40]uint16
	z := a.prior
	for _, f := range a.features(room[:0], c) {
		z += a.odds[f] + a.sizes
	}
	return 1 / (1 + math.Exp(-z))
}

// Score is the value of the host, the link's probability deciding between
// equal ones.
func (a *anthelion) Score(c *web.Candidate) float64 {
	p := a.probability(c)
	host := hostHash(c.URL)
	if a.exploring {
		return fraction(draw(a.seed, 1, uint64(a.t), host)) + 1e-6*p
	}
	h := a.hosts[host]
	var value float64
	switch a.value {
	case 1, 4:
		value = beta(draw(a.seed, 2, host, uint64(h.good+h.bad)), 1+float64(h.good), 1+float64(h.bad))
	case 2:
		return p
	default:
		value = float64(h.good+1) / float64(h.bad+1)
	}
	if a.value >= 3 {
		return value * p
	}
	return value + 1e-6*p
}

// beta is a sample of Beta(a,b), a and b ≥ 1, that belongs to the draw.
func beta(draw uint64, a, b float64) float64 {
	r := rand.New(rand.NewPCG(draw, 0))
	x := gamma(r, a)
	return x / (x + gamma(r, b))
}

// gamma is a sample of Gamma(a,1), a ≥ 1.
//
// Source: Marsaglia & Tsang, A Simple Method for Generating Gamma Variables,
// 2000.
func gamma(r *rand.Rand, a float64) float64 {
	d := a - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// Steady tells that several goroutines may call Score at a time.
func (*anthelion) Steady()                      {}
func (*anthelion) Rescores() bool               { return true }
func (a *anthelion) Restore(state []byte) error { return a.restore(state, a.apply) }

// appendSnapshot appends
//
//	pages uvarint · hosts by hash: number uvarint, { hash uint64 LE · good, bad uvarint }…
//	for irrelevant and relevant pages: links, features uvarint · counts uvarint [addressDim+4]
//	what came of each page fetched: number uvarint, a byte each
func (a *anthelion) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(a.t))
	b = binary.AppendUvarint(b, uint64(len(a.hosts)))
	for _, hash := range slices.Sorted(maps.Keys(a.hosts)) {
		b = binary.LittleEndian.AppendUint64(b, hash)
		b = binary.AppendUvarint(b, uint64(a.hosts[hash].good))
		b = binary.AppendUvarint(b, uint64(a.hosts[hash].bad))
	}
	for i := range a.class {
		c := &a.class[i]
		b = binary.AppendUvarint(b, uint64(c.links))
		b = binary.AppendUvarint(b, uint64(c.features))
		for _, n := range c.count {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return wire.AppendString(b, string(a.brood))
}

func (a *anthelion) readSnapshot(r *wire.Reader) {
	a.t = r.Number(math.MaxInt32)
	for range r.Count(10) {
		hash := r.Uint64()
		a.hosts[hash] = hostTally{uint32(r.Number(math.MaxInt32)), uint32(r.Number(math.MaxInt32))}
	}
	for i := range a.class {
		c := &a.class[i]
		c.links, c.features = uint32(r.Number(math.MaxUint32)), uint32(r.Number(math.MaxUint32))
		for k := range c.count {
			c.count[k] = uint32(r.Number(math.MaxUint32))
		}
	}
	a.brood = []byte(r.String())
	for f := range a.odds {
		a.weigh(uint16(f))
	}
	a.settle()
}
