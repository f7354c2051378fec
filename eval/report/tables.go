package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// table is a table; every cell is plain text.
type table struct {
	Title, Note string
	Head        []string
	Measures    []string // of the columns, "" or beyond the end = none
	Terms       []term   // what measures mean, where this table names them first
	Rows        [][]cell
}

// Defined is the anchor of what a column's head means, "" if it is no measure.
func (t table) Defined(column int) string {
	if column >= len(t.Measures) || t.Measures[column] == "" {
		return ""
	}
	return termID(t.Measures[column])
}

type cell struct {
	Text   string
	Sub    string // smaller, beneath
	Number bool   // set to the right
	Strong bool   // the best of its column
}

// Class is the cell's in HTML.
func (c cell) Class() string {
	var names []string
	if c.Number {
		names = append(names, "n")
	}
	if c.Strong {
		names = append(names, "strong")
	}
	if len(c.Text) > 40 { // not to become a column of words on a phone
		names = append(names, "long")
	}
	return strings.Join(names, " ")
}

func number(s string) cell { return cell{Text: s, Number: true} }

// heading is a measure's name at the head of a column.
func heading(measure string) string {
	switch measure {
	case "of-bound":
		return "H/U"
	case "of-greedy":
		return "H/G"
	case "of-bound-read":
		return "H/U read"
	case "of-greedy-read":
		return "H/G read"
	case "inf-ap":
		return "infAP"
	case "harvest-condensed":
		return "condensed"
	case "auc", "apr", "auroc", "ece":
		return strings.ToUpper(measure)
	}
	return strings.ReplaceAll(measure, "-", " ")
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

// between is a value and, where they differ, what it would be at least and at
// most: v…high where the value is the least itself, as of what lies outside the
// record; v (low…high) where it is an estimate.
func between(m eval.Measure, low, v, high float64) string {
	a, at, b := written(m, low), written(m, v), written(m, high)
	switch {
	case math.IsNaN(high) || a == at && b == at:
		return at
	case high < low: // of which less is better
		a, b = b, a
	}
	if low == v {
		return a + "…" + b
	}
	return at + " (" + a + "…" + b + ")"
}

// boundsNote explains lower…upper, and boundsBriefly reminds of it.
const (
	boundsNote    = "a…b: if nothing, and if everything, of what was asked for outside the record were relevant. U and G are those of the record, so H/U and H/G are of the lower figure."
	boundsBriefly = "a…b: between nothing and everything outside the record being relevant."
)

// boundsSaid reminds of what figures with bounds are, "" where there are none.
func boundsSaid(cells []eval.Cell) (said string) {
	if bounded(cells) {
		said = " " + boundsBriefly
	}
	if wasRead(cells) {
		said += " " + readBriefly
	}
	return said
}

// weakNote explains the mark of a weak figure.
const weakNote = "† more than 5% of the places went to what is not recorded: a weak figure; extend the recording."

// partialNote explains the mark of a strategy that is not whole.
const partialNote = "§ some of its runs failed or are missing: its means are over fewer topics or repeats than those of the others, so it is not ranked among them."

// rankRow is a strategy with its row of values.
type rankRow struct {
	strategy
	topics               int
	lower, values, upper []float64 // by measure
	known                []int     // by measure: runs of which it is known
	auc                  float64
	weak                 bool
	whole                bool // no run of it failed or is missing
}

// rank lines the strategies of cells up by mean AUC at a budget, the best
// first: means over topics of means over repeats. Those that are not whole stand
// after all others.
func (b *builder) rank(cells []eval.Cell, budget int, truth bool, measures []string) []rankRow {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c eval.Cell) bool { return math.IsNaN(c.Value("hits", budget)) })
	whole := complete(cells, truth)
	var rows []rankRow
	for _, s := range strategies(cells, truth) {
		r := rankRow{strategy: s, whole: whole(s)}
		for _, name := range measures {
			topics, values := byTopic(cells, s, name, budget)
			r.topics = max(r.topics, len(topics))
			r.values = append(r.values, mean(values))
			known := 0
			for i := range cells {
				if c := &cells[i]; c.Scorer == s.scorer && c.Judge == s.judge && !math.IsNaN(c.Value(name, budget)) {
					known++
				}
			}
			r.known = append(r.known, known)
			upper := eval.UpperByTopic(cells, s.scorer, s.judge, name, budget)
			_, most, _ := eval.Pair(upper, upper)
			r.upper = append(r.upper, mean(most))
			lower := eval.LowerByTopic(cells, s.scorer, s.judge, name, budget)
			_, least, _ := eval.Pair(lower, lower)
			r.lower = append(r.lower, mean(least))
		}
		_, auc := byTopic(cells, s, "auc", budget)
		r.auc = mean(auc)
		_, outside := byTopic(cells, s, "outside", budget)
		r.weak = mean(outside) > weakShare
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(x, y rankRow) int {
		if x.whole != y.whole {
			if x.whole {
				return -1
			}
			return 1
		}
		return cmp.Compare(y.auc, x.auc)
	})
	return rows
}

