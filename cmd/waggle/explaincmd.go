package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/job/explain"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// explainCmd is `waggle explain`.
type explainCmd struct {
	URL string `arg:"" help:"The address of the page."`
	Out string `short:"o" required:"" placeholder:"DIR" help:"Folder of the crawl."`
}

// Help tells what is told.
func (explainCmd) Help() string {
	return `It shows the links that led to the page, from a seed on, as the log of the crawl
has them. The crawl may still run. If it does not, and its scorer can tell, it also
shows what the priority of the last link is made of: the words around the link that
raised or lowered it, and how far from the link they stood.`
}

// Run explains.
func (c *explainCmd) Run(ctx context.Context, io streams, docs parse.Documents) error {
	if _, err := web.Parse(c.URL); err != nil {
		return exit{exitUsage, err}
	}
	col, err := collection.Open(c.Out)
	if err != nil {
		return exit{exitUsage, err}
	}
	u, err := explain.Address(col, c.URL)
	if err != nil {
		return exit{exitUsage, err}
	}
	fate, err := explain.Explain(ctx, io.out, col, docs, u, func(what string, why error) {
		fmt.Fprintf(io.err, "%s cannot be told: %s\n", what, event.Line(cli.Placed(why).Error()))
	})
	switch {
	case err != nil:
		return stoppedOr(ctx, err, "stopped")
	case fate == event.Unseen:
		return exit{exitFailed, errors.New("")}
	}
	return nil
}
