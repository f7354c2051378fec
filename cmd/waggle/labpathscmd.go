package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/lab/pathlab"
)

// labPathsCmd is `waggle lab paths`.
type labPathsCmd struct {
	Web     string   `required:"" placeholder:"WEB" help:"Recorded web whose pages people have labelled (labels.tsv), or with --games that of the searches."`
	Topics  []string `placeholder:"NAME" help:"Kinds of page that are sought, each in turn."`
	Games   string   `placeholder:"FILE" help:"Recorded searches of people, as tab-separated lines: rank their clicks instead."`
	Repeats int      `default:"3" placeholder:"N" help:"Draws of paths (default ${default})."`
	Goals   int      `default:"6" placeholder:"N" help:"Paths to goals that teach (default ${default})."`
	Wrong   int      `default:"4" placeholder:"N" help:"Wrong turns that teach (default ${default})."`
	Pages   int      `default:"100" placeholder:"N" help:"Pages to forage of a site (default ${default})."`
	Tokens  []int    `default:"0,10,100" placeholder:"N" help:"Words of a page that are read (default 0,10,100)."`
	Seed    uint64   `placeholder:"N" help:"Seed of all random draws."`

	Labels     string   `placeholder:"FILE" help:"Labelled sites of the record: a few teach, all others are crawled by several strategies instead."`
	Teach      int      `default:"3" placeholder:"N" help:"With --labels, sites that teach (default ${default})."`
	Early      int      `default:"30" placeholder:"N" help:"With --labels, a smaller number of pages at which is looked as well (default ${default})."`
	Strategies []string `default:"pathlearner,afc-approx,best-first-both,best-first-both+name,breadth-first,crf,best-first-anchor,best-first-anchor+name,apprentice-tempered,opic,random,pathlearner:page-tokens=0,pathlearner:dual=0" placeholder:"NAME" help:"With --labels, the scorers, with settings as in pathlearner:dual=0; all are compared with the first, and +name tells one what is sought as a keyword. Default: the usual ones."`
	Plot       string   `placeholder:"FILE" help:"With --labels, draw how many goals came with how many pages, as .svg or .png."`
}

// Help tells what is measured.
func (labPathsCmd) Help() string {
	return `Prints tables in Markdown. Each site is tried in turn with what the others teach.
Measured are how well pages along paths are named (precision, recall, F1 over all
states A, for Goal G, for Goal against the rest B), and how many pages it takes
from the start page to the first goal; truth is what people have labelled.

With --labels the sites are those of a file. Ways on a few of them teach, and
every other site is crawled from its own start page by each of the strategies,
which are all shown the same goals.`
}

// Run measures.
func (c *labPathsCmd) Run(ctx context.Context, io streams) (err error) {
	defer func() { err = stoppedOr(ctx, err, "stopped before its end") }()
	switch err := isPlot(c.Plot); {
	case err != nil:
		return err
	case c.Plot != "" && c.Labels == "":
		return exit{exitUsage, errors.New("--plot draws what --labels compares: give both")}
	case c.Labels != "" && c.Games != "":
		return exit{exitUsage, errors.New("--labels and --games are two trials: give one")}
	}
	meter := terminal.NewMeter(io.err)
	defer meter.End()
	w, pages, err := openPages(ctx, c.Web, meter)
	if err != nil {
		return err
	}
	defer w.Close() // it was read only
	tell := func(s string) { meter.Show(0, 0, s) }
	var b bytes.Buffer
	draw := func() error { return nil }
	if c.Labels != "" {
		if err := c.sites(ctx, &b, &draw, w, pages, tell); err != nil {
			return err
		}
	} else if c.Games != "" {
		games, err := pathlab.OpenGames(c.Games)
		if err != nil {
			return exit{exitUsage, err}
		}
		if err := pathlab.CompareClicks(ctx, &b, pages, games, c.Seed, tell); err != nil {
			return err
		}
	} else {
		t := &pathlab.Trial{
			Web: w, Pages: pages, Topics: c.Topics, Repeats: c.Repeats, Goals: c.Goals, Wrong: c.Wrong, TestGoals: 14, TestWrong: 9, Budget: c.Pages, Seed: c.Seed,
		}
		if err := t.Check(c.Tokens); err != nil {
			return exit{exitUsage, err}
		}
		if err := t.Report(ctx, &b, c.Tokens, tell); err != nil {
			return err
		}
	}
	meter.End()
	_, err = b.WriteTo(io.out)
	return errors.Join(err, draw())
}

// sites tries strategies on the labelled sites of a file. draw gets what draws the plot.
func (c *labPathsCmd) sites(ctx context.Context, b *bytes.Buffer, draw *func() error, w *corpus.Web, pages *corpus.Pages, tell func(string)) error {
	sites, err := pathlab.OpenSites(c.Labels)
	if err != nil {
		return exit{exitUsage, err}
	}
	t := &pathlab.Sites{
		Web: w, Pages: pages, Sites: sites, Kinds: c.Topics, Draws: c.Repeats, Teach: c.Teach, Goals: c.Goals, Wrong: c.Wrong,
		Budgets: []int{c.Early, c.Pages}, Strategies: c.Strategies, Seed: c.Seed,
	}
	if len(t.Kinds) == 0 {
		return exit{exitUsage, errors.New("which labels are sought? name them by --topics")}
	}
	if err := t.Check(); err != nil {
		return exit{exitUsage, err}
	}
	tried, err := t.Try(ctx, tell)
	if err != nil {
		return err
	}
	if err := t.Report(ctx, b, tried, tell); err != nil {
		return err
	}
	if c.Plot != "" {
		*draw = func() error { return savePlot(c.Plot, t.Chart(tried)) }
	}
	return nil
}