// best tells whether a row has the best of a column, and others have less. Means
// of a measure that is known of more runs of one row than of another have none.
func best(rows []rankRow, r rankRow, column, better int) bool {
	v, differ := r.values[column], false
	if better == 0 || math.IsNaN(v) || !r.whole {
		return false
	}
	for _, other := range rows {
		gain := (other.values[column] - v) * float64(better)
		if !other.whole || math.IsNaN(gain) {
			continue
		}
		if other.strategy != r.strategy && !separated(r, other, column, better) {
			return false
		}
		if gain > eval.Tie || other.known[column] != r.known[column] {
			return false
		}
		differ = differ || gain < -eval.Tie
	}
	return differ
}

// separated tells whether the range of a row in a column does not meet that of another:
// of ranges that overlap none is the best. A figure without a range is no range.
func separated(r, other rankRow, column, better int) bool {
	if wide := func(r rankRow) bool { return r.lower[column] != r.upper[column] }; !wide(r) && !wide(other) {
		return true
	}
	// Of a measure of which less is better the upper value is the lesser.
	least, most := min(r.lower[column], r.upper[column]), max(r.lower[column], r.upper[column])
	otherLeast, otherMost := min(other.lower[column], other.upper[column]), max(other.lower[column], other.upper[column])
	if better > 0 {
		return least > otherMost+eval.Tie
	}
	return most < otherLeast-eval.Tie
}

// optional tells whether a column is left out when it holds nothing.
func optional(m eval.Measure) bool {
	return m.Read || m.Name == "target-recall" || m.Name == "outside" || m.Name == "links-outside"
}

// summary is a table of strategies at a budget, best AUC first, by measures.
func (b *builder) summary(title string, cells []eval.Cell, budget int, truth bool, measures []string) table {
	rows := b.rank(cells, budget, truth, measures)
	last := 0
	for _, n := range b.Budgets {
		if slices.ContainsFunc(cells, func(c eval.Cell) bool { return !math.IsNaN(c.Value("hits", n)) }) {
			last = n
		}
	}
	t := table{Title: title, Head: []string{"strategy", "topics"}, Measures: []string{"", ""}}
	notes := []string{"Best AUC first."}
	if left := b.leftOut(cells, budget); left != "" {
		notes = append(notes, left)
	}
	var columns []int
	for i, name := range measures {
		known := slices.ContainsFunc(rows, func(r rankRow) bool { return !math.IsNaN(r.values[i]) })
		if name == "links-outside" && budget < last { // it is of the whole run
			continue
		}
		if known || !optional(b.measures[name]) {
			columns = append(columns, i)
			t.Head, t.Measures = append(t.Head, heading(name)), append(t.Measures, name)
		}
	}
	if said := boundsSaid(cells); said != "" {
		notes = append(notes, strings.TrimSpace(said))
	}
	marked, partial := false, false
	var shown []strategy
	for _, r := range rows {
		shown = append(shown, r.strategy)
		name := b.rowName(r.strategy)
		if !r.whole {
			name += " §"
			partial = true
		}
		if r.weak {
			name += " †"
			marked = true
		}
		out := []cell{{Text: name}, number(fmt.Sprint(r.topics))}
		for _, i := range columns {
			m, v := b.measures[measures[i]], r.values[i]
			out = append(out, cell{Text: between(m, r.lower[i], v, r.upper[i]), Number: true, Strong: best(rows, r, i, m.Better)})
		}
		t.Rows = append(t.Rows, out)
	}
	if marked {
		notes = append(notes, weakNote)
	}
	if partial {
		notes = append(notes, partialNote)
	}
	if said := b.taughtNote(shown); said != "" {
		notes = append(notes, said)
	}
	t.Note = strings.Join(notes, " ")
	return t
}

