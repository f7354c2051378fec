// Package setting describes the constants of strategies and of kinds of model that
// a user may change, and checks the values given for them.
package setting

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/spelling"
)

// Setting is a constant that has a name, a default and a range.
type Setting struct {
	Name              string
	Default, Min, Max float64
	Line              string // what it means, for people, in one line
}

// Complete returns a value for each setting: the one that set has, or else the
// default. The error names a value out of range, or a name that is no setting, and
// says what can be given. set is not changed.
func Complete(settings []Setting, set map[string]float64) (map[string]float64, error) {
	all := make(map[string]float64, len(settings))
	for _, s := range settings {
		all[s.Name] = s.Default
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no setting %q%s; it has %s", name, Near(settings, name), Names(settings))
		}
		s, v := settings[i], set[name]
		if !(v >= s.Min && v <= s.Max) {
			return nil, fmt.Errorf("setting %s = %v: give a number in %v…%v", name, v, s.Min, s.Max)
		}
		all[name] = v
	}
	return all, nil
}

// Names lists the names of settings, for people: "a, b", or "none".
func Names(settings []Setting) string {
	if len(settings) == 0 {
		return "none"
	}
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// Near is the end of an error that names the settings which a name is like, "" if none is.
func Near(settings []Setting, name string) string {
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return spelling.Hint(name, names)
}

// Whole returns an error if the value of one of the names is a fraction: those
// settings count something or number choices.
func Whole(set map[string]float64, names ...string) error {
	for _, name := range names {
		if v := set[name]; v != math.Trunc(v) {
			return fmt.Errorf("setting %s = %v: give a whole number", name, v)
		}
	}
	return nil
}
