package main

import (
	"context"
	"fmt"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/train/crawls"
)

// trainWeightsCmd is `waggle train weights`.
type trainWeightsCmd struct {
	Crawl string `arg:"" help:"Folder of a crawl by the scorer waggle that does not run."`
	Out   string `short:"o" required:"" placeholder:"FILE" help:"The model file."`
	Force bool   `help:"Replace the file if it is there."`
}

// Help shows how the next crawl takes it.
func (trainWeightsCmd) Help() string {
	return `The scorer waggle learns in a crawl which links lead to relevant pages. Another
crawl of the same topic and judge can begin with that, and learns on:

  waggle train weights found -o bees.weights
  waggle crawl -f job.yaml -o more --model bees.weights
  waggle train inspect bees.weights

Weights of words are of use wherever the topic is crawled, those of hosts, folders
and blocks on the same sites alone. On sites of another kind than those of the crawl
a model costs pages: begin without one there. A crawl whose topic or judge is another
one says so when it begins.`
}

// Run writes the model.
func (c *trainWeightsCmd) Run(ctx context.Context, io streams) error {
	if err := vacant(c.Out, c.Force); err != nil {
		return err
	}
	f, err := crawls.Weights(ctx, c.Crawl, version)
	if err != nil {
		return exit{exitUsage, err}
	}
	if err := f.Write(c.Out); err != nil {
		return err
	}
	w := f.Payload.(*model.Weights)
	fmt.Fprintf(io.out, "%s: %s weights, learnt in %s fetches\n", event.Line(c.Out), terminal.Number(len(w.Dense)+len(w.Hashed)), terminal.Number(w.Fetches))
	return nil
}
