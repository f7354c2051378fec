package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/forage"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/parse"
)

// forageCmd is `waggle forage`.
type forageCmd struct {
	File  string   `short:"f" placeholder:"FILE" help:"Start pages, one a line."`
	Site  []string `arg:"" optional:"" name:"url" help:"Start pages."`
	Model string   `required:"" placeholder:"FILE" help:"Model of labelled paths, from waggle train model --kind paths."`
	Out   string   `short:"o" placeholder:"DIR" help:"Folder of the results; a run that was stopped goes on there. Without it the goals are printed."`

	Pages   int     `default:"100" placeholder:"N" help:"Pages to fetch of a site at most (default ${default})."`
	Stop    string  `default:"first" placeholder:"WHEN" help:"When a site is done: first goal (default); better, which after a goal goes on while a link is worth more than the page just fetched; never, which spends the pages."`
	Sure    float64 `default:"0" placeholder:"P" help:"Probability from which a page is taken for a goal; 0 (default) is the likeliest way alone, as published. After few paths 0.5 is much."`
	Claim   float64 `default:"0.5" placeholder:"P" help:"Besides that, the probability from which a page is taken for a goal, by all its words and its path, as it held on labelled sites that were left out in turn (default ${default}); 0 does not ask, as published. Paths through a single site cannot tell."`
	Join    string  `default:"max" placeholder:"HOW" help:"Worth of a page that several pages link to: max (default), sum, noisy-or."`
	Rewards string  `default:"vstd" placeholder:"WHICH" help:"Worth of states: vstd, by the way that is left (default), or printed, as published."`
	Reach   string  `default:"domain" placeholder:"REACH" help:"How far from its start page a site goes: domain (default) or host."`
	Sites   int     `default:"8" placeholder:"N" help:"Sites at a time (default ${default})."`

	Web       string `placeholder:"WEB" help:"Forage a recorded web instead of the live one."`
	cli.Flags        // of fetching
}

// Help tells of the results.
func (forageCmd) Help() string {
	return `Each site is crawled from its start page, by links that are worth most on the way
to a goal. Which page is a goal is the model's own opinion.

  waggle teach -o paths.tsv --contact you@example.org https://www.cs.example.edu/
  waggle train model --kind paths --paths paths.tsv --contact you@example.org -o paths.model
  waggle forage -f sites.txt --model paths.model --contact you@example.org -o found

  found/goals.tsv   site, goal, pages fetched until then, worth, the path to it
  found/sites.tsv   site, how it ended, goals, pages
  found/results.jsonl

A site that is down, or whose start page redirects to another site, is told and
the rest goes on; the same command tries those that were down again. Dead links
and redirects are no pages, but a site whose links are mostly such is left after
ten requests for each page of --pages.`
}

// Run forages.
func (c *forageCmd) Run(ctx context.Context, io streams) (err error) {
	sites, notes, err := forage.Sites(c.File, c.Site)
	for _, n := range notes {
		fmt.Fprintln(io.err, "waggle: note: "+event.Line(n))
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	f, done, err := c.forager(ctx, io)
	if err != nil {
		return err
	}
	defer done()
	var results *forage.Results
	var all []forage.Result
	left := sites
	if c.Out != "" {
		lock, err := takeResults(c.Out)
		if err != nil {
			return err
		}
		defer lock.Close()
		task, err := c.task()
		if err != nil {
			return err
		}
		if results, err = forage.OpenResults(c.Out, task); err != nil {
			return err
		}
		left = slices.DeleteFunc(slices.Clone(sites), results.Has)
		if n := len(sites) - len(left); n > 0 {
			fmt.Fprintf(io.err, "%d of %d sites were foraged by an earlier run.\n", n, len(sites))
		}
		defer func() { err = errors.Join(err, results.Close(sites)) }()
	}
	run := f.Run(ctx, left, c.Sites, func(r forage.Result) error {
		if r.Note != "" {
			fmt.Fprintf(io.err, "%s: %s\n", r.Start, event.Line(r.Note))
		}
		fmt.Fprintf(io.err, "%s: %s, %s, %s\n", r.Start, r.Ending.Brief(), terminal.Count(len(r.Goals), "goal"), terminal.Count(r.Pages, "page"))
		if results == nil {
			all = append(all, r)
			return nil
		}
		return results.Add(r)
	})
	if results != nil {
		all = results.Of(sites)
	}
	slices.SortStableFunc(all, func(a, b forage.Result) int { return slices.Index(sites, a.Start) - slices.Index(sites, b.Start) })
	forage.WriteTable(io.out, all)
	switch {
	case ctx.Err() != nil && c.Out != "":
		return exit{exitStopped, errors.New("stopped; the same command goes on")}
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New("stopped")}
	case run != nil:
		return run
	}
	pages := 0
	for _, r := range all {
		pages += r.Pages
	}
	if pages == 0 {
		return exit{exitNothing, errors.New("no page was fetched")}
	}
	return nil
}

