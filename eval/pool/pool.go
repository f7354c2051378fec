// Package pool holds pages of recorded webs that are drawn for readers,
// the grades that readers gave them, and what follows from the grades for all
// the pages that nobody read.
//
//	rankings of crawls and judges ─► Draw ─► Pool ─► readers ─► Labels
//	                                                              │
//	               Agreement (Cohen's κ) ◄────────────────────────┤
//	               Grades of pages, Estimate of totals ◄──────────┘
//
// # The pages of a topic
//
// A document is a body: pages of a web with the same body are one document, the
// first of them by address stands for it, and a grade holds for all of them.
// The documents of a web are numbered as eval.Graph numbers bodies. For each
// topic they are parted into strata, best ranks first (see Draw), and of each
// stratum some are drawn at random. So a share of a stratum's drawn pages is an
// unbiased estimate of the share of all its pages, and totals can be estimated
// with intervals, see Estimate.
//
// # The life of a pool
//
// Drawn once, it never changes: its revision is a hash of all of it, and labels
// name the revision they belong to. Readers see the pages of a topic in a random
// order that tells nothing of strata. Where they stop early, what they read of
// each stratum is still a random sample of it.
package pool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Pool is the pages to read of some topics of recorded webs.
type Pool struct {
	Revision string // 16 hexadecimal digits; "" until written
	Seed     uint64
	Webs     []Web
	Topics   []Topic
}

// Web is a recorded web of a pool.
type Web struct {
	Name      string `yaml:"name"`
	Revision  string `yaml:"revision"`  // of its pages, see eval.Graph.Revision
	Documents int    `yaml:"documents"` // pages with a body of their own
}

// Topic is the pages to read of one topic.
type Topic struct {
	Web   string `yaml:"web"`
	Name  string `yaml:"name"`
	Lists int    `yaml:"lists"` // rankings that were pooled: crawls and judges
	Depth int    `yaml:"depth"` // pages of each list that are read for sure
	// Strata are at most 26. Their sizes sum to the documents of the web.
	Strata []Stratum `yaml:"strata"`
	// Pages are in the order in which they are read.
	Pages []Page `yaml:"-"`
	// Member is the stratum of each document, as an index into Strata.
	// Shape: [document].
	Member []uint8 `yaml:"-"`
}

// Stratum is a part of a web's documents.
type Stratum struct {
	Name  string `yaml:"name"`
	Size  int    `yaml:"size"`  // documents
	Drawn int    `yaml:"drawn"` // of these, pages to read
}

// Page is a page to read.
type Page struct {
	URL     web.URL
	Stratum int // index into Topic.Strata
}

// Key names a topic.
type Key struct{ Web, Topic string }

func (k Key) String() string { return k.Web + "/" + k.Topic }

// ParseKey reads "WEB/TOPIC".
func ParseKey(s string) (Key, error) {
	w, t, ok := strings.Cut(s, "/")
	if !ok {
		return Key{}, fmt.Errorf("topic %q: WEB/TOPIC is wanted", s)
	}
	return Key{w, t}, nil
}

// Key is the topic's.
func (t *Topic) Key() Key { return Key{t.Web, t.Name} }

// Topic finds a topic; the error names those there are.
func (p *Pool) Topic(k Key) (*Topic, error) {
	names := ""
	for i := range p.Topics {
		t := &p.Topics[i]
		if t.Key() == k {
			return t, nil
		}
		names += " " + t.Key().String()
	}
	return nil, fmt.Errorf("the pool has no topic %s; it has%s", k, names)
}

// Select returns the topics of these names, "WEB/TOPIC", in the order of the pool; all
// for no name. It is an error if one is not there.
func (p *Pool) Select(names []string) (out []*Topic, err error) {
	for _, name := range names {
		k, err := ParseKey(name)
		if err == nil {
			_, err = p.Topic(k)
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range p.Topics {
		if t := &p.Topics[i]; len(names) == 0 || slices.Contains(names, t.Key().String()) {
			out = append(out, t)
		}
	}
	return out, nil
}

// Web finds a web; ok is false where the pool has no page of it.
func (p *Pool) Web(name string) (w Web, ok bool) {
	for _, w := range p.Webs {
		if w.Name == name {
			return w, true
		}
	}
	return Web{}, false
}
