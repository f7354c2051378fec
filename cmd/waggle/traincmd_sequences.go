package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/train/inspect"
	"github.com/waggle-crawler/waggle/web"
)

// trainSequencesCmd is `waggle train sequences`.
type trainSequencesCmd struct {
	Dir       string `arg:"" help:"Folder of a collected graph."`
	Count     int    `short:"n" default:"10000" help:"Sequences wanted (default ${default})."`
	MinLength int    `default:"2" placeholder:"N" help:"Least pages of a sequence (default ${default})."`
	MaxLength int    `default:"10" placeholder:"N" help:"Most pages of a sequence (default ${default})."`
	Seed      uint64 `placeholder:"N" help:"Seed of all random draws."`
}

// Help tells how sequences are drawn.
func (trainSequencesCmd) Help() string {
	return `A sequence starts at any page of the graph and goes on by a random link to a
page of the same layer or one nearer to the targets, never to a page it has been
at. Each is drawn once. They are kept in DIR/sequences.jsonl.`
}

// Run draws.
func (c *trainSequencesCmd) Run(ctx context.Context, io streams) error {
	if c.Count == 0 || c.MinLength == 0 || c.MaxLength == 0 { // what is not given has a default
		return exit{exitUsage, fmt.Errorf("%d sequences of %d…%d pages: give at least 1 sequence of 2 pages", c.Count, c.MinLength, c.MaxLength)}
	}
	g, err := loadGraph(ctx, c.Dir)
	if err != nil {
		return err
	}
	meter := terminal.NewMeter(io.err)
	list, err := g.Sequences(ctx, train.SequenceOptions{
		Count: c.Count, MinLength: c.MinLength, MaxLength: c.MaxLength, Seed: c.Seed,
		Progress: func(done, total int) { meter.Show(done, total, "sequences") },
	})
	meter.End()
	if err != nil {
		return stoppedOr(ctx, exit{exitUsage, err}, "stopped; nothing was written")
	}
	if err := train.SaveSequences(train.SequencesPath(c.Dir), g, list, c.Seed); err != nil {
		return err
	}
	inspect.Sequences(io.out, c.Dir, g, list)
	if len(list) < c.Count {
		fmt.Fprintf(io.out, "\nThe graph gave no more than that of the %s wanted.\n", terminal.Number(c.Count))
	}
	fmt.Fprintf(io.out, "\nNext: waggle train model %s --kind crf -o FILE\n", c.Dir)
	return nil
}

// loadGraph reads a collected graph.
func loadGraph(ctx context.Context, dir string) (*train.Graph, error) {
	g, err := train.Load(ctx, dir, func(canon web.Canon) train.Parser { return parse.New(parse.Options{Canon: canon}) })
	if ctx.Err() != nil {
		return nil, exit{exitStopped, errors.New("stopped")}
	}
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return g, nil
}
