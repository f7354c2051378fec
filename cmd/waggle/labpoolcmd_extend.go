package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/eval/silver"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/lab"
)

// poolExtendCmd is `waggle lab pool extend`.
type poolExtendCmd struct {
	Dir     string   `arg:"" help:"Folder of the pool."`
	Web     []string `required:"" placeholder:"WEB" sep:"none" help:"A recorded web of the pool; all are needed."`
	Out     string   `short:"o" required:"" placeholder:"FILE" help:"File for the grades."`
	Balance float64  `default:"0" help:"Weight of a page in training: 0 = all the same, 1 = as many pages as it stands for in its stratum; between them, that number to this power."`
	Force   bool     `help:"Replace the file if it is there."`
}

// Help tells what the classifier is.
func (poolExtendCmd) Help() string {
	return `Pages that nobody read get a grade by a classifier: silver, where grades of readers
are gold. For each topic it is logistic regression, trained on the gold grades of
all other topics alone; its features tell how well the text of a page fits the
narrative of the topic. It shares nothing with the judges. The gold grades of the
topic itself test it. The accuracy is printed, from grade 1 and from grade 2:

  read  each page that was read counts once
  web   each counts as many as it stands for in its stratum: an estimate for
        all pages of the web

ECE is the expected calibration error. The file has the probabilities that a page
is of grade 1 or 2, and of grade 2; its grade is the highest with ½ or more. A lab
takes it by truth: silver with silver: FILE, pool: DIR; gold grades stay.

  waggle lab pool extend truth --web WEB -o silver.tsv`
}

// Run extends.
func (c *poolExtendCmd) Run(ctx context.Context, std streams) error {
	if err := vacant(c.Out, c.Force, pool.Files(c.Dir)...); err != nil {
		return err
	}
	if !(c.Balance >= 0 && c.Balance <= 1) {
		return exit{exitUsage, fmt.Errorf("--balance=%v: give a number from 0 to 1", c.Balance)}
	}
	meter := terminal.NewMeter(std.err)
	x, p, err := lab.ExtendPool(ctx, c.Dir, c.Web, lab.SilverOptions{Options: silver.Options{Balance: c.Balance}, Progress: meter.Show})
	meter.End()
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped; nothing was written")}
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	err = folder.WriteBeside(c.Out, func(w io.Writer) error { return silver.Write(w, p.Revision, x.Labels) })
	if err != nil {
		return err
	}
	if err := lab.WriteSilver(std.out, x.Accuracy); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s grades written\n", terminal.Number(len(x.Labels)))
	return err
}
