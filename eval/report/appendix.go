package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// asThePapers are the measures of papers, beside H/U and H/G.
func asThePapers() []string {
	return []string{"precision-mesh", "sigma", "sigma-printed", "apr", "similar-pages", "judged-harvest", "judged-loss", "judged-loss-sum"}
}

// others are the measures that neither the main tables nor those of the papers and
// of a truth that was read show, after H/U and H/G.
func (b *builder) others() []string {
	out := []string{"of-bound", "of-greedy"}
	for _, m := range eval.Measures() {
		if !m.Read && !slices.Contains(b.Headline, m.Name) && !slices.Contains(asThePapers(), m.Name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// papers shows what the papers measured, which decides nothing here.
func (b *builder) papers() (section, bool) {
	s := section{Title: "As the papers measured", ID: "papers", Badge: "decoration", Notes: []string{
		"None of these knows the truth. A page counts by its cosine, of term frequencies, to the nearest example, or by what the crawl's own judge said of it: measures that favour a strategy which follows the same words, and a judge that is easily pleased. They are here so that a paper's figures can be set beside them, and decide nothing.",
		"As in the papers every page that was fetched counts: seeds, copies, and the examples that were shown, which are as similar to themselves as can be. So do they for every strategy alike; hits leave all of them out.",
		"Of Liu & Milios (2010): precision over 400 page points and γ of .5, .575, .65, .725 and .8, of which the paper gives the ends; σ as its text says, the mean over pages of the best cosine, and as printed, the best over targets of the mean cosine; APR, average precision over that of breadth-first (the paper divides by its best-first by content), for each γ and then averaged. Of Chakrabarti, Punera & Subramanyam (2002): harvest and loss, as printed a mean, and as the figures are read a sum. Of Batsakis, Petrakis & Milios (2009): similar pages; the paper's threshold is lost, .75 is assumed, and swept.",
	}}
	measures := append([]string{"of-bound", "of-greedy"}, asThePapers()...)
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name && c.Judge != TruthJudge })
		if len(strategies(cells, false)) == 0 {
			continue
		}
		lead := b.leaders(cells, maxLines)
		s.panels(slug(w.Name, "precision-surface"), b.surface("Precision by similarity: "+b.webName(w.Name), cells, lead))
		s.panels(slug(w.Name, "similar-pages"), b.similar("Similar pages: "+b.webName(w.Name), cells, lead))
		if m, ok := b.loss("Expected loss: "+b.webName(w.Name), cells, lead); ok {
			s.panels(slug(w.Name, "judged-loss"), m)
		}
		if l := b.sigma("Mean of the best similarities: "+b.webName(w.Name), cells, lead); slices.Contains(b.Headline, "sigma") && len(l.Series) > 0 {
			s.charts = append(s.charts, Plot{slug(w.Name, "sigma"), l.Draw()})
		}
		open := true // the largest budget
		for _, n := range slices.Backward(b.Budgets) {
			t := b.summary(b.webName(w.Name)+" at "+plot.Number(float64(n), 0)+" pages, as the papers measured", cells, n, false, measures)
			switch {
			case len(t.Rows) == 0:
			case open:
				s.Tables, open = append(s.Tables, t), false
			default:
				s.Folded = append(s.Folded, t)
			}
		}
	}
	return s, len(s.Tables) > 0
}

func (b *builder) judgeSection() (section, bool) {
	s := section{Title: "Judges against the truth", ID: "judges", Notes: []string{
		"How far each judge is right, apart from any scorer: on all pages of a web but those it was shown, copies counted once. Precision: share of what it accepts that is relevant. Recall: share of what is relevant that it accepts. AUROC: how often a relevant page is given more than another one. ECE, the expected calibration error over ten equal parts of [0,1]: how far what it gives is from the share that is relevant."}}
	list := b.judgesInForce()
	slices.SortStableFunc(list, func(x, y Judge) int {
		return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Judge, y.Judge))
	})
	values := func(j Judge) []float64 { return []float64{j.Threshold, j.Precision, j.Recall, j.AUROC, j.ECE} }
	each := table{Title: "Each topic", Head: []string{"web", "topic", "judge", "threshold", "precision", "recall", "AUROC", "ECE", "relevant", "accepted", "correct"}}
	for _, j := range list {
		row := []cell{{Text: b.webName(j.Web)}, {Text: j.Topic}, {Text: j.Judge}}
		for _, v := range values(j) {
			row = append(row, number(plot.Number(v, 3)))
		}
		for _, v := range []int{j.Relevant, j.Accepted, j.Correct} {
			row = append(row, number(plot.Number(float64(v), 0)))
		}
		each.Rows = append(each.Rows, row)
	}
	means := table{Title: "Mean over topics", Head: []string{"web", "judge", "topics", "threshold", "precision", "recall", "AUROC", "ECE"}, Note: "What is not defined on a topic, such as the precision of a judge that accepts nothing, is left out of the mean."}
	slices.SortStableFunc(list, func(x, y Judge) int { return cmp.Or(cmp.Compare(x.Web, y.Web), cmp.Compare(x.Judge, y.Judge)) })
	for i := 0; i < len(list); {
		k := i
		columns := make([][]float64, 5)
		for ; k < len(list) && list[k].Web == list[i].Web && list[k].Judge == list[i].Judge; k++ {
			for c, v := range values(list[k]) {
				columns[c] = append(columns[c], v)
			}
		}
		row := []cell{{Text: b.webName(list[i].Web)}, {Text: list[i].Judge}, number(fmt.Sprint(k - i))}
		for _, c := range columns {
			row = append(row, number(plot.Number(mean(c), 3)))
		}
		means.Rows = append(means.Rows, row)
		i = k
	}
	s.Tables, s.Folded = []table{means}, []table{each}
	if t, ok := b.badTable(); ok {
		s.Tables = append(s.Tables, t)
	}
	if slices.ContainsFunc(b.parts, func(t Topic) bool { return t.Read != nil }) {
		s.Notes = append(s.Notes, "The truth was read: judges are measured on the pages that were read, each of which weighs as many documents as it stands for in its stratum. So one page of a large stratum can weigh as much as a hundred of others, and the columns of counts are of read pages.")
	}
	for _, w := range b.Webs {
		if chart, ok := b.reliability(w.Name); ok {
			s.charts = append(s.charts, Plot{slug(w.Name, "reliability"), chart.Draw()})
		}
	}
	return s, len(list) > 0
}

