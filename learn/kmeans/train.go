package kmeans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/waggle-crawler/waggle/learn/sparse"
)

// space is the points side by side, with their IDs numbered without gaps.
type space struct {
	ids     []uint32
	columns map[uint32]int32
	start   []int     // [n+1] where the components of a point begin
	column  []int32   // of each component
	value   []float64 // of each component; by the angle, points have length 1
	length  []float64 // [n] ‖x‖²
}

func newSpace(points []sparse.Vector, distance Distance) (*space, error) {
	s := &space{columns: map[uint32]int32{}, start: make([]int, 1, len(points)+1), length: make([]float64, len(points))}
	for n, p := range points {
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		if s.length[n] = p.Dot(p); math.IsInf(s.length[n], 1) {
			return nil, fmt.Errorf("%d: it is longer than a number can say", n)
		}
		scale := 1.
		if distance == Angle && s.length[n] > 0 {
			s.length[n], scale = 1, p.Norm()
		}
		for _, e := range p {
			if e.Value == 0 {
				continue
			}
			if _, ok := s.columns[e.ID]; !ok {
				s.columns[e.ID] = 0
				s.ids = append(s.ids, e.ID)
			}
			s.value = append(s.value, e.Value/scale)
		}
		s.start = append(s.start, len(s.value))
	}
	slices.Sort(s.ids)
	for c, id := range s.ids {
		s.columns[id] = int32(c)
	}
	s.column = make([]int32, 0, len(s.value))
	for _, p := range points {
		for _, e := range p {
			if e.Value != 0 {
				s.column = append(s.column, s.columns[e.ID])
			}
		}
	}
	return s, nil
}

// sum adds a point, times a factor, to v [D].
func (s *space) sum(v []float64, n int, factor float64) {
	for i := s.start[n]; i < s.start[n+1]; i++ {
		v[s.column[i]] += factor * s.value[i]
	}
}

func (s *space) dense(n int) []float64 {
	v := make([]float64, len(s.ids))
	s.sum(v, n, 1)
	return v
}

// dot is the product of a point and v [D].
func (s *space) dot(v []float64, n int) (sum float64) {
	for i := s.start[n]; i < s.start[n+1]; i++ {
		sum += v[s.column[i]] * s.value[i]
	}
	return sum
}

// Train groups the points. There are fewer clusters than asked for where fewer
// points differ. No cluster is empty: one that lost its points gets the point
// that is farthest from its own centroid.
func Train(points []sparse.Vector, o Options) (*Clusters, Fit, error) {
	if o.MinK == 0 {
		o.MinK = 1
	}
	if o.MaxK == 0 {
		o.MaxK = max(o.MinK, 50)
	}
	if o.Rounds == 0 {
		o.Rounds = 100
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	switch {
	case len(points) == 0:
		return nil, Fit{}, errors.New("kmeans: no points to group")
	case o.Distance > Euclid:
		return nil, Fit{}, fmt.Errorf("kmeans: distance %d is unknown", o.Distance)
	case o.K < 0 || o.MinK < 0 || o.MaxK < o.MinK:
		return nil, Fit{}, fmt.Errorf("kmeans: %d clusters, or %d to %d; give one number above 0, or a range", o.K, o.MinK, o.MaxK)
	case o.K > len(points) || o.K == 0 && o.MinK > len(points):
		return nil, Fit{}, fmt.Errorf("kmeans: %d clusters of %d points; ask for fewer, or give more points", max(o.K, o.MinK), len(points))
	case o.Rounds < 0 || o.Batch < 0 || !(o.Dimensions >= 0):
		return nil, Fit{}, fmt.Errorf("kmeans: %d rounds, %d points a round, %v dimensions; none may be negative", o.Rounds, o.Batch, o.Dimensions)
	}
	set, err := newSpace(points, o.Distance)
	if err != nil {
		return nil, Fit{}, fmt.Errorf("kmeans: point %w", err)
	}
	all := make([]int, len(points))
	for n := range all {
		all[n] = n
	}
	random := rand.New(rand.NewPCG(o.Seed, 0x6b6d65616e73))
	k := o.K
	if k == 0 {
		k = o.MinK
	}
	g := &grouping{space: set, members: all, options: o, random: random}
	g.seed(k)
	g.settle()
	if o.K == 0 {
		for range o.MaxK {
			if o.Context.Err() != nil || g.k >= o.MaxK || !g.split() {
				break
			}
			g.settle()
		}
		for o.Context.Err() == nil && g.k > o.MinK && g.merge() {
			g.settle()
		}
	}
	if err := o.Context.Err(); err != nil {
		return nil, Fit{}, err
	}
	fit := Fit{Labels: g.labels, Sizes: g.sizes(), Rounds: g.rounds, Settled: g.settled}
	for _, d := range g.distances {
		fit.Cost += d
	}
	return &Clusters{o.Distance, set.ids, set.columns, g.table}, fit, nil
}

// grouping is some points of a space and the clusters they are in.
type grouping struct {
	*space
	table
	members []int // of the space
	options Options
	random  *rand.Rand

	labels    []int     // [members]
	distances []float64 // [members] to the centroid of their label
	rounds    int
	settled   bool
}

// parallel calls f with every part of 0…n−1, on all the cores.
func (g *grouping) parallel(n, grain int, f func(from, to int)) {
	workers := min(g.options.Workers, (n+grain-1)/grain)
	if workers <= 1 {
		f(0, n)
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for from := int(next.Add(int64(grain))) - grain; from < n; from = int(next.Add(int64(grain))) - grain {
				f(from, min(from+grain, n))
			}
		})
	}
	wait.Wait()
}

