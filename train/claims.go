package train

import (
	"context"
	"math"
	"slices"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/guide"
	"github.com/waggle-crawler/waggle/learn/linear"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/learn/tagger"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// claimFolds is how many parts of the labelled sites are left out in turn, at most.
const claimFolds = 5

// claims learns which pages are goals, by all their words and by the path, and what that
// is worth on sites that taught nothing: each part of the sites is left out in turn, and
// its pages are scored by what the other parts teach. It returns nil where there is too
// little to learn from: no page of the record, a single site, or goals alone.
func claims(ctx context.Context, set []paths.Path, rec paths.Record, o FitOptions) (*model.Claims, error) {
	c, err := goalClassifier(ctx, set, rec, o)
	if c == nil || err != nil {
		return nil, err
	}
	var left leftOut
	parts := partsOf(set)
	for i, part := range parts {
		rest := slices.Concat(slices.Delete(slices.Clone(parts), i, i+1)...)
		by, err := goalClassifier(ctx, rest, rec, o)
		if err != nil {
			return nil, err
		}
		if by == nil {
			continue
		}
		field, err := fitField(ctx, rest, rec, o)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue // no goal is left, or a single state
		}
		if err := left.score(field, by, part, rec); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(left.goals, true) || !slices.Contains(left.goals, false) {
		return nil, nil
	}
	a, b := linear.Calibrate(left.scores, left.goals)
	if a > 0 { // scores were worse than none
		a = 0
	}
	c.Slope, c.Offset = -a, -b
	return c, nil
}

// partsOf parts paths by the sites they lead through, at most claimFolds parts.
func partsOf(set []paths.Path) (parts [][]paths.Path) {
	place := map[string]int{}
	for _, p := range set {
		if len(p.Steps) == 0 {
			continue
		}
		site := p.Steps[0].URL.Host().Domain()
		i, ok := place[site]
		if !ok {
			i = len(place) % claimFolds
			place[site] = i
			if i == len(parts) {
				parts = append(parts, nil)
			}
		}
		parts[i] = append(parts[i], p)
	}
	return parts
}

// goalClassifier is logistic regression over the words of the pages of paths: goals
// against all others. Each page counts once, as a goal if it is one of any path.
func goalClassifier(ctx context.Context, set []paths.Path, rec paths.Record, o FitOptions) (*model.Claims, error) {
	if rec == nil {
		return nil, nil
	}
	place := map[web.URL]int{}
	var documents [][]string
	var goals []bool
	count := [2]int{}
	for i := range set {
		for k, s := range set[i].States() {
			u := set[i].Steps[k].URL
			p, ok := rec.Page(u)
			if !ok {
				continue
			}
			d, seen := place[u]
			if !seen {
				d = len(documents)
				place[u] = d
				documents, goals = append(documents, model.ClaimWords(nil, p)), append(goals, false)
				count[0]++
			}
			if s == (paths.State{Label: paths.Goal}) && !goals[d] {
				goals[d] = true
				count[0]--
				count[1]++
			}
		}
	}
	if count[0] == 0 || count[1] == 0 {
		return nil, nil
	}
	c := &model.Claims{Words: feature.CountWords(len(documents), 1, func(i int) []string { return documents[i] }, nil)}
	var sequences []tagger.Sequence
	for d, words := range documents {
		v := sparse.Vector{{ID: 0, Value: 1}}
		seen := c.Words.Counts(words)
		for _, e := range seen {
			v = append(v, sparse.Entry{ID: e.ID + 1, Value: 1 / math.Sqrt(float64(len(seen)))})
		}
		sequences = append(sequences, tagger.Sequence{Positions: []tagger.Position{{State: v}}, States: []int{boolInt(goals[d])}})
	}
	shape := tagger.Shape{Kinds: []int{2}, Features: c.Words.Len() + 1, Allowed: []bool{true, true, true, true}}
	w, _, err := tagger.Train(ctx, sequences, shape, tagger.Options{Variance: o.Variance, Iterations: o.Iterations, Tolerance: o.Tolerance})
	if err != nil {
		return nil, err
	}
	c.Weights = make([]float64, shape.Features)
	for f := range c.Weights { // the log odds are the difference of the two states
		c.Weights[f] = float64(float32(w.State[f*2+1] - w.State[f*2]))
	}
	return c, nil
}

// leftOut are the scores of pages on sites that were left out, and which are goals.
type leftOut struct {
	scores []float64
	goals  []bool
}

// score adds the pages of paths, each once, by the first path to it.
func (l *leftOut) score(field *model.Paths, by *model.Claims, set []paths.Path, rec paths.Record) error {
	g, err := guide.New(&model.File{Kind: model.PathLearner, Payload: field}, guide.Options{})
	if err != nil {
		return err
	}
	place := map[web.URL]int{}
	for i := range set {
		var at guide.Place
		var before *web.Page
		for k, s := range set[i].States() {
			step := &set[i].Steps[k]
			p, ok := rec.Page(step.URL)
			if !ok {
				break
			}
			if k == 0 {
				at = g.Begin(p)
			} else {
				link, _ := followed(before, step)
				at = g.Follow(at, g.Link(link), p)
			}
			before = p
			d, seen := place[step.URL]
			if !seen {
				d = len(l.scores)
				place[step.URL] = d
				l.scores, l.goals = append(l.scores, g.ClaimScore(by, at, p)), append(l.goals, false)
			}
			l.goals[d] = l.goals[d] || s == paths.State{Label: paths.Goal}
		}
	}
	return nil
}
