// Package model is the portable file of a trained model: everything a crawl
// needs to score links by it, what it was trained on, and how the training
// went. Training writes it, scorers read it.
//
// A File is a container: a header of facts for people and programs (Kind,
// Provenance), the vocabulary where there is one, and one payload by its kind.
package model

import (
	"encoding"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/web"
)

// Kind names what a file holds.
type Kind string

// The kinds of model.
const (
	CRF          Kind = "crf"          // Chain, normalised over whole paths
	MEMM         Kind = "memm"         // Chain, normalised at each step
	HMM          Kind = "hmm"          // Markov: hidden states by counting
	HMM2         Kind = "hmm2"         // Markov: each state by the two before it
	ContextGraph Kind = "contextgraph" // Classes: the layers of pages around targets
	RLSpider     Kind = "rlspider"     // Classes: bins of the value of links
	Apprentice   Kind = "apprentice"   // Surroundings: what stood around links, by where they led
	PathLearner  Kind = "paths"        // Paths: labelled paths to goal pages
	Waggle       Kind = "waggle"       // Weights: what the scorer waggle learnt in a crawl
)

// Kinds lists them.
func Kinds() []Kind {
	return []Kind{CRF, MEMM, HMM, HMM2, ContextGraph, RLSpider, Apprentice, PathLearner, Waggle}
}

// File is a trained model. It is not changed once written or read.
type File struct {
	Kind       Kind
	Provenance Provenance
	// Space is what the model observes of pages and links; nil for the kinds
	// whose payload holds its own vocabulary.
	Space *feature.Space
	// Payload is what was learnt: *Chain, *Markov, … by Kind.
	Payload Payload
	// Name is the file it was read from, "" for one just trained.
	Name string
}

// Payload is what was learnt, as it writes and reads itself. UnmarshalBinary
// takes no more memory than a few times its argument, whatever that holds, and
// errors rather than returning what cannot be used (NaN, shapes that disagree).
type Payload interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// fitting is implemented by payloads that must go with the file around them:
// fits says what does not.
type fitting interface{ fits(*File) error }

// Provenance tells where a model comes from.
type Provenance struct {
	Waggle string `json:"waggle"` // version of the program that trained it
	Topic  string `json:"topic"`  // its name
	// TrainingSet is a digest of pages, labels and sequences: two models of
	// one digest and settings are the same.
	TrainingSet string     `json:"training_set"`
	Sites       []web.Host `json:"sites"`     // of training pages, sorted: no page of them may be used to measure it
	Pages       int        `json:"pages"`     // training pages
	Targets     int        `json:"targets"`   // of these
	Sequences   int        `json:"sequences"` // 0 for kinds that learn from pages alone
	States      []int      `json:"states"`    // [S]: training labels of each state, T0 first; nil for kinds without states
	// Settings are those of training, by name; Texts those that are words.
	Settings map[string]float64 `json:"settings,omitempty"`
	Texts    map[string]string  `json:"texts,omitempty"`
	// Curve is the objective after each iteration, and Status how that ended.
	Curve  []float64 `json:"curve,omitempty"`
	Status string    `json:"status,omitempty"`
}

// Of returns the payload of a file as T, such as *Chain, and an error that says
// what to do for a file of none of the kinds, or for none at all.
func Of[T Payload](f *File, kinds ...Kind) (T, error) {
	var zero T
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	want := strings.Join(names, " or ")
	if f == nil {
		return zero, fmt.Errorf("a model of kind %s is needed: name the file that `%s` wrote", want, kinds[0].Command())
	}
	if !slices.Contains(kinds, f.Kind) {
		return zero, fmt.Errorf("%s is of kind %s and not %s: crawl by it with --scorer %s, or make another with `%s`",
			f.name(), f.Kind, want, f.Kind.Scorer(), kinds[0].Command())
	}
	p, ok := f.Payload.(T)
	if !ok {
		return zero, fmt.Errorf("%s, of kind %s, holds a %T: train it anew", f.name(), f.Kind, f.Payload)
	}
	return p, nil
}

func (f *File) name() string {
	if f.Name == "" {
		return "the model"
	}
	return "model " + f.Name
}

// payload is an empty one of a kind, nil for a kind that does not exist.
func (k Kind) payload() Payload {
	switch k {
	case CRF, MEMM:
		return new(Chain)
	case HMM, HMM2:
		return new(Markov)
	case ContextGraph, RLSpider:
		return new(Classes)
	case Apprentice:
		return new(Surroundings)
	case PathLearner:
		return new(Paths)
	case Waggle:
		return new(Weights)
	}
	return nil
}

// Scorer names the scorer that goes by models of the kind.
func (k Kind) Scorer() string {
	if k == PathLearner {
		return "pathlearner"
	}
	return string(k)
}

// Command is the command that makes models of the kind.
func (k Kind) Command() string {
	switch k {
	case Apprentice:
		return "waggle train apprentice"
	case Waggle:
		return "waggle train weights"
	}
	return "waggle train model --kind " + string(k)
}
