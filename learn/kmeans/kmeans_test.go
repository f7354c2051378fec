package kmeans_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/learn/kmeans"
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

// The eight corners of two far squares, by hand: the means are the squares'
// centres, each corner ½ from it in squared distance.
func TestTwoSquares(t *testing.T) {
	var points []sparse.Vector
	for _, x := range []float64{0, 10} {
		for _, d := range [][2]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
			points = append(points, vector(x+d[0], d[1]))
		}
	}
	for seed := range uint64(5) {
		c, fit, err := kmeans.Train(points, kmeans.Options{Distance: kmeans.Euclid, K: 2, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		left := fit.Labels[0]
		want := []int{left, left, left, left, 1 - left, 1 - left, 1 - left, 1 - left}
		if !reflect.DeepEqual(fit.Labels, want) || fit.Cost != 4 || !fit.Settled {
			t.Errorf("seed %d: %+v", seed, fit)
		}
		if got := c.Centroid(left); !reflect.DeepEqual(got, vector(.5, .5)) {
			t.Errorf("seed %d: centroid %v", seed, got)
		}
		if k, d := c.Nearest(vector(9, 0)); k != 1-left || d != 2.5 {
			t.Errorf("seed %d: (9,0) is %v from %d", seed, d, k)
		}
	}
}

// By the angle the length of a page does not matter; Euclid puts the two short
// pages together.
func TestAngleOrEuclid(t *testing.T) {
	points := []sparse.Vector{vector(1, 0), vector(100, 1), vector(0, 1), vector(1, 100)}
	for distance, want := range map[kmeans.Distance][2]bool{kmeans.Angle: {true, false}, kmeans.Euclid: {false, true}} {
		_, fit, err := kmeans.Train(points, kmeans.Options{Distance: distance, K: 3, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		if distance == kmeans.Angle {
			_, fit, err = kmeans.Train(points, kmeans.Options{Distance: distance, K: 2, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
		}
		got := [2]bool{fit.Labels[0] == fit.Labels[1], fit.Labels[0] == fit.Labels[2]}
		if got != want {
			t.Errorf("distance %d: labels %v", distance, fit.Labels)
		}
	}
}

func drawPoints(t *rapid.T) []sparse.Vector {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sparse.Vector {
		var v sparse.Vector
		for id := range uint32(5) {
			if x := rapid.IntRange(-1, 4).Draw(t, "value"); x > 0 {
				v = append(v, sparse.Entry{ID: id * 1000, Value: float64(x)})
			}
		}
		return v
	}), 1, 40).Draw(t, "points")
}

// In a settled clustering each point is with its nearest centroid, each centroid
// is the mean of its points, no cluster is empty, and the cost is the sum of
// distances. It does not depend on the number of cores, and New of its centroids
// gives it back.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := drawPoints(t)
		o := kmeans.Options{
			Distance: rapid.SampledFrom([]kmeans.Distance{kmeans.Angle, kmeans.Euclid}).Draw(t, "distance"),
			K:        rapid.IntRange(0, min(6, len(points))).Draw(t, "K"),
			MaxK:     8,
			Seed:     rapid.Uint64().Draw(t, "seed"),
			Batch:    rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "batch"),
			Workers:  1,
		}
		c, fit, err := kmeans.Train(points, o)
		if err != nil {
			t.Fatal(err)
		}
		if o.K > 0 && c.K() > o.K || c.K() > 8 {
			t.Fatalf("%d clusters with %+v", c.K(), o)
		}
		sums, sizes, cost := make([]map[uint32]float64, c.K()), make([]int, c.K()), 0.
		for n, p := range points {
			k, d := c.Nearest(p)
			if k != fit.Labels[n] {
				t.Fatalf("point %d is labelled %d and nearest to %d", n, fit.Labels[n], k)
			}
			cost += d
			sizes[k]++
			if sums[k] == nil {
				sums[k] = map[uint32]float64{}
			}
			length := 1.
			if o.Distance == kmeans.Angle {
				length = p.Norm()
			}
			for _, e := range p {
				sums[k][e.ID] += e.Value / length
			}
		}
		if !reflect.DeepEqual(sizes, fit.Sizes) || math.Abs(cost-fit.Cost) > 1e-9 {
			t.Fatalf("sizes %v and cost %v instead of %v and %v", fit.Sizes, fit.Cost, sizes, cost)
		}
		var centroids []sparse.Vector
		for k, n := range sizes {
			if n == 0 {
				t.Fatalf("cluster %d is empty", k)
			}
			centroids = append(centroids, c.Centroid(k))
			if !fit.Settled {
				continue
			}
			scale := 1 / float64(n)
			if o.Distance == kmeans.Angle {
				length := 0.
				for _, x := range sums[k] {
					length += x * x
				}
				if length == 0 {
					continue
				}
				scale = 1 / math.Sqrt(length)
			}
			for id, x := range sums[k] {
				if got := c.Centroid(k).At(id); math.Abs(got-x*scale) > 1e-9 {
					t.Fatalf("centroid %d has %v at %d instead of %v", k, got, id, x*scale)
				}
			}
		}
		o.Workers = 3
		c3, fit3, err := kmeans.Train(points, o)
		if err != nil || !reflect.DeepEqual(fit, fit3) || !reflect.DeepEqual(c, c3) {
			t.Fatalf("three cores: %+v instead of %+v, %v", fit3, fit, err)
		}
		back, err := kmeans.New(o.Distance, centroids)
		if err != nil {
			t.Fatal(err)
		}
		for n, p := range points {
			k, d := c.Nearest(p)
			if k2, d2 := back.Nearest(p); k != k2 || d != d2 {
				t.Fatalf("point %d: %d at %v, and from a file %d at %v", n, k, d, k2, d2)
			}
		}
	})
}

