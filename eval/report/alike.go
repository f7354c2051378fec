package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// Taught is a strategy that a whole crawl of the same topic, from the same seeds, taught
// before its own: its results had that crawl's budget besides their own.
type Taught struct {
	Scorer, By string
	Pages      int // that taught it, at most
}

// taught is how a strategy was taught, if it was.
func (b *builder) taught(s strategy) (Taught, bool) {
	i := slices.IndexFunc(b.Taught, func(t Taught) bool { return t.Scorer == s.scorer })
	if i < 0 {
		return Taught{}, false
	}
	return b.Taught[i], true
}

// taughtMark stands behind the name of a strategy that was taught so.
const taughtMark = " ‡"

// rowName is the name of a strategy at its row.
func (b *builder) rowName(s strategy) string {
	if _, ok := b.taught(s); ok {
		return b.name(s) + taughtMark
	}
	return b.name(s)
}

// taughtNote explains the mark, "" where none of the strategies has it.
func (b *builder) taughtNote(of []strategy) string {
	var list []string
	for _, s := range of {
		if t, ok := b.taught(s); ok {
			said := fmt.Sprintf("%s by %s pages of %s", t.Scorer, plot.Number(float64(t.Pages), 0), t.By)
			if !slices.Contains(list, said) {
				list = append(list, said)
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return strings.TrimSpace(taughtMark) + " taught before its own crawl by a whole one of the same topic from the same seeds (" + listed(list) + "): it had more budget than the others."
}

// championName is the name of a strategy in the verdict, with what it had before the
// others, and those that cannot be told from it.
func (b *builder) championName(s strategy, twins map[strategy]strategy) string {
	var more []string
	if t, ok := b.taught(s); ok {
		more = append(more, fmt.Sprintf("taught before by a whole crawl of %s pages by %s, which no other had", plot.Number(float64(t.Pages), 0), t.By))
	}
	var same []string
	for other, of := range twins {
		if of == s {
			same = append(same, b.name(other))
		}
	}
	if slices.Sort(same); len(same) > 0 {
		more = append(more, "with the same pages as "+listed(same))
	}
	if len(more) == 0 {
		return b.name(s)
	}
	return b.name(s) + " (" + strings.Join(more, "; ") + ")"
}

// twins are the strategies that, in every run up to a budget, fetched the same pages in
// the same order as another, with that other: one crawl under two names. It is the
// baseline, if that is one of them, or else the first by name. Strategies under
// different judges are twins where across is true.
func (b *builder) twins(budget int, across bool) map[strategy]strategy {
	runs := map[strategy][]string{}
	unknown := map[strategy]bool{}
	for _, c := range b.sound(func(c eval.Cell) bool { return c.Judge != TruthJudge && !b.dev[id(c)] }) {
		s := strategy{c.Scorer, c.Judge}
		if order := c.Order[budget]; order != "" {
			runs[s] = append(runs[s], fmt.Sprintf("%s %d %s", id(c), c.Repeat, order))
		} else if c.Value("hits", budget) == c.Value("hits", budget) { // it was run so far
			unknown[s] = true
		}
	}
	all := strategies(b.shown, false)
	slices.SortStableFunc(all, func(x, y strategy) int {
		switch {
		case (x.scorer == b.Baseline) == (y.scorer == b.Baseline):
			return 0
		case x.scorer == b.Baseline:
			return -1
		}
		return 1
	})
	first := map[string]strategy{}
	out := map[strategy]strategy{}
	for _, s := range all {
		if unknown[s] || len(runs[s]) == 0 {
			continue
		}
		slices.Sort(runs[s])
		key := strings.Join(runs[s], "\n")
		if !across {
			key = s.judge + "\n" + key
		}
		if other, ok := first[key]; ok {
			out[s] = other
		} else {
			first[key] = s
		}
	}
	return out
}

// lone says of the only strategy to compare why it is that, among so many,
// and whose figures follow: "its" or "their".
func (b *builder) lone(s strategy, twins map[strategy]strategy, all int) (why, whose string) {
	names := []string{b.name(s)}
	for other, of := range twins {
		if of == s {
			names = append(names, b.name(other))
		}
	}
	slices.Sort(names[1:])
	switch n := len(names); {
	case n == 1:
		return fmt.Sprintf("Only %s has all of its runs, so there is nothing to compare it with.", names[0]), "its"
	case n == all:
		return fmt.Sprintf("All strategies fetched the same pages in the same order (%s), so there is nothing to tell apart.", listed(names)), "their"
	}
	return fmt.Sprintf("Only %s have all of their runs, and they fetched the same pages in the same order, so there is nothing to compare.", listed(names)), "their"
}

// sameCrawls says which strategies are one crawl under several names, and at which budgets.
func (b *builder) sameCrawls() (out []string) {
	type pair struct{ s, of strategy }
	var order []pair
	at := map[pair][]string{}
	for _, n := range b.Budgets {
		same := b.twins(n, true)
		for _, s := range strategies(b.shown, false) {
			of, ok := same[s]
			if !ok {
				continue
			}
			p := pair{s, of}
			if at[p] == nil {
				order = append(order, p)
			}
			at[p] = append(at[p], plot.Number(float64(n), 0))
		}
	}
	for _, p := range order {
		out = append(out, fmt.Sprintf("%s fetched the same pages as %s, in the same order, in every run up to %s pages: they count as one strategy in the verdict, and %s is compared with no other.",
			b.name(p.s), b.name(p.of), listed(at[p]), b.name(p.s)))
	}
	return out
}

// last is the largest budget that any of the cells has.
func (b *builder) last(cells []eval.Cell) int {
	for _, n := range slices.Backward(b.Budgets) {
		if slices.ContainsFunc(cells, func(c eval.Cell) bool { return c.Value("hits", n) == c.Value("hits", n) }) {
			return n
		}
	}
	return 0
}
