package crawls

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/model"
)

// learner is a scorer that can hand on what it learnt.
type learner interface {
	Restore(state []byte) error
	Learnt() *model.Weights
}

// Weights is the model of what the scorer of a crawl learnt. version is the program's.
func Weights(ctx context.Context, dir, version string) (_ *model.File, err error) {
	col := collection.At(dir)
	if !col.Begun() {
		return nil, noCrawl(dir)
	}
	j, err := job.Read(col.JobFile())
	if err != nil {
		return nil, err
	}
	m := &job.Maker{Job: j, Begun: &col}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := m.MakeScorer(ctx); err != nil {
		return nil, err
	}
	s, ok := m.Scorer.(learner)
	if !ok {
		return nil, fmt.Errorf("the scorer of %s, %s, has nothing that another crawl could begin with: crawl with --scorer waggle", dir, j.Scorer.Name)
	}
	state, err := col.ScorerState()
	if err == nil {
		err = s.Restore(state)
	}
	if err != nil {
		return nil, err
	}
	f := &model.File{Kind: model.Waggle, Payload: s.Learnt(), Provenance: model.Provenance{Waggle: version, Topic: j.Name, Texts: j.Aim()}}
	sites := map[string]bool{}
	for e, err := range col.Fetched() {
		if err != nil {
			return nil, err
		}
		f.Provenance.Pages++
		if e.Relevant {
			f.Provenance.Targets++
		}
		if h := e.URL.Host(); !sites[string(h)] {
			sites[string(h)] = true
			f.Provenance.Sites = append(f.Provenance.Sites, h)
		}
	}
	if f.Provenance.Pages == 0 {
		return nil, fmt.Errorf("%s has taught nothing yet: no page was fetched", dir)
	}
	slices.Sort(f.Provenance.Sites)
	return f, nil
}
