package score

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// thompson orders links by Thompson's sampling: each class of links (see linkClasses) is an
// arm of a bandit, and the priority of a link is a sample of what the chance of a
// relevant page may be there,
//
//	Beta(1+good, 1+bad)    good relevant and bad other pages of the class so far
//
// drawn anew whenever the class gave a page. Links of a class leave in the order found.
//
// Source: Thompson, On the Likelihood that One Unknown Probability Exceeds Another in View
// of the Evidence of Two Samples, 1933. "Like": it is no crawler of a paper; those that
// sample so for crawls revisit known pages, and have no classes of links.
type thompson struct {
	journal
	linkClasses
	every int
	mean  bool
	seed  uint64

	visits int
	arms   [classCount]hostTally
}

var (
	_ Scorer    = (*thompson)(nil)
	_ Explainer = (*thompson)(nil)
)

func thompsonSettings() []Setting {
	return []Setting{
		{Name: "mean", Max: 1, Whole: true, Line: "1 takes the mean (1+good)/(2+good+bad) instead of a sample"},
		{Name: "every", Default: 25, Min: 1, Max: 1e6, Whole: true, Line: "pages after which all that waits is scored anew"},
	}
}

func newThompson(o Options) (Scorer, error) {
	t := &thompson{
		linkClasses: linkClasses{o.Page, o.Anchor}, every: int(o.set("every")), mean: o.set("mean") >= 0.5, seed: o.Seed,
	}
	t.journal = newSnapshotJournal("thompson-like", o, t)
	return t, nil
}

// Visit counts the page for the class of its link. The entry is
//
//	class byte · 1 if relevant, else 0 byte
func (t *thompson) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	class, ok := classOf(c)
	if p == nil || !ok {
		return nil
	}
	line := []byte{class, 0}
	if v.Relevant {
		line[1] = 1
	}
	if t.add(line) {
		t.apply(&entry{b: line})
		if t.visits%t.every == 0 {
			t.requestRescore()
		}
	}
	return nil
}

func (t *thompson) apply(e *entry) {
	class, good := e.byte(), e.byte()
	if class >= classCount {
		e.err = errForeignClass
		return
	}
	if t.visits++; good == 1 {
		t.arms[class].good++
	} else {
		t.arms[class].bad++
	}
}

// Score is in [0,1]. A seed has 1.
func (t *thompson) Score(c *web.Candidate) float64 {
	class, ok := classOf(c)
	if !ok {
		return 1
	}
	good, bad := float64(t.arms[class].good), float64(t.arms[class].bad)
	if t.mean {
		return (1 + good) / (2 + good + bad)
	}
	return beta(draw(t.seed, uint64(class), uint64(good+bad)), 1+good, 1+bad)
}

// Explain names the class of the link, and what its pages were.
func (t *thompson) Explain(_ *web.Page, _ web.Verdict, _ int, c *web.Candidate) []Reason {
	class, ok := classOf(c)
	if !ok {
		return nil
	}
	by := "drawn at random by"
	if t.mean {
		by = "the mean by"
	}
	a := t.arms[class]
	return explainClass(class, fmt.Sprintf("%s pages of the class so far: %d relevant, %d not", by, a.good, a.bad), t.Score(c))
}

func (*thompson) Rescores() bool               { return true }
func (t *thompson) Restore(state []byte) error { return t.restore(state, t.apply) }

// appendSnapshot appends
//
//	pages uvarint · { good, bad uvarint }… by class
func (t *thompson) appendSnapshot(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.visits))
	for _, a := range t.arms {
		b = binary.AppendUvarint(b, uint64(a.good))
		b = binary.AppendUvarint(b, uint64(a.bad))
	}
	return b
}

func (t *thompson) readSnapshot(r *wire.Reader) {
	t.visits = r.Number(math.MaxInt32)
	for i := range t.arms {
		t.arms[i] = hostTally{uint32(r.Number(math.MaxInt32)), uint32(r.Number(math.MaxInt32))}
	}
}
