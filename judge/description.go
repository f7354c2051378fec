package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/topic"
)

// Description tells all about a judge that is known before one is made. Those of
// this package are Descriptions; a program describes its own in the same way and
// gives them to the packages job and lab, and they are then what these know of
// them: the names in files, the checks, the help.
type Description struct {
	Name string // in job files and lab files
	Line string // what it goes by, in a clause
	// Needs are the inputs that it cannot do without.
	Needs []Input
	// Instead says that a critic stands for all of Needs.
	Instead bool
	// Make makes one of a topic and options that were completed: Analyzer and DF
	// are there, and no input of Needs is missing. The topic may be nil if Needs
	// asks nothing of it.
	Make func(t *topic.Topic, o Options) (Judge, error)
}

// Input is a kind of input of judges.
type Input uint8

// The inputs of judges.
const (
	NeedTopic    Input = iota // keywords, a description or example pages
	NeedKeywords              // of the topic
	NeedExamples              // pages of the topic
	NeedRules                 // Options.Rules
	NeedCommand               // Options.Command
)

// ofTopic tells whether a topic gives the input.
func (i Input) ofTopic() bool { return i <= NeedExamples }

// Topical tells whether a topic is all that the judge needs.
func (d Description) Topical() bool {
	return !slices.ContainsFunc(d.Needs, func(i Input) bool { return !i.ofTopic() })
}

// Check tells whether topic and options give a judge what it cannot do without.
// The error says what to give.
func (d Description) Check(t *topic.Topic, o Options) error {
	if d.Instead && o.Critic != nil {
		return nil
	}
	if slices.ContainsFunc(d.Needs, Input.ofTopic) {
		if t == nil {
			return topic.ErrNothing
		}
		if err := t.Validate(); err != nil {
			return err
		}
	}
	for _, i := range d.Needs {
		switch {
		case i == NeedKeywords && len(t.Keywords) == 0:
			return errors.New("the topic has no keywords: give some, or choose the judge topic")
		case i == NeedExamples && len(t.Examples) == 0 && d.Instead:
			return errors.New("without a critic from waggle topic train, it learns from example pages: give some, or choose the judge topic")
		case i == NeedExamples && len(t.Examples) == 0:
			return errors.New("it learns from example pages: give some, or choose the judge topic")
		case i == NeedRules && len(o.Rules) == 0:
			return errors.New("no rules: give at least one, such as a pattern for the url")
		case i == NeedCommand && len(o.Command) == 0:
			return errors.New("no command: give the program and its arguments")
		}
	}
	return nil
}

// New makes a judge of this kind.
func (d Description) New(t *topic.Topic, o Options) (Judge, error) {
	if o.Threshold < 0 || o.Threshold > 1 {
		return nil, fmt.Errorf("judge threshold %v: give a number in (0,1], or 0 for the judge's own", o.Threshold)
	}
	if err := d.Check(t, o); err != nil {
		return nil, fmt.Errorf("judge %s: %w", d.Name, err)
	}
	if o.Analyzer == nil {
		o.Analyzer = text.NewAnalyzer()
	}
	if o.DF == nil {
		o.DF = text.Background()
	}
	j, err := d.Make(t, o)
	if err != nil {
		return nil, fmt.Errorf("judge %s: %w", d.Name, err)
	}
	return j, nil
}

// Descriptions are the judges of this package, the default first.
func Descriptions() []Description {
	words, examples := []Input{NeedTopic}, []Input{NeedExamples}
	return []Description{
		{"topic", "all that the topic gives, as a calibrated probability (default)", words, false, newTopic},
		{"cosine-tf-max", "greatest cosine to an example, term frequencies", words, false, newCosine(false, false)},
		{"cosine-tf-centroid", "cosine to the mean of the examples, term frequencies", words, false, newCosine(false, true)},
		{"cosine-tfidf-max", "greatest cosine to an example, tf-idf", words, false, newCosine(true, false)},
		{"cosine-tfidf-centroid", "cosine to the mean of the examples, tf-idf", words, false, newCosine(true, true)},
		{"keyword", "BM25 of the keywords alone", []Input{NeedKeywords}, false, newKeyword},
		{"bayes", "naive Bayes from the examples and the negative examples", examples, false, newBayes},
		{"critic", "naive Bayes over the classes of a taxonomy, from waggle topic train", examples, true, newCritic},
		{"rules", "regular expressions on address, title and text", []Input{NeedRules}, false, newRules},
		{"command", "a command of yours, asked in lines of JSON", []Input{NeedCommand}, false, newCommand},
	}
}

// Describe returns the description of that name: of this package, or of own,
// which are those of a program. "" is the default.
func Describe(name string, own ...Description) (Description, bool) {
	if name == "" {
		return Descriptions()[0], true
	}
	for _, list := range [][]Description{Descriptions(), own} {
		if i := slices.IndexFunc(list, func(d Description) bool { return d.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return Description{}, false
}

// CheckOwn finds what is wrong with the descriptions of a program: a name that
// is none or is taken, and what a judge cannot be made of.
func CheckOwn(own []Description) error {
	for i, d := range own {
		_, taken := Describe(d.Name, own[:i]...)
		switch {
		case d.Name == "" || strings.ContainsAny(d.Name, " \t\n"):
			return fmt.Errorf("judge %q: a name is a word without blanks", d.Name)
		case taken:
			return fmt.Errorf("judge %s: the name is taken; choose another", d.Name)
		case d.Make == nil:
			return fmt.Errorf("judge %s: its description does not say how it is made: set Make", d.Name)
		}
	}
	return nil
}
