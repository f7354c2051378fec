// Package pathlab tries models of labelled paths on recorded sites, in the
// manner of Vydiswaran & Sarawagi 2005, section 4: how well pages along
// paths are named, and how soon goals are reached. Every site is tried in turn
// with what the others teach, and truth is the record's own labels, never a
// model's.
package pathlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/forage"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/learn/tagger"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// Trial is what is tried.
type Trial struct {
	Web     *corpus.Web
	Pages   *corpus.Pages
	Topics  []string // kinds of page sought, each in turn the goal
	Repeats int      // draws of paths
	// Goals and Wrong are how many paths teach, TestGoals and TestWrong how many
	// are named.
	Goals, Wrong, TestGoals, TestWrong int
	Budget                             int // pages of a foraged site
	Seed                               uint64

	links  *train.Backlinks
	labels map[web.URL]string
}

// fold is a site that is tried, with the paths that teach and those that are
// named.
type fold struct {
	topic        string
	site         string
	start        web.URL
	truth        map[web.URL]bool // of the site
	shown, other []paths.Path
}

// Check finds what keeps the trial, with these numbers of words read of a page, from being made.
func (t *Trial) Check(tokens []int) error {
	if t.Repeats < 1 || t.Goals < 1 || t.Wrong < 0 || t.Budget < 1 {
		return errors.New("at least one draw, one goal that teaches and one page of a site, and no fewer than 0 wrong turns")
	}
	for _, n := range tokens {
		if err := train.CheckPathOptions(train.FitOptions{Set: map[string]float64{"page-tokens": float64(n)}}); err != nil {
			return err
		}
	}
	for _, name := range t.Topics {
		if _, err := t.Web.Topic(name); err != nil {
			return err
		}
	}
	return nil
}

// open reads what is needed of the record.
func (t *Trial) open(ctx context.Context) (err error) {
	if t.labels, err = t.Web.Labels(); err != nil {
		return err
	}
	t.links, err = train.NewBacklinks(ctx, t.Web, t.Pages, true)
	return err
}

