package strategy_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/strategy"
)

// options are those of a sort of strategies that only speak.
type options struct {
	words string
	set   map[string]float64
}

func (options) Role() string                 { return "speaker" }
func (o options) Values() map[string]float64 { return o.set }

func (o options) Complete(values map[string]float64) (options, error) {
	if o.words == "!" {
		return o, errors.New("words out of range")
	}
	o.set = values
	return o, nil
}

type description = strategy.Description[string, options]

// loud says words, which it needs where loudness is ½ or more.
func loud() description {
	return description{
		Name: "loud", Line: "says it", Settings: []setting.Setting{{Name: "loudness", Default: 1, Max: 2}},
		Needs: []strategy.Need[options]{
			{Input: "words", Path: "topic.words", Give: "give words", Setting: "loudness", Given: func(o options) bool { return o.words != "" }},
			{Input: "echo", Give: "give an echo", Optional: true, Given: func(options) bool { return false }},
			{Input: "air"},
		},
		Make: func(o options) (string, error) {
			if o.words == "fail" {
				return "", errors.New("it has a cold")
			}
			return fmt.Sprint(o.words, o.set["loudness"]), nil
		},
	}
}

// What is missing, out of range or not made is told with the sort and the name; settings
// are completed.
func TestNew(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{words: "hello "}, "hello 1 <nil>"},
		{options{words: "hello ", set: map[string]float64{"loudness": 2}}, "hello 2 <nil>"},
		{options{}, " speaker loud: give words"},
		{options{set: map[string]float64{"loudness": 0.4}}, "0.4 <nil>"},
		{options{set: map[string]float64{"loudness": 3}}, " speaker loud: setting loudness = 3 is outside 0…2"},
		{options{words: "!"}, " speaker loud: words out of range"},
		{options{words: "fail"}, " speaker loud: it has a cold"},
	} {
		s, err := loud().New(c.o)
		if got := fmt.Sprint(s, " ", err); got != c.want {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
	var missing *strategy.MissingError
	if _, err := loud().New(options{}); !errors.As(err, &missing) || missing.Path != "topic.words" || missing.Input != "words" {
		t.Errorf("%+v", missing)
	}
	if _, err := strategy.New("silent", options{}, []description{loud()}); err == nil || err.Error() != `there is no speaker "silent"; the speakers are loud` {
		t.Error(err)
	}
}

func TestUses(t *testing.T) {
	for _, c := range []struct {
		input  strategy.Input
		values map[string]float64
		want   bool
	}{
		{"words", nil, true}, {"words", map[string]float64{"loudness": 0}, false}, {"echo", nil, true}, {"air", nil, true}, {"light", nil, false},
	} {
		if _, ok := loud().Uses(c.input, c.values); ok != c.want {
			t.Errorf("%s with %v: %v", c.input, c.values, ok)
		}
	}
}

// Descriptions of a program that cannot be used are refused.
func TestCheckOwn(t *testing.T) {
	with := func(change func(*description)) []description {
		d := loud()
		d.Name = "own"
		change(&d)
		return []description{d}
	}
	for want, own := range map[string][]description{
		"<nil>": with(func(*description) {}),
		`speaker "": a name is a word without blanks`:                                              with(func(d *description) { d.Name = "" }),
		`speaker "a b": a name is a word without blanks`:                                           with(func(d *description) { d.Name = "a b" }),
		"speaker loud: the name is taken; choose another":                                          {loud()},
		"speaker own: the name is taken; choose another":                                           append(with(func(*description) {}), with(func(*description) {})...),
		"speaker own: its description does not say how it is made: set Make":                       with(func(d *description) { d.Make = nil }),
		"speaker own: setting loudness: the default 1 is outside 0…0.5":                            with(func(d *description) { d.Settings = []setting.Setting{{Name: "loudness", Default: 1, Max: 0.5}} }),
		"speaker own: needs words where the setting loudness asks for it, and has no such setting": with(func(d *description) { d.Settings = nil }),
	} {
		if got := fmt.Sprint(strategy.CheckOwn(own, []description{loud()})); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
