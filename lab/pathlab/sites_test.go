package pathlab

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

func address(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// manuals is a record of four small manuals on two hosts, that link to one
// another. Three are alike:
//
//	index ─► news ─► 2001 … 2006
//	  └────► guide ─► setup (sought)
//	             └──► usage
//
// and the fourth has no page of the kind sought.
func manuals(t *testing.T) (*corpus.Web, *corpus.Pages, []Site) {
	t.Helper()
	bodies := map[string]string{}
	var labels strings.Builder
	for i, base := range []string{"http://one.test/a/", "http://one.test/b/", "http://two.test/a/", "http://two.test/b/"} {
		page := func(name, title string, links ...string) {
			body := "<html><head><title>" + title + "</title></head><body><h1>" + title + "</h1>"
			for _, l := range links {
				to, anchor, _ := strings.Cut(l, " ")
				body += fmt.Sprintf("<p><a href=%q>%s</a></p>", to, anchor)
			}
			bodies[base+name] = body + "</body></html>"
		}
		page("", "Manual", "news Latest news", "guide Reading guide", "http://one.test/a/ Another manual", "http://two.test/b/guide Foreign guide")
		page("news", "News", "2001 In 2001", "2002 In 2002", "2003 In 2003", "2004 In 2004", "2005 In 2005", "2006 In 2006")
		for y := range 6 {
			page(fmt.Sprint(2001+y), fmt.Sprint("The year ", 2001+y), "")
		}
		page("usage", "Usage")
		fmt.Fprintf(&labels, "\n%s\tstart\t%s\n%sguide\tguide\n", base, base, base)
		if i == 3 {
			page("guide", "Guide", "usage Daily usage")
			continue
		}
		page("guide", "Guide", "setup Setting up", "usage Daily usage")
		page("setup", "Setting up")
		fmt.Fprintf(&labels, "%ssetup\tsetup\n", base)
	}
	made := corpus.Made{Manifest: corpus.Manifest{Name: "manuals"}, Pages: func(yield func(*web.Response, error) bool) {
		for _, u := range slices.Sorted(keys(bodies)) {
			body := []byte(bodies[u])
			if !yield(&web.Response{
				URL: address(u), Status: 200, Header: web.Header{"Content-Type": {"text/html"}},
				Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), Body: body, Raw: body,
			}, nil) {
				return
			}
		}
	}}
	dir := filepath.Join(t.TempDir(), "manuals")
	if _, err := corpus.Build(t.Context(), dir, made, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	w, err := corpus.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	pages, err := corpus.OpenPages(t.Context(), w, parse.New(parse.Options{}), corpus.PagesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sites, err := ReadSites(strings.NewReader(labels.String()), "labels")
	if err != nil {
		t.Fatal(err)
	}
	return w, pages, sites
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// What teaches is not tried, crawls stay on their site, and pages are
// counted as they come: breadth-first has index, news, guide, six years and
// then setup, the tenth.
func TestSites(t *testing.T) {
	w, pages, sites := manuals(t)
	trial := &Sites{
		Web: w, Pages: pages, Sites: sites, Kinds: []string{"setup"}, Draws: 3, Teach: 2, Goals: 2, Wrong: 2,
		Budgets: []int{5, 20}, Strategies: []string{"pathlearner", "breadth-first", "best-first-both+name", "pathlearner:page-tokens=0"},
	}
	if err := trial.Check(); err != nil {
		t.Fatal(err)
	}
	trial.Wrong = -1
	if trial.Check() == nil {
		t.Error("-1 wrong turns are taken")
	}
	trial.Wrong = 2
	lessons, err := trial.lessons(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lessons {
		if len(l.teach) != 2 || len(l.test) != 2 || len(l.paths) != 4 || slices.Contains(l.teach, 3) {
			t.Errorf("draw %d: %v teach by %d paths, %v are tried", l.draw, l.teach, len(l.paths), l.test)
		}
		for _, p := range l.paths {
			for _, s := range p.Steps {
				if slices.ContainsFunc(l.test, func(i int) bool { return sites[i].has(s.URL) }) {
					t.Errorf("draw %d: %s teaches and is tried", l.draw, s.URL)
				}
			}
		}
	}
	tried, err := trial.Try(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]Result{}
	for _, r := range tried {
		at[r.Strategy] = r
	}
	b, p := at["breadth-first"], at["pathlearner"]
	if b.Sites != 3 || b.First.Mean != 10 || b.At[0].Any != 0 || b.At[1].Share.Mean != 1 || b.At[1].Harvest != 1./20 {
		t.Errorf("breadth-first %+v", b)
	}
	if b.Curve[8] != 0 || b.Curve[9] != 1 {
		t.Errorf("share of goals after 9 and 10 pages %v, %v", b.Curve[8], b.Curve[9])
	}
	if p.First.Mean != 3 || p.At[0].Share.Mean != 1 {
		t.Errorf("pathlearner, where index, guide and setup are the way shown: %+v", p)
	}
	if b.Against.Loses != 0 || b.Against.Wins != b.Against.Topics {
		t.Errorf("pathlearner against breadth-first %+v", b.Against)
	}
	claims, err := trial.Claims(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if c := claims[0]; c.Sites != 3 || c.Without != 3 || c.Claimed != 3 {
		t.Errorf("claims %+v", c)
	}
	var text bytes.Buffer
	WriteResults(&text, tried, trial.Budgets)
	WriteClaims(&text, claims)
	if got, want := strings.Count(text.String(), "\n| "), 1+4+1+2*len(claimLevels); got != want {
		t.Errorf("%d rows, want %d:\n%s", got, want, text.String())
	}
	again, err := trial.Try(t.Context(), func(string) {})
	if err != nil || fmt.Sprint(again) != fmt.Sprint(tried) {
		t.Errorf("the same seed gives other figures: %v", err)
	}
}

func TestReadSitesRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"http://a.test/x\tsetup":                                                    "labels:1: http://a.test/x lies outside the site above",
		"http://a.test/\tstart\thttp://b.test/":                                     "labels:1: a line is an address and a label",
		"http://a.test/\tstart":                                                     "labels:1: a line is an address and a label",
		"http://a.test/\tstart\thttp://a.test/\nx\ty":                               "labels:2:",
		"# a comment\nhttp://a.test/\tstart\thttp://a.test/\nhttp://b.test/\tsetup": "labels:3: http://b.test/ lies outside",
	} {
		if _, err := ReadSites(strings.NewReader(line), "labels"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

func TestParseStrategy(t *testing.T) {
	s, err := parseStrategy("pathlearner:page-tokens=0:endless=1+name")
	if err != nil || s.name != "pathlearner" || !s.named || s.set["endless"] != 1 || s.train["page-tokens"] != 0 || len(s.train) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "nobody", "pathlearner:gamma", "pathlearner:gamma=2", "breadth-first:page-tokens=0"} {
		if _, err := parseStrategy(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
