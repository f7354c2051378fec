package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/train/crawls"
	"github.com/waggle-crawler/waggle/train/inspect"
)

// trainApprenticeCmd is `waggle train apprentice`.
type trainApprenticeCmd struct {
	Crawls []string `arg:"" name:"crawl" help:"Folders of crawls of one topic that have ended, whatever their strategy."`
	Out    string   `short:"o" placeholder:"FILE" help:"The model file."`
	Force  bool     `help:"Replace the file if it is there."`

	Scorer  string `default:"apprentice" enum:"${apprentices}" placeholder:"NAME" help:"For which scorer, with its settings: ${apprentices} (default ${default})."`
	Study   string `placeholder:"DIR" help:"Write tables and charts of what stands around links there, instead of a model: accuracy by distance, what each distance tells, the frontier before and after."`
	Against string `placeholder:"CRAWL" help:"With --study: a crawl to count common pages with."`

	Set map[string]float64 `placeholder:"NAME=X" help:"A setting of the scorer that says what is seen of a link, or where high begins; may be repeated."`
}

// Help tells what is learned.
func (trainApprenticeCmd) Help() string {
	var b strings.Builder
	b.WriteString(`An apprentice learns which words, at which distance from a link, lead to relevant
pages: here from every link of the crawls to a page that was fetched later. The
model guides another crawl of the topic from its first page, learning on:

  waggle train apprentice found -o bees.links
  waggle crawl -f job.yaml -o more --scorer apprentice-tempered --model bees.links
  waggle train inspect bees.links

or, with set: {online: 0} in the job file, as it is.

It takes folders of crawls, and no recorded web or lab: serve a recorded web and
crawl it first. Crawls must be of one topic and one judge; a crawl that goes by a
model of another topic or judge says so when it begins.

Settings that --set changes; those of dmax, plain and cocitation must be the
scorer's in the crawl:

`)
	for _, s := range apprentice.Settings(false) {
		if s.Name != "words" { // which bears on scores and not on the model
			fmt.Fprintf(&b, "  %-10s  %s (default %v, %v…%v)\n", s.Name, s.Line, s.Default, s.Min, s.Max)
		}
	}
	return b.String()
}

// Run teaches.
func (c *trainApprenticeCmd) Run(ctx context.Context, io streams) error {
	if c.Study != "" {
		return c.study(ctx, io)
	}
	if c.Against != "" {
		return exit{exitUsage, errors.New("--against is for --study DIR")}
	}
	if c.Out == "" {
		return exit{exitUsage, errors.New("where to? name the model file with -o FILE, or a folder for tables and charts with --study DIR")}
	}
	if err := vacant(c.Out, c.Force); err != nil {
		return err
	}
	meter := terminal.NewMeter(io.err)
	began := time.Now()
	o := c.options()
	lessons, err := crawls.Lessons(ctx, c.Crawls, &o, false)
	if err != nil {
		return exit{exitUsage, err}
	}
	o.Progress = func(done, total int) { meter.Show(done, total, "pages read") }
	t, err := train.Apprentice(ctx, lessons, o)
	meter.End()
	switch {
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New("stopped; nothing was written")}
	case t.Missing > 0 && err != nil:
		return exit{exitUsage, fmt.Errorf("%w; %s of the %s pages in the logs are not in the archives, by noindex or damage", err, terminal.Number(t.Missing), terminal.Number(t.File.Provenance.Pages))}
	case err != nil:
		return exit{exitUsage, err}
	}
	if t.Missing > 0 {
		fmt.Fprintf(io.out, "%s of the %s pages in the logs are not in the archives, by noindex or damage: their links taught nothing\n", terminal.Number(t.Missing), terminal.Number(t.File.Provenance.Pages))
	}
	if err := t.File.Write(c.Out); err != nil {
		return err
	}
	inspect.Apprentice(io.out, c.Out, c.Scorer, c.Set, t, time.Since(began))
	return nil
}

// options are those of the scorer, a preset with what its paper prints.
func (c *trainApprenticeCmd) options() train.ApprenticeOptions {
	base, printed := job.PrintedSettings(c.Scorer)
	o := train.ApprenticeOptions{Scorer: base, Set: map[string]float64{}, Analyzer: text.NewAnalyzer(), Version: version}
	for _, s := range apprentice.Settings(false) {
		if v, ok := printed[s.Name]; ok {
			o.Set[s.Name] = v
		}
	}
	maps.Copy(o.Set, c.Set)
	return o
}
