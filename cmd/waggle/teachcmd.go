package main

import (
	"context"
	"fmt"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/localpage"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/teach/asking"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// teachCmd is `waggle teach`, alone or with a command of its own.
type teachCmd struct {
	Show   teachShowCmd   `cmd:"" default:"withargs" help:"Show waggle the way: browse in a local page, and label pages (the default)."`
	Import teachImportCmd `cmd:"" help:"Make paths of click trails: browser profiles, files, recorded searches."`
}

// Help tells what the page is for.
func (teachCmd) Help() string {
	return `Browse to what you seek, and name the pages that matter on the way: milestones
that look alike on every site, Goal for what was sought, Fail for a wrong turn.
A few paths on a few sites are enough to begin with. Pages are fetched by waggle
and shown without scripts; the page that opens is for this machine only.

  waggle teach https://www.example.org/ --contact you@example.org --open
  waggle teach --web WEB -o paths.tsv      the same on a recorded web
  waggle teach import ~/.mozilla/firefox/PROFILE --site example.org -o paths.tsv

waggle teach show --help tells all flags.`
}

// teachShowCmd is `waggle teach show`, or `waggle teach` for short.
type teachShowCmd struct {
	Start []string `arg:"" optional:"" name:"url" help:"Start pages to offer (default, with --web: the seeds of its topics)."`
	Out   string   `short:"o" default:"paths.tsv" placeholder:"FILE" help:"File of the paths: kept after each click, and gone on with if it is there (default paths.tsv). JSON lines if it ends in .jsonl, else TSV. What can be undone is kept beside it, in FILE.undo."`
	Web   string   `placeholder:"WEB" help:"Browse a recorded web instead of the live one."`

	Milestone []string `sep:"none" placeholder:"NAME" help:"A label to offer from the beginning; may be repeated."`
	Task      string   `placeholder:"NAME" help:"What is sought, where one file holds paths of several searches."`

	Suggest  bool `help:"Offer to ask a model, made of what was shown so far, which pages to label next."`
	Images   bool `help:"Show images too."`
	NoStyles bool `help:"Show pages without their style sheets: quicker on slow sites."`

	cli.Flags // of fetching

	localFlags
}

// Run serves the page until it is interrupted.
func (c *teachShowCmd) Run(ctx context.Context, io streams) error {
	o, done, err := c.options(ctx, io)
	if err != nil {
		return err
	}
	defer done()
	return c.serve(ctx, io, "Teach", "Paths", c.Out, func(address string) (localpage.Page, error) {
		o.Address = address
		return teach.New(o)
	})
}

// options sets up what is browsed and where paths are kept. done gives back
// what that holds.
func (c *teachShowCmd) options(ctx context.Context, io streams) (o teach.Options, done func(), err error) {
	keeper, err := teach.OpenFile(c.Out)
	if err != nil {
		return o, nil, exit{exitUsage, err}
	}
	if keeper.Note != "" {
		fmt.Fprintln(io.err, event.Line(keeper.Note))
	}
	canon := web.Canon{}
	o = teach.Options{
		Parser: parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: canon}), Canon: canon,
		Paths: keeper.Paths, History: keeper.History, Keeper: c.Out, Save: keeper.Save, Images: c.Images, Task: c.Task,
	}
	if o.Milestones, err = paths.CleanLabels(c.Milestone); err != nil {
		return o, nil, exit{exitUsage, fmt.Errorf("--milestone %w", err)}
	}
	for _, s := range c.Start {
		u, err := canon.Parse(s)
		if err != nil {
			return o, nil, exit{exitUsage, fmt.Errorf("start page: %w", err)}
		}
		o.Starts = append(o.Starts, u)
	}
	var resources teach.Fetcher
	if c.Web != "" {
		w, err := corpus.Open(c.Web)
		if err != nil {
			return o, nil, exit{exitUsage, err}
		}
		o.Recorded, o.Has = w.Name, w.Has
		o.Fetcher, o.Canon = corpus.Fetcher{Web: w}, w.Canon()
		resources = o.Fetcher
		o.Parser = parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: o.Canon})
		if len(o.Starts) == 0 {
			o.Starts = w.Seeds(100)
		}
		o.Titles = teach.Titles(ctx, o)
		done = func() { w.Close() } // it was read only
	} else {
		stack, err := c.stack(ctx, canon)
		if err != nil {
			return o, nil, exit{exitUsage, err}
		}
		o.Fetcher, resources = stack, stack.Resources() // any page may ask for anything: no secret goes with that
		done = func() { stack.Close() }                 // nothing is left to lose
	}
	if c.Suggest {
		o.Suggester = asking.NewFetching(o)
	}
	if !c.NoStyles {
		o.Resources = resources
	}
	return o, done, nil
}

// stack fetches from the live web, pages and what they are shown with by one
// gate: whoever browses asks a host for one thing at a time.
func (c *teachShowCmd) stack(ctx context.Context, canon web.Canon) (*fetch.Stack, error) {
	o, err := politeOptions(ctx, &c.Flags)
	if err != nil {
		return nil, err
	}
	o.Canon, o.Types, o.MaxBody = canon, []string{"*/*"}, 6<<20
	return fetch.New(o)
}
