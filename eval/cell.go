package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
)

// Cell is what a report needs of one run: its measures at each budget and its
// curve. Its JSON is one line.
type Cell struct {
	Key
	Ended  string  `json:"ended,omitempty"`
	Values []Value `json:"values"`
	// Upper holds those values that are hits, or made of hits, as if every
	// address outside the record had been one; empty unless bounds were asked
	// for. A measure of which less is better has its lower bound here.
	Upper []Value `json:"upper,omitempty"`
	// Lower holds the same as if no page that nobody read were relevant, and then
	// Upper as if all of them were; empty unless the truth was read.
	Lower []Value `json:"lower,omitempty"`
	// Points are the places at which Hits holds H, and UpperHits the
	// optimistic H; LowerHits and Unread are those of a truth that was read: H of
	// what was read, and the places whose page may be a hit and was not. Similar is
	// the count of similar pages at SimilarThreshold, and Sweep the same at each of
	// Thresholds, which over Points is the surface of Run.PrecisionMesh; Loss and
	// LossSum are the expected loss, see Run.CurveLoss.
	// Shapes: Points, Hits, UpperHits, LowerHits, Unread, Similar, Loss, LossSum [P];
	// Sweep [5][P].
	Points    []int       `json:"points"`
	Hits      []float64   `json:"hits"`
	UpperHits []float64   `json:"upper_hits,omitempty"`
	LowerHits []float64   `json:"lower_hits,omitempty"`
	Unread    []float64   `json:"unread,omitempty"`
	Similar   []float64   `json:"similar,omitempty"`
	Sweep     [][]float64 `json:"sweep,omitempty"`
	Loss      []float64   `json:"loss,omitempty"`
	LossSum   []float64   `json:"loss_sum,omitempty"`
	// Order tells crawls of one topic apart: for each budget, a hash of the pages that
	// were fetched by then, in their order. It is nil where pages have no numbers.
	Order map[int]string `json:"order,omitempty"`
	// Model is what training told of the model that guided the run: counts of what taught
	// it, and what training chose by itself, such as a number of clusters. nil without one.
	Model map[string]float64 `json:"model,omitempty"`
	// Error says why the run failed; then there is nothing else.
	Error string `json:"error,omitempty"`
}

// Value is a measure at a budget.
type Value struct {
	Budget  int    `json:"n"`
	Measure string `json:"measure"`
	Value   Number `json:"value"`
}

// Number is a float64 whose NaN is JSON's null.
type Number float64

// MarshalJSON writes nine significant digits: more than any table shows, fewer
// than differ between machines.
func (x Number) MarshalJSON() ([]byte, error) {
	if v := float64(x); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(nil, v, 'g', 9, 64), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (x *Number) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*x = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(x))
}

// NewCell measures a run at each of budgets, which ascend. Budgets above the
// run's own are left out.
func NewCell(r *Run, ref Reference, budgets []int, measures []Measure) Cell {
	c := Cell{Key: r.Key, Ended: string(r.Ended)}
	r = r.Estimated(ref)
	lower, upper := r, r
	if r.From > 0 {
		lower, upper = r.Bounded(0), r.Bounded(1)
	}
	if r.Bounds {
		upper = upper.Optimistic()
	}
	bounds := r.Bounds || r.From > 0
	for _, n := range budgets {
		if r.Budget > 0 && n > r.Budget {
			continue
		}
		for _, m := range measures {
			if m.Read && r.From == 0 {
				continue
			}
			c.Values = append(c.Values, Value{n, m.Name, Number(m.Of(r, ref, n))})
			if bounds && m.Bounded() {
				c.Upper = append(c.Upper, Value{n, m.Name, Number(m.Of(upper, ref, n))})
			}
			if r.From > 0 && m.Bounded() {
				c.Lower = append(c.Lower, Value{n, m.Name, Number(m.Of(lower, ref, n))})
			}
		}
	}
	last := len(r.Pages)
	if r.Budget > 0 {
		last = r.Budget
	}
	c.Order = r.orders(budgets)
	c.Points = Mesh(last, MeshPoints, budgets...)
	c.Hits = r.Curve(c.Points)
	if bounds {
		c.UpperHits = upper.Curve(c.Points)
	}
	if r.From > 0 {
		c.LowerHits, c.Unread = lower.Curve(c.Points), r.CurveUnread(c.Points)
	}
	c.Similar = r.CurveSimilar(c.Points, SimilarThreshold)
	c.Loss, c.LossSum = r.CurveLoss(c.Points)
	for _, γ := range thresholds {
		c.Sweep = append(c.Sweep, r.CurveSimilar(c.Points, γ))
	}
	return c
}

