package job

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
)

// MakeJudge makes the judge, and first the topic.
func (m *Maker) MakeJudge(ctx context.Context) error {
	if err := m.begin(); err != nil || m.Judge != nil {
		return err
	}
	if err := m.MakeTopic(ctx); err != nil {
		return err
	}
	made, err := m.newJudge()
	if err != nil {
		return &Error{"judge", err}
	}
	m.Judge, m.closers = made, append(m.closers, made.Close)
	if m.Before != nil && m.Begun == nil && len(m.Job.Unjudged(*m.Before)) == 0 {
		return m.Before.InheritJudge(made)
	}
	return nil
}

func (m *Maker) newJudge() (judge.Judge, error) {
	j := &m.Job.Judge
	o := judge.Options{Topic: m.Topic, Set: j.Set, Analyzer: m.words(), Command: j.Command, Focus: j.Focus, Printed: j.Printed, Anyway: j.Anyway}
	if m.Job.byCritic() {
		if err := m.readCritic(); err != nil {
			return nil, err
		}
		o.Critic = m.critic
	}
	if j.Threshold != nil {
		o.Threshold = *j.Threshold
	}
	for _, r := range j.Rules {
		o.Rules = append(o.Rules, judge.Rule{Field: r.Field, Pattern: r.Pattern, Weight: r.Weight})
	}
	made, err := m.Job.judge().New(o)
	if d, ok := made.(judge.Doubter); ok {
		var doubts []string
		if doubts, err = d.Doubts(); err != nil && j.Anyway {
			doubts, err = []string{err.Error()}, nil
		}
		for _, note := range doubts {
			m.Note(note)
		}
	}
	if errors.Is(err, judge.ErrBlind) {
		err = fmt.Errorf("%w; or go by it all the same, with anyway: true at the judge of the job file", err)
	}
	if err != nil {
		if made != nil {
			err = errors.Join(err, made.Close())
		}
		return nil, err
	}
	return made, nil
}

// MakeScorer makes the scorer, and first the judge, which tells it how like the
// topic an anchor is. The scorer of a crawl that goes on knows nothing yet: the
// crawl restores it.
func (m *Maker) MakeScorer(ctx context.Context) error {
	if err := m.MakeJudge(ctx); err != nil || m.Scorer != nil {
		return err
	}
	if sim := m.Job.Scorer.Similarity; sim != "judge" {
		if err := m.MakeTopic(ctx); err != nil {
			return err
		}
	}
	if err := m.readFiles(); err != nil {
		return err
	}
	scorer, err := m.newScorer()
	if err != nil {
		return &Error{"scorer", err}
	}
	m.Scorer = scorer
	return nil
}

// scorerOptions are what the scorer is made of, but for what the judge tells.
func (m *Maker) scorerOptions() score.Options {
	j := &m.Job.Scorer
	o := score.Options{
		Seed: j.Seed, Analyzer: m.words(), Set: j.Set,
		Thesaurus: m.Thesaurus, Model: m.Model, Learn: m.Learn, Topic: m.Topic,
	}
	if m.Topic == nil {
		o.Topic = m.Job.written()
	}
	o.Keywords = o.Topic.Keywords
	if _, ok := m.Job.scorer().Setting("batch"); ok && j.Batch > 0 {
		o.Set = map[string]float64{"batch": float64(j.Batch)}
		maps.Copy(o.Set, j.Set)
	}
	return o
}

func (m *Maker) newScorer() (score.Scorer, error) {
	o := m.scorerOptions()
	o.Judge = m.Judge
	if known, ok := m.Judge.(judge.Judge); ok {
		o.Anchor, o.Taxonomy = known.Text, judge.ClassNames(known) != nil
	}
	if sim := m.Job.Scorer.Similarity; sim != "judge" {
		var err error
		if o.Page, o.Anchor, err = judge.Similarities(sim, m.Topic, m.words()); err != nil {
			return nil, err
		}
	}
	return m.Job.scorer().New(o)
}

// name is that of the scorer, which may be left to the default.
func (s *Scorer) name() string {
	if s.Name == "" {
		return DefaultScorer
	}
	return s.Name
}
