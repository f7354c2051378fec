package score

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// waggle predicts how relevant the target of a link is, and learns from the
// targets that were fetched. It begins as best-first by page and anchor:
//
//	ln odds = bias + a·(relevance of the page) + b·(its similarity) + c·(similarity of the anchor)
//
// Each page that was fetched by a link is an example: the inputs of the link, labelled
// with the relevance of the page. The inputs are words of the anchor, of the address
// and of the heading above, and where the link stands and leads: host, folders and
// shape of the address, page, host and tag path of the link. So what links of one
// host, folder, block and words led to changes the scores of the others.
//
//	page judged ─► Extract: the inputs of its links wait with them in the frontier
//	target judged ─► Visit: an example ─► the weights of its inputs move
//	10 visits later, then at growing intervals ─► all that waits is scored anew
//
// The label is the relevance in [0,1], not whether it reaches the threshold: pages
// that nearly reach it are informative too. Each weight has a variance, which says how
// far an example moves it; see posterior. A weight that is seldom met stays near its
// first value, so that a few early pages change the order little.
//
// A fetch without a page is no example unless the setting failed says so. A
// redirect is one as well; where its target is fetched later, what the redirect
// counted is made good.
//
// With the setting renewals, where the judge judges the first pages otherwise as it gets to
// know the web, their examples get new labels, the weights are made anew of them, and their links go by the
// new verdicts: see Renew. With the setting turns, what waits goes by the first weights now and then:
// see alternation.
type waggle struct {
	journal
	analyzer text.Splitter
	page     func(*web.Page, web.Verdict) float64
	anchor   func(string) float64

	variance    [inputKinds]float32 // of hashed weights before anything was learnt
	failed      float64             // share of an example that a fetch without a page counts
	every       float64             // visits from one rescoring to the next, by the visits so far
	weights     *posterior
	alternation alternation
	first       firstWeights
	kept        []keptExample              // all so far, at most mostKept
	renewed     map[pageKey]renewedVerdict // of pages that hold links
	renews      bool                       // the setting renewals, with a judge whose verdicts count
	keepsNone   bool                       // no example is kept any more: renews is false or there were more than mostKept
	hosts       hostSet                    // hosts that were tried
	visits      int                        // calls of Visit, Label and Led, and entries learnt of other workers
	next        int                        // visits at which all that waits is scored anew

	scratch example // used again by Visit
}

var (
	_ Scorer    = (*waggle)(nil)
	_ Explainer = (*waggle)(nil)
)

// Bounds of the visits from one rescoring of all that waits to the next.
const (
	leastEvery = 10
	mostEvery  = 1000
)

// grain is the step of priorities, in logits. A link whose odds hardly changed keeps
// its priority, and so its place in the frontier: a place on disk costs far more than
// a score.
const grain = 1. / 16

func waggleSettings() []Setting {
	out := []Setting{
		{Name: "bias", Default: -3.5, Min: -20, Max: 20, Line: "log odds of a link without anything that speaks for it; of a crawl without a model, as the next four"},
		{Name: "relevance", Default: 1.5, Min: -20, Max: 20, Line: "first weight of the relevance of the page that holds the link"},
		{Name: "similarity", Default: 1.5, Min: -20, Max: 20, Line: "first weight of the judge's similarity of that page"},
		{Name: "anchor", Default: 3, Min: -20, Max: 20, Line: "first weight of the similarity of the anchor"},
		{Name: "dense", Default: 0.3, Max: 100, Line: "variance of the weights of inputs that mean the same on every web"},
		{Name: "failed", Default: 0, Max: 1, Line: "share of an example that a fetch without a page counts"},
		{Name: "renewals", Max: 1, Whole: true, Line: "1: where the judge judges early pages otherwise later, they are learnt anew and their links go by that; 0: by the first verdict"},
		{Name: "turns", Max: 1000, Whole: true, Line: "one turn of 10 pages in so many goes by the first weights, twice as many turns where they bring as much; 0: none"},
		{Name: "every", Default: 0.25, Min: 0.001, Max: 10, Line: "visits from one rescoring of all that waits to the next, as a share of the visits so far; at least 10, at most 1,000"},
	}
	for k := range inputKinds {
		out = append(out, Setting{
			Name: inputKindNames[k].setting, Default: 0.3, Max: 100,
			Line: "variance of weights of an input (" + inputKindNames[k].what + "); 0 leaves it out",
		})
	}
	return out
}

