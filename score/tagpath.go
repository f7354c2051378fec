package score

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/linear"
	"github.com/waggle-crawler/waggle/web"
)

// tagPath is a bandit whose arms are places in page templates: the tag path of
// a link (tags with class and id, from the root) as a vector of its 2-grams,
// hashed to 4,096 places; a path joins the arm with the nearest centroid if
// their cosine is at least merge, and opens an arm otherwise. An arm has the
// value
//
//	mean reward + c·√(ln t / (n + 10⁻⁶)),   c = 2√2
//
// after n of t fetches; inside an arm links go in random order. The reward of
// a fetch is the number of wanted pages it gave: the page itself, and new
// links that a logistic model of their address (pairs of characters, learnt in
// batches of 10) takes for wanted; these go before everything else.
//
// Source: SB-CLASSIFIER, arXiv 2602.11874, 2026, and its program, which looks
// for data files within one site; hence "like". Here relevant pages are wanted, and
// reward the arm that led to them. Arms are shared by all sites, as otherwise each
// new site would begin without any knowledge. A centroid is the mean of the
// different paths of the arm, not of its links. A link is new if its 20-bit
// hash is, so that one in a hundred is missed at 10,000 links taken for
// wanted. A fetch that brings no page, a redirect too, is one without reward.
//
// The program chooses the best arm for each fetch. Here all links that wait are
// scored again after a number of pages, which costs time in proportion to the
// frontier; in between, the priority of a link can fall when it is about to be
// fetched, and none can rise.
type tagPath struct {
	journal
	explore, merge, first, unlock float64
	maxArms, every                int
	seed                          uint64

	t     int // fetches
	paths map[uint32]int32
	arms  []arm
	known []uint64 // bits: links taken for wanted, by hash
	model *linear.Logistic
	batch []linear.Example
	taken bool // the model has learnt
}

// arm is a group of tag paths.
type arm struct {
	n        int // fetches
	reward   float64
	centroid []float64 // [places] sum of its paths
	norm     float64   // of centroid
}

const (
	places    = 1 << 12
	maxPaths  = 1 << 16
	knownBits = 1 << 20
	batchSize = 10
	pairDim   = 1 << 16 // pairs of characters
	wanted    = 1e6     // priority of links taken for wanted
)

var _ Scorer = (*tagPath)(nil)

