package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/web"
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
		fmt.Fprintf(std.out, "%s topics have no example and are left out, such as %s\n", number(n), event.Line(wanted.empty[0]))
	}
	meter := newMeter(std.err)
	defer meter.end()
	parser := parse.New(parse.Options{})
	had := &had{wanted: len(wanted.examples), lost: map[string]int{}}
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
		pages, err := corpus.OpenPages(ctx, w, parse.New(parse.Options{Canon: w.Canon()}), corpus.PagesOptions{Progress: func(done, total int) { meter.show(done, total, "pages parsed") }})
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
					meter.show(n, len(wanted.examples), "pages read")
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
	meter.end()
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
	fmt.Fprintf(std.out, "%s: %s\n\n", c.Out, size(int64(len(b))))
	printRecord(std.out, &critic.Record)
	if c.Plot != "" {
		return plotReliability(c.Plot, &critic.Record)
	}
	return nil
}

// wanted are the examples of a taxonomy.
type wanted struct {
	dir       string // that the names of files are relative to
	examples  []taxonomy.Example
	addresses []web.URL // in the order of the taxonomy, each once
	empty     []string  // topics without examples
	sum       uint64    // of the addresses
}

func readWanted(name string) (*wanted, error) {
	in, err := taxonomy.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	w := &wanted{dir: filepath.Dir(name)}
	seen := map[web.URL]bool{}
	sum := fnv.New64a()
	for e, err := range taxonomy.Read(in, name) {
		if err != nil {
			return nil, err
		}
		if e.Source == "" {
			w.empty = append(w.empty, e.Topic)
			continue
		}
		if len(w.examples) == maxExamples {
			return nil, fmt.Errorf("%s holds more than %s examples: cut it down with waggle topic prune", name, number(maxExamples))
		}
		e.Title, e.Description = "", ""
		w.examples = append(w.examples, e)
		if _, ok := e.File(); ok {
			continue
		}
		u, err := web.Parse(e.Source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !seen[u] {
			seen[u] = true
			w.addresses = append(w.addresses, u)
			fmt.Fprintln(sum, u)
		}
	}
	if len(w.examples) == 0 {
		return nil, fmt.Errorf("%s holds no example: import some with waggle topic import", name)
	}
	w.sum = sum.Sum64()
	return w, nil
}

// had counts what became of the examples.
type had struct {
	wanted int
	pages  int            // examples whose page was read
	lost   map[string]int // the others, by reason
}

func (h *had) lose(reason string) { h.lost[reason]++ }

func (h *had) get() { h.pages++ }

// String tells how many examples could be had, and why not the others.
func (h *had) String() string {
	s := fmt.Sprintf("%s of %s examples could be had (%s)", number(h.pages), number(h.wanted), percent(float64(h.pages)/float64(max(1, h.wanted))))
	var reasons []string
	for r := range h.lost {
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		if d := h.lost[b] - h.lost[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, r := range reasons {
		s += fmt.Sprintf("\n%8s × %s", number(h.lost[r]), r)
	}
	return s
}

// enough tells whether to go on; again is one more remedy.
func (h *had) enough(floor float64, again string) error {
	if h.pages == 0 {
		return fmt.Errorf("not one of the examples could be had: look into why%s", again)
	}
	if share := float64(h.pages) / float64(max(1, h.wanted)); share < floor {
		return fmt.Errorf("only %s of the examples could be had, and the floor is %s: look into why%s, or train with these by --floor %.2g", percent(share), percent(floor), again, math.Floor(100*share)/100)
	}
	return nil
}

// Reasons for which an example is lost, beside those of the crawl.
const (
	lostText  = "no text"
	lostOther = "the same page as an example of another topic"
	lostSame  = "the same page as another example"
)

// files yields the examples that are files.
func (w *wanted) files(ctx context.Context, p *parse.Parser, h *had) iter.Seq2[judge.Sample, error] {
	return func(yield func(judge.Sample, error) bool) {
		for _, e := range w.examples {
			name, ok := e.File()
			if !ok {
				continue
			}
			if ctx.Err() != nil {
				yield(judge.Sample{}, ctx.Err())
				return
			}
			page, err := readExample(p, filepath.Join(w.dir, filepath.FromSlash(name)))
			switch {
			case errors.Is(err, os.ErrNotExist):
				h.lose("no such file")
			case err != nil:
				h.lose("unreadable file")
			case len(page.Terms) == 0:
				h.lose(lostText)
			default:
				h.get()
				if !yield(judge.Sample{Class: e.Topic, Key: e.Source, Terms: page.Terms}, nil) {
					return
				}
			}
		}
	}
}

func readExample(p *parse.Parser, name string) (*web.Page, error) {
	e, err := job.ReadExample(name)
	if err != nil {
		return nil, err
	}
	return job.ParseExample(p, e)
}

// place tells of which topic the pages are that the examples lead to, by where
// they have moved. A page counts once, for the example that came first.
func (w *wanted) place(moved func(web.URL) web.URL, h *had) map[web.URL]string {
	at := map[web.URL]string{}
	for _, e := range w.examples {
		if _, ok := e.File(); ok {
			continue
		}
		u, err := web.Parse(e.Source)
		if err != nil {
			continue // readWanted has parsed it
		}
		u = moved(u)
		switch first, taken := at[u]; {
		case !taken:
			at[u] = e.Topic
		case first == e.Topic:
			h.lose(lostSame)
		default:
			h.lose(lostOther)
		}
	}
	return at
}

// follow goes where an address has moved, ten times at most.
func follow(u web.URL, next func(web.URL) web.URL) web.URL {
	for range 10 {
		to := next(u)
		if to.IsZero() || to == u {
			break
		}
		u = to
	}
	return u
}

// recorded yields the examples that a recorded web holds.
func (w *wanted) recorded(ctx context.Context, pages *corpus.Pages, h *had) iter.Seq2[judge.Sample, error] {
	return func(yield func(judge.Sample, error) bool) {
		at := w.place(func(u web.URL) web.URL {
			return follow(u, func(u web.URL) web.URL {
				if !pages.Has(u) {
					return web.URL{}
				}
				r, err := pages.Fetch(ctx, u)
				if err != nil {
					return web.URL{}
				}
				return r.Location
			})
		}, h)
		for _, u := range sortedURLs(at) {
			if ctx.Err() != nil {
				yield(judge.Sample{}, ctx.Err())
				return
			}
			page, ok := pages.Page(u)
			switch {
			case !pages.Has(u):
				h.lose("not in the recorded web")
			case !ok:
				h.lose("recorded, but no page")
			case len(page.Terms) == 0:
				h.lose(lostText)
			default:
				h.get()
				if !yield(judge.Sample{Class: at[u], Key: u.String(), Terms: page.Terms}, nil) {
					return
				}
			}
		}
	}
}

func sortedURLs(at map[web.URL]string) []web.URL {
	out := make([]web.URL, 0, len(at))
	for u := range at {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// fetched is what the log of the fetching tells.
type fetched struct {
	moved map[web.URL]web.URL
	kept  map[web.URL]bool
	lost  map[web.URL]web.Reason
}

// linkless is the parser of the examples' crawl: it finds no links, so nothing
// but the examples is fetched.
type linkless struct{ *parse.Parser }

func (p linkless) Parse(r *web.Response) (*web.Page, error) {
	page, err := p.Parser.Parse(r)
	if err == nil {
		page.Links = nil
	}
	return page, err
}

// indifferent is its judge.
type indifferent struct{}

func (indifferent) Judge(context.Context, *web.Page) (web.Verdict, error) { return web.Verdict{}, nil }

// fetch gets the examples as a crawl whose seeds they are: with its robots
// rules, delays and retries, its archive and log, and its way of going on.
func (c *topicTrainCmd) fetch(ctx context.Context, std streams, dir string, w *wanted, meter *meter) (*fetched, error) {
	j := &job.Job{Name: fmt.Sprintf("examples-%016x", w.sum), Scorer: job.Scorer{Name: "breadth-first"}}
	j.Scope.MaxHostQueue = maxExamples                                  // none is left out
	j.Addresses = job.Addresses{KeepSessions: true, KeepTracking: true} // as the taxonomy writes them
	if err := c.apply(j); err != nil {
		return nil, exit{exitUsage, err}
	}
	col := collection.At(dir)
	if err := col.Usable(); err != nil {
		return nil, exit{exitUsage, err}
	}
	begun := col.Begun()
	if begun {
		old, err := job.Read(col.JobFile())
		if err != nil {
			return nil, err
		}
		if old.Name != j.Name {
			return nil, exit{exitUsage, fmt.Errorf("%s holds the pages of another taxonomy: choose another folder with --pages", dir)}
		}
		how, _, err := col.Ended()
		if err != nil {
			return nil, err
		}
		if how == event.FrontierEmpty {
			return readFetched(col)
		}
	}
	if err := checkLive(j, w.addresses); err != nil {
		return nil, exit{exitUsage, err}
	}
	own, err := col.Lock()
	if err != nil {
		return nil, err
	}
	defer own.Close()
	m := &job.Maker{
		Job: j, Writer: own, Note: func(s string) { fmt.Fprintln(std.err, event.Line(s)) },
		// Too many for the job, and the log has them.
		Seeds: w.addresses, Parser: linkless{parse.New(parse.Options{})}, Judge: indifferent{},
	}
	if begun {
		m.Begun = &col
	}
	defer m.Close()
	run, err := m.Crawl(ctx)
	var broken *collection.OpenError
	switch {
	case errors.As(err, &broken):
		// Nothing is at stake here but time, so what is damaged is not mended.
		return nil, fmt.Errorf("%w\nRemove %s to fetch the examples anew", err, dir)
	case err != nil:
		return nil, wrongJob(err)
	}
	done := 0
	hear := func(e event.Event) {
		switch e := e.(type) {
		case event.Fetched:
			done++
		case event.Failed:
			if !e.Retry && !(e.Reason == web.ReasonRedirect && e.Queued) {
				done++
			}
		}
	}
	if earlier := run.History; earlier != nil {
		run.History = func(yield func(event.Event, error) bool) {
			for e, err := range earlier {
				if err == nil {
					hear(e)
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
	run.JudgeName, run.Threshold = "none", 1
	run.Listen = func(e event.Event) {
		hear(e)
		meter.show(done, len(w.addresses), "examples fetched")
	}
	how, err := run.Run(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w\nMend the cause, then run the same command again: it goes on", err)
	case how == event.Stopped:
		return nil, exit{exitStopped, fmt.Errorf("stopped after %s of %s examples; the same command goes on", number(done), number(len(w.addresses)))}
	}
	return readFetched(col)
}

// readFetched reads the log.
func readFetched(col collection.Collection) (*fetched, error) {
	f := &fetched{moved: map[web.URL]web.URL{}, kept: map[web.URL]bool{}, lost: map[web.URL]web.Reason{}}
	for e, err := range col.Events() {
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case event.Seeded:
			for _, s := range e.Skipped {
				f.lost[s.URL] = s.Reason
			}
		case event.Fetched:
			if e.Reason == "" && !e.Directives.NoArchive {
				f.kept[e.URL] = true
			} else if e.Reason == "" {
				f.lost[e.URL] = "noarchive"
			} else {
				f.lost[e.URL] = e.Reason
			}
		case event.Failed:
			switch {
			case e.Retry:
			case !e.To.IsZero() && (e.Reason == web.ReasonRedirect || e.Reason == web.ReasonRedirectKnown):
				f.moved[e.URL] = e.To
			default:
				f.lost[e.URL] = e.Reason
			}
		}
	}
	return f, nil
}

// archived yields the examples that were fetched.
func (w *wanted) archived(ctx context.Context, col collection.Collection, f *fetched, p *parse.Parser, h *had) iter.Seq2[judge.Sample, error] {
	return func(yield func(judge.Sample, error) bool) {
		at := w.place(func(u web.URL) web.URL { return follow(u, func(u web.URL) web.URL { return f.moved[u] }) }, h)
		for u := range at {
			if !f.kept[u] {
				reason := string(f.lost[u])
				if m := meaning(f.lost[u]); reason != "" && m != "" {
					reason += ": " + m
				} else if reason == "" {
					reason = "not fetched"
				}
				h.lose(reason)
				delete(at, u)
			}
		}
		read := map[web.URL]bool{}
		placed := func(u web.URL) bool { _, ok := at[u]; return ok }
		for page, err := range col.Pages(ctx, p, placed) {
			var unparsed *collection.ParseError
			switch {
			case errors.As(err, &unparsed):
				h.lose(lostText)
				continue
			case err != nil:
				yield(judge.Sample{}, err)
				return
			case read[page.URL]:
				continue
			}
			read[page.URL] = true
			if len(page.Terms) == 0 {
				h.lose(lostText)
				continue
			}
			h.get()
			if !yield(judge.Sample{Class: at[page.URL], Key: page.URL.String(), Terms: page.Terms}, nil) {
				return
			}
		}
	}
}

// printRecord shows how a critic did.
func printRecord(w io.Writer, r *judge.Record) {
	pages := 0
	for _, n := range r.Pages {
		pages += n
	}
	fmt.Fprintf(w, "classes      %s, %s pages, %s stems\n", number(len(r.Classes)), number(pages), number(r.Vocabulary))
	if n := len(r.Thin); n > 0 {
		fmt.Fprintf(w, "left out     %s topics with too few pages: %s%s\n", number(n), event.Line(strings.Join(r.Thin[:min(n, 5)], ", ")), map[bool]string{true: ", …"}[n > 5])
	}
	if r.Held.Pages == 0 {
		fmt.Fprintln(w, "held out     nothing: the classes have too few pages to tell how good the critic is")
		return
	}
	fmt.Fprintf(w, "held out     %s pages that it had not learned\n", number(r.Held.Pages))
	fmt.Fprintf(w, "accuracy     %s; among the likeliest five %s; always the largest class %s\n", percent(r.Held.Accuracy), percent(r.Held.Top5), percent(r.Blind()))
	count := "all of a page's words count (as printed)"
	if r.Words > 0 {
		count = fmt.Sprintf("a page counts as at most %s words", number(int(r.Words)))
	}
	if r.Guessed {
		count += ", assumed: too few pages to fit it"
	}
	fmt.Fprintf(w, "calibration  error (ECE) %.3f, as printed %.3f; %s\n", r.Held.ECE, r.Printed.ECE, count)
	fmt.Fprintf(w, "             mean surprise %.2f nats, as printed %.2f\n", r.Held.LogLoss, r.Printed.LogLoss)
	if pairs := r.WorstPairs(10); len(pairs) > 0 {
		fmt.Fprintln(w, "\nmost often taken for one another (held-out pages)")
		for _, p := range pairs {
			fmt.Fprintf(w, "%6d →  %4d ←  %s  |  %s\n", p.AtoB, p.BtoA, event.Line(p.A), event.Line(p.B))
		}
	}
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
		fmt.Fprintf(w, "held out     %s pages in focus, of which it knew %s (%s)\n", number(s.Good), number(s.Found), percent(s.Recall()))
		fmt.Fprintf(w, "             %s others, of which it took %s for such\n", number(s.Rest), number(s.False))
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
		Note:   fmt.Sprintf("%s classes; each point is at least 10 held-out pages, with its 95%% interval.\nExpected calibration error %.3f, as printed %.3f.", number(len(r.Classes)), r.Held.ECE, r.Printed.ECE),
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
