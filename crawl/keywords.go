package crawl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// KeywordJudge is implemented by judges whose keywords can change while a crawl runs.
type KeywordJudge interface {
	// Keywords sets them, in place of those before. page finds a page that was observed
	// before; nil where it is not to be had. It returns the new verdicts of observed pages
	// that are judged otherwise now. After an error the judge is as before.
	Keywords(words []string, page func(web.URL) (*web.Page, error)) ([]web.Renewal, error)
}

// NoKeywords is why a judge of that name, which is no KeywordJudge, is not given other keywords.
func NoKeywords(judge string) error {
	return fmt.Errorf("the judge %s takes no other keywords while a crawl runs: stop it, and have it judged anew with waggle judge", judge)
}

// Rewording is what the owner of a crawl says of new keywords of its topic.
type Rewording struct {
	Changed event.Changed // for the log, in the turn of the act
	Keep    func() error  // keeps them, once the log has the act
}

// renewal judges anew what was fetched before the keywords changed, and gives the links
// that wait the features that they would have had. That is done in slices, one a turn of
// the loop, so that the crawl goes on meanwhile:
//
//	frontier ─► links that wait, each with the page it was found on
//	archive  ─► page ─► Judge ─► event.Rejudged; Extract ─► features of its links that wait
//	frontier ◄─ these features; what waits is scored anew
//
// progress.Renewing tells that it is under way. A crawl that is stopped or killed begins
// it again.
type renewal struct {
	stage    renewalStage
	from     []byte            // place in the frontier
	waiting  map[uint64]uint64 // a link that waits → the page it was found on; hashes of addresses
	features map[uint64][]byte // new ones of links that wait
	bytes    int               // of features
	next     func() (*web.Page, error, bool)
	stop     func()
	pages    []web.Renewal // judged, and not told yet
	// Links that were fetched before the keywords changed, of the last ones: they teach
	// the scorer anew, those of earlier runs with the features that their pages give.
	teach map[web.URL]web.Candidate
}

func newRenewal() *renewal {
	return &renewal{waiting: map[uint64]uint64{}, features: map[uint64][]byte{}}
}

type renewalStage uint8

const (
	renewalLooks  renewalStage = iota // for the links that wait
	renewalJudges                     // the pages of the archive
	renewalScores                     // the links that wait
)

// Bounds of a renewal.
const (
	renewedPages    = 8         // judged at a time
	renewalsTold    = 256       // pages of one event
	renewedFeatures = 256 << 20 // bytes; links beyond keep the features that they have
	renewedEntry    = 48        // bytes that features of a link take beside their own
)

// reword has the judge take other keywords. The pages that it remembers get their new
// verdicts at once, the others by the renewal that begins.
func (d *driver) reword(ctx context.Context, now time.Time, words []string) ([]event.Event, error) {
	s := d.step
	j, ok := d.Judge.(KeywordJudge)
	if !ok {
		return nil, NoKeywords(d.JudgeName)
	}
	renewed, err := j.Keywords(words, func(u web.URL) (*web.Page, error) {
		if d.Look == nil {
			return nil, nil
		}
		return d.Look(ctx, u)
	})
	if err != nil {
		return nil, err
	}
	s.words = words
	d.wording.Add(1)
	s.count.Renewing = true
	s.count.Forecast = event.Forecast{} // it was of what is wanted no more
	d.endRenewal()
	d.renewing = newRenewal()
	d.renewing.teach = maps.Clone(s.recent.at)
	for i := range renewed { // what is no harvest for a reason stays none
		v := &renewed[i].Verdict
		v.Relevant = v.Relevant && !s.leftOut(renewed[i].URL)
	}
	if len(renewed) == 0 {
		return nil, nil
	}
	return []event.Event{s.renew(now, renewed, nil)}, nil
}

// judgeByNewKeywords judges a page that a worker may have judged by the keywords before: the archive
// gets it later, so that the renewal may not meet it.
func (d *driver) judgeByNewKeywords(ctx context.Context, a *Arrival) (err error) {
	if a.Page == nil || a.wording == 0 || a.wording == d.wording.Load() {
		return nil
	}
	if a.Verdict, _, err = d.verdict(ctx, a.Page); err != nil {
		return err
	}
	a.Features = d.Scorer.Extract(a.Page, a.Verdict)
	return nil
}

// leftOut tells whether a page is no harvest whatever its relevance.
func (s *Step) leftOut(u web.URL) bool { return s.noted(u, notedOut) }

// endRenewal forgets a renewal that is under way.
func (d *driver) endRenewal() {
	if r := d.renewing; r != nil && r.stop != nil {
		r.stop()
	}
	d.renewing = nil
}