func tagPathSettings() []Setting {
	return []Setting{
		{Name: "c", Default: 2 * math.Sqrt2, Max: 1000, Line: "weight of what is uncertain of an arm"},
		{Name: "merge", Default: 0.75, Max: 1, Line: "cosine from which a path joins an arm"},
		{Name: "arms", Default: 512, Min: 1, Max: 4096, Whole: true, Line: "arms at most; later paths join the nearest"},
		{Name: "first", Default: 1, Max: 1, Whole: true, Line: "1 puts links whose address looks wanted before all others"},
		{Name: "unlock", Default: 1, Max: 1000, Line: "reward for a new link whose address looks wanted, against that of a relevant page"},
		{Name: "every", Default: 25, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew"},
	}
}

func newTagPath(o Options) (Scorer, error) {
	s := &tagPath{
		explore: o.set("c"), merge: o.set("merge"),
		first: o.set("first"), unlock: o.set("unlock"), maxArms: int(o.set("arms")), every: int(o.set("every")),
		seed: o.Seed, paths: make(map[uint32]int32), known: make([]uint64, knownBits/64),
		model: linear.NewLogistic(pairDim, 1, 0),
	}
	s.journal = newSnapshotJournal("tagpath-bandit-like", o, s)
	return s, nil
}

func pathHash(path string) uint32 { return uint32(xxh3.HashString(path)) }

// Extract keeps the tag path of each link: hash uint32 LE.
func (*tagPath) Extract(p *web.Page, _ web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	buf := make([]byte, 0, 4*len(p.Links))
	for i := range p.Links {
		buf = binary.LittleEndian.AppendUint32(buf, pathHash(p.Links[i].TagPath))
		out[i] = buf[4*i : 4*i+4 : 4*i+4]
	}
	return out
}

// grams are the places of the 2-grams of a tag path, sorted.
func grams(path string) []uint16 {
	var out []uint16
	last := ""
	for tag := range strings.SplitSeq(path, "/") {
		out = append(out, uint16(xxh3.HashString(last+"/"+tag)%places))
		last = tag
	}
	slices.Sort(out)
	return out
}

// bare is an address without its scheme, or the first 500 bytes of it.
func bare(u web.URL) string {
	_, s, _ := strings.Cut(u.String(), "://")
	return s[:min(len(s), 500)]
}

// pairs appends the pairs of characters of a bare address.
func pairs(dst []uint32, s string) []uint32 {
	for i := 1; i < len(s); i++ {
		dst = append(dst, uint32(s[i-1])<<8|uint32(s[i]))
	}
	return dst
}

// Visit rewards the arm of c. Links carry no memory. The entry is
//
//	flags byte: 1 relevant, 2 seed, 4 no page · tag path of c hash uint32 LE
//	bare address of c: length uvarint, bytes
//	new links taken for wanted: number uvarint, hashes uint32 LE
//	new paths: { hash uint32 LE · places: number uvarint, uint16 LE each }…
func (s *tagPath) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	line := []byte{0}
	if v.Relevant {
		line[0] |= 1
	}
	if p == nil {
		line[0], p = 4, &web.Page{}
	}
	if len(c.Features) != 4 {
		line[0] |= 2
		line = append(line, 0, 0, 0, 0)
	} else {
		line = append(line, c.Features...)
	}
	address := bare(c.URL)
	line = binary.AppendUvarint(line, uint64(len(address)))
	line = append(line, address...)
	var fresh []byte
	count := 0
	seen := make(map[uint32]struct{})
	for i := range p.Links {
		h := uint32(xxh3.HashString(p.Links[i].URL.String()) % knownBits)
		if _, twice := seen[h]; twice || s.known[h/64]>>(h%64)&1 == 1 || s.wants(p.Links[i].URL) < 0.5 {
			continue
		}
		seen[h] = struct{}{}
		fresh = binary.LittleEndian.AppendUint32(fresh, h)
		count++
	}
	line = binary.AppendUvarint(line, uint64(count))
	line = append(line, fresh...)
	clear(seen)
	for i := range p.Links {
		path := p.Links[i].TagPath
		h := pathHash(path)
		_, known := s.paths[h]
		if _, twice := seen[h]; known || twice || len(s.paths)+len(seen) >= maxPaths {
			continue
		}
		seen[h] = struct{}{}
		g := grams(path)
		line = binary.LittleEndian.AppendUint32(line, h)
		line = binary.AppendUvarint(line, uint64(len(g)))
		for _, place := range g {
			line = binary.LittleEndian.AppendUint16(line, place)
		}
	}
	if s.add(line) {
		s.apply(&entry{b: line})
		if s.t%s.every == 0 {
			s.requestRescore()
		}
	}
	return nil
}

// wants is the probability that an address is wanted, 0 before the first batch.
func (s *tagPath) wants(u web.URL) float64 {
	if !s.taken {
		return 0
	}
	var room [500]uint32
	return s.model.Probability(pairs(room[:0], bare(u)))
}

func (s *tagPath) apply(e *entry) {
	s.t++
	flags := e.byte()
	path := e.uint32()
	address := pairs(nil, string(e.bytes(e.count(1))))
	reward := 0.
	if flags&1 != 0 {
		reward = 1
	}
	for range e.count(4) {
		h := e.uint32() % knownBits
		s.known[h/64] |= 1 << (h % 64)
		reward += s.unlock
	}
	if a, ok := s.paths[path]; ok && flags&2 == 0 {
		s.arms[a].n++
		s.arms[a].reward += reward
	}
	for e.err == nil && len(e.b) > 0 {
		h := e.uint32()
		g := make([]uint16, e.count(2))
		for i := range g {
			g[i] = e.uint16() % places
		}
		if e.err == nil {
			s.paths[h] = s.join(g)
		}
	}
	if flags&4 != 0 {
		return
	}
	s.batch = append(s.batch, linear.Example{Features: address, Positive: flags&1 != 0})
	if len(s.batch) == batchSize {
		s.learn(func() { s.model.Learn(s.batch) })
		s.batch, s.taken = s.batch[:0], true
	}
}

// join finds or opens the arm of a path.
func (s *tagPath) join(path []uint16) int32 {
	// The vector counts each place; its dot product with a centroid is a sum
	// over the occurrences.
	square := 0.
	for i := 0; i < len(path); {
		k := i
		for k < len(path) && path[k] == path[i] {
			k++
		}
		square += float64((k - i) * (k - i))
		i = k
	}
	best, nearest := int32(-1), -1.
	for i := range s.arms {
		dot := 0.
		for _, place := range path {
			dot += s.arms[i].centroid[place]
		}
		if cos := ratio(dot, s.arms[i].norm*math.Sqrt(square)); cos > nearest {
			best, nearest = int32(i), cos
		}
	}
	if nearest < s.merge && len(s.arms) < s.maxArms {
		best = int32(len(s.arms))
		s.arms = append(s.arms, arm{centroid: make([]float64, places)})
	}
	a := &s.arms[best]
	for _, place := range path {
		a.centroid[place]++
	}
	a.measure()
	return best
}

