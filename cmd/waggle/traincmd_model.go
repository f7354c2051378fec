package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/train/inspect"
)

// trainModelCmd is `waggle train model`.
type trainModelCmd struct {
	Dir   string `arg:"" optional:"" help:"Folder of a collected graph with its sequences; not for kind paths."`
	Out   string `short:"o" required:"" placeholder:"FILE" help:"The model file."`
	Kind  string `required:"" placeholder:"KIND" help:"What to learn: ${kinds}; or a preset of waggle lab list, such as lm10-crf, for its kind with the constants that its paper prints."`
	Force bool   `help:"Replace the file if it is there."`

	States       *int               `placeholder:"N" help:"Hop distances told apart (default 5); the last means that many or more. Not for contextgraph, rlspider, paths."`
	Features     string             `default:"all" placeholder:"SUBSET" help:"crf, memm: what is seen of pages: all (default), words, similarity."`
	MinPages     *int               `placeholder:"N" help:"crf, memm: pages in which a word must occur (default 3)."`
	Counts       bool               `help:"crf, memm: count the words of a page instead of noting them."`
	Surroundings bool               `help:"crf, memm: take the words around an anchor as well."`
	Variance     float64            `default:"10" placeholder:"X" help:"crf, memm, paths: variance of the prior on weights (default ${default})."`
	Iterations   *int               `placeholder:"N" help:"crf, memm, hmm2, paths: iterations of training at most (default: of the kind)."`
	Tolerance    *float64           `placeholder:"X" help:"crf, memm, hmm2, paths: end when the objective changes by less than this share (default: of the kind)."`
	Set          map[string]float64 `placeholder:"NAME=X" help:"A constant of the kind, listed above; may be repeated."`
	Seed         uint64             `placeholder:"N" help:"Seed of all random draws."`
	Workers      int                `placeholder:"N" help:"Cores to use (default: all); the model is the same."`

	trainPaths

	preset string // that Kind named; "" = none
}

// Help lists kinds and their constants.
func (trainModelCmd) Help() string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(out, "Kinds, with the constants that --set changes:\n\n")
	for _, f := range train.Fitters() {
		fmt.Fprintf(out, "  %s\t%s\n", f.Kind, f.Line)
		for _, s := range f.Settings {
			fmt.Fprintf(out, "    %s\t%s (default %v, %v…%v)\n", s.Name, s.Line, s.Default, s.Min, s.Max)
		}
	}
	out.Flush() // a strings.Builder takes everything
	return b.String()
}

// kindNames lists the kinds of model that can be trained.
func kindNames() string {
	var names []string
	for _, f := range train.Fitters() {
		names = append(names, string(f.Kind))
	}
	return strings.Join(names, ", ")
}

// Run fits.
func (c *trainModelCmd) Run(ctx context.Context, io streams) error {
	if err := vacant(c.Out, c.Force, append(c.Paths, train.GraphPath(c.Dir), train.SequencesPath(c.Dir))...); err != nil {
		return err
	}
	if err := c.applyPreset(io); err != nil {
		return exit{exitUsage, err}
	}
	if c.Variance == 0 { // what is not given has a default
		return exit{exitUsage, errors.New("--variance 0: give a number above 0")}
	}
	if isZero(c.States) || isZero(c.MinPages) || isZero(c.Iterations) || isZero(c.Tolerance) {
		return exit{exitUsage, errors.New("--states, --min-pages, --iterations, --tolerance: give a number above 0, or leave them out for the values of the kind")}
	}
	if err := c.fits(); err != nil {
		return exit{exitUsage, err}
	}
	subset := feature.Subset(c.Features)
	if subset != feature.All && subset != feature.Words && subset != feature.Similarity {
		return exit{exitUsage, fmt.Errorf("--features %s: there are %s, %s, %s", c.Features, feature.All, feature.Words, feature.Similarity)}
	}
	if c.Kind == string(model.PathLearner) {
		return c.fitPaths(ctx, io)
	}
	if c.Dir == "" {
		return exit{exitUsage, errors.New("missing DIR: the folder of a collected graph, which waggle train collect makes")}
	}
	g, err := loadGraph(ctx, c.Dir)
	if err != nil {
		return err
	}
	var sequences []train.Sequence
	for _, f := range train.Fitters() {
		if string(f.Kind) != c.Kind || f.Pages {
			continue
		}
		if sequences, err = train.LoadSequences(train.SequencesPath(c.Dir), g); err != nil {
			return exit{exitUsage, fmt.Errorf("%w %s", err, c.Dir)}
		}
	}
	meter := terminal.NewMeter(io.err)
	began := time.Now()
	f, err := train.Fit(ctx, model.Kind(c.Kind), g, sequences, train.FitOptions{
		States: given(c.States), Variance: c.Variance, Iterations: given(c.Iterations), Tolerance: given(c.Tolerance), Set: c.Set,
		Features: feature.Options{Subset: subset, MinPages: given(c.MinPages), Counts: c.Counts, Surroundings: c.Surroundings},
		Seed:     c.Seed, Workers: c.Workers, Version: version,
		Progress: func(i int, objective float64) { meter.Show(i, 0, fmt.Sprintf("iterations; objective %.6g", objective)) },
	})
	meter.End()
	switch {
	case ctx.Err() != nil:
		return exit{exitStopped, errors.New("stopped; nothing was written")}
	case err != nil:
		return exit{exitUsage, err}
	}
	if err := f.Write(c.Out); err != nil {
		return err
	}
	inspect.Fitted(io.out, c.Out, c.scorer(), f, g, time.Since(began))
	return nil
}

