// Package judge says how relevant a page is to a topic. A judge is made once,
// from the topic, and is frozen during a crawl but for document frequencies,
// which settle in the first pages. Judging is pure and safe for concurrent
// use, and no judge knows anything of the crawl.
package judge

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// Judge says how relevant pages are to one topic.
type Judge interface {
	// Judge is safe for concurrent use. Only judges that speak to others
	// (command) return errors.
	Judge(ctx context.Context, p *web.Page) (web.Verdict, error)
	// Text is the similarity of a short text, such as an anchor, to the
	// topic, in [0,1]. It is pure and safe for concurrent use.
	Text(s string) float64
	Name() string
	// Threshold is γ: a page is relevant if its relevance is at least γ.
	Threshold() float64
	// Close ends what the judge started. It is called once, after the last
	// Judge returned.
	Close() error
}

// Options are what judges are made of. The zero Options with a Topic will do, but for
// the judges rules and command.
type Options struct {
	// Topic is what is wanted; nil = nothing is known of it, which will do for a judge
	// that needs none.
	Topic *topic.Topic
	// Set changes settings of the judge, by name; Description.Settings lists them.
	Set map[string]float64
	// Threshold is γ, in (0,1]; 0 = the judge's own, see each judge.
	Threshold float64
	// Analyzer splits text into stems as the parser does; nil = a new one.
	Analyzer Analyzer
	// DF are the document frequencies to start from; nil = those of the analyzer's
	// languages that are built in.
	DF Frequencies
	// Frozen keeps the judge topic from blending the document frequencies of
	// the first pages of a crawl with those of DF.
	Frozen bool
	// Rules are for the judge rules.
	Rules []Rule
	// Command and its arguments are for the judge command; Timeout bounds
	// its answer for one page (0 = 10 s), Restarts how often it is started
	// anew after it died (0 = 5, negative = never).
	Command  []string
	Timeout  time.Duration
	Restarts int
	// Critic is for the judge critic: it knows classes, of which those at and
	// below the topics of Focus are wanted. Without it the critic tells the
	// examples from what is unlike them.
	Critic *Critic
	Focus  []string
	// Printed keeps the critic to the formula as printed: its probabilities
	// are then nearly all 0 or 1. Its name becomes critic-printed.
	Printed bool
	// Anyway accepts a critic that cannot tell the focus from the rest.
	Anyway bool
	// HTML gives the command the source of a page, nil = it gets none.
	HTML func(*web.Page) []byte
}

// Analyzer makes stems of texts. It is safe for concurrent use.
type Analyzer interface {
	// Words are the stems of a text in order, each as web.Term.Text has it.
	Words(text string) []string
}

// Frequencies are document frequencies of stems. They are safe for concurrent use.
type Frequencies interface {
	// Share is the share of documents that hold a stem, in (0,1].
	Share(stem string) float64
	// IDF is −ln of it, at least 0.
	IDF(stem string) float64
}

// Role is "judge", for descriptions.
func (o Options) Role() string { return "judge" }

// Values is Set, for descriptions.
func (o Options) Values() map[string]float64 { return o.Set }

// Complete returns o with these values of settings, and the defaults of what may be nil.
func (o Options) Complete(values map[string]float64) (Options, error) {
	if o.Threshold < 0 || o.Threshold > 1 {
		return o, fmt.Errorf("threshold %v: give a number in (0,1], or 0 for the judge's own", o.Threshold)
	}
	o.Set = values
	o.Analyzer = text.SplitterOf(o.Analyzer)
	if o.DF == nil {
		o.DF = text.BackgroundOf(text.SplitterOf(o.Analyzer).Languages()...)
	}
	return o, nil
}

// Line is a name of a judge with what it does in one line.
type Line struct {
	Name, Line string
}

// New makes the judge of that name, one of this package, of a topic; "" is the default.
func New(name string, t *topic.Topic, o Options) (Judge, error) {
	o.Topic = t
	return strategy.New(cmp.Or(name, Descriptions()[0].Name), o, Descriptions())
}

// identity gives a judge its name, its threshold and nothing to close.
type identity struct {
	name      string
	threshold float64
}

func (n identity) Name() string       { return n.name }
func (n identity) Threshold() float64 { return n.threshold }
func (n identity) Close() error       { return nil }

// verdict is the verdict under the judge's threshold.
func (n identity) verdict(relevance, similarity float64) web.Verdict {
	return web.Verdict{Relevance: relevance, Similarity: similarity, Relevant: relevance >= n.threshold}
}
