package job

import (
	"cmp"
	"errors"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
)

// Strategies are the scorers and judges of a program, which its job files may
// name beside those of waggle. The zero Strategies are none.
type Strategies struct {
	Scorers []score.Description
	Judges  []judge.Description
}

// Check finds descriptions that cannot be used.
func (s Strategies) Check() error {
	return errors.Join(strategy.CheckOwn(s.Scorers, score.Descriptions()), strategy.CheckOwn(s.Judges, judge.Descriptions()))
}

// Scorer is the description of that name, of waggle or of the program; "" is
// DefaultScorer.
func (s Strategies) Scorer(name string) (score.Description, bool) {
	if name == "" {
		name = DefaultScorer
	}
	return score.Describe(name, s.Scorers...)
}

// Judge is the description of that name, of waggle or of the program; "" is the
// default.
func (s Strategies) Judge(name string) (judge.Description, bool) {
	return judge.Describe(name, s.Judges...)
}

// ScorerNames are all names of scorers, those of waggle first.
func (s Strategies) ScorerNames() []string {
	return strategy.Names(score.Descriptions(), s.Scorers)
}

// JudgeNames are all names of judges, those of waggle first.
func (s Strategies) JudgeNames() []string {
	return strategy.Names(judge.Descriptions(), s.Judges)
}

// choices are all values of a setting; nil where they cannot be listed.
func (s Strategies) choices(of Setting) []string {
	switch of.Path {
	case "scorer.name":
		return s.ScorerNames()
	case "judge.name":
		return s.JudgeNames()
	}
	return of.Choices
}

// scorer is the description of the job's scorer. The zero Description is of a
// scorer that is not known.
func (j *Job) scorer() score.Description {
	d, _ := j.strategies.Scorer(j.Scorer.Name)
	return d
}

// judge is the description of the job's judge. The zero Description is of a
// judge that is not known.
func (j *Job) judge() judge.Description {
	d, _ := j.strategies.Judge(j.Judge.Name)
	return d
}

// takesCritic tells whether the judge can use a trained critic.
func (j *Job) takesCritic() bool {
	_, ok := j.judge().Uses(judge.InputCritic, j.Judge.Set)
	return ok
}

// byCritic tells whether the judge uses the trained critic that the job names.
func (j *Job) byCritic() bool { return j.takesCritic() && j.Judge.Critic != "" }

// checkScorer finds what the scorer lacks, before anything is fetched: an *Error
// at the setting that gives it. o holds the options known so far.
func (m *Maker) checkScorer(o score.Options) error {
	err := m.Job.scorer().Check(o)
	var missing *strategy.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	return &Error{cmp.Or(missing.Path, "scorer"), missing}
}
