package pool

import (
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/web"
)

// Table counts pairs of grades: [first reader's][second reader's].
type Table [3][3]int

// Total is the number of pairs.
func (t Table) Total() (n int) {
	for _, row := range t {
		for _, c := range row {
			n += c
		}
	}
	return n
}

// Add adds another table.
func (t *Table) Add(o Table) {
	for i, row := range o {
		for j, c := range row {
			t[i][j] += c
		}
	}
}

// From merges grades into two: below a grade and from it on.
func (t Table) From(g Grade) (out Table) {
	side := func(i int) int {
		if Grade(i) >= g {
			return 1
		}
		return 0
	}
	for i, row := range t {
		for j, c := range row {
			out[side(i)][side(j)] += c
		}
	}
	return out
}

// Weights say how much two grades agree, in [0,1], 1 on the diagonal.
type Weights [3][3]float64

// Plain counts equal grades alone.
func Plain() Weights { return Weights{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} }

// Linear gives half for grades next to each other.
func Linear() Weights { return Weights{{1, .5, 0}, {.5, 1, .5}, {0, .5, 1}} }

// Kappa is Cohen's κ of a table.
type Kappa struct {
	N        int     // pairs
	Observed float64 // weighted share of agreement
	Expected float64 // the same, if both had graded by chance as often as they did
	Value    float64 // κ; NaN where chance explains all, as with one grade alone
	SE       float64 // standard error of κ for large N; NaN as Value
}

// NewKappa is
//
//	κ = (p_o − p_e)/(1 − p_e),  p_o = Σ w_ij p_ij,  p_e = Σ w_ij p_i· p_·j
//
// Sources: Cohen (1960), plain; Cohen (1968), weighted; Fleiss, Cohen & Everitt
// (1969), equation 13, the standard error:
//
//	SE² = [ Σ p_ij (w_ij − (w̄_i· + w̄_·j)(1−κ))² − (κ − p_e(1−κ))² ] / (n (1−p_e)²)
//
// where w̄_i· = Σ_j w_ij p_·j and w̄_·j = Σ_i w_ij p_i·.
func NewKappa(t Table, w Weights) Kappa {
	n := t.Total()
	k := Kappa{N: n, Observed: math.NaN(), Expected: math.NaN(), Value: math.NaN(), SE: math.NaN()}
	if n == 0 {
		return k
	}
	var p Weights
	var row, col [3]float64
	for i := range t {
		for j, c := range t[i] {
			p[i][j] = float64(c) / float64(n)
			row[i] += p[i][j]
			col[j] += p[i][j]
		}
	}
	var meanRow, meanCol [3]float64 // w̄_i·, w̄_·j
	k.Observed, k.Expected = 0, 0
	for i := range t {
		for j := range t {
			k.Observed += w[i][j] * p[i][j]
			k.Expected += w[i][j] * row[i] * col[j]
			meanRow[i] += w[i][j] * col[j]
			meanCol[j] += w[i][j] * row[i]
		}
	}
	if 1-k.Expected < 1e-12 {
		return k
	}
	k.Value = (k.Observed - k.Expected) / (1 - k.Expected)
	sum := 0.
	for i := range t {
		for j := range t {
			x := w[i][j] - (meanRow[i]+meanCol[j])*(1-k.Value)
			sum += p[i][j] * x * x
		}
	}
	rest := k.Value - k.Expected*(1-k.Value)
	k.SE = math.Sqrt(max(0, sum-rest*rest)/float64(n)) / (1 - k.Expected)
	return k
}

// Disagreement is a page to which readers gave different grades.
type Disagreement struct {
	Key
	URL web.URL
	// Labels are those of all readers of the page: of each the last, of the first
	// round where Settled is false.
	Labels []Label
	// Settled tells that each of them has looked at it again.
	Settled bool
}

// Agreement is how far the readers of a topic agree, before any second look.
type Agreement struct {
	Key
	// Table counts pairs of readers on pages; the first is the first by name.
	Table Table
	// Unsure counts pages that one reader graded and another could not tell.
	Unsure        int
	Disagreements []Disagreement // in the order of the pool
}

// Agreements are those of the topics that some page of was graded twice, in
// the order of the pool.
func Agreements(p *Pool, labels []Label) (out []Agreement) {
	byPage := map[Key]map[web.URL][]Label{}
	for _, l := range InForce(labels) {
		if byPage[l.Key] == nil {
			byPage[l.Key] = map[web.URL][]Label{}
		}
		byPage[l.Key][l.URL] = append(byPage[l.Key][l.URL], l)
	}
	for i := range p.Topics {
		t := &p.Topics[i]
		a := Agreement{Key: t.Key()}
		for _, x := range t.Pages {
			a.page(x.URL, byPage[a.Key][x.URL])
		}
		if a.Table.Total()+a.Unsure > 0 {
			out = append(out, a)
		}
	}
	return out
}

// page adds the labels of one page.
func (a *Agreement) page(u web.URL, labels []Label) {
	var first, second []Label
	for _, l := range labels {
		if l.Round == 1 {
			first = append(first, l)
		} else {
			second = append(second, l)
		}
	}
	byName := func(x, y Label) int {
		if x.Reader < y.Reader {
			return -1
		}
		return 1
	}
	slices.SortFunc(first, byName)
	differ := false
	for i, x := range first {
		for _, y := range first[i+1:] {
			if x.Grade == CannotTell || y.Grade == CannotTell {
				if x.Grade != y.Grade {
					a.Unsure++
				}
				continue
			}
			a.Table[x.Grade][y.Grade]++
			differ = differ || x.Grade != y.Grade
		}
	}
	if !differ {
		return
	}
	d := Disagreement{Key: a.Key, URL: u, Labels: first, Settled: true}
	for i, x := range first {
		k := slices.IndexFunc(second, func(y Label) bool { return y.Reader == x.Reader })
		if d.Settled = d.Settled && (k >= 0 || x.Grade == CannotTell); k >= 0 {
			d.Labels[i] = second[k]
		}
	}
	if !d.Settled { // nobody sees what others say now
		d.Labels = d.Labels[:0]
		for _, l := range labels {
			if l.Round == 1 {
				d.Labels = append(d.Labels, l)
			}
		}
		slices.SortFunc(d.Labels, byName)
	}
	a.Disagreements = append(a.Disagreements, d)
}
