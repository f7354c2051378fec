package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// Part parts a web into hosts that teach and hosts that are crawled, so that
// no model is tried on pages it was made of. What teaches is outside the
// record of the crawl, for every strategy alike; and the examples that all are
// shown are relevant pages of the hosts that teach.
//
// Two ways do not part it, and are for control: they teach where crawls go, as
// papers do that measure among the pages which taught.
type HostSplit struct {
	// Folds is "sites", to crawl each registrable domain in turn with what the
	// others teach; or a number N, to do the same with N parts of the domains,
	// by a hash of their names. A web of fewer than N domains is parted by its
	// host names instead: then hosts of one domain may be in two parts. "same"
	// teaches on all pages and crawls them all; "same-but-hits" does so too, but
	// leaves the relevant pages that are not shown out of what teaches, so that
	// no hit ever taught. Of both, up to half of the relevant pages are shown.
	Folds string `yaml:"folds,omitempty"`
	// Hosts teach, and all others are crawled: instead of folds. A name stands
	// for the hosts below it as well.
	Hosts []string `yaml:"hosts,omitempty"`
	// Targets are how many relevant pages of a topic are shown, at most: the
	// targets that models of hop distances are taught with, and everybody's
	// examples. Default 20 (Liu & Milios 2010 have 7 to 19).
	Targets int `yaml:"targets,omitempty"`
}

// ModelTraining says how a scorer's model is trained. The zero value of a field is the
// default of waggle train.
type ModelTraining struct {
	States     int            `yaml:"states,omitempty"`     // of hop distance; default 5
	Features   feature.Subset `yaml:"features,omitempty"`   // all, words, similarity
	Sequences  int            `yaml:"sequences,omitempty"`  // default 10000
	Variance   float64        `yaml:"variance,omitempty"`   // σ² of the prior; default 10
	Iterations int            `yaml:"iterations,omitempty"` // at most
	// Set changes constants of a kind of model; waggle train model --help names
	// them.
	Set map[string]float64 `yaml:"set,omitempty"`
	// Wrong is how many wrong turns a learner of paths is shown besides the ways
	// to the targets, -1 for none; default 4. Nobody else is shown what is not
	// wanted.
	Wrong int `yaml:"wrong-turns,omitempty"`
	// Milestones names pages on the way by the labels of the record
	// (labels.tsv), but for those called other and the topic itself.
	Milestones bool `yaml:"milestones,omitempty"`

	zeros []string // keys that were written with the value of those left out
}

// UnmarshalYAML reads a ModelTraining; its errors name the line.
func (l *ModelTraining) UnmarshalYAML(n *yaml.Node) error {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if k := n.Content[i]; !slices.Contains([]string{"states", "features", "sequences", "variance", "iterations", "set", "wrong-turns", "milestones"}, k.Value) {
			return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: training has no key %q", k.Line, k.Value)}}
		}
		if v := n.Content[i+1].Value; v == "0" || v == "false" {
			l.zeros = append(l.zeros, n.Content[i].Value)
		}
	}
	type plain ModelTraining
	return n.Decode((*plain)(l))
}

// changes tells what of a lesson is no default.
func (l *ModelTraining) changes() (parts []string) {
	add := func(name string, value any, given bool) {
		if given {
			parts = append(parts, fmt.Sprintf("%s %v", name, value))
		}
	}
	add("states", l.States, l.States != 0)
	add("features", l.Features, l.Features != "")
	add("sequences", l.Sequences, l.Sequences != 0)
	add("variance", l.Variance, l.Variance != 0)
	add("iterations", l.Iterations, l.Iterations != 0)
	add("wrong-turns", l.Wrong, l.Wrong != 0)
	add("milestones", l.Milestones, l.Milestones)
	for _, name := range slices.Sorted(maps.Keys(l.Set)) {
		add(name, l.Set[name], true)
	}
	return parts
}

// String says for readers of a report how a web is parted.
func (p *HostSplit) String() string {
	targets := cmp.Or(p.Targets, defaultTargets)
	how := "its hosts are in " + p.Folds + " parts, of which each is crawled"
	switch {
	case p.Folds == foldSame:
		return fmt.Sprintf("models are taught on the pages that are crawled; up to %d relevant pages, half of them at most, are shown to every strategy and are no hits", targets)
	case p.Folds == foldSameButHits:
		return fmt.Sprintf("models are taught on the pages that are crawled, but for the relevant ones that count; up to %d relevant pages, half of them at most, are shown to every strategy and are no hits", targets)
	case len(p.Hosts) > 0:
		return fmt.Sprintf("models are taught on %s, and all other hosts are crawled; up to %d relevant pages of the former are shown to every strategy", strings.Join(p.Hosts, ", "), targets)
	case p.Folds == foldSites:
		how = "each site is crawled"
	}
	return fmt.Sprintf("%s with models taught on the others; up to %d relevant pages of these are shown to every strategy", how, targets)
}

