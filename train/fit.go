package train

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/web"
)

// Errors of Fit for training sets that teach nothing.
var (
	ErrOneClass = errors.New("all pages of the training set have the same state, so there is nothing to tell apart; collect more layers")
	ErrNoState  = errors.New("no training page has a target's state")
)

// FitOptions say how a model is fitted. The zero value of a field is its
// default.
type FitOptions struct {
	// States is k, the number of hidden states T0…Tk−1, 2…50; default 5, one a
	// layer; section 2.1.2 of Liu & Milios 2010 has 4. Kinds without hop distances
	// refuse it.
	States int
	// Features says what is observed of pages and links, for the kinds crf and
	// memm.
	Features feature.Options
	// Variance is σ² of the Gaussian prior on weights, for crf and memm; default
	// 10, as the paper gives none.
	Variance float64
	// Iterations bounds the iterations of training; 0 = the kind's own bound.
	Iterations int
	// Tolerance ends training when the objective changes by no more than this
	// share of itself; 0 = the kind's own.
	Tolerance float64
	// Set changes constants of a kind; Fitters names them.
	Set map[string]float64
	// Workers bounds the cores used, which changes nothing else; 0 = all.
	Workers int
	Seed    uint64
	// Analyzer makes terms of texts, as the parser's did; nil = a new one.
	Analyzer *text.Analyzer
	// Version of the program, for the model's provenance.
	Version string
	// Progress is told of each iteration and the objective after it, which
	// grows; it may be nil. One goroutine calls it.
	Progress func(iteration int, objective float64)
}

// Setting is a constant of a kind of model, changed by FitOptions.Set.
type Setting = setting.Setting

// Fitter fits models of one kind.
type Fitter struct {
	Kind     model.Kind
	Line     string // what it learns, for people
	Settings []Setting
	// Pages says that it learns from the graph alone and needs no sequences.
	Pages bool
	// Stateless says that its model knows no hop distances: FitOptions.States is
	// refused, and its file does not tell of states.
	Stateless bool
	// Paths says that it learns from labelled paths instead, see FitPaths.
	Paths bool
	// fit gets options with every default in force, and Set with a value for
	// each of Settings. Of the file's provenance it gives what only it knows:
	// Curve, Status, and Settings and Texts of its own.
	fit func(ctx context.Context, g *Graph, sequences []Sequence, o FitOptions) (*model.File, error)
}

// Fitters lists the kinds of model that can be fitted.
func Fitters() []Fitter {
	return slices.Concat(chainFitters(), markovFitters(), contextFitters(), spiderFitters(), pathFitters())
}

// Fit learns a model of a kind from a graph and from sequences drawn from it.
// The same graph, sequences, options and seed give the same file, on any number
// of cores. Errors say what to do: a kind or setting that is none, a training
// set that teaches nothing (ErrNoSequence, ErrOneClass, ErrNoState), a
// vocabulary that matches nothing; or are ctx's.
func Fit(ctx context.Context, kind model.Kind, g *Graph, sequences []Sequence, o FitOptions) (*model.File, error) {
	fitters := Fitters()
	i := slices.IndexFunc(fitters, func(f Fitter) bool { return f.Kind == kind })
	if i < 0 {
		return nil, unfitted(kind)
	}
	f := fitters[i]
	o, err := f.options(o)
	if err != nil {
		return nil, err
	}
	if f.Pages {
		sequences = nil
	}
	p := g.provenance(sequences, o)
	switch {
	case !f.Pages && len(sequences) == 0:
		return nil, ErrNoSequence
	case p.States[0] == 0:
		return nil, ErrNoState
	case p.States[0] == sum(p.States):
		return nil, ErrOneClass
	}
	file, err := f.fit(ctx, g, sequences, o)
	if err != nil {
		return nil, err
	}
	if f.Stateless {
		p.States = nil
		if _, own := o.Set["states"]; !own {
			delete(p.Settings, "states")
		}
	}
	own := file.Provenance
	p.Curve, p.Status = own.Curve, own.Status
	maps.Copy(p.Settings, own.Settings)
	maps.Copy(p.Texts, own.Texts)
	file.Kind, file.Provenance = kind, p
	return file, nil
}

