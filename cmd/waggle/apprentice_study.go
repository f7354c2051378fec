package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/train/crawls"
	"github.com/waggle-crawler/waggle/train/inspect"
)

// study writes what a crawl shows of links and what stands around them, see
// train.Study.Write.
func (c *trainApprenticeCmd) study(ctx context.Context, io streams) error {
	if c.Out != "" {
		return exit{exitUsage, errors.New("--study writes no model: leave -o out")}
	}
	if len(c.Crawls) != 1 {
		return exit{exitUsage, fmt.Errorf("--study is of one crawl, and not of %d", len(c.Crawls))}
	}
	o := c.options()
	lessons, err := crawls.Lessons(ctx, c.Crawls, &o, true)
	if err != nil {
		return exit{exitUsage, err}
	}
	var other *train.Crawl
	if c.Against != "" {
		if other, err = train.ReadCrawl(collection.At(c.Against).Events()); err != nil {
			return exit{exitUsage, fmt.Errorf("--against: %w", err)}
		}
	}
	if err := os.MkdirAll(c.Study, 0o755); err != nil {
		return err
	}
	meter := terminal.NewMeter(io.err)
	o.Progress = func(done, total int) { meter.Show(done, total, "pages read") }
	s, err := train.NewStudy(ctx, lessons[0], o)
	meter.End()
	switch {
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New("stopped; nothing was written")}
	case err != nil:
		return exit{exitUsage, err}
	}
	if err := s.Write(c.Study, event.Line(o.Topic)); err != nil {
		return err
	}
	inspect.Study(io.out, s)
	if other != nil {
		a := lessons[0].Crawl
		both, relevant := a.Shared(other)
		fmt.Fprintf(io.out, "\nOf %s pages %s were fetched by %s too; of its %s relevant ones %s.\n",
			terminal.Number(a.Len()), terminal.Number(both), event.Line(c.Against), terminal.Number(a.Relevant()), terminal.Number(relevant))
	}
	fmt.Fprintf(io.out, "\nTables and charts are in %s.\n", c.Study)
	return nil
}
