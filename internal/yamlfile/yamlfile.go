// Package yamlfile reads YAML strictly: unknown keys are errors, one document
// is all there may be, and every error names the line.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// File is a file that was read.
type File struct {
	name string
	root yaml.Node
	into reflect.Type // what is read into
}

// Decode reads the YAML b of the file name into v, a pointer. hint is added to
// what it says of an unknown key; "" = nothing. An empty file changes nothing.
func Decode(name string, b []byte, v any, hint string) (*File, error) {
	f := &File{name: name, into: reflect.TypeOf(v)}
	if at, c := binary(b); at > 0 {
		return nil, fmt.Errorf("%s:%d: it holds %q, which no text has: is this the file that is meant?", name, at, c)
	}
	// What cannot be read as YAML at all is told below, with the rest.
	_ = yaml.Unmarshal(b, &f.root)
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return nil, f.explain(err, hint)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: it holds one document; remove what follows the line \"---\"", name)
	}
	if n := fraction(&f.root, reflect.TypeOf(v)); n != nil {
		return nil, fmt.Errorf("%s:%d: %s", name, n.Line, f.wanted(n.Line, "float", n.Value, "int"))
	}
	if n := empty(&f.root); n != nil {
		return nil, fmt.Errorf("%s:%d: an entry of the list is empty: take it out, or write what is meant", name, n.Line)
	}
	return f, nil
}

// binary finds the first character that text does not have, and its line; 0
// where there is none.
func binary(b []byte) (line int, c string) {
	line = 1
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && n == 1, r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return line, string(b[:n])
		}
		b = b[n:]
	}
	return 0, ""
}

// empty finds an entry of a list that is null: decoding leaves it out silently.
func empty(n *yaml.Node) *yaml.Node {
	for _, c := range n.Content {
		if n.Kind == yaml.SequenceNode && c.Tag == "!!null" {
			return c
		}
		if found := empty(c); found != nil {
			return found
		}
	}
	return nil
}

// fraction finds a number with a fraction where a whole one is read into t: the decoder
// cuts the fraction off silently. What types read themselves is not looked at.
func fraction(n *yaml.Node, t reflect.Type) *yaml.Node {
	t = elem(t)
	if reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return fraction(n.Alias, t)
	case yaml.DocumentNode, yaml.SequenceNode:
		if n.Kind == yaml.SequenceNode {
			if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
				return nil
			}
			t = t.Elem()
		}
		for _, c := range n.Content {
			if found := fraction(c, t); found != nil {
				return found
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if of := valueType(t, n.Content[i].Value); of != nil {
				if found := fraction(n.Content[i+1], of); found != nil {
					return found
				}
			}
		}
	case yaml.ScalarNode:
		if x, err := strconv.ParseFloat(n.Value, 64); n.Tag == "!!float" && err == nil && x != math.Trunc(x) && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 {
			return n
		}
	}
	return nil
}

// valueType is the type of what stands under a key; nil if it is not known.
func valueType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for f := range t.Fields() {
			name, flags, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == key || name == "" && strings.ToLower(f.Name) == key {
				return f.Type
			}
			if strings.Contains(flags, "inline") {
				if of := valueType(f.Type, key); of != nil {
					return of
				}
			}
		}
	}
	return nil
}

