package lab

import (
	"context"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// Labels are those that a person gives during a crawl of a lab: by the truth, but for
// some that are wrong.
type Labels struct {
	Count int     `yaml:"count"`           // 1…1,000
	Every int     `yaml:"every,omitempty"` // pages from one label to the next; default 10
	Ask   string  `yaml:"ask,omitempty"`   // for which page: uncertain (default), the one whose relevance is nearest to the threshold; or random
	Wrong float64 `yaml:"wrong,omitempty"` // chance that a label is wrong, 0…1
	More  bool    `yaml:"more,omitempty"`  // of a relevant page it is said that more like it are wanted
}

func (l *Labels) every() int {
	if l.Every == 0 {
		return 10
	}
	return l.Every
}

// check says what is wrong, "" for nothing.
func (l *Labels) check() string {
	switch {
	case l.Count < 1 || l.Count > 1000:
		return "labels: count lies in 1…1,000; leave labels out for none"
	case l.Every < 0:
		return "labels: every is at least 1; leave it out for 10"
	case l.Ask != "" && l.Ask != "uncertain" && l.Ask != "random":
		return "labels: ask is uncertain or random"
	case !(l.Wrong >= 0 && l.Wrong <= 1):
		return "labels: wrong lies in 0…1"
	}
	return ""
}

// labeller is a person who labels the pages of a crawl. It implements crawl.Acts.
type labeller struct {
	*Labels
	relevant  eval.Set
	threshold float64
	seed      uint64

	acts  []event.Act
	pages int
	open  []event.Fetched // without a label
}

// attach has the person hear the crawl and be heard by it.
func (l *labeller) attach(c *crawl.Crawl) {
	l.threshold = c.Threshold
	c.Acts = l
	fetcher, parser := c.Fetcher, c.Parser
	c.Look = func(ctx context.Context, u web.URL) (*web.Page, error) {
		r, err := fetcher.Fetch(ctx, u)
		if err != nil {
			return nil, err
		}
		return parser.Parse(r)
	}
	before := c.Listen
	c.Listen = func(e event.Event) {
		before(e)
		if f, ok := e.(event.Fetched); ok {
			l.add(f)
		}
	}
}

// add takes in the next page, and labels one where it is time.
func (l *labeller) add(f event.Fetched) {
	l.pages++
	if f.Reason == "" {
		f.Queued, f.Skipped = nil, nil
		l.open = append(l.open, f)
	}
	if len(l.acts) == l.Count || l.pages%l.every() != 0 || len(l.open) == 0 {
		return
	}
	at := 0
	if l.Ask == "random" {
		at = int(l.chance("which", l.pages) * float64(len(l.open)))
	} else {
		for i, p := range l.open {
			if math.Abs(p.Relevance-l.threshold) < math.Abs(l.open[at].Relevance-l.threshold) {
				at = i
			}
		}
	}
	p := l.open[at]
	l.open = append(l.open[:at], l.open[at+1:]...)
	wanted := l.relevant.Has(p.URL, p.Digest)
	if l.chance("wrong", l.pages) < l.Wrong {
		wanted = !wanted
	}
	a := event.Act{Do: event.Irrelevant, URL: p.URL}
	switch {
	case wanted && l.More:
		a.Do = event.More
	case wanted:
		a.Do = event.Relevant
	}
	l.acts = append(l.acts, a)
}

// chance is drawn from [0,1) for a page.
func (l *labeller) chance(of string, page int) float64 {
	return float64(xxh3.HashStringSeed(of, l.seed+uint64(page))>>11) / (1 << 53)
}

func (l *labeller) After(n int) ([]event.Act, error) { return l.acts[n:], nil }

// labelNote tells what a person says during the crawls of a strategy, "" for nothing.
func (s Scorer) labelNote() string {
	l := s.Labels
	if l == nil {
		return ""
	}
	asked := "that whose relevance is nearest to the threshold"
	if l.Ask == "random" {
		asked = "one at random"
	}
	note := fmt.Sprintf("is told of a page whether it is relevant, of %s, after every %s, %s in all", asked, terminal.Count(l.every(), "page"), terminal.Count(l.Count, "time"))
	if l.More {
		note += ", and of relevant ones that more like them are wanted"
	}
	if l.Wrong > 0 {
		note += fmt.Sprintf(", with a chance of %v that it is wrong", l.Wrong)
	}
	return note
}
