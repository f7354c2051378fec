package knn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/knn"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

func vector(values ...float64) (v sparse.Vector) {
	for id, x := range values {
		if x != 0 {
			v = append(v, sparse.Entry{ID: uint32(id), Value: x})
		}
	}
	return v
}

func drawVector(t *rapid.T) (v sparse.Vector) {
	for id := range uint32(6) {
		if x := rapid.IntRange(-2, 3).Draw(t, "value"); x != 0 && rapid.Bool().Draw(t, "there") {
			v = append(v, sparse.Entry{ID: id * 7, Value: float64(x)})
		}
	}
	return v
}

// Nearest equals a search of all points one by one: the cosines, their order, and
// no point left out that is nearer than the last. Concurrent queries get the same
// results.
func TestEqualsLookingAtAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfN(rapid.Custom(drawVector), 1, 30).Draw(t, "points")
		labels := make([]int, len(points))
		for n := range labels {
			labels[n] = n % 4
		}
		x, err := knn.New(points, labels)
		if err != nil {
			t.Fatal(err)
		}
		query, k := drawVector(t), rapid.IntRange(1, 35).Draw(t, "k")
		got := x.Nearest(query, k)
		shares := func(p sparse.Vector) bool {
			return slices.ContainsFunc(p, func(e sparse.Entry) bool { return query.At(e.ID) != 0 })
		}
		there, common := map[int]bool{}, 0
		for i, n := range got {
			there[n.Point] = true
			if want := query.Cosine(points[n.Point]); math.Abs(n.Cosine-want) > 1e-12 || n.Label != labels[n.Point] || !shares(points[n.Point]) {
				t.Fatalf("%+v of %v to %v, whose cosine is %v", n, points[n.Point], query, want)
			}
			if i > 0 && (n.Cosine > got[i-1].Cosine || n.Cosine == got[i-1].Cosine && n.Point <= got[i-1].Point) {
				t.Fatalf("%+v after %+v", n, got[i-1])
			}
		}
		for n, p := range points {
			if !shares(p) {
				continue
			}
			common++
			if !there[n] && query.Cosine(p) > got[len(got)-1].Cosine+1e-12 {
				t.Fatalf("point %d with %v is missing in %+v", n, query.Cosine(p), got)
			}
		}
		if len(there) != min(k, common) {
			t.Fatalf("%d neighbours of %d, k %d", len(there), common, k)
		}
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() {
				if again := x.Nearest(query, k); !reflect.DeepEqual(again, got) {
					t.Errorf("%+v the second time, %+v the first", again, got)
				}
			})
		}
		wait.Wait()
	})
}

// Equal points come in the order in which they were given, for any k.
func TestTies(t *testing.T) {
	points := make([]sparse.Vector, 20)
	for n := range points {
		points[n] = vector(1, 1)
	}
	points[13] = vector(1, 0)
	x, err := knn.New(points, make([]int, 20))
	if err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 20; k++ {
		var got []int
		for _, n := range x.Nearest(vector(2, 0), k) {
			got = append(got, n.Point)
		}
		want := []int{13, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19}[:k]
		if !reflect.DeepEqual(got, want) {
			t.Errorf("k=%d: %v", k, got)
		}
	}
}

func TestClassify(t *testing.T) {
	points := []sparse.Vector{vector(4, 1), vector(1, 4), vector(1, 3), vector(0, 0, 1), vector(), vector(0, 0, 0, 1), vector(0, 0, 0, 2)}
	labels := []int{0, 1, 1, 2, 3, 5, 4}
	x, err := knn.New(points, labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		query sparse.Vector
		k     int
		label int
		share float64
		ok    bool
	}{
		{"the nearest", vector(5, 1), 1, 0, 1, true},
		{"two against one", vector(5, 1), 3, 1, 2. / 3, true},
		{"one each: the nearer", vector(5, 1), 2, 0, .5, true},
		{"one each, equally near: the lower label", vector(0, 0, 0, 1), 2, 4, .5, true},
		{"fewer than k share a word", vector(0, 0, 3), 10, 2, 1, true},
		{"unknown words", vector(0, 0, 0, 0, 0, 1), 3, 0, 0, false},
		{"no word", nil, 3, 0, 0, false},
		{"no neighbour asked for", vector(1), 0, 0, 0, false},
	} {
		label, share, ok := x.Classify(c.query, c.k)
		if label != c.label || share != c.share || ok != c.ok {
			t.Errorf("%s: %d, %v, %v", c.name, label, share, ok)
		}
	}
}

func TestErrors(t *testing.T) {
	one := []sparse.Vector{vector(1)}
	for _, c := range []struct {
		points []sparse.Vector
		labels []int
		want   string
	}{
		{nil, nil, "no point"},
		{one, []int{1, 2}, "1 points with 2 labels"},
		{one, []int{-1}, "point 0 has label -1"},
		{[]sparse.Vector{vector(math.NaN())}, []int{0}, "point 0"},
		{[]sparse.Vector{vector(math.Inf(-1))}, []int{0}, "point 0"},
		{[]sparse.Vector{vector(math.MaxFloat64, math.MaxFloat64)}, []int{0}, "too large"},
	} {
		if _, err := knn.New(c.points, c.labels); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, without %q", c.points, err, c.want)
		}
	}
	x, err := knn.New(one, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Nearest(vector(math.NaN()), 1); got != nil {
		t.Errorf("%v are near to nothing", got)
	}
}

// Pages of 150 words out of 30,000, with skewed frequencies.
func page(r *rand.Rand) sparse.Vector {
	words := make([]sparse.Entry, 150)
	for i := range words {
		words[i] = sparse.Entry{ID: uint32(math.Exp(r.Float64()*math.Log(30000))) - 1, Value: 1}
	}
	return sparse.New(words)
}

func BenchmarkClassify(b *testing.B) {
	for _, n := range []int{3000, 30000} {
		b.Run(fmt.Sprintf("pages=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			points, labels := make([]sparse.Vector, n), make([]int, n)
			for i := range points {
				points[i], labels[i] = page(r), i%20
			}
			x, err := knn.New(points, labels)
			if err != nil {
				b.Fatal(err)
			}
			query := page(r)
			for b.Loop() {
				x.Classify(query, 10)
			}
		})
	}
}
