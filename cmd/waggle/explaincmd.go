package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
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
	u, err := web.Parse(c.URL)
	if err != nil {
		return exit{exitUsage, err}
	}
	col, err := collection.Open(c.Out)
	if err != nil {
		return exit{exitUsage, err}
	}
	// The crawl saw the address under its job's rules.
	if j, err := job.Read(col.JobFile()); err == nil {
		if v, err := j.Canon().Parse(c.URL); err == nil {
			u = v
		}
	}
	x, err := event.Explain(col.Events(), u)
	if err != nil {
		return err
	}
	if err := printExplanation(io.out, &x); err != nil {
		return err
	}
	if i, ok := linkOf(&x); ok {
		l, err := explainLink(ctx, col, x.Path[:i+1])
		switch {
		case ctx.Err() != nil:
			return exit{exitStopped, errors.New("stopped")}
		case err != nil:
			fmt.Fprintf(io.err, "What made the priority of that link cannot be told: %s\n", event.Line(err.Error()))
		default:
			l.print(io.out)
		}
	}
	if x.Fate == event.Taken {
		switch p, ok, err := explainPage(ctx, col, u); {
		case ctx.Err() != nil:
			return exit{exitStopped, errors.New("stopped")}
		case err != nil:
			fmt.Fprintf(io.err, "What its relevance is made of cannot be told: %s\n", event.Line(err.Error()))
		case ok:
			p.print(io.out)
		}
	}
	if x.Fate == event.Unseen {
		return exit{exitFailed, errors.New("")}
	}
	return nil
}