// perTopic is the table of hits: strategies, best AUC first, by the topics of
// one web, with what was possible beneath.
func (b *builder) perTopic(cells []eval.Cell, budget int) table {
	t := table{
		Title: "Hits of each topic at " + plot.Number(float64(budget), 0) + " pages", Head: []string{"strategy"},
		Note: "Beneath each: H/U and H/G.",
	}
	t.Note += boundsSaid(cells)
	rows := b.rank(cells, budget, false, []string{"hits"})
	if len(rows) == 0 {
		return t
	}
	if said := b.taughtNote(strategies(cells, false)); said != "" {
		t.Note += " " + said
	}
	var topics []Topic
	whole := map[eval.TopicID]func(strategy) bool{}
	for _, topic := range b.Topics {
		if slices.ContainsFunc(cells, func(c eval.Cell) bool {
			return id(c) == topic.TopicID && !math.IsNaN(c.Value("hits", budget))
		}) {
			topics = append(topics, topic)
			whole[topic.TopicID] = complete(slices.DeleteFunc(slices.Clone(cells), func(c eval.Cell) bool { return id(c) != topic.TopicID }), false)
			name := topic.Topic
			if topic.Seeds != "" {
				name += ", " + topic.Seeds + " seeds"
			}
			if n := b.count[topic.TopicID]; n > 1 {
				name += fmt.Sprintf(", mean of %d parts", n)
			}
			t.Head = append(t.Head, name)
		}
	}
	value := func(s strategy, measure string) map[eval.TopicID]float64 {
		return eval.ByTopic(cells, s.scorer, s.judge, measure, budget)
	}
	top, ranged := map[eval.TopicID]float64{}, map[eval.TopicID][]rankRow{}
	for _, r := range rows {
		lower, upper := eval.LowerByTopic(cells, r.scorer, r.judge, "hits", budget), eval.UpperByTopic(cells, r.scorer, r.judge, "hits", budget)
		for topic, v := range value(r.strategy, "hits") {
			if of := whole[topic]; of != nil && of(r.strategy) {
				top[topic] = max(top[topic], v)
				ranged[topic] = append(ranged[topic], rankRow{strategy: r.strategy, lower: []float64{lower[topic]}, upper: []float64{upper[topic]}})
			}
		}
	}
	// ahead tells whether no other range of hits on a topic meets that of a strategy.
	ahead := func(s strategy, topic eval.TopicID) bool {
		all := ranged[topic]
		i := slices.IndexFunc(all, func(r rankRow) bool { return r.strategy == s })
		return i >= 0 && !slices.ContainsFunc(all, func(r rankRow) bool { return r.strategy != s && !separated(all[i], r, 0, 1) })
	}
	share := func(v float64, ok bool) string {
		if !ok {
			return "–"
		}
		return strings.TrimPrefix(plot.Number(v, 2), "0")
	}
	for _, r := range rows {
		out := []cell{{Text: b.rowName(r.strategy)}}
		hits, ofBound, ofGreedy := value(r.strategy, "hits"), value(r.strategy, "of-bound"), value(r.strategy, "of-greedy")
		upper := eval.UpperByTopic(cells, r.scorer, r.judge, "hits", budget)
		lower := eval.LowerByTopic(cells, r.scorer, r.judge, "hits", budget)
		for _, topic := range topics {
			v, ok := hits[topic.TopicID]
			if !ok {
				out = append(out, number("–"))
				continue
			}
			u, hasU := ofBound[topic.TopicID]
			g, hasG := ofGreedy[topic.TopicID]
			out = append(out, cell{Text: between(b.measures["hits"], lower[topic.TopicID], v, upper[topic.TopicID]), Sub: share(u, hasU) + " · " + share(g, hasG),
				Number: true, Strong: v >= top[topic.TopicID]-eval.Tie && len(rows) > 1 && ahead(r.strategy, topic.TopicID)})
		}
		t.Rows = append(t.Rows, out)
	}
	for _, possible := range []struct {
		name string
		of   func(Topic) float64
	}{
		{"G: greedy", func(t Topic) float64 { return along(t.Points, t.Greedy, float64(budget)) }},
		{"U: bound", func(t Topic) float64 { return along(t.Points, t.Bound, float64(budget)) }},
		{"reachable", func(t Topic) float64 { return t.Reachable }},
	} {
		out := []cell{{Text: possible.name}}
		for _, topic := range topics {
			out = append(out, number(written(b.measures["hits"], possible.of(topic))))
		}
		t.Rows = append(t.Rows, out)
	}
	return t
}