// elem is the type that a pointer is to, or the type itself.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// explain says what the decoder found, in the words of a user's file.
func (f *File) explain(err error, hint string) error {
	// As the decoder writes them.
	line := regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): (.*)$`)
	wrong := regexp.MustCompile("^cannot unmarshal !!([a-z]+)(?: `(.*)`)? into (.*)$")
	unknown := regexp.MustCompile(`^field (.*) not found in type (.*)$`)
	lines := []string{err.Error()}
	var many *yaml.TypeError
	if errors.As(err, &many) {
		lines = many.Errors
	}
	var out []error
	for _, l := range lines {
		place, at := f.name, 0
		if m := line.FindStringSubmatch(l); m != nil {
			place, l = f.name+":"+m[1], m[2]
			at, _ = strconv.Atoi(m[1])
		}
		if m := wrong.FindStringSubmatch(l); m != nil {
			l = f.wanted(at, m[1], m[2], m[3])
		}
		if m := unknown.FindStringSubmatch(l); m != nil {
			l = f.unknown(at, m[1], m[2])
			if hint != "" {
				l += "; " + hint
			}
		}
		out = append(out, fmt.Errorf("%s: %s", place, strings.TrimPrefix(l, "yaml: ")))
	}
	return errors.Join(out...)
}

// wanted says what is to stand in a line instead of a value, of which the
// decoder tells the kind and the beginning, where a Go type is read.
func (f *File) wanted(line int, kind, value, typ string) string {
	bad := misread{line: line, kind: kind, value: strings.TrimSuffix(value, "..."), typ: typ}
	key, n := bad.find(&f.root, f.into)
	if n == nil { // of a type that reads itself
		bad.typ = ""
		key, n = bad.find(&f.root, f.into)
	}
	if n != nil && n.Kind == yaml.ScalarNode {
		value = n.Value
	}
	prefix := ""
	if key != "" {
		prefix = key + ": "
	}
	is := strconv.Quote(value)
	switch kind {
	case "seq":
		is = "a list"
	case "map":
		is = "a mapping"
	}
	switch {
	case strings.HasPrefix(typ, "[]") && kind == "map":
		return fmt.Sprintf("%sa list is wanted, and not a mapping: begin its entries with \"- \"", prefix)
	case strings.HasPrefix(typ, "[]"):
		return fmt.Sprintf("%sa list is wanted: write %s[%s]", prefix, prefix, value)
	case typ == "bool":
		return fmt.Sprintf("%strue or false is wanted, and not %s", prefix, is)
	case strings.HasPrefix(typ, "uint"):
		return fmt.Sprintf("%sa whole number of at least 0 is wanted, and not %s", prefix, is)
	case strings.HasPrefix(typ, "int"):
		return fmt.Sprintf("%sa whole number is wanted, and not %s", prefix, is)
	case strings.HasPrefix(typ, "float"):
		return fmt.Sprintf("%sa number is wanted, and not %s", prefix, is)
	case typ == "string":
		return fmt.Sprintf("%stext is wanted, and not %s", prefix, is)
	}
	form := "{key: value}"
	if t := valueType(elem(f.into), key); n != nil && n.Kind == yaml.ScalarNode && t != nil && elem(t).Kind() == reflect.Struct && valueType(elem(t), "name") != nil {
		form = "{name: " + value + "}"
	}
	return fmt.Sprintf("%skeys with values are wanted, and not %s: write %s%s", prefix, is, prefix, form)
}

// misread is a value that the decoder did not take.
type misread struct {
	line  int
	kind  string // its YAML type: seq, map, str, …
	value string // its beginning; "" for a list and a mapping
	typ   string // the Go type that was read; "" = any
}

// find finds the key of the value, and the value, below n, which is read into t; nil = not known.
func (m misread) find(n *yaml.Node, t reflect.Type) (string, *yaml.Node) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i, c := range n.Content {
		of := t
		switch n.Kind {
		case yaml.SequenceNode:
			if of != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
				of = t.Elem()
			}
		case yaml.MappingNode:
			if i%2 == 0 {
				continue
			}
			if of != nil {
				of = valueType(t, n.Content[i-1].Value)
			}
			if m.is(c, of) {
				return n.Content[i-1].Value, c
			}
		}
		if key, v := m.find(c, of); v != nil {
			return key, v
		}
	}
	return "", nil
}

// is tells whether a value that is read into t may be the one.
func (m misread) is(v *yaml.Node, t reflect.Type) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v.Line != m.line || m.typ != "" && (t == nil || t.String() != m.typ) {
		return false
	}
	switch v.Kind {
	case yaml.SequenceNode:
		return m.kind == "seq"
	case yaml.MappingNode:
		return m.kind == "map"
	}
	return m.value != "" && strings.HasPrefix(v.Value, m.value)
}

// Has tells whether there is a value at the keys that lead to it; null is none.
func (f *File) Has(path ...string) bool {
	n, _, found := f.find(path)
	return found && n.Tag != "!!null"
}

// At is file and line of a value ("job.yaml:3"), given by the keys and indices
// that lead to it, or of the nearest value around it.
func (f *File) At(path ...string) string {
	_, line, _ := f.find(path)
	return fmt.Sprintf("%s:%d", f.name, max(line, 1))
}

// Blank tells whether the keys and indices lead to null or to an empty list.
func (f *File) Blank(path ...string) bool {
	n, _, found := f.find(path)
	return found && (n.Tag == "!!null" || n.Kind == yaml.SequenceNode && len(n.Content) == 0)
}

// find goes along keys and indices as far as they lead: to a node and the line of it or its key.
func (f *File) find(path []string) (n *yaml.Node, line int, found bool) {
	n = &f.root
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	line = n.Line
	for _, key := range path {
		var next *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content) && next == nil; i += 2 {
				if n.Content[i].Value == key {
					line, next = n.Content[i].Line, n.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
				next = n.Content[i]
				line = next.Line
			}
		}
		if next == nil {
			return n, line, false
		}
		for n = next; n.Kind == yaml.AliasNode; {
			n = n.Alias
		}
	}
	return n, line, true
}
