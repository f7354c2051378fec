package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/lab"
)

// labRunCmd is `waggle lab run`.
type labRunCmd struct {
	File    string `short:"f" required:"" placeholder:"LAB.yaml" help:"What to compare: webs, scorers, judges, budgets."`
	Out     string `short:"o" required:"" placeholder:"DIR" help:"Folder of the results. A run that was stopped goes on where it was."`
	Webs    string `env:"WAGGLE_WEBS" placeholder:"DIR" help:"Folder of recorded webs, or of what they are built from, where paths of webs in LAB.yaml lead nowhere (default $$WAGGLE_WEBS). What is built is kept in the folder webs of the results."`
	Workers int    `placeholder:"N" help:"Simulations at a time (default: one a core)."`
	Replace bool   `help:"Take a folder that holds the results of another lab file: its report is replaced, its cells stay."`
}

// Run makes the cells that are not there yet, and the report.
func (c *labRunCmd) Run(ctx context.Context, io streams) (err error) {
	if c.Workers < 0 {
		return exit{exitUsage, fmt.Errorf("--workers=%d: give 1 or more", c.Workers)}
	}
	f, err := lab.Read(c.File)
	if err != nil {
		return exit{exitUsage, err}
	}
	place := folder.Absent(c.Out)
	defer func() { removeUnusable(place, err) }()
	lock, err := takeResults(c.Out)
	if err != nil {
		return err
	}
	defer lock.Close()
	docs, done := newDocuments()
	defer func() { err = errors.Join(err, done()) }()
	meter := terminal.NewMeter(io.err)
	err = f.FindWebs(ctx, lab.Webs{From: c.Webs, Made: filepath.Join(c.Out, "webs"), Progress: meter.Show})
	meter.End()
	if err != nil {
		return stoppedOr(ctx, err, "stopped; the same command goes on where it was")
	}
	out, err := f.Run(ctx, c.Out, lab.Options{Documents: docs, Progress: meter.Show, Workers: c.Workers, Replace: c.Replace, Revision: cli.NewBuild(version).Source(), Note: func(note string) {
		fmt.Fprintln(io.err, "waggle: note: "+event.Line(note))
	}})
	meter.End()
	if wrong := (job.Mistake{}); errors.As(err, &wrong) && out.Made == 0 {
		return err
	}
	// A run that ended early has a report as well: of what is there.
	r, broken := lab.Report(c.Out)
	if broken == nil {
		tellVerdict(io, r)
		if out.Cells > 0 { // else it ended before they were known
			fmt.Fprintf(io.out, "%s of %s cells, %s of them new; the report is %s\n", terminal.Number(out.Cells-r.Missing), terminal.Number(out.Cells), terminal.Number(out.Made), filepath.Join(c.Out, "report.html"))
		}
	}
	switch {
	case ctx.Err() != nil:
		if errors.Is(broken, lab.ErrNoResults) { // it was stopped before there were any
			broken = nil
		}
		return stoppedOr(ctx, errors.Join(err, broken, ctx.Err()), "stopped; the same command goes on where it was")
	case errors.Join(err, broken) != nil:
		return exit{exitFailed, cmp.Or(err, broken)} // cells were made: what is wrong is not the command
	case out.Failed > 0:
		return fmt.Errorf("%s failed; the report says why, and the same command tries them again", terminal.Count(out.Failed, "cell"))
	}
	return nil
}

// tellVerdict prints what the tests of the results come to.
func tellVerdict(io streams, r report.Results) {
	if v, err := report.Verdict(r); err == nil && v != "" { // the report was made of them
		fmt.Fprintln(io.out, event.Line(v))
	}
}

// labReportCmd is `waggle lab report`.
type labReportCmd struct {
	Dir string `arg:"" help:"Folder of the results of waggle lab run."`
}

// Run writes the report anew.
func (c *labReportCmd) Run(io streams) error {
	r, err := lab.Report(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	tellVerdict(io, r)
	if r.Missing > 0 {
		fmt.Fprintf(io.err, "waggle: %s of %s cells are not made yet: waggle lab run goes on with them\n", terminal.Number(r.Missing), terminal.Number(r.Missing+len(r.Cells)))
	}
	fmt.Fprintf(io.out, "%s, report.md, values.csv, curves.csv, plots/\n", filepath.Join(c.Dir, "report.html"))
	return nil
}

// labListCmd is `waggle lab list`.
type labListCmd struct {
	YAML bool `name:"yaml" help:"As a lab file that says all it can, every constant with its default."`
}

// Run names what a lab file can name.
func (c labListCmd) Run(io streams) error {
	if c.YAML {
		return lab.Example(io.out)
	}
	return lab.List(io.out)
}