// measure sets the norm of the centroid.
func (a *arm) measure() {
	square := 0.
	for _, x := range a.centroid {
		square += x * x
	}
	a.norm = math.Sqrt(square)
}

// Score is the value of the link's arm, a little more or less by chance; links
// whose address looks wanted have 10⁶ and their probability.
func (s *tagPath) Score(c *web.Candidate) float64 {
	if len(c.Features) != 4 {
		return 0
	}
	if s.first >= 0.5 {
		if p := s.wants(c.URL); p >= 0.5 {
			return wanted + p
		}
	}
	chance := 1e-3 * fraction(draw(s.seed, xxh3.HashString(c.URL.String())))
	a, ok := s.paths[binary.LittleEndian.Uint32(c.Features)]
	if !ok {
		return chance
	}
	n := float64(s.arms[a].n)
	return ratio(s.arms[a].reward, n) + s.explore*math.Sqrt(math.Log(float64(max(s.t, 1)))/(n+1e-6)) + chance
}

func (*tagPath) Rescores() bool               { return true }
func (s *tagPath) Restore(state []byte) error { return s.restore(state, s.apply) }

// appendSnapshot appends
//
//	fetches uvarint · bits of known links [knownBits/8] · 1 if the model has learnt byte · its parameters
//	batch: number byte, { 1 if positive byte · pairs uvarint, uint32 LE each }…
//	arms: number uvarint, { fetches uvarint · reward float64 · centroid: places uvarint, { place uint16 LE · count uvarint }… }…
//	paths by hash: number uvarint, { hash uint32 LE · arm uvarint }…
func (s *tagPath) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(s.t))
	for _, bits := range s.known {
		b = binary.LittleEndian.AppendUint64(b, bits)
	}
	b = append(b, digit(s.taken))
	b = wire.AppendFloat64s(b, s.model.Parameters())
	b = append(b, byte(len(s.batch)))
	for _, x := range s.batch {
		b = append(b, digit(x.Positive))
		b = binary.AppendUvarint(b, uint64(len(x.Features)))
		for _, f := range x.Features {
			b = binary.LittleEndian.AppendUint32(b, f)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.arms)))
	for _, a := range s.arms {
		b = binary.AppendUvarint(b, uint64(a.n))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(a.reward))
		taken := 0
		for _, x := range a.centroid {
			if x != 0 {
				taken++
			}
		}
		b = binary.AppendUvarint(b, uint64(taken))
		for place, x := range a.centroid {
			if x != 0 {
				b = binary.LittleEndian.AppendUint16(b, uint16(place))
				b = binary.AppendUvarint(b, uint64(x))
			}
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.paths)))
	for _, hash := range slices.Sorted(maps.Keys(s.paths)) {
		b = binary.LittleEndian.AppendUint32(b, hash)
		b = binary.AppendUvarint(b, uint64(s.paths[hash]))
	}
	return b
}

func (s *tagPath) readSnapshot(r *wire.Reader) {
	s.t = r.Number(math.MaxInt32)
	for i := range s.known {
		s.known[i] = r.Uint64()
	}
	s.taken = r.Byte() == 1
	if parameters := r.Float64s(); len(parameters) == 1+pairDim {
		s.model.SetParameters(parameters)
	} else {
		r.Fail("%d parameters", len(parameters))
	}
	for range min(r.Byte(), batchSize-1) {
		x := linear.Example{Positive: r.Byte() == 1, Features: make([]uint32, r.Count(4))}
		for i := range x.Features {
			x.Features[i] = r.Uint32() % pairDim
		}
		s.batch = append(s.batch, x)
	}
	s.arms = make([]arm, r.Number(uint64(s.maxArms)))
	for i := range s.arms {
		a := &s.arms[i]
		a.n, a.reward, a.centroid = r.Number(math.MaxInt32), r.Float64(), make([]float64, places)
		for range r.Count(3) {
			place := r.Uint16() % places
			a.centroid[place] = float64(r.Number(math.MaxInt32))
		}
		a.measure()
	}
	for range r.Count(5) {
		hash := r.Uint32()
		if arm := r.Number(math.MaxInt32); arm < len(s.arms) {
			s.paths[hash] = int32(arm)
		} else {
			r.Fail("a path of no arm")
		}
	}
}

func digit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
