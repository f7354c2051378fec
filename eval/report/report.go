// Package report makes of a lab's results something to read: one HTML file
// that needs nothing else, the same as Markdown, tables as CSV, and plots.
//
//	Results ─► build ─► page ─┬─► HTML
//	                          ├─► Markdown
//	Results ──────────────────┼─► CSV
//	                          └─► Plots
//
// What is made depends on the Results alone: the same cells, in any order, give
// the same bytes. The judge that knows the truth appears in a section of its
// own and in no other table; webs that were made up are labelled wherever they
// are named, and are left out of every comparison across webs.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// TruthJudge names the judge that never errs: for diagnosis only.
const TruthJudge = "truth"

// Results is what a lab found out: webs × topics × scorers × judges × repeats.
type Results struct {
	Title   string
	Command string   // makes the report again
	Notes   []string // what a reader has to know: rules, seeds, network
	Webs    []Web
	Budgets []int // ascending
	// Baseline is the scorer that all others are compared with, under the same
	// judge; "" = breadth-first.
	Baseline string
	// Headline names the measures of the main tables; nil = Headline().
	Headline []string
	Cells    []eval.Cell
	Topics   []Topic
	Judges   []Judge
	Costs    []Cost
	// Clock says by what the costs were measured, in a phrase; "" = the time
	// that passed.
	Clock string
	// Missing counts runs that are planned and not there yet.
	Missing int
	// Constants are those in force, in the order of the strategies.
	Constants []Constant
}

// Constant is a setting of a strategy.
type Constant struct {
	Scorer, Name   string
	Value, Default float64
	Line           string // what it means
}

// Headline is the default choice of measures for the main tables.
func Headline() []string {
	return []string{"hits", "harvest", "auc", "of-bound", "of-greedy", "recall", "harvest-200", "requests", "outside"}
}

// Web is a recorded web.
type Web struct {
	Name      string
	Pages     int
	Hosts     int
	Synthetic bool   // made up: no claims rest on it
	Note      string // source, licence
}

// Topic is what was possible on a topic. Shapes: Points, Bound, Greedy [P].
type Topic struct {
	eval.TopicID
	// Dev tells that the topic was for development: what is tuned on it is not
	// tested by it. It is reported apart.
	Dev           bool `json:",omitempty"`
	Reachable     int
	Points        []int
	Bound, Greedy []float64 // U and G at Points
}

// NewTopic keeps a reference at the points of a curve.
func NewTopic(id eval.TopicID, ref eval.Reference, points []int) Topic {
	t := Topic{TopicID: id, Reachable: ref.Reachable, Points: points}
	at := func(curve []int, n int) float64 {
		if len(curve) == 0 {
			return math.NaN()
		}
		return float64(curve[min(n, len(curve)-1)])
	}
	for _, n := range points {
		t.Bound, t.Greedy = append(t.Bound, at(ref.Bound, n)), append(t.Greedy, at(ref.Greedy, n))
	}
	return t
}

// Judge is how a judge compares with the truth of a topic: NaN = not known.
type Judge struct {
	Web, Topic, Judge                  string
	Threshold                          float64
	Precision, Recall, AUROC, ECE      float64
	Pages, Relevant, Accepted, Correct int
	// Bins are equal parts of [0,1] with the pages whose relevance lies there:
	// the judge's reliability. May be nil.
	Bins []Bin
}

// Bin is a part of a judge's pages: how many, the mean of the relevance that
// the judge gave, and the share that is relevant in truth. Of no pages all are 0.
type Bin struct {
	Count       int
	Mean, Share float64
}

// Cost is what a strategy takes: mean milliseconds a page, by stage, and
// seconds of training before a crawl, NaN where it was not measured.
type Cost struct {
	Scorer, Judge string
	Stages        []Stage
	Training      float64
}

// Stage is a part of a crawl and its milliseconds a page.
type Stage struct {
	Name   string
	Millis float64
	// Apart tells that the stage was no part of the simulation, such as
	// parsing that was done once for all: it is left out of the sum.
	Apart bool
}

// strategy is a scorer under a judge.
type strategy struct{ scorer, judge string }

// bandDraws is the number of bootstrap samples of a band. Every point of it is
// made from the same samples of topics, so that it moves as they do.
const bandDraws = 1000

// tie is the largest difference that still counts as a tie: far below what one
// page more or less makes.
const tie = 1e-9

