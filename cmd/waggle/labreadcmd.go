package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/internal/localpage"
	"github.com/waggle-crawler/waggle/lab/read"
)

// labReadCmd is `waggle lab read`.
type labReadCmd struct {
	Dir    string   `arg:"" help:"Folder of the pool, with narratives.yaml."`
	Web    []string `required:"" placeholder:"WEB" sep:"none" help:"The recorded web of the pages; may be repeated."`
	Reader string   `placeholder:"NAME" help:"Who reads (default: the page asks)."`
	Images bool     `help:"Show images too."`

	localFlags
}

// Help tells what the page is for.
func (labReadCmd) Help() string {
	return `Read the pages of a pool and grade each by the sentences of its topic: 2 (mainly),
1 (in part), 0 (no) or ? (cannot tell; also C), by key or click. A page is shown as text,
with its main part marked, or as archived, without scripts and with nothing loaded
from elsewhere. Each grade is kept in labels.tsv, in the folder of the pool, before
the next page is shown; the same command goes on another day.

Several people read under their own names, and none is told what others say of a
page before they have graded it. Where two differ, both can look again. A first grade
can be changed and undone until its reader could see the other's; then it stays, and
the second look is kept beside it.

  waggle lab read truth --web WEB --open
  waggle lab pool agree truth              how far readers agree`
}

// Run serves the page until it is interrupted.
func (c *labReadCmd) Run(ctx context.Context, std streams) error {
	p, err := pool.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	narratives, err := pool.ReadNarratives(c.Dir, p)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := pool.WriteNarratives(c.Dir, p); err != nil {
			return exit{exitUsage, fmt.Errorf("readers need sentences that tell what counts as a page of each topic: %w", err)}
		}
		return exit{exitUsage, fmt.Errorf("readers need sentences that tell what counts as a page of each topic: %s has now a place for each; write them there and start again", filepath.Join(c.Dir, pool.NarrativesName))}
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	if c.Reader != "" {
		if err := pool.CheckReader(c.Reader); err != nil {
			return exit{exitUsage, fmt.Errorf("--reader: %w", err)}
		}
	}
	webs, done, err := read.OpenWebs(p, c.Web)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer done()
	lock, err := takePool(c.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	file, labels, err := openLabels(std, c.Dir, p)
	if err != nil {
		return err
	}
	defer file.Close() // each label was synced
	return c.serve(ctx, std, "Read", "Labels", c.Dir+"/"+pool.LabelsName, func(address string) (localpage.Page, error) {
		return read.New(read.Options{
			Address: address, Pool: p, Narratives: narratives, Webs: webs, Labels: labels, Save: file.Add, Reader: c.Reader, Images: c.Images,
		})
	})
}