// applyPreset exchanges a preset for its kind of model and the constants that its
// paper prints, but for those given otherwise, and tells of these. It refuses what is no
// kind, and those whose models are not fitted to a graph or to paths.
func (c *trainModelCmd) applyPreset(io streams) error {
	p, ok := job.TrainingOf(c.Kind)
	switch {
	case slices.Contains(job.ApprenticeScorers(), c.Kind):
		return fmt.Errorf("models of %s are made of crawls that have ended, and not of a graph: take `%s --scorer %[1]s`", c.Kind, model.Apprentice.Command())
	case !ok:
		return c.unknown()
	}
	c.Kind, c.preset = string(p.Kind), p.Scorer
	counts := map[string]**int{"states": &c.States, "iterations": &c.Iterations}
	given := map[string]float64{}
	maps.Copy(given, c.Set)
	for name, n := range counts {
		if *n != nil {
			given[name] = float64(**n)
		}
	}
	values, told := p.Under(given)
	if c.Set == nil {
		c.Set = map[string]float64{}
	}
	for name := range p.Values {
		if n := int(values[name]); counts[name] != nil {
			*counts[name] = &n
		} else {
			c.Set[name] = values[name]
		}
	}
	for _, s := range told {
		fmt.Fprintf(io.err, "%s: %s\n", p.Scorer, s)
	}
	return nil
}

// unknown tells, of a kind that is none and no preset, which there are; nil of others.
func (c *trainModelCmd) unknown() error {
	kind := model.Kind(c.Kind)
	if slices.ContainsFunc(train.Fitters(), func(f train.Fitter) bool { return f.Kind == kind }) {
		return nil
	}
	_, err := train.Fit(context.Background(), kind, nil, nil, train.FitOptions{})
	if !slices.Contains(model.Kinds(), kind) {
		err = fmt.Errorf("%w; or one of the presets %s", err, strings.Join(job.TrainingPresets(), ", "))
	}
	return err
}

// scorer is the one to crawl by.
func (c *trainModelCmd) scorer() string {
	if c.preset != "" {
		return c.preset
	}
	return model.Kind(c.Kind).Scorer()
}

// fits tells of flags that are given and say nothing of the kind: whoever gives
// one expects another model of it.
func (c *trainModelCmd) fits() error {
	kind := model.Kind(c.Kind)
	chain, byPaths := kind == model.CRF || kind == model.MEMM, kind == model.PathLearner
	type flag struct {
		name        string
		given, says bool
	}
	flags := []flag{
		{"features", c.Features != string(feature.All), chain},
		{"min-pages", c.MinPages != nil, chain},
		{"counts", c.Counts, chain},
		{"surroundings", c.Surroundings, chain},
		{"variance", c.Variance != 10, chain || byPaths},
		{"iterations", c.Iterations != nil, chain || byPaths || kind == model.HMM2},
		{"tolerance", c.Tolerance != nil, chain || byPaths || kind == model.HMM2},
		{"paths", len(c.Paths) > 0, byPaths},
		{"task", c.Task != "", byPaths},
		{"web", c.Web != "", byPaths},
	}
	for _, f := range c.Given() {
		flags = append(flags, flag{f.Flag, true, byPaths})
	}
	for _, f := range flags {
		if f.given && !f.says {
			return fmt.Errorf("--%s says nothing of models of kind %s: leave it out; waggle train model --help tells what they have", f.name, kind)
		}
	}
	return nil
}

// given is the value of a flag, 0 for one that was left out.
func given[T int | float64](flag *T) (v T) {
	if flag != nil {
		v = *flag
	}
	return v
}

// isZero tells whether a flag was given as 0.
func isZero[T int | float64](flag *T) bool { return flag != nil && *flag == 0 }
