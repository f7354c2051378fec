package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
	nb "github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/web"
)

// Critic knows the classes of a taxonomy by the words of their example pages:
// the multinomial naive Bayes classifier of whole pages of Chakrabarti, Punera &
// Subramanyam 2002, sections 2.1 and 3.1. It is trained once (TrainCritic), kept as a file, and then serves any
// crawl whose topic is some of its classes. It is immutable and safe for
// concurrent use.
//
//	log Pr(c|u) = s(u)·[log Pr(c) + Σ_t n(u,t) log θ_{c,t}] + const
//	s(u)        = min(1, W/n(u))
//
// Pr(c) is the class's share of the training pages, n(u) the number of words
// of u that the critic knows. As printed, W is infinite: then the words of a
// page count as independent, and nearly all probabilities are 0 or 1. The
// fitted W is that by which the classes of held-out pages are likeliest. It
// says how far to believe the print, and leaves the order of a page's classes
// as it is there.
type Critic struct {
	Record Record
	stems  map[string]uint32
	model  *nb.Model
}

// Record is what a critic says of itself.
type Record struct {
	Classes    []string      `json:"classes"`              // paths, sorted
	Pages      []int         `json:"pages"`                // [classes] that it learned from, held-out ones included
	Words      float64       `json:"words,omitempty"`      // W; 0 = infinite
	Guessed    bool          `json:"guessed,omitempty"`    // W was not fitted: too few pages
	Vocabulary int           `json:"vocabulary"`           // stems
	Seed       uint64        `json:"seed"`                 // of what was held out
	Thin       []string      `json:"thin,omitempty"`       // topics left out: too few pages
	HeldOut    HeldOutResult `json:"held_out"`             // by W
	Printed    HeldOutResult `json:"held_out_as_printed"`  // by an infinite W
	Confusion  []Confusion   `json:"confusion,omitempty"`  // sorted by class, then by taken-for
	Trained    string        `json:"trained_on,omitempty"` // for people
	// Examples are some of each class, by class, see KeepExamples.
	Examples []ClassExample `json:"examples,omitempty"`
	// Topics are what editors wrote of classes and of topics above them, by path.
	Topics []TopicText `json:"topics,omitempty"`
}

// HeldOutResult is how a critic did on pages that were held out: it had learned from
// the others alone.
type HeldOutResult struct {
	Pages    int     `json:"pages"`
	Accuracy float64 `json:"accuracy"` // share whose likeliest class is their own
	Top5     float64 `json:"top5"`     // share whose class is among the likeliest five
	LogLoss  float64 `json:"log_loss"` // mean −ln Pr(own class), nats; this and the following are of those pages by which W was not fitted
	ECE      float64 `json:"ece"`      // expected calibration error of the likeliest class, [0,1]
	Bins     []Bin   `json:"bins"`     // of that probability, ascending, empty ones left out
}

// Bin holds the pages whose likeliest class got a probability within it.
type Bin struct {
	Pages    int     `json:"pages"`
	Mean     float64 `json:"mean"`     // of the probability
	Accuracy float64 `json:"accuracy"` // share of those that were right
}

// Confusion counts held-out pages of one class that were taken for another, or for
// their own. Classes are indices of Record.Classes.
type Confusion struct {
	Class int `json:"class"`
	For   int `json:"for"`
	Pages int `json:"pages"`
}

// Class is a class of a page with its probability.
type Class struct {
	Path string
	P    float64 // (0,1]
}

// Classifier is implemented by judges that know of classes, such as the critic.
type Classifier interface {
	// Classes are the likeliest classes of a page, the likeliest first: those
	// of at least 1 %, ten at most, one at least. It is pure and safe for
	// concurrent use. taxonomy.Prefixes gives the topics above each.
	Classes(p *web.Page) []Class
}

// ClassNames gives the paths of a page's classes, as the verdicts of j have them,
// for pages that were judged before. It is nil if j has no classes.
func ClassNames(j Judge) func(*web.Page) []string {
	c, ok := j.(Classifier)
	if !ok {
		return nil
	}
	return func(p *web.Page) []string { return paths(c.Classes(p)) }
}

// paths are those of classes.
func paths(classes []Class) (out []string) {
	for _, class := range classes {
		out = append(out, class.Path)
	}
	return out
}

