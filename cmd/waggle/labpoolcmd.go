package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/lab"
)

// labPoolCmds are the commands of `waggle lab pool`.
type labPoolCmds struct {
	Draw   poolDrawCmd   `cmd:"" help:"Draw the pages to read for each topic."`
	Info   poolInfoCmd   `cmd:"" help:"Tell what a pool holds, and which of its pages were read."`
	Import poolImportCmd `cmd:"" help:"Import labels from a file, TSV or qrels."`
	Export poolExportCmd `cmd:"" help:"Write the labels as TSV or qrels, or the pages for reading elsewhere."`
	Agree  poolAgreeCmd  `cmd:"" help:"Tell how far readers agree: Cohen's kappa, and where they do not."`
	Extend poolExtendCmd `cmd:"" help:"Extend the grades to all pages by a classifier, and tell its accuracy."`
}

// poolDrawCmd is `waggle lab pool draw`.
type poolDrawCmd struct {
	Results []string `arg:"" optional:"" help:"Folders of results of waggle lab run, of labs with keep-runs."`
	Web     []string `placeholder:"WEB" sep:"none" help:"A recorded web whose pages are ranked by --judges alone; may be repeated."`
	Out     string   `short:"o" required:"" placeholder:"DIR" help:"Folder for the pool."`
	Pages   int      `default:"340" help:"Pages to read for a topic."`
	Top     int      `default:"200" help:"Of these, those of the best ranks, at most."`
	Seed    uint64   `default:"1" placeholder:"N" help:"Seed of all random draws (default ${default})."`
	Judges  []string `placeholder:"NAME,…" help:"Judges that rank all pages (default: those of the labs)."`
	Force   bool     `help:"Replace the pool that is there, unless it has labels: they do not fit another."`
}

// Help tells how pages are drawn.
func (poolDrawCmd) Help() string {
	return `Evaluation campaigns call this pooling. Crawls and judges rank pages; for each
topic, the first pages of every ranking are read, and random samples of the
rest, so that what was missed can be estimated. Pages with the same body are
one. The strata:

  top          the first pages of every ranking, all read: as deep as --top allows
  high         up to 4 times as deep, a sample
  middle       up to 16 times as deep, a sample
  low          up to 64 times as deep, a sample
  rest         all others that links lead to from the topic's seeds, a sample
  unreachable  all others, a sample

  waggle lab run -f lab.yaml -o results       with keep-runs: true in the file
  waggle lab pool draw results -o truth
  waggle lab read truth --web WEB             read and label the pages

A web without a truth, on which no lab can run yet, is drawn from by judges alone,
for all its topics; once it was read, a lab with truth: read runs on it:

  waggle lab pool draw --web WEB --judges topic,keyword -o truth

Beside the pool, narratives.yaml says what counts as a page of each topic. It is
written with a place for each sentence; fill it in before you read the first page:

  WEB:
    TOPIC:
      mainly: The page is mainly about …
      partly: … is one of several subjects, …
      no: Nothing of the page …`
}

// Run draws.
func (c *poolDrawCmd) Run(ctx context.Context, std streams) error {
	if err := forResults(c.Out); err != nil {
		return err
	}
	if folder.Exists(filepath.Join(c.Out, "pool.yaml")) && !c.Force {
		return exit{exitUsage, fmt.Errorf("%s holds a pool already: choose another folder, or replace it with --force", c.Out)}
	}
	if c.Pages < 1 || c.Top < 0 || c.Top > c.Pages {
		return exit{exitUsage, fmt.Errorf("--pages=%d --top=%d: give 1 page or more, and of them not more by rank than there are", c.Pages, c.Top)}
	}
	switch {
	case len(c.Results)+len(c.Web) == 0:
		return exit{exitUsage, errors.New("what ranks the pages? give the results of a lab, or --web WEB and --judges")}
	case len(c.Web) > 0 && len(c.Judges) == 0:
		return exit{exitUsage, errors.New("--web has pages ranked by judges: name them by --judges, such as topic,keyword")}
	}
	meter := terminal.NewMeter(std.err)
	p, err := lab.DrawPool(ctx, c.Results, lab.PoolOptions{
		Judges: c.Judges, Webs: c.Web, DrawOptions: pool.DrawOptions{Pages: c.Pages, Top: c.Top, Seed: c.Seed}, Progress: meter.Show,
	})
	meter.End()
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped; no pool was written")}
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	if err := p.Write(c.Out); errors.Is(err, pool.ErrLabelled) {
		return exit{exitUsage, err}
	} else if err != nil {
		return err
	}
	wrote, err := pool.WriteNarratives(c.Out, p)
	if err != nil {
		return err
	}
	if err := pool.WriteStrata(std.out, p); err != nil {
		return err
	}
	if wrote {
		_, err = fmt.Fprintf(std.out, "Before the first page is read, write into %s what counts as a page of each topic.\n", filepath.Join(c.Out, pool.NarrativesName))
	}
	return err
}

// poolInfoCmd is `waggle lab pool info`.
type poolInfoCmd struct {
	Dir string `arg:"" help:"Folder of the pool."`
}

// Help shows its use.
func (poolInfoCmd) Help() string {
	return `For each topic: how many pages there are to read, how many of each stratum of how
many, and once some were read, the grades, by all readers together.

  waggle lab pool info truth`
}

// Run tells what is to be read, and what was.
func (c *poolInfoCmd) Run(std streams) error {
	p, labels, err := openPool(c.Dir)
	if err != nil {
		return err
	}
	if err := pool.WriteStrata(std.out, p); err != nil {
		return err
	}
	if len(labels) == 0 {
		return nil
	}
	return pool.WriteRead(std.out, p, labels)
}

// openPool opens a pool with its labels.
func openPool(dir string) (*pool.Pool, []pool.Label, error) {
	p, err := pool.Open(dir)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	labels, err := pool.ReadLabels(dir, p)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	return p, labels, nil
}

// poolAgreeCmd is `waggle lab pool agree`.
type poolAgreeCmd struct {
	Dir  string `arg:"" help:"Folder of the pool."`
	List bool   `help:"List the pages on which readers disagree."`
}

// Help tells the measures.
func (poolAgreeCmd) Help() string {
	return `Of the pages that two or more readers graded without knowing of each other, for
each topic and over all: the share of equal grades; Cohen's kappa, which is 1
where readers always agree and 0 where they agree as often as chance would, with
its 95 % interval; weighted kappa, where grades next to each other agree by half;
and kappa of two grades alone, where pages count from 1 or from 2 on. Pages of
which one of the readers cannot tell are counted apart.

  waggle lab pool agree truth --list`
}

// Run tells.
func (c *poolAgreeCmd) Run(std streams) error {
	p, labels, err := openPool(c.Dir)
	if err != nil {
		return err
	}
	list := pool.Agreements(p, labels)
	if len(list) == 0 {
		return errors.New("no page was graded by two readers yet: waggle lab read, with another --reader, is where a second one grades")
	}
	return pool.WriteAgreements(std.out, list, c.List)
}
