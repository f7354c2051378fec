package explain

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
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
func explainLink(ctx context.Context, col collection.Collection, documents parse.Documents, path []event.Step) (out linkParts, err error) {
	m, err := makerOf(col, documents)
	if err != nil {
		return out, err
	}
	defer m.Close()
	if err := m.MakeScorer(ctx); err != nil {
		return out, err
	}
	out = linkParts{scorer: m.Job.Scorer.Name, parent: path[len(path)-2].URL}
	x, ok := m.Scorer.(explainer)
	if !ok {
		return out, nil
	}
	state, err := col.ScorerState()
	if err == nil {
		err = x.Restore(state)
	}
	if err != nil {
		return out, err
	}
	pages, err := pagesOn(ctx, col, m, path[:len(path)-1])
	if err != nil {
		return out, err
	}
	var classes func(*web.Page) []string // which the log does not keep
	if known, ok := m.Judge.(judge.Judge); ok {
		classes = judge.ClassNames(known)
	}
	err = out.follow(x, path, pages, classes)
	return out, err
}

// explainer is a scorer that tells what a priority is made of.
type explainer interface {
	crawl.Scorer
	score.Explainer
}

// pagesOn reads the pages that were fetched on a path, as far as they are kept.
func pagesOn(ctx context.Context, col collection.Collection, m *job.Maker, path []event.Step) (map[web.URL]*web.Page, error) {
	fetched := map[web.URL]bool{}
	for _, step := range path {
		fetched[step.URL] = step.Fetched
	}
	pages := map[web.URL]*web.Page{}
	for p, err := range collection.Readable(col.Pages(ctx, m.Parser, func(u web.URL) bool { return fetched[u] })) {
		if err != nil {
			return nil, err
		}
		if pages[p.URL] == nil {
			pages[p.URL] = p
		}
	}
	return pages, nil
}

// follow goes along a path to the link at its end, and has the scorer explain that:
// each page gives its links their features, and the memory of how the crawl came to it.
func (l *linkParts) follow(x explainer, path []event.Step, pages map[web.URL]*web.Page, classes func(*web.Page) []string) error {
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
			if best, c = strongest(x, page, step.URL, features, memory); best < 0 {
				return fmt.Errorf("the page %s in the archive does not hold it", page.URL)
			}
			if i == len(path)-1 {
				l.now, l.anchor, l.reasons = x.Score(&c), page.Links[best].Anchor, x.Explain(page, verdict, best, &c)
				return nil
			}
		}
		if !step.Fetched {
			continue
		}
		if page = pages[step.URL]; page == nil {
			return fmt.Errorf("the page %s, by which the crawl came to it, is not in the archive", step.URL)
		}
		verdict = web.Verdict{Relevance: step.Relevance, Similarity: step.Similarity, Relevant: step.Relevant}
		if classes != nil {
			verdict.Classes = classes(page)
		}
		features, memory = x.Extract(page, verdict), x.Recall(&c, page, verdict)
	}
	return fmt.Errorf("the log does not tell how %s was found", path[len(path)-1].URL)
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
	parts := sumTable{sum: l.now, what: "priority", rest: "more words and places together"}
	for i, r := range l.reasons {
		switch r.Kind {
		case score.ReasonWord, score.ReasonClass, score.ReasonSeen, score.ReasonHigh, score.ReasonLow:
			if i >= mostReasons {
				parts.leave(r.Weight)
				continue
			}
		}
		parts.add(r.Weight, reasonLine(r))
	}
	parts.print(w)
}

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
