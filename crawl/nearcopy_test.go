package crawl_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// texts is a web: a body for each address.
type texts map[string]string

func (x texts) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	return &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: time.Unix(0, 0), Head: []byte("HTTP/1.1 200 OK\r\n"),
		Header: web.Header{"Content-Type": {"text/html"}}, RequestHead: []byte("GET / HTTP/1.1\r\n"), Raw: []byte(x[u.String()]), Body: []byte(x[u.String()]),
	}, nil
}

// ways is a scorer that notes what links carry from the page that they were found on.
type ways struct {
	rewards
	carried map[string]string // by path
}

func (ways) Recall(c *web.Candidate, _ *web.Page, _ web.Verdict) []byte {
	return []byte("by " + c.URL.Path())
}

func (w ways) Score(c *web.Candidate) float64 {
	w.carried[c.URL.Path()] = string(c.Memory)
	return w.rewards.Score(c)
}

// Near-copies are told with the page that they repeat, are no harvest and no reward, and what
// they link to is fetched; two people's pages of one template count both. That holds for a crawl
// that goes on in another process, and for a simulated one. Links of a near-copy carry the path to it.
func TestNearCopies(t *testing.T) {
	var article, form strings.Builder
	for i := range 300 {
		fmt.Fprintf(&article, "word%d ", i)
		fmt.Fprintf(&form, "form%d ", i)
	}
	const site = "http://bees.test"
	pages := texts{
		site + "/":             "<title>Start</title><a href=/article>1</a> <a href=/ann>2</a> <a href=/article?print=1>3</a> <a href=/bo>4</a> <a href=http://mirror.test/a>5</a> <a href=/same>6</a>",
		site + "/article":      "<title>Bees</title><p>" + article.String(),
		site + "/same":         "<title>Bees</title><p>" + article.String(),
		site + "/ann":          "<title>Ann Lee</title><p>" + form.String() + "Ann Lee, databases",
		site + "/bo":           "<title>Bo Ray</title><p>" + form.String() + "Bo Ray, graphics",
		site + "/behind":       "<title>Behind</title><p>Nothing but this.",
		"http://mirror.test/a": "<title>Bees</title><p>" + article.String() + " seen by 7",
	}
	pages[site+"/article?print=1"] = "<title>Bees</title><p>" + article.String() + "printed today <a href=/behind>behind</a>"
	seed, err := web.Parse(site + "/")
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		reason   web.Reason
		like     string
		relevant bool
	}
	carried := map[string]string{}
	run := func(t *testing.T, on bool, f crawl.Frontier, budget int, simulated bool, got map[string]told, rewarded map[string]web.Verdict) {
		t.Helper()
		scorer, err := score.New("breadth-first", score.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := &crawl.Crawl{
			Seeds: []web.URL{seed}, Frontier: f, Fetcher: pages, Parser: parse.New(parse.Options{}), Judge: allJudge{}, Scorer: ways{rewards{scorer, rewarded}, carried}, Workers: 1,
			Policy: crawl.Policy{NearCopies: on, Pages: budget, Scope: crawl.Scope{}},
			Listen: func(e event.Event) {
				if f, ok := e.(event.Fetched); ok {
					got[strings.TrimPrefix(f.URL.String(), site)] = told{f.Reason, strings.TrimPrefix(f.Like.String(), site), f.Relevant}
					if (f.Likeness > 0) != (f.Reason == web.ReasonNearCopy) || f.Likeness > 0 && f.Likeness < .9 {
						t.Errorf("%s has the likeness %v", f.URL, f.Likeness)
					}
				}
			},
		}
		if !simulated {
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			return
		}
		course, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for {
			how, over, err := course.Ended()
			if err != nil {
				t.Fatal(err)
			}
			if over {
				if err := course.End(how); err != nil {
					t.Fatal(err)
				}
				return
			}
			leases, err := course.Lease(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range leases {
				r, err := pages.Fetch(t.Context(), l.URL)
				a, err := c.Examine(t.Context(), l, r, err)
				if err == nil {
					err = course.Arrive(t.Context(), a)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := map[string]told{
		"/": {relevant: true}, "/article": {relevant: true}, "/ann": {relevant: true}, "/bo": {relevant: true}, "/behind": {relevant: true},
		"/article?print=1": {web.ReasonNearCopy, "/article", false}, "http://mirror.test/a": {web.ReasonNearCopy, "/article", false},
		"/same": {web.ReasonDuplicate, "", false},
	}
	check := func(t *testing.T, got map[string]told, rewarded map[string]web.Verdict) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
		if v := rewarded["/a"]; !reflect.DeepEqual(v, web.Verdict{}) {
			t.Errorf("a near-copy is rewarded: %+v", v)
		}
		if carried["/behind"] != "by /article" || carried["/article"] != "" {
			t.Errorf("a link of a near-copy carries %q, and one of a page %q", carried["/behind"], carried["/article"])
		}
		clear(carried)
	}
	t.Run("in one run", func(t *testing.T) {
		got, rewarded := map[string]told{}, map[string]web.Verdict{}
		run(t, true, frontier.NewMemory(frontier.Options{}), 0, false, got, rewarded)
		check(t, got, rewarded)
	})
	t.Run("simulated", func(t *testing.T) {
		got, rewarded := map[string]told{}, map[string]web.Verdict{}
		run(t, true, frontier.NewMemory(frontier.Options{}), 0, true, got, rewarded)
		check(t, got, rewarded)
	})
	t.Run("page by page", func(t *testing.T) {
		got, rewarded := map[string]told{}, map[string]web.Verdict{}
		dir := filepath.Join(t.TempDir(), "frontier")
		for n := range len(pages) {
			f, err := frontier.Open(dir, frontier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			run(t, true, f, n+1, false, got, rewarded)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		// A run that goes on without its log knows no bodies.
		if got["/same"] != (told{web.ReasonNearCopy, "/article", false}) {
			t.Errorf("/same: %+v", got["/same"])
		}
		got["/same"] = want["/same"]
		check(t, got, rewarded)
	})
	t.Run("counted", func(t *testing.T) {
		got := map[string]told{}
		run(t, false, frontier.NewMemory(frontier.Options{}), 0, false, got, map[string]web.Verdict{})
		if x := got["/article?print=1"]; !x.relevant || x.reason != "" {
			t.Errorf("%+v", x)
		}
	})
}