// compared are the measures on which strategies are set against the baseline.
func compared() []string { return []string{"auc", "harvest", "of-bound"} }

// comparison is a strategy against the baseline.
type comparison struct {
	strategy
	eval.Comparison
	holm              float64
	ofBound, ofGreedy float64 // on what both have
	unpaired          int     // runs of either that the other has not
}

// compare sets every strategy against the baseline under the same judge on a
// measure at a budget, on the runs that both have, with the p values adjusted for their number. group
// names the cells, and what was found out of a group is kept: page and CSV ask
// for the same.
func (b *builder) compare(group string, cells []eval.Cell, measure string, budget int) []comparison {
	key := fmt.Sprintf("%s %d %s", measure, budget, group)
	out, known := b.comparisons[key]
	if known {
		return out
	}
	var p []float64
	same := b.twins(budget, false)
	for _, s := range strategies(cells, false) {
		if _, twin := same[s]; twin || s.scorer == b.Baseline {
			continue
		}
		both, left := paired(cells, s, strategy{b.Baseline, s.judge})
		ours := eval.ByTopic(both, s.scorer, s.judge, measure, budget)
		theirs := eval.ByTopic(both, b.Baseline, s.judge, measure, budget)
		topics, x, y := eval.Pair(ours, theirs)
		if len(topics) == 0 {
			continue
		}
		c := comparison{strategy: s, Comparison: eval.Compare(topics, x, y, b.measures[measure].Better, uint64(budget))}
		c.unpaired = left
		c.ofBound, c.ofGreedy = b.possible(both, s, budget)
		out = append(out, c)
		p = append(p, c.Wilcoxon.P)
	}
	for i, adjusted := range eval.Holm(p) {
		out[i].holm = adjusted
	}
	slices.SortStableFunc(out, func(x, y comparison) int { return cmp.Compare(y.Difference.Mean, x.Difference.Mean) })
	b.comparisons[key] = out
	return out
}

// possible is a strategy's mean H/U and H/G.
func (b *builder) possible(cells []eval.Cell, s strategy, budget int) (ofBound, ofGreedy float64) {
	_, u := byTopic(cells, s, "of-bound", budget)
	_, g := byTopic(cells, s, "of-greedy", budget)
	return mean(u), mean(g)
}

