package score

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// apprentice learns while it crawls what stands around links that lead to
// relevant pages. The critic, which is the crawl's judge, gives R(u) = Pr(c*|u)
// of each fetched page u; a link (u,v) whose target v was fetched is an
// example: what stood around it on u, and how relevant v turned out.
//
//	u fetched ─► features of (u,v) wait with v in the frontier
//	v fetched ─► example: these features, Pr(c*|v)
//	enough examples ─► trained, everything that waits scored anew
//
// # What it sees of a link (A4, A5)
//
// The leaves of u's tree are numbered from left to right, those without text
// too. Leaves of the anchor's subtree ℓ…r are at offset 0, a leaf μ left of it
// at μ−ℓ, one to its right at μ−r. Every word t at an offset |d| ≤ dmax is a
// feature ⟨t,d⟩. With a taxonomy, so are the names of the classes that u
// belongs to, with all that stands above them. With cocitation so is ⟨HIGH,d⟩
// or ⟨LOW,d⟩ of links at most dmax away whose targets were fetched.
//
// # What it learns (A6)
//
// Naive Bayes of two classes, of links to targets of high and of low relevance,
// parted at ½ or at the median of those seen:
//
//	θ_{c,τ} = (1 + Σ_{u∈V_c} n(u,τ)) / (|T| + Σ_{u∈V_c,τ'} n(u,τ'))
//
// The priority is the logarithm of the odds of high: in the order of Pr(high),
// and not 1 for all that is nearly so. Until it has been trained it is R(u), as
// in the crawl of the critic alone (A1).
//
// Source: Chakrabarti, Punera & Subramanyam, Accelerated Focused Crawling
// through Online Relevance Feedback, 2002. Their online protocol (A10) is the
// defaults with start = every = 5,200; the features of a link are those of the
// in-link that brought it its priority.
type apprentice struct {
	journal
	analyzer *text.Analyzer
	page     func(*web.Page, web.Verdict) float64
	classes  func(*web.Page) []string
	reach    int // dmax
	plain    bool
	cocite   bool
	boundary int
	shares   bool
	inherit  float64
	words    float64
	online   bool
	start    int
	every    int

	visits   int // pages
	examples []example
	counted  int // examples in counts
	counts   bayesCounts
	odds     map[uint32]float32 // ln θ_high/θ_low of the features seen; nil before the first training
	prior    float64            // ln of the odds of the classes
	fetched  map[uint32]bool    // of addresses, by hash: whether high; with cocitation only
}

// example is a link that was followed.
type example struct {
	relevance byte   // of its target, in 1/255
	relevant  bool   // by the judge
	features  []byte // uint32 LE each
}

// bayesCounts are what naive Bayes is made of, by class, low first: links, Σ n
// of all features, and n(·,τ) of each.
type bayesCounts struct {
	links, sum [2]int
	of         map[uint32][2]uint32
}

const (
	leafWords       = 24  // of a leaf, those nearest to the link
	apprenticeWords = 160 // of a link, those at the least offsets
	citedLinks      = 64  // of a page, whose outcome its other links are told
	leastExamples   = 5   // of each class, before anything is learned
)

// Seeds of the hashes of features, beside offsets, which are −10…10.
const (
	saltPlain = 100 + iota
	saltClass
	saltCited
)

var _ Scorer = (*apprentice)(nil)

func apprenticeSettings(tempered bool) []Setting {
	boundary, inherit, words := 0., 0., 0.
	if tempered {
		boundary, inherit, words = 1, 1, 10
	}
	return []Setting{
		{"dmax", 5, 0, 10, "how many leaves away from a link words count"},
		{"plain", 0, 0, 1, "1 takes words without their offsets"},
		{"cocitation", 0, 0, 1, "1 takes the outcomes of links near by"},
		{"boundary", boundary, 0, 2, "targets are high 0: from ½ on, 1: above their median, 2: where the judge says relevant"},
		{"inherit", inherit, 0, 100, "weight of the log odds of R(u), which the apprentice as printed does not look at"},
		{"words", words, 0, 1000, "words that a link's evidence counts at most as, 0 = as many as there are"},
		{"smoothing", 0, 0, 1, "0: 1 is added to each count, as printed; 1: its share among all links"},
		{"online", 1, 0, 1, "0 learns nothing: the model given is used as it is"},
		{"start", 50, 1, 1e6, "pages before it is trained first"},
		{"every", 25, 1, 1e6, "pages from one training to the next"},
		journalSetting(),
	}
}

