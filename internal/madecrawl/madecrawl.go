// Package madecrawl crawls made-up pages into a folder, for tests of what reads such
// folders. A crawl is a function of its pages: its times are virtual.
package madecrawl

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// Doc is what an address answers.
type Doc struct {
	Body   string
	Type   string      // "" = text/html
	Status int         // 0 = 200; of a 3xx, Body is the address it leads to
	Header http.Header // further ones
}

// Site is a made-up web: what answers by address. Another address is a 404.
type Site map[string]Doc

// Fetch takes a second of virtual time.
func (s Site) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d, ok := s[u.String()]
	if !ok {
		d = Doc{Status: 404, Body: "no such page"}
	}
	r := &web.Response{
		URL: u, Status: cmp.Or(d.Status, 200), Proto: "HTTP/1.1", Started: time.Now(), Took: time.Second,
		Header: web.Header{"Content-Type": {cmp.Or(d.Type, "text/html")}}, Body: []byte(d.Body),
		RequestHead: []byte("GET " + u.RequestPath() + " HTTP/1.1\r\nHost: " + string(u.Host()) + "\r\n\r\n"),
	}
	for name, values := range d.Header {
		r.Header[name] = values
	}
	if r.Status/100 == 3 {
		to, err := web.Parse(d.Body)
		if err != nil {
			return nil, err
		}
		r.Location, r.Header["Location"] = to, []string{d.Body}
	}
	r.Raw = r.Body
	return r, nil
}

// bees is relevant to the quarter of the times that "bee" stands on a page, up to 4.
type bees struct{}

func (bees) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	n := 0
	if i := slices.IndexFunc(p.Terms, func(t web.Term) bool { return t.Text == "bee" }); i >= 0 {
		n = min(4, int(p.Terms[i].Body))
	}
	r := float64(n) / 4
	return web.Verdict{Relevance: r, Similarity: r, Relevant: r >= Threshold}, nil
}

// Threshold is that of the judge of a made-up crawl.
const Threshold = 0.25

// Crawl crawls a site breadth-first into the folder dir, from seeds, to its end. A page
// that says "bee" n times has a relevance of n/4, at most 1.
func Crawl(t *testing.T, dir, name string, s Site, seeds ...string) collection.Collection {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if err := crawlInto(t.Context(), dir, name, s, seeds); err != nil {
			t.Fatal(err)
		}
	})
	return collection.At(dir)
}

func crawlInto(ctx context.Context, dir, name string, s Site, seeds []string) (err error) {
	w, err := collection.At(dir).Lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if !w.Begun() {
		if err := errors.Join(w.SaveExamples(nil), w.SaveJob([]byte("name: "+name+"\n"))); err != nil {
			return err
		}
	}
	o := collection.StoreOptions{}
	o.Archive.Prefix, o.Archive.Job = name, name
	stores, err := w.OpenStores(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		return err
	}
	c := &crawl.Crawl{
		Frontier: stores.Frontier, Archive: stores.Archive, Log: stores.Log, Fetcher: s, Parser: parse.New(parse.Options{}),
		Judge: bees{}, Scorer: scorer, Name: name, JudgeName: "bees", ScorerName: "breadth-first", Threshold: Threshold, Workers: 1,
		History: w.Events(),
	}
	for _, seed := range seeds {
		u, err := web.Parse(seed)
		if err != nil {
			return err
		}
		c.Seeds = append(c.Seeds, u)
	}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	return w.SaveHarvest()
}
