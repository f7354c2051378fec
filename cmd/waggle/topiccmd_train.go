package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
)

// topicTrainCmd is `waggle topic train`.
type topicTrainCmd struct {
	Taxonomy string `arg:"" help:"The taxonomy, as waggle topic prune left it."`
	Out      string `short:"o" required:"" placeholder:"FILE" help:"The critic."`
	Force    bool   `help:"Replace the critic that is there."`

	Web   string `placeholder:"WEB" help:"Take the examples from this recorded web instead of fetching them."`
	Pages string `placeholder:"DIR" help:"Folder for the pages fetched, from which a run that was stopped goes on (default: the name of the critic and .pages)."`

	Floor    float64 `default:"0.5" placeholder:"X" help:"Train if at least this share of the examples could be had (default ${default})."`
	MinPages int     `default:"5" placeholder:"N" help:"Leave out classes with fewer pages (default ${default})."`
	Seed     uint64  `help:"Of what is held out."`
	Plot     string  `placeholder:"FILE" help:"Draw, as .svg or .png, how the probabilities agree with the held-out pages."`

	jobFlags // of fetching
}

// maxExamples bounds the examples to get, which are kept in memory.
const maxExamples = 2_000_000

// Run gets the pages and trains.
func (c *topicTrainCmd) Run(ctx context.Context, std streams) error {
	switch {
	case !(c.Floor >= 0 && c.Floor <= 1):
		return exit{exitUsage, fmt.Errorf("--floor %v is not within 0…1", c.Floor)}
	case c.MinPages < 1:
		return exit{exitUsage, fmt.Errorf("--min-pages %d: a class needs a page", c.MinPages)}
	}
	if err := vacant(c.Out, c.Force, c.Taxonomy); err != nil {
		return err
	}
	if err := isPlot(c.Plot); err != nil {
		return err
	}
	wanted, err := readWanted(c.Taxonomy)
	if err != nil {
		return exit{exitUsage, err}
	}
	if n := len(wanted.empty); n > 0 {
		fmt.Fprintf(std.out, "%s topics have no example and are left out, such as %s\n", terminal.Number(n), event.Line(wanted.empty[0]))
	}
	meter := terminal.NewMeter(std.err)
	defer meter.End()
	parser := parse.New(parse.Options{})
	had := &tally{wanted: len(wanted.examples), lost: map[string]int{}}
	parts := []iter.Seq2[judge.Sample, error]{wanted.files(ctx, parser, had)}
	from, again := c.Taxonomy, ""
	switch {
	case len(wanted.addresses) == 0:
	case c.Web != "":
		w, err := corpus.Open(c.Web)
		if err != nil {
			return exit{exitUsage, err}
		}
		defer w.Close()
		pages, err := corpus.OpenPages(ctx, w, parse.New(parse.Options{Canon: w.Canon()}), corpus.PagesOptions{Progress: func(done, total int) { meter.Show(done, total, "pages parsed") }})
		if err != nil {
			return err
		}
		parts = append(parts, wanted.recorded(ctx, pages, had))
		from += ", pages of the recorded web " + w.Name
	default:
		dir := c.Pages
		if dir == "" {
			dir = c.Out + ".pages"
		}
		fetched, err := c.fetch(ctx, std, dir, wanted, meter)
		if err != nil {
			return err
		}
		parts = append(parts, wanted.archived(ctx, collection.At(dir), fetched, parser, had))
		again = ", remove " + dir + " to fetch all anew"
	}
	n := 0
	samples := func(yield func(judge.Sample, error) bool) {
		for _, part := range parts {
			for s, err := range part {
				if n++; n%100 == 0 {
					meter.Show(n, len(wanted.examples), "pages read")
				}
				if !yield(s, err) {
					return
				}
			}
		}
		if err := had.enough(c.Floor, again); err != nil {
			yield(judge.Sample{}, err)
		}
	}
	critic, err := judge.TrainCritic(samples, judge.Training{MinPages: c.MinPages, Seed: c.Seed, Trained: from})
	meter.End()
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped; the same command goes on")}
	}
	fmt.Fprintln(std.out, had)
	if err != nil {
		return err
	}
	b, err := critic.Append(nil)
	if err != nil {
		return err
	}
	if err := folder.Write(c.Out, b); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s: %s\n\n", c.Out, terminal.Size(int64(len(b))))
	printRecord(std.out, &critic.Record)
	if c.Plot != "" {
		return plotReliability(c.Plot, &critic.Record)
	}
	return nil
}

// fewHeld is how many held-out pages are needed to speak of shares of them.
const fewHeld = 30

