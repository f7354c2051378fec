package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/learn/optim"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/learn/tagger"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// Errors of FitPaths for paths that teach nothing.
var (
	ErrNoPath  = errors.New("there is no labelled path to learn from")
	ErrNoGoal  = errors.New("no path ends in Goal, so nothing tells what is sought")
	ErrNoPages = errors.New("the pages of the paths are needed: give the record they are in, or page-tokens=0 to learn from links alone")
)

// PathSettings are the constants of kind paths, changed by FitOptions.Set.
func PathSettings() []Setting {
	return []Setting{
		{Name: "dual", Default: 1, Max: 1, Whole: true, Line: "1 has states of pages and of links that alternate (model B), 0 one state a label (model A)"},
		{Name: "page-tokens", Default: 10, Max: 100_000, Whole: true, Line: "how many of a page's first words are read (the paper has 0, 10 and 100)"},
		{Name: "meta", Max: 1, Whole: true, Line: "1 reads the meta description and keywords of a page after its title, before its text"},
		{Name: "tagged", Default: 1, Max: 1, Whole: true, Line: "1 tells words of anchors, of what surrounds them and of addresses apart; 0 is one bag, as printed"},
		{Name: "gamma", Default: 0.9, Max: 1, Line: "discount of rewards"},
		{Name: "claims", Default: 1, Max: 1, Whole: true, Line: "1 learns to tell goals by all their words too, with each labelled site left out in turn, for --claim of waggle forage"},
	}
}

// pathFitters names the kind that is learnt from paths and not from a graph.
func pathFitters() []Fitter {
	return []Fitter{{
		Kind: model.PathLearner, Line: "labelled paths to goal pages, as a conditional random field (give --paths)", Paths: true, Settings: PathSettings(),
		fit: func(context.Context, *Graph, []Sequence, FitOptions) (*model.File, error) {
			return nil, errors.New("models of kind paths are learnt from labelled paths: give a file of them")
		},
	}}
}

// CheckPathOptions says what is wrong with options of FitPaths, so that it can be
// told before pages are fetched.
func CheckPathOptions(o FitOptions) error {
	_, err := pathOptions(o)
	return err
}

// pathOptions puts the defaults in force. What counts words, or says which model,
// is no fraction.
func pathOptions(o FitOptions) (FitOptions, error) {
	return pathFitters()[0].options(o)
}

// maxPathStates bounds the states of pages: each has one of links beside it, and
// weights for each state that may follow.
const maxPathStates = 512

// FitPaths learns from labelled paths, as paths.Check leaves them: a field over
// the states of pages and links, a classifier of each by itself, and what each
// state is worth. Pages are looked up in rec, which may be nil if no page tokens
// are read. Of o, Features and Analyzer say nothing here, and States is refused.
//
// The same paths and options give the same file. Source: Vydiswaran & Sarawagi
// 2005, sections 2.3 and 2.4, with Gaussian priors of variance 10, as the paper
// names no regulariser.
func FitPaths(ctx context.Context, set []paths.Path, rec paths.Record, o FitOptions) (*model.File, error) {
	o, err := pathOptions(o)
	if err != nil {
		return nil, err
	}
	f, err := fitPaths(ctx, set, rec, o)
	if err != nil {
		return nil, err
	}
	if o.Set["claims"] >= 0.5 {
		f.Payload.(*model.Paths).Claims, err = claims(ctx, set, rec, o)
	}
	return f, err
}

// fitField is the model alone, without claims.
func fitField(ctx context.Context, set []paths.Path, rec paths.Record, o FitOptions) (*model.Paths, error) {
	o.Progress = func(int, float64) {}
	f, err := fitPaths(ctx, set, rec, o)
	if err != nil {
		return nil, err
	}
	return f.Payload.(*model.Paths), nil
}