// weakShare is the out-of-record rate above which a figure is
// marked as weak.
const weakShare = .05

// builder makes tables and charts of results.
type builder struct {
	Results
	synthetic map[string]bool
	measures  map[string]eval.Measure
	colors    map[string]int // of scorers
	judges    []string       // without truth
}

func newBuilder(r Results) (*builder, error) {
	if err := eval.CheckBudgets(r.Budgets); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	b := &builder{Results: r, synthetic: map[string]bool{}, measures: map[string]eval.Measure{}, colors: map[string]int{}}
	if b.Baseline == "" {
		b.Baseline = "breadth-first"
	}
	if b.Headline == nil {
		b.Headline = Headline()
	}
	for _, m := range eval.Measures() {
		b.measures[m.Name] = m
	}
	for _, name := range b.Headline {
		if _, ok := b.measures[name]; !ok {
			return nil, fmt.Errorf("report: there is no measure %q; the lab lists those there are", name)
		}
	}
	b.Cells = slices.Clone(r.Cells)
	slices.SortFunc(b.Cells, func(x, y eval.Cell) int {
		return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Seeds, y.Seeds),
			cmp.Compare(x.Scorer, y.Scorer), cmp.Compare(x.Judge, y.Judge), cmp.Compare(x.Repeat, y.Repeat))
	})
	b.Topics = slices.Clone(r.Topics)
	slices.SortFunc(b.Topics, func(x, y Topic) int {
		return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Seeds, y.Seeds))
	})
	b.Webs = slices.Clone(r.Webs)
	slices.SortFunc(b.Webs, func(x, y Web) int { return cmp.Compare(x.Name, y.Name) })
	for _, w := range b.Webs {
		b.synthetic[w.Name] = w.Synthetic
	}
	var scorers []string
	for i, c := range b.Cells {
		if i > 0 && b.Cells[i-1].Key == c.Key {
			return nil, fmt.Errorf("report: two cells are named %s", c.Key)
		}
		if _, known := b.synthetic[c.Web]; !known {
			return nil, fmt.Errorf("report: cell %s: the web %q is not described, so nobody knows whether it is synthetic", c.Key, c.Web)
		}
		if !slices.Contains(scorers, c.Scorer) {
			scorers = append(scorers, c.Scorer)
		}
		if c.Judge != TruthJudge && !slices.Contains(b.judges, c.Judge) {
			b.judges = append(b.judges, c.Judge)
		}
	}
	slices.Sort(scorers)
	slices.Sort(b.judges)
	for i, s := range scorers {
		b.colors[s] = i
	}
	return b, nil
}

// name is a strategy's: the judge is told where there are several.
func (b *builder) name(s strategy) string {
	if len(b.judges) > 1 && s.judge != TruthJudge {
		return s.scorer + " · " + s.judge
	}
	return s.scorer
}

// webName labels a synthetic web as one.
func (b *builder) webName(name string) string {
	if b.synthetic[name] {
		return name + " (synthetic)"
	}
	return name
}

// topicName is a topic's within a list of several webs.
func (b *builder) topicName(id eval.TopicID) string {
	s := b.webName(id.Web) + "/" + id.Topic
	if id.Seeds != "" {
		s += ", " + id.Seeds + " seeds"
	}
	return s
}

// cells lists the sound cells that keep accepts.
func (b *builder) cells(keep func(eval.Cell) bool) []eval.Cell {
	var out []eval.Cell
	for _, c := range b.Cells {
		if c.Error == "" && keep(c) {
			out = append(out, c)
		}
	}
	return out
}

// strategies lists those of cells, sorted by name; truth apart.
func strategies(cells []eval.Cell, truth bool) []strategy {
	var out []strategy
	for _, c := range cells {
		if s := (strategy{c.Scorer, c.Judge}); (c.Judge == TruthJudge) == truth && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y strategy) int {
		return cmp.Or(cmp.Compare(x.judge, y.judge), cmp.Compare(x.scorer, y.scorer))
	})
	return out
}

// mean of the values that are known, NaN of none.
func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// byTopic is a measure of a strategy, one value a topic, in the order of topics.
func byTopic(cells []eval.Cell, s strategy, measure string, budget int) (topics []eval.TopicID, values []float64) {
	m := eval.ByTopic(cells, s.scorer, s.judge, measure, budget)
	topics, values, _ = eval.Pair(m, m)
	return topics, values
}

