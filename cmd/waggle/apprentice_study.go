package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/train"
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
	o := train.ApprenticeOptions{Scorer: c.Scorer, Set: c.Set, Analyzer: text.NewAnalyzer()}
	lessons, err := readLessons(ctx, c.Crawls, &o, true)
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
	out := io.out
	fmt.Fprintf(out, "Links to pages it had not learned from, told right:\n\n%-36s %7s %7s %7s %9s\n", "", "all", "high", "low", "links")
	line := func(name string, a train.Accuracy) {
		fmt.Fprintf(out, "%-36s %7s %7s %7s %9s\n", name, share(a.All()), share(a.OfHigh()), share(a.OfLow()), terminal.Number(a.Low+a.High))
	}
	for _, a := range s.Also {
		line(a.Name, a.Accuracy)
	}
	for _, r := range s.ByReach {
		line(fmt.Sprintf("words up to %d leaves away", r.Reach), r.Offsets)
	}
	for _, r := range s.ByReach {
		line(fmt.Sprintf("the same without distances, %d", r.Reach), r.Plain)
	}
	if other != nil {
		a := lessons[0].Crawl
		both, relevant := a.Shared(other)
		fmt.Fprintf(out, "\nOf %s pages %s were fetched by %s too; of its %s relevant ones %s.\n",
			terminal.Number(a.Len()), terminal.Number(both), event.Line(c.Against), terminal.Number(a.Relevant()), terminal.Number(relevant))
	}
	fmt.Fprintf(out, "\nTables and charts are in %s.\n", c.Study)
	return nil
}