// fold is a part of a web that is crawled.
type fold struct {
	w    *labWeb
	name string // "" for a web that is not parted
	// crawled tells of a host whether crawls may go there; nil = everywhere.
	crawled func(web.Host) bool

	mu          sync.Mutex
	graph       *eval.Graph                  // of what is crawled; nil until load
	read        map[string]*eval.Reading     // by topic, of a truth that was read
	criticPages *criticPages                 // nil without a critic, and until load
	critics     map[int]func() trainedCritic // by repeat
}

const defaultTargets = 20

// Values of Part.Folds beside a number.
const (
	foldSites       = "sites"
	foldSame        = "same"
	foldSameButHits = "same-but-hits"
)

// folds parts a web as its lab file says.
func (w *labWeb) partition() ([]*fold, error) {
	p := w.spec.Train
	if p == nil || p.Folds == foldSame || p.Folds == foldSameButHits {
		return []*fold{{w: w}}, nil
	}
	hosts := map[web.Host]bool{}
	for u := range w.URLs() {
		hosts[u.Host()] = true
	}
	if len(p.Hosts) > 0 {
		teaches := func(h web.Host) bool {
			return slices.ContainsFunc(p.Hosts, func(name string) bool { return below(h, name) })
		}
		for _, name := range p.Hosts {
			found := false
			for h := range hosts {
				found = found || below(h, name)
			}
			if !found {
				return nil, fmt.Errorf("train: no page of %s is on the host %s", w.Name, name)
			}
		}
		return []*fold{{w: w, name: "rest", crawled: func(h web.Host) bool { return !teaches(h) }}}, nil
	}
	part := web.Host.Domain
	remedy := "name hosts: that teach"
	if p.Folds != foldSites {
		n, err := strconv.Atoi(p.Folds)
		if err != nil || n < 2 || n > 100 {
			return nil, fmt.Errorf("train: folds: %q: give sites, same, same-but-hits, or a number in 2…100, or hosts: that teach", p.Folds)
		}
		name := web.Host.Domain
		domains := map[string]bool{}
		for h := range hosts {
			domains[h.Domain()] = true
		}
		if len(domains) < n {
			name = web.Host.Name
			remedy = "name hosts: that teach, or give another number of folds"
		}
		part = func(h web.Host) string {
			return strconv.FormatUint(1+xxh3.HashString(name(h))%uint64(n), 10)
		}
	}
	parts := map[string]bool{}
	for h := range hosts {
		parts[part(h)] = true
	}
	if len(parts) < 2 {
		return nil, fmt.Errorf("train: all pages of %s are in one part, so that none is left to teach: %s", w.Name, remedy)
	}
	var out []*fold
	for name := range parts {
		out = append(out, &fold{w: w, name: name, crawled: func(h web.Host) bool { return part(h) == name }})
	}
	slices.SortFunc(out, func(a, b *fold) int { return compareNames(a.name, b.name) })
	return out, nil
}

// compareNames orders numbers as such.
func compareNames(a, b string) int {
	if len(a) != len(b) {
		if _, err := strconv.Atoi(a); err == nil {
			return len(a) - len(b)
		}
	}
	return slices.Compare([]byte(a), []byte(b))
}

// below tells whether a host is that of a name, or one below it.
func below(h web.Host, name string) bool {
	s := string(h)
	return s == name || len(s) > len(name) && s[len(s)-len(name)-1] == '.' && s[len(s)-len(name):] == name
}

// keeps tells whether crawls of the fold may have an address.
func (f *fold) keeps(u web.URL) bool { return f.crawled == nil || f.crawled(u.Host()) }

