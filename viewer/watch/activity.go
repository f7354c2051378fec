package watch

import (
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Activity is what a crawl that runs does at the moment; see web.Activity.
type Activity struct {
	Age     float64 `json:"age"`     // seconds since the crawl told it
	Fetches int     `json:"fetches"` // at a time, at most
	Busy    int     `json:"busy"`    // that are under way
	Stages  []Stage `json:"stages"`  // what these do, without what none does
	// Idle says in words why there are not more.
	Idle    string     `json:"idle,omitempty"`
	Due     float64    `json:"due,omitempty"` // seconds until the next host may be asked
	Writing float64    `json:"writing"`       // share of the time in which the disk was written to
	Longest []Fetching `json:"longest"`
}

// Stage counts fetches.
type Stage struct {
	Stage web.Stage `json:"stage"`
	Words string    `json:"words"` // such as "waiting for robots.txt"
	Count int       `json:"count"`
}

// Fetching is a fetch that is under way.
type Fetching struct {
	Host  string    `json:"host"`
	Stage web.Stage `json:"stage"`
	For   float64   `json:"for"` // seconds at this stage
}

// activityOf is what is told of an activity; nil stays nil.
func activityOf(a *web.Activity, now time.Time) *Activity {
	if a == nil {
		return nil
	}
	seconds := func(d time.Duration) float64 { return max(0, d.Seconds()) }
	v := &Activity{
		Age: seconds(now.Sub(a.At)), Fetches: a.Fetches, Busy: a.Busy(), Writing: a.Writing,
		Stages: []Stage{}, Longest: []Fetching{},
	}
	if a.Idle != "" {
		v.Idle = event.Line(a.Idle.Brief())
	}
	if !a.Due.IsZero() {
		v.Due = seconds(a.Due.Sub(now))
	}
	for _, s := range web.Stages() {
		if n := a.Stages[s]; n > 0 {
			v.Stages = append(v.Stages, Stage{s, s.Brief(), n})
		}
	}
	for _, f := range a.Longest[:min(len(a.Longest), web.MaxLongest)] {
		v.Longest = append(v.Longest, Fetching{event.Line(string(f.Host)), f.Stage, seconds(now.Sub(f.Since))})
	}
	return v
}

// lookForActivity reads what the crawl does, and tells it to those who wait for a change. Of
// what is not in the log no screen need ask anew: the revision stays.
func (c *Crawl) lookForActivity() {
	a, err := c.col.Activity()
	if err != nil {
		a = nil // it may go at any time
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.activity
	c.activity = a
	if a == nil && was == nil || a != nil && was != nil && a.At.Equal(was.At) {
		return
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