// renew does the next slice of a renewal.
func (d *driver) renew(ctx context.Context, now time.Time) error {
	r := d.renewing
	if r == nil {
		return nil
	}
	switch r.stage {
	case renewalLooks:
		next, err := d.Frontier.Rescore(ctx, r.from, sweepSlice, func(c *web.Candidate) float64 {
			if c.Priority < SeedPriority {
				r.waiting[hashOf(c.URL)] = hashOf(c.From)
			}
			return c.Priority
		})
		if err != nil {
			return ofFrontier(err)
		}
		if r.from = next; next == nil {
			r.stage = renewalJudges
		}
		return nil
	case renewalJudges:
		return d.renewPages(ctx, now, r)
	default:
		next, err := d.Frontier.Rescore(ctx, r.from, sweepSlice, func(c *web.Candidate) float64 {
			switch f, ok := r.features[hashOf(c.URL)]; {
			case ok:
				c.Features = f
			case !d.Scorer.Rescores():
				return d.step.Rerank(c)
			}
			return d.step.Rescore(c)
		})
		if err != nil {
			return ofFrontier(err)
		}
		if r.from = next; next != nil {
			return nil
		}
		d.endRenewal()
		d.step.count.Renewing = false
		return d.settle(ctx, now, nil, d.step.note(nil))
	}
}

// renewPages judges some pages of the archive.
func (d *driver) renewPages(ctx context.Context, now time.Time, r *renewal) error {
	if err := d.tell(0); err != nil { // the archive is read
		return err
	}
	if r.next == nil {
		if d.Stored == nil {
			r.stage = renewalScores
			return nil
		}
		r.next, r.stop = iter.Pull2(d.Stored(ctx))
	}
	for range renewedPages {
		p, err, ok := r.next()
		if err != nil {
			return fmt.Errorf("the archive: %w", err)
		}
		if !ok {
			r.stage, r.from = renewalScores, nil
			break
		}
		if err := d.renewPage(ctx, r, p); err != nil {
			return err
		}
	}
	if len(r.pages) < renewalsTold && r.stage == renewalJudges || len(r.pages) == 0 {
		return nil
	}
	e := d.step.renew(now, r.pages, nil)
	r.pages = nil
	return d.settle(ctx, now, nil, d.step.note(e))
}

// renewPage judges a page, teaches the scorer if the page came lately, and takes the
// features of its links that wait.
func (d *driver) renewPage(ctx context.Context, r *renewal, p *web.Page) error {
	// The archive also has answers to what was asked for beside pages, such as robots.txt.
	seen, err := d.Frontier.Preview(ctx, nil, []web.Candidate{{URL: p.URL}})
	if err != nil {
		return ofFrontier(err)
	}
	if seen[0] != web.Known {
		return nil
	}
	v, _, err := d.verdict(ctx, p)
	if err != nil {
		return err
	}
	said := v
	v.Relevant = v.Relevant && !d.step.leftOut(p.URL)
	r.pages = append(r.pages, web.Renewal{URL: p.URL, Verdict: v})
	if c, ok := r.teach[p.URL]; ok && c.Features != nil && d.step.steering.labels[p.URL] == "" {
		if learns, ok := d.Scorer.(LabelledScorer); ok {
			learns.Label(&c, p, d.step.leads.worth(v, d.step.leads.types[p.MIME]), true)
		}
	}
	page := hashOf(p.URL)
	var features [][]byte
	for i := range p.Links {
		link := hashOf(p.Links[i].URL)
		from, waits := r.waiting[link]
		waits = waits && from == page && r.bytes < renewedFeatures
		taught, teaches := r.teach[p.Links[i].URL]
		teaches = teaches && taught.Features == nil && taught.From == p.URL
		if !waits && !teaches {
			continue
		}
		if features == nil {
			features = d.Scorer.Extract(p, said)
		}
		if teaches {
			taught.Features = features[i]
			r.teach[p.Links[i].URL] = taught
		}
		if !waits {
			continue
		}
		better := web.Candidate{URL: p.Links[i].URL, From: p.URL, Kind: p.Links[i].Kind, Features: features[i]}
		if old, twice := r.features[link]; twice { // it goes by its best occurrence
			was := better
			was.Features = old
			if d.step.score(&was) >= d.step.score(&better) {
				continue
			}
			r.bytes -= len(old) + renewedEntry
		}
		r.features[link] = features[i]
		r.bytes += len(features[i]) + renewedEntry
	}
	return nil
}

// finishRenewal brings a renewal to its end, before a crawl is over.
func (d *driver) finishRenewal(ctx context.Context) error {
	for d.renewing != nil {
		if err := errors.Join(d.renew(ctx, d.Clock.Now()), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}