// written is a value as tables show it.
func written(m eval.Measure, v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case m.Count && v == math.Trunc(v), m.Count && v >= 1000:
		return plot.Number(v, 0)
	case m.Count:
		return plot.Number(v, 1)
	}
	return plot.Number(v, 3)
}

// summary is the main table of a set of cells at a budget: strategies, best
// AUC first, by measures; means over topics of means over repeats.
func (b *builder) summary(title string, cells []eval.Cell, budget int, truth bool) table {
	t := table{Title: title, Head: append([]string{"strategy", "topics"}, b.Headline...)}
	type row struct {
		s      strategy
		topics int
		values []float64
		order  float64
		weak   bool
	}
	var rows []row
	for _, s := range strategies(cells, truth) {
		r := row{s: s}
		for _, name := range b.Headline {
			topics, values := byTopic(cells, s, name, budget)
			r.topics = max(r.topics, len(topics))
			r.values = append(r.values, mean(values))
		}
		if r.topics == 0 {
			continue // no run of this budget
		}
		_, auc := byTopic(cells, s, "auc", budget)
		r.order = mean(auc)
		_, outside := byTopic(cells, s, "outside", budget)
		r.weak = mean(outside) > weakShare
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(x, y row) int { return cmp.Compare(y.order, x.order) })
	for _, r := range rows {
		name := b.name(r.s)
		if r.weak {
			name += " †"
			t.Note = "† more than 5% of what it wanted lies outside the record: a weak figure."
		}
		out := []cell{{Text: name}, {Text: fmt.Sprint(r.topics), Number: true}}
		for i, v := range r.values {
			m := b.measures[b.Headline[i]]
			// The best of a column is marked, unless all are alike.
			best, differ := m.Better != 0 && !math.IsNaN(v), false
			for _, other := range rows {
				gain := (other.values[i] - v) * float64(m.Better)
				best = best && !(gain > 1e-12)
				differ = differ || gain < -1e-12
			}
			out = append(out, cell{Text: written(m, v), Number: true, Strong: best && differ})
		}
		t.Rows = append(t.Rows, out)
	}
	return t
}

// perTopic is the table of hits: topics by budgets and strategies, with what
// was possible.
func (b *builder) perTopic(cells []eval.Cell, budget int, truth bool) table {
	t := table{Title: "Hits of each topic at " + plot.Number(float64(budget), 0) + " pages", Head: []string{"topic"}}
	all := strategies(cells, truth)
	var hits []map[eval.TopicID]float64 // [strategy]
	for _, s := range all {
		t.Head = append(t.Head, b.name(s))
		hits = append(hits, eval.ByTopic(cells, s.scorer, s.judge, "hits", budget))
	}
	t.Head = append(t.Head, "G", "U", "reachable")
	for _, topic := range b.Topics {
		row := []cell{{Text: b.topicName(topic.TopicID)}}
		var values []float64
		top := math.Inf(-1)
		for i := range all {
			v, ok := hits[i][topic.TopicID]
			if !ok {
				v = math.NaN()
			}
			values = append(values, v)
			if v > top {
				top = v
			}
		}
		if math.IsInf(top, -1) {
			continue
		}
		for _, v := range values {
			row = append(row, cell{Text: written(b.measures["hits"], v), Number: true, Strong: v == top && len(values) > 1})
		}
		g, u := along(topic.Points, topic.Greedy, float64(budget)), along(topic.Points, topic.Bound, float64(budget))
		row = append(row, cell{Text: plot.Number(g, 0), Number: true}, cell{Text: plot.Number(u, 0), Number: true},
			cell{Text: plot.Number(float64(topic.Reachable), 0), Number: true})
		t.Rows = append(t.Rows, row)
	}
	return t
}

// comparison is a strategy against the baseline.
type comparison struct {
	strategy
	eval.Comparison
	holm float64
}

// compare sets every strategy against the baseline under the same judge on AUC
// at a budget, with the p values adjusted for their number.
func (b *builder) compare(cells []eval.Cell, budget int) []comparison {
	var out []comparison
	var p []float64
	for _, s := range strategies(cells, false) {
		if s.scorer == b.Baseline {
			continue
		}
		ours := eval.ByTopic(cells, s.scorer, s.judge, "auc", budget)
		theirs := eval.ByTopic(cells, b.Baseline, s.judge, "auc", budget)
		topics, x, y := eval.Pair(ours, theirs)
		if len(topics) == 0 {
			continue
		}
		c := comparison{strategy: s, Comparison: eval.Compare(topics, x, y, +1, tie, uint64(budget))}
		out = append(out, c)
		p = append(p, c.Wilcoxon.P)
	}
	for i, adjusted := range eval.Holm(p) {
		out[i].holm = adjusted
	}
	slices.SortStableFunc(out, func(x, y comparison) int { return cmp.Compare(y.Difference.Mean, x.Difference.Mean) })
	return out
}

