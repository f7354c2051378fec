package examples

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// maxExamples bounds the examples to get, which are kept in memory.
const maxExamples = 2_000_000

// files yields the examples that are files.
func (w *List) files(ctx context.Context, p *parse.Parser, h *Tally) iter.Seq2[judge.Sample, error] {
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
			page, err := readExample(p, filepath.Join(filepath.Dir(w.name), filepath.FromSlash(name)))
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
func (w *List) place(moved func(web.URL) web.URL, h *Tally) map[web.URL]string {
	at := map[web.URL]string{}
	for _, e := range w.examples {
		if _, ok := e.File(); ok {
			continue
		}
		u, err := web.Parse(e.Source)
		if err != nil {
			continue // Read has parsed it
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
func (w *List) recorded(ctx context.Context, pages *corpus.Pages, h *Tally) iter.Seq2[judge.Sample, error] {
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

// linklessParser is the parser of the examples' crawl: it finds no links, so nothing
// but the examples is fetched.
type linklessParser struct{ *parse.Parser }

func (p linklessParser) Parse(r *web.Response) (*web.Page, error) {
	page, err := p.Parser.Parse(r)
	if err == nil {
		page.Links = nil
	}
	return page, err
}

// zeroJudge is its judge.
type zeroJudge struct{}

func (zeroJudge) Judge(context.Context, *web.Page) (web.Verdict, error) { return web.Verdict{}, nil }

// fetch gets the examples as a crawl whose seeds they are: with its robots
// rules, delays and retries, its archive and log, and its way of going on.
func (w *List) fetch(ctx context.Context, dir string, o Options) (_ *outcomes, err error) {
	j := &job.Job{Name: fmt.Sprintf("examples-%016x", w.sum), Scorer: job.Scorer{Name: "breadth-first"}}
	j.Scope.MaxHostQueue = maxExamples                                  // none is left out
	j.Addresses = job.Addresses{KeepSessions: true, KeepTracking: true} // as the taxonomy writes them
	if err := o.Apply(j); err != nil {
		return nil, job.Mistake{Err: err}
	}
	col := collection.At(dir)
	begun, whole, err := examplesIn(col, j.Name)
	switch {
	case err != nil:
		return nil, err
	case whole:
		return readFetched(col)
	}
	if err := j.CheckLiveAt(w.addresses); err != nil {
		return nil, err
	}
	place := folder.Absent(dir)
	defer func() {
		if wrong := (job.Mistake{}); errors.As(err, &wrong) || errors.As(err, new(*job.Error)) {
			place.Remove()
		}
	}()
	own, err := col.Lock()
	if err != nil {
		return nil, err
	}
	defer own.Close()
	m := &job.Maker{
		Job: j, Writer: own, Note: o.Note,
		// Too many for the job, and the log has them.
		Seeds: w.addresses, Parser: linklessParser{parse.New(parse.Options{})}, Judge: zeroJudge{},
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
		return nil, err
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
	run.History = event.Heard(run.History, hear)
	run.JudgeName, run.Threshold = "none", 1
	run.Listen = func(e event.Event) {
		hear(e)
		o.Progress(done, len(w.addresses), "examples fetched")
	}
	how, err := run.Run(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w\nMend the cause, then run the same command again: it goes on", err)
	case how == event.Stopped:
		return nil, fmt.Errorf("stopped after %s of %s examples; the same command goes on", terminal.Number(done), terminal.Number(len(w.addresses)))
	}
	return readFetched(col)
}

// examplesIn tells whether a folder holds examples of that name, and all of them.
func examplesIn(col collection.Collection, name string) (begun, whole bool, err error) {
	if err := col.Usable(); err != nil {
		return false, false, job.Mistake{Err: err}
	}
	if !col.Begun() {
		return false, false, nil
	}
	old, err := job.Read(col.JobFile())
	if err != nil {
		return true, false, err
	}
	if old.Name != name {
		return true, false, job.Mistake{Err: fmt.Errorf("%s holds the pages of another taxonomy: choose another folder with --pages", col.Dir())}
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
func (w *List) archived(ctx context.Context, col collection.Collection, f *outcomes, p *parse.Parser, h *Tally) iter.Seq2[judge.Sample, error] {
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
