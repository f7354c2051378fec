package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// trainApprenticeCmd is `waggle train apprentice`.
type trainApprenticeCmd struct {
	Crawls []string `arg:"" name:"crawl" help:"Folders of crawls of one topic that have ended, whatever their strategy."`
	Out    string   `short:"o" placeholder:"FILE" help:"The model file."`
	Force  bool     `help:"Replace the file if it is there."`

	Scorer  string `default:"apprentice" enum:"apprentice,apprentice-tempered" placeholder:"NAME" help:"For apprentice (default) or apprentice-tempered."`
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
	if c.Out == "" {
		return exit{exitUsage, errors.New("where to? name the model file with -o FILE, or a folder for tables and charts with --study DIR")}
	}
	if err := vacant(c.Out, c.Force); err != nil {
		return err
	}
	meter := terminal.NewMeter(io.err)
	began := time.Now()
	o := train.ApprenticeOptions{Scorer: c.Scorer, Set: c.Set, Analyzer: text.NewAnalyzer(), Version: version}
	lessons, err := readLessons(ctx, c.Crawls, &o, false)
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
	fmt.Fprintf(io.out, "%s: %s links of %s pages, %s to pages of high relevance; in %s\n",
		c.Out, terminal.Number(t.Low+t.High), terminal.Number(t.File.Provenance.Pages), terminal.Number(t.High), terminal.Span(time.Since(began)))
	if t.Held.Low+t.Held.High > 0 {
		fmt.Fprintf(io.out, "Of links to pages it had not learned from it told %s right: %s of those to high, %s of those to low.\n",
			share(t.Held.All()), share(t.Held.OfHigh()), share(t.Held.OfLow()))
	}
	if hint := lopsided(t); hint != "" {
		fmt.Fprintln(io.out, hint)
	}
	fmt.Fprintf(io.out, "\nNext: waggle crawl … --scorer %s --model %s\n", c.Scorer, c.Out)
	if same := likewise(c.Set); same != "" {
		fmt.Fprintf(io.out, "with scorer: {set: {%s}} in the job file\n", same)
	}
	return nil
}

// likewise are the settings of a model that a crawl by it should have as well.
func likewise(set map[string]float64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, fmt.Sprintf("%s: %v", name, set[name]))
	}
	return strings.Join(out, ", ")
}

// lopsided says what to try where a model tells links apart hardly better than a
// guess would, "" where it does better.
func lopsided(t train.ApprenticeModel) string {
	const guess, few = 0.6, 0.1 // of Balanced; the lesser side's share of the links
	if t.Held.Balanced() >= guess {
		return ""
	}
	less, side := t.High, "high"
	if t.Low < less {
		less, side = t.Low, "low"
	}
	says := "That is hardly better than a guess"
	if t.Held.Low == 0 || t.Held.High == 0 {
		says = "How well it tells the two apart is not known"
	}
	switch even := t.File.Provenance.Settings["boundary"] == 1; {
	case float64(less) >= few*float64(t.Low+t.High):
		return says + ": take a longer crawl, or look with --study DIR at which distances words tell anything."
	case even:
		return fmt.Sprintf("%s: only %s of %s links are %s, as most targets are equally relevant. Take a longer crawl, or one that found more.", says, terminal.Number(less), terminal.Number(t.Low+t.High), side)
	default:
		return fmt.Sprintf("%s: only %s of %s links are %s. Try --set boundary=1, by which the upper half is high.",
			says, terminal.Number(less), terminal.Number(t.Low+t.High), side)
	}
}

func share(x float64) string {
	if math.IsNaN(x) {
		return "none"
	}
	return terminal.Percent(x)
}

