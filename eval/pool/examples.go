package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Examples are pages that were chosen to show a topic to crawls.
type Examples struct {
	Wanted    []web.URL // of grade 2, from several hosts or directories
	Negatives []web.URL // that look alike and are not wanted
}

// examples.tsv holds the examples of the topics of a pool, in the order in which
// crawls are given them:
//
//	topic	address	as
//	campus/databases	http://a.example/	example
//	campus/databases	http://a.example/menu	negative
//
// Lines that begin with # are comments.
const (
	ExamplesName = "examples.tsv"
	examplesHead = "topic\taddress\tas"
)

// ReadExamples reads the examples in the folder of a pool, by topic. They need
// not be pages of the pool. The error names file and line.
func ReadExamples(dir string) (map[Key]Examples, error) {
	name := filepath.Join(dir, ExamplesName)
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	out := map[Key]Examples{}
	seen := map[Label]bool{} // topic and address
	n, headed := 0, false
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		fail := func(err error) (map[Key]Examples, error) { return nil, fmt.Errorf("%s:%d: %w", name, n, err) }
		if !headed {
			if headed = line == examplesHead; !headed {
				return fail(fmt.Errorf("the first line is not %q", examplesHead))
			}
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			return fail(errors.New("three fields parted by tabs are wanted: topic, address, as"))
		}
		k, err := ParseKey(f[0])
		if err != nil {
			return fail(err)
		}
		u, err := web.Parse(f[1])
		if err != nil {
			return fail(err)
		}
		if l := (Label{Key: k, URL: u}); seen[l] {
			return fail(fmt.Errorf("%s is there twice", u))
		} else {
			seen[l] = true
		}
		e := out[k]
		switch f[2] {
		case "example":
			e.Wanted = append(e.Wanted, u)
		case "negative":
			e.Negatives = append(e.Negatives, u)
		default:
			return fail(fmt.Errorf("%q: example or negative is wanted", f[2]))
		}
		out[k] = e
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no examples", name)
	}
	return out, nil
}
