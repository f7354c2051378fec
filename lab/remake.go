package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/score"
)

// Sample names one crawl of a lab: that of the first repeat, with a budget of its own.
type Sample struct {
	Web    string // the last part of its path in the lab file
	Topic  string // with its part, where the web is parted: "course@cornell.edu"
	Scorer string // as results call it
	Judge  string // as results call it; "" = the first of the lab
	Pages  int    // the budget
}

// Remake makes a sample anew, on the recorded web in dir and not on that which the lab
// file names, and keeps nothing. A sample that the lab does not have is a job.Mistake.
func (f *File) Remake(ctx context.Context, s Sample, dir string, o Options) (eval.Cell, error) {
	own := *f
	own.Repeats, own.KeepRuns = 1, false
	wrong := func(format string, args ...any) (eval.Cell, error) {
		return eval.Cell{}, job.Mistake{Err: fmt.Errorf("%s: %s", f.name, fmt.Sprintf(format, args...))}
	}
	i := slices.IndexFunc(f.Webs, func(w Web) bool { return filepath.Base(w.Path) == s.Web })
	if i < 0 {
		return wrong("the lab has no web %s", s.Web)
	}
	spec := f.Webs[i]
	spec.Path, spec.Budgets = dir, []int{s.Pages}
	own.Webs = []Web{spec}
	k := slices.IndexFunc(f.Scorers, func(x Scorer) bool { return x.label() == s.Scorer })
	if k < 0 {
		return wrong("the lab has no scorer %s", s.Scorer)
	}
	if s.Judge == "" {
		s.Judge = f.judgeLabels()[0]
	}
	if !slices.Contains(f.judgeLabels(), s.Judge) {
		return wrong("the lab has no judge %s", s.Judge)
	}
	r := &runner{File: &own, opt: o}
	if _, needs := f.Scorers[k].kind().Uses(score.InputThesaurus, f.Scorers[k].Set); needs {
		var err error
		if r.thesaurus, err = f.thesaurus(); err != nil {
			return eval.Cell{}, job.Mistake{Err: err}
		}
	}
	w, err := own.open(&spec, 0)
	if err != nil {
		return eval.Cell{}, job.Mistake{Err: err}
	}
	defer w.Close() // it was read only
	groups, err := r.drawDistant(ctx, r.groups([]*labWeb{w}))
	if err != nil {
		return eval.Cell{}, err
	}
	var topics []string
	for _, g := range groups {
		if g.id().Topic != s.Topic {
			topics = append(topics, g.id().Topic)
			continue
		}
		c := cell{g, g.key(s.Judge, s.Scorer), f.Scorers[k], ""}
		g.breadthFirst[s.Judge] = g.breadth(s.Judge)
		if err := g.fold.load(ctx, r); err != nil {
			return eval.Cell{}, err
		}
		m, err := c.measure(ctx)
		if err != nil {
			return eval.Cell{}, fmt.Errorf("%s: %w", c.key, err)
		}
		return eval.NewCell(m.run, m.ref, spec.Budgets, eval.Measures()), nil
	}
	return wrong("the web %s has no topic %s, but %s", s.Web, s.Topic, strings.Join(topics, ", "))
}
