package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/web"
)

// exampleList holds the examples of a taxonomy.
type exampleList struct {
	dir       string // that the names of files are relative to
	examples  []taxonomy.Example
	addresses []web.URL // in the order of the taxonomy, each once
	empty     []string  // topics without examples
	sum       uint64    // of the addresses
}

func readWanted(name string) (*exampleList, error) {
	in, err := taxonomy.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	w := &exampleList{dir: filepath.Dir(name)}
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
			return nil, fmt.Errorf("%s holds more than %s examples: cut it down with waggle topic prune", name, terminal.Number(maxExamples))
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

// tally counts what became of the examples.
type tally struct {
	wanted int
	pages  int            // examples whose page was read
	lost   map[string]int // the others, by reason
}

func (h *tally) lose(reason string) { h.lost[reason]++ }

func (h *tally) get() { h.pages++ }

// String tells how many examples could be had, and why not the others.
func (h *tally) String() string {
	s := fmt.Sprintf("%s of %s examples could be had (%s)", terminal.Number(h.pages), terminal.Number(h.wanted), terminal.Percent(float64(h.pages)/float64(max(1, h.wanted))))
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
		s += fmt.Sprintf("\n%8s × %s", terminal.Number(h.lost[r]), r)
	}
	return s
}

// enough tells whether to go on; again is one more remedy.
func (h *tally) enough(floor float64, again string) error {
	if h.pages == 0 {
		return fmt.Errorf("not one of the examples could be had: look into why%s", again)
	}
	if share := float64(h.pages) / float64(max(1, h.wanted)); share < floor {
		return fmt.Errorf("only %s of the examples could be had, and the floor is %s: look into why%s, or train with these by --floor %.2g", terminal.Percent(share), terminal.Percent(floor), again, math.Floor(100*share)/100)
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
func (w *exampleList) files(ctx context.Context, p *parse.Parser, h *tally) iter.Seq2[judge.Sample, error] {
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
func (w *exampleList) place(moved func(web.URL) web.URL, h *tally) map[web.URL]string {
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
func (w *exampleList) recorded(ctx context.Context, pages *corpus.Pages, h *tally) iter.Seq2[judge.Sample, error] {
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
		for _, u := range slices.SortedFunc(maps.Keys(at), func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) }) {
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

// outcomes is what the log of the fetching tells.
type outcomes struct {
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
func (c *topicTrainCmd) fetch(ctx context.Context, std streams, dir string, w *exampleList, meter *terminal.Meter) (_ *outcomes, err error) {
	j := &job.Job{Name: fmt.Sprintf("examples-%016x", w.sum), Scorer: job.Scorer{Name: "breadth-first"}}
	j.Scope.MaxHostQueue = maxExamples                                  // none is left out
	j.Addresses = job.Addresses{KeepSessions: true, KeepTracking: true} // as the taxonomy writes them
	if err := c.apply(j); err != nil {
		return nil, exit{exitUsage, err}
	}
	col := collection.At(dir)
	begun, whole, err := examplesIn(col, j.Name)
	switch {
	case err != nil:
		return nil, err
	case whole:
		return readFetched(col)
	}
	if err := checkLive(j, w.addresses); err != nil {
		return nil, exit{exitUsage, err}
	}
	place := newFolder(dir)
	defer func() { place.unless(err) }()
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
	run.History = heard(run.History, hear)
	run.JudgeName, run.Threshold = "none", 1
	run.Listen = func(e event.Event) {
		hear(e)
		meter.Show(done, len(w.addresses), "examples fetched")
	}
	how, err := run.Run(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w\nMend the cause, then run the same command again: it goes on", err)
	case how == event.Stopped:
		return nil, exit{exitStopped, fmt.Errorf("stopped after %s of %s examples; the same command goes on", terminal.Number(done), terminal.Number(len(w.addresses)))}
	}
	return readFetched(col)
}

// examplesIn tells whether a folder holds examples of that name, and all of them.
func examplesIn(col collection.Collection, name string) (begun, whole bool, err error) {
	if err := col.Usable(); err != nil {
		return false, false, exit{exitUsage, err}
	}
	if !col.Begun() {
		return false, false, nil
	}
	old, err := job.Read(col.JobFile())
	if err != nil {
		return true, false, err
	}
	if old.Name != name {
		return true, false, exit{exitUsage, fmt.Errorf("%s holds the pages of another taxonomy: choose another folder with --pages", col.Dir())}
	}
	how, _, err := col.Ended()
	return true, how == event.FrontierEmpty, err
}

// readFetched reads the log.
func readFetched(col collection.Collection) (*outcomes, error) {
	f := &outcomes{moved: map[web.URL]web.URL{}, kept: map[web.URL]bool{}, lost: map[web.URL]web.Reason{}}
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
			case e.Retry: // it may come yet
				f.lost[e.URL] = e.Reason
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
func (w *exampleList) archived(ctx context.Context, col collection.Collection, f *outcomes, p *parse.Parser, h *tally) iter.Seq2[judge.Sample, error] {
	return func(yield func(judge.Sample, error) bool) {
		at := w.place(func(u web.URL) web.URL { return follow(u, func(u web.URL) web.URL { return f.moved[u] }) }, h)
		for u := range at {
			if !f.kept[u] {
				reason := "it was not fetched"
				if why := f.lost[u]; why != "" {
					reason = terminal.Untrusted(why.Meaning(), 100)
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