func newApprentice(o Options) (Scorer, error) {
	a := &apprentice{
		journal: newJournal("apprentice", o), analyzer: o.Analyzer, page: o.Page, classes: o.Classes,
		reach: int(o.set("dmax")), plain: o.set("plain") >= 0.5, cocite: o.set("cocitation") >= 0.5,
		boundary: int(o.set("boundary")), shares: o.set("smoothing") >= 0.5, inherit: o.set("inherit"), words: o.set("words"), online: o.set("online") >= 0.5,
		start: int(o.set("start")), every: int(o.set("every")),
		counts: bayesCounts{of: make(map[uint32][2]uint32)},
	}
	if a.cocite {
		a.fetched = make(map[uint32]bool)
	}
	return a, nil
}

// Extract gives of each link
//
//	R(u) in 1/255 byte · first leaf uint32 LE · last leaf uint32 LE · { feature uint32 LE }…
//
// The leaves are there with cocitation alone. Features come by offset, nearest
// first, with their repetitions.
func (a *apprentice) Extract(p *web.Page, v web.Verdict) [][]byte {
	out := make([][]byte, len(p.Links))
	relevance := byte(unit(a.page(p, v))*255 + 0.5)
	var classes []uint32
	if a.classes != nil {
		for _, name := range a.classes(p) {
			classes = append(classes, featureID(name, saltClass))
		}
	}
	words := leafWordsOf{a: a, p: p, of: make(map[int][]string)}
	ids := make([]uint32, 0, apprenticeWords)
	for i := range p.Links {
		l := &p.Links[i]
		ids = append(ids[:0], classes...)
		words.around(l, func(word string, offset int) bool {
			ids = append(ids, a.wordFeature(word, offset))
			return len(ids) < apprenticeWords
		})
		f := make([]byte, 0, 1+8+4*len(ids))
		f = append(f, relevance)
		if a.cocite {
			f = binary.LittleEndian.AppendUint32(f, uint32(l.First))
			f = binary.LittleEndian.AppendUint32(f, uint32(l.Last))
		}
		for _, id := range ids {
			f = binary.LittleEndian.AppendUint32(f, id)
		}
		out[i] = f
	}
	return out
}

// featureID is the number of a feature: a hash of what it is and where.
func featureID(what string, salt int) uint32 {
	return uint32(xxh3.HashStringSeed(what, uint64(int64(salt))))
}

func (a *apprentice) wordFeature(word string, offset int) uint32 {
	if a.plain {
		offset = saltPlain
	}
	return featureID(word, offset)
}

// leafWordsOf reads the words of a page's leaves, each leaf once.
type leafWordsOf struct {
	a  *apprentice
	p  *web.Page
	of map[int][]string
}

func (w *leafWordsOf) leaf(i int) []string {
	words, ok := w.of[i]
	if !ok {
		words = w.a.analyzer.Words(w.p.Leaves[i].Text)
		w.of[i] = words
	}
	return words
}

// around gives the words of a link by offset, 0, −1, 1, −2, …, until take wants
// no more. A link that has no place among the leaves has its anchor's words.
func (w *leafWordsOf) around(l *web.Link, take func(word string, offset int) bool) {
	if l.First > l.Last || l.Last >= len(w.p.Leaves) || l.First < 0 {
		for _, word := range w.a.analyzer.Words(l.Anchor) {
			if !take(word, 0) {
				return
			}
		}
		return
	}
	for i := l.First; i <= l.Last; i++ {
		words := w.leaf(i)
		for _, word := range words[:min(len(words), leafWords)] {
			if !take(word, 0) {
				return
			}
		}
	}
	for d := 1; d <= w.a.reach; d++ {
		if i := l.First - d; i >= 0 {
			words := w.leaf(i)
			for _, word := range words[max(0, len(words)-leafWords):] {
				if !take(word, -d) {
					return
				}
			}
		}
		if i := l.Last + d; i < len(w.p.Leaves) {
			words := w.leaf(i)
			for _, word := range words[:min(len(words), leafWords)] {
				if !take(word, d) {
					return
				}
			}
		}
	}
}

