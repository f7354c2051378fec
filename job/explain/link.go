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
	robots  bool   // robots.txt names it, and the page does not
	now     float64
	reasons []score.Reason // of now, or of then where it is known; nil: the scorer does not tell
	// Of a link that was taken:
	taken   float64       // its priority then
	learnt  bool          // the scorer has learnt since, of the page behind the link too
	then    float64       // what the scorer made of it at that moment, where it can tell
	at      *score.Moment // that moment; nil = it cannot tell
	expects expectations
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
	m, err := stoppedMaker(col, documents)
	if err != nil {
		return out, err
	}
	defer m.Close()
	if err := m.MakeScorer(ctx); err != nil {
		return out, err
	}
	link := path[len(path)-1]
	out = linkParts{scorer: m.Job.Scorer.Name, parent: path[len(path)-2].URL, taken: link.Leased}
	out.expects = priorities(out.scorer)
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
	if err = out.follow(x, path, pages, classes, nil); err != nil || !link.HasLeased || len(state) == 0 {
		return out, err
	}
	out.learnt = true
	return out, out.goBack(ctx, col, documents, state, path, pages, classes)
}

// goBack has a scorer that can tell what it knew when the link was taken.
func (l *linkParts) goBack(ctx context.Context, col collection.Collection, documents parse.Documents, state []byte, path []event.Step, pages map[web.URL]*web.Page, classes func(*web.Page) []string) error {
	m, err := stoppedMaker(col, documents)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.MakeScorer(ctx); err != nil {
		return err
	}
	x, ok := m.Scorer.(historian)
	if !ok {
		return nil
	}
	return l.follow(x, path, pages, classes, func(places []web.Candidate) (int, error) {
		place, at, err := x.RestoreBefore(state, places, l.taken)
		if err == nil && place >= 0 {
			l.at = &at
		}
		return place, err
	})
}

// historian is a scorer that can also tell what one was made of.
type historian interface {
	explainer
	score.Historian
}

// explainer is a scorer that tells what a priority is made of.
type explainer interface {
	crawl.Scorer
	score.Explainer
}

// pagesOn reads the pages that were fetched on a path, as far as they are kept, with the links
// that robots.txt added to them.
func pagesOn(ctx context.Context, col collection.Collection, m *job.Maker, path []event.Step) (map[web.URL]*web.Page, error) {
	fetched := map[web.URL]bool{}
	for _, step := range path {
		fetched[step.URL] = step.Fetched
	}
	pages := map[web.URL]*web.Page{}
	sitemaps := func(context.Context, web.URL) ([]string, error) { return nil, nil }
	if m.Job.NamesSitemaps() {
		sitemaps = job.Sitemaps(col)
	}
	for p, err := range collection.Readable(col.Pages(ctx, m.Parser, func(u web.URL) bool { return fetched[u] })) {
		if err != nil {
			return nil, err
		}
		if pages[p.URL] == nil {
			named, err := sitemaps(ctx, p.URL)
			if err != nil {
				return nil, err
			}
			pages[p.URL] = crawl.WithSitemaps(p, named)
		}
	}
	return pages, nil
}

// follow goes along a path to the link at its end, and has the scorer explain that:
// each page gives its links their features, and the memory of how the crawl came to it.
// With before, it is explained as it was at the moment that before goes back to, which
// chooses among the occurrences of the link and completes it.
func (l *linkParts) follow(x explainer, path []event.Step, pages map[web.URL]*web.Page, classes func(*web.Page) []string, before func(places []web.Candidate) (int, error)) error {
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
			at, places := occurrences(page, step.URL, features, memory)
			if len(places) == 0 {
				return fmt.Errorf("the page %s in the archive does not hold it", page.URL)
			}
			if i == len(path)-1 && before != nil {
				k, err := before(places)
				if err == nil && k >= 0 {
					c = places[k]
					l.then, l.reasons = x.Score(&c), x.Explain(page, verdict, at[k], &c)
					l.found(&page.Links[at[k]])
				}
				return err
			}
			best := strongest(x, places)
			c = places[best]
			if i == len(path)-1 {
				l.now, l.reasons = x.Score(&c), x.Explain(page, verdict, at[best], &c)
				l.found(&page.Links[at[best]])
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

// found takes in how a link stands on its page.
func (l *linkParts) found(at *web.Link) {
	l.anchor, l.robots = at.Anchor, at.TagPath == crawl.OfRobots
}

// occurrences are the places of a link on a page, and what it is there.
func occurrences(page *web.Page, link web.URL, features [][]byte, memory []byte) (at []int, out []web.Candidate) {
	for i := range page.Links {
		if page.Links[i].URL == link {
			at = append(at, i)
			out = append(out, web.Candidate{URL: link, From: page.URL, Kind: page.Links[i].Kind, Features: features[i], Memory: memory})
		}
	}
	return at, out
}

// strongest is the occurrence of a link by which it goes, where a page has it
// more than once: the first one of the highest priority.
func strongest(s crawl.Scorer, places []web.Candidate) (best int) {
	highest := math.Inf(-1)
	for i := range places {
		if p := s.Score(&places[i]); p > highest {
			highest, best = p, i
		}
	}
	return best
}

// mostReasons are shown; what is left is summed up.
const mostReasons = 16

func (l linkParts) print(w io.Writer) {
	if len(l.reasons) == 0 {
		if l.scorer != "" {
			fmt.Fprintf(w, "\n%s does not tell what the priority of a link is made of.\n", terminal.Untrusted(l.scorer, 40))
		}
		return
	}
	made, sum := "makes", l.now
	if l.at != nil {
		made, sum = "made", l.then
	}
	fmt.Fprintf(w, "\nWhat %s %s of the link", terminal.Untrusted(l.scorer, 40), made)
	if a := terminal.Untrusted(l.anchor, 60); a != "" {
		fmt.Fprintf(w, " “%s”", a)
	}
	if l.robots {
		fmt.Fprint(w, ", which robots.txt names,")
	}
	fmt.Fprintf(w, " on\n%s %s:\n\n", address(l.parent), l.moment())
	parts := sumTable{sum: sum, what: "priority", rest: "more words and places together"}
	if l.expects != nil {
		parts.what += fmt.Sprintf(", which expects relevance %.2f", l.expects(sum))
	}
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
	switch {
	case l.at != nil:
		fmt.Fprintf(w, "\n  With what it has learnt since, also from this page, the priority would now be %s.\n", l.expects.show(l.now))
	case l.learnt:
		fmt.Fprintf(w, "\n  Some of this was learnt after it was taken, of the page itself too: it was taken at %s.\n", l.expects.show(l.taken))
	}
}

// moment is the one that is told of.
func (l *linkParts) moment() string {
	switch {
	case l.at != nil && l.at.Exact:
		return "when it was taken; the scorer knew what came of " + terminal.Count(l.at.Known, "fetched link")
	case l.at != nil:
		return fmt.Sprintf("shortly after it was taken at %s; the scorer knew what came of %s", l.expects.show(l.taken), terminal.Count(l.at.Known, "fetched link"))
	case l.learnt:
		return "now, after it was fetched"
	}
	return "now"
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
