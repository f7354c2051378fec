package score_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
)

// Every scorer is made of what its description says it needs, and of no less;
// what is optional may be left out.
func TestDescriptions(t *testing.T) {
	give := map[strategy.Input]func(*score.Options, string){
		score.InputTopic:     func(o *score.Options, _ string) { o.Anchor = likeness },
		score.InputKeywords:  func(o *score.Options, _ string) { o.Keywords = []string{"bees"} },
		score.InputThesaurus: func(o *score.Options, _ string) { o.Thesaurus = noThesaurus{} },
		score.InputModel:     func(o *score.Options, name string) { o.Model = trained(t, name) },
		score.InputTaxonomy:  func(o *score.Options, _ string) { o.Taxonomy = true },
		score.InputShortest:  func(*score.Options, string) {},
		score.InputNesting:   func(*score.Options, string) {},
	}
	for _, d := range score.Descriptions() {
		set := map[string]float64{}
		if _, ok := d.Setting("online"); ok {
			set["online"] = 1 // or a model of an earlier crawl is needed
		}
		for _, n := range d.Needs {
			if n.Setting != "" {
				set[n.Setting] = 1
			}
		}
		// What it needs, without one of its needs, which then is the one missed.
		for without := -1; without < len(d.Needs); without++ {
			o := score.Options{Set: set, DF: english, Analyzer: analyzer}
			for i, n := range d.Needs {
				if i != without && !n.Optional {
					if g := give[n.Input]; g != nil {
						g(&o, d.Name)
					} else { // an input of its own
						o.Topic, o.Judge = wholeTopic(), likeness
					}
				}
			}
			_, err := d.New(o)
			var missing *score.MissingError
			switch {
			case without < 0 || d.Needs[without].Optional || d.Needs[without].Given == nil:
				if err != nil {
					t.Errorf("%s without %d: %v", d.Name, without, err)
				}
			case !errors.As(err, &missing) || *missing != *d.Missing(d.Needs[without]):
				t.Errorf("%s without its need %d: %v", d.Name, without, err)
			case !strings.HasPrefix(err.Error(), "scorer "+d.Name+": ") || !strings.Contains(err.Error(), "give "):
				t.Errorf("%q does not say what to give", err)
			}
		}
		// A need that a setting asks for is none when it is not set.
		for _, n := range d.Needs {
			if n.Setting == "" || n.Setting == "topics" {
				continue
			}
			if _, ok := d.Uses(n.Input, map[string]float64{n.Setting: 0}); ok {
				t.Errorf("%s needs %s with %s = 0", d.Name, n.Input, n.Setting)
			}
		}
	}
}

// The descriptions of a program are found beside those of the package, and what
// is wrong with them is told.
func TestOwnDescriptions(t *testing.T) {
	plain := func(o score.Options) (score.Scorer, error) { return score.New("breadth-first", score.Options{}) }
	mine := score.Description{Name: "mine", Line: "mine first", Make: plain, Settings: []score.Setting{{Name: "size", Default: 1, Min: 0, Max: 2}}}
	if err := strategy.CheckOwn([]score.Description{mine}, score.Descriptions()); err != nil {
		t.Fatal(err)
	}
	if d, ok := score.Describe("mine", mine); !ok || d.Line != "mine first" {
		t.Errorf("found %v, %v", d.Name, ok)
	}
	if _, ok := score.Describe("mine"); ok {
		t.Error("it is found without being given")
	}
	if _, err := mine.New(score.Options{Set: map[string]float64{"size": 3}}); err == nil || !strings.Contains(err.Error(), "scorer mine: setting size = 3 is outside 0…2") {
		t.Errorf("out of range: %v", err)
	}
	for want, d := range map[string]score.Description{
		"the name is taken":            {Name: "crf", Make: plain},
		"a name is a word":             {Name: "my own", Make: plain},
		"set Make":                     {Name: "mine"},
		"its print has size = 2":       {Name: "mine", Make: plain, Settings: []score.Setting{{Name: "size", Default: 1, Max: 2}}, Print: &strategy.Print{Values: []strategy.Printed{{Part: strategy.OfStrategy, Name: "size", Value: 2}}}},
		"the default 3 is outside 0…2": {Name: "mine", Make: plain, Settings: []score.Setting{{Name: "size", Default: 3, Max: 2}}},
	} {
		if err := strategy.CheckOwn([]score.Description{d}, score.Descriptions()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := strategy.CheckOwn([]score.Description{mine, mine}, nil); err == nil {
		t.Error("the same name twice is accepted")
	}
}
