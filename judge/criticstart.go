package judge

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/topic/taxonomy"
)

// Bounds of what a critic keeps of the examples of a class, and of what it says of a
// topic.
const (
	classExamples  = 30   // of a class, drawn by a hash of their addresses
	exampleText    = 300  // bytes of a title or a description
	startAddresses = 30   // of a topic
	startText      = 2000 // bytes of a description
)

// ClassExample is an example of a class as the taxonomy has it: an address on the web,
// and what editors wrote of it.
type ClassExample struct {
	Class       int    `json:"class"` // index of Record.Classes
	Address     string `json:"address"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// KeepExamples puts into the record up to 30 examples of each class that are addresses,
// so that crawls can begin with them. The same examples in any order are kept alike.
func (c *Critic) KeepExamples(all iter.Seq[taxonomy.Example]) {
	of := make([][]ClassExample, len(c.Record.Classes))
	for e := range all {
		class, known := slices.BinarySearch(c.Record.Classes, e.Topic)
		if _, file := e.File(); !known || file || e.Source == "" {
			continue
		}
		of[class] = append(of[class], ClassExample{class, e.Source, shortened(e.Title, exampleText), shortened(e.Description, exampleText)})
	}
	c.Record.Examples = nil
	for _, list := range of {
		slices.SortFunc(list, func(a, b ClassExample) int {
			return cmp.Or(cmp.Compare(xxh3.HashString(a.Address), xxh3.HashString(b.Address)), cmp.Compare(a.Address, b.Address))
		})
		list = slices.CompactFunc(list, func(a, b ClassExample) bool { return a.Address == b.Address })
		c.Record.Examples = append(c.Record.Examples, list[:min(classExamples, len(list))]...)
	}
}

// Start is what a crawl for topics of a taxonomy can begin with.
type Start struct {
	Addresses   []string // of example pages, at most 30, in turn from each class
	Keywords    []string // the names on the paths of the topics
	Description string   // titles and descriptions of the examples
}

// Start is what is known of the topics in focus. The error is that of Focus. A critic
// that was trained by an earlier waggle knows no examples.
//
// Source: Liu & Milios 2010, sections 3.1 and 3.2, take targets, keywords and description
// from the Open Directory in this way; Chakrabarti, Punera & Subramanyam 2002, section
// 3.5, start "from all example URLs available from the given topic".
func (c *Critic) Start(focus []string) (s Start, err error) {
	good, err := c.Focus(focus)
	if err != nil {
		return s, err
	}
	for _, topic := range focus {
		path, _ := taxonomy.Clean(topic) // Focus has
		for _, name := range taxonomy.Keywords(path) {
			if !slices.Contains(s.Keywords, name) {
				s.Keywords = append(s.Keywords, name)
			}
		}
	}
	of := make([][]ClassExample, len(good))
	for _, e := range c.Record.Examples {
		if good[e.Class] {
			of[e.Class] = append(of[e.Class], e)
		}
	}
	var words []string
	for turn := range classExamples {
		for _, list := range of {
			if turn >= len(list) || len(s.Addresses) == startAddresses {
				continue
			}
			e := list[turn]
			s.Addresses = append(s.Addresses, e.Address)
			for _, text := range []string{e.Title, e.Description} {
				if text != "" && !slices.Contains(words, text) {
					words = append(words, text)
				}
			}
		}
	}
	s.Description = shortened(strings.Join(words, ". "), startText)
	return s, nil
}

// shortened is a text of at most n bytes, cut before a word.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if at := strings.LastIndexByte(s[:n+1], ' '); at > 0 {
		return s[:at]
	}
	return strings.ToValidUTF8(s[:n], "")
}
