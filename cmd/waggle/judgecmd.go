package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
)

// judgeCmd is `waggle judge`.
type judgeCmd struct {
	Dir string `arg:"" help:"Folder of a crawl that does not run."`

	cli.Flags
}

// judgeSettings are the settings that the command changes, and those by which it
// fetches example pages that the crawl has not.
func judgeSettings() []string {
	return []string{"topic.description", "topic.keywords", "topic.examples", "topic.negatives", "topic.language", "topic.want",
		"judge.name", "judge.threshold", "judge.critic", "judge.focus", "contact", "fetch.allow-private"}
}

// Help tells what is judged, and what becomes of it.
func (judgeCmd) Help() string {
	return `Every page in the archive of the crawl is judged anew, by its job with the
changes that flags make, or that you made in bees/job.yaml:

  waggle judge bees --keywords "honey bee, waggle dance" --threshold 0.4
  waggle judge bees --example https://en.wikipedia.org/wiki/Waggle_dance
  waggle judge bees --judge cosine-tfidf-centroid
  waggle explain https://example.org/hives -o bees     why a page is relevant, or not

Keywords, examples and negatives take the place of those before. harvest.tsv is
rewritten, harvest.yaml says by what, the links that wait are scored anew, and
waggle crawl -o bees --resume goes on with all of it. Nothing is fetched but
example pages that the crawl has not.`
}

// Run judges.
func (c *judgeCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	col, err := collection.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	if col.OfSeveral() {
		return exit{exitUsage, fmt.Errorf("%s is the folder of one of several workers: make one crawl of the folders of all of them (waggle cluster merge), and judge that", c.Dir)}
	}
	j, err := c.job(col)
	if err != nil {
		return exit{exitUsage, err}
	}
	w, err := col.Lock()
	if err != nil {
		return err
	}
	defer rarelyCollected()()
	m := &job.Maker{Job: j, Writer: w, Documents: docs, Begun: &w.Collection, Note: func(s string) { fmt.Fprintln(std.err, event.Line(s)) }}
	began := time.Now()
	r, err := m.Rejudge(ctx)
	took := time.Since(began)
	err = errors.Join(err, m.Close(), w.Close())
	if err != nil {
		return stoppedOr(ctx, wrongJob(err), "stopped; the same command judges anew")
	}
	for _, note := range r.Notes {
		fmt.Fprintln(std.err, event.Line(note))
	}
	for _, line := range job.RejudgedLines(r) {
		fmt.Fprintln(std.out, event.Line(line))
	}
	fmt.Fprintf(std.out, "%s lists the relevant pages (%s)\n", filepath.Join(c.Dir, "harvest.tsv"), terminal.Span(took))
	return nil
}

// rarelyCollected lets the heap grow to five times what lives before garbage is
// collected, unless GOGC says otherwise, until the function it returns is called.
// Every page is parsed and dropped at once, so little lives: 23 MB of a crawl of 3,000
// pages, of which collecting took 6 % of the time, and takes 1 %.
func rarelyCollected() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

// job is the job of the folder with the changes. A list that is given takes the
// place of the one before, and another judge has a threshold of its own.
func (c *judgeCmd) job(col collection.Collection) (*job.Job, error) {
	j, err := job.In(col)
	if err != nil {
		return nil, err
	}
	if err := j.Replace(c.Value); err != nil {
		return nil, err
	}
	return j, c.Apply(j)
}