// seed chooses up to k members as centroids: the first at random, each further
// one with a chance in proportion to its distance from the nearest so far.
//
// Source: Arthur & Vassilvitskii 2007, section 2.2.
func (g *grouping) seed(k int) {
	g.labels = make([]int, len(g.members))
	g.distances = make([]float64, len(g.members))
	nearest := make([]float64, len(g.members))
	for i, n := range g.members {
		if g.placed(n) {
			nearest[i] = 1
		}
	}
	var centres [][]float64
	for len(centres) < k && (len(centres) == 0 || g.options.Context.Err() == nil) {
		total := 0.
		for _, d := range nearest {
			total += d
		}
		if total == 0 {
			break
		}
		target, chosen := g.random.Float64()*total, -1
		for i, d := range nearest {
			if d == 0 {
				continue
			}
			chosen = i
			if target -= d; target < 0 {
				break
			}
		}
		one := newTable(len(g.ids), 1)
		one.set(0, g.dense(g.members[chosen]), g.options.Distance)
		first := len(centres) == 0
		g.parallel(len(g.members), 256, func(from, to int) {
			for i := from; i < to; i++ {
				n := g.members[i]
				if !g.placed(n) {
					continue
				}
				d := [1]float64{g.dot(one.cells, n)}
				one.finish(d[:], g.length[n], g.options.Distance)
				if first || d[0] < nearest[i] {
					nearest[i] = d[0]
				}
			}
		})
		centres = append(centres, one.cells)
	}
	if len(centres) == 0 { // nothing but vectors of length zero
		centres = append(centres, make([]float64, len(g.ids)))
	}
	g.table = newTable(len(g.ids), len(centres))
	for k, c := range centres {
		g.set(k, c, g.options.Distance)
	}
}

// placed tells points that can be a centroid: by the angle, a vector of length
// zero is as far from everything.
func (g *grouping) placed(n int) bool { return g.options.Distance == Euclid || g.length[n] > 0 }

// assign gives those members their nearest centroids, and tells whether any
// changed.
func (g *grouping) assign(chosen []int, labels []int, distances []float64) bool {
	var changed atomic.Bool
	g.parallel(len(chosen), 128, func(from, to int) {
		all := make([]float64, g.k)
		for i := from; i < to; i++ {
			n := g.members[chosen[i]]
			clear(all)
			for c := g.start[n]; c < g.start[n+1]; c++ {
				g.add(all, g.column[c], g.value[c])
			}
			g.finish(all, g.length[n], g.options.Distance)
			k, d := smallest(all)
			if labels[i] != k {
				labels[i] = k
				changed.Store(true)
			}
			distances[i] = d
		}
	})
	return changed.Load()
}