// unfitted says of a kind that cannot be fitted how its models are made, or which kinds there are.
func unfitted(kind model.Kind) error {
	if slices.Contains(model.Kinds(), kind) {
		return fmt.Errorf("models of kind %s are made of crawls that have ended, and not of a graph: take `%s`", kind, kind.Command())
	}
	var names []string
	for _, f := range Fitters() {
		names = append(names, string(f.Kind))
	}
	return fmt.Errorf("no kind of model is called %q; there are: %s; and %s, which `%s` and `%s` make of crawls", kind, strings.Join(names, ", "),
		model.Apprentice+" and "+model.Waggle, model.Apprentice.Command(), model.Waggle.Command())
}

// options puts the defaults in force and checks what is given.
func (f Fitter) options(o FitOptions) (FitOptions, error) {
	if err := f.CheckStates(o.States); err != nil {
		return o, err
	}
	o.States = cmp.Or(o.States, Layers)
	o.Variance = cmp.Or(o.Variance, 10)
	o.Features.Subset = cmp.Or(o.Features.Subset, feature.All)
	if o.Analyzer == nil {
		o.Analyzer = text.NewAnalyzer()
	}
	o.Features.Analyzer = o.Analyzer
	if o.Progress == nil {
		o.Progress = func(int, float64) {}
	}
	switch {
	case !(o.Variance > 0 && o.Variance <= 1e9):
		return o, fmt.Errorf("variance %v: give a number above 0; the default is 10", o.Variance)
	case o.Iterations < 0 || o.Iterations > 1_000_000:
		return o, fmt.Errorf("%d iterations: give 1 to 1,000,000", o.Iterations)
	case !(o.Tolerance >= 0 && o.Tolerance < 1):
		return o, fmt.Errorf("tolerance %v: give a number from 0 on and below 1", o.Tolerance)
	}
	set, err := setting.Complete(f.Settings, o.Set)
	if err != nil {
		return o, fmt.Errorf("kind %s: %w", f.Kind, err)
	}
	o.Set = set
	return o, nil
}

// CheckStates tells what is wrong with a number of states, 0 for none given.
func (f Fitter) CheckStates(n int) error {
	switch {
	case n != 0 && (f.Stateless || f.Paths):
		return fmt.Errorf("%d states: models of kind %s know no hop distances; leave the states out; they have %s", n, f.Kind, setting.Names(f.Settings))
	case n != 0 && (n < 2 || n > 50):
		return fmt.Errorf("%d states: give 2 to 50", n)
	}
	return nil
}

// provenance tells of a training set what a model file says of it. Labels are
// counted over sequences, or over pages where there are none.
func (g *Graph) provenance(sequences []Sequence, o FitOptions) model.Provenance {
	digest := g.Digest(sequences)
	p := model.Provenance{
		Waggle: o.Version, Topic: g.Topic.Name, TrainingSet: hex.EncodeToString(digest[:]),
		Pages: len(g.Nodes), Sequences: len(sequences),
		States:   make([]int, o.States),
		Settings: map[string]float64{"states": float64(o.States), "seed": float64(o.Seed)},
		Texts:    map[string]string{},
	}
	maps.Copy(p.Settings, o.Set)
	sites := map[web.Host]bool{}
	for _, n := range g.Nodes {
		sites[n.URL.Host()] = true
		if n.Target {
			p.Targets++
		}
	}
	p.Sites = slices.Sorted(maps.Keys(sites))
	if len(sequences) == 0 {
		p.States = g.StateSizes(o.States)
	}
	for _, s := range sequences {
		for _, label := range g.Labels(s, o.States) {
			p.States[label]++
		}
	}
	return p
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
