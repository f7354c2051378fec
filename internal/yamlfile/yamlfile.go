// Package yamlfile reads YAML strictly: unknown keys are errors, one document
// is all there may be, and every error names the line.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return nil, explain(name, err, hint)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: it holds one document; remove what follows the line \"---\"", name)
	}
	if err := yaml.Unmarshal(b, &f.root); err != nil {
		return nil, explain(name, err, hint)
	}
	return f, nil
}

// explain says what the decoder found, in the words of a user's file.
func explain(name string, err error, hint string) error {
	// As the decoder writes them.
	line := regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): (.*)$`)
	unknown := regexp.MustCompile(`^field (.*) not found in type .*$`)
	lines := []string{err.Error()}
	var many *yaml.TypeError
	if errors.As(err, &many) {
		lines = many.Errors
	}
	var out []error
	for _, l := range lines {
		place := name
		if m := line.FindStringSubmatch(l); m != nil {
			place, l = name+":"+m[1], m[2]
		}
		if m := unknown.FindStringSubmatch(l); m != nil {
			l = fmt.Sprintf("unknown key %q", m[1])
			if hint != "" {
				l += "; " + hint
			}
		}
		out = append(out, fmt.Errorf("%s: %s", place, strings.TrimPrefix(l, "yaml: ")))
	}
	return errors.Join(out...)
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