// topic is a topic as crawls of the fold are given it: seeds where they may
// go, examples where they may not. ok is false where there is nothing to
// crawl for: no seed, no relevant page, or none to be shown.
func (f *fold) topic(t corpus.Topic, far bool) (_ corpus.Topic, ok bool) {
	if f.w.spec.Train == nil {
		return t, true
	}
	elsewhere := func(u web.URL) bool { return !f.keeps(u) }
	t.Seeds = slices.DeleteFunc(slices.Clone(t.Seeds), elsewhere)
	t.SeedsFar = slices.DeleteFunc(slices.Clone(t.SeedsFar), elsewhere)
	var targets []web.URL
	relevant := 0
	for u := range f.w.truth[t.Name] {
		switch {
		case f.w.Status(u) != 200:
		case f.crawled != nil && f.keeps(u):
			relevant++
		default:
			targets = append(targets, u)
		}
	}
	// Which of them is a draw by address: as good as chance, and always the same.
	chance := func(u web.URL) uint64 { return xxh3.HashString(t.Name + " " + u.String()) }
	slices.SortFunc(targets, func(a, b web.URL) int {
		return cmp.Compare(chance(a), chance(b))
	})
	most := len(targets)
	if f.crawled == nil { // the other half is there to be found
		most /= 2
		relevant = len(targets) - most
	}
	t.Examples = targets[:min(cmp.Or(f.w.spec.Train.Targets, defaultTargets), most)]
	seeds := t.Seeds
	if far {
		seeds = t.SeedsFar
	}
	return t, len(seeds) > 0 && relevant > 0 && len(t.Examples) > 0
}

// teaches tells whether models may be taught by an address.
func (g *group) teaches(u web.URL) bool {
	switch g.w.spec.Train.Folds {
	case foldSame:
		return true
	case foldSameButHits:
		return !g.w.truth[g.t.Name][u] || slices.Contains(g.t.Examples, u)
	}
	return !g.fold.keeps(u)
}

// load makes the graph of what is crawled, once.
func (f *fold) load(ctx context.Context, r *runner) error {
	if err := f.w.load(ctx, r); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.graph != nil {
		return nil
	}
	o := eval.GraphOptions{IgnoreDirectives: r.IgnoreDirectives}
	if f.crawled != nil {
		o.Follows = func(_, to web.URL) bool { return f.keeps(to) }
	}
	r.walks(ctx, f.w, record{Pages: f.w.pages, fold: f}, &o)
	var err error
	if r.critics() && f.criticPages == nil {
		if f.criticPages, err = f.gather(r); err != nil {
			return err
		}
	}
	if f.graph, err = eval.WebGraph(f.w.Web, f.w.pages, o); err != nil {
		return err
	}
	f.read, err = f.readings(r)
	return err
}

// record is what crawls of a fold are fetched from: the rest of the web is not
// there.
type record struct {
	*corpus.Pages
	fold *fold
	only *train.Crawl // nil = all of it
}

func (r record) keeps(u web.URL) bool {
	return r.fold.keeps(u) && (r.only == nil || r.only.Asked(u))
}

func (r record) Has(u web.URL) bool { return r.keeps(u) && r.Pages.Has(u) }

func (r record) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if !r.keeps(u) {
		return web.NotRecorded(u), ctx.Err()
	}
	return r.Pages.Fetch(ctx, u)
}

// trainedModel is a model and the time it took.
type trainedModel struct {
	file *model.File
	took time.Duration
	err  error
}

// teach makes the model of a scorer, once for all scorers of a group that are
// taught alike.
func (g *group) teach(ctx context.Context, s Scorer) (*model.File, time.Duration, error) {
	kind := score.ModelOf(s.kind())
	key := fmt.Sprintf("%s %+v", kind, s.Train)
	g.teaching.Lock()
	once, ok := g.lessons[key]
	if !ok {
		once = sync.OnceValue(func() trainedModel { return g.lesson(ctx, kind, s.Train) })
		g.lessons[key] = once
	}
	g.teaching.Unlock()
	t := once()
	return t.file, t.took, t.err
}

