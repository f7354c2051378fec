package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// Report writes what the cells in dir show: report.html, report.md, CSV and
// plots: those of the last run, whatever else lies there.
func Report(dir string) (report.Results, error) {
	f, err := readResults(dir)
	if err != nil {
		return report.Results{}, err
	}
	return f.Report(dir)
}

// ErrNoResults says that a folder holds no results of a lab.
var ErrNoResults = errors.New("holds no results of a lab: waggle lab run makes some")

// readResults reads the lab file of the results in a folder.
func readResults(dir string) (*File, error) {
	f, err := Read(filepath.Join(dir, labFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s %w", dir, ErrNoResults)
	}
	return f, err
}

// Report is the function Report for a lab that is at hand, as one with strategies
// of a program is.
func (f *File) Report(dir string) (report.Results, error) {
	r, err := f.results(dir)
	if err != nil {
		return r, err
	}
	return r, report.Write(dir, r)
}

func (f *File) results(dir string) (report.Results, error) {
	r := report.Results{Title: f.Title, Notes: f.Notes, Rules: f.rules(), Baseline: f.Baseline}
	if len(f.HeadMeasures) > 0 { // an empty list, as in a kept lab file, means the default
		r.Headline = f.HeadMeasures
	}
	known, err := readFacts(dir)
	if err != nil {
		return r, err
	}
	kept := filepath.Join(dir, labFile)
	b, err := os.ReadFile(kept)
	if err != nil {
		return r, err
	}
	if known.Lab != "" && known.Lab != hashText(b) {
		return r, fmt.Errorf("%s is not the lab file that the cells in %s are of: the run was stopped before it began, or the file was changed: run the lab again, which keeps all cells that still hold", kept, dir)
	}
	if known.File == "" {
		known.File = kept
	}
	r.Command = fmt.Sprintf("waggle lab run -f %s -o %s && waggle lab report %[2]s", quoted(known.File), quoted(dir))
	made := "Made with settings " + f.Settings()
	if known.Revision != "" {
		made = "Made with waggle of revision " + known.Revision + ", settings " + f.Settings()
	}
	r.Rules = append(r.Rules, made+".")
	r.Webs, r.Topics, r.Clock = known.Webs, f.parts(known), known.Clock
	for _, j := range known.Judges {
		r.Judges = append(r.Judges, j.report())
	}
	r.Rules = append(r.Rules, known.Notes...)
	r.Warnings, r.Taught = f.lateLearners(), f.taught()
	r.Constants = f.constants()
	for _, name := range known.Cells {
		c, err := readCell(filepath.Join(dir, cellsDir, filepath.Base(name)))
		if errors.Is(err, fs.ErrNotExist) { // the run was stopped, or still goes on
			r.Missing++
			continue
		}
		if err != nil {
			return r, err
		}
		r.Cells = append(r.Cells, c)
	}
	// In the order of the lab file, as its author wants it read.
	place := map[string]int{}
	for i, s := range f.Scorers {
		place[s.label()] = i
	}
	slices.SortStableFunc(r.Cells, func(a, b eval.Cell) int { return place[a.Scorer] - place[b.Scorer] })
	for _, w := range f.Webs {
		for _, n := range w.Budgets {
			if !slices.Contains(r.Budgets, n) {
				r.Budgets = append(r.Budgets, n)
			}
		}
	}
	slices.Sort(r.Budgets)
	r.Costs, err = readCosts(dir, known.Cells)
	return r, err
}

// parts are the topics of facts, of which those of webs that are parted tell which part
// they are.
func (f *File) parts(known facts) []report.Topic {
	parted := map[string]bool{}
	for i, w := range f.Webs {
		if w.Train != nil && i < len(known.Webs) { // facts have the webs in the order of the file
			parted[known.Webs[i].Name] = true
		}
	}
	topics := slices.Clone(known.Topics)
	for i := range topics {
		if k := strings.LastIndexByte(topics[i].Topic, '@'); k >= 0 && parted[topics[i].Web] {
			topics[i].Part = topics[i].Topic[k+1:]
		}
	}
	return topics
}

// quoted is a word as a shell takes it for one.
func quoted(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || strings.ContainsRune("'\"\\$`!*?[](){}<>|&;~#", c)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// changes tells the settings of a scorer that are not its defaults.
func (s Scorer) changes() string {
	var parts []string
	changed := s.changed()
	for _, k := range slices.Sorted(maps.Keys(changed)) {
		parts = append(parts, fmt.Sprintf("%s = %v", k, changed[k]))
	}
	if s.Similarity != "" && s.Similarity != "judge" {
		parts = append(parts, "similarity "+s.Similarity)
	}
	if s.Train != nil {
		parts = append(parts, s.Train.changes()...)
	}
	return strings.Join(parts, ", ")
}

// rules tell how the runs were made.
func (f *File) rules() []string {
	sees := "which neither judge nor scorer can see"
	if slices.Contains(f.judgeLabels(), report.TruthJudge) {
		sees = "which no scorer can see, and no judge but the one named truth, which is for diagnosis"
	}
	notes := []string{
		"Every strategy was given the same seeds, keywords, description and examples, and the same judge. Seeds and examples are no hits; pages with the same body count once.",
		fmt.Sprintf("Links outside the record: %s.", map[string]string{
			"drop":   "left out of the frontier, at no cost",
			"fail":   "each fetch costs a page of the budget and fails",
			"bounds": "each fetch costs a page of the budget; the lower figure takes all of them for irrelevant, the upper one for relevant",
		}[f.Outside]),
	}
	notes = append(notes, f.readRules()...)
	switch f.Truth {
	case ofWeb:
		notes = append(notes, "Ground truth is that of the web's truth files, "+sees+".")
	case ofSilver:
		notes = append(notes, "Readers and the classifier give the ground truth, "+sees+".")
	default:
		notes = append(notes, "Nothing of the ground truth is seen by scorers and judges, but by the judge named truth, if it is there, which is for diagnosis: it takes pages that nobody read for irrelevant.")
	}
	if f.critics() {
		notes = append(notes, f.Critic.String())
	}
	for _, w := range f.Webs {
		if p := w.Train; p != nil {
			notes = append(notes, fmt.Sprintf("%s: %s.", filepath.Base(w.Path), p))
		}
	}
	for _, s := range f.Scorers {
		if note := s.presetNote(); note != "" {
			notes = append(notes, note)
		} else if changes := s.changes(); changes != "" {
			is := ""
			if s.label() != s.Name {
				is = " is " + s.Name
			}
			notes = append(notes, fmt.Sprintf("%s%s with %s.", s.label(), is, changes))
		}
	}
	for _, s := range f.Scorers {
		if s.Queue > 0 {
			notes = append(notes, fmt.Sprintf("%s keeps the best %s, and the others leave.", s.label(), terminal.Count(s.Queue, "waiting link")))
		}
		if s.HostPages > 0 {
			notes = append(notes, fmt.Sprintf("%s fetches %s from one host at most.", s.label(), terminal.Count(s.HostPages, "page")))
		}
		if n := s.basisNote(); n != "" {
			notes = append(notes, s.label()+" "+n+".")
		}
		if n := s.labelNote(); n != "" {
			notes = append(notes, s.label()+" "+n+".")
		}
	}
	seeds := f.Seeds[0]
	if f.Hops > 0 {
		relevant := "relevant page"
		if f.Truth == ofRead {
			relevant = "page that readers found to count"
		}
		seeds = fmt.Sprintf("as many pages as the topic has seeds, drawn from those whose nearest %s is exactly %s away", relevant, terminal.Count(f.Hops, "link"))
	}
	notes = append(notes, fmt.Sprintf("Seeds: %s; repeats: %d.", seeds, f.Repeats))
	switch {
	case f.Repeats > 1 && f.ExampleCount != nil:
		notes = append(notes, "The first repeat is given all seeds, each other one leaves out a third of them; each is given other examples, as far as there are others. All strategies of a repeat are given the same. What is left out is no hit either. Repeats are averaged within their topic.")
	case f.Repeats > 1:
		notes = append(notes, "The first repeat is given all seeds and examples, each other one leaves out a third of both, and all strategies of a repeat are given the same. What is left out is no hit either. Repeats are averaged within their topic.")
	}
	if f.HideHalf {
		notes = append(notes, "Half of the examples were hidden from every strategy, for target recall.")
	}
	if f.IgnoreDirectives {
		notes = append(notes, "What pages ask for in nofollow and noindex is disregarded: the record is asked, and not the sites.")
	}
	if n := f.Network; n.Workers > 1 || n.Delay > 0 || n.Median > 0 {
		notes = append(notes, fmt.Sprintf("Simulated network: %s, %v between requests to a host, latency %v (spread %v).", terminal.Count(max(1, n.Workers), "worker"), n.Delay, n.Median, n.Spread))
	}
	return notes
}

// outOf is "1 of 1 page" or "1 of 2 pages".
func outOf(n, all int, what string) string {
	return terminal.Number(n) + " of " + terminal.Count(all, what)
}

// agreeing is the form of a verb that goes with a number.
func agreeing(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
