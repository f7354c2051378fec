// Package strategy describes what a user chooses by its name: the scorers of package
// score and the judges of package judge. A Description tells all about a strategy that
// is known before one is made: its name, its settings, what it needs, and how it is
// made. Job files, lab files, checks and help are made of descriptions alone, so that
// nothing else has to know the name of a strategy.
//
//	Description ─► Check: what is missing? ─► New: settings completed ─► Make
//
// A preset, see Print, is a Description with the constants of a publication.
package strategy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/setting"
)

// Description tells all about a strategy that is known before one is made. S is what is
// made, O what it is made of.
type Description[S any, O Options[O]] struct {
	Name string // in job files and lab files: a word
	Line string // what it does, in a clause
	// Unranked says of a scorer that its priorities are an order, and do not tell what
	// a link promises: no link of it is worth waiting for.
	Unranked bool
	// Expects tells of a scorer what relevance in [0,1] it expects of a page by the
	// priority of its link; nil = its priorities do not tell.
	Expects func(priority float64) float64
	// Begins tells of a scorer that learns during the crawl how many pages it fetches
	// before it has learnt anything, by its complete settings, and which setting says so;
	// nil = it learns from the first page, or never.
	Begins func(set map[string]float64) (pages int, setting string)
	// Settings are the constants that a user can change; nil = none.
	Settings []setting.Setting
	// Needs are the inputs that it uses, beside those that every strategy has.
	Needs []Need[O]
	// Print says that it is another strategy as a publication prints it; nil = it is
	// not.
	Print *Print
	// Make makes one. There is a value for each of Settings, and no input of Needs is
	// missing that is not optional.
	Make func(O) (S, error)
}

// Options are what strategies of one sort are made of.
type Options[O any] interface {
	// Role is "scorer" or "judge", for errors.
	Role() string
	// Values are those given to settings, by name.
	Values() map[string]float64
	// Complete returns the options with these values of settings, and with defaults
	// where they have any. The error says what is out of range.
	Complete(values map[string]float64) (O, error)
}

// Input is a name for what a strategy may need, such as "model".
type Input string

// Need is an input that a strategy uses.
type Need[O any] struct {
	Input Input
	// Kind is the kind of input where there are several, such as that of a model.
	Kind string
	// Path is the setting of a job that gives the input ("topic.keywords"); "" = no
	// single one.
	Path string
	// Give tells people what to give: "it learns from example pages: give some".
	Give string
	// Given tells whether options hold the input; nil = they always do.
	Given func(O) bool
	// Setting is the setting which asks for the input at ½ and above; "" = it is used
	// whatever is set.
	Setting string
	// Optional says that the strategy can do without.
	Optional bool
}

// MissingError says which input a strategy lacks.
type MissingError struct {
	Role, Name string // of the strategy: "scorer", "crf"
	Input      Input
	Path, Give string // as in Need
}

// Error says what to give.
func (e *MissingError) Error() string { return e.Role + " " + e.Name + ": " + e.Give }

// Missing is the error of a strategy that is not given this need.
func (d Description[S, O]) Missing(n Need[O]) *MissingError {
	var o O
	return &MissingError{o.Role(), d.Name, n.Input, n.Path, n.Give}
}

// Check tells whether options give a strategy what it cannot do without. The error is a
// *MissingError. Settings without a value have their defaults.
func (d Description[S, O]) Check(o O) error {
	for _, n := range d.Needs {
		if !n.Optional && n.Given != nil && d.asks(n, o.Values()) && !n.Given(o) {
			return d.Missing(n)
		}
	}
	return nil
}

// Uses returns the need of an input, which may be optional, if the strategy has it under
// these values of settings.
func (d Description[S, O]) Uses(input Input, values map[string]float64) (Need[O], bool) {
	for _, n := range d.Needs {
		if n.Input == input && d.asks(n, values) {
			return n, true
		}
	}
	return Need[O]{}, false
}

// Setting is the setting of that name.
func (d Description[S, O]) Setting(name string) (setting.Setting, bool) {
	i := slices.IndexFunc(d.Settings, func(s setting.Setting) bool { return s.Name == name })
	if i < 0 {
		return setting.Setting{}, false
	}
	return d.Settings[i], true
}

// asks tells whether a need is in force.
func (d Description[S, O]) asks(n Need[O], values map[string]float64) bool {
	if n.Setting == "" {
		return true
	}
	v, ok := values[n.Setting]
	if !ok {
		s, _ := d.Setting(n.Setting)
		v = s.Default
	}
	return v >= 0.5
}

// New makes a strategy. The error says what is wrong with the settings, what is missing
// (a *MissingError), or what Make finds.
func (d Description[S, O]) New(o O) (S, error) {
	var none S
	values, err := setting.Complete(d.Settings, o.Values())
	if err == nil {
		o, err = o.Complete(values)
	}
	if err != nil {
		return none, fmt.Errorf("%s %s: %w", o.Role(), d.Name, err)
	}
	if err := d.Check(o); err != nil {
		return none, err
	}
	s, err := d.Make(o)
	if err != nil {
		return none, fmt.Errorf("%s %s: %w", o.Role(), d.Name, err)
	}
	return s, nil
}

// Find returns the description of a name.
func Find[S any, O Options[O]](name string, lists ...[]Description[S, O]) (Description[S, O], bool) {
	for _, list := range lists {
		if i := slices.IndexFunc(list, func(d Description[S, O]) bool { return d.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return Description[S, O]{}, false
}

// Names are those of descriptions, in their order.
func Names[S any, O Options[O]](lists ...[]Description[S, O]) (names []string) {
	for _, d := range slices.Concat(lists...) {
		names = append(names, d.Name)
	}
	return names
}

// New makes the strategy of a name. The error of a name that is not among the
// descriptions lists those that are.
func New[S any, O Options[O]](name string, o O, list []Description[S, O]) (S, error) {
	if d, ok := Find(name, list); ok {
		return d.New(o)
	}
	var none S
	return none, fmt.Errorf("there is no %s %q%s; the %[1]ss are %[4]s", o.Role(), name, spelling.Hint(name, Names(list)), strings.Join(Names(list), ", "))
}

// CheckOwn finds what is wrong with the descriptions of a program, given beside others:
// a name that is none or is taken, and what no strategy can be made of.
func CheckOwn[S any, O Options[O]](own, others []Description[S, O]) error {
	for i, d := range own {
		var o O
		_, taken := Find(d.Name, others, own[:i])
		switch {
		case d.Name == "" || strings.ContainsAny(d.Name, " \t\n"):
			return fmt.Errorf("%s %q: a name is a word without blanks", o.Role(), d.Name)
		case taken:
			return fmt.Errorf("%s %s: the name is taken; choose another", o.Role(), d.Name)
		case d.Make == nil:
			return fmt.Errorf("%s %s: its description does not say how it is made: set Make", o.Role(), d.Name)
		}
		for _, s := range d.Settings {
			if !(s.Min <= s.Default && s.Default <= s.Max) {
				return fmt.Errorf("%s %s: setting %s: the default %v is outside %v…%v", o.Role(), d.Name, s.Name, s.Default, s.Min, s.Max)
			}
		}
		if err := d.Print.check(d.Settings); err != nil {
			return fmt.Errorf("%s %s: %w", o.Role(), d.Name, err)
		}
		for _, n := range d.Needs {
			if _, known := d.Setting(n.Setting); n.Setting != "" && !known {
				return fmt.Errorf("%s %s: needs %s where the setting %s asks for it, and has no such setting", o.Role(), d.Name, n.Input, n.Setting)
			}
		}
	}
	return nil
}