// folds makes the folds of all topics and repeats.
func (t *Trial) folds(ctx context.Context) (out []fold, err error) {
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	for _, name := range t.Topics {
		topic, err := t.Web.Topic(name)
		if err != nil {
			return nil, err
		}
		truth, err := t.Web.Truth(name)
		if err != nil {
			return nil, err
		}
		sites := map[string]web.URL{}
		for _, s := range topic.Seeds {
			if d := s.Host().Domain(); sites[d].IsZero() {
				sites[d] = s
			}
		}
		for _, site := range slices.Sorted(maps.Keys(sites)) {
			for repeat := range t.Repeats {
				f := fold{topic: name, site: site, start: sites[site], truth: map[web.URL]bool{}}
				chance := rand.New(rand.NewPCG(t.Seed+uint64(repeat), 0x666f6c64))
				var here, there []web.URL
				for u := range truth {
					if !t.Pages.Has(u) {
						continue
					}
					if u.Host().Domain() == site {
						here = append(here, u)
						f.truth[t.links.Resolve(u)] = true
					} else {
						there = append(there, u)
					}
				}
				for _, list := range [][]web.URL{here, there} {
					slices.SortFunc(list, func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) })
					chance.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				}
				o := train.ShowOptions{
					IsGoal: func(u web.URL) bool { return truth[u] }, Resolve: t.links.Resolve, Task: name, Seed: t.Seed + uint64(repeat),
					Label: func(u web.URL) string {
						if l := t.labels[u]; l != "other" && l != name {
							return l
						}
						return ""
					},
				}
				o.Starts, o.Goals, o.Wrong = nil, train.SpreadGoals(there, t.Goals), t.Wrong
				for d, s := range sites {
					if d != site {
						o.Starts = append(o.Starts, s)
					}
				}
				slices.SortFunc(o.Starts, func(a, b web.URL) int { return strings.Compare(a.String(), b.String()) })
				if f.shown, err = train.ShowPaths(ctx, t.Pages, o); err != nil {
					return nil, err
				}
				o.Starts, o.Goals, o.Wrong = []web.URL{sites[site]}, here[:min(len(here), t.TestGoals)], t.TestWrong
				if f.other, err = train.ShowPaths(ctx, t.Pages, o); err != nil {
					return nil, err
				}
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// Counts are how states were named, by name.
type Counts map[string]*[3]float64 // right, named, there

func (c Counts) add(is, named string) {
	for _, s := range []string{is, named} {
		if c[s] == nil {
			c[s] = &[3]float64{}
		}
	}
	c[is][2]++
	c[named][1]++
	if is == named {
		c[is][0]++
	}
}

// PRF is precision, recall and their harmonic mean, in [0,1].
type PRF struct{ P, R, F float64 }

func prf(p, r float64) PRF {
	if p+r == 0 {
		return PRF{}
	}
	return PRF{p, r, 2 * p * r / (p + r)}
}

// All is the mean over all states that there are (A); F is that of the means,
// as the paper's tables have it.
func (c Counts) All() PRF {
	p, r, n := 0., 0., 0.
	for _, s := range slices.Sorted(maps.Keys(c)) {
		if x := c[s]; x[2] > 0 {
			n++
			r += x[0] / x[2]
			if x[1] > 0 {
				p += x[0] / x[1]
			}
		}
	}
	return prf(p/n, r/n)
}

// Of is that of one state: (G) and (B) of Goal.
func (c Counts) Of(state string) PRF {
	x := c[state]
	if x == nil || x[1] == 0 || x[2] == 0 {
		return PRF{}
	}
	return prf(x[0]/x[1], x[0]/x[2])
}

// binary takes all labels but Goal for one.
func binary(set []paths.Path) []paths.Path {
	out := slices.Clone(set)
	for i := range out {
		out[i].Steps = slices.Clone(out[i].Steps)
		for k := range out[i].Steps {
			if s := &out[i].Steps[k]; s.Label != paths.Goal {
				s.Label = "irrelevant"
			}
		}
	}
	return out
}

// pathVectors is a path as vectors of a model's words.
type pathVectors struct {
	names []string
	pages []sparse.Vector
	links []sparse.Vector // to each page; nil for the first
	both  []sparse.Vector // page and link in one bag
}

func (t *Trial) see(m *model.Paths, p paths.Path) (s pathVectors) {
	p.Steps = slices.Clone(p.Steps)
	paths.Resolve(&p, t.Pages)
	for i, state := range p.States() {
		page, _ := t.Pages.Page(p.Steps[i].URL)
		v := m.Page(page)
		var link sparse.Vector
		if i > 0 {
			before, _ := t.Pages.Page(p.Steps[i-1].URL)
			for k := range before.Links {
				if l := &before.Links[k]; l.Position+1 == p.Steps[i].Link.Ordinal {
					link = m.Link(l)
				}
			}
		}
		bag := slices.Clone(v)
		if len(link) > 0 {
			bag = sparse.New(append(bag, link[1:]...))
		}
		s.names = append(s.names, state.String())
		s.pages, s.links, s.both = append(s.pages, v), append(s.links, link), append(s.both, bag)
	}
	return s
}

// namer names the pages of a path.
type namer func(s pathVectors) []string

// field names by the whole path, as model A or B does.
func field(m *model.Paths) namer {
	return func(s pathVectors) (out []string) {
		bias := sparse.Vector{{ID: 0, Value: 1}}
		var at []tagger.Position
		for i := range s.pages {
			arc := bias
			if i > 0 && m.Dual() {
				link := s.links[i]
				if link == nil {
					link = bias
				}
				at = append(at, tagger.Position{Kind: model.PathLink, State: link, Arc: bias})
			} else if i > 0 && s.links[i] != nil {
				arc = s.links[i]
			}
			at = append(at, tagger.Position{Kind: model.PathPage, State: s.pages[i], Arc: arc})
		}
		for i, y := range m.Field.Label(at) {
			if at[i].Kind == model.PathPage {
				out = append(out, m.States[y].String())
			}
		}
		return out
	}
}

// alone names each page by itself, without link or path.
func alone(m *model.Paths) namer {
	return func(s pathVectors) (out []string) {
		for _, v := range s.pages {
			y := m.Alone.Label([]tagger.Position{{Kind: model.PathPage, State: v}})[0]
			out = append(out, m.States[y].String())
		}
		return out
	}
}

// entropy and naive name each page by its words and those of the link to it,
// in one bag: the baselines of section 4.3.
func (t *Trial) entropy(ctx context.Context, m *model.Paths, shown []paths.Path) (namer, error) {
	n := len(m.States)
	shape := tagger.Shape{Kinds: []int{n}, Features: m.Words.Len() + 1, Allowed: slices.Repeat([]bool{true}, n*n)}
	var set []tagger.Sequence
	for _, p := range shown {
		s := t.see(m, p)
		var q tagger.Sequence
		for i, v := range s.both {
			q.Positions, q.States = append(q.Positions, tagger.Position{State: v}), append(q.States, stateOf(m, s.names[i]))
		}
		set = append(set, q)
	}
	w, _, err := tagger.Train(ctx, set, shape, tagger.Options{})
	if err != nil {
		return nil, err
	}
	return func(s pathVectors) (out []string) {
		for _, v := range s.both {
			out = append(out, m.States[w.Label([]tagger.Position{{State: v}})[0]].String())
		}
		return out
	}, nil
}

func (t *Trial) naive(m *model.Paths, shown []paths.Path) (namer, error) {
	var documents []sparse.Vector
	var classes []int
	for _, p := range shown {
		s := t.see(m, p)
		for i, v := range s.both {
			documents, classes = append(documents, v[1:]), append(classes, stateOf(m, s.names[i]))
		}
	}
	nb, err := bayes.Train(documents, classes, bayes.Options{Classes: len(m.States), Vocabulary: m.Words.Len() + 1})
	if err != nil {
		return nil, err
	}
	return func(s pathVectors) (out []string) {
		for _, v := range s.both {
			y, _, err := nb.Classify(v[1:])
			if err != nil {
				panic("pathlab: " + err.Error()) // counts are finite and not negative
			}
			out = append(out, m.States[y].String())
		}
		return out
	}, nil
}

func stateOf(m *model.Paths, name string) int {
	return slices.IndexFunc(m.States, func(s model.PathState) bool { return s.String() == name })
}

// Naming is how well one classifier named the pages of unseen sites.
type Naming struct {
	Tokens     int // of a page
	Classifier string
	Paths      int // shown, in the mean
	A, G, B    PRF
	// Paths taken for what they are, positive or not, of all: by the last page.
	Right float64
}

// Classifiers of Naming, in the order of its rows.
const (
	CRFB       = "CRF, model B"
	CRFA       = "CRF, model A"
	Entropy    = "maximum entropy"
	NaiveBayes = "naive Bayes"
	PageAlone  = "maximum entropy, page alone"
)

// Names is tables 2 and 3 of the paper: classifiers by how many tokens of a page are
// read.
func (t *Trial) Names(ctx context.Context, tokens []int, tell func(string)) ([]Naming, error) {
	folds, err := t.folds(ctx)
	if err != nil {
		return nil, err
	}
	return t.name(ctx, folds, tokens, tell)
}

// name names the pages of the other paths of each fold, by what those that were
// shown teach.
func (t *Trial) name(ctx context.Context, folds []fold, tokens []int, tell func(string)) ([]Naming, error) {
	var out []Naming
	for _, n := range tokens {
		many, two := map[string]Counts{}, map[string]Counts{}
		right, all, shown := map[string]float64{}, 0., 0
		for i, f := range folds {
			tell(fmt.Sprintf("%d tokens: site %d of %d, %s of %s", n, i+1, len(folds), f.topic, f.site))
			shown += len(f.shown)
			for _, task := range []struct {
				shown, other []paths.Path
				two          bool
				counts       map[string]Counts
			}{{f.shown, f.other, false, many}, {binary(f.shown), binary(f.other), true, two}} {
				namers, m, err := t.namers(ctx, task.shown, n)
				if err != nil {
					return nil, fmt.Errorf("%s of %s: %w", f.topic, f.site, err)
				}
				for _, p := range task.other {
					s := t.see(m, p)
					for name, do := range namers {
						if task.counts[name] == nil {
							task.counts[name] = Counts{}
						}
						named := do(s)
						for k, is := range s.names {
							task.counts[name].add(is, named[k])
						}
						if !task.two && (named[len(named)-1] == paths.Goal) == p.Positive() {
							right[name]++
						}
					}
				}
			}
			all += float64(len(f.other))
		}
		for _, name := range []string{CRFB, CRFA, Entropy, NaiveBayes, PageAlone} {
			out = append(out, Naming{
				Tokens: n, Classifier: name, Paths: shown / max(1, len(folds)),
				A: many[name].All(), G: many[name].Of(paths.Goal), B: two[name].Of(paths.Goal), Right: right[name] / math.Max(1, all),
			})
		}
	}
	return out, nil
}

// namers are all classifiers, taught by the same paths. The model tells their
// words.
func (t *Trial) namers(ctx context.Context, shown []paths.Path, tokens int) (map[string]namer, *model.Paths, error) {
	out := map[string]namer{}
	var m *model.Paths
	for _, dual := range []float64{0, 1} {
		f, err := train.FitPaths(ctx, shown, t.Pages, train.FitOptions{Set: map[string]float64{"dual": dual, "page-tokens": float64(tokens)}})
		if err != nil {
			return nil, nil, err
		}
		m = f.Payload.(*model.Paths)
		out[map[float64]string{0: CRFA, 1: CRFB}[dual]] = field(m)
	}
	out[PageAlone] = alone(m)
	var err error
	if out[Entropy], err = t.entropy(ctx, m, shown); err != nil {
		return nil, nil, err
	}
	out[NaiveBayes], err = t.naive(m, shown)
	return out, m, err
}

// Reach is how soon sites gave up their goals.
type Reach struct {
	Rewards string
	Join    guide.Join
	Sites   int     // foraged
	Found   int     // of these, with a true goal within the budget
	First   float64 // pages until then, in the mean over sites; the budget where there is none
	Claimed int     // sites with a page taken for a goal, of which
	Right   int     // the first is one
	Stopped float64 // pages until then, in the mean over these
	Goals   float64 // true goals within the budget, in the mean
	ByPath  PRF     // goals known as such among pages fetched, by the path
	Alone   PRF     // and by the page alone
}

// Reach forages the start page of each site until the budget is spent.
func (t *Trial) Reach(ctx context.Context, tell func(string)) ([]Reach, error) {
	folds, err := t.folds(ctx)
	if err != nil {
		return nil, err
	}
	var models []*model.File
	for _, f := range folds {
		file, err := train.FitPaths(ctx, f.shown, t.Pages, train.FitOptions{})
		if err != nil {
			return nil, err
		}
		models = append(models, file)
	}
	var out []Reach
	for _, printed := range []bool{false, true} {
		for _, join := range []guide.Join{guide.Max, guide.Sum, guide.NoisyOr} {
			r := Reach{Rewards: "vstd", Join: join}
			if printed {
				r.Rewards = "printed"
			}
			byPath, alone := Counts{}, Counts{}
			for i, f := range folds {
				tell(fmt.Sprintf("%s, %s: %s of %s", r.Rewards, join, f.topic, f.site))
				guide, err := guide.New(models[i], guide.Options{Printed: printed})
				if err != nil {
					return nil, err
				}
				first, stopped, right, goals, n := t.Budget, 0, false, 0, 0
				forager := &forage.Forager{
					Guide: guide, Join: join, Stop: forage.Never, Pages: t.Budget, Recorded: true,
					Fetcher: inside{t.Pages}, Parser: t.Pages,
					Listen: func(s forage.Seen) {
						n++
						is := f.truth[s.URL]
						if is {
							goals++
							first = min(first, n)
						}
						if s.Goal && stopped == 0 {
							stopped, right = n, is
						}
						page, _ := t.Pages.Page(s.URL)
						byPath.add(yes(is), yes(s.Goal))
						alone.add(yes(is), yes(guide.GoalAlone(page)))
					},
				}
				if _, err := forager.Site(ctx, f.start); err != nil {
					return nil, err
				}
				r.Sites++
				r.First += float64(first)
				r.Goals += float64(goals)
				if goals > 0 {
					r.Found++
				}
				if stopped > 0 {
					r.Claimed++
					r.Stopped += float64(stopped)
				}
				if right {
					r.Right++
				}
			}
			r.First /= float64(max(1, r.Sites))
			r.Goals /= float64(max(1, r.Sites))
			r.Stopped /= float64(max(1, r.Claimed))
			r.ByPath, r.Alone = byPath.Of("yes"), alone.Of("yes")
			out = append(out, r)
		}
	}
	return out, nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// inside is a record as its Pages give it.
type inside struct{ *corpus.Pages }

// Fetch fetches from the record.
func (i inside) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	return i.Pages.Fetch(ctx, u)
}

// WriteNaming writes a table, shares in percent.
func WriteNaming(w io.Writer, rows []Naming) {
	fmt.Fprintln(w, "| page tokens | classifier | paths | A: P | R | F1 | G: P | R | F1 | B: P | R | F1 | paths right |")
	fmt.Fprintln(w, "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	cell := func(x PRF) string { return fmt.Sprintf("%.1f | %.1f | %.1f", 100*x.P, 100*x.R, 100*x.F) }
	for _, r := range rows {
		fmt.Fprintf(w, "| %d | %s | %d | %s | %s | %s | %.1f |\n", r.Tokens, r.Classifier, r.Paths, cell(r.A), cell(r.G), cell(r.B), 100*r.Right)
	}
}

// WriteReach writes a table.
func WriteReach(w io.Writer, rows []Reach) {
	fmt.Fprintln(w, "| rewards | join | sites | with a goal found | pages to the first goal | goals in the budget | first page taken for a goal is one | pages until then | known by the path: P | R | F1 | by the page alone: P | R | F1 |")
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	cell := func(x PRF) string { return fmt.Sprintf("%.1f | %.1f | %.1f", 100*x.P, 100*x.R, 100*x.F) }
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %d | %d | %.1f | %.1f | %d of %d | %.1f | %s | %s |\n", r.Rewards, r.Join, r.Sites, r.Found, r.First, r.Goals, r.Right, r.Claimed, r.Stopped, cell(r.ByPath), cell(r.Alone))
	}
}
