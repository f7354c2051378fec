package score_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// Synthetic webs on which best-first by page and anchor goes astray: each has the
// number of relevant pages that it finds, and the least that waggle has to.

var (
	wanted   = web.Verdict{Relevance: 0.9, Similarity: 0.8, Relevant: true}
	unwanted = web.Verdict{Relevance: 0.05, Similarity: 0.15}
)

// listOf is a page with links to the addresses, all with one anchor.
func listOf(u web.URL, anchor, tags string, addresses ...string) *web.Page {
	p := &web.Page{URL: u}
	for i, a := range addresses {
		p.Links = append(p.Links, web.Link{URL: parse(a), Kind: web.LinkA, Anchor: anchor, TagPath: tags, Position: i})
	}
	return p
}

func numbered(format string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// astray is a web with what the two scorers make of it in 200 fetches.
type astray struct {
	fetch     func(u web.URL) (*web.Page, web.Verdict)
	bestFirst int // at most
	waggle    int // at least
}

// steady are 100 relevant pages listed on b.test with anchors that are a quarter on
// the topic.
func steady(u web.URL) (*web.Page, web.Verdict, bool) {
	switch {
	case u.String() == "http://b.test/":
		return listOf(u, "bees and steel and", "html/body/ul/li/a", numbered("http://b.test/page/%d.html", 100)...), wanted, true
	case strings.HasPrefix(u.String(), "http://b.test/page/"):
		return &web.Page{URL: u}, wanted, true
	}
	return nil, web.Verdict{}, false
}

func astrays() map[string]astray {
	return map[string]astray{
		// A relevant page links to 1,000 pages that are not, with perfect anchors.
		"hub flood": {func(u web.URL) (*web.Page, web.Verdict) {
			if p, v, ok := steady(u); ok {
				return p, v
			}
			if u.String() == "http://a.test/" {
				return listOf(u, "bees", "html/body/div/a", numbered("http://a.test/%d", 1000)...), wanted
			}
			return &web.Page{URL: u}, unwanted
		}, 10, 95},
		// The first 20 pages of a host are relevant, the next 1,000 are not.
		"host capture": {func(u web.URL) (*web.Page, web.Verdict) {
			if p, v, ok := steady(u); ok {
				return p, v
			}
			var n int
			fmt.Sscanf(u.String(), "http://a.test/%d", &n)
			next := numbered("http://a.test/%d", n+10)[n:]
			if n <= 20 {
				return listOf(u, "bees", "html/body/div/a", next...), wanted
			}
			return listOf(u, "bees", "html/body/div/a", next...), web.Verdict{Relevance: 0.2, Similarity: 0.3}
		}, 60, 95},
		// Pages of a neighbouring subject lead away from the topic step by step: each is a
		// little less about it than the one before, and its anchors have the topic's words.
		"drift": {func(u web.URL) (*web.Page, web.Verdict) {
			if p, v, ok := steady(u); ok {
				return p, v
			}
			var n int
			fmt.Sscanf(u.String(), "http://a.test/%d", &n)
			near := max(0.05, 0.45-float64(n)/500)
			return listOf(u, "bees", "html/body/div/a", numbered("http://a.test/%d", n+4)[n+1:]...), web.Verdict{Relevance: near, Similarity: near + 0.1}
		}, 60, 95},
		// A calendar without end, every day of which has the words of the topic in
		// its anchor and its address.
		"trap": {func(u web.URL) (*web.Page, web.Verdict) {
			if p, v, ok := steady(u); ok {
				return p, v
			}
			var n int
			fmt.Sscanf(u.String(), "http://a.test/bees?day=%d", &n)
			return listOf(u, "bees", "html/body/table/a", numbered("http://a.test/bees?day=%d", n+4)[n+1:]...), web.Verdict{Relevance: 0.3, Similarity: 0.4}
		}, 60, 95},
	}
}

func TestWaggleGuards(t *testing.T) {
	for name, a := range astrays() {
		t.Run(name, func(t *testing.T) {
			start := listOf(parse("http://s.test/"), "bees", "html/body/a", "http://a.test/", "http://b.test/")
			if got := crawlAll(newScorer(t, "best-first-both", score.Options{}), start, 200, a.fetch); got > a.bestFirst {
				t.Errorf("best-first finds %d: the web does not lead it astray", got)
			}
			if got := crawlAll(newScorer(t, "waggle", score.Options{}), start, 200, a.fetch); got < a.waggle {
				t.Errorf("waggle finds %d relevant pages, want %d", got, a.waggle)
			}
		})
	}
}