func (b *builder) comparisonTable(cells []eval.Cell, list []comparison, measure string, budget int) table {
	t := table{
		Title:    fmt.Sprintf("%s against %s at %s pages", comparedName(measure), b.Baseline, plot.Number(float64(budget), 0)),
		Measures: []string{"", "of-bound", "of-greedy"},
		Head:     []string{"strategy", "H/U", "H/G", "difference", "won, tied, lost", "Wilcoxon p", "Holm p", "permutation p", "worst topic", "detectable", "topics needed"},
	}
	fewest, most, unpaired := math.MaxInt, 0, 0
	for _, c := range list {
		fewest, most = min(fewest, c.Topics), max(most, c.Topics)
		unpaired = max(unpaired, c.unpaired)
	}
	across := slices.ContainsFunc(cells, func(c eval.Cell) bool { return c.Web != cells[0].Web })
	count := fmt.Sprint(most)
	if fewest != most {
		count = fmt.Sprintf("%d to %d", fewest, most)
	}
	t.Note = count + " topics."
	if unpaired > 0 {
		t.Note += fmt.Sprintf(" Each line is of the runs that both have: of up to %d the other failed or is missing.", unpaired)
	}
	if bounded(cells) {
		t.Note += " Lower figures."
	}
	var shown []strategy
	for _, c := range list {
		shown = append(shown, c.strategy)
	}
	if said := b.taughtNote(shown); said != "" {
		t.Note += " " + said
	}
	row := func(s strategy, u, g float64, rest ...cell) {
		t.Rows = append(t.Rows, append([]cell{{Text: b.rowName(s)}, number(plot.Number(u, 3)), number(plot.Number(g, 3))}, rest...))
	}
	for _, c := range list {
		needed := "–"
		if c.Needed > 0 {
			needed = plot.Number(float64(c.Needed), 0)
		}
		worst := cell{Text: c.Worst.Topic, Sub: signed(c.WorstBy, 3)}
		if across {
			worst.Sub = b.webName(c.Worst.Web) + ", " + worst.Sub
		}
		row(c.strategy, c.ofBound, c.ofGreedy,
			cell{Text: signed(c.Difference.Mean, 3), Sub: interval(c.Difference), Number: true},
			number(fmt.Sprintf("%d, %d, %d", c.Wins, c.Ties, c.Loses)),
			number(probability(c.Wilcoxon.P)), cell{Text: probability(c.holm), Number: true, Strong: c.holm < certain}, number(probability(c.Permutation.P)),
			worst, number(plot.Number(c.Detectable, 3)), number(needed))
	}
	for _, s := range strategies(cells, false) {
		if s.scorer == b.Baseline {
			u, g := b.possible(cells, s, budget)
			row(s, u, g, slices.Repeat([]cell{number("")}, 5)...)
			t.Rows[len(t.Rows)-1] = append(t.Rows[len(t.Rows)-1], cell{}, number(""), number(""))
		}
	}
	return t
}

// comparisonNote explains the tables of comparisons.
const comparisonNote = "The unit is the topic; repeats are averaged within it. Beneath a difference stands its 95% bootstrap interval over topics. " +
	"p is how often chance alone would show a difference as large, in either direction, if there were none; Holm's is adjusted for the number of strategies in the table. Detectable is the smallest mean difference that so many topics, as far apart as these, " +
	"find at 5% with a power of 80%: what is smaller may be there unseen. Topics needed: to find a difference of the size seen."

// comparedName is a measure's name in a title.
func comparedName(measure string) string {
	if measure == "harvest" {
		return "Harvest"
	}
	return heading(measure)
}

// interval is that of a mean; of one topic there is none.
func interval(i eval.Interval) string {
	if math.IsNaN(i.Low) || math.IsNaN(i.High) {
		return ""
	}
	return signed(i.Low, 3) + " … " + signed(i.High, 3)
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
