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

	"github.com/waggle-crawler/waggle/internal/spelling"
)

// File is a file that was read.
type File struct {
	name string
	root yaml.Node
}

// Decode reads the YAML b of the file name into v, a pointer. hint is added to
// what it says of an unknown key; "" = nothing. An empty file changes nothing.
func Decode(name string, b []byte, v any, hint string) (*File, error) {
	f := &File{name: name}
	if at, c := binary(b); at > 0 {
		return nil, fmt.Errorf("%s:%d: it holds %q, which no text has: is this the file that is meant?", name, at, c)
	}
	// What cannot be read as YAML at all is told below, with the rest.
	_ = yaml.Unmarshal(b, &f.root)
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return nil, f.explain(err, keysOf(reflect.TypeOf(v), nil, nil), hint)
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
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
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

// keysOf adds the keys of a type, and of all that it holds. seen are the types that were looked at.
func keysOf(t reflect.Type, keys []string, seen map[reflect.Type]bool) []string {
	if seen == nil {
		seen = map[reflect.Type]bool{}
	}
	if seen[t] {
		return keys
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return keysOf(t.Elem(), keys, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" && key != "-" {
				keys = append(keys, key)
			}
			keys = keysOf(t.Field(i).Type, keys, seen)
		}
	}
	return keys
}

// explain says what the decoder found, in the words of a user's file.
func (f *File) explain(err error, known []string, hint string) error {
	// As the decoder writes them.
	line := regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): (.*)$`)
	wrong := regexp.MustCompile("^cannot unmarshal !!([a-z]+)(?: `(.*)`)? into (.*)$")
	unknown := regexp.MustCompile(`^field (.*) not found in type .*$`)
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
			l = fmt.Sprintf("unknown key %q%s", m[1], spelling.Hint(m[1], known))
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
	key, n := keyOf(&f.root, line, strings.TrimSuffix(value, "..."))
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
	return fmt.Sprintf("%skeys with values are wanted, and not %s: write %s{key: value}", prefix, is, prefix)
}

// keyOf finds the key in whose line a value begins that way, and the value.
func keyOf(n *yaml.Node, line int, value string) (string, *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if v := n.Content[i+1]; v.Line == line && (v.Kind != yaml.ScalarNode || strings.HasPrefix(v.Value, value)) && (value == "") == (v.Kind != yaml.ScalarNode) {
				return n.Content[i].Value, v
			}
		}
	}
	for _, c := range n.Content {
		if key, v := keyOf(c, line, value); v != nil {
			return key, v
		}
	}
	return "", nil
}

// Has tells whether there is a value at the keys that lead to it; null is none.
func (f *File) Has(path ...string) bool {
	n := &f.root
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for _, key := range path {
		var next *yaml.Node
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = n.Content[i+1]
			}
		}
		if next == nil {
			return false
		}
		for n = next; n.Kind == yaml.AliasNode; {
			n = n.Alias
		}
	}
	return n.Tag != "!!null"
}

// At is file and line of a value ("job.yaml:3"), given by the keys and indices
// that lead to it, or of the nearest value around it.
func (f *File) At(path ...string) string {
	n := &f.root
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	line := n.Line
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
			break
		}
		n = next
	}
	return fmt.Sprintf("%s:%d", f.name, max(line, 1))
}
