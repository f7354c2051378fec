// Package examples gets the example pages of a taxonomy, from files, from a recorded
// web or from the web itself, and gives them to the training of a critic. The web is
// asked by a crawl whose seeds they are, in a folder of its own, from which a run that
// was stopped goes on.
//
// An address under several topics, or two addresses of one page, count once, for the
// topic that comes first in the taxonomy.
package examples

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/web"
)

// List holds the examples of a taxonomy.
type List struct {
	// Empty are topics without examples.
	Empty []string

	name      string // of the taxonomy's file
	examples  []taxonomy.Example
	topics    []taxonomy.Example // lines that say something of a topic
	addresses []web.URL          // in the order of the taxonomy, each once
	sum       uint64             // of the addresses
}

// Examples are all of the taxonomy, in its order, with what it says of topics themselves.
func (w *List) Examples() iter.Seq[taxonomy.Example] {
	return slices.Values(slices.Concat(w.examples, w.topics))
}

// Read reads the examples of a taxonomy's file.
func Read(name string) (*List, error) {
	in, err := taxonomy.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	w := &List{name: name}
	seen := map[web.URL]bool{}
	sum := fnv.New64a()
	for e, err := range taxonomy.Read(in, name) {
		if err != nil {
			return nil, err
		}
		if e.Source == "" {
			if e.Description == "" {
				w.Empty = append(w.Empty, e.Topic)
			} else {
				w.topics = append(w.topics, e)
			}
			continue
		}
		if len(w.examples) == maxExamples {
			return nil, fmt.Errorf("%s holds more than %s examples: cut it down with waggle topic prune", name, terminal.Number(maxExamples))
		}
		w.examples = append(w.examples, e)
		if _, ok := e.File(); ok {
			continue
		}
		u, err := web.Parse(e.Source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !seen[u] {
			seen[u] = true
			w.addresses = append(w.addresses, u)
			fmt.Fprintln(sum, u)
		}
	}
	if len(w.examples) == 0 {
		return nil, fmt.Errorf("%s holds no example: import some with waggle topic import", name)
	}
	w.sum = sum.Sum64()
	return w, nil
}

// Tally counts what became of the examples.
type Tally struct {
	Wanted int
	Pages  int            // examples whose page was read
	Lost   map[string]int // the others, by reason
}

func (h *Tally) lose(reason string) { h.Lost[reason]++ }

func (h *Tally) get() { h.Pages++ }

// String tells how many examples could be had, and why not the others.
func (h *Tally) String() string {
	s := fmt.Sprintf("%s of %s examples could be had (%s)", terminal.Number(h.Pages), terminal.Number(h.Wanted), terminal.Percent(float64(h.Pages)/float64(max(1, h.Wanted))))
	var reasons []string
	for r := range h.Lost {
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		if d := h.Lost[b] - h.Lost[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, r := range reasons {
		s += fmt.Sprintf("\n%8s × %s", terminal.Number(h.Lost[r]), r)
	}
	return s
}

// enough tells whether to go on; again is one more remedy.
func (h *Tally) enough(floor float64, again string) error {
	if h.Pages == 0 {
		return fmt.Errorf("not one of the examples could be had: look into why%s", again)
	}
	if share := float64(h.Pages) / float64(max(1, h.Wanted)); share < floor {
		return fmt.Errorf("only %s of the examples could be had, and the floor is %s: look into why%s, or train with these by --floor %.2g", terminal.Percent(share), terminal.Percent(floor), again, math.Floor(100*share)/100)
	}
	return nil
}

// Reasons for which an example is lost, beside those of the crawl.
const (
	lostText  = "no text"
	lostOther = "the same page as an example of another topic"
	lostSame  = "the same page as another example"
)
