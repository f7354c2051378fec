package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/learn/tagger"
	"github.com/waggle-crawler/waggle/web"
)

// The kinds of positions of a path, as the fields of Paths number them.
const (
	PathPage = 0
	PathLink = 1
)

// PathState is what a page is along a path: it bears a label, or lies before
// the page that bears it (section 1.2).
type PathState struct {
	Label  string
	Prefix bool
}

// String is "Goal" for a labelled page, "→Goal" for one on the way to it.
func (s PathState) String() string {
	if s.Prefix {
		return "→" + s.Label
	}
	return s.Label
}

// Paths is what labelled paths through sites teach: which page is which, what
// the links to it look like, and what each state is worth.
//
// Source: Vydiswaran & Sarawagi 2005.
type Paths struct {
	// Words are the tokens of pages and links (section 4.2). Feature 0 is the bias,
	// feature i+1 says that word i is there.
	Words *feature.Lexicon
	// PageTokens is how many tokens of a page are read, Meta whether those of its meta
	// elements are among them, and Tagged whether those of links tell where they stand.
	PageTokens   int
	Meta, Tagged bool
	// States of pages, [P]; link-states are those of the pages they lead to.
	States []PathState
	// Goal and Fail are places in States; −1 = no path has it.
	Goal, Fail int
	// Field is model A, with states of pages alone and link features on arcs,
	// or model B, with page-states and link-states (sections 2.4.1 and 2.4.2).
	Field *tagger.Weights
	// Alone classifies a page or a link by itself: maximum entropy over the
	// states of each (section 4.3.2).
	Alone *tagger.Weights
	// Printed is the reward of each state of Field by equations 3 to 5, and
	// Discounted the probability of reaching a goal, discounted by the pages on the
	// way (V of package train); both in [0,1].
	Printed, Discounted []float64
	// Onward is how often paths went on from a page of each state, [P], in (0,1)
	// by Laplace's rule: from a goal or a wrong turn they seldom do.
	Onward []float64
	// Claims tell goals by all their words; nil where there was too little to learn
	// from, and in files of earlier versions.
	Claims *Claims
}

// Dual tells whether pages and links have states of their own: model B.
func (p *Paths) Dual() bool { return len(p.Field.Kinds) == 2 }

// Page is what a page shows.
func (p *Paths) Page(page *web.Page) sparse.Vector {
	var room [128]string
	return p.observe(feature.PageTokens(room[:0], page, p.PageTokens, p.Meta))
}

// Link is what a link shows.
func (p *Paths) Link(l *web.Link) sparse.Vector {
	var room [64]string
	return p.observe(feature.TrailTokens(room[:0], l, p.Tagged))
}

func (p *Paths) observe(tokens []string) sparse.Vector {
	v := make(sparse.Vector, 1, 1+len(tokens))
	v[0] = sparse.Entry{ID: 0, Value: 1}
	for _, e := range p.Words.Counts(tokens) {
		v = append(v, sparse.Entry{ID: e.ID + 1, Value: 1})
	}
	return v
}

// MarshalBinary writes a model as
//
//	lexicon                     string
//	page tokens                 count
//	tagged + 2·meta             count
//	states                      count · { label string · prefix count }…
//	goal + 1, fail + 1          count each
//	field, alone                weights each
//	printed, discounted, onward floats each
//	claims                      see appendClaims
//
//	weights: kinds, their states, features, features of arcs   count each
//	         allowed arcs                                      string of 0 and 1
//	         state, arc                                        floats each
func (p *Paths) MarshalBinary() ([]byte, error) {
	if err := p.verify(); err != nil {
		return nil, err
	}
	b, err := appendLexicon(nil, p.Words)
	if err != nil {
		return nil, err
	}
	b = binary.AppendUvarint(b, uint64(p.PageTokens))
	b = binary.AppendUvarint(b, flag(p.Tagged)|flag(p.Meta)<<1)
	b = binary.AppendUvarint(b, uint64(len(p.States)))
	for _, s := range p.States {
		b = wire.AppendString(b, s.Label)
		b = binary.AppendUvarint(b, flag(s.Prefix))
	}
	b = binary.AppendUvarint(b, uint64(p.Goal+1))
	b = binary.AppendUvarint(b, uint64(p.Fail+1))
	b = appendTagger(b, p.Field)
	b = appendTagger(b, p.Alone)
	b = wire.AppendFloat64s(b, p.Printed)
	b = wire.AppendFloat64s(b, p.Discounted)
	return appendClaims(wire.AppendFloat64s(b, p.Onward), p.Claims)
}