func fitPaths(ctx context.Context, set []paths.Path, rec paths.Record, o FitOptions) (*model.File, error) {
	t, err := newTrails(set, rec, o)
	if err != nil {
		return nil, err
	}
	m := t.model
	options := tagger.Options{Variance: o.Variance, Iterations: o.Iterations, Tolerance: o.Tolerance}
	options.Progress = func(i optim.Iteration) { o.Progress(i.Iteration, -i.Value) }
	field, trace, err := tagger.Train(ctx, t.sequences, t.shape, options)
	if err != nil {
		return nil, err
	}
	options.Progress = nil
	alone, _, err := tagger.Train(ctx, t.alone, aloneShape(len(m.States), t.shape.Features), options)
	if err != nil {
		return nil, err
	}
	// The file and the model just trained are to crawl alike, on any machine.
	for _, list := range [][]float64{field.State, field.Arc, alone.State} {
		for i, w := range list {
			list[i] = float64(float32(w))
		}
	}
	m.Field, m.Alone = field, alone
	m.Printed = printedRewards(field, t.sequences, m.Goal, o.Set["gamma"])
	m.Discounted = discountedRewards(t.labels, len(m.States), m.Goal, o.Set["gamma"])
	m.Onward = onward(t.labels, len(m.States))
	if m.Dual() {
		m.Discounted = slices.Concat(m.Discounted, m.Discounted)
	}
	f := &model.File{Kind: model.PathLearner, Payload: m, Provenance: t.provenance(set, o)}
	f.Provenance.Curve, f.Provenance.Status = trace.Curve, trace.Status.String()
	return f, nil
}

// aloneShape has states of pages and of links, and arcs that weigh nothing.
func aloneShape(states, features int) tagger.Shape {
	s := tagger.Shape{Kinds: []int{states, states}, Features: features, Allowed: make([]bool, 4*states*states)}
	for i := range s.Allowed {
		s.Allowed[i] = true
	}
	return s
}

// trails are paths as a field sees them.
type trails struct {
	model  *model.Paths // Words, States, …; not yet what is learnt
	shape  tagger.Shape
	number map[paths.State]int

	sequences []tagger.Sequence
	alone     []tagger.Sequence // as the classifier of single pages and links sees them
	labels    [][]int           // states of the pages of each path
	digest    []byte
}

// newTrails numbers states and words and observes pages and links.
func newTrails(set []paths.Path, rec paths.Record, o FitOptions) (*trails, error) {
	t := &trails{number: map[paths.State]int{}}
	set = slices.DeleteFunc(slices.Clone(set), func(p paths.Path) bool { return len(p.States()) == 0 })
	if len(set) == 0 {
		return nil, ErrNoPath
	}
	if task := set[0].Task; slices.ContainsFunc(set, func(p paths.Path) bool { return p.Task != task }) {
		return nil, errors.New("the paths are of several tasks, and a page can be the goal of one and none of another: choose one task")
	}
	tokens, tagged := int(o.Set["page-tokens"]), o.Set["tagged"] >= 0.5
	if rec == nil && tokens > 0 {
		return nil, ErrNoPages
	}
	dual := o.Set["dual"] >= 0.5
	m := &model.Paths{PageTokens: tokens, Meta: o.Set["meta"] >= 0.5, Tagged: tagged, Goal: -1, Fail: -1}
	t.model = m
	// States: of each label its prefix state where there is one, then its own.
	used := map[paths.State]bool{}
	for i := range set {
		for _, s := range set[i].States() {
			used[s] = true
		}
	}
	for _, l := range paths.Labels(set) {
		for _, s := range []paths.State{{Label: l, Prefix: true}, {Label: l}} {
			if !used[s] {
				continue
			}
			switch s {
			case paths.State{Label: paths.Goal}:
				m.Goal = len(m.States)
			case paths.State{Label: paths.Fail}:
				m.Fail = len(m.States)
			}
			t.number[s] = len(m.States)
			m.States = append(m.States, model.PathState{Label: s.Label, Prefix: s.Prefix})
		}
	}
	switch {
	case m.Goal < 0:
		return nil, ErrNoGoal
	case len(m.States) > maxPathStates:
		return nil, fmt.Errorf("%d labels make %d states, of at most %d: a label is for pages that are alike on every site, so use fewer", len(paths.Labels(set)), len(m.States), maxPathStates)
	case len(m.States) < 2:
		return nil, errors.New("every page of the paths is a Goal: show the pages on the way there, or a wrong turn")
	}
	w, err := t.walk(set, rec)
	if err != nil {
		return nil, err
	}
	m.Words = feature.CountWords(len(w.documents), 1, func(i int) []string { return w.documents[i] }, nil)
	t.observe(w, dual)
	if err := t.shape.Check(); err != nil {
		return nil, fmt.Errorf("%w: use fewer labels, fewer page-tokens, or states of links too (dual=1)", err)
	}
	return t, nil
}

