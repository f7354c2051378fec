package crf

import (
	"math"

	"github.com/waggle-crawler/waggle/learn/lattice"
)

// chains are training sequences as rows of a design.
type chains struct {
	design   *lattice.Design
	arcs     []arc
	states   int
	workers  int
	start    []int   // sequence n is positions [start[n], start[n+1]) of:
	rows     []int32 // rows of the design
	labels   []int32 // of a first position the state, of a later one the arc
	scaled   []float64
	highest  []float64 // [rows]
	expected []float64 // derivatives by the potentials of each position:
	at       []int     // those of position k are expected[at[k]:at[k+1]]
	begin    []int     // positions of row r are where[begin[r]:begin[r+1]]
	where    []int32
	value    []float64 // [sequences]: log-likelihoods
}

// arc number a leads from i to j.
type arc struct{ i, j int }

func arcsOf(shape lattice.Shape) (out []arc) {
	for at, ok := range shape.Allowed {
		if ok {
			out = append(out, arc{at / shape.States, at % shape.States})
		}
	}
	return out
}

func newChains(d *lattice.Design, sequences []lattice.Sequence, shape lattice.Shape, workers int) *chains {
	c := &chains{design: d, arcs: arcsOf(shape), states: shape.States, workers: workers, start: []int{0}, at: []int{0}}
	rank := make([]int32, len(shape.Allowed))
	for a, x := range c.arcs {
		rank[x.i*shape.States+x.j] = int32(a)
	}
	for _, q := range sequences {
		for t, label := range q.Labels {
			if t == 0 {
				c.rows = append(c.rows, d.Start(q.Obs[0]))
				c.labels = append(c.labels, int32(label))
			} else {
				c.rows = append(c.rows, d.Arcs(q.Obs[t]))
				c.labels = append(c.labels, rank[q.Labels[t-1]*shape.States+label])
			}
			low, high := d.Row(c.rows[len(c.rows)-1])
			c.at = append(c.at, c.at[len(c.at)-1]+high-low)
		}
		c.start = append(c.start, len(c.rows))
	}
	c.value = make([]float64, len(sequences))
	c.expected = make([]float64, c.at[len(c.rows)])
	c.scaled = make([]float64, d.Potentials())
	c.highest = make([]float64, d.Rows())
	c.begin = make([]int, d.Rows()+1)
	for _, r := range c.rows {
		c.begin[r+1]++
	}
	for r := range d.Rows() {
		c.begin[r+1] += c.begin[r]
	}
	fill := append([]int(nil), c.begin...)
	c.where = make([]int32, len(c.rows))
	for k, r := range c.rows {
		c.where[fill[r]] = int32(k)
		fill[r]++
	}
	return c
}

// logLikelihood is Σ log p(labels|observations) over all sequences, in nats.
func (c *chains) logLikelihood(potentials, residual []float64) float64 {
	const rowsAtOnce, sequencesAtOnce = 512, 64
	rows := c.design.Rows()
	Blocks := func(n, block int) int { return (n + block - 1) / block }
	lattice.Share(c.workers, Blocks(len(c.value), sequencesAtOnce), func(b int) {
		for n := b * sequencesAtOnce; n < min((b+1)*sequencesAtOnce, len(c.value)); n++ {
			c.value[n] = c.sequence(n, potentials)
		}
	})
	lattice.Share(c.workers, Blocks(rows, rowsAtOnce), func(b int) {
		for r := b * rowsAtOnce; r < min((b+1)*rowsAtOnce, rows); r++ {
			low, high := c.design.Row(int32(r))
			sum := residual[low:high]
			clear(sum)
			for _, k := range c.where[c.begin[r]:c.begin[r+1]] {
				for a, x := range c.expected[c.at[k]:c.at[k+1]] {
					sum[a] += x
				}
			}
		}
	})
	sum := 0.
	for _, v := range c.value {
		sum += v
	}
	return sum
}

// sequence writes the derivatives of one sequence to expected and returns its
// log-likelihood. Everything is in logarithms.
func (c *chains) sequence(n int, potentials []float64) float64 {
	first, end := c.start[n], c.start[n+1]
	T := end - first
	alpha, beta := make([]float64, T*c.states), make([]float64, T*c.states)
	pot := func(k int) []float64 {
		low, high := c.design.Row(c.rows[k])
		return potentials[low:high]
	}
	copy(alpha, pot(first))
	for t := 1; t < T; t++ {
		now, before := alpha[t*c.states:][:c.states], alpha[(t-1)*c.states:][:c.states]
		for j := range now {
			now[j] = math.Inf(-1)
		}
		for a, x := range pot(first + t) {
			e := c.arcs[a]
			now[e.j] = logAdd(now[e.j], before[e.i]+x)
		}
	}
	for t := T - 2; t >= 0; t-- {
		now, after := beta[t*c.states:][:c.states], beta[(t+1)*c.states:][:c.states]
		for j := range now {
			now[j] = math.Inf(-1)
		}
		for a, x := range pot(first + t + 1) {
			e := c.arcs[a]
			now[e.i] = logAdd(now[e.i], after[e.j]+x)
		}
	}
	logZ := math.Inf(-1)
	for _, x := range alpha[(T-1)*c.states:] {
		logZ = logAdd(logZ, x)
	}
	value := -logZ
	for t := range T {
		p := c.expected[c.at[first+t]:c.at[first+t+1]]
		x := pot(first + t)
		if t == 0 {
			for j := range p {
				p[j] = -math.Exp(x[j] + beta[j] - logZ)
			}
		} else {
			for a := range p {
				e := c.arcs[a]
				p[a] = -math.Exp(alpha[(t-1)*c.states+e.i] + x[a] + beta[t*c.states+e.j] - logZ)
			}
		}
		label := c.labels[first+t]
		p[label]++
		value += x[label]
	}
	return value
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
