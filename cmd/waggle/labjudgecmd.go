package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/lab/judgelab"
)

// labJudgeCmd is `waggle lab judge`.
type labJudgeCmd struct {
	Webs     []string `arg:"" name:"web" help:"Recorded webs with topics and their truth."`
	Out      string   `short:"o" required:"" placeholder:"DIR" help:"Folder of the tables and the plot."`
	Judge    string   `default:"topic" placeholder:"NAME" help:"The judge (default ${default})."`
	Pages    int      `default:"600" placeholder:"N" help:"Pages of the walk through each topic (default ${default})."`
	Labels   string   `placeholder:"FILE" help:"Pages that people graded, as tab-separated lines: web, topic, address, grade (2, 1, 0)."`
	Pool     string   `placeholder:"DIR" help:"The pool that those pages were drawn from, so that pages of walks that were read stand for the others."`
	Examples string   `placeholder:"FILE" help:"Examples that people chose, and pages unlike what is wanted: topic (WEB/TOPIC), address, as (example, negative)."`
}

// Help tells what is measured.
func (labJudgeCmd) Help() string {
	return `Tells how far a judge is right: precision, recall, precision at R and the
expected calibration error, with keywords alone, with 1, 2, 3 and 8 examples, and
with examples alone; before it has seen a page of the web, after 64 and 256 pages
of a best-first walk from the seeds of each topic, and on the pages of that walk.

  waggle lab judge webs/campus webs/manuals -o judge

judge/tables.md and judge/rows.tsv hold the figures, judge/reliability.svg and
.png show what share of the pages is relevant at each relevance.`
}

// Run measures.
func (c *labJudgeCmd) Run(ctx context.Context, std streams) (err error) {
	if c.Pages < 1 {
		return exit{exitUsage, fmt.Errorf("--pages=%d: give 1 or more", c.Pages)}
	}
	if err := forResults(c.Out); err != nil {
		return err
	}
	labels, err := judgelab.OpenLabels(c.Pool, c.Labels, c.Examples)
	if err != nil {
		return exit{exitUsage, err}
	}
	meter := terminal.NewMeter(std.err)
	defer meter.End()
	trial := judgelab.Trial{Judge: c.Judge, Pages: c.Pages}
	for _, dir := range c.Webs {
		meter.Show(0, 0, "reading "+dir)
		w, err := judgelab.OpenWeb(ctx, dir, labels)
		if err != nil {
			return stoppedOr(ctx, exit{exitUsage, err}, "stopped; the same command begins anew")
		}
		defer w.Close() // it was read only
		trial.Webs = append(trial.Webs, w)
	}
	if err := labels.Check(trial.Webs); err != nil {
		return exit{exitUsage, err}
	}
	rows, err := trial.Run(ctx, func(done, all int) { meter.Show(done, all, "judging") })
	meter.End()
	if err != nil {
		return stoppedOr(ctx, err, "stopped; the same command begins anew")
	}
	if err := judgelab.Write(c.Out, rows, c.Judge); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s, rows.tsv, reliability.svg, reliability.png\n", filepath.Join(c.Out, "tables.md"))
	return nil
}
