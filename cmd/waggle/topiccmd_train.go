package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/train/examples"
)

// topicTrainCmd is `waggle topic train`.
type topicTrainCmd struct {
	Taxonomy string `arg:"" help:"The taxonomy: of waggle topic import, or as waggle topic prune left it where topics are many or small."`
	Out      string `short:"o" required:"" placeholder:"FILE" help:"The critic."`
	Force    bool   `help:"Replace the critic that is there."`

	Web   string `placeholder:"WEB" help:"Take the examples from this recorded web instead of fetching them."`
	Pages string `placeholder:"DIR" help:"Folder for the pages fetched, from which a run that was stopped goes on (default: the name of the critic and .pages)."`

	Floor    float64 `default:"0.5" placeholder:"X" help:"Train if at least this share of the examples could be had (default ${default})."`
	MinPages int     `default:"5" placeholder:"N" help:"Leave out classes with fewer pages (default ${default})."`
	Seed     uint64  `placeholder:"N" help:"Seed of the draw of held-out pages."`
	Plot     string  `placeholder:"FILE" help:"Draw, as .svg or .png, how the probabilities agree with the held-out pages."`

	cli.Flags // of fetching
}

// Run gets the pages and trains.
func (c *topicTrainCmd) Run(ctx context.Context, std streams) error {
	switch {
	case !(c.Floor >= 0 && c.Floor <= 1):
		return exit{exitUsage, fmt.Errorf("--floor %v: give a share, from 0 to 1", c.Floor)}
	case c.MinPages < 1:
		return exit{exitUsage, fmt.Errorf("--min-pages %d: give 1 or more", c.MinPages)}
	}
	if err := vacant(c.Out, c.Force, c.Taxonomy); err != nil {
		return err
	}
	if err := isPlot(c.Plot); err != nil {
		return err
	}
	wanted, err := examples.Read(c.Taxonomy)
	if err != nil {
		return exit{exitUsage, err}
	}
	if n := len(wanted.Empty); n > 0 {
		fmt.Fprintf(std.out, "%s %s no example and %s left out, such as %s\n", terminal.Count(n, "topic"), terminal.One(n, "has", "have"), terminal.One(n, "is", "are"), event.Line(wanted.Empty[0]))
	}
	meter := terminal.NewMeter(std.err)
	defer meter.End()
	samples, had, from, done, err := wanted.Samples(ctx, examples.Options{
		Web: c.Web, Pages: cmp.Or(c.Pages, c.Out+".pages"), Apply: c.Apply, Floor: c.Floor,
		Note: func(s string) { fmt.Fprintln(std.err, event.Line(s)) }, Progress: meter.Show,
	})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exit{exitStopped, errors.New("stopped; the same command goes on")}
	} else if ctx.Err() != nil && err != nil {
		return exit{exitStopped, err}
	} else if err != nil {
		return wrongJob(err)
	}
	defer done()
	critic, err := judge.TrainCritic(samples, judge.Training{MinPages: c.MinPages, Seed: c.Seed, Trained: from})
	meter.End()
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped; the same command goes on")}
	}
	fmt.Fprintln(std.out, had)
	if err != nil {
		return err
	}
	critic.KeepExamples(wanted.Examples())
	b, err := critic.Append(nil)
	if err != nil {
		return err
	}
	if err := folder.Write(c.Out, b); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s: %s\n\n", c.Out, terminal.Size(int64(len(b))))
	examples.WriteRecord(std.out, &critic.Record)
	if c.Plot != "" {
		return savePlot(c.Plot, examples.Reliability(&critic.Record).Draw())
	}
	return nil
}
