package crawl

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Retrace brings the states that a crawl stores with its turns up to what its log
// tells, for a frontier that is made anew: how many pages were fetched, the time
// that was spent, which hosts were given up, where seeds moved to. What scorer and
// judge learnt stays as it was stored.
//
// Its life: NewRetrace, Add for all events of the log in their order, States. Not
// for concurrent use.
type Retrace struct {
	step     *Step
	began    bool
	sum      event.Summary
	pages    int
	forecast event.Forecast
	acts     []event.Act      // that set the keywords, and all that undo others
	given    map[web.Host]int // pages of each host
	seeds    map[web.URL]bool // that wait, or what they moved to
}

// NewRetrace begins with the states that were stored; state returns that under a
// name, nil if there is none.
func NewRetrace(state func(name string) ([]byte, error)) (*Retrace, error) {
	r := &Retrace{step: NewStep(Policy{}, nil, nil), given: make(map[web.Host]int), seeds: make(map[web.URL]bool)}
	b, err := state(stateCrawl)
	if err != nil || b == nil {
		return r, err
	}
	r.began = true
	if err := json.Unmarshal(b, &r.step.count); err != nil {
		return nil, fmt.Errorf("stored state %q cannot be read: %w", stateCrawl, err)
	}
	for i := range r.step.count.Closed {
		b, errState := state(stateClosed + strconv.Itoa(i))
		host, why, _ := strings.Cut(string(b), " ")
		err = errors.Join(err, errState)
		r.step.closed[web.Host(host)] = web.Reason(why)
	}
	return r, err
}

// Add takes the next event. known says that the states reflect it already.
func (r *Retrace) Add(e event.Event, known bool) {
	r.sum.Add(e)
	r.step.lists.note(e)
	switch e.(type) {
	case event.Seeded, event.Received, event.Fetched, event.Failed:
		r.began = true
	}
	switch e := e.(type) {
	case event.Fetched:
		r.pages++
		r.given[e.URL.Host()]++
		r.forecast.Add(e.Relevant)
		r.seed(e.Visit, known, false)
		r.dated(&e, known)
	case event.Failed:
		moved := e.Queued && (e.Link != web.LinkAgain || e.Reason != web.ReasonRedirect) // where a known page redirects to is a new one
		r.seed(e.Visit, known, e.Retry || moved)
		if moved && e.Priority >= SeedPriority {
			if r.seeds[e.To] = true; e.Retry && !known {
				r.step.count.Seeds++ // it waits beside the other
			}
		}
		if seedMoved(&e) && !known {
			r.step.fresh[stateMoved+strconv.Itoa(r.step.count.Moved)] = []byte(e.To.String())
			r.step.count.Moved++
		}
	case event.Seeded:
		for _, f := range e.Queued {
			r.seeds[f.URL] = true
		}
		if !known {
			for _, f := range e.Queued {
				if !f.Raised { // it was counted already
					r.step.count.Seeds++
				}
			}
		}
	case event.Dropped:
		_, closed := r.step.closed[e.Host]
		if !closed && !known && e.Host != "" && e.Reason != web.ReasonElsewhere { // whose crawl may be merged since
			r.step.close(e.Host, e.Reason)
		}
		for _, u := range e.URLs {
			if r.seeds[u] && !known {
				r.step.count.Seeds--
			}
			delete(r.seeds, u)
		}
	case event.Act:
		r.reword(e)
	case event.Rejudged:
		if e.Judge != "" { // then the pages that came before count by what is said of them now
			r.forecast = r.sum.Forecast
		}
	case event.Changed:
		if most, err := strconv.Atoi(cmp.Or(e.New, "0")); err == nil && e.Setting == event.SettingHostPages && !known {
			r.step.policy.MaxHostPages = most
			r.step.applyHostShare(r.given)
		}
	}
}

// reword forgets, where an act gives other keywords, what pages brought by those before.
func (r *Retrace) reword(a event.Act) {
	if a.Do != event.Keywords && a.Do != event.Undo || a.Refused != "" {
		return
	}
	before, _ := event.KeywordsAfter(r.acts)
	r.acts = append(r.acts, a)
	if after, _ := event.KeywordsAfter(r.acts); a.Do == event.Keywords || !slices.Equal(before, after) {
		r.forecast = event.Forecast{}
	}
}

// dated counts the known pages that came sooner, or went behind all links, by what a sitemap or
// a feed tells of them.
func (r *Retrace) dated(e *event.Fetched, known bool) {
	for _, d := range e.Dated {
		if d.Then == event.MoveLast && r.seeds[d.URL] {
			delete(r.seeds, d.URL)
			if !known {
				r.step.count.Seeds--
			}
		}
	}
	for _, f := range e.Queued {
		if f.Priority >= SeedPriority && !r.seeds[f.URL] {
			r.seeds[f.URL] = true
			if !known {
				r.step.count.Seeds++
			}
		}
	}
}

// seed counts the seeds that have not been fetched, or wherever they moved.
func (r *Retrace) seed(v event.Visit, known, again bool) {
	if v.Priority >= SeedPriority && !known && !again {
		r.step.count.Seeds--
	}
	if !again {
		delete(r.seeds, v.URL)
	}
}

// Began tells whether the crawl had a turn: by the states that were stored, or by
// the log.
func (r *Retrace) Began() bool { return r.began }

// Pages is how many pages the crawl fetched, by the states that were stored or by the
// log, whichever knows of more.
func (r *Retrace) Pages() int { return max(r.step.count.Pages, r.pages) }

// States are the states as they should be stored.
func (r *Retrace) States() map[string][]byte {
	c := &r.step.count
	if c.Relevant = max(c.Relevant, r.sum.Relevant); r.pages >= c.Pages {
		c.Relevant = r.sum.Relevant // fewer, where some were judged otherwise since
	}
	c.Pages = r.Pages()
	c.Forecast = r.forecast
	c.Seeds = max(c.Seeds, 0)
	c.SweepDue = c.SweepDue || len(r.step.lists.behind) > 0 // links wait as they were found
	c.Spent = max(c.Spent, (r.sum.Elapsed(r.sum.Last) - r.sum.SilenceUntil(r.sum.Last)).Round(time.Millisecond), 0)
	if !r.sum.Last.IsZero() {
		c.Last = max(c.Last, r.sum.Last.UnixNano())
	}
	var t web.Turn
	r.step.noResume = true // scorer and judge are asked nothing
	r.step.store(&t)
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // a plain struct of numbers
	}
	t.State[stateCrawl] = b
	return t.State
}
