package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/lab/verify"
)

// labVerifyCmd is `waggle lab verify`.
type labVerifyCmd struct {
	Results []string `arg:"" optional:"" placeholder:"DIR|FILE" help:"Folders of results, or documents and lab files in them (default docs/results)."`
	Webs    string   `env:"WAGGLE_WEBS" default:"webs" placeholder:"DIR" help:"Folder of the recorded webs, or of what they are built from (default $$WAGGLE_WEBS, or webs)."`
	Accept  bool     `help:"Put the figures of today into cells.tsv, which keeps beside each what its document is of: make these documents again."`
	Remade  []string `placeholder:"DOCUMENT" help:"With --accept: documents that were made again, and are of the figures of today."`
}

// Help tells what is remade.
func (labVerifyCmd) Help() string {
	return `The file cells.tsv of a folder of results names one small crawl of each document: its
lab file, web, topic, strategy and pages, and the figure that came of it. They are
made again, in some minutes, and a figure that differs fails with both values: then
the document is of settings, defaults or code that have changed since.

A figure that --accept replaces stands on in the table as what the document is of, and
each later run says so, until the document is made again and --remade names it.

  waggle lab verify docs/results --webs webs
  waggle lab verify docs/results --webs webs --accept --remade lm10.md
  waggle lab verify docs/results/paths.yaml     the cells of one lab file`
}

// Run remakes cells.
func (c *labVerifyCmd) Run(ctx context.Context, std streams) error {
	if len(c.Results) == 0 {
		c.Results = []string{"docs/results"}
	}
	var tables []*verify.Table
	if len(c.Remade) > 0 && !c.Accept {
		return exit{exitUsage, errors.New("--remade tells what --accept puts down: give both")}
	}
	for _, path := range c.Results {
		t, err := verify.Open(path)
		if err != nil {
			return exit{exitUsage, err}
		}
		tables = append(tables, t)
	}
	meter := terminal.NewMeter(std.err)
	defer meter.End()
	v := &verify.Verifier{Webs: c.Webs, Progress: meter.Show}
	defer v.Close() // what it removes is temporary
	cells, differ := 0, 0
	var older []string // documents
	for _, t := range tables {
		found, err := v.Run(ctx, t, func(f verify.Finding) {
			meter.End()
			fmt.Fprintln(std.out, event.Line(f.String()))
			if f.Today != "" {
				cells++
			}
			if f.Differs() {
				differ++
			}
			if f.Was() != "" && !slices.Contains(c.Remade, f.Cell.Document) && !slices.Contains(older, f.Cell.Document) {
				older = append(older, f.Cell.Document)
			}
		})
		if err != nil {
			return stoppedOr(ctx, err, "stopped; the same command begins anew")
		}
		if c.Accept {
			if err := t.Accept(found, c.Remade); err != nil {
				return err
			}
		}
	}
	if len(older) > 0 {
		fmt.Fprintf(std.out, "of older settings, defaults or code than today's: %s\n", strings.Join(older, ", "))
	}
	if c.Accept {
		fmt.Fprintf(std.out, "%d of %d figures are new in %s\n", differ, cells, verify.TableName)
		return nil
	}
	if differ > 0 {
		return fmt.Errorf("%d of %d figures differ: make their documents again, and put the figures of today into %s by --accept", differ, cells, verify.TableName)
	}
	_, err := fmt.Fprintf(std.out, "%d of %d figures are the same\n", cells-differ, cells)
	return err
}
