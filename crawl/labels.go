package crawl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/web"
)

// What a person says of pages. Labels that follow one another are taken in together, in one turn:
//
//	Acts ─► givenLabel, givenLabel, … ─► judge and scorer are taught ─► event.Act …, event.Rejudged

// LabelledScorer is implemented by scorers that learn from what a person says of a page.
type LabelledScorer interface {
	// Label teaches as Visit does with a page whose relevance is what the person said,
	// 0 or 1. judged tells that v is the judge's instead: the label was undone, or the
	// judge has other keywords. c is the link by which the page was reached.
	Label(c *web.Candidate, p *web.Page, v web.Verdict, judged bool)
}

// RecallingScorer is implemented by scorers that tell what Visit would give the links of a page, and learn nothing of it.
type RecallingScorer interface {
	Recall(c *web.Candidate, p *web.Page, v web.Verdict) (memory []byte)
}

// LabelledJudge is implemented by judges to which a page of which a person wants more is
// an example.
type LabelledJudge interface {
	// Label sets these pages, in place of those that were set before. It returns the new
	// verdicts of pages that were observed before and are judged otherwise now.
	Label(wanted []*web.Page) []web.Renewal
}

// givenLabel is a label that was taken in, or the undoing of one, and its page.
type givenLabel struct {
	act  event.Act
	page *web.Page
}

// settleLabels teaches judge and scorer the labels that were taken in since it was last called, and
// makes them lasting, in one turn.
func (d *driver) settleLabels(ctx context.Context, now time.Time) error {
	if len(d.labelled) == 0 {
		return nil
	}
	var out Outcome
	pages := make([]*web.Page, len(d.labelled))
	for i, l := range d.labelled {
		if pages[i] = l.page; i == 0 {
			out.Event = l.act
		} else {
			out.With = append(out.With, l.act)
		}
	}
	d.labelled = nil
	verdicts, err := d.step.label(ctx, now, pages, d.Judge, d.Look)
	if err != nil {
		return err
	}
	out.With = append(out.With, verdicts)
	d.step.store(&out.Turn)
	return d.settle(ctx, now, nil, out)
}

// label gives pages the verdict of a person, or that of the judge where the label was
// undone, and teaches judge and scorer. Of a page that is given twice the last counts.
func (s *Step) label(ctx context.Context, now time.Time, pages []*web.Page, j Judge, look Look) (event.Event, error) {
	last := make(map[web.URL]*web.Page, len(pages))
	for _, p := range pages {
		last[p.URL] = p
	}
	renewed, err := s.teachJudge(ctx, look, last)
	if err != nil {
		return nil, err
	}
	var mine []web.Renewal
	for _, p := range pages {
		if last[p.URL] != p {
			continue
		}
		v := verdictOf(s.steering.labels[p.URL])
		if s.steering.labels[p.URL] == "" {
			if s.policy.Hollow && hollow.Reason(p) != "" {
				v = web.Verdict{}
			} else if v, err = j.Judge(ctx, p); err != nil {
				return nil, fmt.Errorf("judging %s: %w", p.URL, err)
			}
			v.Relevant = v.Relevant && !s.leftOut(p.URL)
		}
		if c, ok := s.recent.at[p.URL]; ok && c.Features != nil {
			if learns, ok := s.scorer.(LabelledScorer); ok {
				judged := s.steering.labels[p.URL] == ""
				learns.Label(&c, p, s.leads.worth(v, judged && s.leads.types[p.MIME]), judged)
			}
		}
		// Of a page and its copies the harvest has the page.
		v.Relevant = v.Relevant && !s.noted(p.URL, notedCopy)
		mine = append(mine, web.Renewal{URL: p.URL, Verdict: v})
	}
	for _, r := range renewed {
		if last[r.URL] == nil {
			mine = append(mine, r)
		}
	}
	return s.renew(now, mine, last), nil
}

// verdictOf is what a label says.
func verdictOf(label event.Verb) web.Verdict {
	if label == event.Irrelevant {
		return web.Verdict{}
	}
	return web.Verdict{Relevance: 1, Similarity: 1, Relevant: true}
}

// teachJudge gives the judge all pages of which more are wanted. Pages that are called
// relevant or irrelevant, and no more, teach the scorer alone: as examples they cost hits,
// see docs/results/steering.md. read are pages that need not be looked for.
func (s *Step) teachJudge(ctx context.Context, look Look, read map[web.URL]*web.Page) ([]web.Renewal, error) {
	j, ok := s.judge.(LabelledJudge)
	if !ok || look == nil || len(s.steering.acts) == 0 {
		return nil, nil
	}
	var wanted []*web.Page
	var of []web.URL
	met := map[web.URL]bool{}
	for _, a := range s.steering.acts { // in the order in which they were given
		if s.steering.labels[a.URL] != event.More || met[a.URL] {
			continue
		}
		met[a.URL] = true
		p := cmp.Or(s.wanted[a.URL], read[a.URL])
		if p == nil {
			var err error
			if p, err = look(ctx, a.URL); err != nil {
				return nil, err
			}
		}
		if p != nil {
			wanted, of = append(wanted, p), append(of, a.URL)
		}
	}
	if slices.Equal(of, s.examples) {
		return nil, nil
	}
	s.examples, s.wanted = of, make(map[web.URL]*web.Page, len(of))
	for i, u := range of {
		s.wanted[u] = wanted[i] // the judge holds them as well
	}
	return j.Label(wanted), nil
}

// mostLabels bounds the labels that a worker tells others of.
const mostLabels = 256

// noteLabel notes a label of which this crawl has the page, for other workers.
func (d *driver) noteLabel(a event.Act) {
	if d.Peers == nil || !a.Label() || a.Refused != "" || a.Absent {
		return
	}
	if d.labels = append(d.labels, a.Number); len(d.labels) > mostLabels {
		d.labels = slices.Clone(d.labels[1:])
	}
}