// settle moves centroids and points until no point changes its cluster, or
// the rounds are over: first in batches, if so asked, then over all.
//
//	c_k = Σ_{x in k} x / |k|, by the angle of length 1
//
// Neither step can raise the cost.
func (g *grouping) settle() {
	all := make([]int, len(g.members))
	for i := range all {
		all[i] = i
	}
	rounds := g.options.Rounds
	if g.options.Batch > 0 && g.options.Batch < len(all) {
		g.batches()
		rounds = 1
	}
	for i := range g.labels {
		g.labels[i] = -1
	}
	g.settled = false
	for g.rounds = 0; ; g.rounds++ {
		if !g.assign(all, g.labels, g.distances) {
			g.settled = true
			return
		}
		moved := g.fill(g.rounds < rounds+g.k)
		if g.rounds >= rounds && !moved || g.options.Context.Err() != nil {
			return
		}
		g.centre(g.labels, func(k int, sum []float64, size int) {
			for c := range sum {
				sum[c] /= float64(size)
			}
		})
	}
}

// centre gives change the sum of each cluster's members, added in order, and
// makes what it leaves there the centroid. Each centroid is one core's work.
func (g *grouping) centre(labels []int, change func(k int, sum []float64, size int)) {
	g.centreOf(nil, labels, change)
}

func (g *grouping) centreOf(chosen, labels []int, change func(k int, sum []float64, size int)) {
	lists := make([][]int, g.k)
	for i, k := range labels {
		if chosen != nil {
			i = chosen[i]
		}
		lists[k] = append(lists[k], g.members[i])
	}
	g.parallel(g.k, 1, func(from, to int) {
		sum := make([]float64, len(g.ids))
		for k := from; k < to; k++ {
			if len(lists[k]) == 0 {
				continue
			}
			clear(sum)
			for _, n := range lists[k] {
				g.sum(sum, n, 1)
			}
			change(k, sum, len(lists[k]))
			g.set(k, sum, g.options.Distance)
		}
	})
}

// fill gives each empty cluster the member farthest from its centroid, the
// first of equals, out of a cluster that has others. A cluster for which there
// is none, because all members lie on their centroids, is dropped; so is any
// when the grouping has been at it for too long, which may not move points. It
// tells whether any was moved.
func (g *grouping) fill(may bool) (moved bool) {
	sizes := g.sizes()
	for k := 0; k < g.k; k++ {
		if sizes[k] > 0 {
			continue
		}
		far := -1
		for i, d := range g.distances {
			if may && d > 0 && g.placed(g.members[i]) && sizes[g.labels[i]] > 1 && (far < 0 || d > g.distances[far]) {
				far = i
			}
		}
		if far < 0 {
			g.drop(k)
			sizes = slices.Delete(sizes, k, k+1)
			k--
			continue
		}
		sizes[g.labels[far]]--
		sizes[k]++
		g.labels[far], g.distances[far] = k, 0
		g.set(k, g.dense(g.members[far]), g.options.Distance)
		moved = true
	}
	return moved
}

// drop takes away an empty cluster.
func (g *grouping) drop(empty int) {
	less := newTable(len(g.ids), g.k-1)
	for k := range g.k {
		if k != empty {
			to := k
			if k > empty {
				to--
			}
			for c := range g.ids {
				less.cells[c*less.k+to] = g.cells[c*g.k+k]
			}
			less.lengths[to] = g.lengths[k]
		}
	}
	g.table = less
	for i, k := range g.labels {
		if k > empty {
			g.labels[i]--
		}
	}
}

func (g *grouping) sizes() []int {
	sizes := make([]int, g.k)
	for _, k := range g.labels {
		sizes[k]++
	}
	return sizes
}

// batches moves each centroid to the mean of all the points that it was given
// so far, a batch of points a round.
//
//	c ← c + (m/v)·(mean of the batch's m points − c),  v the points so far
//
// Source: Sculley 2010, algorithm 1, a batch at once instead of point by point.
func (g *grouping) batches() {
	seen := make([]float64, g.k)
	chosen, labels := make([]int, g.options.Batch), make([]int, g.options.Batch)
	distances := make([]float64, g.options.Batch)
	for range g.options.Rounds {
		for i := range chosen {
			chosen[i] = g.random.IntN(len(g.members))
		}
		g.assign(chosen, labels, distances)
		g.centreOf(chosen, labels, func(k int, sum []float64, size int) {
			seen[k] += float64(size)
			keep := 1 - float64(size)/seen[k]
			for c := range sum {
				sum[c] = keep*g.cells[c*g.k+k] + sum[c]/seen[k]
			}
		})
	}
}
