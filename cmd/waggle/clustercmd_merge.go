package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
)

// clusterMergeCmd is `waggle cluster merge`.
type clusterMergeCmd struct {
	Dirs       []string `arg:"" help:"Folders of all workers of the crawl, none of which may run."`
	Out        string   `short:"o" required:"" placeholder:"DIR" help:"New folder for the whole crawl."`
	AcceptLoss bool     `help:"Merge without the folders of workers that are lost."`
}

// Help tells what is made.
func (clusterMergeCmd) Help() string {
	return `The new folder is that of a crawl by one worker: open, explain, verify, export, index, judge
and crawl --again work on it, and crawl --resume goes on with it alone. The folders of the
workers stay as they are. Pages that two of them have are kept once. Folders of different
crawls are refused, and so is a crawl of which a worker's folder is missing.

  waggle cluster merge bees-1 bees-2 bees-3 -o bees

Links that were on their way from one worker to another when the crawl was stopped are
with the engine alone: a crawl that came to its end has none.

Exit codes: 0 merged, 1 failed, 2 not understood, 3 stopped; but for 0 there is no new folder.`
}

// Run merges.
func (c *clusterMergeCmd) Run(ctx context.Context, std streams) error {
	var from []collection.Collection
	for _, dir := range c.Dirs {
		col, err := crawlIn(dir)
		if err != nil {
			return err
		}
		from = append(from, col)
	}
	j, err := job.Read(from[0].JobFile())
	if err != nil {
		return err
	}
	meter := terminal.NewMeter(std.err)
	r, err := collection.Merge(ctx, c.Out, from, collection.MergeOptions{
		Archive: j.ArchiveOptions(), AcceptLoss: c.AcceptLoss, Progress: progressOn(meter),
	})
	meter.End()
	if errors.As(err, new(*collection.RefusedError)) {
		return exit{exitUsage, err}
	}
	if err != nil {
		return stoppedOr(ctx, err, "stopped before its end: there is no new folder")
	}
	fmt.Fprintf(std.out, "%s: %s of %s, %s of them relevant; %s\n", event.Line(c.Out), terminal.Count(r.Pages, "page"), terminal.Count(len(r.Workers), "worker"), terminal.Number(r.Relevant), counted(r.Waiting, "link waits", "links wait"))
	if r.Twice > 0 {
		fmt.Fprintf(std.out, "%s fetched by two workers, and there once\n", counted(r.Twice, "page was", "pages were"))
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(std.out, "without the folder of %s: lost.txt says so\n", event.Line(strings.Join(r.Missing, " and that of ")))
	}
	return nil
}