func flag(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

func appendTagger(b []byte, w *tagger.Weights) []byte {
	b = binary.AppendUvarint(b, uint64(len(w.Kinds)))
	for _, k := range w.Kinds {
		b = binary.AppendUvarint(b, uint64(k))
	}
	b = binary.AppendUvarint(b, uint64(w.Features))
	b = binary.AppendUvarint(b, uint64(w.ArcFeatures))
	b = binary.AppendUvarint(b, uint64(len(w.Allowed)))
	for _, is := range w.Allowed {
		b = append(b, byte(flag(is)))
	}
	b = wire.AppendFloat64s(b, w.State)
	return wire.AppendFloat64s(b, w.Arc)
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (p *Paths) UnmarshalBinary(b []byte) error {
	r := reader{wire.NewReader(b)}
	read := Paths{Words: r.lexicon()}
	read.PageTokens = r.Number(maxPageTokens)
	tokens := r.Number(3)
	read.Tagged, read.Meta = tokens&1 != 0, tokens&2 != 0
	for range r.Count(2) {
		label := r.String()
		read.States = append(read.States, PathState{label, r.Number(1) == 1})
	}
	read.Goal = r.Number(maxPathStates) - 1
	read.Fail = r.Number(maxPathStates) - 1
	read.Field, read.Alone = r.tagger(), r.tagger()
	read.Printed, read.Discounted, read.Onward = r.Float64s(), r.Float64s(), r.Float64s()
	read.Claims = r.claims()
	if err := r.End(); err != nil {
		return err
	}
	if err := read.verify(); err != nil {
		return err
	}
	*p = read
	return nil
}

func (r *reader) tagger() *tagger.Weights {
	w := &tagger.Weights{}
	for range r.Count(1) {
		w.Kinds = append(w.Kinds, r.Number(maxPathStates))
	}
	const most = 1 << 30
	w.Features, w.ArcFeatures = r.Number(most), r.Number(most)
	arcs := r.Take(r.Count(1))
	w.Allowed = make([]bool, len(arcs))
	for i, x := range arcs {
		if x > 1 {
			r.Fail("an arc that is neither allowed nor forbidden")
		}
		w.Allowed[i] = x == 1
	}
	w.State, w.Arc = r.Float64s(), r.Float64s()
	return w
}

const (
	maxPageTokens = 1 << 20
	maxPathStates = 1 << 9 // of pages
)

// verify says what makes a model useless.
func (p *Paths) verify() error {
	n := len(p.States)
	switch {
	case p.Words == nil || p.Field == nil || p.Alone == nil:
		return errors.New("words, a field and a classifier are needed")
	case n < 2 || n > maxPathStates:
		return fmt.Errorf("a model of %d states", n)
	case p.Goal < 0 || p.Goal >= n || p.Fail < -1 || p.Fail >= n:
		return errors.New("no state is the goal")
	case p.PageTokens < 0 || p.PageTokens > maxPageTokens:
		return fmt.Errorf("%d tokens of a page", p.PageTokens)
	}
	for i, w := range []*tagger.Weights{p.Field, p.Alone} {
		if err := w.Check(); err != nil {
			return err
		}
		single, dual := slices.Equal(w.Kinds, []int{n}), slices.Equal(w.Kinds, []int{n, n})
		if !dual && (i == 1 || !single) {
			return fmt.Errorf("%d states, and weights of %v", n, w.Kinds)
		}
		if w.Features != p.Words.Len()+1 {
			return fmt.Errorf("weights of %d observations with a vocabulary of %d", w.Features, p.Words.Len())
		}
	}
	if len(p.Onward) != n {
		return fmt.Errorf("%d shares of %d states", len(p.Onward), n)
	}
	for i, worth := range [][]float64{p.Printed, p.Discounted, p.Onward} {
		if i < 2 && len(worth) != p.Field.States() {
			return fmt.Errorf("%d rewards of %d states", len(worth), p.Field.States())
		}
		for _, x := range worth {
			if !(x >= 0 && x <= 1) {
				return fmt.Errorf("a state worth %v", x)
			}
		}
	}
	return p.Claims.verify()
}
