package report

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// Plot is a chart with the name of its file, without an extension.
type Plot struct {
	Name    string
	Drawing *plot.Drawing
}

// Plots draws every chart of the report.
func Plots(r Results) ([]Plot, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.page().plots(), nil
}

func (p page) plots() (out []Plot) {
	for _, s := range p.Sections {
		out = append(append(out, s.charts...), s.more...)
	}
	return out
}

// along reads a curve at n, straight between its points, which ascend, and
// from zero; beyond its last point it is NaN.
func along(points []int, values []float64, n float64) float64 {
	if n == 0 && len(values) > 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(points, n, func(p int, n float64) int { return cmp.Compare(float64(p), n) })
	if i >= min(len(points), len(values)) {
		return math.NaN()
	}
	x, y := 0.0, 0.0
	if i > 0 {
		x, y = float64(points[i-1]), values[i-1]
	}
	return y + (values[i]-y)*(n-x)/(float64(points[i])-x)
}

// bandPoints is the number of points of a mean curve.
const bandPoints = 100

// curve is what a chart of lines shows of a cell at each of its points.
type curve func(eval.Cell) []float64

func hitsCurve(c eval.Cell) []float64 { return c.Hits }

// upperCurve is the optimistic hits, nil where none were asked for.
func upperCurve(c eval.Cell) []float64 { return c.UpperHits }

// pointsOf is the axis of the curves of cells: 0, then evenly up to the
// furthest point of any.
func pointsOf(cells []eval.Cell, count int) []int {
	last := 0
	for _, c := range cells {
		for _, n := range c.Points {
			last = max(last, n)
		}
	}
	return append([]int{0}, eval.Mesh(last, count)...)
}

