package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/train/inspect"
)

// trainPaths are the flags of `waggle train model --kind paths`.
type trainPaths struct {
	Paths     []string `placeholder:"FILE" help:"paths: labelled paths, as waggle teach keeps them; may be repeated."`
	Task      string   `placeholder:"NAME" help:"paths: which search to learn, where the files hold several."`
	Web       string   `placeholder:"WEB" help:"paths: the recorded web in which the pages of the paths are (default: they are fetched)."`
	cli.Flags          // of fetching
}

// fitPaths learns from labelled paths.
func (c *trainModelCmd) fitPaths(ctx context.Context, io streams) error {
	if len(c.Paths) == 0 {
		return exit{exitUsage, errors.New("missing --paths FILE: labelled paths, which waggle teach makes")}
	}
	if c.Dir != "" {
		return exit{exitUsage, fmt.Errorf("models of kind paths are learnt from --paths, not from the graph in %s: leave it out", c.Dir)}
	}
	o := train.FitOptions{
		States: given(c.States), Variance: c.Variance, Iterations: given(c.Iterations), Tolerance: given(c.Tolerance), Set: c.Set, Seed: c.Seed, Version: version,
	}
	if err := train.CheckPathOptions(o); err != nil {
		return exit{exitUsage, err}
	}
	set, err := paths.ReadTask(c.Paths, c.Task, func(s string) { fmt.Fprintln(io.err, "waggle: note: "+event.Line(s)) })
	if err != nil {
		return exit{exitUsage, err}
	}
	// What teaches nothing is told before its pages are fetched.
	if usable, _ := paths.Check(set, nil); !slices.ContainsFunc(usable, func(p paths.Path) bool {
		return slices.ContainsFunc(p.Steps, func(s paths.Step) bool { return s.Label == paths.Goal })
	}) {
		c.tell(io, set, nil)
		return exit{exitUsage, train.ErrNoGoal}
	}
	meter := terminal.NewMeter(io.err)
	defer meter.End()
	rec, done, err := c.pages(ctx, set, meter)
	if err != nil {
		return err
	}
	defer done()
	meter.End()
	usable := c.tell(io, set, rec)
	began := time.Now()
	o.Progress = func(i int, objective float64) { meter.Show(i, 0, fmt.Sprintf("iterations; objective %.6g", objective)) }
	f, err := train.FitPaths(ctx, usable, rec, o)
	meter.End()
	switch {
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New("stopped; nothing was written")}
	case err != nil:
		return exit{exitUsage, err}
	}
	took := time.Since(began)
	if err := f.Write(c.Out); err != nil {
		return err
	}
	inspect.FittedPaths(io.out, c.Out, f, took)
	return nil
}

// tell tells what is wrong with paths, and returns those that can teach.
func (*trainModelCmd) tell(io streams, set []paths.Path, rec paths.Record) []paths.Path {
	usable, problems := paths.Check(set, rec)
	paths.Tell(problems, func(text string) { fmt.Fprintln(io.err, "waggle: note: "+event.Line(text)) })
	return usable
}

// pages is where the pages of paths are: a recorded web, or what is fetched now.
func (c *trainModelCmd) pages(ctx context.Context, set []paths.Path, meter *terminal.Meter) (rec paths.Record, done func(), err error) {
	if tokens, given := c.Set["page-tokens"]; given && tokens == 0 && c.Web == "" {
		return nil, func() {}, nil // links alone
	}
	if c.Web != "" {
		w, pages, err := openPages(ctx, c.Web, meter)
		if err != nil {
			return nil, nil, err
		}
		return pages, func() { w.Close() }, nil // it was read only
	}
	stack, err := politeStack(ctx, &c.Flags)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	defer stack.Close()
	rec, err = train.FetchPages(ctx, stack, parse.New(parse.Options{Analyzer: text.NewAnalyzer()}), set, func(done, total int) { meter.Show(done, total, "pages fetched") })
	return rec, func() {}, stoppedOr(ctx, err, "stopped; nothing was written")
}

// openPages opens a recorded web with its pages parsed.
func openPages(ctx context.Context, dir string, meter *terminal.Meter) (*corpus.Web, *corpus.Pages, error) {
	w, err := corpus.Open(dir)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	pages, err := corpus.OpenPages(ctx, w, parse.New(parse.Options{Canon: w.Canon()}), corpus.PagesOptions{Progress: func(done, total int) { meter.Show(done, total, "parsing") }})
	if err != nil {
		w.Close()
		return nil, nil, stoppedOr(ctx, err, "stopped before its end")
	}
	return w, pages, nil
}

// politeStack fetches from the live web, as flags say.
func politeStack(ctx context.Context, flags *cli.Flags) (*fetch.Stack, error) {
	o, err := politeOptions(ctx, flags)
	if err != nil {
		return nil, err
	}
	return fetch.New(o)
}

// politeOptions say how to fetch from the live web, as flags say.
func politeOptions(ctx context.Context, flags *cli.Flags) (fetch.Options, error) {
	j := &job.Job{}
	if err := flags.Apply(j); err != nil {
		return fetch.Options{}, err
	}
	o, err := j.PageOptions(ctx)
	return o, cli.Placed(err)
}
