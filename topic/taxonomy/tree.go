package taxonomy

import (
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Tree counts the examples of each topic. Every prefix of a topic is in it.
type Tree struct {
	topics map[string]*node
	left   int // topics that fold left
}

type node struct {
	own      int      // examples of the topic itself
	below    int      // and of all below it, own included
	children []string // paths, sorted once the tree is whole
}

// ReadTree reads the tree of a taxonomy; see Read.
func ReadTree(r io.Reader, name string) (*Tree, error) {
	t := &Tree{topics: map[string]*node{"/": {}}}
	for e, err := range Read(r, name) {
		if err != nil {
			return nil, err
		}
		n := 1
		if e.Source == "" {
			n = 0
		}
		t.add(e.Topic, n)
	}
	for _, n := range t.topics {
		slices.Sort(n.children)
	}
	return t, nil
}

// add counts n examples of a topic.
func (t *Tree) add(path string, n int) {
	at, ok := t.topics[path]
	if !ok {
		path = strings.Clone(path) // a line holds much more
		at = &node{}
		t.topics[path] = at
		for child := path; ; {
			parent := Parent(child)
			up, ok := t.topics[parent]
			if !ok {
				up = &node{}
				t.topics[parent] = up
			}
			up.children = append(up.children, child)
			if ok {
				break
			}
			child = parent
		}
	}
	at.own += n
	for p := path; p != ""; p = Parent(p) {
		t.topics[p].below += n
	}
}

// Len is the number of topics, the root included.
func (t *Tree) Len() int { return len(t.topics) }

// Has tells whether there is a topic.
func (t *Tree) Has(path string) bool { return t.topics[path] != nil }

// Topics yields all paths, sorted.
func (t *Tree) Topics() iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(t.topics)))
}

// Children are the topics right below one, sorted.
func (t *Tree) Children(path string) []string {
	if n := t.topics[path]; n != nil {
		return n.children
	}
	return nil
}

// Count is the number of examples of a topic itself, and with all below it.
func (t *Tree) Count(path string) (own, below int) {
	if n := t.topics[path]; n != nil {
		return n.own, n.below
	}
	return 0, 0
}

// Empty are the topics without an example, neither their own nor below them,
// sorted.
func (t *Tree) Empty() []string {
	var out []string
	for path, n := range t.topics {
		if n.below == 0 {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
