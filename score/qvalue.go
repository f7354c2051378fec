package score

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// qValue orders links by what their class (see linkClasses) is worth by Q-learning, in
// the course of the crawl:
//
//	Q(class) ← Q + (r + γ·max Q(links of the page fetched) − Q)/(n+1)
//
// with r = 1 for a relevant page, 0 for another, and n pages of the class so far, this one among them. A class
// without a page is worth the relevance of the page that holds the link.
//
// Source: Watkins, Learning from Delayed Rewards, 1989. "Like": rlspider is the crawler of
// Rennie & McCallum, 1999, which learns from whole sites before the crawl, and from the
// words of links; here all is learnt on the way, of thirty classes. The links of
// a page count whether or not they are new, as a scorer does not see the frontier.
type qValue struct {
	journal
	linkClasses
	gamma float64
	every int

	visits int
	pages  [classCount]uint32
	worth  [classCount]float64
}

var (
	_ Scorer    = (*qValue)(nil)
	_ Explainer = (*qValue)(nil)
)

func qValueSettings() []Setting {
	return []Setting{
		{Name: "gamma", Default: 0.5, Max: 0.99, Line: "γ: what a page is worth that is one link later"},
		{Name: "every", Default: 25, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew"},
	}
}

func newQValue(o Options) (Scorer, error) {
	q := &qValue{linkClasses: linkClasses{o.Page, o.Anchor}, gamma: o.set("gamma"), every: int(o.set("every"))}
	for class := range q.worth {
		q.worth[class] = relevanceOf(byte(class))
	}
	q.journal = newSnapshotJournal("q-value-like", o, q)
	return q, nil
}

// Visit learns from the page. The entry is
//
//	class byte · 1 if relevant, else 0 byte · classes of the links of the page uint32 LE, one bit each
func (q *qValue) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	class, ok := classOf(c)
	if p == nil || !ok {
		return nil
	}
	line := []byte{class, 0}
	if v.Relevant {
		line[1] = 1
	}
	var on uint32
	for _, k := range q.of(p, v) {
		on |= 1 << k
	}
	line = binary.LittleEndian.AppendUint32(line, on)
	if q.add(line) {
		q.apply(&entry{b: line})
		if q.visits%q.every == 0 {
			q.requestRescore()
		}
	}
	return nil
}

func (q *qValue) apply(e *entry) {
	class, reward, on := e.byte(), e.byte(), e.uint32()
	if class >= classCount || on >= 1<<classCount {
		e.err = errForeignClass
		return
	}
	best := 0.
	for ; on != 0; on &= on - 1 {
		best = max(best, q.worth[bits.TrailingZeros32(on)])
	}
	q.visits++
	q.pages[class]++
	q.worth[class] += (float64(reward) + q.gamma*best - q.worth[class]) / float64(q.pages[class]+1)
}

// Score is at least 0, and below 1/(1−γ). A seed has that.
func (q *qValue) Score(c *web.Candidate) float64 {
	if class, ok := classOf(c); ok {
		return q.worth[class]
	}
	return 1 / (1 - q.gamma)
}

// Explain names the class of the link, and of how many pages its worth was learnt.
func (q *qValue) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []Reason {
	class, ok := classOf(c)
	if !ok {
		return nil
	}
	came := fmt.Sprintf("learnt by pages of the class so far: %d", q.pages[class])
	if q.pages[class] == 0 {
		came = "the relevance of the page, as no page of the class was fetched"
	}
	return explainClass(class, came, q.worth[class])
}

func (*qValue) Rescores() bool               { return true }
func (q *qValue) Restore(state []byte) error { return q.restore(state, q.apply) }

// appendSnapshot appends
//
//	pages uvarint · pages uvarint, by class · worth float64 LE, by class
func (q *qValue) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(q.visits))
	for _, n := range q.pages {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return wire.AppendFloat64s(b, q.worth[:])
}

func (q *qValue) readSnapshot(r *wire.Reader) {
	q.visits = r.Number(math.MaxInt32)
	for i := range q.pages {
		q.pages[i] = uint32(r.Number(math.MaxInt32))
	}
	worth := r.Float64s()
	if len(worth) != classCount {
		r.Fail("%d classes of links", len(worth))
		return
	}
	for i, w := range worth {
		if !(w >= 0 && w <= 1/(1-q.gamma)) {
			r.Fail("a class of links is worth %v", w)
			return
		}
		q.worth[i] = w
	}
}
