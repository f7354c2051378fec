package crawl

import (
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// AdaptiveJudge is implemented by judges which learn from the pages they see.
type AdaptiveJudge interface {
	// Observe is called in the step, once a page that may be kept, in order,
	// with what Judge said of it. It may change what later calls of Judge
	// return; of pages that were observed before and would be judged otherwise
	// now it returns the new verdicts.
	Observe(p *web.Page, said web.Verdict) []web.Renewal
	// Notes are what users should know of how well it tells wanted pages from
	// others, as far as it was found since the last call; nil for nothing.
	Notes() []string
	// State and Restore carry the judge over a restart. State returns the parts
	// of its state that changed since it was last asked, by name, and Restore
	// is given all of them: nil for one that was never stored.
	State() map[string][]byte
	Restore(part func(name string) ([]byte, error)) error
}

// InheritingJudge is implemented by adaptive judges that can begin a crawl with what they knew
// at the end of another one of the same topic.
type InheritingJudge interface {
	AdaptiveJudge
	// Inherit is given the state of the other crawl, as Restore is. State returns all of it
	// again, and Observe none of the pages of that crawl.
	Inherit(part func(name string) ([]byte, error)) error
}

// ConcludingJudge is implemented by adaptive judges that look once more at what they
// know when a crawl ends.
type ConcludingJudge interface {
	AdaptiveJudge
	// LastNotes are all notes that hold at the end of a crawl, and whether they are others than
	// Notes told last.
	LastNotes() (notes []string, others bool)
}

// RenewingScorer is implemented by scorers that learn anew from pages that the judge
// judges otherwise now.
type RenewingScorer interface {
	// Renew is given the new verdicts of pages that were visited or not. It is called in
	// the step, in order. Pages of which a person said what they are, and those that are
	// no harvest for a reason, are not among them.
	Renew(pages []web.Renewal)
}

// stateJudge is the name of the judge's state in a turn; its parts have
// stateJudge + "/" + their own, or stateJudge alone if they have none.
const stateJudge = "judge"

func judgePart(name string) string {
	if name == "" {
		return stateJudge
	}
	return stateJudge + "/" + name
}

// observe lets the judge learn from a page, and tells what it says anew of
// earlier ones, and of itself.
func (s *Step) observe(now time.Time, p *web.Page, said web.Verdict) (events []event.Event) {
	if s.judge == nil {
		return nil
	}
	if renewed := s.judge.Observe(p, said); len(renewed) > 0 {
		events = append(events, s.renew(now, renewed, nil))
	}
	if notes := s.judge.Notes(); len(notes) > 0 {
		events = append(events, event.Doubt{At: event.At{At: now}, Notes: notes})
	}
	return events
}

// conclude is what the judge says of itself at the end of a crawl.
func (s *Step) conclude(now time.Time) []event.Event {
	j, ok := s.judge.(ConcludingJudge)
	if !ok {
		return nil
	}
	notes, others := j.LastNotes()
	if !others { // none is one as well: what was doubted before holds no more
		return nil
	}
	return []event.Event{event.Doubt{At: event.At{At: now}, Notes: notes}}
}

// renew counts pages by their new verdicts, and lets the scorer learn from them. What a
// person said of a page stays, but for those of labelled, of which it has just been said.
func (s *Step) renew(now time.Time, renewed []web.Renewal, labelled map[web.URL]*web.Page) event.Event {
	e := event.Rejudged{At: event.At{At: now}, Pages: make([]event.Verdict, 0, len(renewed))}
	s.teachRenewed(renewed)
	for _, r := range renewed {
		if s.notes != nil { // the judge may have said it before a person did
			r.Was = s.noted(r.URL, notedRelevant)
		}
		if _, said := s.steering.labels[r.URL]; said && labelled[r.URL] == nil {
			continue
		}
		s.noteVerdict(r.URL, r.Verdict.Relevant, "")
		v := event.Verdict{URL: r.URL, Relevance: r.Verdict.Relevance, Similarity: r.Verdict.Similarity, Relevant: r.Verdict.Relevant, Was: r.Was}
		e.Pages = append(e.Pages, v)
		s.count.Relevant += v.Change()
	}
	return e
}

// teachRenewed lets the scorer learn from new verdicts.
func (s *Step) teachRenewed(renewed []web.Renewal) {
	learns, ok := s.scorer.(RenewingScorer)
	if !ok {
		return
	}
	learns.Renew(slices.DeleteFunc(slices.Clone(renewed), func(r web.Renewal) bool {
		_, said := s.steering.labels[r.URL]
		return said || s.leftOut(r.URL)
	}))
}

// storeJudge puts into a turn what the judge learnt.
func (s *Step) storeJudge(t *web.Turn) {
	if s.judge == nil {
		return
	}
	for name, b := range s.judge.State() {
		t.State[judgePart(name)] = b
	}
}

func (s *Step) restoreJudge(state func(name string) ([]byte, error)) error {
	if s.judge == nil {
		return nil
	}
	return RestoreJudge(s.judge, state)
}

// RestoreJudge gives a judge what it knew at a crawl's last turn, if it learns.
// state returns what was stored under a name.
func RestoreJudge(j any, state func(name string) ([]byte, error)) error {
	if adapting, ok := j.(AdaptiveJudge); ok {
		return adapting.Restore(func(name string) ([]byte, error) { return state(judgePart(name)) })
	}
	return nil
}

// InheritJudge has a judge begin with what that of another crawl of the same topic knew at its
// last turn, if it can. state returns what that crawl stored under a name.
func InheritJudge(j any, state func(name string) ([]byte, error)) error {
	if inherits, ok := j.(InheritingJudge); ok {
		return inherits.Inherit(func(name string) ([]byte, error) { return state(judgePart(name)) })
	}
	return nil
}
