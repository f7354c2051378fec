package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/eval/report"
)

// labChartCmd is `waggle lab chart`.
type labChartCmd struct {
	File       string   `arg:"" placeholder:"CURVES.csv" help:"Curves as CSV, such as curves.csv or surface.csv of a lab."`
	Out        string   `short:"o" required:"" placeholder:"FILE" help:"Chart to write (SVG)."`
	Columns    []string `default:"hits" placeholder:"NAME" help:"Columns that are drawn, each in a row of panels (default hits)."`
	Strategies []string `placeholder:"NAME" help:"Strategies to draw (default: all)."`
	Webs       []string `placeholder:"NAME" help:"Recorded webs, a panel each (default: all)."`
	Title      string   `placeholder:"TEXT" help:"Title of the chart (default: the name of the file)."`
	Note       string   `placeholder:"TEXT" help:"Line below the title."`
	Percent    bool     `help:"Values are shares, shown as percentages."`
}

// Help shows it at work.
func (labChartCmd) Help() string {
	return `The report of a lab shows the best strategies. This draws those that one asks for:

  waggle lab chart results/curves.csv --strategies lm10-bfs,lm10-crf,breadth-first -o crf.svg
  waggle lab chart results/surface.csv --columns precision_0.5,precision_0.8 --percent -o surface.svg

Lines are means over topics; the parts and repeats of a topic are averaged first. Topics of
development are left out, and so is a strategy, on a web, without all the runs that others
have there: the chart says which.`
}

// Run draws.
func (c *labChartCmd) Run() error {
	if filepath.Ext(c.Out) != ".svg" {
		return exit{exitUsage, fmt.Errorf("the chart is SVG: give -o a name that ends in .svg, and not %q", c.Out)}
	}
	f, err := os.Open(c.File)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer f.Close() // it was read only
	title := c.Title
	if title == "" {
		title = filepath.Base(c.File)
	}
	d, err := report.ChartCurves(f, report.CurveChart{Title: title, Note: c.Note, Strategies: c.Strategies, Columns: c.Columns, Webs: c.Webs, Percent: c.Percent})
	if err != nil {
		return exit{exitUsage, fmt.Errorf("%s: %w", c.File, err)}
	}
	if err := savePlot(c.Out, d); err != nil {
		return exit{exitUsage, err}
	}
	return nil
}
