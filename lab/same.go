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

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// checkOwn refuses a folder that holds files and no results: a run would write over those that have
// the names of its own, such as the lab file of the user.
func checkOwn(dir string) error {
	for _, own := range []string{factsFile, cellsDir} { // a run that was killed may have no facts
		if _, err := os.Stat(filepath.Join(dir, own)); err == nil {
			return nil
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries { // but for what a run makes before it has facts
		if !slices.Contains([]string{"lock", "webs", cellsDir, topicsDir, runsDir}, e.Name()) {
			return job.Mistake{Err: fmt.Errorf("%s holds other files (%s) and no results of a lab: give another folder", dir, e.Name())}
		}
	}
	return nil
}

// checkFolder refuses a folder that holds the results of another lab: its report would
// be replaced, and cells of both would lie side by side. What a lab may change between
// two runs in one folder are the title, the notes, the measures, the baseline, keep-runs
// and the repeats; and webs, topics, judges and scorers may be added or left out.
func (f *File) checkFolder(dir string) error {
	kept := filepath.Join(dir, labFile)
	b, err := os.ReadFile(kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const remedy = "give another folder, or --replace, which makes the report of this file and leaves the cells of the other where they are"
	old, err := Parse(kept, b, f.own)
	if err != nil {
		return job.Mistake{Err: fmt.Errorf("%s holds results of a lab whose file cannot be read any more: %s; %w", dir, remedy, err)}
	}
	changed, err := f.changedFrom(old)
	if err != nil || len(changed) == 0 {
		return err
	}
	return job.Mistake{Err: fmt.Errorf("%s holds results of another lab: %s changed; %s", dir, strings.Join(changed, ", "), remedy)}
}

// changedFrom names what is not as in an older lab file, of what may not change.
func (f *File) changedFrom(old *File) ([]string, error) {
	ours, err := f.inForce()
	if err != nil {
		return nil, err
	}
	theirs, err := old.inForce()
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, k := range slices.Sorted(maps.Keys(ours)) {
		was, ok := theirs[k]
		if ok && was != ours[k] || !ok && !strings.Contains(k, " ") {
			changed = append(changed, k)
		}
	}
	for k := range theirs {
		if _, ok := ours[k]; !ok && !strings.Contains(k, " ") {
			changed = append(changed, k)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// inForce is what the cells of a lab are made of, as YAML by name: the keys of the file,
// and "web NAME", "budgets of web NAME", "judge NAME" and "scorer NAME".
func (f *File) inForce() (map[string]string, error) {
	own := *f
	own.Title, own.Notes, own.HeadMeasures, own.Baseline, own.KeepRuns, own.Repeats = "", nil, nil, "", false, 0
	own.Webs, own.Scorers, own.Judges, own.Budgets = nil, nil, nil, nil // webs have the budgets
	for _, p := range []*string{&own.Thesaurus.WordNet, &own.Thesaurus.Table, &own.Pool, &own.Silver} {
		if *p != "" {
			var err error
			if *p, err = filepath.Abs(*p); err != nil {
				return nil, err
			}
		}
	}
	out := map[string]string{}
	add := func(name string, v any) error {
		b, err := yaml.Marshal(v)
		out[name] = string(b)
		return err
	}
	b, err := yaml.Marshal(&own)
	if err != nil {
		return nil, err
	}
	var keys map[string]any
	if err := yaml.Unmarshal(b, &keys); err != nil {
		return nil, err
	}
	for k, v := range keys {
		if err := add(k, v); err != nil {
			return nil, err
		}
	}
	for _, w := range f.Webs {
		path, err := filepath.Abs(w.Path)
		if err != nil {
			return nil, err
		}
		if err := add("budgets of web "+path, w.Budgets); err != nil {
			return nil, err
		}
		w.Path, w.Topics, w.Dev, w.Budgets = "", nil, nil, nil
		if err := add("web "+path, w); err != nil {
			return nil, err
		}
	}
	for _, j := range f.Judges {
		set := map[string]float64{}
		d, _ := f.own.Judge(j.Name)
		for _, x := range d.Settings {
			set[x.Name] = x.Default
		}
		maps.Copy(set, j.Set)
		if err := add("judge "+j.label(), []any{j.Name, set}); err != nil {
			return nil, err
		}
	}
	for _, s := range f.Scorers {
		if err := add("scorer "+s.label(), s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// lacking tells, before the first cell, of judges, scorers and likenesses that go by examples or
// keywords of topics that have none: their cells will fail.
func (r *runner) lacking(groups []*group) (notes []string) {
	bad := func(at string, g *group, why error) {
		notes = append(notes, fmt.Sprintf("%s: %s: %v; its cells fail", at, g.id(), why))
	}
	for _, g := range groups {
		if g.repeat > 0 {
			continue
		}
		t := written(g.t)
		for _, u := range g.examples() {
			if g.w.Has(u) {
				t.Examples = append(t.Examples, &web.Page{URL: u})
			}
		}
		for i, j := range r.Judges {
			if d, ok := r.own.Judge(j.Name); ok && !isCritic(j.Name) {
				for _, n := range d.Needs {
					if strings.HasPrefix(n.Path, "topic") && !n.Optional && n.Given != nil && !n.Given(judge.Options{Topic: t, Analyzer: g.w.words}) {
						bad(r.at("judges", fmt.Sprint(i)), g, d.Missing(n))
						break
					}
				}
			}
		}
		for i, s := range r.Scorers {
			if err := r.missing(s, t, g); err != nil {
				bad(r.at("scorers", fmt.Sprint(i)), g, err)
			}
		}
	}
	const most = 5 // of many topics the first tell enough
	if n := len(notes); n > most {
		notes = append(notes[:most], fmt.Sprintf("and so of %d others", n-most))
	}
	return notes
}

// missing is what a scorer lacks of a topic, nil if nothing.
func (r *runner) missing(s Scorer, t *topic.Topic, g *group) error {
	if n, ok := s.kind().Uses(score.InputKeywords, s.Set); ok && !n.Optional && n.Given != nil &&
		!n.Given(score.Options{Keywords: t.Keywords, Topic: t, Analyzer: g.w.words}) {
		return s.kind().Missing(n)
	}
	if s.Similarity == "" || s.Similarity == "judge" {
		return nil
	}
	if err := judge.CheckSimilarity(s.Similarity, t, g.w.words); err != nil {
		return fmt.Errorf("%s: %w", s.label(), err)
	}
	return nil
}
