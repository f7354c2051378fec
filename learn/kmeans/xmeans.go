package kmeans

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// split replaces clusters by two where that improves the criterion, or else by
// three or four. Clusters with the largest gain come first, as long as there are
// fewer than MaxK. split reports whether it replaced any.
//
// Pelleg & Moore try two only. But three groups of points at equal distances from
// each other fit two centroids no better than one, and three much better.
//
// Source: Pelleg & Moore 2000, "Improve-Structure".
func (g *clustering) split() bool {
	const mostParts = 4
	type parts struct {
		k     int
		gain  float64
		table table
	}
	lists := make([][]int, g.k)
	for i, k := range g.labels {
		lists[k] = append(lists[k], g.members[i])
	}
	var found []parts
	for k, members := range lists {
		for n := 2; n <= mostParts && len(members) >= 2*n; n++ {
			local := &clustering{space: g.space, members: members, options: g.options,
				random: rand.New(rand.NewPCG(g.random.Uint64(), uint64(k)))}
			local.seed(n)
			local.settle()
			if gain := local.gain(); gain > 0 {
				found = append(found, parts{k, gain, local.table})
				break
			}
		}
	}
	slices.SortStableFunc(found, func(a, b parts) int { return cmp.Compare(b.gain, a.gain) })
	size, fit := g.k, found[:0]
	for _, f := range found {
		if size+f.table.k-1 <= g.options.MaxK {
			size += f.table.k - 1
			fit = append(fit, f)
		}
	}
	if len(fit) == 0 {
		return false
	}
	more := newTable(len(g.ids), size)
	put := func(to int, t table, k int) {
		for c := range g.ids {
			more.cells[c*more.k+to] = t.cells[c*t.k+k]
		}
		more.lengths[to] = t.lengths[k]
	}
	for k := range g.k {
		put(k, g.table, k)
	}
	next := g.k
	for _, f := range fit {
		put(f.k, f.table, 0)
		for k := 1; k < f.table.k; k++ {
			put(next, f.table, k)
			next++
		}
	}
	g.table = more
	return true
}

// merge joins two clusters where one cluster has a better criterion than both.
// Among the pairs of a cluster and its nearest neighbour it takes the one that
// gains most. It reports whether it joined any. Pelleg & Moore only split; a
// split into three or four can be one too many.
func (g *clustering) merge() bool {
	lists := make([][]int, g.k)
	for i, k := range g.labels {
		lists[k] = append(lists[k], g.members[i])
	}
	gap := make([]float64, g.k*g.k) // [k][k] ‖c−c'‖² but for what both sides share
	for c := range g.ids {
		row := g.cells[c*g.k : (c+1)*g.k]
		for a, x := range row {
			if x != 0 {
				for b, y := range row {
					gap[a*g.k+b] -= 2 * x * y
				}
			}
		}
	}
	worst, from, to := 0., -1, -1
	for a := range g.k {
		b := -1
		for other := range g.k {
			if other != a && (b < 0 || gap[a*g.k+other]+g.lengths[other] < gap[a*g.k+b]+g.lengths[b]) {
				b = other
			}
		}
		if b < 0 {
			return false
		}
		pair := &clustering{space: g.space, table: table{k: 2}, options: g.options,
			members: slices.Concat(lists[a], lists[b]), labels: make([]int, len(lists[a])+len(lists[b])),
			random: rand.New(rand.NewPCG(g.options.Seed, uint64(a*g.k+b)))}
		for i := range lists[b] {
			pair.labels[len(lists[a])+i] = 1
		}
		if len(pair.members) < 3 {
			continue
		}
		if gain := pair.gain(); gain < worst {
			worst, from, to = gain, max(a, b), min(a, b)
		}
	}
	if from < 0 {
		return false
	}
	sum := make([]float64, len(g.ids))
	for i, k := range g.labels {
		if k == from || k == to {
			g.sum(sum, g.members[i], 1/float64(len(lists[from])+len(lists[to])))
			g.labels[i] = to
		}
	}
	g.set(to, sum, g.options.Distance)
	g.drop(from)
	return true
}

