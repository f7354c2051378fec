// Package score holds the strategies that say which link goes first: one file
// each, with its source on top. They turn a link into a priority, one float64,
// higher is sooner, comparable only within one scorer.
//
// The life of a priority: Extract reads from the page what scoring its links
// needs (pure, on any core); Visit tells the scorer how the fetch of the page
// ended; Score gives each link its priority, from the features, and again
// whenever the model changed.
package score

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Scorer turns links into priorities. It is the interface that a crawl asks
// for; see there for who calls what when.
type Scorer interface {
	Extract(p *web.Page, v web.Verdict) [][]byte
	Visit(c *web.Candidate, p *web.Page, v web.Verdict) (memory []byte)
	Score(c *web.Candidate) float64
	Stale() bool
	Rescores() bool
	State() []byte
	Restore(state []byte) error
}

// Options are what scorers are made of; which ones need what is told by the
// errors of New.
type Options struct {
	// Seed is the run's: the only source of chance.
	Seed uint64
	// Page is the similarity of a judged page to the topic, in [0,1]. nil is
	// the verdict's relevance, the graded value of CPS02 (A1); for
	// best-first as printed in BPM09 (B3) give the cosine to the topic, and
	// the same for Anchor.
	Page func(p *web.Page, v web.Verdict) float64
	// Anchor is the similarity of an anchor's text to the topic, in [0,1].
	// Both functions are pure and safe for concurrent use.
	Anchor func(text string) float64
	// PageWeight is the share of the page in best-first-both, in (0,1);
	// 0 = ½ (BPM09 eq 3).
	PageWeight float64
	// N is the batch of best-n-first, 1…256; 0 = 256.
	N int
}

// Line is a name of a scorer with what it does in one line.
type Line struct {
	Name, Line string
}

type maker struct {
	Line
	make func(Options) (Scorer, error)
}

func makers() []maker {
	return []maker{
		{Line{"breadth-first", "near the seeds first, in the order found"}, newBreadthFirst},
		{Line{"random", "in random order"}, newRandom},
		{Line{"best-first-page", "links of relevant pages first"}, newBestFirst(pageAlone)},
		{Line{"best-first-anchor", "links with relevant anchors first"}, newBestFirst(anchorAlone)},
		{Line{"best-first-both", "the mean of page and anchor"}, newBestFirst(pageAndAnchor)},
		{Line{"best-n-first", "best-first-both in batches of N pages"}, newBestN},
	}
}

// Names lists the scorers.
func Names() []Line {
	var out []Line
	for _, m := range makers() {
		out = append(out, m.Line)
	}
	return out
}

// New makes the scorer of that name.
func New(name string, o Options) (Scorer, error) {
	var known []string
	for _, m := range makers() {
		if m.Name == name {
			s, err := m.make(o)
			if err != nil {
				return nil, fmt.Errorf("scorer %s: %w", name, err)
			}
			return s, nil
		}
		known = append(known, m.Name)
	}
	return nil, fmt.Errorf("there is no scorer %q; the scorers are %s", name, strings.Join(known, ", "))
}

// fixed is a scorer's part that learns nothing: it keeps no memory, and its
// scores never change.
type fixed struct{}

func (fixed) Visit(*web.Candidate, *web.Page, web.Verdict) []byte { return nil }
func (fixed) Stale() bool                                         { return false }
func (fixed) Rescores() bool                                      { return false }
func (fixed) State() []byte                                       { return nil }

func (fixed) Restore(state []byte) error {
	if len(state) > 0 {
		return errors.New("scorer: the state is that of another scorer; resume with the one of the first run")
	}
	return nil
}

// none is what Extract returns for links that need no features.
func none(p *web.Page) [][]byte { return make([][]byte, len(p.Links)) }

// similarities are the features of best-first scorers, 8 bytes:
//
//	page float32 LE · anchor float32 LE, both in [0,1]
type similarities struct {
	page, anchor float64
}

func (s similarities) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(s.page)))
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(s.anchor)))
}

// readSimilarities reads features; ok is false for those of a seed, which has
// none.
func readSimilarities(b []byte) (s similarities, ok bool) {
	if len(b) != 8 {
		return s, false
	}
	s.page = unit(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	s.anchor = unit(float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))))
	return s, true
}