// observations are the pages and links of paths, once each, as documents of
// tokens.
type observations struct {
	documents [][]string
	paths     []pathObservations
}

type pathObservations struct {
	pages  []int // documents
	links  []int // documents; one less than pages
	states []int // of pages
}

// walk collects the tokens of pages and links.
func (t *trails) walk(set []paths.Path, rec paths.Record) (*observations, error) {
	w := &observations{}
	m := t.model
	hash := sha256.New()
	pages, links := map[web.URL]int{}, map[string]int{}
	page := func(u web.URL) (int, *web.Page, error) {
		var p *web.Page
		if rec != nil {
			var ok bool
			if p, ok = rec.Page(u); !ok && m.PageTokens > 0 {
				return 0, nil, fmt.Errorf("%s is not in the record", u)
			}
		}
		d, ok := pages[u]
		if !ok {
			d = len(w.documents)
			pages[u] = d
			var tokens []string
			if p != nil {
				tokens = feature.PageTokens(nil, p, m.PageTokens, m.Meta)
			}
			w.documents = append(w.documents, tokens)
		}
		return d, p, nil
	}
	link := func(key string, l *web.Link) int {
		d, ok := links[key]
		if !ok {
			d = len(w.documents)
			links[key] = d
			w.documents = append(w.documents, feature.TrailTokens(nil, l, m.Tagged))
		}
		return d
	}
	for i := range set {
		states := set[i].States()
		var p pathObservations
		var before *web.Page
		for k, s := range states {
			step := &set[i].Steps[k]
			fmt.Fprintf(hash, "%s\t%s\t%s\t%d\n", step.URL, s, step.Link.Anchor, step.Link.Ordinal)
			d, now, err := page(step.URL)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", set[i].Place(), err)
			}
			if k > 0 {
				l, at := followed(before, step)
				from := set[i].Steps[k-1].URL
				p.links = append(p.links, link(fmt.Sprintf("%s %s %d %s", from, step.URL, at, l.Anchor), l))
			}
			p.pages = append(p.pages, d)
			p.states = append(p.states, t.number[s])
			before = now
		}
		hash.Write([]byte("\n"))
		w.paths = append(w.paths, p)
	}
	for _, d := range w.documents {
		fmt.Fprintf(hash, "%q\n", d)
	}
	t.digest = hash.Sum(nil)
	return w, nil
}

// followed finds the link of a step on the page before it, and its place there,
// −1 where it is not known: then it is made of what the step tells.
func followed(before *web.Page, s *paths.Step) (*web.Link, int) {
	to := s.URL
	if !s.Link.Via.IsZero() {
		to = s.Link.Via
	}
	var best *web.Link
	if before != nil {
		for i := range before.Links {
			l := &before.Links[i]
			if l.URL != to {
				continue
			}
			if l.Position+1 == s.Link.Ordinal {
				return l, l.Position
			}
			if best == nil || best.Anchor != s.Link.Anchor && (l.Anchor == s.Link.Anchor || best.Anchor == "" && l.Anchor != "") {
				best = l
			}
		}
	}
	if best != nil {
		return best, best.Position
	}
	return &web.Link{URL: to, Anchor: s.Link.Anchor}, -1
}

