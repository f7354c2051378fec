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

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/setting"
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
	Analyzer *text.Analyzer
	// DF holds the document frequencies by which words are weighed; nil = those
	// of English.
	DF *text.DF
	// Thesaurus tells the semantic scorers which words are related; nil knows
	// of none.
	Thesaurus Thesaurus
	// Model is a trained model, for the scorers that were taught before the
	// crawl, and for the apprentice, which can do without.
	Model *model.File
	// Classes names the classes of a taxonomy that a page belongs to, as paths
	// such as /Arts/Music; nil = there is no taxonomy. It is pure and safe for
	// concurrent use.
	Classes func(*web.Page) []string
	// Set changes settings of the scorer, by name; Settings lists them.
	Set map[string]float64
	// Learn is given what computes a model anew from all that was seen, such as
	// a training during the crawl, and calls it once before it returns: so the
	// time of it can be told from that of a visit. nil calls it and no more.
	Learn func(compute func())
}

// Setting is a constant of a strategy that Options.Set can change.
type Setting = setting.Setting

// set returns the setting of that name; New has checked and completed them.
func (o Options) set(name string) float64 {
	v, ok := o.Set[name]
	if !ok {
		panic("score: no setting " + name) // not one of the maker's: a slip in this package
	}
	return v
}

// complete returns o with a value for each of the settings.
func (o Options) complete(settings []Setting) (Options, error) {
	set, err := setting.Complete(settings, o.Set)
	if err != nil {
		return o, err
	}
	o.Set = set
	if o.Analyzer == nil {
		o.Analyzer = text.NewAnalyzer()
	}
	if o.Learn == nil {
		o.Learn = func(compute func()) { compute() }
	}
	if o.Page == nil {
		o.Page = func(_ *web.Page, v web.Verdict) float64 { return v.Relevance }
	}
	return o, nil
}

// Line is a name of a scorer with what it does in one line.
type Line struct {
	Name, Line string
}

type maker struct {
	Line
	make     func(Options) (Scorer, error)
	settings []Setting
	model    model.Kind // that it is made of, "" for none
}

