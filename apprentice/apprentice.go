// Package apprentice learns, from links that were followed, which words around a
// link lead to relevant pages.
//
//	Features   what a link (u,v) shows on its page u: words and their distances
//	Learner    naive Bayes over these features: examples in, odds out
//	Trainer    a model made of crawls that have ended
//
// A scorer feeds a Learner during its crawl; package train runs a Trainer.
//
// Source: Chakrabarti, Punera & Subramanyam, Accelerated Focused Crawling through
// Online Relevance Feedback, 2002, which the sections below refer to.
package apprentice

import (
	"math"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/setting"
)

// Boundary says which targets of links count as highly relevant.
type Boundary int

// The boundaries, as the setting numbers them.
const (
	Half   Boundary = iota // relevance from ½ on
	Even                   // the upper of two intervals of equal probability
	Judged                 // what the judge holds relevant
)

// Settings are those that say what is seen of a link and what counts as high: of
// the apprentice as published, or of the tempered one.
func Settings(tempered bool) []setting.Setting {
	boundary, words := Half, 0.
	if tempered {
		boundary, words = Even, 10
	}
	return []setting.Setting{
		{Name: "dmax", Default: 5, Max: 10, Whole: true, Line: "how many leaves away from a link words count"},
		{Name: "plain", Max: 1, Whole: true, Line: "1 takes words without their offsets"},
		{Name: "topics", Default: 2, Max: 2, Whole: true, Line: "classes of the page, by a judge with a taxonomy: 0 none, 1 their names, 2 the classes above them too"},
		{Name: "cocitation", Max: 1, Whole: true, Line: "1 takes the outcomes of links near by"},
		{Name: "boundary", Default: float64(boundary), Max: 2, Whole: true, Line: "targets are high 0: from ½ on, 1: in the upper of two intervals of equal probability, 2: where the judge says relevant"},
		{Name: "tree", Max: 2, Whole: true, Line: "words also by their place in the tree: 1 the length of the path to the link, 2 the depth of the least common ancestor; the paper names both as future work"},
		{Name: "gap", Max: 1, Line: "learns from links whose target is at least so much more or less relevant than their page, 0 = from all; the paper names it as future work"},
		{Name: "leaf-words", Default: 24, Max: 1e6, Whole: true, Line: "words of one leaf that count, those nearest to the link; 0 = all, as printed"},
		{Name: "link-words", Default: 160, Max: 1e6, Whole: true, Line: "features of one link, those at the least distances; 0 = all, as printed"},
		{Name: "words", Default: words, Max: 1000, Line: "words that a link's evidence counts at most as, 0 = as many as there are"},
	}
}

// Options are what features are made of.
type Options struct {
	// Set has a value for each of Settings that setting.Complete accepts; others are ignored.
	Set map[string]float64
	// Analyzer makes terms of texts, as the parser's does; nil = a new one.
	Analyzer interface{ Words(text string) []string }
}

// New makes features and a learner that has seen no example.
func New(o Options) (*Features, *Learner) {
	f := &Features{
		analyzer: text.SplitterOf(o.Analyzer), reach: int(o.Set["dmax"]), plain: o.Set["plain"] >= 0.5,
		topics: int(o.Set["topics"]), cited: o.Set["cocitation"] >= 0.5,
		leafWords: most(o.Set["leaf-words"]), linkWords: most(o.Set["link-words"]),
	}
	f.gap, f.tree = o.Set["gap"], int(o.Set["tree"])
	return f, &Learner{boundary: Boundary(o.Set["boundary"]), words: o.Set["words"], least: 128}
}

// most is a limit, of which 0 is none.
func most(limit float64) int {
	if limit == 0 {
		return math.MaxInt
	}
	return int(limit)
}

// Level is a relevance in 1/255, as features and examples hold it. What is no
// number counts as 0.
func Level(relevance float64) byte {
	if !(relevance > 0) {
		return 0
	}
	return byte(min(1, relevance)*255 + 0.5)
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}
