package crawl_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// library is a web on one topic. Its articles are on the topic and lead to articles; its
// lists say little, and each leads to five reports in Markdown, which are on the topic.
// Addresses of both are in folders of their own; anchors tell nothing.
type library struct{}

func (library) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	var n int
	mediaType, body := "text/html", ""
	link := func(format string, n int) { body += fmt.Sprintf("<li><a href="+format+">more</a>", n) }
	switch path := u.Path(); {
	case path == "/":
		for i := range 20 {
			link("/article/%d", i)
			link("/list/%d", i)
		}
	case strings.HasPrefix(path, "/article/"):
		fmt.Sscanf(path, "/article/%d", &n)
		body = "bees "
		for i := range 10 {
			link("/article/%d", (10*n+i)%1000+20)
		}
		link("/list/%d", n%100+20)
	case strings.HasPrefix(path, "/list/"):
		fmt.Sscanf(path, "/list/%d", &n)
		for i := range 5 {
			link("/files/%d.md", 5*n+i)
		}
	default:
		mediaType, body = "text/markdown", "bees "+path
	}
	return &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {mediaType}}, Body: []byte(fmt.Sprintf("<title>%s</title>", u.Path()) + body)}, nil
}

// onBees is .9 for what speaks of bees, and .1 for others.
type onBees struct{}

func (onBees) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	if strings.Contains(p.Main, "bees") {
		return web.Verdict{Relevance: 0.9, Similarity: 0.8, Relevant: true}, nil
	}
	return web.Verdict{Relevance: 0.1, Similarity: 0.1}, nil
}

// unledScorer is a scorer that is not told what pages led to.
type unledScorer struct{ crawl.Scorer }

// Where documents are wanted, the scorer learns which pages lead to them: within a budget
// it finds several times the documents that it finds by the pages' own relevance.
func TestLeadsToDocuments(t *testing.T) {
	found := func(led bool, linksOnly ...string) (documents, counted int) {
		scorer, err := score.New("waggle", score.Options{Anchor: func(string) float64 { return 0 }})
		if err != nil {
			t.Fatal(err)
		}
		seed, _ := web.Parse("http://library.test/")
		var s crawl.Scorer = scorer
		if !led {
			s = unledScorer{scorer}
		}
		c := &crawl.Crawl{
			Seeds: []web.URL{seed}, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: library{}, Judge: onBees{}, Scorer: s, Workers: 1,
			Parser: parse.New(parse.Options{Documents: document.Documents{Reader: document.Local{}}}), Clock: stillClock{},
			Policy: crawl.Policy{Pages: 200, Files: []string{"md"}, LinksOnly: linksOnly},
			Listen: func(e event.Event) {
				if f, ok := e.(event.Fetched); ok && f.Relevant {
					if counted++; f.MIME == "text/markdown" {
						documents++
					}
				}
			},
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return documents, counted
	}
	both, all := found(true)
	unled, _ := found(false, "text/html")
	wanted, counted := found(true, "text/html")
	t.Logf("of 200 pages, documents: %d where pages count as well, %d where they do not, %d where what pages lead to is learnt", both, unled, wanted)
	if all <= both || counted != wanted {
		t.Errorf("%d pages count of which %d are documents; where documents are wanted, %d of which %d", all, both, counted, wanted)
	}
	if wanted < 120 || wanted < 2*unled || wanted < 2*both {
		t.Errorf("%d documents, want 120 at least and twice the %d without what is learnt", wanted, unled)
	}
}