// lesson collects the backward graph of a topic on the hosts that teach, draws
// sequences and fits a model. It keeps to one core, and its time is that of
// all of it: models share nothing.
func (g *group) lesson(ctx context.Context, kind model.Kind, l *ModelTraining) (t trainedModel) {
	defer func() {
		if p := recover(); p != nil {
			t.err = fmt.Errorf("panic: %v", p)
		}
	}()
	if l == nil {
		l = &ModelTraining{}
	}
	links, err := g.w.backlinks(ctx, g.IgnoreDirectives)
	if err != nil {
		return trainedModel{err: err}
	}
	g.progress(fmt.Sprintf("%s/%s: training %s", g.w.Name, g.t.Name, kind))
	began, beganIn := time.Now(), threadTime()
	if kind == model.PathLearner {
		if t.file, err = g.pathLesson(ctx, l, links); err != nil {
			return trainedModel{err: fmt.Errorf("training %s: %w", kind, err)}
		}
		t.took = threadTime() - beganIn
		return t
	}
	top := g.topic()
	graph, err := train.FromRecord(ctx, g.w.Web, g.w.pages, top, g.examples(), g.teaches, train.CollectOptions{
		IgnoreDirectives: g.IgnoreDirectives, Backlinks: links, Seed: g.chance(), Workers: 1,
	})
	if err != nil {
		return trainedModel{err: fmt.Errorf("training %s: %w", kind, err)}
	}
	sequences, err := graph.Sequences(ctx, train.SequenceOptions{Count: l.Sequences, Seed: g.chance()})
	if err != nil && !(errors.Is(err, train.ErrNoSequence) && pagesAlone(kind)) {
		return trainedModel{err: fmt.Errorf("training %s: %w", kind, err)}
	}
	t.file, err = train.Fit(ctx, kind, graph, sequences, train.FitOptions{
		States: l.States, Features: feature.Options{Subset: l.Features}, Variance: l.Variance,
		Iterations: l.Iterations, Set: l.Set, Workers: 1, Seed: g.chance(), Analyzer: g.w.words,
	})
	if err != nil {
		return trainedModel{err: fmt.Errorf("training %s: %w", kind, err)}
	}
	// Where the work was another thread's, the clock knows better.
	if t.took = threadTime() - beganIn; t.took < time.Since(began)/4 {
		t.took = time.Since(began)
	}
	return t
}

// modelFigures is what a model's file says of what taught it, and of what training chose by
// itself: its settings but for those that were given. nil without a model.
func modelFigures(f *model.File) map[string]float64 {
	if f == nil {
		return nil
	}
	p := f.Provenance
	out := map[string]float64{"sites": float64(len(p.Sites)), "pages": float64(p.Pages), "targets": float64(p.Targets), "sequences": float64(p.Sequences)}
	given := map[string]bool{"states": true, "seed": true, "variance": true, "min-pages": true}
	for _, x := range train.Fitters() {
		if x.Kind == f.Kind {
			for _, s := range x.Settings {
				given[s.Name] = true
			}
		}
	}
	for name, v := range p.Settings {
		if !given[name] && !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[name] = v
		}
	}
	return out
}

// pagesAlone tells whether models of a kind need no sequences.
func pagesAlone(kind model.Kind) bool {
	return slices.ContainsFunc(train.Fitters(), func(f train.Fitter) bool { return f.Kind == kind && f.Pages })
}

// pathLesson learns from the paths that pathsShown says. Nothing of the part that
// is crawled is looked at.
func (g *group) pathLesson(ctx context.Context, l *ModelTraining, links *train.Backlinks) (*model.File, error) {
	o, err := g.pathsShown(l, links)
	if err != nil {
		return nil, err
	}
	set, err := train.ShowPaths(ctx, g.w.pages, o)
	if err != nil {
		return nil, err
	}
	return train.FitPaths(ctx, set, g.w.pages, train.FitOptions{Variance: l.Variance, Iterations: l.Iterations, Set: l.Set, Seed: g.chance()})
}

// milestones tells whether labels of the record teach a scorer, or one that it builds on.
func (f *File) milestones(s Scorer) bool {
	if slices.ContainsFunc(s.basis(), func(label string) bool { return f.milestones(f.named(label)) }) {
		return true
	}
	return s.Train != nil && s.Train.Milestones
}

// pathsShown says which paths teach: the shortest ways from the start pages of
// the hosts that teach to the examples that all strategies are shown, with the
// labels of the record on the way if the lesson has milestones, and wrong turns.
func (g *group) pathsShown(l *ModelTraining, links *train.Backlinks) (train.ShowOptions, error) {
	o := train.ShowOptions{
		Goals: g.examples(), IsGoal: func(u web.URL) bool { return g.w.truth[g.t.Name][u] },
		Keep: g.teaches, Resolve: links.Resolve, Task: g.t.Name, Wrong: l.Wrong, Seed: g.chance(),
	}
	switch {
	case l.Wrong == 0:
		o.Wrong = 4
	case l.Wrong < 0:
		o.Wrong = 0
	}
	for _, t := range g.w.Topics {
		if t.Name == g.t.Name {
			o.Starts = t.Seeds
		}
	}
	if !l.Milestones {
		return o, nil
	}
	labels, err := g.w.Labels()
	o.Label = func(u web.URL) string {
		if name := labels[u]; name != "other" && name != g.t.Name {
			return name
		}
		return ""
	}
	return o, err
}
