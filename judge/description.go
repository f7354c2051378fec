package judge

import (
	"errors"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/topic"
)

// Description tells all about a judge that is known before one is made: Name, Line,
// Settings, Needs and Make, see package strategy. Those of this package are
// Descriptions; a program describes its own in the same way and gives them to the
// packages job and lab, which take names, checks and help from them. The options that Make gets are complete: Set holds a value for
// each of Settings, and Analyzer and DF are there. Topic may be nil if Needs asks
// nothing of it.
type Description = strategy.Description[Judge, Options]

// Setting is a constant of a judge that Options.Set can change.
type Setting = setting.Setting

// Need is an input that a judge cannot do without. Beside those of this package, such
// as NeedKeywords, a judge may have needs of its own, which look at Options.
type Need = strategy.Need[Options]

// MissingError says which input a judge lacks.
type MissingError = strategy.MissingError

// The inputs of the judges of this package.
const (
	InputTopic    strategy.Input = "topic"
	InputKeywords strategy.Input = "keywords"
	InputExamples strategy.Input = "examples"
	InputRules    strategy.Input = "rules"
	InputCommand  strategy.Input = "command"
	InputCritic   strategy.Input = "critic"
)

// NeedTopic is a topic that holds keywords, a description or example pages.
func NeedTopic() Need {
	return Need{
		Input: InputTopic, Path: "topic", Give: topic.ErrNothing.Error(),
		Given: func(o Options) bool {
			return o.Topic != nil && !errors.Is(validate(*o.Topic, text.SplitterOf(o.Analyzer)), topic.ErrNothing)
		},
	}
}

// NeedKeywords is keywords of the topic.
func NeedKeywords() Need {
	return Need{
		Input: InputKeywords, Path: "topic.keywords", Give: "the topic has no keywords: give some, or choose the judge topic",
		Given: func(o Options) bool { return o.Topic != nil && len(o.Topic.Keywords) > 0 },
	}
}

// NeedExamples is example pages of the topic.
func NeedExamples() Need {
	return Need{
		Input: InputExamples, Path: "topic.examples", Give: "it learns from example pages: give some, or choose the judge topic",
		Given: func(o Options) bool { return o.Topic != nil && len(o.Topic.Examples) > 0 },
	}
}

// NeedRules is Options.Rules.
func NeedRules() Need {
	return Need{
		Input: InputRules, Path: "judge.rules", Give: "no rules: give at least one, such as a pattern for the url",
		Given: func(o Options) bool { return len(o.Rules) > 0 },
	}
}

// NeedCommand is Options.Command.
func NeedCommand() Need {
	return Need{
		Input: InputCommand, Path: "judge.command", Give: "no command: give the program and its arguments",
		Given: func(o Options) bool { return len(o.Command) > 0 },
	}
}

// criticNeeds are those of the judge critic: a critic, or else a topic with examples.
func criticNeeds() []Need {
	needs := []Need{NeedTopic(), NeedExamples()}
	for i, n := range needs {
		needs[i].Given = func(o Options) bool { return o.Critic != nil || n.Given(o) }
	}
	needs[1].Give = "without a critic from waggle topic train, it learns from example pages: give some, or choose the judge topic"
	return append(needs, Need{Input: InputCritic, Path: "judge.critic", Optional: true})
}

// Topical tells whether a topic is all that a judge needs.
func Topical(d Description) bool {
	return !slices.ContainsFunc(d.Needs, func(n Need) bool { return n.Path != "topic" && !strings.HasPrefix(n.Path, "topic.") })
}

// Rewords tells whether a judge of this package takes other keywords while a crawl runs
// (crawl.KeywordJudge): one that needs words of a topic alone does.
func Rewords(d Description) bool {
	_, examples := d.Uses(InputExamples, nil)
	return Topical(d) && !examples
}

// valid makes a judge once the topic is found to be valid.
func valid(newJudge func(Options) (Judge, error)) func(Options) (Judge, error) {
	return func(o Options) (Judge, error) {
		if err := validate(*o.Topic, text.SplitterOf(o.Analyzer)); err != nil {
			return nil, err
		}
		return newJudge(o)
	}
}

// validate is topic.Validate by the languages by which pages are read.
func validate(t topic.Topic, a text.Splitter) error {
	t.Language = a.Languages()
	return t.Validate()
}

// Descriptions are the judges of this package, the default first.
func Descriptions() []Description {
	var (
		words    = []Need{NeedTopic()}
		keywords = []Need{NeedTopic(), NeedKeywords()}
		examples = []Need{NeedTopic(), NeedExamples()}
	)
	return []Description{
		{Name: "topic", Line: "all that the topic gives, as a calibrated probability (default)", Needs: words, Make: valid(newTopic)},
		{Name: "cosine-tf-max", Line: "greatest cosine to an example, term frequencies", Needs: examples, Make: valid(newCosine(false, false))},
		{Name: "cosine-tf-centroid", Line: "cosine to the mean of the examples, term frequencies", Needs: examples, Make: valid(newCosine(false, true))},
		{Name: "cosine-tfidf-max", Line: "greatest cosine to an example, tf-idf", Needs: examples, Make: valid(newCosine(true, false))},
		{Name: "cosine-tfidf-centroid", Line: "cosine to the mean of the examples, tf-idf", Needs: examples, Make: valid(newCosine(true, true))},
		{Name: "keyword", Line: "BM25 of the keywords alone", Needs: keywords, Make: valid(newKeyword)},
		{Name: "bayes", Line: "naive Bayes from the examples and the negative examples", Needs: examples, Make: valid(newBayes)},
		{Name: "critic", Line: "naive Bayes over the classes of a taxonomy, from waggle topic train", Needs: criticNeeds(), Make: newCritic},
		{Name: "rules", Line: "regular expressions on address, title and text", Needs: []Need{NeedRules()}, Make: newRules},
		{Name: "command", Line: "a command of yours, asked in lines of JSON", Needs: []Need{NeedCommand()}, Make: newCommand},
	}
}

// Describe returns the description of that name: of this package, or of own, which are
// those of a program. "" is the default.
func Describe(name string, own ...Description) (Description, bool) {
	list := Descriptions()
	if name == "" {
		return list[0], true
	}
	return strategy.Find(name, list, own)
}