// Of two centroids at the same distance, training and Nearest choose the same
// one. Here the middle point lies between both, and squares that are summed in
// different ways differ in their last bit.
func TestTieGoesTheSameWay(t *testing.T) {
	for _, points := range [][]sparse.Vector{
		{{{ID: 4000, Value: 3}}, {{ID: 0, Value: 2}, {ID: 4000, Value: 1}}, {{ID: 0, Value: 1}}},
		{{{ID: 0, Value: 1}, {ID: 1, Value: 1}}, {{ID: 0, Value: 1}}, {{ID: 1, Value: 1}}},
		{{{ID: 0, Value: 1e-170}}, {{ID: 1, Value: 1e-170}}, {{ID: 0, Value: 3}}},
	} {
		for _, distance := range []kmeans.Distance{kmeans.Angle, kmeans.Euclid} {
			for seed := range uint64(1000) {
				c, fit, err := kmeans.Train(points, kmeans.Options{Distance: distance, K: 2, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				for n, p := range points {
					if k, _ := c.Nearest(p); k != fit.Labels[n] {
						t.Fatalf("distance %d, seed %d: point %d is labelled %d and nearest to %d", distance, seed, n, fit.Labels[n], k)
					}
				}
			}
		}
	}
}

// More rounds never cost more.
func TestCostNeverRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := drawPoints(t)
		o := kmeans.Options{K: rapid.IntRange(1, min(5, len(points))).Draw(t, "K"), Seed: rapid.Uint64().Draw(t, "seed"),
			Distance: rapid.SampledFrom([]kmeans.Distance{kmeans.Angle, kmeans.Euclid}).Draw(t, "distance")}
		last := math.Inf(1)
		for o.Rounds = 1; o.Rounds < 6; o.Rounds++ {
			_, fit, err := kmeans.Train(points, o)
			if err != nil {
				t.Fatal(err)
			}
			if fit.Cost > last+1e-9 {
				t.Fatalf("%v after %d rounds, %v before", fit.Cost, o.Rounds, last)
			}
			last = fit.Cost
		}
	})
}

