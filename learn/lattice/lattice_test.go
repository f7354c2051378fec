package lattice

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/sparse"
)

// T_i leads to T_j if j ≥ i−1; the last state means "that many or more" (Liu &
// Milios 2010, section 3.2).
func TestHops(t *testing.T) {
	want := strings.Fields("11111 11111 01111 00111 00011")
	s := Hops(5, 1)
	for i := range 5 {
		for j := range 5 {
			if s.Allowed[i*5+j] != (want[i][j] == '1') {
				t.Errorf("T%d → T%d is allowed: %v", i, j, s.Allowed[i*5+j])
			}
		}
	}
	if s.Arcs() != 19 || s.Check() != nil {
		t.Errorf("%d arcs, %v", s.Arcs(), s.Check())
	}
}

func random(seed uint64, s Shape) *Weights {
	r := rand.New(rand.NewPCG(seed, 0))
	w := NewWeights(s)
	for i := range w.W {
		w.W[i] = r.NormFloat64()
	}
	return w
}

func genObs(t *rapid.T, observations int, name string) sparse.Vector {
	return sparse.New(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sparse.Entry {
		return sparse.Entry{ID: rapid.Uint32Range(0, uint32(observations+2)).Draw(t, "id"), Value: rapid.SampledFrom([]float64{1, 1, 0.5, -3}).Draw(t, "value")}
	}), 0, 10).Draw(t, name))
}

// Potentials are sums over the weights of features; they add up over parts of an
// observation, ignore observations outside the shape, and are −Inf for forbidden
// arcs.
func TestPotentials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Hops(rapid.IntRange(2, 5).Draw(t, "states"), rapid.IntRange(1, 8).Draw(t, "observations"))
		w := random(1, s)
		S := s.States
		a, b := genObs(t, s.Observations, "page"), genObs(t, s.Observations, "link")
		got, start := make([]float64, S*S), make([]float64, S)
		for _, o := range []sparse.Vector{a, b} {
			w.Potentials(got, o)
			w.Start(start, o)
		}
		for j := range S {
			state := 0.
			for _, e := range append(append(sparse.Vector{}, a...), b...) {
				if int(e.ID) < s.Observations {
					state += e.Value * w.State(e.ID, j)
				}
			}
			if math.Abs(start[j]-state) > 1e-12 {
				t.Fatalf("start %d: %v, want %v", j, start[j], state)
			}
			for i := range S {
				if j < i-1 {
					if !math.IsInf(got[i*S+j], -1) {
						t.Fatalf("T%d → T%d is %v", i, j, got[i*S+j])
					}
					continue
				}
				want := state
				for _, e := range append(append(sparse.Vector{}, a...), b...) {
					if int(e.ID) < s.Observations {
						want += e.Value * w.Arc(e.ID, i, j)
					}
				}
				if math.Abs(got[i*S+j]-want) > 1e-12 {
					t.Fatalf("T%d → T%d is %v, want %v", i, j, got[i*S+j], want)
				}
			}
		}
	})
}

// Every row of a design has the potentials that Weights give its vector, for any
// cuts, and equal vectors have one row.
func TestDesign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Hops(rapid.IntRange(2, 5).Draw(t, "states"), 12)
		w := random(2, s)
		S := s.States
		vectors := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sparse.Vector { return genObs(t, s.Observations-3, "vector") }), 1, 6).Draw(t, "vectors")
		cuts := rapid.SampledFrom([][]uint32{nil, {0}, {4}, {3, 7}, {3, 7, 7, 100}}).Draw(t, "cuts")
		d := NewDesign(s, cuts)
		type row struct{ start, arcs, from int32 }
		var rows []row
		add := func() {
			for _, v := range vectors {
				rows = append(rows, row{d.Start(v), d.Arcs(v), d.From(S-1, v)})
			}
		}
		add()
		n := d.Rows()
		add()
		if d.Rows() != n {
			t.Fatalf("%d rows, and %d when the same vectors come again", n, d.Rows())
		}
		potentials := make([]float64, d.Potentials())
		newEngine(d, 1).potentials(potentials, w.W)
		for k, r := range rows {
			v := vectors[k%len(vectors)]
			all, start := make([]float64, S*S), make([]float64, S)
			w.Potentials(all, v)
			w.Start(start, v)
			var arcs, from []float64
			for at, ok := range s.Allowed {
				if ok {
					arcs = append(arcs, all[at])
					if at/S == S-1 {
						from = append(from, all[at])
					}
				}
			}
			for want, number := range map[*[]float64]int32{&start: r.start, &arcs: r.arcs, &from: r.from} {
				low, high := d.Row(number)
				if high-low != len(*want) {
					t.Fatalf("a row of %d potentials, want %d", high-low, len(*want))
				}
				for i, x := range potentials[low:high] {
					if math.Abs(x-(*want)[i]) > 1e-12 {
						t.Fatalf("potential %d of %v is %v, want %v", i, v, x, (*want)[i])
					}
				}
			}
		}
	})
}

func TestWeightsCheck(t *testing.T) {
	good := random(1, Hops(3, 2))
	for want, change := range map[string]func(w *Weights){
		"":                            func(w *Weights) {},
		"weight 4 is NaN":             func(w *Weights) { w.W[4] = math.NaN() },
		"weight 0 is +Inf":            func(w *Weights) { w.W[0] = math.Inf(1) },
		"21 weights":                  func(w *Weights) { w.W = w.W[:21] },
		"1 states":                    func(w *Weights) { w.States = 1 },
		"no observation":              func(w *Weights) { w.Observations = 0 },
		"no state may follow state 2": func(w *Weights) { w.Allowed[7], w.Allowed[8] = false, false },
	} {
		w := Weights{Hops(3, 2), append([]float64(nil), good.W...)}
		change(&w)
		if err := w.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
