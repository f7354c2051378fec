package model_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/tagger"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// pathsOf is a model of two states, dual or not.
func pathsOf(dual bool) *model.Paths {
	m := &model.Paths{
		PageTokens: 10, Tagged: true, Goal: 1, Fail: -1,
		States: []model.PathState{{Label: "Goal", Prefix: true}, {Label: "Goal"}},
		Words:  feature.CountWords(2, 1, func(i int) []string { return []string{"page:bee", "anchor:honey"}[i : i+1] }, nil),
		Onward: []float64{0.75, 0.25},
	}
	kinds, arcs := []int{2}, 3
	if dual {
		kinds, arcs = []int{2, 2}, 1
	}
	weights := func(kinds []int, arcs int) *tagger.Weights {
		n := 2 * len(kinds)
		s := tagger.Shape{Kinds: kinds, Features: 3, ArcFeatures: arcs, Allowed: make([]bool, n*n)}
		for i := range s.Allowed {
			s.Allowed[i] = i%3 != 0
		}
		w := tagger.NewWeights(s)
		for i := range w.State {
			w.State[i] = math.Sin(float64(i))
		}
		return w
	}
	m.Field, m.Alone = weights(kinds, arcs), weights([]int{2, 2}, 0)
	for range m.Field.States() {
		m.Printed, m.Discounted = append(m.Printed, 0.5), append(m.Discounted, 0.25)
	}
	return m
}

// claimsOf knows two words: bee speaks for a goal, steel against it.
func claimsOf() *model.Claims {
	words := feature.CountWords(1, 1, func(int) []string { return []string{"bee", "steel"} }, nil)
	return &model.Claims{Words: words, Weights: []float64{-1, 4, -2}, Slope: 0.5, Offset: 0.25}
}

// The odds of a page: the bias, and the words that are known, by the root of their number.
func TestClaimOdds(t *testing.T) {
	for want, words := range map[float64][]string{-1: {"clay"}, 3: {"bee", "clay"}, -1 + 2/math.Sqrt2: {"bee", "steel"}} {
		p := &web.Page{}
		for _, w := range words {
			p.Terms = append(p.Terms, web.Term{Text: w, Body: 3})
		}
		if got := claimsOf().Odds(p); math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %v, by hand %v", words, got, want)
		}
	}
	p := &web.Page{Terms: []web.Term{{Text: "bee", Head: 1, Body: 1}, {Text: "wax", Body: 1}}}
	if got := model.ClaimWords(nil, p); !reflect.DeepEqual(got, []string{"bee", "^bee", "wax"}) {
		t.Errorf("words %q", got)
	}
}

// Models A and B come back as they were; what cannot be used is not written.
func TestPaths(t *testing.T) {
	for _, dual := range []bool{false, true} {
		m := pathsOf(dual)
		m.Meta = dual
		before, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if dual {
			m.Claims = claimsOf()
		}
		b, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back model.Paths
		if err := back.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		again, err := back.MarshalBinary()
		if err != nil || !reflect.DeepEqual(again, b) || back.Dual() != dual || back.Meta != dual || !back.Tagged {
			t.Errorf("came back as %+v, %v", back, err)
		}
		if dual && !reflect.DeepEqual(back.Claims, m.Claims) {
			t.Errorf("claims came back as %+v", back.Claims)
		}
		for i := range b {
			if i == len(before)-1 {
				continue // a file that was written before there were claims
			}
			if err := new(model.Paths).UnmarshalBinary(b[:i]); err == nil {
				t.Fatalf("%d of %d bytes are a model", i, len(b))
			}
		}
	}
	for what, spoil := range map[string]func(*model.Paths){
		"no goal":             func(m *model.Paths) { m.Goal = -1 },
		"a goal beyond":       func(m *model.Paths) { m.Goal = 2 },
		"one state":           func(m *model.Paths) { m.States = m.States[:1] },
		"no words":            func(m *model.Paths) { m.Words = nil },
		"other words":         func(m *model.Paths) { m.Field.Features, m.Field.State = 2, m.Field.State[:8] },
		"no classifier":       func(m *model.Paths) { m.Alone = nil },
		"NaN":                 func(m *model.Paths) { m.Field.State[0] = math.NaN() },
		"worth more than all": func(m *model.Paths) { m.Printed[0] = 2 },
		"worth of few":        func(m *model.Paths) { m.Discounted = m.Discounted[:1] },
		"onward of none":      func(m *model.Paths) { m.Onward = nil },
		"claims of few words": func(m *model.Paths) { m.Claims = claimsOf(); m.Claims.Weights = m.Claims.Weights[:2] },
		"claims upside down":  func(m *model.Paths) { m.Claims = claimsOf(); m.Claims.Slope = -1 },
	} {
		m := pathsOf(true)
		spoil(m)
		if _, err := m.MarshalBinary(); err == nil {
			t.Errorf("%s: written", what)
		}
	}
}

// FuzzPaths reaches behind the checksums.
func FuzzPaths(f *testing.F) {
	for _, dual := range []bool{false, true} {
		b, err := pathsOf(dual).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m model.Paths
		if err := m.UnmarshalBinary(b); err != nil {
			return
		}
		again, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := new(model.Paths).UnmarshalBinary(again); err != nil {
			t.Fatal(err)
		}
	})
}
