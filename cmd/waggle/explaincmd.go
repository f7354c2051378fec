package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job/explain"
	"github.com/waggle-crawler/waggle/web"
)

// explainCmd is `waggle explain`.
type explainCmd struct {
	URL string `arg:"" help:"The address in question."`
	Out string `short:"o" required:"" placeholder:"DIR" help:"Folder of the crawl."`
}

// Help tells what is told.
func (explainCmd) Help() string {
	return `The way to the page comes from the crawl's log; the crawl may be running. When it
is not, strategies that can tell what a priority is made of name the words around
the link that raised or lowered it, and how far from it they stood.`
}

// Run explains.
func (c *explainCmd) Run(ctx context.Context, io streams) error {
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
	fate, err := explain.Explain(ctx, io.out, col, u, func(what string, why error) {
		fmt.Fprintf(io.err, "%s cannot be told: %s\n", what, event.Line(placed(why).Error()))
	})
	switch {
	case err != nil:
		return stoppedOr(ctx, err, "stopped")
	case fate == event.Unseen:
		return exit{exitFailed, errors.New("")}
	}
	return nil
}