// task says what the results are of, which go on by the same alone.
func (c *forageCmd) task() (string, error) {
	b, err := os.ReadFile(c.Model)
	task := fmt.Sprintf("model %x\npages %d\nstop %s\njoin %s\nrewards %s\nreach %s\nweb %s\n", sha256.Sum256(b), c.Pages, c.Stop, c.Join, c.Rewards, c.Reach, c.Web)
	if c.Sure > 0 {
		task += fmt.Sprintf("sure %v\n", c.Sure)
	}
	if c.Claim > 0 {
		task += fmt.Sprintf("claim %v\n", c.Claim)
	}
	return task, err
}

// forager sets up what forages.
func (c *forageCmd) forager(ctx context.Context, io streams) (*forage.Forager, func(), error) {
	wrong := func(err error) (*forage.Forager, func(), error) { return nil, nil, exit{exitUsage, err} }
	stop := forage.Stop(c.Stop)
	if stop != forage.First && stop != forage.Better && stop != forage.Never {
		return wrong(fmt.Errorf("--stop %s: there are first, better, never", c.Stop))
	}
	join, err := guide.ParseJoin(c.Join)
	if err != nil {
		return wrong(fmt.Errorf("--join: %w", err))
	}
	if c.Rewards != "vstd" && c.Rewards != "printed" {
		return wrong(fmt.Errorf("--rewards %s: there are vstd, printed", c.Rewards))
	}
	if c.Reach != string(crawl.ReachDomain) && c.Reach != string(crawl.ReachHost) {
		return wrong(fmt.Errorf("--reach %s: there are domain, host", c.Reach))
	}
	if c.Pages < 1 || c.Pages > 1_000_000 || c.Sites < 1 || c.Sites > 1000 {
		return wrong(errors.New("--pages is 1 to 1,000,000 and --sites 1 to 1,000"))
	}
	if !(c.Sure >= 0 && c.Sure <= 1) {
		return wrong(fmt.Errorf("--sure %v: give a probability, from 0 to 1", c.Sure))
	}
	if !(c.Claim >= 0 && c.Claim <= 1) {
		return wrong(fmt.Errorf("--claim %v: give a probability, from 0 to 1", c.Claim))
	}
	file, err := model.Read(c.Model, nil)
	if err != nil {
		return wrong(err)
	}
	guide, err := guide.New(file, guide.Options{Printed: c.Rewards == "printed"})
	if err != nil {
		return wrong(err)
	}
	f := &forage.Forager{Guide: guide, Join: join, Stop: stop, Sure: c.Sure, Claim: c.Claim, Pages: c.Pages, Reach: crawl.Reach(c.Reach)}
	if c.Web != "" {
		meter := terminal.NewMeter(io.err)
		w, pages, err := openPages(ctx, c.Web, meter)
		meter.End()
		if err != nil {
			return nil, nil, err
		}
		f.Fetcher, f.Parser, f.Recorded = pages, pages, true
		return f, func() { w.Close() }, nil // it was read only
	}
	o, err := politeOptions(ctx, &c.Flags)
	if err != nil {
		return wrong(err)
	}
	stack, err := fetch.New(o)
	if err != nil {
		return wrong(err)
	}
	f.Fetcher, f.Parser = stack, parse.New(parse.Options{Analyzer: text.NewAnalyzer()})
	f.Delay = max(0, o.Delay)               // negative for none
	return f, func() { stack.Close() }, nil // nothing is left to lose
}
