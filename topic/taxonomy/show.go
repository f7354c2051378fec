package taxonomy

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// WriteTree writes a topic and those below it, down to a depth: a line a topic, with
// what count tells of it.
func WriteTree(w io.Writer, path string, depth int, children func(string) []string, count func(string) string) error {
	out := bufio.NewWriter(w)
	var walk func(path string, level int)
	walk = func(path string, level int) {
		name := path
		if level > 0 {
			name = path[strings.LastIndexByte(path, '/')+1:]
		}
		fmt.Fprintf(out, "%s%s  (%s)\n", strings.Repeat("  ", level), event.Line(name), count(path))
		if level < depth {
			for _, k := range children(path) {
				walk(k, level+1)
			}
		}
	}
	walk(path, 0)
	return out.Flush()
}

// Write writes a topic and those below it, down to a depth, with how many examples each
// has; of the whole tree also how many topics have none.
func (t *Tree) Write(out io.Writer, root string, depth int) error {
	if err := WriteTree(out, root, depth, t.Children, func(path string) string {
		own, below := t.Count(path)
		if own == below {
			return terminal.Number(below)
		}
		return fmt.Sprintf("%s, %s its own", terminal.Number(below), terminal.Number(own))
	}); err != nil {
		return err
	}
	if empty := t.Empty(); len(empty) > 0 && root == "/" {
		fmt.Fprintf(out, "%s of %s %s no example, such as %s\n", terminal.Number(len(empty)), terminal.Count(t.Len(), "topic"), terminal.One(len(empty), "has", "have"), empty[0])
	}
	return nil
}

// Write tells what became of topics folded below k examples, in the file of that name.
func (got PruneReport) Write(out io.Writer, name string, k int) {
	fmt.Fprintf(out, "%s: %s of %s, %s of %s\n", name, terminal.Count(len(got.Classes), "class"), terminal.Count(got.Topics, "topic"), terminal.Number(got.Kept), terminal.Count(got.Examples, "example"))
	others := 0
	for _, x := range got.Classes {
		if x.Other {
			others++
		}
	}
	fmt.Fprintf(out, "%s %s folded; %s %s the Other of a topic, %s of these with fewer than %s\n",
		terminal.Count(got.Folded, "topic"), terminal.One(got.Folded, "was", "were"), terminal.Count(others, "class"), terminal.One(others, "is", "are"), terminal.Number(len(got.Small(k))), terminal.Count(k, "example"))
}

// Find is the path of a topic that was named, "/" for "". An error names those near it.
func Find(topic string, has func(string) bool, near func() []string) (string, error) {
	if topic == "" {
		return "/", nil
	}
	path, err := Clean(topic)
	if err != nil {
		return "", err
	}
	if !has(path) {
		hint := ""
		if n := near(); len(n) > 0 {
			hint = "; near names: " + strings.Join(n, ", ")
		}
		return "", fmt.Errorf("there is no topic %s%s", path, hint)
	}
	return path, nil
}