// place is where a link stands among the leaves of its page.
type place struct{ first, last int }

// offset is that of o seen from l, 0 where they overlap.
func (l place) offset(o place) int {
	switch {
	case o.last < l.first:
		return o.last - l.first
	case o.first > l.last:
		return o.first - l.last
	}
	return 0
}

// read parts a candidate's features; ok is false where there are none, as for
// a seed.
func (a *apprentice) read(c *web.Candidate) (relevance byte, at place, features []byte, ok bool) {
	b := c.Features
	if len(b) == 0 {
		return 0, place{}, nil, false
	}
	relevance, b = b[0], b[1:]
	if a.cocite {
		if len(b) < 8 {
			return 0, place{}, nil, false
		}
		at = place{int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))}
		b = b[8:]
	}
	return relevance, at, b, true
}

// features calls do with each feature of a candidate.
func (a *apprentice) features(c *web.Candidate, do func(id uint32)) {
	_, at, b, ok := a.read(c)
	if !ok {
		return
	}
	for ; len(b) >= 4; b = b[4:] {
		do(binary.LittleEndian.Uint32(b))
	}
	if !a.cocite {
		return
	}
	for m := c.Memory; len(m) >= 9; m = m[9:] {
		o := place{int(binary.LittleEndian.Uint32(m)), int(binary.LittleEndian.Uint32(m[4:]))}
		if d := at.offset(o); d != 0 && max(d, -d) <= a.reach {
			do(citedFeature(m[8] == 1, d))
		}
	}
}

func citedFeature(high bool, d int) uint32 {
	if high {
		return featureID(fmt.Sprint("HIGH", d), saltCited)
	}
	return featureID(fmt.Sprint("LOW", d), saltCited)
}

// Visit takes down an example, and with cocitation tells the links of the page
// which of them led where. The entry is
//
//	Pr(c*|v) in 1/255 byte · flags byte · [ hash of the address uint32 LE ] · { feature uint32 LE }…
//
// flags: 1 an example, 2 with the hash, 4 relevant. The memory is
//
//	{ first leaf uint32 LE · last leaf uint32 LE · 1 if high byte }…
func (a *apprentice) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	entryOf := []byte{byte(unit(a.page(p, v))*255 + 0.5), 0}
	if v.Relevant {
		entryOf[1] |= 4
	}
	if a.cocite {
		entryOf[1] |= 2
		entryOf = binary.LittleEndian.AppendUint32(entryOf, addressHash(c.URL))
	}
	if len(c.Features) > 0 {
		entryOf[1] |= 1
		a.features(c, func(id uint32) { entryOf = binary.LittleEndian.AppendUint32(entryOf, id) })
	}
	if a.online && a.add(entryOf) {
		if a.apply(&entry{b: entryOf}); a.batchEnds() && a.odds != nil {
			a.ask()
		}
	}
	if !a.cocite {
		return nil
	}
	var memory []byte
	for i := range p.Links {
		l := &p.Links[i]
		if high, ok := a.fetched[addressHash(l.URL)]; ok && l.First <= l.Last && len(memory) < 9*citedLinks {
			memory = binary.LittleEndian.AppendUint32(memory, uint32(l.First))
			memory = binary.LittleEndian.AppendUint32(memory, uint32(l.Last))
			memory = append(memory, 0)
			if high {
				memory[len(memory)-1] = 1
			}
		}
	}
	return memory
}

func addressHash(u web.URL) uint32 { return uint32(xxh3.HashString(u.String())) }

