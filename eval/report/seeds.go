package report

import (
	"fmt"
	"math"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// mostSeeds is the share of a budget that seeds may take: above it a figure
// tells of the seeds and not of the strategy.
const mostSeeds = .5

// topicBudget is a topic at a budget.
type topicBudget struct {
	eval.TopicID
	budget int
}

// leaveOut makes shown of the cells: each as it is, but without its values at
// budgets of which the seeds of its topic took more than half. What it leaves out
// is kept, with the mean number of places that seeds took.
func (b *builder) leaveOut() {
	type sum struct{ seeds, runs float64 }
	sums := map[topicBudget]sum{}
	for i := range b.Cells {
		c := &b.Cells[i]
		for _, n := range b.Budgets {
			if v := c.Value("seeds", n); c.Error == "" && !math.IsNaN(v) {
				s := sums[topicBudget{id(*c), n}]
				sums[topicBudget{id(*c), n}] = sum{s.seeds + v, s.runs + 1}
			}
		}
	}
	for at, s := range sums {
		if mean := s.seeds / s.runs; mean > mostSeeds*float64(at.budget) {
			b.eaten[at] = mean
		}
	}
	b.shown = make([]eval.Cell, len(b.Cells))
	for i, c := range b.Cells {
		c.Values, c.Upper = b.keep(id(c), c.Values), b.keep(id(c), c.Upper)
		b.shown[i] = c
	}
}

// keep is values without those that are left out.
func (b *builder) keep(topic eval.TopicID, values []eval.Value) []eval.Value {
	var out []eval.Value
	for i, v := range values {
		_, gone := b.eaten[topicBudget{topic, v.Budget}]
		switch {
		case gone && out == nil:
			out = append(make([]eval.Value, 0, len(values)), values[:i]...)
		case !gone && out != nil:
			out = append(out, v)
		}
	}
	if out == nil {
		return values
	}
	return out
}

// leftOut names the topics of cells that are in no table at a budget, "" if
// there are none.
func (b *builder) leftOut(cells []eval.Cell, budget int) string {
	has := map[eval.TopicID]bool{} // whole ones
	for _, c := range cells {
		has[id(c)] = true
	}
	var names []string
	for _, t := range b.parts { // which are sorted
		if seeds, gone := b.eaten[topicBudget{t.TopicID, budget}]; gone && has[t.whole()] {
			names = append(names, fmt.Sprintf("%s (%s)", b.topicName(t.TopicID), plot.Number(seeds, 0)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Left out, as seeds take more than half of the %s pages and the figures would tell of them: %s.", plot.Number(float64(budget), 0), listed(names))
}
