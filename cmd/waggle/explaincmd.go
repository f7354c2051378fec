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
has them, with the priority of each. The priorities of the default scorer are the
logits of the relevance that is expected of the page, which is shown beside them.
The crawl may still run. If it does not, and scorer and judge can tell, it also
shows what the priority of the last link is made of: by the default scorer with what
was known when the link was taken, by others with what is known now. Of a page that
was fetched it shows the words that make its relevance, as the judge sees them now.`
}

// Run explains.
func (c *explainCmd) Run(ctx context.Context, io streams, docs parse.Documents) error {
	if _, err := web.Given(c.URL); err != nil {
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
