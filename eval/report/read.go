package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// A truth that was read is known of some pages only. All tables say so: what is
// made of hits is an estimate with its bounds, and the column "unread" is the share
// of places that were estimated. The section here tells how far the estimates can
// be trusted, and gives measures that need none.

// wasRead tells whether the truth of cells was read.
func wasRead(cells []eval.Cell) bool {
	return slices.ContainsFunc(cells, func(c eval.Cell) bool { return len(c.Lower) > 0 })
}

// readBriefly explains a (b…c) of a truth that was read.
const readBriefly = "a (b…c): estimated; b if no page that nobody read were relevant, c if all of them were."

func lowerCurve(c eval.Cell) []float64  { return c.LowerHits }
func unreadCurve(c eval.Cell) []float64 { return c.Unread }

// readSection tells of a truth that was read.
func (b *builder) readSection() (section, bool) {
	s := section{Title: "The truth that was read", ID: "read", Notes: []string{
		"Pages were drawn to be read: all that crawls fetched first and judges ranked highest, and random samples of the rest, stratum by stratum. A page that nobody read counts by the share of relevant pages among those read of its stratum. Intervals are 95% ones of that estimate alone: they tell how much reading more would change, not how much other topics would.",
		"Condensed takes unread places out of the list, and bpref passes over them; infAP infers average precision from the pages that were read. H/U of the read pages divides the hits that were read by what was possible if there were no others.",
	}}
	each := table{
		Title: "Each topic",
		Head:  []string{"web", "topic", "read", "mainly", "in part", "no", "counts from", "known", "reachable", "95%"},
		Note:  "Read: documents with a grade, pages with the same body being one. Known: of those that can be reached and are no seeds or examples, how many were read and count. Reachable: how many there are, estimated.",
	}
	strata := table{
		Title: "Each stratum",
		Head:  []string{"web", "topic", "stratum", "documents", "read", "relevant", "share", "estimated"},
		Note:  "Of the documents that can be reached and are no seeds or examples.",
	}
	for _, t := range b.parts {
		r := t.Read
		if r == nil {
			continue
		}
		grades := r.Grades
		counts := "grade 1"
		if r.From == 2 {
			counts = "grade 2"
		}
		each.Rows = append(each.Rows, []cell{{Text: b.webName(t.Web)}, {Text: t.Topic}, whole(grades[0] + grades[1] + grades[2]), whole(grades[2]), whole(grades[1]), whole(grades[0]),
			{Text: counts}, number(plot.Number(r.Known, 0)), number(plot.Number(t.Reachable, 0)), number(span(r.Low, r.High, 0))})
		for _, x := range r.Strata {
			share, estimated := math.NaN(), math.NaN()
			if x.Read > 0 {
				share = x.Share()
				estimated = float64(x.Relevant) + float64(x.Unread())*share
			}
			strata.Rows = append(strata.Rows, []cell{{Text: b.webName(t.Web)}, {Text: t.Topic}, {Text: x.Name}, whole(x.Size), whole(x.Read), whole(x.Relevant), number(plot.Number(share, 2)), number(plot.Number(estimated, 0))})
		}
	}
	if len(each.Rows) == 0 {
		return s, false
	}
	s.Tables, s.Folded = []table{each}, []table{strata}
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name && c.Judge != TruthJudge })
		if !wasRead(cells) {
			continue
		}
		unread := b.unreadLines("Places that nobody read: "+b.webName(w.Name), cells, b.leaders(cells, maxLines))
		s.chart(slug(w.Name, "unread"), unread.Title, unread)
		open := true // the largest budget
		for _, n := range slices.Backward(b.Budgets) {
			t := b.readTable(b.webName(w.Name)+" at "+plot.Number(float64(n), 0)+" pages", cells, n)
			switch {
			case len(t.Rows) == 0:
			case open:
				s.Tables, open = append(s.Tables, t), false
			default:
				s.Folded = append(s.Folded, t)
			}
		}
	}
	return s, true
}

func whole(n int) cell { return number(plot.Number(float64(n), 0)) }

// span is an interval as tables show it.
func span(low, high float64, decimals int) string {
	return plot.Number(low, decimals) + "…" + plot.Number(high, decimals)
}