func (b *builder) comparisonTable(list []comparison, budget int) table {
	t := table{
		Title: fmt.Sprintf("AUC against %s at %s pages", b.Baseline, plot.Number(float64(budget), 0)),
		Head:  []string{"strategy", "topics", "difference", "95% interval", "won", "tied", "lost", "Wilcoxon p", "Holm p", "permutation p", "worst topic", "by", "topics needed"},
		Note:  "Unit: topic; repeats are averaged within it. Intervals: percentile bootstrap over topics. Topics needed: to find a difference of this size, two-sided 5%, power 80%.",
	}
	for _, c := range list {
		needed := "–"
		if c.Needed > 0 {
			needed = plot.Number(float64(c.Needed), 0)
		}
		t.Rows = append(t.Rows, []cell{
			{Text: b.name(c.strategy)}, {Text: fmt.Sprint(c.Topics), Number: true},
			{Text: signed(c.Difference.Mean, 3), Number: true},
			{Text: signed(c.Difference.Low, 3) + " … " + signed(c.Difference.High, 3), Number: true},
			{Text: fmt.Sprint(c.Wins), Number: true}, {Text: fmt.Sprint(c.Ties), Number: true}, {Text: fmt.Sprint(c.Loses), Number: true},
			{Text: probability(c.Wilcoxon.P), Number: true}, {Text: probability(c.holm), Number: true, Strong: c.holm < .05},
			{Text: probability(c.Permutation.P), Number: true},
			{Text: b.topicName(c.Worst)}, {Text: signed(c.WorstBy, 3), Number: true}, {Text: needed, Number: true},
		})
	}
	return t
}

func signed(v float64, decimals int) string {
	if v > 0 {
		return "+" + plot.Number(v, decimals)
	}
	return plot.Number(v, decimals)
}

func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < .0001:
		return "< .0001"
	case p < .001:
		return strings.TrimPrefix(plot.Number(p, 4), "0")
	case p > .9995:
		return "1"
	}
	return strings.TrimPrefix(plot.Number(p, 3), "0")
}

// along reads a curve at n, straight between its points and from zero, and
// beyond its last point NaN.
func along(points []int, values []float64, n float64) float64 {
	x, y := 0.0, 0.0
	for i, p := range points {
		if i >= len(values) {
			break
		}
		if n <= float64(p) {
			return y + (values[i]-y)*(n-x)/(float64(p)-x)
		}
		x, y = float64(p), values[i]
	}
	if n == 0 {
		return 0
	}
	return math.NaN()
}

// bandPoints is the number of points of a mean curve.
const bandPoints = 100

