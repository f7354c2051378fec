package job

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
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

// printed is the value that a preset, which the scorer may be, has for a setting of
// the job; ok is false where there is none.
func (j *Job) printed(s Setting) (v strategy.Printed, ok bool) {
	name := map[string]string{"scope.max-queue": strategy.Queue, "scorer.similarity": strategy.Similarity}[s.Path]
	if name == "" {
		return v, false
	}
	return j.scorer().Print.Value(strategy.OfCrawl, name)
}

// departures tell which values of the job and of a trained model, which may be nil,
// are not those of the preset that the scorer is.
func (j *Job) departures(trained *model.File) []string {
	d := j.scorer()
	return d.Print.Departures(func(v strategy.Printed) (string, bool) {
		switch {
		case v.Part == strategy.OfStrategy:
			x, ok := j.Scorer.Set[v.Name]
			return strategy.Printed{Value: x}.Text(), ok
		case v.Part == strategy.OfTraining && trained != nil:
			x, ok := trained.Provenance.Settings[v.Name]
			return strategy.Printed{Value: x}.Text(), ok
		}
		for _, s := range Settings() {
			if p, ok := j.printed(s); ok && p == v {
				return fmt.Sprint(s.field(j).Interface()), true
			}
		}
		return "", false
	})
}

// tellPreset notes what of a preset is not as printed, where it is one.
func (m *Maker) tellPreset() {
	d := m.Job.scorer()
	if d.Print == nil {
		return
	}
	for _, s := range m.Job.departures(m.Model) {
		m.Note(d.Name + ": " + s)
	}
}

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