func (b *builder) costSection() (section, bool) {
	clock := b.Clock
	if clock == "" {
		clock = "the time that passed, whatever else the machine did meanwhile; it is not the processor's"
	}
	s := section{Title: "Costs", ID: "costs", Notes: []string{
		"Milliseconds a page, by stage, and seconds of training before a crawl. Measured by: " + clock + ". They differ from machine to machine and from run to run."}}
	t := table{Head: []string{"scorer", "judge"}}
	type column struct {
		name  string
		apart bool
	}
	var stages []column
	apart := false
	for _, c := range b.Costs {
		for _, g := range c.Stages {
			if !slices.ContainsFunc(stages, func(x column) bool { return x.name == g.Name }) {
				stages = append(stages, column{g.Name, g.Apart})
				apart = apart || g.Apart
			}
		}
	}
	for _, g := range stages {
		if g.apart {
			g.name += " ‡"
		}
		t.Head = append(t.Head, g.name)
	}
	t.Head = append(t.Head, "sum", "training, s")
	if apart {
		t.Note = "‡ done once for all runs, and not in the sum."
	}
	list := slices.Clone(b.Costs)
	slices.SortStableFunc(list, func(x, y Cost) int {
		return cmp.Or(cmp.Compare(x.Scorer, y.Scorer), cmp.Compare(x.Judge, y.Judge))
	})
	for _, c := range list {
		row := []cell{{Text: c.Scorer}, {Text: c.Judge}}
		sum := 0.0
		for _, stage := range stages {
			v := math.NaN()
			for _, g := range c.Stages {
				if g.Name == stage.name {
					v = g.Millis
					if !g.Apart {
						sum += v
					}
				}
			}
			row = append(row, number(plot.Number(v, 3)))
		}
		t.Rows = append(t.Rows, append(row, number(plot.Number(sum, 3)), number(plot.Number(c.Training, 2))))
	}
	s.Tables = []table{t}
	return s, len(list) > 0
}

// models tells what training told of the models of each strategy.
func (b *builder) models() (section, bool) {
	s := section{Title: "Models", ID: "models", Notes: []string{
		"What taught the model of a strategy, and what training chose by itself, over all runs; models.csv has those of each."}}
	t := table{Head: []string{"strategy", "of its model", "models", "least", "mean", "most"}}
	type figure struct{ scorer, name string }
	values := map[figure][]float64{}
	var order []figure
	for _, c := range b.Cells {
		for _, name := range slices.Sorted(maps.Keys(c.Model)) {
			k := figure{c.Scorer, name}
			if values[k] == nil {
				order = append(order, k)
			}
			values[k] = append(values[k], c.Model[name])
		}
	}
	slices.SortFunc(order, func(a, b figure) int { return cmp.Or(cmp.Compare(a.scorer, b.scorer), cmp.Compare(a.name, b.name)) })
	for _, k := range order {
		v := values[k]
		row := []cell{{Text: k.scorer}, {Text: k.name}, number(strconv.Itoa(len(v)))}
		for _, x := range []float64{slices.Min(v), mean(v), slices.Max(v)} {
			row = append(row, number(plot.Number(x, 2)))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Folded = []table{t}
	return s, len(t.Rows) > 0
}

// constants lists the settings in force.
func (b *builder) constants() (section, bool) {
	s := section{Title: "Constants", ID: "constants", Notes: []string{"Every setting of every strategy and every constant of the training of its model (train:), as it was in force; those that are not the default are set bold. A preset is compared with the scorer that waggle lab list compares it with."}}
	t := table{Head: []string{"strategy", "constant", "value", "default", "meaning"}}
	for _, c := range b.Constants {
		t.Rows = append(t.Rows, []cell{{Text: c.Scorer}, {Text: c.Name}, {Text: c.Value, Number: true, Strong: c.Value != c.Default}, number(c.Default), {Text: c.Line}})
	}
	s.Folded = []table{t}
	return s, len(t.Rows) > 0
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
			if t := b.summary(b.webName(w.Name)+" at "+plot.Number(float64(n), 0)+" pages, judge truth", cells, n, true, b.Headline); len(t.Rows) > 0 {
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
		name := m.Name
		if h := heading(name); strings.Contains(h, "/") {
			name += " (" + h + ")"
		}
		t.Rows = append(t.Rows, []cell{{Text: name}, {Text: m.Line}, {Text: better}, {Text: m.Source}})
	}
	s.Folded = []table{t}
	return s
}