// observe makes sequences of vectors. In model B pages and links take turns,
// and arcs carry the bias alone; in model A the link to a page lies on the arc.
func (t *trails) observe(w *observations, dual bool) {
	m, n := t.model, len(t.model.States)
	bias := sparse.Vector{{ID: 0, Value: 1}}
	vectors := make([]sparse.Vector, len(w.documents))
	for i, tokens := range w.documents {
		vectors[i] = slices.Clone(bias)
		for _, e := range m.Words.Counts(tokens) {
			vectors[i] = append(vectors[i], sparse.Entry{ID: e.ID + 1, Value: 1})
		}
	}
	words := m.Words.Len() + 1
	t.shape = tagger.Shape{Kinds: []int{n}, Features: words, ArcFeatures: words, Allowed: make([]bool, n*n)}
	for i := range t.shape.Allowed {
		t.shape.Allowed[i] = true
	}
	if dual {
		t.shape = tagger.Shape{Kinds: []int{n, n}, Features: words, ArcFeatures: 1, Allowed: make([]bool, 4*n*n)}
		for i := range n {
			for j := range n {
				t.shape.Allowed[i*2*n+n+j] = true // from a page any link may lead on
			}
			t.shape.Allowed[(n+i)*2*n+i] = true // and to the page that it was taken for
		}
	}
	both := func(p pathObservations) (q tagger.Sequence) {
		for k, d := range p.pages {
			q.Positions = append(q.Positions, tagger.Position{Kind: model.PathPage, State: vectors[d], Arc: bias})
			q.States = append(q.States, p.states[k])
			if k < len(p.links) {
				q.Positions = append(q.Positions, tagger.Position{Kind: model.PathLink, State: vectors[p.links[k]], Arc: bias})
				q.States = append(q.States, n+p.states[k+1])
			}
		}
		return q
	}
	for _, p := range w.paths {
		t.labels = append(t.labels, p.states)
		b := both(p)
		t.alone = append(t.alone, b)
		if dual {
			t.sequences = append(t.sequences, b)
			continue
		}
		var q tagger.Sequence
		for k, d := range p.pages {
			at := tagger.Position{State: vectors[d]}
			if k > 0 {
				at.Arc = vectors[p.links[k-1]]
			}
			q.Positions, q.States = append(q.Positions, at), append(q.States, p.states[k])
		}
		t.sequences = append(t.sequences, q)
	}
}

// provenance tells of paths what a model file says of them.
func (t *trails) provenance(set []paths.Path, o FitOptions) model.Provenance {
	p := model.Provenance{
		Waggle: o.Version, Topic: set[0].Task, TrainingSet: hex.EncodeToString(t.digest),
		Sequences: len(t.sequences), States: make([]int, len(t.model.States)),
		Settings: map[string]float64{"variance": o.Variance, "seed": float64(o.Seed), "words": float64(t.model.Words.Len())},
		Texts:    map[string]string{"model": "A"},
	}
	if len(t.shape.Kinds) == 2 {
		p.Texts["model"] = "B"
	}
	maps.Copy(p.Settings, o.Set)
	hosts, pages, goals := map[web.Host]bool{}, map[web.URL]bool{}, map[web.URL]bool{}
	for i := range set {
		for k, s := range set[i].States() {
			u := set[i].Steps[k].URL
			hosts[u.Host()], pages[u] = true, true
			if s.Label == paths.Goal && !s.Prefix {
				goals[u] = true
			}
			p.States[t.number[s]]++
		}
	}
	p.Sites = slices.SortedFunc(maps.Keys(hosts), func(a, b web.Host) int { return cmp.Compare(a, b) })
	p.Pages, p.Targets = len(pages), len(goals)
	return p
}
