package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/lab"
	"github.com/waggle-crawler/waggle/lab/judgelab"
	"github.com/waggle-crawler/waggle/lab/pathlab"
	"github.com/waggle-crawler/waggle/parse"
)

// Finding is what became of a cell.
type Finding struct {
	Cell  Cell
	Today string // the figure, as Format writes it; "" of a document without a cell
}

// Differs tells whether the figure is another than the one that was kept.
func (f Finding) Differs() bool { return f.Today != "" && f.Today != f.Cell.Value }

// Was is the figure that the document is of, "" where that is the figure of today, or where none is
// known.
func (f Finding) Was() string {
	was := f.Cell.Was
	if was == "" && f.Cell.Value != unknown {
		was = f.Cell.Value
	}
	if f.Today == "" || was == f.Today {
		return ""
	}
	return was
}

// String tells the finding in a line.
func (f Finding) String() string {
	switch {
	case f.Today == "":
		return fmt.Sprintf("none %s: %s", f.Cell, f.Cell.Why)
	case f.Cell.Value == unknown:
		return fmt.Sprintf("new %s: %s", f.Cell, f.Today)
	case f.Differs():
		return fmt.Sprintf("DIFFERS %s: %s today, %s when it was kept", f.Cell, f.Today, f.Cell.Value)
	}
	switch was := f.Was(); was {
	case "":
	case unknown:
		return fmt.Sprintf("OLDER %s: %s, and the document is of an older figure, which was not kept", f.Cell, f.Today)
	default:
		return fmt.Sprintf("OLDER %s: %s, and the document is of %s", f.Cell, f.Today, was)
	}
	return fmt.Sprintf("same %s: %s", f.Cell, f.Today)
}

// Verifier remakes cells. The caller closes it.
type Verifier struct {
	Webs     string // folder of recorded webs, or of what they are built from
	Progress func(done, total int, note string)

	made string // folder of those that were built
}

// Close removes the webs that were built.
func (v *Verifier) Close() error {
	if v.made == "" {
		return nil
	}
	return os.RemoveAll(v.made)
}

// Run remakes the cells of a table in their order, and tells each finding as soon as it
// is known. It ends with the first cell that cannot be made.
func (v *Verifier) Run(ctx context.Context, t *Table, tell func(Finding)) (found []Finding, err error) {
	for i, c := range t.Cells {
		f := Finding{Cell: c}
		if c.Maker != "-" {
			v.Progress(i, len(t.Cells), c.Document)
			var err error
			if f.Today, err = v.today(ctx, filepath.Dir(t.Name), c); err != nil {
				return found, fmt.Errorf("%s:%d: %w", t.Name, c.line+1, err)
			}
		}
		found = append(found, f)
		tell(f)
	}
	return found, nil
}

// today is what the table would hold of a cell today.
func (v *Verifier) today(ctx context.Context, dir string, c Cell) (string, error) {
	if c.Measure == OfSettings {
		f, err := lab.Read(filepath.Join(dir, c.Maker))
		if err != nil {
			return "", job.Mistake{Err: err}
		}
		return f.Settings(), nil
	}
	value, err := v.remake(ctx, dir, c)
	return Format(value), err
}

// remake makes one cell; dir is the folder of results.
func (v *Verifier) remake(ctx context.Context, dir string, c Cell) (float64, error) {
	folder, err := v.web(ctx, c.Web)
	if err != nil {
		return 0, err
	}
	switch c.Maker {
	case LabJudge:
		return judged(ctx, folder, c)
	case LabPaths, LabSites:
		return pathed(ctx, folder, dir, c)
	}
	f, err := lab.Read(filepath.Join(dir, c.Maker))
	if err != nil {
		return 0, job.Mistake{Err: err}
	}
	sample := lab.Sample{Web: c.Web, Topic: c.Topic, Scorer: c.Strategy, Judge: strings.TrimPrefix(c.Judge, "-"), Pages: c.Pages}
	cell, err := f.Remake(ctx, sample, folder, lab.Options{Workers: 1})
	if err != nil {
		return 0, err
	}
	for _, x := range cell.Values {
		if x.Measure == c.Measure {
			return float64(x.Value), nil
		}
	}
	return 0, missing("there is no measure %s; waggle lab list names them", c.Measure)
}

// web is the folder of a recorded web, built where it is not one yet.
func (v *Verifier) web(ctx context.Context, name string) (string, error) {
	if v.made == "" {
		var err error
		if v.made, err = os.MkdirTemp("", "waggle-verify-*"); err != nil {
			return "", err
		}
	}
	webs := lab.Webs{From: v.Webs, Made: v.made, Progress: func(_, _ int, note string) { v.Progress(0, 0, note) }}
	return webs.Find(ctx, name)
}

// judged is a figure of waggle lab judge.
func judged(ctx context.Context, dir string, c Cell) (float64, error) {
	w, err := judgelab.OpenWeb(ctx, dir, judgelab.Labels{})
	if err != nil {
		return 0, err
	}
	defer w.Close() // it was read only
	w.Topics = slices.DeleteFunc(w.Topics, func(t *judgelab.Topic) bool { return t.Name != c.Topic })
	trial := judgelab.Trial{Webs: []*judgelab.Web{w}, Judge: c.Judge, Pages: 600, Told: c.Strategy}
	rows, err := trial.Run(ctx, func(int, int) {})
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if r.At != c.Pages {
			continue
		}
		switch c.Measure {
		case "precision":
			return r.Precision(), nil
		case "recall":
			return r.Recall(), nil
		case "ece":
			return r.ECE(), nil
		}
	}
	return 0, missing("waggle lab judge has no %s of a judge told %s after %d pages", c.Measure, c.Strategy, c.Pages)
}

// pathed is a figure of waggle lab paths, with its usual numbers of paths and one draw.
func pathed(ctx context.Context, dir, results string, c Cell) (float64, error) {
	w, err := corpus.Open(dir)
	if err != nil {
		return 0, err
	}
	defer w.Close() // it was read only
	pages, err := corpus.OpenPages(ctx, w, parse.New(parse.Options{Canon: w.Canon()}), corpus.PagesOptions{})
	if err != nil {
		return 0, err
	}
	quiet := func(string) {}
	if c.Maker == LabPaths {
		t := &pathlab.Trial{Web: w, Pages: pages, Topics: []string{c.Topic}, Repeats: 1, Goals: 6, Wrong: 4, TestGoals: 14, TestWrong: 9, Budget: c.Pages}
		rows, err := t.Reach(ctx, quiet)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			if fmt.Sprintf("%s %s", r.Rewards, r.Join) == c.Strategy && c.Measure == "goals" {
				return r.Goals, nil
			}
		}
		return 0, missing("waggle lab paths has no %s of %s", c.Measure, c.Strategy)
	}
	sites, err := pathlab.OpenSites(filepath.Join(results, "manuals-goals.tsv"))
	if err != nil {
		return 0, err
	}
	t := &pathlab.Sites{Web: w, Pages: pages, Sites: sites, Kinds: []string{c.Topic}, Draws: 1, Teach: 3, Goals: 6, Wrong: 4, Budgets: []int{c.Pages}, Strategies: []string{c.Strategy}}
	if err := t.Check(); err != nil {
		return 0, job.Mistake{Err: err}
	}
	rows, err := t.Try(ctx, quiet)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || c.Measure != "share" {
		return 0, missing("waggle lab paths has no %s of %s", c.Measure, c.Strategy)
	}
	return rows[0].At[0].Share.Mean, nil
}

func missing(format string, args ...any) error {
	return job.Mistake{Err: fmt.Errorf(format, args...)}
}
