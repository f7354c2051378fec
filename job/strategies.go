package job

import (
	"errors"
	"slices"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
)

// Strategies are the scorers and judges of a program, which its job files may
// name beside those of waggle. The zero Strategies are none.
type Strategies struct {
	Scorers []score.Description
	Judges  []judge.Description
}

// Check finds descriptions that cannot be used.
func (s Strategies) Check() error {
	return errors.Join(score.CheckOwn(s.Scorers), judge.CheckOwn(s.Judges))
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
func (s Strategies) ScorerNames() (names []string) {
	for _, d := range slices.Concat(score.Descriptions(), s.Scorers) {
		names = append(names, d.Name)
	}
	return names
}

// JudgeNames are all names of judges, those of waggle first.
func (s Strategies) JudgeNames() (names []string) {
	for _, d := range slices.Concat(judge.Descriptions(), s.Judges) {
		names = append(names, d.Name)
	}
	return names
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
	d, _ := j.own.Scorer(j.Scorer.Name)
	return d
}

// judge is the description of the job's judge. The zero Description is of a
// judge that is not known.
func (j *Job) judge() judge.Description {
	d, _ := j.own.Judge(j.Judge.Name)
	return d
}

// byCritic tells whether a critic that was trained judges.
func (j *Job) byCritic() bool { return j.judge().Instead && j.Judge.Critic != "" }

// checkScorer finds what the scorer lacks, before anything is fetched: an *Error
// at the setting that gives it. o holds what is known by now; topic tells whether
// texts can be compared with the topic.
func (m *Maker) checkScorer(o score.Options) error {
	err := m.Job.scorer().Check(o)
	var missing *score.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	path := "scorer"
	switch missing.Need.Input {
	case score.NeedKeywords:
		path = "topic.keywords"
	case score.NeedThesaurus:
		path = "scorer.thesaurus"
	case score.NeedModel:
		path = "scorer.model"
	case score.NeedTaxonomy:
		path = "judge.name"
	}
	return &Error{path, missing}
}