func TestFewerPointsThanClusters(t *testing.T) {
	same := []sparse.Vector{vector(1, 2), vector(1, 2), vector(3), vector(1, 2), vector(3)}
	for _, distance := range []kmeans.Distance{kmeans.Angle, kmeans.Euclid} {
		c, fit, err := kmeans.Train(same, kmeans.Options{Distance: distance, K: 4})
		if err != nil || c.K() != 2 || fit.Cost != 0 {
			t.Errorf("%d clusters of two different points, cost %v, %v", c.K(), fit.Cost, err)
		}
		empty := []sparse.Vector{nil, nil, {{ID: 3}}}
		if c, fit, err = kmeans.Train(empty, kmeans.Options{Distance: distance, K: 2}); err != nil || c.K() != 1 || fit.Sizes[0] != 3 {
			t.Errorf("%d clusters of nothing, %v, %v", c.K(), fit, err)
		}
	}
}

// blobs draws points around centres that lie 10 apart on axes of their own.
func blobs(seed uint64, heaps, each, dimension int) (points []sparse.Vector, truth []int) {
	r := rand.New(rand.NewPCG(seed, 1))
	for h := range heaps {
		for range each {
			values := make([]float64, dimension)
			for i := range values {
				values[i] = r.NormFloat64()
			}
			values[h] += 10
			points = append(points, vector(values...))
			truth = append(truth, h)
		}
	}
	return points, truth
}

// topics draws pages of 100 words: half of them from the topic's own 40, half
// from 2,000 that all share.
func topics(seed uint64, topics, each int) (points []sparse.Vector, truth []int) {
	r := rand.New(rand.NewPCG(seed, 2))
	for topic := range topics {
		for range each {
			var words []sparse.Entry
			for i := range 100 {
				id := uint32(r.IntN(2000))
				if i%2 == 0 {
					id = uint32(2000 + topic*40 + r.IntN(40))
				}
				words = append(words, sparse.Entry{ID: id, Value: 1})
			}
			points = append(points, sparse.New(words))
			truth = append(truth, topic)
		}
	}
	return points, truth
}

// agree tells whether two labellings are the same but for names.
func agree(a, b []int) bool {
	there, back := map[int]int{}, map[int]int{}
	for n := range a {
		x, ok := there[a[n]]
		y, ok2 := back[b[n]]
		if ok != ok2 || ok && (x != b[n] || y != a[n]) {
			return false
		}
		there[a[n]], back[b[n]] = b[n], a[n]
	}
	return true
}

// X-means finds the right number of clusters: spheres of few and of many
// dimensions, a single one, and pages of topics in a vocabulary of thousands.
func TestChoosesK(t *testing.T) {
	for _, want := range []int{1, 2, 3, 5} {
		for _, dimension := range []int{5, 30} {
			for seed := range uint64(2) {
				points, truth := blobs(seed, want, 50, dimension)
				check(t, fmt.Sprintf("%d heaps in %d dimensions", want, dimension), points, truth, kmeans.Options{Distance: kmeans.Euclid, Seed: seed})
			}
		}
	}
	for _, want := range []int{1, 6} {
		points, truth := topics(uint64(want), want, 40)
		check(t, fmt.Sprintf("%d topics", want), points, truth, kmeans.Options{Seed: 1})
	}
}

func check(t *testing.T, name string, points []sparse.Vector, truth []int, o kmeans.Options) {
	t.Helper()
	c, fit, err := kmeans.Train(points, o)
	if err != nil {
		t.Fatal(err)
	}
	if !agree(fit.Labels, truth) {
		t.Errorf("%s, seed %d: %d clusters of %v", name, o.Seed, c.K(), fit.Sizes)
	}
	if o.Distance == kmeans.Euclid {
		return
	}
	o.MaxK = 2
	if c, _, err := kmeans.Train(points, o); err != nil || c.K() > 2 {
		t.Errorf("%s: %d clusters where 2 were the limit, %v", name, c.K(), err)
	}
}

