package lab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/apprentice"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// A strategy may build on the crawl that another strategy of the lab made of
// the same topic, from the same seeds, for the same number of pages:
//
//	after: best-first-page    an apprentice is taught by that crawl before its
//	                          own; with set: {online: 0} it learns nothing more
//	within: best-first-page   only pages that were fetched there can be
//
// Both are of Chakrabarti, Punera & Subramanyam 2002: the off-line protocol
// (section 3.5), and the recall crawler (section 3.6). What is learnt is the judge's
// opinion of the pages of that crawl; the truth has no part in it.

// basis are the labels of the scorers whose crawls s builds on.
func (s Scorer) basis() (labels []string) {
	for _, l := range []string{s.After, s.Within} {
		if l != "" {
			labels = append(labels, l)
		}
	}
	return labels
}

// bases are the scorers that s builds on: its results change with them.
func (f *File) bases(s Scorer) (out []any) {
	for _, l := range s.basis() {
		out = append(out, f.named(l))
	}
	return out
}

// named is the scorer of that label; checkBasis made sure that there is one.
func (f *File) named(label string) Scorer {
	return f.Scorers[slices.IndexFunc(f.Scorers, func(s Scorer) bool { return s.label() == label })]
}

// checkBasis finds what is wrong with crawls that build on others.
func (f *File) checkBasis(bad func(at, format string, args ...any)) {
	for i, s := range f.Scorers {
		at := f.at("scorers", strconv.Itoa(i))
		if n, ok := s.kind().Uses(score.InputModel, s.Set); s.After != "" && !(ok && n.Kind == string(model.Apprentice)) {
			bad(at, "%s learns from no crawl before its own: after: is for apprentice and apprentice-tempered", s.Name)
		}
		for _, l := range s.basis() {
			k := slices.IndexFunc(f.Scorers, func(s Scorer) bool { return s.label() == l })
			if k < 0 {
				bad(at, "%s builds on the crawl of %q, which is not among the scorers: add it", s.label(), l)
			} else if len(f.Scorers[k].basis()) > 0 {
				bad(at, "%s builds on the crawl of %q, which builds on another itself: name that one", s.label(), l)
			}
		}
	}
}

// basisNote tells what a strategy builds on, "" for nothing.
func (s Scorer) basisNote() string {
	var parts []string
	if s.After != "" {
		parts = append(parts, "is taught by the crawl of "+s.After+" before its own")
	}
	if s.Within != "" {
		parts = append(parts, "can have only the pages that "+s.Within+" fetched")
	}
	return strings.Join(parts, ", and ")
}

// taught are the strategies that are taught by a whole crawl of another before their own.
func (f *File) taught() (out []report.Taught) {
	pages := 0
	for _, w := range f.Webs {
		pages = max(pages, slices.Max(w.Budgets))
	}
	for _, s := range f.Scorers {
		if s.After != "" {
			out = append(out, report.Taught{Scorer: s.label(), By: s.After, Pages: pages})
		}
	}
	return out
}

// lateLearners tells of strategies that end before they begin to learn, on all webs or on some:
// their crawls are those of a strategy that learns nothing.
func (f *File) lateLearners() (out []string) {
	for _, s := range f.Scorers {
		if s.kind().Begins == nil {
			continue
		}
		begins, says := s.kind().Begins(s.Set)
		var webs []string
		most := 0
		for _, w := range f.Webs {
			if n := slices.Max(w.Budgets); n <= begins {
				webs, most = append(webs, filepath.Base(w.Path)), max(most, n)
			}
		}
		if len(webs) == 0 {
			continue
		}
		where := ""
		if len(webs) < len(f.Webs) {
			where = " on " + strings.Join(webs, ", ")
		}
		out = append(out, fmt.Sprintf("%s learns nothing in its crawls%s: it begins to learn after %d pages (%s = %d), and they have %d at most. Give it set: {%s: N} with a smaller N, or the lab a larger budget.", s.label(), where, begins, says, begins, most, says))
	}
	return out
}

// crawlOf is the crawl of another strategy under the same judge, made once for
// all that build on it.
func (g *group) crawlOf(ctx context.Context, judged, label string) (*train.Crawl, error) {
	type outcome struct {
		crawl *train.Crawl
		err   error
	}
	g.teaching.Lock()
	once, ok := g.crawls[judged+" "+label].(func() outcome)
	if !ok {
		once = sync.OnceValue(func() outcome {
			var events []event.Event
			m := g.simulateWith(ctx, g.key(judged, label), g.named(label), func(e event.Event) {
				switch e := e.(type) {
				case event.Fetched:
					e.Queued, e.Skipped = nil, nil
					events = append(events, e)
				case event.Failed:
					events = append(events, e)
				}
			})
			if m.err != nil {
				return outcome{err: fmt.Errorf("the crawl of %s, to build on: %w", label, m.err)}
			}
			c, err := train.ReadCrawl(func(yield func(event.Event, error) bool) {
				for _, e := range events {
					if !yield(e, nil) {
						return
					}
				}
			})
			return outcome{c, err}
		})
		if g.crawls == nil {
			g.crawls = map[string]any{}
		}
		g.crawls[judged+" "+label] = once
	}
	g.teaching.Unlock()
	o := once()
	return o.crawl, o.err
}

// taughtBy is the model of an apprentice that saw a crawl, and how long it took
// to learn.
func (g *group) taughtBy(c *train.Crawl, s Scorer, j judge.Judge) (*model.File, time.Duration, error) {
	began := time.Now()
	pages := iter.Seq2[*web.Page, error](func(yield func(*web.Page, error) bool) {
		for u := range c.URLs() {
			if p, ok := g.w.pages.Page(u); ok && !yield(p, nil) {
				return
			}
		}
	})
	set := maps.Clone(s.Set) // the settings that bear on training
	maps.DeleteFunc(set, func(name string, _ float64) bool {
		return !slices.ContainsFunc(apprentice.Settings(false), func(x setting.Setting) bool { return x.Name == name })
	})
	t, err := train.Apprentice(context.Background(), []train.CrawlPages{{Crawl: c, Pages: pages}}, train.ApprenticeOptions{
		Scorer: s.kind().Base(), Set: set, Analyzer: g.w.words, Topic: g.t.Name, Classes: judge.ClassNames(j),
	})
	if err != nil && !errors.Is(err, train.ErrTooFewExamples) { // which leaves R(u)
		return nil, 0, fmt.Errorf("what %s teaches: %w", s.After, err)
	}
	return t.File, time.Since(began), nil
}
