package taxonomy

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/waggle-crawler/waggle/event"
)

// WriteTree writes a topic and those below it, down to a depth: a line a topic, with
// what count tells of it.
func WriteTree(w io.Writer, path string, depth int, kids func(string) []string, count func(string) string) error {
	out := bufio.NewWriter(w)
	var walk func(path string, level int)
	walk = func(path string, level int) {
		name := path
		if level > 0 {
			name = path[strings.LastIndexByte(path, '/')+1:]
		}
		fmt.Fprintf(out, "%s%s  (%s)\n", strings.Repeat("  ", level), event.Line(name), count(path))
		if level < depth {
			for _, k := range kids(path) {
				walk(k, level+1)
			}
		}
	}
	walk(path, 0)
	return out.Flush()
}
