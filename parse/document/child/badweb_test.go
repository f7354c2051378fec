package child

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl meets documents that harm who reads them: each ends as a page or with a reason,
// nothing is asked for that a document names as a part of itself, and sitemaps without
// end do not go on without end.
func TestBadDocuments(t *testing.T) {
	long.Test(t, "waits for documents that take all the time they are given")
	bad, err := badweb.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	types := append(fetch.DefaultTypes(), "application/gzip")
	for _, d := range document.Kinds() {
		types = append(types, d.Types...)
	}
	fetcher, err := fetch.New(fetch.Options{
		Contact: "test@bad.test", Delay: -1, OwnHosts: []string{"bad.test"}, Timeout: time.Minute, MaxBody: 2 << 20,
		CAs: bad.CAs(), Resolver: bad, Connect: bad.Connect, Types: types,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer fetcher.Close()
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := web.Parse(bad.DocumentIndex())
	if err != nil {
		t.Fatal(err)
	}
	compilePDFium(t)
	pool := newPool(t, Options{Workers: 1, Memory: 160 << 20, Time: 10 * time.Second, Cache: machineCode})
	got, details, links := map[string][]string{}, map[string]string{}, map[string]web.LinkKind{}
	var files []string
	for _, d := range document.Kinds() {
		files = append(files, d.Extensions...)
	}
	c := &crawl.Crawl{
		Seeds: []web.URL{seed}, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: fetcher, Judge: everything{}, Scorer: scorer, Workers: 8,
		Parser: parse.New(parse.Options{Documents: document.Documents{Reader: pool}, Sources: []parse.Source{parse.SourceSitemaps}}),
		Policy: crawl.Policy{MaxTries: 1, Files: files, Sitemaps: true, LinksOnly: []string{document.SitemapType}},
		Listen: func(e event.Event) {
			switch e := e.(type) {
			case event.Fetched:
				got[e.URL.String()] = append(got[e.URL.String()], string(e.Reason))
				links[e.URL.String()] = e.Link
			case event.Failed:
				got[e.URL.String()] = append(got[e.URL.String()], string(e.Reason))
				details[e.URL.String()] = e.Detail
			}
		},
	}
	how, err := c.Run(t.Context())
	if err != nil || how != event.FrontierEmpty {
		t.Fatalf("ended %q: %v", how, err)
	}
	for _, d := range bad.Documents() {
		if have := got[d.URL]; len(have) != 1 || have[0] != d.Crawl {
			t.Errorf("%s: %q, want %q once; %s", d.Name, have, d.Crawl, details[d.URL])
		}
		if d.Crawl == string(web.ReasonDamaged) && !strings.Contains(details[d.URL], "cannot be read: ") {
			t.Errorf("%s: %s", d.Name, details[d.URL])
		}
	}
	if have := got["http://sitemap-cycle.bad.test/sitemap-2.xml"]; len(have) != 1 || links["http://sitemap-cycle.bad.test/sitemap-2.xml"] != web.LinkSitemap {
		t.Errorf("the second sitemap of a cycle: %q", have)
	}
	sitemaps := 0
	for u := range got {
		if strings.HasPrefix(u, "http://sitemap-endless.bad.test/") {
			sitemaps++
		}
	}
	if sitemaps < 100 || sitemaps > 201 {
		t.Errorf("%d sitemaps of those without end, want about 200", sitemaps)
	}
	if n := bad.Hits("fine.bad.test/entity"); n > 0 {
		t.Errorf("%d requests for an entity of a document", n)
	}
	if s := bad.Strays(); len(s) > 0 {
		t.Errorf("connections to other addresses: %v", s)
	}
}

// everything is a judge that wants all pages.
type everything struct{}

func (everything) Judge(context.Context, *web.Page) (web.Verdict, error) {
	return web.Verdict{Relevance: 1, Similarity: 1, Relevant: true}, nil
}