// overTopics is a curve of a strategy's cells at each of points: the values of
// all topics, each the mean of its repeats. It ends where a topic's does: a
// mean over fewer topics is not comparable with the one before.
// Shape: [≤ points][topics].
func overTopics(cells []eval.Cell, s strategy, of curve, points []int) [][]float64 {
	var ids []eval.TopicID
	repeats := map[eval.TopicID][]eval.Cell{}
	for _, c := range cells {
		if c.Scorer == s.scorer && c.Judge == s.judge {
			if repeats[id(c)] == nil {
				ids = append(ids, id(c))
			}
			repeats[id(c)] = append(repeats[id(c)], c)
		}
	}
	var out [][]float64
	for _, n := range points {
		var values []float64
		for _, t := range ids {
			var runs []float64
			for _, c := range repeats[t] {
				runs = append(runs, along(c.Points, of(c), float64(n)))
			}
			if v := mean(runs); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		if len(values) < len(ids) || len(ids) == 0 {
			break
		}
		out = append(out, values)
	}
	return out
}

// curves is the harvest of each strategy that keep accepts: the mean over
// topics, with a 95 % band for those that band accepts, and the means of U and G.
func (b *builder) curves(title string, cells []eval.Cell, keep func(strategy) bool, truth bool, band func(strategy) bool) plot.Lines {
	points := pointsOf(cells, bandPoints)
	// The curves of topics with smaller budgets end at those.
	points = slices.Compact(slices.Sorted(slices.Values(append(points, b.Budgets...))))
	l := plot.Lines{Title: title, XLabel: "pages fetched", YLabel: "relevant pages found"}
	topics := map[eval.TopicID]bool{}
	for _, c := range cells {
		topics[id(c)] = true
	}
	same := b.twins(b.last(cells), true)
	for _, s := range strategies(cells, truth) {
		if _, twin := same[s]; twin || !keep(s) {
			continue
		}
		series := plot.Series{Name: b.lineName(s, same), Color: b.colors[s.scorer]}
		for i, values := range overTopics(cells, s, hitsCurve, points) {
			series.X, series.Y = append(series.X, float64(points[i])), append(series.Y, mean(values))
			if len(values) > 1 && band(s) {
				i := eval.Bootstrap(values, .95, bandDraws, rand.New(rand.NewPCG(7, 7)))
				series.Low, series.High = append(series.Low, i.Low), append(series.High, i.High)
			}
		}
		l.Series = append(l.Series, series)
	}
	for i, bound := range []struct {
		name string
		of   func(Topic) []float64
	}{{"U: bound", func(t Topic) []float64 { return t.Bound }}, {"G: greedy", func(t Topic) []float64 { return t.Greedy }}} {
		s := plot.Series{Name: bound.name, Mark: true, Color: i}
		for _, n := range points {
			var values []float64
			all := 0
			for _, t := range b.Topics {
				if !topics[t.TopicID] {
					continue
				}
				all++
				if len(t.Points) > 0 && t.Points[len(t.Points)-1] >= n {
					values = append(values, along(t.Points, bound.of(t), float64(n)))
				}
			}
			if len(values) < all {
				break // as with the strategies
			}
			if v := mean(values); !math.IsNaN(v) {
				s.X, s.Y = append(s.X, float64(n)), append(s.Y, v)
			}
		}
		if len(s.X) > 1 {
			l.Series = append(l.Series, s)
		}
	}
	plot.Apart(l.Series)
	return l
}

// between is, for each strategy that keep accepts, all that lies between
// nothing and everything outside the record being relevant, or of what nobody read.
func (b *builder) between(title string, cells []eval.Cell, keep func(strategy) bool) plot.Lines {
	points := pointsOf(cells, bandPoints)
	l := plot.Lines{
		Title: title, XLabel: "pages fetched", YLabel: "relevant pages found", Height: 380,
		Note: fmt.Sprintf("The best by AUC and %s; mean over topics. Line: nothing outside the record is relevant; upper edge: everything is.", b.Baseline),
	}
	least := hitsCurve
	if wasRead(cells) {
		least = lowerCurve
		l.Note = fmt.Sprintf("The best by AUC and %s; mean over topics. Line: estimated; lower edge: no page that nobody read is relevant; upper edge: all of them are.", b.Baseline)
	}
	for _, s := range strategies(cells, false) {
		if !keep(s) {
			continue
		}
		series := plot.Series{Name: b.name(s), Color: b.colors[s.scorer]}
		lower, upper := overTopics(cells, s, least, points), overTopics(cells, s, upperCurve, points)
		for i, values := range overTopics(cells, s, hitsCurve, points) {
			if i == min(len(lower), len(upper)) {
				break
			}
			series.X, series.Y = append(series.X, float64(points[i])), append(series.Y, mean(values))
			series.Low, series.High = append(series.Low, mean(lower[i])), append(series.High, mean(upper[i]))
		}
		l.Series = append(l.Series, series)
	}
	plot.Apart(l.Series)
	return l
}

// maxLines is how many strategies a chart shows besides the baseline, and
// maxBands how many of them with a band: more of either cover each other.
const (
	maxLines = 5
	maxBands = 1
)

// color gives scorers their colours, which are those of every chart: the baseline has the
// first, then come those with the highest mean AUC at the largest budget that they have.
// So the lines that are shown most seldom share one.
func (b *builder) color(scorers []string) {
	auc := map[string]float64{}
	for _, s := range scorers {
		var all []float64
		for _, c := range b.sound(func(c eval.Cell) bool { return c.Scorer == s && c.Judge != TruthJudge }) {
			for _, n := range slices.Backward(b.Budgets) {
				if v := c.Value("auc", n); !math.IsNaN(v) {
					all = append(all, v)
					break
				}
			}
		}
		auc[s] = mean(all)
		if math.IsNaN(auc[s]) {
			auc[s] = -1
		}
	}
	order := slices.Clone(scorers)
	slices.SortStableFunc(order, func(x, y string) int {
		if (x == b.Baseline) != (y == b.Baseline) {
			if x == b.Baseline {
				return -1
			}
			return 1
		}
		return cmp.Compare(auc[y], auc[x])
	})
	for i, s := range order {
		b.colors[s] = i
	}
}

// lineName is the name of a line, with those of the strategies that it is the line of too.
func (b *builder) lineName(s strategy, same map[strategy]strategy) string {
	names := []string{b.name(s)}
	for other, of := range same {
		if of == s {
			names = append(names, b.name(other))
		}
	}
	slices.Sort(names[1:])
	return strings.Join(names, " = ")
}

// leaders picks the count strategies with the best mean AUC at the largest
// budget that was run, and the baseline: of those with all their runs.
func (b *builder) leaders(cells []eval.Cell, count int) func(strategy) bool {
	type placed struct {
		strategy
		auc float64
	}
	var list []placed
	whole, same := complete(cells, false), b.twins(b.last(cells), true)
	for _, s := range strategies(cells, false) {
		if _, twin := same[s]; twin || !whole(s) {
			continue
		}
		auc := math.NaN()
		for i := len(b.Budgets) - 1; i >= 0 && math.IsNaN(auc); i-- {
			_, values := byTopic(cells, s, "auc", b.Budgets[i])
			auc = mean(values)
		}
		list = append(list, placed{s, auc})
	}
	slices.SortStableFunc(list, func(x, y placed) int { return cmp.Compare(y.auc, x.auc) })
	chosen := map[strategy]bool{}
	for i, s := range list {
		if i < count || s.scorer == b.Baseline {
			chosen[s.strategy] = true
		}
	}
	return func(s strategy) bool { return chosen[s] }
}

// multiples is a small chart of the harvest for each topic.
func (b *builder) multiples(title string, cells []eval.Cell, keep func(strategy) bool) (plot.Multiples, bool) {
	m := plot.Multiples{Title: title, Note: "Each panel has its own scale."}
	if bounded(cells) {
		m.Note += " Lower figures."
	}
	for _, t := range b.Topics {
		var here []eval.Cell
		for _, c := range cells {
			if id(c) == t.TopicID {
				here = append(here, c)
			}
		}
		if len(here) == 0 {
			continue
		}
		name := t.Topic
		if t.Seeds != "" {
			name += ", " + t.Seeds + " seeds"
		}
		m.Panels = append(m.Panels, b.curves(name, here, keep, false, func(strategy) bool { return false }))
	}
	return m, len(m.Panels) > 1
}

// surface is precision by similarity: for each of eval.Thresholds a panel with the
// precision over the page points, a line a strategy; the mean over topics.
func (b *builder) surface(title string, cells []eval.Cell, keep func(strategy) bool) plot.Multiples {
	m := plot.Multiples{
		Title: title, Columns: 3, PanelHeight: 190,
		Note: "Share of the pages whose best cosine to an example is at least γ; mean over topics. All panels have the same scale.",
	}
	top := 0.0
	for k, γ := range eval.Thresholds() {
		panel := b.sweep(fmt.Sprintf("γ = %v", γ), cells, keep, k)
		panel.XLabel, panel.YLabel, panel.Percent = "pages fetched", "precision", true
		for i := range panel.Series {
			s := &panel.Series[i]
			// Nothing was fetched at 0, and a share of a handful jumps.
			for len(s.X) > 0 && s.X[0] == 0 {
				s.X, s.Y = s.X[1:], s.Y[1:]
			}
			for j := range s.X {
				s.Y[j] /= s.X[j]
				top = max(top, s.Y[j])
			}
		}
		m.Panels = append(m.Panels, panel)
	}
	for i := range m.Panels {
		m.Panels[i].YMax = top
	}
	return m
}

// similar is the figure of similar pages, swept over γ: pages whose cosine reaches it
// against pages fetched, the mean over topics.
func (b *builder) similar(title string, cells []eval.Cell, keep func(strategy) bool) plot.Multiples {
	m := plot.Multiples{
		Title: title, Columns: 3, PanelHeight: 190,
		Note: "Pages whose best cosine to an example is at least γ; mean over topics. Each panel has its own scale.",
	}
	at, done := eval.Thresholds(), false
	for k := 0; k <= len(at); k++ {
		if !done && (k == len(at) || at[k] > eval.SimilarThreshold) {
			m.Panels = append(m.Panels, b.sweep(fmt.Sprintf("γ = %v", eval.SimilarThreshold), cells, keep, -1))
			done = true
		}
		if k < len(at) {
			m.Panels = append(m.Panels, b.sweep(fmt.Sprintf("γ = %v", at[k]), cells, keep, k))
		}
	}
	return m
}

// sweep is the mean count of pages at the k-th of eval.Thresholds, and at
// eval.SimilarThreshold for -1.
func (b *builder) sweep(title string, cells []eval.Cell, keep func(strategy) bool, k int) plot.Lines {
	l := plot.Lines{Title: title, XLabel: "pages fetched", YLabel: "pages with such a cosine"}
	points := pointsOf(cells, bandPoints)
	for _, s := range strategies(cells, false) {
		if !keep(s) {
			continue
		}
		series := plot.Series{Name: b.name(s), Color: b.colors[s.scorer]}
		for i, values := range overTopics(cells, s, swept(k), points) {
			series.X, series.Y = append(series.X, float64(points[i])), append(series.Y, mean(values))
		}
		l.Series = append(l.Series, series)
	}
	plot.Apart(l.Series)
	return l
}

// sigma is σ at each budget, a line a strategy; the mean over topics.
func (b *builder) sigma(title string, cells []eval.Cell, keep func(strategy) bool) plot.Lines {
	l := plot.Lines{Title: title, XLabel: "pages fetched", YLabel: "σ", Note: "Mean over the pages of the best cosine to an example, at the budgets of the lab; mean over topics."}
	for _, s := range strategies(cells, false) {
		if !keep(s) {
			continue
		}
		series := plot.Series{Name: b.name(s), Color: b.colors[s.scorer], Dots: true}
		for _, n := range b.Budgets {
			if _, values := byTopic(cells, s, "sigma", n); len(values) > 0 {
				series.X, series.Y = append(series.X, float64(n)), append(series.Y, mean(values))
			}
		}
		if len(series.X) > 0 {
			l.Series = append(l.Series, series)
		}
	}
	return l
}

// swept is the k-th curve of a cell's sweep, and Similar for -1.
func swept(k int) curve {
	return func(c eval.Cell) []float64 {
		if k < 0 {
			return c.Similar
		}
		if k < len(c.Sweep) {
			return c.Sweep[k]
		}
		return nil
	}
}

// loss is the expected loss by the crawls' own judges over pages fetched,
// the mean over topics: as the paper prints it, a mean over pages, and as its
// figures are read, a sum. It is false where no cell holds it.
func (b *builder) loss(title string, cells []eval.Cell, keep func(strategy) bool) (plot.Multiples, bool) {
	points := pointsOf(cells, bandPoints)
	panel := func(title, label string, of curve) plot.Lines {
		l := plot.Lines{Title: title, XLabel: "pages fetched", YLabel: label}
		for _, s := range strategies(cells, false) {
			if !keep(s) {
				continue
			}
			series := plot.Series{Name: b.name(s), Color: b.colors[s.scorer]}
			for i, values := range overTopics(cells, s, of, points) {
				if points[i] > 0 { // before the first page there is no mean
					series.X, series.Y = append(series.X, float64(points[i])), append(series.Y, mean(values))
				}
			}
			if len(series.X) > 0 {
				l.Series = append(l.Series, series)
			}
		}
		return l
	}
	m := plot.Multiples{
		Title: title, Columns: 2, PanelHeight: 260,
		Note: "1−Pr by the judge that guided the crawl; mean over topics. Less is better. Each panel has its own scale.",
		Panels: []plot.Lines{
			panel("mean over the pages so far", "1−Pr", func(c eval.Cell) []float64 { return c.Loss }),
			panel("sum over the pages so far", "Σ (1−Pr)", func(c eval.Cell) []float64 { return c.LossSum }),
		},
	}
	return m, len(m.Panels[0].Series) > 0
}

// fewPages is below how many pages the share of a tenth says little.
const fewPages = 20

// reliability is, for each judge on a web, the share of pages that are
// relevant in truth against the mean of the relevance that it gave, in equal
// parts of [0,1]; pages of all topics together.
func (b *builder) reliability(web string) (plot.Lines, bool) {
	l := plot.Lines{
		Title: "What a judge's relevance is worth: " + b.webName(web), XLabel: "relevance given by the judge, mean of each tenth", YLabel: "share relevant in truth",
		Note:    "Pages of all topics together. A judge whose figures are probabilities follows the dashed line; under it, it promises too much. Tenths with fewer than 20 pages are left out.",
		Percent: true, YMax: 1, Height: 380,
	}
	var names []string
	pooled := map[string][]Bin{}
	for _, j := range b.judgesInForce() {
		if j.Web != web || len(j.Bins) == 0 {
			continue
		}
		if pooled[j.Judge] == nil {
			names = append(names, j.Judge)
		}
		for i, bin := range j.Bins {
			if i == len(pooled[j.Judge]) {
				pooled[j.Judge] = append(pooled[j.Judge], Bin{})
			}
			sum := &pooled[j.Judge][i]
			all := float64(sum.Count + bin.Count)
			if all == 0 {
				continue
			}
			sum.Mean = (sum.Mean*float64(sum.Count) + bin.Mean*float64(bin.Count)) / all
			sum.Share = (sum.Share*float64(sum.Count) + bin.Share*float64(bin.Count)) / all
			sum.Count += bin.Count
		}
	}
	slices.Sort(names)
	for i, name := range names {
		s := plot.Series{Name: name, Color: i, Dots: true}
		for _, bin := range pooled[name] {
			if bin.Count >= fewPages {
				s.X, s.Y = append(s.X, bin.Mean), append(s.Y, bin.Share)
			}
		}
		l.Series = append(l.Series, s)
	}
	l.Series = append(l.Series, plot.Series{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}, Mark: true})
	return l, len(names) > 0
}
