// Package judge says how relevant a page is to a topic. A judge is made once,
// from the topic, and is frozen during a crawl but for document frequencies,
// which settle in the first pages. Judging is pure and safe for concurrent
// use, and no judge knows anything of the crawl.
package judge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/internal/text"
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

// Options are what a judge needs beside the topic. The zero Options will do,
// but for the judges rules and command.
type Options struct {
	// Threshold is γ, in (0,1]; 0 = the judge's own, see each judge.
	Threshold float64
	// Analyzer splits text into stems as the parser does; nil = a new one.
	Analyzer *text.Analyzer
	// DF are the document frequencies to start from; nil = those of English
	// that are built in.
	DF *text.DF
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

// Line is a name of a judge with what it does in one line.
type Line struct {
	Name, Line string
}

// Names lists the judges, the default first.
func Names() []Line {
	var out []Line
	for _, d := range Descriptions() {
		out = append(out, Line{d.Name, d.Line})
	}
	return out
}

// New makes the judge of that name, one of this package; "" is the default.
func New(name string, t *topic.Topic, o Options) (Judge, error) {
	if d, ok := Describe(name); ok {
		return d.New(t, o)
	}
	var known []string
	for _, d := range Descriptions() {
		known = append(known, d.Name)
	}
	return nil, fmt.Errorf("there is no judge %q; the judges are %s", name, strings.Join(known, ", "))
}

// named gives a judge its name, its threshold and nothing to close.
type named struct {
	name      string
	threshold float64
}

func (n named) Name() string       { return n.name }
func (n named) Threshold() float64 { return n.threshold }
func (n named) Close() error       { return nil }

// verdict is the verdict under the judge's threshold.
func (n named) verdict(relevance, similarity float64) web.Verdict {
	return web.Verdict{Relevance: relevance, Similarity: similarity, Relevant: relevance >= n.threshold}
}