// gain returns the Bayesian information criterion of the clusters less that of
// one cluster of the same points.
func (g *clustering) gain() float64 {
	// Σ‖x−mean‖² = Σ‖x‖² − ‖Σx‖²/R, around each mean and around one.
	sizes, R := g.sizes(), float64(len(g.members))
	sums, mean := make([][]float64, g.k), make([]float64, len(g.ids))
	for k := range sums {
		sums[k] = make([]float64, len(g.ids))
	}
	lengths := 0.
	for i, n := range g.members {
		lengths += g.length[n]
		g.sum(sums[g.labels[i]], n, 1)
	}
	square := func(v []float64) (s float64) {
		for _, x := range v {
			s += x * x
		}
		return s
	}
	many := lengths
	for k, sum := range sums {
		many -= square(sum) / float64(sizes[k])
		for c, x := range sum {
			mean[c] += x / R
		}
	}
	one := lengths - R*square(mean)
	if g.k < 2 || one <= 1e-12*lengths {
		return 0 // all points are equal
	}
	M := g.options.Dimensions
	if M == 0 {
		M = g.spread(mean, one/R)
	}
	return bic(sizes, max(many, 1e-12*lengths), M) - bic([]int{len(g.members)}, one, M)
}

// bic returns the Bayesian information criterion of R = Σ R_n points in clusters
// of the given sizes, whose squared distances to their means sum to s, under
// spherical Gaussians of one variance in M dimensions:
//
//	σ² = s / M(R−K)
//	log L = Σ_n R_n log(R_n/R) − (R·M/2) log 2πσ² − M(R−K)/2
//	BIC = log L − ((K−1) + M·K + 1)/2 · log R
//
// Source: Pelleg & Moore 2000, section 3.2, which prints σ² = s/(R−K): the
// variance of all M dimensions together, not of one.
func bic(sizes []int, s, M float64) float64 {
	R, K, logL := 0., float64(len(sizes)), 0.
	for _, n := range sizes {
		R += float64(n)
	}
	for _, n := range sizes {
		logL += float64(n) * math.Log(float64(n)/R)
	}
	variance := s / (M * (R - K))
	logL -= R*M/2*math.Log(2*math.Pi*variance) + M*(R-K)/2
	return logL - ((K-1)+M*K+1)/2*math.Log(R)
}

// spread returns the effective number of dimensions of the members around their
// mean: the participation ratio (tr C)²/tr C² of their covariance C, which is M
// for a sphere in M dimensions and near 1 for two distant groups. Pelleg & Moore
// use the number of dimensions of the space. A vocabulary has tens of thousands
// of dimensions with very unequal variances; with equal weight they would favour
// splitting any large cluster.
//
// tr C is given as trace; tr C² is estimated as the mean of
// ((x−mean)·(y−mean))² over a thousand random pairs of different members.
func (g *clustering) spread(mean []float64, trace float64) float64 {
	const pairs = 1000
	own, along, sum := 0., make([]float64, len(g.members)), 0.
	for _, x := range mean {
		own += x * x
	}
	for i, n := range g.members {
		along[i] = g.dot(mean, n)
	}
	for range pairs {
		i := g.random.IntN(len(g.members))
		j := (i + 1 + g.random.IntN(len(g.members)-1)) % len(g.members)
		dot := g.product(g.members[i], g.members[j]) - along[i] - along[j] + own
		sum += dot * dot
	}
	most := float64(min(len(g.ids), len(g.members)-1))
	if sum == 0 {
		return most
	}
	return max(1, min(most, trace*trace*pairs/sum))
}

// product returns x·y of two points.
func (s *space) product(x, y int) (sum float64) {
	i, j := s.start[x], s.start[y]
	for i < s.start[x+1] && j < s.start[y+1] {
		switch {
		case s.column[i] < s.column[j]:
			i++
		case s.column[i] > s.column[j]:
			j++
		default:
			sum += s.value[i] * s.value[j]
			i++
			j++
		}
	}
	return sum
}
