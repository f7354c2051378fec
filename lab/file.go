// Package lab compares strategies on recorded webs: the same seeds, examples
// and budgets for each, measured against ground truth and against what was
// possible. A lab file says what to compare; a folder holds what came of it.
//
//	lab.yaml ─► cells: webs × topics × seeds × judges × scorers × repeats
//	                     │ simulated, on all cores, each a file of its own
//	                     ▼
//	          DIR/cells/*.json   the same inputs give the same bytes
//	          DIR/runs/*.json    with keep-runs, the crawls of the cells: their
//	                             pages in order, see eval.Run
//	          DIR/topics/*.json  what was possible on a topic, and its judges
//	          DIR/facts.json     what the run is made of, from its start on
//	          DIR/costs.tsv      times, which are never the same twice
//	                     │
//	                     ▼
//	          DIR/report.html, report.md, values.csv, curves.csv, plots/
//
// A run that was stopped goes on where it was: a cell that is there, made of
// the same inputs, is not made again. A cell that fails says why, in its file
// and in the report, and the others go on.
//
// # Repeats
//
// A topic is seen several times, so that its figures do not hang on one choice
// of seeds and examples. Repeat 0 is given all of them. Each other repeat is
// given two thirds: of the topic's seeds, and of its examples, in an order drawn
// once, a third is left out, the next third in the next repeat, and so round
// (one of two; none where there is but one). Its seed of chance is its number
// above the lab's. Seeds and examples are no hits in any repeat, left out or
// not, and the bounds U and G are those of the seeds that the repeat was given.
package lab

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/internal/yamlfile"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/sim"
	"github.com/waggle-crawler/waggle/train"
)

// File is what a lab file says. Where it names no default, there is none.
type File struct {
	Title    string   `yaml:"title"`
	Notes    []string `yaml:"notes"`
	Webs     []Web    `yaml:"webs"`
	Scorers  []Scorer `yaml:"scorers"`
	Judges   []Judge  `yaml:"judges"`  // default topic; truth is for diagnosis only
	Seeds    []string `yaml:"seeds"`   // near (default), far
	Hops     int      `yaml:"hops"`    // 1…4: seeds so many links from the next relevant page instead; 0 = the topic's
	Budgets  []int    `yaml:"budgets"` // default 300, 1000, 3000
	Repeats  int      `yaml:"repeats"` // default 1; each with other seeds, examples and chance
	Seed     uint64   `yaml:"seed"`    // of the first repeat
	Outside  string   `yaml:"outside"` // drop (default), fail, bounds
	HideHalf bool     `yaml:"hide-half"`
	// Ignore follows and counts pages that ask for neither (nofollow, noindex):
	// it is the record that is asked, not the sites.
	IgnoreDirectives bool `yaml:"ignore-directives"`
	// Fetch, Links and Topic say which documents are taken, where links come from, and what
	// counts, as a job file does.
	Fetch        Fetch     `yaml:"fetch,omitempty"`
	Links        Links     `yaml:"links,omitempty"`
	Topic        Wanted    `yaml:"topic,omitempty"`
	Network      Network   `yaml:"network"`
	Baseline     string    `yaml:"baseline"` // the scorer all others are compared with; default breadth-first, or the only one
	HeadMeasures []string  `yaml:"measures"` // of the main tables; default report.Headline()
	Thesaurus    Thesaurus `yaml:"thesaurus"`
	Critic       Critic    `yaml:"critic,omitempty"` // what the judge critic is taught
	Truth        string    `yaml:"truth"`            // web (default), read, silver: see readtruth.go
	// Examples are the web's (default) or read, Bad of them exchanged for bad ones.
	Examples     string `yaml:"examples"`
	BadExamples  int    `yaml:"bad-examples,omitempty"`
	ExampleCount *int   `yaml:"example-count,omitempty"` // so many of a topic's examples, drawn anew in each repeat; nil = all
	Pool         string `yaml:"pool,omitempty"`          // folder of the pool that was read
	Silver       string `yaml:"silver,omitempty"`        // file of silver grades
	Grade        int    `yaml:"grade,omitempty"`         // from which a page counts: 1 (default), 2
	// Noise is the share of pages, in [0,1], of which scorers are told the verdict of
	// another page: see noise.go.
	Noise float64 `yaml:"label-noise,omitempty"`
	// Keep keeps the pages of each crawl in their order, in runs/: for pools.
	KeepRuns bool `yaml:"keep-runs,omitempty"`

	name string
	doc  *yamlfile.File
	pool *readPool      // once opened
	own  job.Strategies // of the program

	documents parse.Documents // Options.Documents of the run
}

