package kmeans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/waggle-crawler/waggle/learn/parallel"
	"github.com/waggle-crawler/waggle/learn/sparse"
)

// space holds all points, with their IDs numbered without gaps.
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
			return nil, fmt.Errorf("%d: its length is too large for a float64", n)
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

// Train clusters the points. There are fewer clusters than K if fewer points are
// distinct. No cluster is empty: one that has lost its points gets the point that
// is farthest from its own centroid.
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
	o.Workers = parallel.Workers(o.Workers)
	if o.Context == nil {
		o.Context = context.Background()
	}
	switch {
	case len(points) == 0:
		return nil, Fit{}, errors.New("kmeans: no points to cluster")
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
	g := &clustering{space: set, members: all, options: o, random: random}
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

// clustering is some points of a space and their clusters.
type clustering struct {
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

// seed chooses up to k members as centroids: the first at random, each further
// one with a probability in proportion to its distance from the nearest centroid
// so far.
//
// Source: Arthur & Vassilvitskii 2007, section 2.2.
func (g *clustering) seed(k int) {
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
		parallel.Blocks(g.options.Workers, len(g.members), 256, func(from, to int) {
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
	if len(centres) == 0 { // all vectors have length zero
		centres = append(centres, make([]float64, len(g.ids)))
	}
	g.table = newTable(len(g.ids), len(centres))
	for k, c := range centres {
		g.set(k, c, g.options.Distance)
	}
}

// placed reports whether a point can be a centroid: with Angle, a vector of
// length zero is at the same distance from all others.
func (g *clustering) placed(n int) bool { return g.options.Distance == Euclid || g.length[n] > 0 }

// assign gives the chosen members the labels of their nearest centroids, and
// reports whether any label changed.
func (g *clustering) assign(chosen []int, labels []int, distances []float64) bool {
	var changed atomic.Bool
	parallel.Blocks(g.options.Workers, len(chosen), 128, func(from, to int) {
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

// settle alternates between moving centroids and relabelling points until no
// point changes its cluster, or the rounds are spent: first in batches, if
// Options.Batch says so, then over all points.
//
//	c_k = Σ_{x in k} x / |k|, with Angle scaled to length 1
//
// Neither step can increase the cost.
func (g *clustering) settle() {
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

// centre passes to change the sum of each cluster's members, added in order;
// change turns the sum into the centroid. Each centroid is computed by one
// goroutine.
func (g *clustering) centre(labels []int, change func(k int, sum []float64, size int)) {
	g.centreOf(nil, labels, change)
}

func (g *clustering) centreOf(chosen, labels []int, change func(k int, sum []float64, size int)) {
	lists := make([][]int, g.k)
	for i, k := range labels {
		if chosen != nil {
			i = chosen[i]
		}
		lists[k] = append(lists[k], g.members[i])
	}
	parallel.For(g.options.Workers, g.k, func(k int) {
		if len(lists[k]) == 0 {
			return
		}
		sum := make([]float64, len(g.ids))
		for _, n := range lists[k] {
			g.sum(sum, n, 1)
		}
		change(k, sum, len(lists[k]))
		g.set(k, sum, g.options.Distance)
	})
}

// fill gives each empty cluster the member farthest from its centroid, the first
// of equally far ones, out of a cluster that has others. If there is no such
// member, because all lie on their centroids, or if may is false, because the
// rounds are spent, the empty cluster is dropped. fill reports whether it moved a
// member.
func (g *clustering) fill(may bool) (moved bool) {
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

// drop removes an empty cluster.
func (g *clustering) drop(empty int) {
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

func (g *clustering) sizes() []int {
	sizes := make([]int, g.k)
	for _, k := range g.labels {
		sizes[k]++
	}
	return sizes
}

// batches moves each centroid to the mean of all points that were assigned to it
// so far, one batch of points a round.
//
//	c ← c + (m/v)·(mean of the batch's m points − c),  v the points so far
//
// Source: Sculley 2010, algorithm 1, with a batch at once instead of one point
// after another.
func (g *clustering) batches() {
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
