package lab

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
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
	Bad       int          `json:"bad,omitempty"` // of its examples
	Bins      []report.Bin `json:"bins"`
}

func (f judgeFact) report() report.Judge {
	return report.Judge{
		Web: f.Web, Topic: f.Topic, Judge: f.Judge, Threshold: float64(f.Threshold), Precision: float64(f.Precision),
		Recall: float64(f.Recall), AUROC: float64(f.AUROC), ECE: float64(f.ECE),
		Pages: f.Pages, Relevant: f.Relevant, Accepted: f.Accepted, Correct: f.Correct, Bins: f.Bins, Bad: f.Bad,
	}
}

// judges measures every judge that needs nothing of its own, and the critics of
// the lab, against the truth of a topic, on all recorded documents but those that
// crawls are shown; of pages with the same body one counts. Where examples were
// exchanged for bad ones, each judge is measured with good ones as well.
//
// Where the truth was read, a judge is measured on the pages that were read. A page
// weighs as many documents of its stratum as there are for each that was read.
func (g *group) judges(ctx context.Context) ([]judgeFact, error) {
	out, err := g.measureJudges(ctx, g.topic(), g.Bad)
	if err != nil || g.Bad == 0 {
		return out, err
	}
	shown, _ := g.split()
	good, err := g.measureJudges(ctx, g.showing(g.draw(shown, "examples")), 0)
	return append(out, good...), err
}

// candidate is a judge that is measured.
type candidate struct {
	judge.Judge
	scored []scored
}

// candidates are the judges that can be made of a topic.
func (g *group) candidates(t *topic.Topic) (all []*candidate) {
	for _, l := range g.judgeLines() {
		if l.Name == report.TruthJudge || isCritic(l.Name) && !slices.Contains(g.Judges, l.Name) {
			continue
		}
		j, _, err := g.judge(t, l.Name)
		if err != nil {
			continue // the topic does not give what this judge needs
		}
		all = append(all, &candidate{Judge: j})
	}
	return all
}

// measureJudges measures the judges made of a topic, of whose examples bad are bad.
func (g *group) measureJudges(ctx context.Context, t *topic.Topic, bad int) (out []judgeFact, err error) {
	truth := g.fold.graph.Truth(g.w.truth[g.t.Name], slices.Concat(g.t.Seeds, g.allSeeds(), g.t.Examples, g.besides(), g.fold.shown()), nil)
	rd := g.fold.read[g.t.Name]
	all := g.candidates(t)
	defer func() {
		for _, c := range all {
			c.Close() // it started nothing
		}
	}()
	weights := map[uint8]*pool.Sample{} // by stratum
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
		x := scored{relevant: truth.Relevant.Has(u, digest), weight: 1}
		known := true
		if rd != nil {
			i, _ := g.fold.graph.Number(u)
			d := g.fold.graph.Document(i)
			x.stratum, known = rd.Stratum[d], rd.Grade[d] != pool.CannotTell
			s := weights[x.stratum]
			if s == nil {
				s = &pool.Sample{}
				weights[x.stratum] = s
			}
			if s.Size++; known {
				s.Read++
			}
		}
		for _, c := range all {
			v, err := c.Judge.Judge(ctx, p) // also where nobody read: judges settle on what they see
			if err != nil {
				return nil, err
			}
			if x.relevance = v.Relevance; known {
				c.scored = append(c.scored, x)
			}
		}
	}
	for _, c := range all {
		if rd != nil {
			for i := range c.scored {
				s := weights[c.scored[i].stratum]
				c.scored[i].weight = float64(s.Size) / float64(s.Read)
			}
		}
		f := measured(c.scored, c.Threshold())
		f.Web, f.Topic, f.Judge, f.Bad = g.w.Name, g.id().Topic, c.Name(), bad
		out = append(out, f)
	}
	return out, nil
}

// measured are the figures of a judge of that threshold on judged pages.
func measured(all []scored, threshold float64) judgeFact {
	f := judgeFact{Threshold: eval.Number(threshold), Pages: len(all)}
	var relevant, accepted, correct float64 // weights
	for _, s := range all {
		if s.relevant {
			f.Relevant++
			relevant += s.weight
		}
		if s.relevance >= threshold {
			f.Accepted++
			accepted += s.weight
			if s.relevant {
				f.Correct++
				correct += s.weight
			}
		}
	}
	f.Precision, f.Recall = eval.Number(correct/accepted), eval.Number(correct/relevant)
	f.AUROC, f.ECE = eval.Number(auroc(all)), eval.Number(ece(all))
	f.Bins = bins(all)
	return f
}

// scored is a judged page with the truth of it.
type scored struct {
	relevance float64
	relevant  bool
	weight    float64 // documents for which it stands
	stratum   uint8
}

// auroc is the probability that a relevant page is ranked above an irrelevant
// one, ties counting half; NaN without one of either. With w the weights,
//
//	AUROC = Σ_{i relevant} Σ_{j not} w_i w_j ([s_i > s_j] + ½ [s_i = s_j]) / (w₊·w₋)
//
// Source: Hanley & McNeil (1982).
func auroc(s []scored) float64 {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b scored) int { return cmp.Compare(a.relevance, b.relevance) })
	var sum, pos, neg float64
	for i := 0; i < len(s); {
		var p, n float64 // of those of equal rank
		k := i
		for ; k < len(s) && s[k].relevance == s[i].relevance; k++ {
			if s[k].relevant {
				p += s[k].weight
			} else {
				n += s[k].weight
			}
		}
		sum += p * (neg + n/2)
		pos += p
		neg += n
		i = k
	}
	if pos == 0 || neg == 0 {
		return math.NaN()
	}
	return sum / (pos * neg)
}

// bins are the ten of equal width of [0,1], the last with its upper end. Shares
// and means are weighted.
func bins(s []scored) []report.Bin {
	out := make([]report.Bin, 10)
	weights := make([]float64, 10)
	for _, x := range s {
		i := min(9, int(x.relevance*10))
		out[i].Count++
		out[i].Mean += x.weight * x.relevance
		if x.relevant {
			out[i].Share += x.weight
		}
		weights[i] += x.weight
	}
	for i := range out {
		if weights[i] > 0 {
			out[i].Mean /= weights[i]
			out[i].Share /= weights[i]
		}
	}
	return out
}

// ece is the expected calibration error over the bins:
//
//	ECE = Σ_b w_b/w · |mean relevance in b − share of relevant in b|
func ece(s []scored) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	weights, all := make([]float64, 10), 0.
	for _, x := range s {
		weights[min(9, int(x.relevance*10))] += x.weight
		all += x.weight
	}
	e := 0.0
	for i, b := range bins(s) {
		e += weights[i] / all * math.Abs(b.Mean-b.Share)
	}
	return e
}