// Check tells whether the figures of a cell contradict one another, as those of a file that
// was changed by hand: hits are harvest·n, and those of the curve at n.
func (c *Cell) Check() error {
	differ := func(a, b float64) bool { return math.Abs(a-b) > 1e-6*max(1, math.Abs(a)) } // NaN never does
	for _, v := range c.Values {
		if v.Measure != "hits" {
			continue
		}
		hits := float64(v.Value)
		if h := c.Value("harvest", v.Budget); differ(hits, h*float64(v.Budget)) {
			return fmt.Errorf("%v hits at %d pages, but a harvest of %v", hits, v.Budget, h)
		}
		if i := slices.Index(c.Points, v.Budget); i >= 0 && i < len(c.Hits) && differ(hits, c.Hits[i]) {
			return fmt.Errorf("%v hits at %d pages, but %v in the curve", hits, v.Budget, c.Hits[i])
		}
	}
	return nil
}

// orders are hashes of the first pages of a run, for each of budgets, which ascend.
func (r *Run) orders(budgets []int) map[int]string {
	out := map[int]string{}
	h := fnv.New64a()
	done := 0
	for _, n := range budgets {
		if r.Budget > 0 && n > r.Budget {
			break
		}
		for ; done < min(n, len(r.Pages)); done++ {
			p := r.Pages[done]
			if p.ID < 0 && p.Mark&Outside == 0 {
				return nil
			}
			fmt.Fprintln(h, p.ID, p.Host)
		}
		out[n] = fmt.Sprintf("%016x", h.Sum64())
	}
	return out
}

// Value returns a measure at a budget, NaN if the cell does not hold it.
func (c *Cell) Value(measure string, budget int) float64 { return pick(c.Values, measure, budget) }

// UpperValue is the optimistic Value, and Value itself where there is none.
func (c *Cell) UpperValue(measure string, budget int) float64 {
	if v := pick(c.Upper, measure, budget); !math.IsNaN(v) {
		return v
	}
	return c.Value(measure, budget)
}

// LowerValue is the Value if no unread page were relevant, and Value itself where
// there is none.
func (c *Cell) LowerValue(measure string, budget int) float64 {
	if v := pick(c.Lower, measure, budget); !math.IsNaN(v) {
		return v
	}
	return c.Value(measure, budget)
}

func pick(values []Value, measure string, budget int) float64 {
	for _, v := range values {
		if v.Budget == budget && v.Measure == measure {
			return float64(v.Value)
		}
	}
	return math.NaN()
}

// TopicID names a topic of a web, the unit of all statistics.
type TopicID struct {
	Web   string `json:"web"`
	Topic string `json:"topic"`
	Seeds string `json:"seeds"`
}

func (t TopicID) String() string {
	s := t.Web + "/" + t.Topic
	if t.Seeds != "" {
		s += "/" + t.Seeds
	}
	return s
}

// ByTopic averages a measure over the repeats of each topic, for the cells of
// one scorer and judge. Failed cells and NaN values are left out.
func ByTopic(cells []Cell, scorer, judge, measure string, budget int) map[TopicID]float64 {
	return byTopic(cells, scorer, judge, func(c *Cell) float64 { return c.Value(measure, budget) })
}

// UpperByTopic is ByTopic of the optimistic values.
func UpperByTopic(cells []Cell, scorer, judge, measure string, budget int) map[TopicID]float64 {
	return byTopic(cells, scorer, judge, func(c *Cell) float64 { return c.UpperValue(measure, budget) })
}

// LowerByTopic is ByTopic of the values if no unread page were relevant.
func LowerByTopic(cells []Cell, scorer, judge, measure string, budget int) map[TopicID]float64 {
	return byTopic(cells, scorer, judge, func(c *Cell) float64 { return c.LowerValue(measure, budget) })
}

func byTopic(cells []Cell, scorer, judge string, value func(*Cell) float64) map[TopicID]float64 {
	sums, counts := map[TopicID]float64{}, map[TopicID]float64{}
	for i := range cells {
		c := &cells[i]
		if c.Scorer != scorer || c.Judge != judge || c.Error != "" {
			continue
		}
		if v := value(c); !math.IsNaN(v) {
			id := TopicID{c.Web, c.Topic, c.Seeds}
			sums[id] += v
			counts[id]++
		}
	}
	for id := range sums {
		sums[id] /= counts[id]
	}
	return sums
}

// Pair lines up two scorers' values by topic; topics that only one of them has
// are left out. The topics are sorted. Shapes: topics, a, b [T].
func Pair(first, second map[TopicID]float64) (topics []TopicID, a, b []float64) {
	for id := range first {
		if _, ok := second[id]; ok {
			topics = append(topics, id)
		}
	}
	slices.SortFunc(topics, func(x, y TopicID) int { return bytes.Compare([]byte(x.String()), []byte(y.String())) })
	for _, id := range topics {
		a, b = append(a, first[id]), append(b, second[id])
	}
	return topics, a, b
}

// CheckBudgets tells whether budgets ascend and are positive.
func CheckBudgets(budgets []int) error {
	for i, n := range budgets {
		if n < 1 || i > 0 && n <= budgets[i-1] {
			return fmt.Errorf("budgets %v: write positive numbers, smallest first, each once", budgets)
		}
	}
	return nil
}
