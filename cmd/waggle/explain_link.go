package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// explainedLink is a link with what its priority is made of.
type explainedLink struct {
	scorer  string
	parent  web.URL
	anchor  string // untrusted
	now     float64
	reasons []score.Reason // nil: the scorer does not tell
}

// linkOf is the link by which an address was found, redirects passed over: the
// step of the page that holds it and the address it names. ok is false where
// there is none, as for a seed.
func linkOf(x *event.Explanation) (parent event.Step, link web.URL, ok bool) {
	i := len(x.Path) - 1
	for i > 0 && x.Path[i].Link == web.LinkRedirect {
		i--
	}
	if i <= 0 || x.Fate == event.NotTaken {
		return event.Step{}, web.URL{}, false
	}
	return x.Path[i-1], x.Path[i].URL, true
}

// explainLink reads the page that holds a link from the archive, and has the
// scorer, as the crawl left it, tell what the link is worth and why. It gives
// no reasons where the scorer has none.
func explainLink(ctx context.Context, col collection, parent event.Step, link web.URL) (out explainedLink, err error) {
	job, err := readJob(col.job())
	if err != nil {
		return out, err
	}
	open, err := openCollection(col.dir)
	if err != nil {
		return out, fmt.Errorf("%w: then ask again", err)
	}
	defer open.Close()
	analyzer := text.NewAnalyzer()
	parser := parse.New(parse.Options{Analyzer: analyzer, Canon: job.canon()})
	s := setup{job: job, col: col, resume: true, note: func(string) {}}
	top, err := s.topic(ctx, nil, parser)
	if err != nil {
		return out, err
	}
	j, err := s.judge(top, analyzer)
	if err != nil {
		return out, err
	}
	defer j.Close()
	scorer, err := s.scorer(top, j, analyzer)
	if err != nil {
		return out, err
	}
	out = explainedLink{scorer: job.scorer(), parent: parent.URL}
	x, ok := scorer.(score.Explainer)
	if !ok {
		return out, nil
	}
	state, err := scorerState(ctx, col)
	if err == nil {
		err = scorer.Restore(state)
	}
	if err != nil {
		return out, err
	}
	var page *web.Page
	for p, err := range archived(col, parser, func(u web.URL) bool { return u == parent.URL }) {
		if err != nil {
			return out, err
		}
		page = p
	}
	if page == nil {
		return out, fmt.Errorf("the page %s, which holds it, is not in the archive", parent.URL)
	}
	// A link that occurs more than once goes by its best occurrence.
	verdict := web.Verdict{Relevance: parent.Relevance, Similarity: parent.Relevance, Relevant: parent.Relevant}
	features := scorer.Extract(page, verdict)
	best := math.Inf(-1)
	for i := range page.Links {
		if page.Links[i].URL != link {
			continue
		}
		c := web.Candidate{URL: link, From: page.URL, Kind: page.Links[i].Kind, Features: features[i]}
		if p := scorer.Score(&c); p > best {
			best = p
			out.now, out.anchor, out.reasons = p, page.Links[i].Anchor, x.Explain(page, i, &c)
		}
	}
	if math.IsInf(best, -1) {
		return out, errors.New("the page in the archive does not hold it")
	}
	return out, nil
}

// scorerState is what the scorer knew at the crawl's last turn.
func scorerState(ctx context.Context, col collection) (state []byte, err error) {
	front, err := frontier.Open(col.frontier(), frontier.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, front.Close()) }()
	return crawl.ScorerState(func(name string) ([]byte, error) { return front.State(ctx, name) })
}

// mostReasons are shown; what is left is summed up.
const mostReasons = 16

func (l explainedLink) print(w io.Writer) {
	if len(l.reasons) == 0 {
		return
	}
	fmt.Fprintf(w, "\nWhat %s makes of the link", untrusted(l.scorer, 40))
	if a := untrusted(l.anchor, 60); a != "" {
		fmt.Fprintf(w, " “%s”", a)
	}
	fmt.Fprintf(w, " on\n%s now:\n\n", address(l.parent))
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%s\t  priority\n", signed(l.now))
	rest, left := 0., 0
	for i, r := range l.reasons {
		if i >= mostReasons && r.Kind != score.ReasonPrior && r.Kind != score.ReasonPage {
			rest += r.Weight
			left++
			continue
		}
		fmt.Fprintf(out, "%s\t  %s\n", signed(r.Weight), reasonLine(r))
	}
	if left > 0 {
		fmt.Fprintf(out, "%s\t  %s more words and places together\n", signed(rest), number(left))
	}
	out.Flush() // errors stay with w, which is the terminal's
}

// signed shows the part of a priority.
func signed(v float64) string { return fmt.Sprintf("%+.3f", v) }

// reasonLine says what a part of a priority comes from.
func reasonLine(r score.Reason) string {
	where := "in the link"
	switch {
	case r.Offset < 0:
		where = places(-r.Offset) + " before it"
	case r.Offset > 0:
		where = places(r.Offset) + " after it"
	}
	s := ""
	switch r.Kind {
	case score.ReasonPage:
		return "relevance of the page that links"
	case score.ReasonAnchor:
		return "likeness of the anchor to the topic"
	case score.ReasonPrior:
		return "how often any link leads to high relevance"
	case score.ReasonClass:
		s = "the page is of the class " + untrusted(r.What, 60)
	case score.ReasonHigh:
		s = "a link to a relevant page " + where
	case score.ReasonLow:
		s = "a link to a page that is not relevant " + where
	default:
		s = "“" + untrusted(r.What, 40) + "” " + where
	}
	if r.Times > 1 {
		s += fmt.Sprintf(", %s times", number(r.Times))
	}
	return s
}

func places(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}