// curves is the harvest of each strategy that keep accepts: the mean over
// topics, with a 95 % band for those that band accepts, and the means of U and G.
func (b *builder) curves(title string, cells []eval.Cell, keep func(strategy) bool, truth bool, band func(strategy) bool) plot.Lines {
	last := 0
	for _, c := range cells {
		for _, n := range c.Points {
			last = max(last, n)
		}
	}
	points := append([]int{0}, eval.Mesh(last, bandPoints)...)
	l := plot.Lines{Title: title, XLabel: "pages fetched", YLabel: "relevant pages found"}
	topics := map[eval.TopicID]bool{}
	for _, s := range strategies(cells, truth) {
		if !keep(s) {
			continue
		}
		// One curve a topic: the mean of its repeats.
		var ids []eval.TopicID
		repeats := map[eval.TopicID][]eval.Cell{}
		for _, c := range cells {
			if c.Scorer == s.scorer && c.Judge == s.judge {
				id := eval.TopicID{Web: c.Web, Topic: c.Topic, Seeds: c.Seeds}
				if repeats[id] == nil {
					ids = append(ids, id)
				}
				repeats[id] = append(repeats[id], c)
				topics[id] = true
			}
		}
		series := plot.Series{Name: b.name(s), Color: b.colors[s.scorer]}
		for _, n := range points {
			var values []float64
			for _, id := range ids {
				var runs []float64
				for _, c := range repeats[id] {
					runs = append(runs, along(c.Points, c.Hits, float64(n)))
				}
				if v := mean(runs); !math.IsNaN(v) {
					values = append(values, v)
				}
			}
			// A mean over fewer topics is not comparable with the one before.
			if len(values) < len(ids) {
				break
			}
			series.X, series.Y = append(series.X, float64(n)), append(series.Y, mean(values))
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
	return l
}

// maxLines is how many strategies a chart shows besides the baseline, and
// maxBands how many of them with a band: more of either cover each other.
const (
	maxLines = 5
	maxBands = 2
)

// leaders picks the count strategies with the best mean AUC at the largest
// budget that was run, and the baseline.
func (b *builder) leaders(cells []eval.Cell, count int) func(strategy) bool {
	type ranked struct {
		strategy
		auc float64
	}
	var list []ranked
	for _, s := range strategies(cells, false) {
		auc := math.NaN()
		for i := len(b.Budgets) - 1; i >= 0 && math.IsNaN(auc); i-- {
			_, values := byTopic(cells, s, "auc", b.Budgets[i])
			auc = mean(values)
		}
		list = append(list, ranked{s, auc})
	}
	slices.SortStableFunc(list, func(x, y ranked) int { return cmp.Compare(y.auc, x.auc) })
	chosen := map[strategy]bool{}
	for i, s := range list {
		if i < count || s.scorer == b.Baseline {
			chosen[s.strategy] = true
		}
	}
	return func(s strategy) bool { return chosen[s] }
}

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
		out = append(out, s.charts...)
	}
	return out
}

// page is a report before it is written.
type page struct {
	Title    string
	Command  string
	Notes    []string
	Sections []section
}

// section is a part of a report. Charts and tables are shown in this order,
// those of Folded behind a heading that opens them.
type section struct {
	Title  string
	ID     string
	Badge  string // a label beside the title
	Notes  []string
	charts []Plot
	Tables []table
	Folded []table
}

// table is a table; every cell is plain text.
type table struct {
	Title, Note string
	Head        []string
	Rows        [][]cell
}

type cell struct {
	Text   string
	Number bool // set to the right
	Strong bool // the best of its column
}

// slug makes a name fit for a file and an anchor.
func slug(parts ...string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.Join(parts, "-")) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

func (b *builder) page() page {
	p := page{Title: b.Title, Command: b.Command, Notes: b.Notes}
	if p.Title == "" {
		p.Title = "Crawls compared"
	}
	p.Sections = append(p.Sections, b.webs())
	real := b.cells(func(c eval.Cell) bool { return !b.synthetic[c.Web] })
	count := map[string]bool{}
	for _, c := range real {
		count[c.Web] = true
	}
	if len(count) > 1 {
		p.Sections = append(p.Sections, b.group("All webs", "all", real, false)...)
	}
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name })
		p.Sections = append(p.Sections, b.group(b.webName(w.Name), w.Name, cells, w.Synthetic)...)
	}
	if len(b.Judges) > 0 {
		p.Sections = append(p.Sections, b.judgeSection())
	}
	if len(b.Costs) > 0 {
		p.Sections = append(p.Sections, b.costSection())
	}
	if s, ok := b.diagnosis(); ok {
		p.Sections = append(p.Sections, s)
	}
	if s, ok := b.failures(); ok {
		p.Sections = append(p.Sections, s)
	}
	p.Sections = append(p.Sections, b.glossary())
	return p
}

func (b *builder) webs() section {
	s := section{Title: "Webs", ID: "webs"}
	t := table{Head: []string{"web", "pages", "hosts", "topics", "runs", "failed", "source"}}
	synthetic := false
	for _, w := range b.Webs {
		topics, runs, failed := map[eval.TopicID]bool{}, 0, 0
		for _, c := range b.Cells {
			if c.Web != w.Name {
				continue
			}
			topics[eval.TopicID{Web: c.Web, Topic: c.Topic, Seeds: c.Seeds}] = true
			runs++
			if c.Error != "" {
				failed++
			}
		}
		synthetic = synthetic || w.Synthetic
		t.Rows = append(t.Rows, []cell{{Text: b.webName(w.Name)}, {Text: plot.Number(float64(w.Pages), 0), Number: true},
			{Text: plot.Number(float64(w.Hosts), 0), Number: true}, {Text: fmt.Sprint(len(topics)), Number: true},
			{Text: fmt.Sprint(runs), Number: true}, {Text: fmt.Sprint(failed), Number: true}, {Text: w.Note}})
	}
	s.Tables = []table{t}
	if synthetic {
		s.Notes = append(s.Notes, "Synthetic webs are made up: they show that nothing broke, and support no claim about the web. They are left out of everything that spans several webs.")
	}
	return s
}

