package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/eval/silver"
	"github.com/waggle-crawler/waggle/event"
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
	if folder.Exists(c.Out) && !c.Force {
		return exit{exitUsage, fmt.Errorf("%s is there already: choose another file, or replace it with --force", c.Out)}
	}
	if !(c.Balance >= 0 && c.Balance <= 1) {
		return exit{exitUsage, fmt.Errorf("--balance=%v is outside 0…1", c.Balance)}
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
	err = folder.WriteFrom(c.Out, func(w io.Writer) error { return silver.Write(w, p.Revision, x.Labels) })
	if err != nil {
		return err
	}
	for g := range 2 {
		for by, name := range []string{"read", "web"} {
			fmt.Fprintf(std.out, "from grade %d, %s\n", g+1, name)
			if err := tellSilver(std.out, x.Accuracy, g, by == 1); err != nil {
				return err
			}
			fmt.Fprintln(std.out)
		}
	}
	_, err = fmt.Fprintf(std.out, "%s grades written\n", terminal.Number(len(x.Labels)))
	return err
}

// tellSilver prints the accuracy of each topic, and the mean of all topics of which
// a figure is known.
func tellSilver(out io.Writer, all []lab.SilverAccuracy, grade int, web bool) error {
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "topic\tpages\trelevant\taccuracy\tprecision\trecall\tkappa\tAUROC\tECE")
	var sum, known [7]float64
	pages := 0
	for _, t := range all {
		a := t.Read[grade]
		if web {
			a = t.Web[grade]
		}
		pages += a.N
		fmt.Fprintf(tab, "%s\t%s", event.Line(t.Key.String()), terminal.Number(a.N))
		for i, v := range []float64{a.Share, a.Accuracy, a.Precision, a.Recall, a.Kappa, a.AUROC, a.Calibration} {
			fmt.Fprintf(tab, "\t%s", plot.Number(v, 3))
			if !math.IsNaN(v) {
				sum[i] += v
				known[i]++
			}
		}
		fmt.Fprintln(tab)
	}
	fmt.Fprintf(tab, "mean\t%s", terminal.Number(pages))
	for i := range sum {
		fmt.Fprintf(tab, "\t%s", plot.Number(sum[i]/known[i], 3))
	}
	fmt.Fprintln(tab)
	return tab.Flush()
}