// apply learns from an entry of the journal, and trains when it is time.
func (a *apprentice) apply(e *entry) {
	relevance, flags := e.byte(), e.byte()
	if flags&2 != 0 {
		if h := e.uint32(); a.cocite {
			a.fetched[h] = flags&4 != 0
		}
	}
	features := e.rest()
	if flags > 7 || len(features)%4 != 0 || flags&1 == 0 && len(features) > 0 {
		e.err = errors.New("score: an example that is none")
		return
	}
	if flags&1 != 0 {
		a.examples = append(a.examples, example{relevance, flags&4 != 0, slices.Clone(features)})
	}
	a.visits++
	if a.batchEnds() {
		a.learn(a.train)
	}
}

// batchEnds tells whether the page last seen ends a batch.
func (a *apprentice) batchEnds() bool { return a.visits >= a.start && (a.visits-a.start)%a.every == 0 }

// train counts the examples and makes the odds anew, if both classes have
// enough.
func (a *apprentice) train() {
	high := func(x example) bool { return x.relevance > 127 }
	switch a.boundary {
	case 2:
		high = func(x example) bool { return x.relevant }
	case 1:
		// The boundary moves, so all is counted again.
		var relevances []byte
		for _, x := range a.examples {
			relevances = append(relevances, x.relevance)
		}
		slices.Sort(relevances)
		if len(relevances) > 0 {
			median := relevances[len(relevances)/2]
			high = func(x example) bool { return x.relevance > median }
		}
		a.counts, a.counted = bayesCounts{of: make(map[uint32][2]uint32)}, 0
	}
	for _, x := range a.examples[a.counted:] {
		a.counts.add(x, high(x))
	}
	a.counted = len(a.examples)
	if a.boundary != 1 {
		a.examples, a.counted = nil, 0
	}
	if n := a.counts.links; min(n[0], n[1]) >= leastExamples {
		a.odds, a.prior = a.counts.odds(a.shares)
	}
}

func (n *bayesCounts) add(x example, high bool) {
	class := 0
	if high {
		class = 1
	}
	n.links[class]++
	for f := x.features; len(f) >= 4; f = f[4:] {
		id := binary.LittleEndian.Uint32(f)
		of := n.of[id]
		of[class]++
		n.of[id] = of
		n.sum[class]++
	}
}

// odds are ln θ_high/θ_low of each feature (A6), and ln of |V_high|/|V_low|.
func (n *bayesCounts) odds(shares bool) (map[uint32]float32, float64) {
	//   θ_{c,τ} = (1 + n_c(τ)) / (|T| + Σ_τ' n_c(τ'))
	out := make(map[uint32]float32, len(n.of))
	size := float64(len(n.of))
	sums := math.Log((size + float64(n.sum[0])) / (size + float64(n.sum[1])))
	for id, of := range n.of {
		if shares {
			q := float64(of[0]+of[1]) / float64(n.sum[0]+n.sum[1]) * 50
			out[id] = float32(math.Log((float64(of[1])+q)/(float64(of[0])+q)) + math.Log(float64(n.sum[0]+50)/float64(n.sum[1]+50)))
			continue
		}
		out[id] = float32(math.Log(float64(1+of[1])/float64(1+of[0])) + sums)
	}
	return out, math.Log(float64(n.links[1]) / float64(n.links[0]))
}

// Score is R(u) in [0,1] before it is trained, and then
//
//	ln Pr(high|link)/Pr(low|link) = ln |V_high|/|V_low| + Σ_τ n(τ) ln θ_high,τ/θ_low,τ
//
// A feature never seen says nothing.
func (a *apprentice) Score(c *web.Candidate) float64 {
	relevance, _, _, ok := a.read(c)
	if !ok {
		return 0
	}
	if a.odds == nil {
		return float64(relevance) / 255
	}
	score, n := 0., 0.
	a.features(c, func(id uint32) {
		if o, ok := a.odds[id]; ok {
			score += float64(o)
			n++
		}
	})
	if a.words > 0 && n > a.words {
		score *= a.words / n
	}
	r := (float64(relevance) + 0.5) / 256
	return a.prior + score + a.inherit*math.Log(r/(1-r))
}

func (*apprentice) Rescores() bool               { return true }
func (a *apprentice) Restore(state []byte) error { return a.restore(state, a.apply) }