// Web is a recorded web of a lab.
type Web struct {
	Path    string     `yaml:"path"`    // of a recorded web, relative to the lab file
	Topics  []string   `yaml:"topics"`  // default all that have a truth
	Dev     []string   `yaml:"dev"`     // of these, those that settings were chosen on
	Budgets []int      `yaml:"budgets"` // instead of the lab's
	Train   *HostSplit `yaml:"train"`   // hosts that teach apart from those that are crawled

	given string // Path as the lab file has it, "" where it is the same
}

// Scorer is a strategy of a lab: a scorer's name, or a mapping with settings.
type Scorer struct {
	Name string             `yaml:"name"`
	As   string             `yaml:"as"`  // what results call it; default Name
	Set  map[string]float64 `yaml:"set"` // once read, every setting that it has
	// Similarity is the likeness to the topic that the scorer uses: judge (default); the cosine to the mean
	// of the examples, tf or tfidf; to the nearest of them, tf-max or
	// tfidf-max; or to the keywords alone, keywords or keywords-idf.
	Similarity string         `yaml:"similarity"`
	Train      *ModelTraining `yaml:"train"` // how the model of a scorer that needs one is taught
	Queue      int            `yaml:"queue"` // links that wait at most: the worst leave (Liu & Milios 2010 have 500); 0 = no limit
	// HostPages is how many pages a crawl fetches from one host at most (ACHE has 100 a domain); 0 = no limit.
	HostPages int `yaml:"host-pages,omitempty"`
	// After and Within name scorers of the lab on whose crawls this one builds.
	After  string `yaml:"after"`
	Within string `yaml:"within"`
	// Labels are those that a person gives during its crawls; nil = none.
	Labels *Labels `yaml:"labels,omitempty"`

	// Together are the workers that do its crawls; nil = one does.
	Together *Together `yaml:"together,omitempty"`

	own     []score.Description // of the program
	limited bool                // queue: was written
}

// kind describes the scorer; the zero Description is of one that is not known.
func (s Scorer) kind() score.Description {
	d, _ := score.Describe(s.Name, s.own...)
	return d
}

// Network is the simulated one. Zero = one worker, and no time passes.
type Network struct {
	Workers int      `yaml:"workers"`
	Delay   Duration `yaml:"delay"` // between requests to a host
	Median  Duration `yaml:"latency"`
	Spread  float64  `yaml:"spread"`
	// WaitForBetter is as budget.wait-for-better of a job file; nil = its default.
	WaitForBetter *Duration `yaml:"wait-for-better"`
}

// Duration is a time span, written as "500ms" or "5s".
type Duration time.Duration

// UnmarshalYAML reads a Duration; its errors name the line.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err == nil {
		*d = Duration(v)
		return nil
	}
	hint := "write it as 500ms or 5s"
	if _, err := strconv.ParseFloat(n.Value, 64); err == nil {
		hint = fmt.Sprintf("it has no unit: for seconds write %ss", n.Value)
	}
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: the time %q is not understood; %s", n.Line, n.Value, hint)}}
}

// MarshalYAML writes a Duration as it is read.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

func (d Duration) String() string { return time.Duration(d).String() }

// Thesaurus is where the semantic scorers look words up.
type Thesaurus struct {
	WordNet string `yaml:"wordnet"` // folder with WordNet's database files
	Table   string `yaml:"table"`   // or a table of one's own
}

func scorerKeys() []string {
	return []string{"name", "as", "set", "similarity", "queue", "host-pages", "train", "after", "within", "labels", "together"}
}

// UnmarshalYAML reads a scorer given by its name alone, or in full.
func (s *Scorer) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		s.Name = n.Value
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; !slices.Contains(scorerKeys(), k.Value) {
			hint := spelling.Hint(k.Value, scorerKeys())
			if k.Value == "model" { // as a job has
				hint = ": a lab teaches models itself, on what train: says at the webs and at the scorer"
			} else if hint == "" {
				hint = setHint(k.Value, n.Content[i+1].Value)
			}
			return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: a scorer has no key %q%s", k.Line, k.Value, hint)}}
		}
		s.limited = s.limited || n.Content[i].Value == "queue"
		if n.Content[i].Value == "labels" {
			for j, k := range n.Content[i+1].Content {
				if j%2 == 0 && !slices.Contains([]string{"count", "every", "ask", "wrong", "more"}, k.Value) {
					return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: labels have no key %q", k.Line, k.Value)}}
				}
			}
		}
	}
	type plain Scorer
	return n.Decode((*plain)(s))
}

