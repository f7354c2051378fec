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
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
)

// TruthJudge names the judge that never errs: for diagnosis only.
const TruthJudge = "truth"

// Results is what a lab found out: webs × topics × scorers × judges × repeats.
type Results struct {
	Title   string
	Command string   // makes the report again
	Notes   []string // of the author, for the head
	Rules   []string // how it was run: seeds, repeats, network
	Webs    []Web
	Budgets []int // ascending
	// Baseline is the scorer that all others are compared with, under the same
	// judge; "" = breadth-first.
	Baseline string
	// Headline names the measures of the main tables; nil = Headline().
	// H/U, H/G and what the record leaves open are shown whatever it says.
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
	// Warnings are what a reader has to know before any figure, besides what the rest tells.
	Warnings []string
	// Taught are the strategies with more budget than the others.
	Taught []Taught
	// Constants are those in force, in the order of the strategies.
	Constants []Constant
}

// Constant is a setting of a strategy, or of the training of its model.
type Constant struct {
	Scorer, Name   string
	Value, Default string // a number, or a word
	Line           string // what it means
}

// Headline is the default choice of measures for the main tables. Columns in
// which nothing is known are left out.
func Headline() []string {
	return []string{"hits", "harvest", "auc", "of-bound", "of-greedy", "recall", "target-recall", "harvest-200", "requests", "outside", "links-outside"}
}

// always are the measures that no choice removes from a table of strategies:
// a figure says little without what was possible, and with how much of it the
// record cannot tell.
func always() []string {
	return []string{"of-bound", "of-greedy", "unread", "target-recall", "outside", "links-outside"}
}

// Web is a recorded web.
type Web struct {
	Name      string `json:"name"`
	Pages     int    `json:"pages"`
	Hosts     int    `json:"hosts"`
	Synthetic bool   `json:"synthetic"` // made up: no claims rest on it
	Note      string `json:"note"`      // source, licence
}

// Topic is what was possible on a topic. Shapes: Points, Bound, Greedy [P].
type Topic struct {
	eval.TopicID
	// Part names the part of the topic that this is, where parts are crawled apart: the
	// topic is then called TOPIC@PART. Parts count as one topic: see joinParts.
	Part string `json:"part,omitempty"`
	// Dev tells that the topic was for development: what is tuned on it is not
	// tested by it. It is reported apart.
	Dev       bool      `json:"dev,omitempty"`
	Reachable float64   `json:"reachable"`
	Points    []int     `json:"points"`
	Bound     []float64 `json:"bound"`  // U at Points
	Greedy    []float64 `json:"greedy"` // G at Points
	// Read tells of a truth that was read, nil for any other. Then Reachable, Bound
	// and Greedy are estimates, and BoundRead and GreedyRead are those of the read
	// pages alone. Shapes: [P].
	Read       *Read     `json:"read,omitempty"`
	BoundRead  []float64 `json:"bound_read,omitempty"`
	GreedyRead []float64 `json:"greedy_read,omitempty"`
}

