package explain

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// linkParts is a link with what its priority is made of.
type linkParts struct {
	scorer  string
	parent  web.URL
	anchor  string // untrusted
	now     float64
	reasons []score.Reason // nil: the scorer does not tell
}

// linkOf is the link by which an address was found, redirects passed over: its
// place in the path, of which the step before is the page that holds it. ok is
// false where there is none, as for a seed.
func linkOf(x *event.Explanation) (step int, ok bool) {
	i := len(x.Path) - 1
	for i > 0 && x.Path[i].Link == web.LinkRedirect {
		i--
	}
	return i, i > 0 && x.Fate != event.NotTaken
}

// explainLink reads the pages that led to a link from the archive, and has the
// scorer, as the crawl left it, tell what the link is worth and why. The link
// is the last step of the path. There are no reasons where the scorer gives none.
func explainLink(ctx context.Context, col collection.Collection, path []event.Step) (out linkParts, err error) {
	j, err := job.Read(col.JobFile())
	if err != nil {
		return out, err
	}
	if col.Running() {
		return out, fmt.Errorf("%s is in use by another waggle: wait for it to end, or stop it: then ask again", col.Dir())
	}
	m := &job.Maker{Job: j, Begun: &col}
	defer m.Close()
	if err := m.MakeScorer(ctx); err != nil {
		return out, err
	}
	scorer := m.Scorer
	link := path[len(path)-1].URL
	out = linkParts{scorer: m.Job.Scorer.Name, parent: path[len(path)-2].URL}
	x, ok := scorer.(score.Explainer)
	if !ok {
		return out, nil
	}
	state, err := col.ScorerState()
	if err == nil {
		err = scorer.Restore(state)
	}
	if err != nil {
		return out, err
	}
	var classes func(*web.Page) []string // which the log does not keep
	if known, ok := m.Judge.(judge.Judge); ok {
		classes = judge.ClassNames(known)
	}
	onPath := map[web.URL]bool{}
	for _, step := range path[:len(path)-1] {
		onPath[step.URL] = step.Fetched
	}
	pages := map[web.URL]*web.Page{} // of the path
	for p, err := range collection.Readable(col.Pages(ctx, m.Parser, func(u web.URL) bool { return onPath[u] })) {
		if err != nil {
			return out, err
		}
		if pages[p.URL] == nil {
			pages[p.URL] = p
		}
	}
	// The path once more: each page gives its links their features, and the
	// memory of how the crawl came to it.
	var c web.Candidate
	var page *web.Page
	var verdict web.Verdict // of page
	var features [][]byte
	var memory []byte
	for i, step := range path {
		switch {
		case step.Link == web.LinkRedirect:
			c.URL, c.Kind = step.URL, step.Link
		case page == nil:
			c = web.Candidate{URL: step.URL, Kind: web.LinkSeed}
		default:
			best := -1
			if best, c = strongest(scorer, page, step.URL, features, memory); best < 0 {
				return out, fmt.Errorf("the page %s in the archive does not hold it", page.URL)
			}
			if i == len(path)-1 {
				out.now, out.anchor, out.reasons = scorer.Score(&c), page.Links[best].Anchor, x.Explain(page, verdict, best, &c)
				return out, nil
			}
		}
		if !step.Fetched {
			continue
		}
		if page = pages[step.URL]; page == nil {
			return out, fmt.Errorf("the page %s, by which the crawl came to it, is not in the archive", step.URL)
		}
		verdict = web.Verdict{Relevance: step.Relevance, Similarity: step.Similarity, Relevant: step.Relevant}
		if classes != nil {
			verdict.Classes = classes(page)
		}
		features, memory = scorer.Extract(page, verdict), x.Recall(&c, page, verdict)
	}
	return out, fmt.Errorf("the log does not tell how %s was found", link)
}

// strongest is the occurrence of a link by which it goes, where a page has it
// more than once: the one of the highest priority. Its place is −1 if there is
// none.
func strongest(s crawl.Scorer, page *web.Page, link web.URL, features [][]byte, memory []byte) (place int, out web.Candidate) {
	place = -1
	best := math.Inf(-1)
	for i := range page.Links {
		if page.Links[i].URL != link {
			continue
		}
		c := web.Candidate{URL: link, From: page.URL, Kind: page.Links[i].Kind, Features: features[i], Memory: memory}
		if p := s.Score(&c); place < 0 || p > best {
			best, place, out = p, i, c
		}
	}
	return place, out
}

// mostReasons are shown; what is left is summed up.
const mostReasons = 16

func (l linkParts) print(w io.Writer) {
	if len(l.reasons) == 0 {
		return
	}
	fmt.Fprintf(w, "\nWhat %s makes of the link", terminal.Untrusted(l.scorer, 40))
	if a := terminal.Untrusted(l.anchor, 60); a != "" {
		fmt.Fprintf(w, " “%s”", a)
	}
	fmt.Fprintf(w, " on\n%s now:\n\n", address(l.parent))
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%s\t  priority\n", signed(l.now))
	rest, left := 0., 0
	for i, r := range l.reasons {
		if i >= mostReasons && (r.Kind == score.ReasonWord || r.Kind == score.ReasonClass || r.Kind == score.ReasonSeen || r.Kind == score.ReasonHigh || r.Kind == score.ReasonLow) {
			rest += r.Weight
			left++
			continue
		}
		fmt.Fprintf(out, "%s\t  %s\n", signed(r.Weight), reasonLine(r))
	}
	if left > 0 {
		fmt.Fprintf(out, "%s\t  %s more words and places together\n", signed(rest), terminal.Number(left))
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
		return "what any link is worth before anything is known of it"
	case score.ReasonPath:
		return "probability of a target (T0) by the path alone, before the link is looked at"
	case score.ReasonTarget:
		return "likeness to the targets"
	case score.ReasonHops:
		return "so that among equals the nearer go first: " + terminal.Untrusted(r.What, 200)
	case score.ReasonSeen:
		return terminal.Untrusted(r.What, 80)
	case score.ReasonClass:
		s = "the page that links is of the topic " + terminal.Untrusted(r.What, 60)
	case score.ReasonHigh:
		s = "a link that had led to a relevant page, " + where
	case score.ReasonLow:
		s = "a link that had led to a page that is not relevant, " + where
	case score.ReasonWord:
		s = "“" + terminal.Untrusted(r.What, 40) + "” " + where
	}
	if r.Times > 1 {
		s += fmt.Sprintf(", %s times", terminal.Number(r.Times))
	}
	return s
}

func places(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}
