package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/demo"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/view"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
)

// demoCmd is `waggle demo`.
type demoCmd struct {
	Web   string `default:"go" enum:"go,debian" help:"The site: go (the Go documentation on this machine) or debian (manuals of Debian packages, many hosts; needs apt-get)."`
	Pages int    `short:"n" default:"120" placeholder:"N" help:"Pages each crawl may fetch (default ${default})."`
	Out   string `short:"o" placeholder:"DIR" help:"Folder for both collections (default: a new temporary one)."`
}

// Run crawls the site twice at the same budget, focused and breadth-first.
func (c *demoCmd) Run(ctx context.Context, io streams, docs parse.Documents) error {
	if c.Pages < 1 {
		return exit{exitUsage, fmt.Errorf("--pages %d: give 1 or more", c.Pages)}
	}
	dir := c.Out
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "waggle-demo-"); err != nil {
			return err
		}
	}
	if collection.At(dir).Begun() {
		return exit{exitUsage, fmt.Errorf("%s holds a crawl: choose another -o DIR", dir)}
	}
	note := func(format string, args ...any) { fmt.Fprintf(io.err, format+"\n", args...) }
	var s demo.Site
	switch c.Web {
	case "debian":
		meter := terminal.NewMeter(io.err)
		s, err = demo.Debian(ctx, dir, note, meter.Show)
		meter.End()
	default:
		s, err = demo.Godoc(ctx, note)
	}
	if err != nil {
		if ctx.Err() != nil {
			return exit{exitStopped, errors.New("stopped")}
		}
		return err
	}
	defer s.Stop()

	var results []demo.Result
	for _, scorer := range []string{job.DefaultScorer, "breadth-first"} {
		j := s.Job
		j.Name = "demo-" + scorer
		j.Scorer.Name = scorer
		j.Budget.Pages = c.Pages
		note("\n%s, %s:", scorer, terminal.Count(c.Pages, "page"))
		col := collection.At(filepath.Join(dir, scorer))
		if err := cmp.Or(col.Usable(), col.BringBack()); err != nil {
			return exit{exitUsage, err}
		}
		if col.Begun() {
			return exit{exitUsage, fmt.Errorf("%s holds a crawl already: choose another -o DIR", col.Dir())}
		}
		w, err := col.Lock()
		if err != nil {
			return err
		}
		how, sum, err := crawlAndShow(ctx, &job.Maker{Job: &j, Writer: w, Documents: docs}, func(path string) string { return path }, func(*job.Job) view.View { return view.New(io.out, false, "--resume", clock.System{}, os.Getenv) })
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		if how == event.Stopped {
			return exit{exitStopped, fmt.Errorf("stopped; what was fetched lies in %s", dir)}
		}
		if sum.Pages == 0 {
			return exit{exitNothing, fmt.Errorf("no page was fetched%s", view.Why(sum, true))}
		}
		results = append(results, demo.Result{Scorer: scorer, Dir: col.Dir(), Summary: sum})
	}

	return demo.Write(io.out, s.Job.Topic.Description, results)
}
