package lab

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/web"
)

// judgeFact is a report.Judge whose NaN survives JSON.
type judgeFact struct {
	Web, Topic, Judge                  string
	Threshold                          eval.Number
	Precision, Recall, AUROC, ECE      eval.Number
	Pages, Relevant, Accepted, Correct int
}

func (f judgeFact) report() report.Judge {
	return report.Judge{
		Web: f.Web, Topic: f.Topic, Judge: f.Judge, Threshold: float64(f.Threshold), Precision: float64(f.Precision),
		Recall: float64(f.Recall), AUROC: float64(f.AUROC), ECE: float64(f.ECE),
		Pages: f.Pages, Relevant: f.Relevant, Accepted: f.Accepted, Correct: f.Correct,
	}
}

// judges measures every judge that needs nothing of its own against the truth
// of a topic, on all recorded documents but those it was shown.
func (r *runner) judges(ctx context.Context, g *group) (out []judgeFact, err error) {
	t := g.topic(r.File)
	shown := map[web.URL]bool{}
	for _, u := range slices.Concat(g.t.Seeds, g.t.Examples) {
		shown[u] = true
	}
	truth := g.w.truth[g.t.Name]
	type candidate struct {
		judge.Judge
		scored []scored
	}
	var all []*candidate
	for _, l := range judge.Names() {
		if l.Name == "rules" || l.Name == "command" {
			continue
		}
		j, err := judge.New(l.Name, t, judge.Options{Analyzer: g.words})
		if err != nil {
			continue // the topic does not give what this judge needs
		}
		defer j.Close()
		all = append(all, &candidate{Judge: j})
	}
	for u := range g.w.URLs() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p, ok := g.pages.Page(u)
		if !ok || shown[u] || p.MIME != "text/html" && p.MIME != "application/xhtml+xml" {
			continue
		}
		for _, c := range all {
			v, err := c.Judge.Judge(ctx, p)
			if err != nil {
				return nil, err
			}
			c.scored = append(c.scored, scored{v.Relevance, truth[u]})
		}
	}
	for _, c := range all {
		f := judgeFact{Web: g.w.Name, Topic: g.t.Name, Judge: c.Name(), Threshold: eval.Number(c.Threshold()), Pages: len(c.scored)}
		for _, s := range c.scored {
			if s.relevant {
				f.Relevant++
			}
			if s.relevance >= c.Threshold() {
				f.Accepted++
				if s.relevant {
					f.Correct++
				}
			}
		}
		f.Precision = eval.Number(float64(f.Correct) / float64(f.Accepted))
		f.Recall = eval.Number(float64(f.Correct) / float64(f.Relevant))
		f.AUROC, f.ECE = eval.Number(auroc(c.scored)), eval.Number(ece(c.scored))
		out = append(out, f)
	}
	return out, nil
}

// scored is a judged page with the truth of it.
type scored struct {
	relevance float64
	relevant  bool
}

// auroc is the probability that a relevant page is ranked above an irrelevant
// one, ties counting half; NaN without one of either.
//
//	AUROC = (Σ_{relevant} rank − n₊(n₊+1)/2) / (n₊·n₋)      Mann & Whitney (1947)
func auroc(s []scored) float64 {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b scored) int { return cmp.Compare(a.relevance, b.relevance) })
	var ranks, pos, neg float64
	for i := 0; i < len(s); {
		k := i
		for k < len(s) && s[k].relevance == s[i].relevance {
			k++
		}
		mid := float64(i+k+1) / 2 // mean rank of i+1 … k
		for ; i < k; i++ {
			if s[i].relevant {
				ranks += mid
				pos++
			} else {
				neg++
			}
		}
	}
	if pos == 0 || neg == 0 {
		return math.NaN()
	}
	return (ranks - pos*(pos+1)/2) / (pos * neg)
}

// ece is the expected calibration error over ten bins of equal width:
//
//	ECE = Σ_b |b|/n · |mean relevance in b − share of relevant in b|
func ece(s []scored) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	var n, sum, hit [10]float64
	for _, x := range s {
		b := min(9, int(x.relevance*10))
		n[b]++
		sum[b] += x.relevance
		if x.relevant {
			hit[b]++
		}
	}
	e := 0.0
	for b := range n {
		e += math.Abs(sum[b]-hit[b]) / float64(len(s))
	}
	return e
}
