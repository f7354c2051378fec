package main

import (
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// explainCmd is `waggle explain`.
type explainCmd struct {
	URL string `arg:"" help:"The address in question."`
	Out string `short:"o" required:"" placeholder:"DIR" help:"Folder of the crawl."`
}

// Run explains from the event log alone; the crawl may be running.
func (c *explainCmd) Run(io streams) error {
	u, err := web.Parse(c.URL)
	if err != nil {
		return exit{exitUsage, err}
	}
	col := collection{dir: c.Out}
	if !fileExists(col.events()) {
		return exit{exitUsage, fmt.Errorf("%s holds no crawl: there is no %s", c.Out, col.events())}
	}
	// The crawl saw the address under its job's rules.
	var set map[string]float64
	if job, err := readJob(col.job()); err == nil {
		set = job.Scorer.Set
		if v, err := job.canon().Parse(c.URL); err == nil {
			u = v
		}
	}
	x, err := event.Explain(event.ReadFile(col.events()), u)
	if err != nil {
		return err
	}
	if err := printExplanation(io.out, &x); err != nil {
		return err
	}
	var m *model.File // without it there is less to say
	if fileExists(col.model()) {
		m, _ = model.Read(col.model(), nil)
	}
	if err := printHops(io.out, &x, set, m); err != nil {
		return err
	}
	if x.Fate == event.Unseen {
		return exit{exitFailed, errors.New("")}
	}
	return nil
}
