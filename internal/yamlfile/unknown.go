package yamlfile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/internal/spelling"
)

// place is where a key stands: below other keys, with dots between them; "" = at the top.
type place struct {
	key, under string
	of         reflect.Type // the struct that has it
	value      reflect.Type
}

// path is the key with those above it.
func (p place) path() string {
	if p.under == "" {
		return p.key
	}
	return p.under + "." + p.key
}

// places adds the keys of a type below under, and of all that it holds. around are the types
// that hold it, so that a type which holds itself ends.
func places(t reflect.Type, under string, out []place, around []reflect.Type) []place {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return places(t.Elem(), under, out, around)
	case reflect.Struct:
		if slices.Contains(around, t) {
			return out
		}
		around = append(slices.Clone(around), t)
		for f := range t.Fields() {
			key, flags, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case !f.IsExported() || key == "-":
				continue
			case strings.Contains(flags, "inline"):
				for _, p := range places(f.Type, under, nil, around) {
					if p.under == under {
						p.of = t
					}
					out = append(out, p)
				}
				continue
			case key == "":
				key = strings.ToLower(f.Name)
			}
			p := place{key, under, t, f.Type}
			out = places(f.Type, p.path(), append(out, p), around)
		}
	}
	return out
}

// unknown says of a key in a line that the struct typ, as the decoder names it, has none such:
// where else it stands, and which of its keys are like it, or else which others.
func (f *File) unknown(line int, key, typ string) string {
	var here, all, stands []string
	path := map[string]string{} // of each key: where it stands first
	settings := ""
	for _, p := range places(f.into, "", nil, nil) {
		if path[p.key] == "" {
			path[p.key] = p.path()
			all = append(all, p.key)
		}
		switch {
		case p.of.String() == typ:
			here = append(here, p.key)
			if p.value == reflect.TypeFor[map[string]float64]() {
				settings = p.key
			}
		case p.key == key && p.under == "":
			stands = append(stands, "at the top")
		case p.key == key:
			stands = append(stands, "under "+p.under)
		}
	}
	said := fmt.Sprintf("unknown key %q", key)
	near := spelling.Near(key, here)
	switch number := numberAt(&f.root, line, key); {
	case len(stands) > 0:
		said += " here: it stands " + strings.Join(stands, ", and ")
	case settings != "" && number != "":
		said += fmt.Sprintf("; settings stand under %s: %s: {%s: %s}", settings, settings, key, number)
	case len(near) == 0:
		for _, name := range spelling.Near(key, all) {
			near = append(near, path[name])
		}
	}
	if len(near) > 0 {
		said += "; near names: " + strings.Join(near, ", ")
	}
	return said
}

// numberAt is the number that stands in a line under a key, as it is written; "" = none does.
func numberAt(n *yaml.Node, line int, key string) string {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == key && n.Content[i-1].Line == line && c.Kind == yaml.ScalarNode {
			if _, err := strconv.ParseFloat(c.Value, 64); err == nil {
				return c.Value
			}
		}
		if found := numberAt(c, line, key); found != "" {
			return found
		}
	}
	return ""
}
