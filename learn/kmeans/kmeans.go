// Package kmeans clusters sparse vectors by k-means, with the cosine or the
// Euclidean distance and with k given or found by X-means. Train returns Clusters
// and the cluster of each point; Clusters.Nearest then classifies other vectors.
// Random numbers come from a given seed only, and the result has the same bits
// for any number of processors.
//
// Sources: Lloyd, Least Squares Quantization in PCM, 1982; Arthur &
// Vassilvitskii, k-means++, 2007; Dhillon & Modha, Concept Decompositions for
// Large Sparse Text Data, 2001 (by the angle); Sculley, Web-Scale K-Means
// Clustering, 2010 (in batches); Pelleg & Moore, X-means, 2000.
package kmeans

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/learn/sparse"
)

// Distance is a measure of distance.
type Distance uint8

const (
	// Angle is 1 − cos(x, c), in [0,2]: the direction of a vector counts, its
	// length does not. A vector of length zero is at distance 1 from all others,
	// and belongs to cluster 0.
	Angle Distance = iota
	// Euclid is ‖x − c‖².
	Euclid
)

// Options of Train.
type Options struct {
	Distance Distance
	K        int    // clusters; 0 = found by X-means, from MinK to MaxK
	MinK     int    // with K=0; 0 = 1
	MaxK     int    // with K=0; 0 = 50
	Seed     uint64 // of the first centroids and of batches
	Rounds   int    // passes over the points, or batches, at most; 0 = 100
	Batch    int    // points a round; 0 = all. For sets of hundreds of thousands of points
	Workers  int    // 0 = as many as there are processors; the result does not depend on it

	// Context ends the training with its error; nil = none. It is checked once
	// a round.
	Context context.Context

	// Dimensions is the M of X-means, the effective number of dimensions of a
	// cluster. 0 = estimated for each cluster. See bic.
	Dimensions float64
}

// Fit is the result of Train besides the clusters.
type Fit struct {
	Labels  []int   // [points] the cluster of each
	Sizes   []int   // [K] points in each, ≥ 1
	Cost    float64 // Σ distance of each point to its centroid
	Rounds  int     // of the last pass of k-means over all points
	Settled bool    // no point changes its cluster any more
}

// Clusters is K centroids. It does not change and is safe for concurrent use.
type Clusters struct {
	distance Distance
	ids      []uint32         // [D] ascending
	columns  map[uint32]int32 // place of an ID among ids
	table                     // centroids, by the angle of length 1
}

// New returns the clusters with the given centroids, such as those of Centroid
// that were kept in a file. It is an error if there is none, or one is no vector.
func New(distance Distance, centroids []sparse.Vector) (*Clusters, error) {
	if distance > Euclid {
		return nil, fmt.Errorf("kmeans: distance %d is unknown", distance)
	}
	if len(centroids) == 0 {
		return nil, errors.New("kmeans: no centroid")
	}
	set, err := newSpace(centroids, Euclid)
	if err != nil {
		return nil, fmt.Errorf("kmeans: centroid %w", err)
	}
	c := &Clusters{distance, set.ids, set.columns, newTable(len(set.ids), len(centroids))}
	for k := range centroids {
		c.set(k, set.dense(k), distance)
	}
	return c, nil
}

// K returns the number of clusters.
func (c *Clusters) K() int { return c.k }

// Nearest returns the cluster whose centroid is nearest, the lowest of equally
// near ones, and its distance. v must satisfy sparse.Vector.Check.
func (c *Clusters) Nearest(v sparse.Vector) (cluster int, distance float64) {
	return smallest(c.Distances(make([]float64, c.k), v))
}

// Distances fills dst [K] with the distance of v to each centroid, and returns
// it.
func (c *Clusters) Distances(dst []float64, v sparse.Vector) []float64 {
	if len(dst) != c.k {
		panic(fmt.Sprintf("kmeans: %d distances for %d clusters", len(dst), c.k))
	}
	clear(dst)
	// The same operations as for a point in training, so that rounding decides
	// ties in the same way.
	length, scale := v.Dot(v), 1.
	if c.distance == Angle && length > 0 {
		length, scale = 1, v.Norm()
	}
	for _, e := range v {
		if column, ok := c.columns[e.ID]; ok {
			c.add(dst, column, e.Value/scale)
		}
	}
	c.finish(dst, length, c.distance)
	return dst
}

// Centroid returns the k-th centroid; with Angle it has length 1.
func (c *Clusters) Centroid(k int) sparse.Vector {
	if k < 0 || k >= c.k {
		panic(fmt.Sprintf("kmeans: cluster %d of %d", k, c.k))
	}
	var v sparse.Vector
	for column, id := range c.ids {
		if x := c.cells[column*c.k+k]; x != 0 {
			v = append(v, sparse.Entry{ID: id, Value: x})
		}
	}
	return v
}

// table is k centroids, stored component by component, so that one component of
// a point is multiplied with adjacent numbers.
type table struct {
	k       int
	cells   []float64 // [D][k]
	lengths []float64 // [k] ‖c‖²
}

func newTable(dimension, k int) table {
	return table{k, make([]float64, dimension*k), make([]float64, k)}
}

// set makes v [D] the k-th centroid; with Angle it is scaled to length 1.
func (t *table) set(k int, v []float64, distance Distance) {
	length := 0.
	for _, x := range v {
		length += x * x
	}
	scale := 1.
	if distance == Angle && length > 0 {
		// A vector of length 1 keeps its bits, so that clusters read from a file
		// equal those written.
		if math.Abs(length-1) > 1e-12 {
			scale = 1 / math.Sqrt(length)
		}
		length = 1
	}
	for column, x := range v {
		t.cells[column*t.k+k] = x * scale
	}
	t.lengths[k] = length
}

func (t *table) add(dst []float64, column int32, value float64) {
	row := t.cells[int(column)*t.k : (int(column)+1)*t.k]
	for k, c := range row {
		dst[k] += value * c
	}
}

// finish replaces x·c by distances, given ‖x‖². Distances that are rounding
// errors become 0.
func (t *table) finish(dst []float64, length float64, distance Distance) {
	for k, dot := range dst {
		d, whole := 1-dot, 1.
		if distance == Euclid {
			whole = length + t.lengths[k]
			d = whole - 2*dot
		}
		if d < 1e-12*whole {
			d = 0
		}
		dst[k] = d
	}
}

func smallest(distances []float64) (int, float64) {
	arg := 0
	for k, d := range distances {
		if d < distances[arg] {
			arg = k
		}
	}
	return arg, distances[arg]
}
