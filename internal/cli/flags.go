package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/job"
)

// Flags are flags of a command that stand for settings of a job. They are
// made of the descriptions of the settings; a command embeds them where its help
// shall show them.
type Flags struct {
	kong.Plugins
	flags []jobFlag
}

// jobFlag is a flag with what was given for it.
type jobFlag struct {
	job.Setting
	value reflect.Value // *string, []string or *bool; nil = not given
}

// FlagsOf makes flags of those of the settings that paths name, or of all that have one.
// Their help begins with what they are for, "" for the whole command.
func FlagsOf(settings []job.Setting, of string, paths ...string) Flags {
	var chosen []job.Setting
	for _, s := range settings {
		if s.Flag != "" && len(paths) == 0 {
			chosen = append(chosen, s)
		}
	}
	for _, path := range paths {
		i := slices.IndexFunc(settings, func(s job.Setting) bool { return s.Path == path && s.Flag != "" })
		if i < 0 {
			panic("no setting has a flag at " + path) // a slip in this package
		}
		chosen = append(chosen, settings[i])
	}
	var out Flags
	var fields []reflect.StructField
	for _, s := range chosen {
		out.flags = append(out.flags, jobFlag{Setting: s})
		fields = append(fields, flagField(of, s))
	}
	made := reflect.New(reflect.StructOf(fields))
	for i := range out.flags {
		out.flags[i].value = made.Elem().Field(i)
	}
	out.Plugins = kong.Plugins{made.Interface()}
	return out
}

// flagField is what kong makes a flag of.
func flagField(of string, s job.Setting) reflect.StructField {
	help := s.Help(12)
	if of != "" {
		help = of + ": " + strings.ToLower(help[:1]) + help[1:]
	}
	var tag strings.Builder
	add := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&tag, "%s:%s ", key, strconv.Quote(value))
		}
	}
	f := reflect.StructField{Type: reflect.TypeFor[*string]()}
	switch s.Kind() {
	case job.Truth:
		f.Type = reflect.TypeFor[*bool]()
	case job.List:
		f.Type = reflect.TypeFor[[]string]()
		if s.Words {
			help += ", separated by commas"
		} else {
			add("sep", "none")
			help += "; may be repeated"
		}
	}
	if s.Default != "" {
		help += " (default " + s.Default + ")"
	}
	add("name", s.Flag)
	add("short", s.Short)
	add("placeholder", s.Form)
	add("help", help+".")
	f.Name = "Flag_" + strings.ReplaceAll(s.Flag, "-", "_")
	f.Tag = reflect.StructTag(tag.String())
	return f
}

// values are what was given for a flag, nil if it was not.
func (f jobFlag) values() (out []string) {
	switch v := f.value.Interface().(type) {
	case *string:
		if v != nil && *v != "" {
			out = append(out, *v)
		}
	case *bool:
		if v != nil {
			out = append(out, strconv.FormatBool(*v))
		}
	case []string:
		for _, text := range v {
			if text = strings.TrimSpace(text); text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

// empty refuses flags that were given without a value.
func (f *Flags) empty() error {
	for _, flag := range f.flags {
		v := flag.value
		if v.IsNil() {
			continue
		}
		values := flag.values()
		if values == nil || v.Kind() == reflect.Slice && !flag.Words && len(values) < v.Len() {
			return fmt.Errorf("--%s: the value is empty: give one, or leave the flag out", flag.Flag)
		}
	}
	return nil
}

// Given are the flags that were given.
func (f *Flags) Given() (out []jobFlag) {
	for _, flag := range f.flags {
		if flag.values() != nil {
			out = append(out, flag)
		}
	}
	return out
}

// Value is the last value that was given for a setting, "" if none was.
func (f *Flags) Value(path string) string {
	for _, flag := range f.Given() {
		if flag.Path == path {
			values := flag.values()
			return values[len(values)-1]
		}
	}
	return ""
}

// Apply puts the values of flags into a job, and checks it.
func (f *Flags) Apply(j *job.Job) error {
	if err := f.empty(); err != nil {
		return err
	}
	for _, flag := range f.Given() {
		if err := flag.Set(j, flag.values()...); err != nil {
			return Placed(err)
		}
	}
	return Placed(j.Check())
}

// Placed gives what is wrong with a job the flag by which a user can mend it, or
// the keys of the job file.
func Placed(err error) error {
	if errors.Is(err, job.ErrNoContact) {
		return fmt.Errorf("%w: give --contact you@example.org", job.ErrNoContact)
	}
	return job.Locate(err, func(path string) string {
		if s, ok := job.Lookup(path); ok {
			return FlagOrPath(s)
		}
		return "" // of several settings; the error names them
	})
}

// PlacedBy is Placed with the places that a command knows.
func PlacedBy(err error, place func(path string) string) error {
	if errors.Is(err, job.ErrNoContact) {
		return Placed(err)
	}
	return job.Locate(err, place)
}

// FlagOrPath is the flag of a setting, or else its keys.
func FlagOrPath(s job.Setting) string {
	if s.Flag != "" {
		return "--" + s.Flag
	}
	return s.Path
}
