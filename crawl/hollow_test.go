package crawl_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// allJudge finds every page relevant.
type allJudge struct{}

func (allJudge) Judge(context.Context, *web.Page) (web.Verdict, error) {
	return web.Verdict{Relevance: 1, Similarity: 1, Relevant: true}, nil
}

// rewards is a scorer that keeps what it is told of pages.
type rewards struct {
	crawl.Scorer
	of map[string]web.Verdict // by path
}

func (r rewards) Visit(c *web.Candidate, p *web.Page, v web.Verdict) []byte {
	r.of[c.URL.Path()] = v
	return r.Scorer.Visit(c, p, v)
}

// Pages that hold nothing, and those that a server refuses while it shows them, are told by
// their reasons, are no harvest and no reward, and the crawl goes on behind their links.
func TestHollow(t *testing.T) {
	long := "<p>" + strings.Repeat("Bees dance on the comb to tell where food is. ", 20)
	for _, hollow := range []bool{true, false} {
		t.Run(fmt.Sprint("hollow=", hollow), func(t *testing.T) {
			cases := []struct {
				path, title, body string
				status            int
				want, counted     string // the reason, and that where such pages are counted
			}{
				{"/content", "Bees", long, 200, "", ""},
				{"/gone", "Page not found", "<p>Try the search.", 200, "soft-not-found", ""},
				{"/parked", "bees.example", "<p>This domain is for sale! Buy it now.", 200, "parked", ""},
				{"/consent", "Before you continue", "<button>Accept all</button>", 200, "consent", ""},
				{"/login", "Sign in", "<form>Password <input type=password></form>", 200, "login", ""},
				{"/check", "Just a moment...", "<p>Enable JavaScript and cookies to continue", 200, "blocked", ""},
				{"/check-403", "Just a moment...", "<p>Enable JavaScript and cookies to continue", 403, "blocked", "status"},
				{"/content-403", "Bees", long, 403, "blocked", "status"},
				{"/login-403", "Sign in", "<form>Password <input type=password></form>", 403, "login", "status"},
				{"/login-401", "Sign in", "<form>Password <input type=password></form>", 401, "login", "status"},
				{"/notice-403", "403 Forbidden", "<h1>Forbidden</h1><hr>nginx", 403, "status", "status"},
				{"/notice-404", "Page not found", long, 404, "status", "status"},
			}
			var index strings.Builder
			for _, c := range cases {
				fmt.Fprintf(&index, "<a href=%s>bees</a> ", c.path)
			}
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				for _, c := range cases {
					if r.URL.Path == c.path {
						w.WriteHeader(c.status)
						fmt.Fprintf(w, "<title>%s</title>%s <a href=%s-behind>more</a>", c.title, c.body, c.path)
						return
					}
				}
				fmt.Fprintf(w, "<title>%s</title>%s", r.URL.Path, long)
				if r.URL.Path == "/" {
					fmt.Fprint(w, index.String())
				}
			}))
			defer site.Close()
			fetcher, err := fetch.New(fetch.Options{AllowPrivate: true, IgnoreRobots: true, Delay: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer fetcher.Close()
			scorer, err := score.New("breadth-first", score.Options{})
			if err != nil {
				t.Fatal(err)
			}
			seed, err := web.Parse(site.URL + "/")
			if err != nil {
				t.Fatal(err)
			}
			told := rewards{scorer, map[string]web.Verdict{}}
			reasons, harvest, seen := map[string]string{}, map[string]bool{}, map[string]bool{}
			c := &crawl.Crawl{
				Seeds: []web.URL{seed}, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: fetcher, Parser: parse.New(parse.Options{}),
				Judge: allJudge{}, Scorer: told, Workers: 1, Policy: crawl.Policy{Hollow: hollow, MaxTries: 1},
				Listen: func(e event.Event) {
					switch e := e.(type) {
					case event.Fetched:
						path := e.URL.Path()
						reasons[path], harvest[path], seen[path] = string(e.Reason), e.Relevant, true
					case event.Failed:
						reasons[e.URL.Path()] = string(e.Reason)
					}
				},
			}
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				want := c.want
				if !hollow {
					want = c.counted
				}
				if got, there := reasons[c.path]; got != want || !there {
					t.Errorf("%s: %q, want %q", c.path, got, want)
				}
				if harvest[c.path] != (want == "") || told.of[c.path].Relevant != (want == "") || want != "" && told.of[c.path].Relevance != 0 {
					t.Errorf("%s: harvest %v, reward %+v", c.path, harvest[c.path], told.of[c.path])
				}
				if seen[c.path+"-behind"] != (c.status == 200) {
					t.Errorf("%s: what is behind was fetched: %v", c.path, seen[c.path+"-behind"])
				}
			}
		})
	}
}