// Read is what was read of a topic.
type Read struct {
	From   int       `json:"from"`   // grade from which a page counts
	Grades [3]int    `json:"grades"` // documents by grade
	Strata []Stratum `json:"strata"` // of what can be reached and was not shown
	// Known is how many of these were read and count. Low and High are the 95 %
	// interval of Topic.Reachable.
	Known float64 `json:"known"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Stratum is a stratum of the pages of a topic.
type Stratum struct {
	Name string `json:"name"`
	pool.Sample
}

// NewTopic keeps a reference at the points of a curve.
func NewTopic(id eval.TopicID, ref eval.Reference, points []int) Topic {
	t := Topic{TopicID: id, Reachable: ref.Reachable, Points: points}
	at := func(curve []float64, n int) float64 {
		if len(curve) == 0 {
			return math.NaN()
		}
		return curve[min(n, len(curve)-1)]
	}
	for _, n := range points {
		t.Bound, t.Greedy = append(t.Bound, at(ref.Bound, n)), append(t.Greedy, at(ref.Greedy, n))
		if len(ref.BoundRead) > 0 {
			t.BoundRead, t.GreedyRead = append(t.BoundRead, at(ref.BoundRead, n)), append(t.GreedyRead, at(ref.GreedyRead, n))
		}
	}
	return t
}

// Add makes the curves the means of count repeats, of which other is the last.
func (t *Topic) Add(other Topic, count int) {
	for _, x := range []struct{ to, from []float64 }{
		{t.Bound, other.Bound}, {t.Greedy, other.Greedy}, {t.BoundRead, other.BoundRead}, {t.GreedyRead, other.GreedyRead},
	} {
		for k := range x.to {
			x.to[k] += (x.from[k] - x.to[k]) / float64(count)
		}
	}
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
	// Bad is how many of its examples were not about the topic. Judges that were
	// made of bad examples are there a second time, made of good ones.
	Bad int
}

// Bin is a part of a judge's pages: how many, the mean of the relevance that
// the judge gave, and the share that is relevant in truth. Of no pages all are 0.
type Bin struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	Share float64 `json:"share"`
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

// charged tells whether what is not recorded took places in the budget, and
// bounded whether it was read both ways.
func charged(cells []eval.Cell) bool {
	return slices.ContainsFunc(cells, func(c eval.Cell) bool {
		return slices.ContainsFunc(c.Values, func(v eval.Value) bool { return v.Measure == "outside" && !math.IsNaN(float64(v.Value)) })
	})
}

func bounded(cells []eval.Cell) bool {
	return slices.ContainsFunc(cells, func(c eval.Cell) bool { return len(c.Upper) > 0 && len(c.Lower) == 0 })
}

// bandDraws is the number of bootstrap samples of a band. Every point of it is
// made from the same samples of topics, so that it moves as they do.
const bandDraws = 1000

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
	dev       map[eval.TopicID]bool
	barren    map[eval.TopicID]bool   // with nothing to be found
	eaten     map[topicBudget]float64 // by seeds: how many places
	shown     []eval.Cell             // Cells without what seeds ate, parts as repeats of their topics
	parts     []Topic                 // Topics as they were given
	count     map[eval.TopicID]int    // of the parts of a topic that has some
	// comparisons are kept for groups of cells: a web's under its name, those
	// of all recorded webs under allWebs, which no web can be called.
	comparisons map[string][]comparison
}

const allWebs = "*"

// clean makes all text of results harmless to show, as it comes from files that
// anybody may have written: control characters, which command a terminal, and
// those that change the order of others are taken out.
func (r Results) clean() Results {
	each := func(texts ...*string) {
		for _, t := range texts {
			*t = event.Line(*t)
		}
	}
	each(&r.Title, &r.Command, &r.Baseline, &r.Clock)
	r.Rules = slices.Clone(r.Rules)
	for i := range r.Rules {
		each(&r.Rules[i])
	}
	r.Notes, r.Webs, r.Cells, r.Topics = slices.Clone(r.Notes), slices.Clone(r.Webs), slices.Clone(r.Cells), slices.Clone(r.Topics)
	r.Warnings, r.Taught = slices.Clone(r.Warnings), slices.Clone(r.Taught)
	for i := range r.Warnings {
		each(&r.Warnings[i])
	}
	for i := range r.Taught {
		each(&r.Taught[i].Scorer, &r.Taught[i].By)
	}
	r.Judges, r.Costs, r.Constants = slices.Clone(r.Judges), slices.Clone(r.Costs), slices.Clone(r.Constants)
	for i := range r.Notes {
		each(&r.Notes[i])
	}
	for i := range r.Webs {
		each(&r.Webs[i].Name, &r.Webs[i].Note)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		each(&c.Web, &c.Topic, &c.Seeds, &c.Scorer, &c.Judge, &c.Error)
	}
	for i := range r.Topics {
		each(&r.Topics[i].Web, &r.Topics[i].Topic, &r.Topics[i].Seeds, &r.Topics[i].Part)
	}
	for i := range r.Judges {
		each(&r.Judges[i].Web, &r.Judges[i].Topic, &r.Judges[i].Judge)
	}
	for i := range r.Costs {
		each(&r.Costs[i].Scorer, &r.Costs[i].Judge)
	}
	for i := range r.Constants {
		each(&r.Constants[i].Scorer, &r.Constants[i].Name, &r.Constants[i].Value, &r.Constants[i].Default, &r.Constants[i].Line)
	}
	return r
}

func newBuilder(r Results) (*builder, error) {
	r = r.clean()
	if err := eval.CheckBudgets(r.Budgets); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	b := &builder{Results: r, synthetic: map[string]bool{}, measures: map[string]eval.Measure{}, colors: map[string]int{}, dev: map[eval.TopicID]bool{}, barren: map[eval.TopicID]bool{}, eaten: map[topicBudget]float64{}, comparisons: map[string][]comparison{}, count: map[eval.TopicID]int{}}
	if b.Baseline == "" {
		b.Baseline = "breadth-first"
	}
	b.Headline = slices.Clone(r.Headline)
	if r.Headline == nil {
		b.Headline = Headline()
	}
	for _, name := range always() {
		if !slices.Contains(b.Headline, name) {
			b.Headline = append(b.Headline, name)
		}
	}
	for _, m := range eval.Measures() {
		b.measures[m.Name] = m
	}
	for _, name := range b.Headline {
		if _, ok := b.measures[name]; !ok {
			return nil, fmt.Errorf("report: there is no measure %q; the lab lists those there are", name)
		}
	}
	slices.SortFunc(b.Cells, func(x, y eval.Cell) int {
		return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Seeds, y.Seeds),
			cmp.Compare(x.Scorer, y.Scorer), cmp.Compare(x.Judge, y.Judge), cmp.Compare(x.Repeat, y.Repeat))
	})
	slices.SortFunc(b.Topics, func(x, y Topic) int {
		return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Seeds, y.Seeds))
	})
	for _, t := range b.Topics {
		if t.Dev {
			b.dev[t.TopicID] = true
		}
		if t.Reachable == 0 {
			b.barren[t.TopicID] = true
		}
	}
	slices.SortFunc(b.Webs, func(x, y Web) int { return cmp.Compare(x.Name, y.Name) })
	for _, w := range b.Webs {
		if w.Name == allWebs {
			return nil, fmt.Errorf("report: no web can be named %q, which stands for all of them", allWebs)
		}
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
	b.leaveOut()
	b.joinParts()
	b.color(scorers)
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

// id is the topic of a cell.
func id(c eval.Cell) eval.TopicID {
	return eval.TopicID{Web: c.Web, Topic: c.Topic, Seeds: c.Seeds}
}

// cells lists the sound cells of test topics that keep accepts.
func (b *builder) cells(keep func(eval.Cell) bool) []eval.Cell {
	return b.sound(func(c eval.Cell) bool { return !b.dev[id(c)] && keep(c) })
}

// sound lists the cells that keep accepts and that did not fail, of topics on
// which there is something to find: zeros of the others say nothing.
func (b *builder) sound(keep func(eval.Cell) bool) []eval.Cell {
	var out []eval.Cell
	for _, c := range b.shown {
		if c.Error == "" && !b.barren[id(c)] && keep(c) {
			out = append(out, c)
		}
	}
	return out
}

// run names a run whatever its strategy.
type run struct {
	eval.TopicID
	repeat int
}

// complete tells which strategies have every run that any of them has. The mean
// of one that has not, as some failed or are missing, is over other topics or
// repeats: it is not to be ranked among the others.
func complete(cells []eval.Cell, truth bool) func(strategy) bool {
	all, own := map[run]bool{}, map[strategy]int{}
	for _, c := range cells {
		if (c.Judge == TruthJudge) == truth {
			all[run{id(c), c.Repeat}] = true
			own[strategy{c.Scorer, c.Judge}]++
		}
	}
	return func(s strategy) bool { return own[s] == len(all) }
}

// paired are the cells of the runs that two strategies both have, and how many
// cells of either that leaves out.
func paired(cells []eval.Cell, a, b strategy) (both []eval.Cell, left int) {
	count := map[run]int{}
	for _, c := range cells {
		if s := (strategy{c.Scorer, c.Judge}); s == a || s == b {
			count[run{id(c), c.Repeat}]++
			both = append(both, c)
		}
	}
	all := len(both)
	both = slices.DeleteFunc(both, func(c eval.Cell) bool { return count[run{id(c), c.Repeat}] < 2 })
	return both, all - len(both)
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