func makers() []maker {
	return []maker{
		{Line{"breadth-first", "near the seeds first, in the order found"}, newBreadthFirst, nil, ""},
		{Line{"random", "in random order"}, newRandom, nil, ""},
		{Line{"best-first-page", "links of relevant pages first"}, newBestFirst(pageAlone), nil, ""},
		{Line{"best-first-anchor", "links with relevant anchors first"}, newBestFirst(anchorAlone), nil, ""},
		{Line{"best-first-both", "the mean of page and anchor"}, newBestFirst(pageAndAnchor), weightSettings(), ""},
		{Line{"best-n-first", "best-first-both in batches of N pages"}, newBestN, bestNSettings(), ""},
		{Line{"fish-search", "a few links of relevant pages, fewer of others, three deep"}, newFish, fishSettings(), ""},
		{Line{"shark-search-0.5", "relevance inherited along the path, anchor and its surroundings; γ = ½"}, newShark, sharkSettings(0.5), ""},
		{Line{"shark-search-0.8", "the same, with more weight on what is inherited"}, newShark, sharkSettings(0.8), ""},
		{Line{"semantic-synonym", "words of page and anchor that mean what the keywords mean"}, newSemantic(false), semanticSettings(false), ""},
		{Line{"semantic-hypernym", "the same, and wider or narrower words by half"}, newSemantic(true), semanticSettings(true), ""},
		{Line{"infospiders-like", "a population of agents that learn which keywords near a link promise"}, newSpiders, spidersSettings(), ""},
		{Line{"backlink", "addresses that most fetched pages link to first"}, newBacklink, backlinkSettings(), ""},
		{Line{"pagerank", "addresses of the highest PageRank first"}, newPageRank, pageRankSettings(), ""},
		{Line{"opic", "addresses that hold the most cash first"}, newOPIC, opicSettings(), ""},
		{Line{"aggarwal", "interest ratios of words, address, parents and siblings"}, newAggarwal, aggarwalSettings(), ""},
		{Line{"ache-like-hard", "a link classifier retrained as it goes; links of relevant pages alone"}, newACHE, acheSettings(true), ""},
		{Line{"ache-like-soft", "the same, with the links of all pages"}, newACHE, acheSettings(false), ""},
		{Line{"tagpath-bandit-like", "a bandit over places in page templates"}, newTagPath, tagPathSettings(), ""},
		{Line{"apprentice", "learns from the words around followed links, by their distance in the page"}, newApprentice, apprenticeSettings(false), ""},
		{Line{"apprentice-tempered", "the same with its evidence tempered, and weighed against the relevance of the page"}, newApprentice, apprenticeSettings(true), ""},
		{Line{"anthelion-like", "a bandit over hosts times naive Bayes over addresses"}, newAnthelion, anthelionSettings(), ""},
		{Line{"memm", "hop distances along the path, by a trained maximum-entropy Markov model"}, newChain(model.MEMM), chainSettings(), model.MEMM},
		{Line{"crf", "the same, by a trained conditional random field"}, newChain(model.CRF), chainSettings(), model.CRF},
		{Line{"hmm", "the same, by a trained hidden Markov model over clusters of pages"}, newHMM(false, false), hmmSettings(false, false), model.HMM},
		{Line{"hmm-centroid-page", "the mean of hmm and the likeness of the page to the targets"}, newHMM(true, false), hmmSettings(true, false), model.HMM},
		{Line{"hmm-centroid-both", "the mean of hmm and the likeness of page and anchor to the targets"}, newHMM(true, true), hmmSettings(true, true), model.HMM},
		{Line{"hmm2", "hop distances by the last two pages, by a trained hidden Markov model of second order"}, newHMM2, hmm2Settings(), model.HMM2},
		{Line{"contextgraph", "links of pages nearest to targets, by a trained classifier of layers"}, newContextGraph, contextGraphSettings(), model.ContextGraph},
		{Line{"rlspider", "links of the highest value, by a trained classifier of their words"}, newRLSpider, nil, model.RLSpider},
		{Line{"bayes-page-like", "links of pages that naive Bayes takes for targets"}, newBayesPage, nil, model.ContextGraph},
		{Line{"pathlearner", "what a link is worth on the way to a goal, by a model of labelled paths"}, newPathLearner, pathLearnerSettings(), model.PathLearner},
		{Line{"pathlearner-adaptive", "the same, drawn to what links of the same page turned out to be worth"}, newAdaptivePaths, adaptivePathsSettings(), model.PathLearner},
		{Line{"afc-approx", "links likeliest to lead to a goal by their words alone, by the same model"}, newApproximate, nil, model.PathLearner},
		{Line{"knn-page-like", "links of pages whose nearest training pages are targets"}, newNearestPage, []Setting{neighboursSetting()}, model.HMM},
	}
}

// Model is the kind of trained model that the scorer of that name is made of,
// "" if it needs none.
func Model(name string) model.Kind {
	for _, m := range makers() {
		if m.Name == name {
			return m.model
		}
	}
	return ""
}

// Settings lists what Options.Set can change of the scorer of that name, nil
// when there is nothing or no such scorer.
func Settings(name string) []Setting {
	for _, m := range makers() {
		if m.Name == name {
			return m.settings
		}
	}
	return nil
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
			o, err := o.complete(m.settings)
			if err != nil {
				return nil, fmt.Errorf("scorer %s: %w", name, err)
			}
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

func (fixed) Visit(*web.Candidate, *web.Page, web.Verdict) []byte  { return nil }
func (fixed) Recall(*web.Candidate, *web.Page, web.Verdict) []byte { return nil }
func (fixed) Stale() bool                                          { return false }
func (fixed) Rescores() bool                                       { return false }
func (fixed) State() []byte                                        { return nil }

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
