package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
)

// certain is the level of the tests: a strategy is called better than another
// if its adjusted p lies below.
const certain = .05

// Verdict is what the tests of the results come to, in two sentences: which
// strategy is best, above which others and with what certainty, or that nothing
// is told apart, and why. It is "" where nothing was run.
//
// The best is the one with the highest mean AUC at the largest budget that most
// topics have. As it was picked by the same results, its tests are adjusted for
// all pairs of strategies, by Holm's rule, and not only for its own.
func Verdict(r Results) (string, error) {
	b, err := newBuilder(r)
	if err != nil {
		return "", err
	}
	v, _ := b.verdict()
	return v, nil
}

// verdict is Verdict, with what explains its words.
func (b *builder) verdict() (sentences, terms string) {
	cells := b.cells(func(c eval.Cell) bool { return c.Judge != TruthJudge && !b.synthetic[c.Web] })
	made := ""
	if len(cells) == 0 {
		cells = b.cells(func(c eval.Cell) bool { return c.Judge != TruthJudge })
		made = "On webs that were made up, which support no claim: "
	}
	budget, topics := b.mostTopics(cells)
	if budget == 0 {
		return "", ""
	}
	same := b.twins(budget, true)
	ranked := b.rank(cells, budget, false, []string{"auc"})
	all := len(ranked)
	rows := slices.DeleteFunc(ranked, func(r rankRow) bool {
		_, twin := same[r.strategy]
		return !r.whole || twin
	})
	at, over := plot.Number(float64(budget), 0)+" pages", count(topics, "topic")
	terms = "AUC: the share of hits among the pages fetched so far, averaged over the whole crawl; hits are relevant pages, but for seeds, examples and copies."
	switch {
	case len(rows) == 0:
		return made + "No strategy has all of its runs, so none is called the best. The tables tell what there is.", terms
	case len(rows) == 1:
		why, whose := b.lone(rows[0].strategy, same, all)
		return made + fmt.Sprintf("%s At %s %s mean AUC over %s is %s.", why, at, whose, over, plot.Number(rows[0].auc, 3)), terms
	}
	best, pairs := b.championName(rows[0].strategy, same), len(rows)*(len(rows)-1)/2
	above, p, level := b.above(cells, rows, budget)
	terms += " p: how often chance alone would show so clear a difference (Wilcoxon's test over topics, adjusted for all " + count(pairs, "pair") + " by Holm's rule)."
	auc := plot.Number(rows[0].auc, 3)
	if len(above) == 0 {
		return made + fmt.Sprintf("No strategy is shown to be the best: at %s %s has the highest AUC, %s on average over %s, but the tests do not tell it apart from any other. %s",
			at, best, auc, over, b.silence(cells, rows, budget, topics)), terms
	}
	first := fmt.Sprintf("%s is best: at %s it has the highest AUC of %d strategies, %s on average over %s.", best, at, len(rows), auc, over)
	certainty := fmt.Sprintf("(p %s)", most(p))
	if len(level) == 0 {
		return made + fmt.Sprintf("%s The tests tell it apart from every other %s.", first, certainty), terms
	}
	return made + fmt.Sprintf("%s The tests tell it apart from %s %s, but not from %s.", first, listed(above), certainty, listed(level)), terms
}

// mostTopics is the largest budget at which more than half of the topics were
// run, and their number; 0 where there is none.
func (b *builder) mostTopics(cells []eval.Cell) (budget, topics int) {
	all := map[eval.TopicID]bool{}
	at := map[int]map[eval.TopicID]bool{}
	for i := range cells {
		c := &cells[i]
		for _, n := range b.Budgets {
			if !math.IsNaN(c.Value("auc", n)) {
				if at[n] == nil {
					at[n] = map[eval.TopicID]bool{}
				}
				at[n][id(*c)], all[id(*c)] = true, true
			}
		}
	}
	for _, n := range slices.Backward(b.Budgets) {
		if len(at[n]) > len(all)/2 {
			return n, len(at[n])
		}
	}
	return 0, 0
}

// above parts the strategies behind the first into those that the tests put below it
// and the others, with the largest p of the former. The test is two-sided and of ranks: a
// few large leads can make the best mean of a strategy that is behind on most topics.
func (b *builder) above(cells []eval.Cell, rows []rankRow, budget int) (apart []string, p float64, level []string) {
	values := make([]map[eval.TopicID]float64, len(rows))
	for i, r := range rows {
		values[i] = eval.ByTopic(cells, r.scorer, r.judge, "auc", budget)
	}
	var all []float64 // those of the first with each other come first
	var before []bool // that the ranks speak for the former of the two
	for i := range rows {
		for k := i + 1; k < len(rows); k++ {
			_, x, y := eval.Pair(values[i], values[k])
			for t := range x {
				x[t] -= y[t]
			}
			test, _ := eval.Wilcoxon(x) // without any difference P is 1
			all, before = append(all, test.P), append(before, test.Statistic > float64(test.N*(test.N+1))/4)
		}
	}
	adjusted := eval.Holm(all)
	for k := 1; k < len(rows); k++ {
		name := b.name(rows[k].strategy)
		if adjusted[k-1] < certain && before[k-1] {
			apart, p = append(apart, name), max(p, adjusted[k-1])
		} else {
			level = append(level, name)
		}
	}
	return apart, p, level
}

// silence says why the tests tell the first from none.
func (b *builder) silence(cells []eval.Cell, rows []rankRow, budget, topics int) string {
	pairs := float64(len(rows) * (len(rows) - 1) / 2)
	// The least p of n topics is 2/2ⁿ, where all differences have one sign.
	if need := int(math.Floor(math.Log2(2*pairs/certain))) + 1; topics < need {
		are := "are"
		if topics == 1 {
			are = "is"
		}
		return fmt.Sprintf("%s %s too few for that, whatever was found: with %d strategies at least %d are needed.", count(topics, "topic"), are, len(rows), need)
	}
	first, next := rows[0].strategy, rows[1].strategy
	ids, x, y := eval.Pair(eval.ByTopic(cells, first.scorer, first.judge, "auc", budget), eval.ByTopic(cells, next.scorer, next.judge, "auc", budget))
	c := eval.Compare(ids, x, y, 1, uint64(budget))
	if c.Difference.Mean <= eval.Tie {
		return fmt.Sprintf("%s is as good on average.", b.name(next))
	}
	says := fmt.Sprintf("Its lead over %s is %s, and with topics as different as these %d of them show a lead of %s or more",
		b.name(next), plot.Number(c.Difference.Mean, 3), c.Topics, plot.Number(c.Detectable, 3))
	if c.Needed > c.Topics {
		says += fmt.Sprintf("; for a lead of this size some %s topics are needed", plot.Number(float64(c.Needed), 0))
	}
	return says + "."
}

// most says that no p of several is larger.
func most(p float64) string {
	if p < .001 {
		return "below .001"
	}
	return "at most " + probability(p)
}

// maxNamed bounds the names in a sentence.
const maxNamed = 6

// listed names things as a sentence does, the first few of many.
func listed(names []string) string {
	if n := len(names); n > maxNamed {
		return strings.Join(names[:maxNamed-1], ", ") + fmt.Sprintf(" and %d others", n-maxNamed+1)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// count is a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return plot.Number(float64(n), 0) + " " + thing
}
