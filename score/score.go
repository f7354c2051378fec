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
	"math"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/topic"
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
	State() (state []byte, snapshot bool)
	Restore(state []byte) error
}

// Options are what scorers are made of; Description.Needs tells
// which of them a scorer needs.
type Options struct {
	// Seed is the run's: the only source of chance.
	Seed uint64
	// Topic is what the crawl looks for; nil = it is not known. A scorer that needs
	// some of it says so by a Need of its own.
	Topic *topic.Topic
	// Judge is the judge of the crawl, for scorers that ask it more than Page and
	// Anchor tell, through an interface of their own; nil = there is none, or none
	// yet: needs are checked before it is made.
	Judge any
	// Page is the similarity of a judged page to the topic, in [0,1]; nil = the
	// verdict's relevance, as in Chakrabarti, Punera & Subramanyam 2002, section
	// 2.1. For best-first as in Batsakis, Petrakis & Milios 2009, section 3.1, give
	// the cosine to the topic, and the same for Anchor.
	Page func(p *web.Page, v web.Verdict) float64
	// Anchor is the similarity of an anchor's text to the topic, in [0,1].
	// Both functions are pure and safe for concurrent use.
	Anchor func(text string) float64
	// Keywords name the topic, words or phrases, for the scorers that look
	// for words themselves.
	Keywords []string
	// Analyzer makes terms of texts, as the parser's does; nil = a new one.
	Analyzer Analyzer
	// DF holds the document frequencies by which words are weighed; nil = those
	// of English.
	DF Frequencies
	// Thesaurus tells the semantic scorers, which need one, which words are
	// related.
	Thesaurus Thesaurus
	// Model is a trained model, for the scorers that were taught before the
	// crawl, and for the apprentice, which can do without.
	Model *model.File
	// Taxonomy says that the judge knows a taxonomy, so that its verdicts name the
	// classes of pages.
	Taxonomy bool
	// Set changes settings of the scorer, by name; Settings lists them.
	Set map[string]float64
	// Learn is given what computes a model anew from all that was seen, such as
	// a training during the crawl, and calls it once before it returns: so the
	// time of it can be told from that of a visit. nil calls it and no more.
	Learn func(compute func())

	judged bool // Page is the verdict's relevance
}

// Analyzer makes terms of texts. It is safe for concurrent use.
type Analyzer interface {
	// Words are the terms of a text in order, each as web.Term.Text has it.
	Words(text string) []string
}

// Frequencies are document frequencies of terms. They are safe for concurrent use.
type Frequencies interface {
	// Share is the share of documents that hold a term, in (0,1].
	Share(term string) float64
	// IDF is −ln of it, at least 0.
	IDF(term string) float64
}

// set returns the setting of that name; New has checked and completed them.
func (o Options) set(name string) float64 {
	v, ok := o.Set[name]
	if !ok {
		panic("score: no setting " + name) // not one of the maker's: a slip in this package
	}
	return v
}

// Role is "scorer", for descriptions.
func (o Options) Role() string { return "scorer" }

// Values is Set, for descriptions.
func (o Options) Values() map[string]float64 { return o.Set }

// Complete returns o with these values of settings, and the defaults of what may be nil.
func (o Options) Complete(values map[string]float64) (Options, error) {
	o.Set = values
	o.Analyzer = text.SplitterOf(o.Analyzer)
	if o.Learn == nil {
		o.Learn = func(compute func()) { compute() }
	}
	if o.Page == nil {
		o.judged = true
		o.Page = func(_ *web.Page, v web.Verdict) float64 { return v.Relevance }
	}
	return o, nil
}

// Stems are the stems of a text, in order, as those of pages (web.Term) are made.
func (o Options) Stems(s string) []string { return text.SplitterOf(o.Analyzer).Words(s) }

// New makes the scorer of that name, one of this package, see Description.New.
func New(name string, o Options) (Scorer, error) { return strategy.New(name, o, Descriptions()) }

// stateless is the part of a scorer that learns nothing: it keeps no memory, and its
// scores never change.
type stateless struct{}

func (stateless) Visit(*web.Candidate, *web.Page, web.Verdict) []byte  { return nil }
func (stateless) Recall(*web.Candidate, *web.Page, web.Verdict) []byte { return nil }
func (stateless) Stale() bool                                          { return false }
func (stateless) Rescores() bool                                       { return false }
func (stateless) State() (state []byte, snapshot bool)                 { return nil, false }

func (stateless) Restore(state []byte) error {
	if len(state) > 0 {
		return errors.New("scorer: the state is that of another scorer; resume with the one of the first run")
	}
	return nil
}

// noFeatures is what Extract returns for links that need no features.
func noFeatures(p *web.Page) [][]byte { return make([][]byte, len(p.Links)) }

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