// group is what is said of a set of cells: a section for its figures, and one
// for its comparison with the baseline.
func (b *builder) group(title, id string, cells []eval.Cell, synthetic bool) []section {
	if len(strategies(cells, false)) == 0 {
		return nil
	}
	badge := ""
	if synthetic {
		badge = "synthetic"
	}
	s := section{Title: title, ID: slug(id), Badge: badge}
	lead, none := b.leaders(cells, maxLines), func(strategy) bool { return false }
	curves := b.curves("Harvest: "+title, cells, lead, false, b.leaders(cells, maxBands))
	curves.Note = fmt.Sprintf("Mean over topics. The bands, of the best two and of %s, are 95%% bootstrap intervals over topics.", b.Baseline)
	if n := len(strategies(cells, false)); n > maxLines+1 {
		curves.Note = fmt.Sprintf("The best by AUC of %d strategies, and %s. %s", n, b.Baseline, curves.Note)
		all := b.curves("Harvest of all strategies: "+title, cells, func(strategy) bool { return true }, false, none)
		all.Note = "Mean over topics."
		all.Height = 520
		s.charts = append(s.charts, Plot{slug(id, "harvest"), curves.Draw()}, Plot{slug(id, "harvest-all"), all.Draw()})
	} else {
		s.charts = append(s.charts, Plot{slug(id, "harvest"), curves.Draw()})
	}
	for _, n := range b.Budgets {
		if t := b.summary("At "+plot.Number(float64(n), 0)+" pages", cells, n, false); len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
		if t := b.perTopic(cells, n, false); len(t.Rows) > 0 {
			s.Folded = append(s.Folded, t)
		}
	}
	if multiples, ok := b.multiples("Topic by topic: "+title, cells, lead); ok && id != "all" {
		s.charts = append(s.charts, Plot{slug(id, "topics"), multiples.Draw()})
	}
	out := []section{s}
	against := section{Title: title + ": against " + b.Baseline, ID: slug(id, "against"), Badge: badge}
	for _, n := range b.Budgets {
		list := b.compare(cells, n)
		if len(list) == 0 {
			continue
		}
		against.Tables = append(against.Tables, b.comparisonTable(list, n))
		bars := plot.Bars{Title: fmt.Sprintf("AUC above that of %s at %s pages", b.Baseline, plot.Number(float64(n), 0)), Note: title + ": mean of the differences over topics; lines are 95% bootstrap intervals.", Decimals: 3}
		balance := plot.Balance{Title: fmt.Sprintf("Topics won against %s at %s pages", b.Baseline, plot.Number(float64(n), 0)), Note: title + ": by AUC. At the right: Holm-adjusted Wilcoxon p."}
		for _, c := range list {
			bars.Items = append(bars.Items, plot.Bar{Name: b.name(c.strategy), Value: c.Difference.Mean, Low: c.Difference.Low, High: c.Difference.High, Color: b.colors[c.scorer]})
			balance.Items = append(balance.Items, plot.Score{Name: b.name(c.strategy), Wins: c.Wins, Ties: c.Ties, Loses: c.Loses, Note: "p " + probability(c.holm)})
		}
		against.charts = append(against.charts, Plot{slug(id, "difference", fmt.Sprint(n)), bars.Draw()}, Plot{slug(id, "topics-won", fmt.Sprint(n)), balance.Draw()})
	}
	if len(against.Tables) > 0 {
		out = append(out, against)
	}
	return out
}