func newWaggle(o Options) (Scorer, error) {
	w := &waggle{
		analyzer: text.SplitterOf(o.Analyzer), page: o.Page, anchor: o.Anchor,
		failed: o.set("failed"), every: o.set("every"), next: leastEvery,
		hosts: newHostSet(), renews: o.judged && o.set("renewals") != 0,
		renewed: make(map[pageKey]renewedVerdict),
	}
	w.keepsNone = !w.renews
	for k := range inputKinds {
		w.variance[k] = float32(o.set(inputKindNames[k].setting))
	}
	w.weights = newPosterior()
	prior := make([]weight, denseInputs)
	for i := range prior {
		prior[i].variance = float32(o.set("dense"))
	}
	prior[inBias].mean = float32(o.set("bias"))
	prior[inRelevance].mean = float32(o.set("relevance"))
	prior[inSimilarity].mean = float32(o.set("similarity"))
	prior[inAnchor].mean = float32(o.set("anchor"))
	w.first.dense = prior
	if o.Model != nil {
		if err := w.beginWith(o.Model); err != nil {
			return nil, err
		}
	}
	w.weights.begin(&w.first)
	w.alternation = newAlternation(int(math.Round(o.set("turns"))), slices.Clone(w.first.dense))
	w.journal = newSnapshotJournal("waggle", o, w)
	return w, nil
}

// hostSet is a set of hashes; it may hold a few more than were put into it.
type hostSet []uint64

// hostBits is the size of a hostSet in bits: 128 KiB.
const hostBits = 1 << 20

func newHostSet() hostSet { return make(hostSet, hostBits/64) }

func (s hostSet) has(h uint32) bool {
	h %= hostBits
	return s[h/64]>>(h%64)&1 == 1
}

func (s hostSet) add(h uint32) {
	h %= hostBits
	s[h/64] |= 1 << (h % 64)
}

// Visit learns what c led to, and returns the path to the links of the page:
//
//	trail byte · depth byte
//
// The trail is the similarity of the page and, each half as much as the one after
// it, of the pages on the path to it, in 1/255; the depth is in links from a seed,
// at most 10. The entry is
//
//	relevance in 1/255 byte · flags byte · trail and depth of c, one byte each
//	hash of its host uint32 LE · hash of the page's address uint64 LE, with flagNamed · features of c
//
// Without the hash an example keeps its label. Before it comes a renewal where the page was
// renewed and has another verdict this time.
func (w *waggle) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		w.record(c, 0, flagNoPage, web.URL{})
		return nil
	}
	w.renewIfChanged(p.URL, verdictOf(v))
	var named web.URL
	if !w.keepsNone {
		named = p.URL
	}
	w.record(c, quantize(w.page(p, v)), redirected(c), named)
	return w.Recall(c, p, v)
}

// Label teaches the relevance that a person gave a page, or the similarity that Visit would, as one
// more visit of it. That label stays.
func (w *waggle) Label(c *web.Candidate, p *web.Page, v web.Verdict, judged bool) {
	relevance := v.Relevance
	if judged {
		relevance = w.page(p, v)
	}
	w.record(c, quantize(relevance), redirected(c), web.URL{})
}

// Led teaches the worth of a page by what it led to, as one more visit of it.
func (w *waggle) Led(c *web.Candidate, worth float64) { w.record(c, quantize(worth), 0, web.URL{}) }

// record adds an entry to the journal and learns from it. page may be zero.
func (w *waggle) record(c *web.Candidate, relevance, flags byte, page web.URL) {
	b := make([]byte, 0, exampleHead+8+len(c.Features))
	trail, depth := pathOf(c)
	b = append(b, relevance, flags, trail, depth)
	b = binary.LittleEndian.AppendUint32(b, uint32(xxh3.HashString(string(c.URL.Host()))))
	if !page.IsZero() {
		b[1] |= flagNamed
		b = binary.LittleEndian.AppendUint64(b, xxh3.HashString(page.String()))
	}
	b = append(b, c.Features...)
	if w.add(b) {
		byFirst := w.alternation.byFirst
		if w.apply(&entry{b: b}); w.visits == w.next || w.alternation.byFirst != byFirst {
			w.requestRescore()
		}
	}
}

// Flags of an entry. An example has flagNoPage, flagRedirected or none, and may have
// flagNamed; flagRenewal stands alone.
const (
	flagNoPage     = 1 << iota // the fetch brought no page
	flagRedirected             // the page came after a redirect
	flagNamed                  // the hash of the page follows
	flagRenewal                // the entry is a renewal and no example: see Renew
)

// visitHead is the number of bytes of an example before the hash of the page, if it has
// one, and the features.
const exampleHead = 8

func redirected(c *web.Candidate) byte {
	if c.Redirects > 0 {
		return flagRedirected
	}
	return 0
}

// Recall is the path, which does not depend on what was learnt.
func (w *waggle) Recall(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	if p == nil {
		return nil
	}
	s, depth := unit(v.Similarity), byte(1)
	if len(c.Memory) == 2 {
		s = (s + float64(c.Memory[0])/255) / 2
		depth = min(10, c.Memory[1]+1)
	}
	return []byte{quantize(s), depth}
}

// pathOf reads what Visit gave; both are 0 for a seed.
func pathOf(c *web.Candidate) (trail, depth byte) {
	if len(c.Memory) != 2 {
		return 0, 0
	}
	return c.Memory[0], min(10, c.Memory[1])
}