// printRecord shows how a critic did.
func printRecord(w io.Writer, r *judge.Record) {
	pages := 0
	for _, n := range r.Pages {
		pages += n
	}
	fmt.Fprintf(w, "classes      %s, %s pages, %s stems\n", terminal.Number(len(r.Classes)), terminal.Number(pages), terminal.Number(r.Vocabulary))
	if n := len(r.Thin); n > 0 {
		fmt.Fprintf(w, "left out     %s topics with too few pages: %s%s\n", terminal.Number(n), event.Line(strings.Join(r.Thin[:min(n, 5)], ", ")), map[bool]string{true: ", …"}[n > 5])
	}
	if r.Held.Pages == 0 {
		fmt.Fprintln(w, "held out     nothing: the classes have too few pages to tell how good the critic is")
		return
	}
	fmt.Fprintf(w, "held out     %s pages that it had not learned\n", terminal.Number(r.Held.Pages))
	right := eval.Wilson(r.Held.Accuracy, r.Held.Pages)
	if r.Held.Pages < fewHeld {
		fmt.Fprintf(w, "             %.0f of them right: too few to tell how good the critic is (95%% interval %.0f to %.0f%%);\n",
			r.Held.Accuracy*float64(r.Held.Pages), 100*right.Low, 100*right.High)
		fmt.Fprintf(w, "             with more pages of each class, %d or more would be held out\n", fewHeld)
	} else {
		printHeld(w, r, right)
	}
	if pairs := r.WorstPairs(10); len(pairs) > 0 {
		fmt.Fprintln(w, "\nmost often taken for one another (held-out pages)")
		for _, p := range pairs {
			fmt.Fprintf(w, "%6d →  %4d ←  %s  |  %s\n", p.AtoB, p.BtoA, event.Line(p.A), event.Line(p.B))
		}
	}
}

// printHeld shows how a critic did on enough held-out pages, of which it had right
// a share within an interval.
func printHeld(w io.Writer, r *judge.Record, right eval.Interval) {
	fmt.Fprintf(w, "accuracy     %s (95%% interval %.1f to %.1f%%); among the likeliest five %s; always the largest class %s\n",
		terminal.Percent(r.Held.Accuracy), 100*right.Low, 100*right.High, terminal.Percent(r.Held.Top5), terminal.Percent(r.Blind()))
	count := "all of a page's words count (as printed)"
	if r.Words > 0 {
		count = fmt.Sprintf("a page counts as at most %s words", terminal.Number(int(r.Words)))
	}
	if r.Guessed {
		count += ", assumed: too few pages to fit it"
	}
	fmt.Fprintf(w, "calibration  error (ECE) %.3f, as printed %.3f; %s\n", r.Held.ECE, r.Printed.ECE, count)
	fmt.Fprintf(w, "             mean surprise %.2f nats, as printed %.2f\n", r.Held.LogLoss, r.Printed.LogLoss)
}

// printSight shows how well a critic tells a focus from the rest.
func printSight(w io.Writer, c *judge.Critic, good []bool) error {
	s := c.Sight(good)
	n := 0
	for _, g := range good {
		if g {
			n++
		}
	}
	fmt.Fprintf(w, "in focus     %d of %d classes\n", n, len(good))
	if s.Good > 0 && s.Rest > 0 {
		fmt.Fprintf(w, "held out     %s pages in focus, of which it knew %s (%s)\n", terminal.Number(s.Good), terminal.Number(s.Found), terminal.Percent(s.Recall()))
		fmt.Fprintf(w, "             %s others, of which it took %s for such\n", terminal.Number(s.Rest), terminal.Number(s.False))
	}
	for i, t := range s.Worst[:min(5, len(s.Worst))] {
		if i == 0 {
			fmt.Fprintln(w, "mistakes")
		}
		fmt.Fprintf(w, "%6d ×  %s  taken for  %s\n", t.Pages, event.Line(c.Record.Classes[t.Class]), event.Line(c.Record.Classes[t.For]))
	}
	notes, err := c.Doubts(good)
	for _, n := range notes {
		fmt.Fprintf(w, "note: %s\n", event.Line(n))
	}
	return err
}

// plotReliability draws the accuracy of pages over the probability of their
// likeliest class.
func plotReliability(name string, r *judge.Record) error {
	line := func(title string, h judge.Held, color int) plot.Series {
		s := plot.Series{Name: title, Color: color}
		for _, b := range judge.MergeBins(h.Bins, 10) {
			share := eval.Wilson(b.Accuracy, b.Pages)
			s.X, s.Y = append(s.X, b.Mean), append(s.Y, share.Mean)
			s.Low, s.High = append(s.Low, share.Low), append(s.High, share.High)
		}
		return s
	}
	chart := plot.Lines{
		Title:  "How far the critic's probabilities can be believed",
		Note:   fmt.Sprintf("%s classes; each point is at least 10 held-out pages, with its 95%% interval.\nExpected calibration error %.3f, as printed %.3f.", terminal.Number(len(r.Classes)), r.Held.ECE, r.Printed.ECE),
		XLabel: "probability of the likeliest class", YLabel: "share that was right", YMax: 1,
		Series: []plot.Series{
			line("fitted", r.Held, 0), line("as printed", r.Printed, 1),
			{Name: "perfect", X: []float64{0, 1}, Y: []float64{0, 1}, Mark: true},
		},
	}
	var b bytes.Buffer
	var err error
	if strings.EqualFold(filepath.Ext(name), ".png") {
		err = chart.Draw().PNG(&b, 2, false)
	} else {
		err = chart.Draw().SVG(&b)
	}
	return errors.Join(err, folder.Write(name, b.Bytes()))
}
