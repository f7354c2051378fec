package lab

import (
	"context"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/web"
)

// Together are the workers that do the crawls of a scorer, each with hosts of its own.
type Together struct {
	Workers int      `yaml:"workers"`           // 1…1,000
	Fetches int      `yaml:"fetches,omitempty"` // at a time, of each; default network.workers
	Delay   Duration `yaml:"delay,omitempty"`   // of a message
	Every   Duration `yaml:"every,omitempty"`   // least time from one word of what waits to the next
	By      string   `yaml:"by,omitempty"`      // what is divided among them: host (default), domain
	// Own is what each has for itself, for comparison: price, and takes the best of its own
	// links; lessons, and learns from its own pages alone.
	Own []string `yaml:"own,omitempty"`
}

// check says what is wrong, "" for nothing.
func (t *Together) check() string {
	switch {
	case t.Workers < 1 || t.Workers > 1000:
		return "together: workers lies in 1…1,000"
	case t.Fetches < 0 || t.Fetches > 1000:
		return "together: fetches lies in 1…1,000; leave it out for network.workers"
	case t.Delay < 0 || t.Every < 0:
		return "together: delay and every are at least 0"
	case t.By != "" && t.By != "host" && t.By != "domain":
		return "together: by is host or domain"
	}
	for _, o := range t.Own {
		if o != "price" && o != "lessons" {
			return "together: own is a list of price and lessons"
		}
	}
	return ""
}

// owner is the worker of a host.
func (t *Together) owner(h web.Host) int {
	name := string(h)
	if t.By == "domain" {
		name = h.Domain()
	}
	return int(xxh3.HashString(name) % uint64(t.Workers))
}

// runTogether simulates the crawl by its workers. newCrawl makes the crawl of each.
func (g *group) runTogether(ctx context.Context, t *Together, rec *eval.Recorder, record sim.Record, o sim.Options, listen func(event.Event), watch *stopwatch, newCrawl func() (*crawl.Crawl, error)) (sim.Result, error) {
	budget := g.budget()
	var workers []*crawl.Crawl
	for range t.Workers {
		c, err := newCrawl()
		if err != nil {
			return sim.Result{}, err
		}
		c.Listen = func(e event.Event) {
			if len(rec.Run().Pages) >= budget {
				return // what is fetched until all know that the budget is spent
			}
			rec.Listen(e)
			listen(e)
		}
		workers = append(workers, c)
	}
	watch.start()
	out, err := sim.RunTeam(ctx, workers, record, o, sim.Team{
		Owner: t.owner, Delay: time.Duration(t.Delay), Every: time.Duration(t.Every),
		OwnPriorities: slices.Contains(t.Own, "price"), OwnLessons: slices.Contains(t.Own, "lessons"),
	})
	rec.Listen(event.Ended{How: out.How})
	return out.Result, err
}