// apply learns from an entry of the journal.
func (w *waggle) apply(e *entry) {
	if isRenewal(e.b) {
		w.applyRenewal(e)
		return
	}
	x := keptExample{relevance: e.byte(), flags: e.byte(), trail: e.byte(), depth: e.byte()}
	host := e.uint32()
	if x.flags&flagNamed != 0 {
		x.flags &^= flagNamed
		x.page = e.uint64()
	}
	x.features = e.rest()
	if e.err != nil {
		return
	}
	if x.flags > flagRedirected || len(x.features) > 0 && !w.read(&w.scratch, x.features, x.trail, x.depth) {
		e.err = errors.New("score: an example that is none")
		return
	}
	if share := w.share(x.flags); len(x.features) > 0 && share > 0 {
		w.weights.learn(&w.scratch, float64(x.relevance)/255, share)
		w.keep(x)
	}
	if x.flags != flagNoPage {
		w.alternation.observe(float64(x.relevance) / 255)
	}
	w.hosts.add(host)
	if w.visits == w.next { // that rescoring was asked for; this sets the following one
		w.next += int(max(leastEvery, min(mostEvery, float64(w.visits)*w.every)))
	}
	w.visits++
}

// share is how many examples a fetch with these flags counts.
func (w *waggle) share(flags byte) float64 {
	switch flags {
	case flagNoPage:
		return w.failed
	case flagRedirected:
		return 1 + w.failed // makes good what the redirect counted
	}
	return 1
}

// Score is the logit of the relevance expected of the target, a multiple of grain; a
// seed has 0.
func (w *waggle) Score(c *web.Candidate) float64 {
	trail, depth := pathOf(c)
	return math.Round(w.logit(c.Features, trail, depth)/grain) * grain
}

// Learn takes in an entry of another worker's journal, as if this one had recorded it.
func (w *waggle) Learn(lesson []byte) error {
	e := entry{b: lesson}
	if len(lesson) == 0 {
		return errEntry
	}
	byFirst := w.alternation.byFirst
	if w.apply(&e); e.err != nil {
		return e.err
	}
	w.journal.addForeign(lesson)
	if w.visits == w.next || w.alternation.byFirst != byFirst || isRenewal(lesson) {
		w.requestRescore()
	}
	return nil
}

// Steady tells that several goroutines may call Score at a time.
func (*waggle) Steady()                      {}
func (*waggle) Rescores() bool               { return true }
func (w *waggle) Restore(state []byte) error { return w.restore(state, w.apply) }

// appendSnapshot appends
//
//	visits uvarint · next uvarint · hosts asked [hostBits/8] · dense weights { mean, variance float32 LE }
//	hashed weights that were met: number uvarint, { gap uvarint · mean, variance float32 LE }…
//	alternation, where next has alternationFollows added, as its appendState has it
//	renewed verdicts and kept examples, as appendRenewed and appendKept have them
//
// A gap is the number of weights before it, from the last one that was met. Snapshots of
// earlier versions, and those without the setting renewals, end before the verdicts: of
// those nothing is renewed.
func (w *waggle) appendSnapshot(b []byte) []byte {
	put := func(x weight) {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x.mean))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x.variance))
	}
	b = binary.AppendUvarint(b, uint64(w.visits))
	next := uint64(w.next)
	if w.alternation.dense != nil {
		next += alternationFollows
	}
	b = binary.AppendUvarint(b, next)
	for _, bits := range w.hosts {
		b = binary.LittleEndian.AppendUint64(b, bits)
	}
	for _, x := range w.weights.dense {
		put(x)
	}
	met := 0
	for range w.weights.met() {
		met++
	}
	b = binary.AppendUvarint(b, uint64(met))
	free := uint32(0)
	for place, x := range w.weights.met() {
		b = binary.AppendUvarint(b, uint64(place-free))
		put(x)
		free = place + 1
	}
	if w.alternation.dense != nil {
		b = w.alternation.appendState(b)
	}
	return w.appendKept(w.appendRenewed(b))
}

func (w *waggle) readSnapshot(r *wire.Reader) {
	get := func() weight {
		x := weight{math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())}
		if m, v := float64(x.mean), float64(x.variance); !(math.Abs(m) < 1e6 && v >= 0 && v < 1e6) {
			r.Fail("a weight of %v ± %v", m, v)
		}
		return x
	}
	w.visits, w.next = r.Number(math.MaxInt32), r.Number(math.MaxInt32)
	follow := w.next >= alternationFollows
	if follow {
		w.next -= alternationFollows
	}
	for i := range w.hosts {
		w.hosts[i] = r.Uint64()
	}
	for i := range w.weights.dense {
		w.weights.dense[i] = get()
	}
	at := 0
	for range r.Count(9) {
		at += r.Number(1 << tableBits)
		if at >= 1<<tableBits {
			r.Fail("a place behind the table")
			return
		}
		w.weights.setHashed(uint32(at), get())
		at++
	}
	if follow {
		w.alternation.readState(r)
	}
	w.readRenewed(r)
	w.readKept(r)
}