// Doubter is implemented by judges that were tried on pages they had not learned
// from, such as the critic.
type Doubter interface {
	// Doubts are what users should know before a crawl goes by the judge, nil
	// if nothing speaks against it. The error wraps ErrBlind if no crawl
	// should.
	Doubts() (notes []string, err error)
}

// termVector is a page as counts of the known stems, and the sum of these counts.
func termVector(stems map[string]uint32, terms []web.Term) (sparse.Vector, float64) {
	v := make(sparse.Vector, 0, len(terms))
	n := 0.
	for _, t := range terms { // sorted by text, as the ids are
		if id, ok := stems[t.Text]; ok && t.Body > 0 {
			v = append(v, sparse.Entry{ID: id, Value: float64(t.Body)})
			n += float64(t.Body)
		}
	}
	return v, n
}

// posterior returns Pr(c|u) [classes]; words is W, 0 = infinite.
func (c *Critic) posterior(v sparse.Vector, n, words float64) []float64 {
	out := make([]float64, len(c.Record.Classes))
	// It refuses weights that are no numbers; those of v are counts.
	_ = c.model.LogPosterior(out, v)
	if words == 0 {
		words = math.Inf(1)
	}
	temper(out, out, n, words)
	for i, l := range out {
		out[i] = math.Exp(l)
	}
	return out
}

// temper fills dst with ln Pr(c|u) [classes] by W, given the same as printed,
// for a page of n known words. dst and printed may share memory.
func temper(dst, printed []float64, n, words float64) {
	s := 1.
	if n > words {
		s = words / n
	}
	most := math.Inf(-1)
	for i, l := range printed {
		dst[i] = s * l
		most = max(most, dst[i])
	}
	sum := 0.
	for _, l := range dst {
		sum += math.Exp(l - most)
	}
	norm := most + math.Log(sum)
	for i := range dst {
		dst[i] -= norm
	}
}

