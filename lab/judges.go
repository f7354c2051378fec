package lab

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/learn/metric"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
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
// exchanged for bad ones, each judge is measured with good ones as well. A judge that fails at a
// page is not measured, and told of.
//
// Where the truth was read, a judge is measured on the pages that were read. A page
// weighs as many documents of its stratum as there are for each that was read.
func (g *group) judges(ctx context.Context) (out []judgeFact, failed []string, err error) {
	out, failed, err = g.measureJudges(ctx, g.topic(), g.BadExamples)
	if err != nil || g.BadExamples == 0 {
		return out, failed, err
	}
	shown, _ := g.split()
	good, more, err := g.measureJudges(ctx, g.topicWith(g.draw(shown, "examples")), 0)
	return append(out, good...), append(failed, more...), err
}

// candidate is a judge that is measured.
type candidate struct {
	judge.Judge
	label  string // what results call it
	sample []observation
	failed error // at a page
}

// relevance is that of a page.
func (c *candidate) relevance(ctx context.Context, p *web.Page) (r float64, err error) {
	err = caught(func() error {
		v, err := c.Judge.Judge(ctx, p)
		if r = v.Relevance; err == nil && !(r >= 0 && r <= 1) {
			err = fmt.Errorf("relevance %v is outside [0,1]", r)
		}
		return err
	})
	return r, err
}

// caught is the error of do, or the panic in it: a judge may be a program's own.
func caught(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do()
}

// candidates are the judges that can be made of a topic.
func (g *group) candidates(t *topic.Topic) (all []*candidate) {
	var labels []string
	for _, l := range g.judgeLines() {
		labels = append(labels, l.Name)
	}
	for _, l := range g.judgeLabels() {
		if !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	for _, l := range labels {
		if l == report.TruthJudge || isCritic(l) && !slices.Contains(g.judgeLabels(), l) {
			continue
		}
		c := &candidate{label: l}
		err := caught(func() (err error) {
			c.Judge, _, err = g.judge(t, l)
			return err
		})
		if err != nil {
			continue // the topic does not give what this judge needs
		}
		all = append(all, c)
	}
	return all
}

// measureJudges measures the judges made of a topic, of whose examples bad are bad.
func (g *group) measureJudges(ctx context.Context, t *topic.Topic, bad int) (out []judgeFact, failed []string, err error) {
	truth := g.fold.graph.Truth(g.w.truth[g.t.Name], slices.Concat(g.t.Seeds, g.allSeeds(), g.t.Examples, g.otherShown(), g.fold.shown()), nil)
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
			return nil, nil, ctx.Err()
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
		x := observation{Prediction: metric.Prediction{Positive: truth.Relevant.Has(u, digest), Weight: 1}}
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
			if c.failed != nil {
				continue
			}
			x.Score, c.failed = c.relevance(ctx, p) // also where nobody read: judges settle on what they see
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			if known {
				c.sample = append(c.sample, x)
			}
		}
	}
	for _, c := range all {
		if c.failed != nil {
			failed = append(failed, fmt.Sprintf("%s: the judge %s was not measured: %v.", g.id(), c.label, c.failed))
			continue
		}
		if rd != nil {
			for i := range c.sample {
				s := weights[c.sample[i].stratum]
				c.sample[i].Weight = float64(s.Size) / float64(s.Read)
			}
		}
		f := factOf(c.sample, c.Threshold())
		f.Web, f.Topic, f.Judge, f.Bad = g.w.Name, g.id().Topic, c.label, bad
		out = append(out, f)
	}
	return out, failed, nil
}

// factOf are the figures of a judge of that threshold on a sample of pages.
func factOf(sample []observation, threshold float64) judgeFact {
	f := judgeFact{Threshold: eval.Number(threshold), Pages: len(sample)}
	var relevant, accepted, correct float64 // weights
	var all []metric.Prediction
	bins := make(metric.Bins, 10)
	for _, s := range sample {
		all = append(all, s.Prediction)
		bins.Add(s.Prediction)
		if s.Positive {
			f.Relevant++
			relevant += s.Weight
		}
		if s.Score >= threshold {
			f.Accepted++
			accepted += s.Weight
			if s.Positive {
				f.Correct++
				correct += s.Weight
			}
		}
	}
	f.Precision, f.Recall = eval.Number(correct/accepted), eval.Number(correct/relevant)
	f.AUROC, f.ECE = eval.Number(metric.AUROC(all)), eval.Number(bins.ECE())
	for _, b := range bins {
		bin := report.Bin{Count: b.Count}
		if b.Count > 0 {
			bin.Mean, bin.Share = b.Mean(), b.Share()
		}
		f.Bins = append(f.Bins, bin)
	}
	return f
}

// observation is the relevance of a page as a judge gives it, with the truth, the number
// of documents for which the page stands, and its stratum.
type observation struct {
	metric.Prediction
	stratum uint8
}
