package lab

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
)

// judgeFact is a report.Judge whose NaN survives JSON.
type judgeFact struct {
	Web       string       `json:"web"`
	Topic     string       `json:"topic"`
	Judge     string       `json:"judge"`
	Threshold eval.Number  `json:"threshold"`
	Precision eval.Number  `json:"precision"`
	Recall    eval.Number  `json:"recall"`
	AUROC     eval.Number  `json:"auroc"`
	ECE       eval.Number  `json:"ece"`
	Pages     int          `json:"pages"`
	Relevant  int          `json:"relevant"`
	Accepted  int          `json:"accepted"`
	Correct   int          `json:"correct"`
	Bins      []report.Bin `json:"bins"`
}

func (f judgeFact) report() report.Judge {
	return report.Judge{
		Web: f.Web, Topic: f.Topic, Judge: f.Judge, Threshold: float64(f.Threshold), Precision: float64(f.Precision),
		Recall: float64(f.Recall), AUROC: float64(f.AUROC), ECE: float64(f.ECE),
		Pages: f.Pages, Relevant: f.Relevant, Accepted: f.Accepted, Correct: f.Correct, Bins: f.Bins,
	}
}

// judges measures every judge that needs nothing of its own, and the critics of
// the lab, against the truth of a topic, on all recorded documents but those that crawls are shown; of
// pages with the same body one counts.
func (g *group) judges(ctx context.Context) (out []judgeFact, err error) {
	t := g.topic()
	truth := g.fold.graph.Truth(g.w.truth[g.t.Name], slices.Concat(g.t.Seeds, g.allSeeds(), g.t.Examples, g.fold.shown()), nil)
	type candidate struct {
		judge.Judge
		scored []scored
	}
	var all []*candidate
	for _, l := range g.judgeLines() {
		if l.Name == report.TruthJudge || isCritic(l.Name) && !slices.Contains(g.Judges, l.Name) {
			continue
		}
		j, _, err := g.judge(t, l.Name)
		if err != nil {
			continue // the topic does not give what this judge needs
		}
		defer j.Close()
		all = append(all, &candidate{Judge: j})
	}
	bodies := map[[16]byte]bool{}
	for u := range g.w.URLs() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !g.fold.keeps(u) {
			continue
		}
		p, ok := g.w.pages.Page(u)
		if !ok || p.MIME != "text/html" && p.MIME != "application/xhtml+xml" {
			continue
		}
		digest := hex.EncodeToString(p.Digest[:])
		if bodies[p.Digest] || truth.Shown.Has(u, digest) {
			continue
		}
		bodies[p.Digest] = true
		relevant := truth.Relevant.Has(u, digest)
		for _, c := range all {
			v, err := c.Judge.Judge(ctx, p)
			if err != nil {
				return nil, err
			}
			c.scored = append(c.scored, scored{v.Relevance, relevant})
		}
	}
	for _, c := range all {
		f := judgeFact{Web: g.w.Name, Topic: g.id().Topic, Judge: c.Name(), Threshold: eval.Number(c.Threshold()), Pages: len(c.scored)}
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
		f.Bins = bins(c.scored)
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

// bins are the ten of equal width of [0,1], the last with its upper end.
func bins(s []scored) []report.Bin {
	out := make([]report.Bin, 10)
	for _, x := range s {
		b := &out[min(9, int(x.relevance*10))]
		b.Count++
		b.Mean += x.relevance
		if x.relevant {
			b.Share++
		}
	}
	for i := range out {
		if b := &out[i]; b.Count > 0 {
			b.Mean /= float64(b.Count)
			b.Share /= float64(b.Count)
		}
	}
	return out
}

// ece is the expected calibration error over the bins:
//
//	ECE = Σ_b |b|/n · |mean relevance in b − share of relevant in b|
func ece(s []scored) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	e := 0.0
	for _, b := range bins(s) {
		e += float64(b.Count) / float64(len(s)) * math.Abs(b.Mean-b.Share)
	}
	return e
}
