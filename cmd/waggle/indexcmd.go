package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/index"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
)

// indexCmd is `waggle index`.
type indexCmd struct {
	Dir    string `arg:"" help:"Folder of the crawl, which may still run."`
	Index  string `placeholder:"FOLDER" help:"Folder of the index (default: index in that of the crawl)."`
	Follow bool   `help:"Go on until the crawl ends."`
	Anew   bool   `help:"Remove the index, and make it from the beginning."`
}

// Help tells what is indexed.
func (indexCmd) Help() string {
	return `  waggle index bees
  waggle search bees "waggle dance" --verdict relevant
  waggle index bees --follow                          while the crawl runs
  waggle index /archive/bees --index /tmp/bees-index  of a folder that is read-only

Title and main text of each page are indexed, and kept to be shown: some kilobytes a
page. Pages that ask not to be indexed (noindex) are left out. What was stopped goes on
with the same command, and so does an index whose crawl has gone on, or was judged
anew. The index may be removed at any time.`
}

// Run indexes.
func (c *indexCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	col, err := collection.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	dir := cmp.Or(c.Index, index.Dir(col))
	if err := forResults(dir); err != nil {
		return err
	}
	if c.Anew && folder.Exists(dir) {
		if err := index.Remove(dir); err != nil {
			return exit{exitUsage, err}
		}
	}
	defer rarelyCollected()()
	b, err := index.NewBuilder(col, dir, job.LinkParser(col, docs))
	switch {
	case errors.Is(err, index.ErrBusy):
		return exit{exitUsage, fmt.Errorf("%w: wait for it to end", err)}
	case errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS):
		return exit{exitUsage, fmt.Errorf("%w: put it elsewhere with --index FOLDER", err)}
	case err != nil:
		return err
	}
	began := time.Now()
	meter := terminal.NewMeter(std.err)
	show := func(p index.Progress) { meter.Show(p.Indexed, p.Pages, "indexing") }
	if c.Follow {
		err = b.Follow(ctx, col.Running, show)
	} else {
		err = b.Update(ctx, show)
	}
	meter.End()
	pages := b.Pages()
	err = errors.Join(err, b.Close())
	if err != nil {
		return stoppedOr(ctx, err, "stopped; the same command goes on")
	}
	_, err = fmt.Fprintf(std.out, "%s: %s (%s)\n", dir, terminal.Count(pages, "page"), terminal.Span(time.Since(began)))
	return err
}