// setHint tells where a key with a number stands that may be a setting; "" = it is none.
func setHint(key, value string) string {
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		return ""
	}
	return fmt.Sprintf("; settings stand under set: set: {%s: %s}", key, value)
}

// label is what results call the scorer.
func (s Scorer) label() string {
	if s.As != "" {
		return s.As
	}
	return s.Name
}

// Read reads and checks a lab file. Every error names its line. Paths in it
// are relative to its folder.
func Read(name string) (*File, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("lab file: %w", err)
	}
	return decode(name, b)
}

func decode(name string, b []byte) (*File, error) { return Parse(name, b, job.Strategies{}) }

// Parse makes a lab of YAML, and checks it; name is the file's, for errors. The
// lab may name the scorers and judges of own beside those of waggle.
func Parse(name string, b []byte, own job.Strategies) (*File, error) {
	f := &File{name: name, own: own}
	err := own.Check()
	if err != nil {
		return nil, err
	}
	if err := refuseJobKeys(name, b); err != nil {
		return nil, err
	}
	if f.doc, err = yamlfile.Decode(name, b, f, ""); err != nil {
		return nil, err
	}
	f.setDefaults()
	for i := range f.Scorers {
		f.Scorers[i].own = own.Scorers
		f.Scorers[i].applyPreset()
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	for i := range f.Scorers {
		f.Scorers[i].complete()
	}
	return f, nil
}

// complete puts the defaults of all settings into Set, so that the lab file
// kept with the results tells every constant in force.
func (s *Scorer) complete() {
	if s.Similarity == "" {
		s.Similarity = "judge"
	}
	settings := s.kind().Settings
	if len(settings) == 0 {
		s.Set = nil
		return
	}
	set := make(map[string]float64, len(settings))
	for _, x := range settings {
		set[x.Name] = x.Default
	}
	maps.Copy(set, s.Set)
	s.Set = set
}

// changed are the settings that are not their defaults.
func (s Scorer) changed() map[string]float64 {
	out := map[string]float64{}
	for _, x := range s.kind().Settings {
		if v, ok := s.Set[x.Name]; ok && v != x.Default {
			out[x.Name] = v
		}
	}
	return out
}

func (f *File) setDefaults() {
	if len(f.Judges) == 0 {
		f.Judges = []Judge{{Name: "topic"}}
	}
	if len(f.Seeds) == 0 {
		f.Seeds = []string{"near"}
	}
	if len(f.Budgets) == 0 {
		f.Budgets = []int{300, 1000, 3000}
	}
	if f.Repeats == 0 {
		f.Repeats = 1
	}
	if f.Outside == "" {
		f.Outside = sim.Drop.String()
	}
	f.Truth, f.Examples, f.Grade = cmp.Or(f.Truth, ofWeb), cmp.Or(f.Examples, ofWeb), cmp.Or(f.Grade, 1)
	if f.Baseline == "" {
		f.Baseline = "breadth-first"
		if len(f.Scorers) == 1 {
			f.Baseline = f.Scorers[0].label()
		}
	}
	if f.critics() {
		f.Critic.Background = cmp.Or(f.Critic.Background, defaultBackground)
	}
	dir := filepath.Dir(f.name)
	for _, path := range []*string{&f.Thesaurus.WordNet, &f.Thesaurus.Table, &f.Pool, &f.Silver} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for i := range f.Webs {
		w := &f.Webs[i]
		if w.Path != "" && !filepath.IsAbs(w.Path) {
			w.given, w.Path = w.Path, filepath.Join(dir, w.Path)
		}
		if len(w.Budgets) == 0 {
			w.Budgets = f.Budgets
		}
	}
}

// checkTraining finds what is wrong with how a model is to be taught.
func (f *File) checkTraining(at string, kind model.Kind, l *ModelTraining, bad func(at, format string, args ...any)) {
	i := slices.IndexFunc(train.Fitters(), func(x train.Fitter) bool { return x.Kind == kind })
	fitter := train.Fitters()[i]
	settings := fitter.Settings
	for _, key := range slices.Sorted(maps.Keys(l.Set)) {
		k := slices.IndexFunc(settings, func(x train.Setting) bool { return x.Name == key })
		if k < 0 {
			bad(at, "training %s has no setting %q%s; waggle train model --help names them", kind, key, setting.Near(settings, key))
		} else if wrong := settings[k].Wrong(l.Set[key]); wrong != "" {
			bad(at, "training %s: %s = %v %s", kind, key, l.Set[key], wrong)
		}
	}
	if err := fitter.CheckStates(l.States); err != nil {
		bad(at, "training %s: %v", kind, err)
	}
	if l.Sequences < 0 || l.Iterations < 0 || !(l.Variance >= 0) {
		bad(at, "training %s: sequences, iterations and variance are at least 0, which is their default", kind)
	}
	switch l.Features {
	case "", feature.All, feature.Words, feature.Similarity:
	default:
		bad(at, "training %s: features %q is none of all, words, similarity", kind, l.Features)
	}
}

// at names the line in which a value stands.
func (f *File) at(path ...string) string { return f.doc.At(path...) }

// check finds what is wrong before hours are spent.
func (f *File) check() error {
	var errs []error
	bad := func(at string, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
	if len(f.Webs) == 0 {
		bad(f.at(), "no webs: name at least one recorded web (waggle web build makes one)")
	}
	if len(f.Scorers) == 0 {
		bad(f.at(), "no scorers: waggle lab list names them")
	}
	labels := f.checkScorers(bad)
	f.checkBasis(bad)
	f.checkRead(bad)
	f.checkCritic(bad)
	unknown := slices.ContainsFunc(f.Scorers, func(s Scorer) bool { return s.kind().Name == "" })
	if len(f.Scorers) > 0 && !labels[f.Baseline] && !unknown { // which may be the baseline, misspelt
		bad(f.at("baseline"), "the baseline %q is not among the scorers%s: add it, or name another baseline", f.Baseline, spelling.Hint(f.Baseline, slices.Sorted(maps.Keys(labels))))
	}
	f.checkJudges(bad)
	if len(f.Seeds) > 1 {
		bad(f.at("seeds"), "near or far, one in a lab: a topic seen from both would count as two")
	}
	switch {
	case f.Hops < 0 || f.Hops > 4:
		bad(f.at("hops"), "hops: %d is outside 1…4; leave it out for the seeds of the topic", f.Hops)
	case f.Hops > 0 && slices.Contains(f.Seeds, "far"):
		bad(f.at("hops"), "hops: %d takes seeds of its own: leave out seeds: [far]", f.Hops)
	}
	if n := f.Network; n.Workers < 0 || n.Delay < 0 || n.Median < 0 || n.WaitForBetter != nil && *n.WaitForBetter < 0 || !(n.Spread >= 0 && n.Spread <= 5) {
		bad(f.at("network"), "workers, delay, latency and wait-for-better are at least 0, and spread lies in 0…5")
	}
	for i, s := range f.Seeds {
		if s != "near" && s != "far" {
			bad(f.at("seeds", strconv.Itoa(i)), "seeds %q: near or far", s)
		}
	}
	var measures []string
	for _, m := range eval.Measures() {
		measures = append(measures, m.Name)
	}
	for i, m := range f.HeadMeasures {
		if _, ok := eval.MeasureNamed(m); !ok {
			bad(f.at("measures", strconv.Itoa(i)), "there is no measure %q%s; waggle lab list names them", m, spelling.Hint(m, measures))
		}
		if slices.Contains(f.HeadMeasures[:i], m) {
			bad(f.at("measures", strconv.Itoa(i)), "the measure %s is named twice", m)
		}
	}
	if _, err := sim.ParseOutside(f.Outside); err != nil {
		bad(f.at("outside"), "%v", err)
	}
	f.checkWebs(bad)
	f.checkKinds(bad)
	if f.Repeats < 1 || f.Repeats > 1000 {
		bad(f.at("repeats"), "repeats: %d is outside 1…1000", f.Repeats)
	}
	return errors.Join(errs...)
}

// checkScorers finds what is wrong with the scorers, and returns what results call them.
func (f *File) checkScorers(bad func(at, format string, args ...any)) (labels map[string]bool) {
	labels = map[string]bool{}
	for i, s := range f.Scorers {
		at := f.at("scorers", strconv.Itoa(i))
		if now := renamed()[s.label()]; now != "" {
			bad(at, "%s is called %s", s.label(), now)
			continue
		}
		if s.kind().Name == "" {
			bad(at, "there is no scorer %q%s; waggle lab list names them", s.Name, spelling.Hint(s.Name, f.own.ScorerNames()))
			continue
		}
		if labels[s.label()] {
			bad(at, "two scorers are called %q: tell them apart by as:", s.label())
		}
		labels[s.label()] = true
		if s.Labels != nil {
			if wrong := s.Labels.check(); wrong != "" {
				bad(at, "%s: %s", s.label(), wrong)
			}
		}
		if s.Together != nil {
			if wrong := s.Together.check(); wrong != "" {
				bad(at, "%s: %s", s.label(), wrong)
			}
			if s.Labels != nil && s.Together.Workers > 1 {
				bad(at, "%s: labels are given to crawls by one worker", s.label())
			}
		}
		for key, v := range s.Set {
			at := f.at("scorers", strconv.Itoa(i), "set", key)
			if x, ok := s.kind().Setting(key); !ok {
				bad(at, "%s has no setting %q%s; waggle lab list names them", s.Name, key, setting.Near(s.kind().Settings, key))
			} else if wrong := x.Wrong(v); wrong != "" {
				bad(at, "%s: %s = %v %s", s.Name, key, v, wrong)
			}
		}
		if s.Queue < 0 || s.Queue > 100_000 {
			bad(at, "a queue of %d: give 1…100,000, or 0 for no limit", s.Queue)
		}
		if s.HostPages < 0 || s.HostPages > 1_000_000 {
			bad(at, "host-pages: %d: give 1…1,000,000, or 0 for no limit", s.HostPages)
		}
		switch kind := score.ModelOf(s.kind()); {
		case kind == "" && s.Train != nil:
			bad(at, "%s needs no training; waggle lab list tells which scorers do", s.Name)
		case kind != "":
			if s.Train != nil {
				f.checkTraining(at, kind, s.Train, bad)
				s.checkZeros(at, bad)
			}
			for k, w := range f.Webs {
				if w.Train == nil {
					n, _ := s.kind().Uses(score.InputModel, s.Set)
					bad(at, "%v; it is trained on other hosts than those that are crawled, and the web at %s is not parted", s.kind().Missing(n), f.at("webs", strconv.Itoa(k)))
				}
			}
		}
		if all := append([]string{"judge"}, judge.SimilarityKinds()...); s.Similarity != "" && !slices.Contains(all, s.Similarity) {
			bad(at, "similarity %q is none of %s%s", s.Similarity, strings.Join(all, ", "), spelling.Hint(s.Similarity, all))
		}
	}
	return labels
}

// checkBudgets finds what is wrong with the budgets that stand at a path of the file; inherited are
// those in force where none stand there.
func (f *File) checkBudgets(bad func(at, format string, args ...any), budgets []int, inherited string, path ...string) {
	if f.doc.Blank(path...) {
		bad(f.at(path...), "budgets: no number of pages: write budgets: [300, 1000], or leave the key out for %s", inherited)
	} else if err := eval.CheckBudgets(budgets); err != nil && f.doc.Has(path...) {
		bad(f.at(path...), "%v", err)
	}
}

// checkWebs finds what is wrong with what is said of the webs.
func (f *File) checkWebs(bad func(at, format string, args ...any)) {
	f.checkBudgets(bad, f.Budgets, "300, 1000, 3000", "budgets")
	paths := map[string]bool{}
	for i, w := range f.Webs {
		if paths[w.Path] {
			bad(f.at("webs", strconv.Itoa(i)), "the web %s is named twice", w.Path)
		}
		paths[w.Path] = true
	}
	for i, w := range f.Webs {
		if p := w.Train; p != nil {
			at := f.at("webs", strconv.Itoa(i), "train")
			if (p.Folds == "") == (len(p.Hosts) == 0) {
				bad(at, "train: either folds: (sites, a number of parts, same or same-but-hits) or hosts: that teach")
			}
			if p.Targets < 0 || p.Targets > 600 {
				bad(at, "train: %d targets: give 1…600, or leave it out for %d", p.Targets, defaultTargets)
			}
			if f.HideHalf {
				bad(at, "hide-half hides examples that a crawl could find; with train: none of them is where crawls go")
			}
		}
		f.checkBudgets(bad, w.Budgets, "those of the lab", "webs", strconv.Itoa(i), "budgets")
		if w.Path == "" {
			bad(f.at("webs", strconv.Itoa(i)), "a web without a path")
		}
	}
	for i, w := range f.Webs {
		for k, t := range w.Dev {
			if len(w.Topics) > 0 && !slices.Contains(w.Topics, t) {
				bad(f.at("webs", strconv.Itoa(i), "dev", strconv.Itoa(k)), "the topic %q is not among the topics of this web", t)
			}
		}
	}
}
