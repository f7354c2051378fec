// Package setting describes the constants of strategies and of kinds of model that
// a user may change, and checks the values given for them.
package setting

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/internal/spelling"
)

// Setting is a constant that has a name, a default and a range.
type Setting struct {
	Name              string
	Default, Min, Max float64
	Whole             bool   // it counts something or numbers choices: no fractions
	Line              string // what it means, for people, in one line
}

// Wrong is why the setting cannot have a value: "is outside 0…1000", "is no whole number in
// 0…1000", or "".
func (s Setting) Wrong(v float64) string {
	plain := func(bound float64) string { return strconv.FormatFloat(bound, 'f', -1, 64) }
	switch {
	case !(v >= s.Min && v <= s.Max): // NaN is outside as well
		return fmt.Sprintf("is outside %s…%s", plain(s.Min), plain(s.Max))
	case s.Whole && v != math.Trunc(v):
		return fmt.Sprintf("is no whole number in %s…%s", plain(s.Min), plain(s.Max))
	}
	return ""
}

// Complete returns a value for each setting: the one that set has, or else the
// default. The error names a value out of range, or a name that is no setting, and
// says what can be given, also for a fraction where a whole number is wanted. set is not changed.
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
		if wrong := s.Wrong(v); wrong != "" {
			return nil, fmt.Errorf("setting %s = %v %s", name, v, wrong)
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