func TestBatchesFindTopics(t *testing.T) {
	points, truth := topics(7, 5, 200)
	_, fit, err := kmeans.Train(points, kmeans.Options{K: 5, Batch: 100, Rounds: 30, Seed: 1})
	if err != nil || !agree(fit.Labels, truth) {
		t.Errorf("%v of 5 × 200, %v", fit.Sizes, err)
	}
}

func TestErrors(t *testing.T) {
	two := []sparse.Vector{vector(1), vector(2)}
	for _, c := range []struct {
		points []sparse.Vector
		o      kmeans.Options
		want   string
	}{
		{nil, kmeans.Options{K: 1}, "no points"},
		{two, kmeans.Options{K: 3}, "3 clusters of 2 points"},
		{two, kmeans.Options{K: -1}, "above 0"},
		{two, kmeans.Options{MinK: 5, MaxK: 4}, "range"},
		{two, kmeans.Options{MinK: 5}, "5 clusters of 2 points"},
		{two, kmeans.Options{K: 1, Distance: 9}, "unknown"},
		{two, kmeans.Options{K: 1, Rounds: -1}, "negative"},
		{two, kmeans.Options{K: 1, Dimensions: math.NaN()}, "negative"},
		{[]sparse.Vector{vector(1), vector(math.NaN())}, kmeans.Options{K: 1}, "point 1"},
		{[]sparse.Vector{vector(math.Inf(1))}, kmeans.Options{K: 1}, "point 0"},
		{[]sparse.Vector{vector(math.MaxFloat64)}, kmeans.Options{K: 1}, "too large"},
	} {
		if _, _, err := kmeans.Train(c.points, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, without %q", c.o, err, c.want)
		}
	}
	if _, err := kmeans.New(kmeans.Angle, nil); err == nil {
		t.Error("clusters of no centroid")
	}
	if _, err := kmeans.New(kmeans.Angle, []sparse.Vector{vector(math.NaN())}); err == nil {
		t.Error("a centroid that is no number")
	}
}

func BenchmarkTrain(b *testing.B) {
	points, _ := topics(1, 20, 500)
	for _, o := range []kmeans.Options{{K: 20}, {K: 20, Batch: 1000, Rounds: 20}, {}} {
		b.Run(fmt.Sprintf("pages=10000/K=%d/batch=%d", o.K, o.Batch), func(b *testing.B) {
			for b.Loop() {
				c, _, err := kmeans.Train(points, o)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(c.K()), "clusters")
			}
		})
	}
}

func BenchmarkNearest(b *testing.B) {
	points, _ := topics(1, 20, 50)
	c, _, err := kmeans.Train(points, kmeans.Options{K: 20})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.Nearest(points[500])
	}
}

// after is a context that is cancelled when its error has been asked for a given
// number of times.
type after struct {
	context.Context
	looks, left int
}

func (a *after) Err() error {
	if a.looks++; a.looks > a.left {
		return context.Canceled
	}
	return nil
}

// A training ends soon after its context is cancelled, at any point.
func TestInterrupted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var points []sparse.Vector
	for i := range 300 {
		points = append(points, vector(10*float64(i%5)+random.Float64(), 7*float64(i%3)+random.Float64(), 1))
	}
	whole := &after{Context: t.Context(), left: 1 << 30}
	if _, _, err := kmeans.Train(points, kmeans.Options{Distance: kmeans.Euclid, MaxK: 30, Context: whole, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	if whole.looks < 10 {
		t.Fatalf("looked at %d times: the test tests nothing", whole.looks)
	}
	for left := range whole.looks {
		ctx := &after{Context: t.Context(), left: left}
		if _, _, err := kmeans.Train(points, kmeans.Options{Distance: kmeans.Euclid, MaxK: 30, Context: ctx, Workers: 1}); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled after %d looks of %d: %v", left, whole.looks, err)
		}
	}
}
