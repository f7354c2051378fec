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
	topicText      = 1000 // bytes of what is said of a topic
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

// TopicText is what editors wrote of a topic.
type TopicText struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// KeepExamples puts into the record up to 30 examples of each class that are addresses,
// and what is said of topics themselves, so that crawls can begin with them. The same
// examples in any order are kept alike.
func (c *Critic) KeepExamples(all iter.Seq[taxonomy.Example]) {
	of := make([][]ClassExample, len(c.Record.Classes))
	c.Record.Topics = nil
	for e := range all {
		if e.Source == "" && e.Description != "" && c.covered(e.Topic) {
			c.Record.Topics = append(c.Record.Topics, TopicText{e.Topic, shortened(e.Description, topicText)})
		}
		class, known := slices.BinarySearch(c.Record.Classes, e.Topic)
		if _, file := e.File(); !known || file || e.Source == "" {
			continue
		}
		of[class] = append(of[class], ClassExample{class, e.Source, shortened(e.Title, exampleText), shortened(e.Description, exampleText)})
	}
	slices.SortFunc(c.Record.Topics, func(a, b TopicText) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	c.Record.Topics = slices.CompactFunc(c.Record.Topics, func(a, b TopicText) bool { return a.Path == b.Path })
	c.Record.Examples = nil
	for _, list := range of {
		slices.SortFunc(list, func(a, b ClassExample) int {
			return cmp.Or(cmp.Compare(xxh3.HashString(a.Address), xxh3.HashString(b.Address)), cmp.Compare(a.Address, b.Address))
		})
		list = slices.CompactFunc(list, func(a, b ClassExample) bool { return a.Address == b.Address })
		c.Record.Examples = append(c.Record.Examples, list[:min(classExamples, len(list))]...)
	}
}

// covered tells whether a topic is a class, or has one below it.
func (c *Critic) covered(topic string) bool {
	classes := c.Record.Classes
	if _, is := slices.BinarySearch(classes, topic); is {
		return true
	}
	below, _ := slices.BinarySearch(classes, strings.TrimSuffix(topic, "/")+"/")
	return below < len(classes) && taxonomy.Covers(topic, classes[below])
}

// Start is what a crawl for topics of a taxonomy can begin with.
type Start struct {
	Addresses   []string // of example pages, at most 30, in turn from each class
	Keywords    []string // the names on the paths of the topics
	Description string   // what editors wrote of the topics, and titles and descriptions of the examples
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
	var words []string
	for _, topic := range focus {
		path, _ := taxonomy.Clean(topic) // Focus has
		if i, said := slices.BinarySearchFunc(c.Record.Topics, path, func(t TopicText, path string) int { return cmp.Compare(t.Path, path) }); said {
			words = append(words, c.Record.Topics[i].Text)
		}
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
	s.Description = shortened(sentences(words), startText)
	return s, nil
}

// sentences joins texts, of which some end with a point.
func sentences(texts []string) string {
	var b strings.Builder
	for i, t := range texts {
		if i > 0 {
			if !strings.HasSuffix(texts[i-1], ".") {
				b.WriteByte('.')
			}
			b.WriteByte(' ')
		}
		b.WriteString(t)
	}
	return b.String()
}

// shortened is a text of at most n bytes, cut before a word, or between characters where
// words are not parted by spaces.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if at := strings.LastIndexByte(s[:n+1], ' '); at > n/2 {
		return s[:at]
	}
	return strings.ToValidUTF8(s[:n], "")
}