func (b *builder) multiples(title string, cells []eval.Cell, keep func(strategy) bool) (plot.Multiples, bool) {
	m := plot.Multiples{Title: title, Note: "Each panel has its own scale."}
	for _, t := range b.Topics {
		var here []eval.Cell
		for _, c := range cells {
			if c.Web == t.Web && c.Topic == t.Topic && c.Seeds == t.Seeds {
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

func (b *builder) judgeSection() section {
	s := section{Title: "Judges against the truth", ID: "judges", Notes: []string{"How far each judge is right, apart from any scorer: on all pages of a web."}}
	t := table{Head: []string{"web", "topic", "judge", "threshold", "precision", "recall", "AUROC", "ECE", "relevant", "accepted", "correct"}}
	list := slices.Clone(b.Judges)
	slices.SortStableFunc(list, func(x, y Judge) int {
		return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Judge, y.Judge))
	})
	for _, j := range list {
		row := []cell{{Text: b.webName(j.Web)}, {Text: j.Topic}, {Text: j.Judge}}
		for _, v := range []float64{j.Threshold, j.Precision, j.Recall, j.AUROC, j.ECE} {
			row = append(row, cell{Text: plot.Number(v, 3), Number: true})
		}
		for _, v := range []int{j.Relevant, j.Accepted, j.Correct} {
			row = append(row, cell{Text: plot.Number(float64(v), 0), Number: true})
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []table{t}
	return s
}

func (b *builder) costSection() section {
	s := section{Title: "Costs", ID: "costs", Notes: []string{"Milliseconds of processor time a page, by stage, and seconds of training before a crawl. They differ from machine to machine."}}
	t := table{Head: []string{"scorer", "judge"}}
	var stages []string
	for _, c := range b.Costs {
		for _, g := range c.Stages {
			if !slices.Contains(stages, g.Name) {
				stages = append(stages, g.Name)
			}
		}
	}
	t.Head = append(append(t.Head, stages...), "all stages", "training, s")
	list := slices.Clone(b.Costs)
	slices.SortStableFunc(list, func(x, y Cost) int {
		return cmp.Or(cmp.Compare(x.Scorer, y.Scorer), cmp.Compare(x.Judge, y.Judge))
	})
	for _, c := range list {
		row := []cell{{Text: c.Scorer}, {Text: c.Judge}}
		sum := 0.0
		for _, name := range stages {
			v := math.NaN()
			for _, g := range c.Stages {
				if g.Name == name {
					v = g.Millis
					sum += v
				}
			}
			row = append(row, cell{Text: plot.Number(v, 3), Number: true})
		}
		t.Rows = append(t.Rows, append(row, cell{Text: plot.Number(sum, 3), Number: true}, cell{Text: plot.Number(c.Training, 2), Number: true}))
	}
	s.Tables = []table{t}
	return s
}

// diagnosis is the only place where the judge that knows the truth appears.
func (b *builder) diagnosis() (section, bool) {
	s := section{Title: "Diagnosis: with a judge that never errs", ID: "diagnosis", Badge: "not a result",
		Notes: []string{"The judge named truth reads the ground truth. No crawler has it; the figures say what a scorer could do if its judge never erred."}}
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name && c.Judge == TruthJudge })
		if len(cells) == 0 {
			continue
		}
		for _, n := range b.Budgets {
			if t := b.summary(b.webName(w.Name)+" at "+plot.Number(float64(n), 0)+" pages, judge truth", cells, n, true); len(t.Rows) > 0 {
				s.Tables = append(s.Tables, t)
			}
		}
	}
	return s, len(s.Tables) > 0
}

func (b *builder) failures() (section, bool) {
	s := section{Title: "Failed runs", ID: "failed"}
	t := table{Head: []string{"run", "error"}}
	for _, c := range b.Cells {
		if c.Error != "" {
			k := c.Key
			k.Web = b.webName(k.Web)
			t.Rows = append(t.Rows, []cell{{Text: k.String()}, {Text: c.Error}})
		}
	}
	s.Tables = []table{t}
	return s, len(t.Rows) > 0
}

func (b *builder) glossary() section {
	s := section{Title: "Measures", ID: "measures", Notes: []string{"n counts places in the budget. A crawl that runs out of links wastes the rest. The CSV holds every measure."}}
	t := table{Head: []string{"measure", "meaning", "better", "source"}}
	for _, m := range eval.Measures() {
		better := "more"
		if m.Better < 0 {
			better = "less"
		} else if m.Better == 0 {
			better = ""
		}
		t.Rows = append(t.Rows, []cell{{Text: m.Name}, {Text: m.Line}, {Text: better}, {Text: m.Source}})
	}
	s.Folded = []table{t}
	return s
}

// svg draws a chart for within a page.
func svg(d *plot.Drawing) (string, error) {
	var b bytes.Buffer
	err := d.Inline(&b)
	return b.String(), err
}