// readLessons reads the logs of crawls; their pages are read as they are asked
// for, with the tags of their leaves if wanted. The topic's name is that of the
// first crawl, as is the critic that tells the classes of pages, if there is one.
func readLessons(ctx context.Context, dirs []string, o *train.ApprenticeOptions, tags bool) (out []train.CrawlPages, err error) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		col := collection.At(dir)
		if !col.Begun() {
			return nil, noCrawl(dir)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && seen[real] {
			return nil, fmt.Errorf("%s is named twice: what it holds would count twice", dir)
		} else {
			seen[real] = true
		}
		j, err := job.Read(col.JobFile())
		if err != nil {
			return nil, err
		}
		if o.Texts == nil {
			o.Texts = j.Aim()
		} else if differ := job.AimsDiffer(o.Texts, j.Aim()); differ != "" {
			return nil, fmt.Errorf("the crawls in %s and %s are not of one topic and judge (%s): what is high in one may be low in the other; make a model of each", dirs[0], dir, differ)
		}
		crawl, err := train.ReadCrawl(col.Events())
		if err != nil {
			return nil, err
		}
		if crawl.Len() == 0 {
			return nil, fmt.Errorf("%s holds no page yet", dir)
		}
		o.Topic = cmp.Or(o.Topic, j.Name)
		if topics, set := o.Set["topics"]; o.Classes == nil && (!set || topics > 0) {
			if o.Classes, err = judgedClasses(ctx, col, j, o.Analyzer); err != nil {
				return nil, fmt.Errorf("the classes of the pages of %s cannot be told: %w; --set topics=0 learns without them", dir, err)
			}
		}
		p := parse.New(parse.Options{Analyzer: o.Analyzer, Canon: j.Canon(), Tags: tags})
		out = append(out, train.CrawlPages{Crawl: crawl, Pages: collection.Readable(col.Pages(ctx, p, crawl.Has))})
	}
	return out, nil
}

// judgedClasses names the classes of a page as the scorer of the crawl was told
// them; nil where the judge knows of none.
func judgedClasses(ctx context.Context, col collection.Collection, j *job.Job, a *text.Analyzer) (func(*web.Page) []string, error) {
	if d, _ := judge.Describe(j.Judge.Name); !d.Instead {
		return nil, nil
	}
	m := &job.Maker{Job: j, Begun: &col, Analyzer: a}
	if err := m.MakeJudge(ctx); err != nil {
		return nil, errors.Join(placed(err), m.Close())
	}
	return judge.ClassNames(m.Judge.(judge.Judge)), m.Close()
}

// noCrawl says what a folder is that holds no crawl, and what to do.
func noCrawl(dir string) error {
	const need = "an apprentice learns from the links that a crawl followed, in their order: name the folder that waggle crawl -o wrote"
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%w; %s", err, need)
	case !info.IsDir():
		return fmt.Errorf("%s is a file and holds no crawl; %s", dir, need)
	case folder.Exists(filepath.Join(dir, "web.yaml")):
		return fmt.Errorf("%s is a recorded web and holds no crawl; %s. To crawl it: waggle web serve %[1]s, and waggle crawl -f with the job that waggle web job %[1]s TOPIC prints", dir, need)
	case folder.Exists(filepath.Join(dir, "cells")):
		return fmt.Errorf("%s holds what a lab found and no crawl: a lab keeps no pages; %s", dir, need)
	}
	return fmt.Errorf("%s holds no crawl: there is no %s; %s", dir, collection.At(dir).JobFile(), need)
}

// apprenticeModel shows what an apprentice learnt.
func apprenticeModel(out io.Writer, m *model.Surroundings) {
	low, high := m.Links[0], m.Links[1]
	fmt.Fprintf(out, "\nLinks that were followed: %s to pages of high relevance, %s to others.\n", terminal.Number(int(high)), terminal.Number(int(low)))
	where := fmt.Sprintf("each at its distance, up to %d leaves away", m.Reach)
	if m.Plain {
		where = fmt.Sprintf("up to %d leaves away, wherever", m.Reach)
	}
	only := 0
	for _, f := range m.Features {
		if f.Low == 0 {
			only++
		}
	}
	fmt.Fprintf(out, "Features around them: %s, words %s; %s of them near links to high alone.\n", terminal.Number(len(m.Features)), where, terminal.Number(only))
	fmt.Fprintln(out, "Features are kept as numbers: waggle explain names those of a link.")
}
