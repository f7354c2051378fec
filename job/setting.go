package job

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Setting describes one value of a Job. The job file, the flags, the checks, the
// help and the example file are all made of it.
type Setting struct {
	// Path is the keys of the job file that lead to the value, joined by dots:
	// "budget.pages".
	Path string
	// Line says what it is, for people: without a full stop, units and the
	// meaning of 0 included.
	Line string
	// Form stands for a value in help: N, URL, FILE.
	Form string
	// Default is in force where the value is left out, written as in the file;
	// "" where nothing is.
	Default string
	// Choices are all values there are; nil where they cannot be listed.
	Choices []string
	// Min and Max are the range of a number, both included; both 0 where any
	// number goes.
	Min, Max float64
	// Flag is the long name of its flag, and Short the short one; "" = none.
	Flag, Short string
	// Words says that its flag takes several values with commas between them;
	// of another list each value has a flag of its own.
	Words bool
	// Example is the value in the example file, as YAML. Shown says that it is in
	// force there, and not commented out.
	Example string
	Shown   bool
	// Resume says what a change does when a crawl goes on. Why says more: for
	// Never and Verdicts the reason, for others what the change does in detail; ""
	// where Resume says it all.
	Resume Change
	Why    string

	// check finds what is wrong beyond Choices, Min and Max.
	check func(j *Job, bad complaint)
}

// Change says what a change of a setting does when a crawl goes on.
type Change uint8

// What a change does, from nothing at all to what cannot be.
const (
	// Anytime: it holds for what is done from then on, and no link is concerned.
	Anytime Change = iota
	// NewLinks: it holds for links found from then on; those that wait stay.
	NewLinks
	// AllLinks: it acts on the frontier as well.
	AllLinks
	// Pages: it acts on the pages that were fetched as well.
	Pages
	// Verdicts: the pages that were fetched would have other verdicts, so they
	// have to be judged anew.
	Verdicts
	// Never: what is stored was made by it.
	Never
)

// String is what a change does, in words.
func (c Change) String() string {
	return [...]string{
		"holds from then on", "holds for links found from then on", "acts on waiting links too", "acts on fetched pages too",
		"is refused", "is refused",
	}[c]
}

// Kind is what a value of a setting is.
type Kind uint8

// The kinds of value.
const (
	Text      Kind = iota
	Whole          // a whole number
	Number         // any number
	Span           // a time span: Duration
	Bytes          // a number of bytes: Size
	Truth          // true or false
	List           // of texts
	Structure      // a list or a mapping of values that have keys of their own
)

// String is the kind in words.
func (k Kind) String() string {
	return [...]string{"text", "whole number", "number", "time span", "size", "true or false", "list", "structure"}[k]
}

// Help is Line with the choices behind it, if there are no more than most.
func (s Setting) Help(most int) string {
	switch {
	case len(s.Choices) > most:
		return s.Line + "; waggle lab list names all"
	case s.Choices != nil && strings.Contains(s.Line, ":"):
		return s.Line + " (" + strings.Join(s.Choices, ", ") + ")"
	case s.Choices != nil:
		return s.Line + ": " + strings.Join(s.Choices, ", ")
	}
	return s.Line
}

// Kind is what a value of the setting is.
func (s Setting) Kind() Kind {
	t := s.field(&Job{}).Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[Duration]():
		return Span
	case reflect.TypeFor[Size]():
		return Bytes
	case reflect.TypeFor[[]string]():
		return List
	}
	switch t.Kind() {
	case reflect.String:
		return Text
	case reflect.Int, reflect.Uint64:
		return Whole
	case reflect.Float64:
		return Number
	case reflect.Bool:
		return Truth
	}
	return Structure
}

// Lookup finds the setting at a path, or the one around it: "seeds.3" is in
// "seeds". ok is false if there is none.
func Lookup(path string) (s Setting, ok bool) {
	for _, s := range Settings() {
		if path == s.Path || strings.HasPrefix(path, s.Path+".") {
			return s, true
		}
	}
	return Setting{}, false
}

// field is the value of the setting in a job.
func (s Setting) field(j *Job) reflect.Value {
	v := reflect.ValueOf(j).Elem()
	for key := range strings.SplitSeq(s.Path, ".") {
		i := 0
		for ; i < v.NumField() && keyOf(v.Type().Field(i)) != key; i++ {
		}
		if i == v.NumField() {
			panic("job: no value at " + s.Path) // Settings is wrong
		}
		v = v.Field(i)
	}
	return v
}

// keyOf is the key of a field in the job file.
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return key
}

// Given tells whether a job has a value of its own for the setting; zero and an
// empty list are none.
func (s Setting) Given(j *Job) bool {
	v := s.field(j)
	if k := v.Kind(); k == reflect.Slice || k == reflect.Map {
		return v.Len() > 0
	}
	return !v.IsZero()
}

// Set puts a value, as a flag or a form gives it, into a job: to a list it adds
// those that are not in it, of others the last holds. The error is an *Error; whether the value
// makes sense is told by Job.Check.
func (s Setting) Set(j *Job, values ...string) error {
	v := s.field(j)
	for _, text := range values {
		if err := set(v, text); err != nil {
			return &Error{s.Path, err}
		}
	}
	if s.zeroIsDefault() && v.IsZero() && len(values) > 0 {
		return &Error{s.Path, s.zeroError()}
	}
	return nil
}

// zeroIsDefault tells whether a value of 0 cannot be told from one that was left
// out: whoever writes 0 means something else.
func (s Setting) zeroIsDefault() bool {
	switch s.field(&Job{}).Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64: // spans and sizes as well
		return s.Default != ""
	}
	return false
}

func (s Setting) zeroError() error {
	return fmt.Errorf("%s is 0: give more, or leave it out for %s", s.key(), s.Default)
}

// key is the last key of the path.
func (s Setting) key() string { return s.Path[strings.LastIndexByte(s.Path, '.')+1:] }

// set reads a text into a value, or adds it to a list.
func set(v reflect.Value, text string) error {
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		if err := set(fresh.Elem(), text); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("true or false is wanted, and not %q", text)
		}
		v.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("a whole number is wanted, and not %q", text)
		}
		v.SetInt(int64(n))
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("a whole number of at least 0 is wanted, and not %q", text)
		}
		v.SetUint(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("a number is wanted, and not %q", text)
		}
		v.SetFloat(x)
	case reflect.Slice:
		if list, ok := v.Interface().([]string); ok {
			if slices.Contains(list, text) {
				return nil
			}
			// Without the capacity that a copy of the job may share.
			v.Set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.ValueOf(text)))
			return nil
		}
		fallthrough
	default:
		return errors.New("it can be set in a job file alone")
	}
	return nil
}

// setDefaults puts the default of each setting into a job that has no value of
// its own for it, but for those that skip names. Where the scorer is a preset, the
// default is what its paper prints, if it prints one.
func (j *Job) setDefaults(skip ...string) {
	if j.Topic.Want == wantDocuments && len(j.Fetch.Types) == 0 {
		j.Fetch.Types = []string{typeAll}
	}
	for _, s := range Settings() {
		if s.Default == "" || s.Given(j) || slices.Contains(skip, s.Path) {
			continue
		}
		values := []string{s.Default}
		if v, ok := j.printed(s); ok && !slices.Contains(skip, "scorer.name") {
			values[0] = v.Text()
		}
		if s.Kind() == List {
			values = strings.Split(s.Default, ", ")
		}
		if err := s.Set(j, values...); err != nil {
			panic(err) // Settings is wrong
		}
	}
}