// Focus returns which classes the topics in focus and all below them are
// (shape [classes]). It is an error, with the names that may have been meant,
// if one of them has no class, and if together they are all.
func (c *Critic) Focus(topics []string) ([]bool, error) {
	if len(topics) == 0 {
		return nil, errors.New("no topic is in focus: name one or several of the critic's")
	}
	good := make([]bool, len(c.Record.Classes))
	var errs []error
	for _, t := range topics {
		path, err := taxonomy.Clean(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found := false
		for i, class := range c.Record.Classes {
			if taxonomy.Covers(path, class) {
				good[i], found = true, true
			}
		}
		if found {
			continue
		}
		thin := slices.IndexFunc(c.Record.Thin, func(t string) bool { return taxonomy.Covers(path, t) })
		near := taxonomy.Near(path, c.topics(), 5)
		switch {
		case thin >= 0:
			errs = append(errs, fmt.Errorf("the critic was trained without the topic %s: it had too few example pages", path))
		case len(near) > 0:
			errs = append(errs, fmt.Errorf("the critic knows no topic %s; near names: %s", path, strings.Join(near, ", ")))
		default:
			errs = append(errs, fmt.Errorf("the critic knows no topic %s; waggle topic show lists those it knows", path))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if !slices.Contains(good, false) {
		return nil, fmt.Errorf("the focus %s is all that the critic knows: nothing would be irrelevant", strings.Join(topics, ", "))
	}
	return good, nil
}

// topics yields the classes and all topics above them.
func (c *Critic) topics() func(func(string) bool) {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, class := range c.Record.Classes {
			for p := class; p != "" && !seen[p]; p = taxonomy.Parent(p) {
				seen[p] = true
				if p != "/" && !yield(p) {
					return
				}
			}
		}
	}
}

// FocusResult is how well a critic tells a focus from the rest, by held-out pages.
type FocusResult struct {
	Good, Found int         // held-out pages in focus, and how many were taken for such
	Rest, False int         // the others, and how many were taken for such in focus
	Worst       []Confusion // of the pages in focus, those taken for classes that are not; most first
}

// Recall is the share of the pages in focus that are taken for such, Precision the
// share of the pages taken for such that are in focus; NaN without pages.
func (s FocusResult) Recall() float64 { return float64(s.Found) / float64(s.Good) }

// Precision is described at Recall.
func (s FocusResult) Precision() float64 { return float64(s.Found) / float64(s.Found+s.False) }

// Balanced is the balanced accuracy: the mean of the shares of pages in focus and of
// others that are taken for what they are. ½ is no better than chance.
func (s FocusResult) Balanced() float64 {
	return (s.Recall() + 1 - float64(s.False)/float64(s.Rest)) / 2
}

// FocusResult counts the held-out pages; good [classes] is what Focus returned.
func (c *Critic) FocusResult(good []bool) (s FocusResult) {
	for _, t := range c.Record.Confusion {
		switch {
		case good[t.Class] && good[t.For]:
			s.Good += t.Pages
			s.Found += t.Pages
		case good[t.Class]:
			s.Good += t.Pages
			s.Worst = append(s.Worst, t)
		case good[t.For]:
			s.Rest += t.Pages
			s.False += t.Pages
		default:
			s.Rest += t.Pages
		}
	}
	slices.SortStableFunc(s.Worst, func(a, b Confusion) int { return cmp.Compare(b.Pages, a.Pages) })
	return s
}

// ErrBlind says that a critic cannot tell the topics in focus from the others.
var ErrBlind = errors.New("the critic cannot tell its classes apart")

// Bounds of FocusResult.Balanced, and of what it is made of.
const (
	leastBalanced = 0.6  // below, no crawl should use the critic: ErrBlind
	doubtful      = 0.75 // below, users are told
	fewHeld       = 5    // held-out pages in focus, below which nothing can be said
	fewTried      = 20   // held-out pages, below which nothing is said of their probabilities

	illCalibrated = 0.2 // expected calibration error, from which on users are told
)

// Doubts are what speaks against judging by this critic, for people: nil if
// nothing does. The error wraps ErrBlind if it should not be done.
func (c *Critic) Doubts(good []bool) ([]string, error) {
	notes, err := c.tried(good)
	if prior := c.prior(good); err == nil && prior >= 0.5 {
		notes = append(notes, fmt.Sprintf("%.0f%% of the pages that the critic learned from are in focus: it takes any page without words it knows for such; give it more of what is not wanted, or a threshold above %.2f", 100*prior, prior))
	}
	if err == nil && !c.knowsOthers(good) {
		notes = append(notes, fmt.Sprintf("the critic has no class %[2]s: it puts every page into one of its %[1]d classes, so pages of other kinds may count as relevant; train it with pages of what is not wanted, as a topic /%[2]s, or prune the taxonomy (waggle topic prune)", len(good), taxonomy.Other))
	}
	if h := c.Record.HeldOut; err == nil && h.Pages >= fewTried && h.ECE >= illCalibrated {
		notes = append(notes, fmt.Sprintf("the probabilities of the critic are %.2f off in the mean of its held-out pages, of which it had %.0f%% right: a relevance near 1 says little", h.ECE, 100*h.Accuracy))
	}
	return notes, err
}

// knowsOthers tells whether a class that is not in focus is the Other of a topic, in which pages of
// no class have their place.
func (c *Critic) knowsOthers(good []bool) bool {
	for i, class := range c.Record.Classes {
		if !good[i] && path.Base(class) == taxonomy.Other {
			return true
		}
	}
	return false
}

// prior is Σ Pr(c) of the classes in focus: R(u) of a page without a known word.
func (c *Critic) prior(good []bool) float64 {
	in, all := 0, 0
	for i, n := range c.Record.Pages {
		if all += n; good[i] {
			in += n
		}
	}
	return float64(in) / float64(max(1, all))
}

// tried is what the held-out pages speak against judging by the critic.
func (c *Critic) tried(good []bool) ([]string, error) {
	s := c.FocusResult(good)
	if s.Good < fewHeld || s.Rest < fewHeld {
		says := fmt.Sprintf("too few pages were held out to know how well the critic judges: %d in focus, %d others", s.Good, s.Rest)
		if min(s.Good, s.Rest) > 0 && s.Balanced() < doubtful {
			says += fmt.Sprintf(", and looks poor (of the first it knew %d, and took %d of the others for such)", s.Found, s.False)
		}
		return []string{says}, nil
	}
	says := fmt.Sprintf("of %d held-out pages in focus it knew %d, and took %d of %d others for such", s.Good, s.Found, s.False, s.Rest)
	if len(s.Worst) > 0 {
		w := s.Worst[0]
		says += fmt.Sprintf("; most often, %d times, it took %s for %s", w.Pages, c.Record.Classes[w.Class], c.Record.Classes[w.For])
	}
	switch b := s.Balanced(); {
	case b < leastBalanced:
		return nil, fmt.Errorf("%w: %s. Take both topics into focus, or train it with more examples", ErrBlind, says)
	case b < doubtful || s.Precision() < 0.5:
		return []string{"the critic tells the focus from the rest poorly: " + says}, nil
	}
	return nil, nil
}

// critic judges by a Critic: the good classes are those in focus and below,
// the others together are the negative class.
//
//	R(u) = Σ_{c good} Pr(c|u)
//
// Source: Chakrabarti, Punera & Subramanyam 2002, section 2.1. γ is ½ unless given. Without a Critic it is the judge bayes, of two
// classes: the examples and what is unlike them.
type critic struct {
	identity
	analyzer text.Splitter
	*Critic
	good  []bool  // [classes]
	words float64 // W, 0 = infinite
}

var (
	_ Judge      = (*critic)(nil)
	_ Classifier = (*critic)(nil)
	_ Doubter    = (*critic)(nil)
	_ Classifier = (*twoClassCritic)(nil)
	_ Doubter    = (*twoClassCritic)(nil)
)

func newCritic(o Options) (Judge, error) {
	name := "critic"
	if o.Printed {
		name = "critic-printed"
	}
	if o.Critic == nil {
		if len(o.Focus) > 0 {
			return nil, errors.New("a focus needs a critic that knows the topics: give the file that waggle topic train made")
		}
		t := o.Topic
		b, err := valid(newBayes)(o)
		if err != nil {
			return nil, err
		}
		two := &twoClassCritic{bayes: b.(*bayes), topic: cmp.Or(t.Name, "topic")}
		two.name = name
		if o.Printed {
			two.words = math.Inf(1)
		}
		two.held = two.crossValidate(t, o)
		return two, nil
	}
	c := &critic{identity: identity{name, cmp.Or(o.Threshold, 0.5)}, analyzer: text.SplitterOf(o.Analyzer), Critic: o.Critic, words: o.Critic.Record.Words}
	if o.Printed {
		c.words = 0
	}
	var err error
	if c.good, err = o.Critic.Focus(o.Focus); err != nil {
		return nil, err
	}
	if _, err := o.Critic.Doubts(c.good); err != nil && !o.Anyway {
		return nil, err
	}
	return c, nil
}

// posteriorOf returns Pr(c|u) [classes] for a page.
func (c *critic) posteriorOf(p *web.Page) []float64 {
	v, n := termVector(c.stems, p.Terms)
	return c.posterior(v, n, c.words)
}

// relevance is R(u), given Pr(c|u) [classes].
func (c *critic) relevance(posterior []float64) float64 {
	r := 0.
	for i, p := range posterior {
		if c.good[i] {
			r += p
		}
	}
	return min(1, r)
}

func (c *critic) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	posterior := c.posteriorOf(p)
	r := c.relevance(posterior)
	v := c.verdict(r, r)
	v.Classes = paths(top(c.Record.Classes, posterior))
	return v, nil
}

func (c *critic) Text(s string) float64 {
	words := c.analyzer.Words(s)
	slices.Sort(words)
	var terms []web.Term
	for _, w := range words {
		if n := len(terms); n > 0 && terms[n-1].Text == w {
			terms[n-1].Body++
		} else {
			terms = append(terms, web.Term{Text: w, Body: 1})
		}
	}
	v, n := termVector(c.stems, terms)
	return c.relevance(c.posterior(v, n, c.words))
}

// Doubts are those of the critic about the focus.
func (c *critic) Doubts() ([]string, error) { return c.Critic.Doubts(c.good) }

// Classes are those of the page, in focus or not.
func (c *critic) Classes(p *web.Page) []Class { return top(c.Record.Classes, c.posteriorOf(p)) }

// top are the likeliest classes; see Classifier.
func top(names []string, p []float64) []Class {
	const least, most = 0.01, 10
	var out []Class
	best := 0
	for i, x := range p {
		if x > p[best] {
			best = i
		}
		if x >= least {
			out = append(out, Class{names[i], x})
		}
	}
	if len(out) == 0 && len(p) > 0 {
		return []Class{{names[best], math.Max(p[best], math.SmallestNonzeroFloat64)}}
	}
	slices.SortStableFunc(out, func(a, b Class) int { return cmp.Compare(b.P, a.P) })
	return out[:min(most, len(out))]
}