// readTable is what the read pages say of strategies at a budget, best AUC first.
func (b *builder) readTable(title string, cells []eval.Cell, budget int) table {
	measures := []string{"hits", "recall", "of-bound", "of-bound-read", "of-greedy-read", "harvest-1", "harvest-2", "harvest-condensed", "bpref", "inf-ap", "unread"}
	t := table{Title: title, Head: []string{"strategy"}, Measures: []string{""}, Note: "Best AUC first. 95%: of the estimate, for what was not read."}
	errors := map[string]string{"hits": "hits-se", "recall": "recall-se", "of-bound": "of-bound-se"}
	for _, m := range measures {
		t.Head, t.Measures = append(t.Head, heading(m)), append(t.Measures, m)
		if errors[m] != "" {
			t.Head, t.Measures = append(t.Head, "95%"), append(t.Measures, "")
		}
	}
	rows := b.rank(cells, budget, false, measures)
	for _, r := range rows {
		row := []cell{{Text: b.rowName(r.strategy)}}
		for i, name := range measures {
			m := b.measures[name]
			row = append(row, cell{Text: between(m, r.lower[i], r.values[i], r.upper[i]), Number: true, Strong: best(rows, r, i, m.Better)})
			if errors[name] == "" {
				continue
			}
			se := meanError(cells, r.strategy, errors[name], budget)
			low, high := max(r.values[i]-1.96*se, 0), r.values[i]+1.96*se
			decimals := 3
			if m.Count {
				low, high, decimals = max(low, r.lower[i]), min(high, r.upper[i]), 1
			} else {
				high = min(high, 1)
			}
			row = append(row, number(span(low, high, decimals)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// meanError is the standard error of a mean over topics, from that of each: topics
// were read apart from each other, and the repeats of one rest on the same reading.
func meanError(cells []eval.Cell, s strategy, measure string, budget int) float64 {
	_, values := byTopic(cells, s, measure, budget)
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.
	for _, v := range values {
		sum += v * v
	}
	return math.Sqrt(sum) / float64(len(values))
}

// unreadLines is the share of places so far whose page may be a hit and was not
// read: the mean over topics.
func (b *builder) unreadLines(title string, cells []eval.Cell, keep func(strategy) bool) plot.Lines {
	points := pointsOf(cells, bandPoints)
	l := plot.Lines{
		Title: title, XLabel: "pages fetched", YLabel: "share not read", Height: 320,
		Note: fmt.Sprintf("Share of the places so far whose page may be a hit and was read by nobody: how much of each curve is estimated. The best by AUC and %s; mean over topics.", b.Baseline),
	}
	for _, s := range strategies(cells, false) {
		if !keep(s) {
			continue
		}
		series := plot.Series{Name: b.name(s), Color: b.colors[s.scorer]}
		for i, values := range overTopics(cells, s, unreadCurve, points) {
			if points[i] > 0 {
				series.X, series.Y = append(series.X, float64(points[i])), append(series.Y, mean(values)/float64(points[i]))
			}
		}
		l.Series = append(l.Series, series)
	}
	return l
}

// judgesInForce are the judges as crawls were guided by them: where examples were
// exchanged for bad ones, those made of these.
func (b *builder) judgesInForce() []Judge {
	bad := slices.ContainsFunc(b.Judges, func(j Judge) bool { return j.Bad > 0 })
	return slices.DeleteFunc(slices.Clone(b.Judges), func(j Judge) bool { return bad && j.Bad == 0 })
}

// badTable is what bad examples cost judges, the mean over topics; ok is false
// where there were none.
func (b *builder) badTable() (t table, ok bool) {
	t = table{Title: "What bad examples cost", Head: []string{"web", "judge", "bad", "AUROC", "with bad ones", "lost", "precision", "with bad ones", "lost", "recall", "with bad ones", "lost"},
		Note: "Of the examples of each topic so many were exchanged for pages that are not about it. Means over topics. All strategies were run with the bad ones."}
	type key struct{ web, judge string }
	type sums struct {
		good, bad [3][]float64
		n         int
	}
	all := map[key]*sums{}
	var order []key
	for _, j := range b.Judges {
		k := key{j.Web, j.Judge}
		x := all[k]
		if x == nil {
			x = &sums{}
			all[k] = x
			order = append(order, k)
		}
		to := &x.good
		if j.Bad > 0 {
			to, x.n = &x.bad, j.Bad
			ok = true
		}
		for i, v := range []float64{j.AUROC, j.Precision, j.Recall} {
			to[i] = append(to[i], v)
		}
	}
	slices.SortFunc(order, func(x, y key) int { return slices.Compare([]string{x.web, x.judge}, []string{y.web, y.judge}) })
	for _, k := range order {
		x := all[k]
		if x.n == 0 {
			continue
		}
		row := []cell{{Text: b.webName(k.web)}, {Text: k.judge}, whole(x.n)}
		for i := range x.good {
			good, bad := mean(x.good[i]), mean(x.bad[i])
			row = append(row, number(plot.Number(good, 3)), number(plot.Number(bad, 3)), number(plot.Number(good-bad, 3)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, ok
}
