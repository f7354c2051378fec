package crawl_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// scripts is a renderer: address without "http://" → the document that the scripts of the page
// leave. Others stay as they are.
type scripts struct {
	docs map[string]string

	mu    sync.Mutex
	given []string
}

func (s *scripts) Render(_ context.Context, r *web.Response, _ float64) (*web.Rendering, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address := strings.TrimPrefix(r.URL.String(), "http://")
	s.given = append(s.given, address)
	body, ok := s.docs[address]
	if !ok {
		body = string(r.Body)
	}
	return &web.Rendering{Body: []byte(body), Requests: 1}, nil
}

// Bodies of pages: words that are no stop words, and links.
func words(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf(" w%d", i)
	}
	return "<p>" + s + "</p>"
}

func links(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf(`<a href="/%d">%d</a> `, i, i)
	}
	return s
}

// next are links to the eight pages behind n, of so many.
func next(n, of int) (s string) {
	for i := n + 1; i < min(of, n+9); i++ {
		s += fmt.Sprintf(`<a href="/%d">%d</a> `, i, i)
	}
	return s
}

const script = `<script src="/app.js"></script>`

// ofHost makes pages of a host that are sent as a function of their number; those below
// behind appear once the first page is rendered.
func ofHost(w mapWeb, docs map[string]string, host string, pages int, sent, shown func(n int) string) {
	for n := range pages {
		at := fmt.Sprintf("%s/%d", host, n)
		w[at] = fmt.Sprintf("<title>%d</title>", n) + sent(n)
		if shown != nil {
			docs[at] = fmt.Sprintf("<title>%d</title>", n) + shown(n)
		}
	}
}

// Pages are rendered where that brings something, host by host: what a host has taught holds
// for the next run as well.
func TestRenderAuto(t *testing.T) {
	full := func(int) string { return script + words(200) + links(300) }
	for _, c := range []struct {
		name        string
		sent, shown func(n int) string
		pages       int
		least, most int // that are rendered
	}{
		{"scripts make all", func(int) string { return `<div id="app"></div>` + script }, func(int) string { return words(200) + links(60) }, 60, 60, 60},
		{"scripts make short pages", func(int) string { return `<div id="root"></div>` + script }, func(n int) string {
			return words(30) + fmt.Sprintf(`<a href="/%d">next</a>`, (n+1)%40)
		}, 40, 40, 40},
		{"no scripts", func(int) string { return links(300) }, nil, 300, 0, 0},
		{"scripts that add nothing", full, nil, 300, 1, 9},
		{"little text, to which nothing is added", func(n int) string { return script + next(n, 140) }, nil, 140, 2, 2},
		{"lists of links", func(int) string { return script + links(140) }, nil, 140, 1, 1},
		{"lists that scripts fill in", func(n int) string {
			if n%10 == 0 {
				return script + words(100) + `<ul id=results></ul>` + links(60)
			}
			return script + words(200) + links(60)
		}, func(n int) string {
			if n%10 == 0 {
				return script + words(100) + `<ul id=results>` + words(60) + `</ul>` + links(60)
			}
			return script + words(200) + links(60)
		}, 60, 6, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := mapWeb{}, &scripts{docs: map[string]string{}}
			ofHost(w, s.docs, "h0.example", c.pages, c.sent, c.shown)
			dir := filepath.Join(t.TempDir(), "frontier")
			fetched, rendered := 0, 0
			for _, pages := range []int{c.pages / 3, 0} { // two runs
				front, err := frontier.Open(dir, frontier.Options{})
				if err != nil {
					t.Fatal(err)
				}
				cr := newCrawl(t, w, 2)
				cr.Seeds[0], _ = web.Parse("http://h0.example/0")
				cr.Frontier, cr.Renderer, cr.Clock = front, s, stillClock{}
				cr.Policy.Pages = pages
				cr.Listen = func(e event.Event) {
					if f, ok := e.(event.Fetched); ok {
						fetched++
						if f.Rendered != nil {
							rendered++
						}
					}
				}
				if _, err := cr.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := front.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if fetched != c.pages || rendered != len(s.given) || rendered < c.least || rendered > c.most {
				t.Errorf("of %d pages %d were fetched, %d said to be rendered, and %d given to the renderer, want %d to %d", c.pages, fetched, rendered, len(s.given), c.least, c.most)
			}
		})
	}
}

// A page whose title says that it is a login is not rendered; one is that has a login in it,
// which may be all that is sent of a page that scripts make.
func TestRenderLogin(t *testing.T) {
	const form = `<form><input name=user> Password <input type=password></form>`
	for sent, want := range map[string]string{
		`<title>Sign in - Hives</title>` + form + script:                                                `login, rendered 0`,
		`<title>Hives</title><div id=root></div>` + form + script:                                       `, rendered 1`,
		`<title>Hives</title><div id=root></div><h2>Log in</h2>` + form + script:                        `, rendered 1`,
		`<title>Hives</title><div id=root></div><p>Please log in to order.</p>` + form + script:         `, rendered 1`,
		`<title>Hives</title><div id=root></div><p>Log in</p>` + form + `<script type=module></script>`: `, rendered 1`,
	} {
		cr, s := newCrawl(t, mapWeb{"h0.example/1": sent}, 1), &scripts{docs: map[string]string{
			"h0.example/1": `<title>Hives</title><h1>Hives</h1>` + words(200),
		}}
		cr.Renderer, cr.Policy.Hollow = s, true
		var got string
		cr.Listen = func(e event.Event) {
			if f, ok := e.(event.Fetched); ok {
				got = fmt.Sprintf("%s, rendered %d", f.Reason, len(s.given))
			}
		}
		if _, err := cr.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sent, got, want)
		}
	}
}

// What hosts showed is expected of the next one: where nothing was gained, one shell of each
// further host is rendered, and neither a short page nor one that may be filled in.
func TestRenderManyHosts(t *testing.T) {
	const hosts = 12
	renderHosts(t, hosts, 0, hosts)
	renderHosts(t, hosts, 50, 7)
}

// renderHosts crawls so many hosts whose bare pages have so many words, and wants as many of
// these rendered.
func renderHosts(t *testing.T, hosts, short, want int) {
	const pages = 4
	w, s := mapWeb{}, &scripts{docs: map[string]string{}}
	cr := newCrawl(t, w, 1)
	cr.Seeds = nil
	for h := range hosts {
		host := fmt.Sprintf("h%d.example", h)
		ofHost(w, s.docs, host, pages, func(n int) string {
			if n%2 == 0 {
				return script + host + words(short) + next(n, pages)
			}
			return script + host + words(200) + `<ul id=results></ul>`
		}, nil)
		u, err := web.Parse("http://" + host + "/0")
		if err != nil {
			t.Fatal(err)
		}
		cr.Seeds = append(cr.Seeds, u)
	}
	cr.Renderer, cr.Clock = s, stillClock{}
	if _, err := cr.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	bare, unfinished := 0, 0
	for _, u := range s.given {
		if strings.HasSuffix(u, "/0") || strings.HasSuffix(u, "/2") {
			bare++
		} else {
			unfinished++
		}
	}
	if bare != want || unfinished != 4 {
		t.Errorf("of %d hosts %d bare and %d unfinished pages were rendered, want %d and 4: %v", hosts, bare, unfinished, want, s.given)
	}
}

// What is judged and followed is the document that scripts left; the event tells both.
func TestRendered(t *testing.T) {
	sent := `<title>1</title><div id="root"></div>` + script
	shown := `<title>2</title><p>honey bees and wax <a href="/2">on</a></p>`
	for _, c := range []struct {
		policy crawl.Render
		record bool // a recorded web holds the rendering
		body   string
		want   string
	}{
		{crawl.RenderAuto, false, sent, "rendered 2 relevant: 0 words and 0 links became 4 and 1"},
		{crawl.RenderAlways, false, sent, "rendered 2 relevant: 0 words and 0 links became 4 and 1"},
		{crawl.RenderAlways, false, "<title>1</title><p>plain", "rendered 2 relevant: 1 words and 0 links became 4 and 1"},
		{crawl.RenderNever, false, sent, "1"},
		{"", true, sent, "rendered 2 relevant: 0 words and 0 links became 4 and 1"},
		{crawl.RenderNever, true, sent, "1"},
	} {
		t.Run(fmt.Sprintf("%s %t", c.policy, c.record), func(t *testing.T) {
			w := mapWeb{"h0.example/1": c.body}
			cr := newCrawl(t, w, 1)
			cr.Policy.Render = c.policy
			if c.record {
				cr.Fetcher = withRendering{w, &web.Rendering{Body: []byte(shown)}}
			} else {
				cr.Renderer = &scripts{docs: map[string]string{"h0.example/1": shown}}
			}
			var got string
			cr.Listen = func(e event.Event) {
				if f, ok := e.(event.Fetched); ok {
					got = f.Title
					if r := f.Rendered; r != nil {
						got = fmt.Sprintf("rendered %s", f.Title)
						if f.Relevant {
							got += " relevant"
						}
						got += fmt.Sprintf(": %d words and %d links became %d and %d", r.SentWords, r.SentLinks, r.Words, r.Links)
					}
				}
			}
			if _, err := cr.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A page for which no browser was to be had says so; one for which none was asked does not.
func TestNoBrowser(t *testing.T) {
	cr := newCrawl(t, mapWeb{"h0.example/1": `<a href="/2">2</a><div id="root"></div>` + script, "h0.example/2": "<p>plain"}, 1)
	cr.Renderer = noBrowser{}
	told := map[string]bool{}
	cr.Listen = func(e event.Event) {
		if f, ok := e.(event.Fetched); ok {
			told[f.URL.Path()] = f.NoBrowser
		}
	}
	if _, err := cr.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"/1": true, "/2": false}; !maps.Equal(told, want) {
		t.Errorf("got %v, want %v", told, want)
	}
}

type noBrowser struct{}

func (noBrowser) Render(context.Context, *web.Response, float64) (*web.Rendering, error) {
	return nil, nil
}

// What pages may ask for.
func TestScopeAsks(t *testing.T) {
	at := func(s string) web.URL {
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	seeds := map[string]bool{"seed.example": true}
	page := at("http://www.page.example/")
	exclude := []*regexp.Regexp{regexp.MustCompile(`/private/`)}
	include := []*regexp.Regexp{regexp.MustCompile(`/docs/`)}
	for _, c := range []struct {
		scope crawl.Scope
		asked string
		want  web.Reason
	}{
		{crawl.Scope{}, "http://cdn.example/lib.js", ""},
		{crawl.Scope{Exclude: exclude}, "http://cdn.example/private/lib.js", web.ReasonScope},
		{crawl.Scope{Include: include}, "http://www.page.example/app.js", ""},
		{crawl.Scope{Reach: crawl.ReachHost}, "http://api.page.example/data.json", ""},
		{crawl.Scope{Reach: crawl.ReachHost}, "http://seed.example/data.json", ""},
		{crawl.Scope{Reach: crawl.ReachHost}, "http://cdn.example/lib.js", web.ReasonScope},
		{crawl.Scope{Reach: crawl.ReachDomain}, "http://cdn.example/lib.js", web.ReasonScope},
	} {
		if got := c.scope.Asks(page, at(c.asked), seeds); got != c.want {
			t.Errorf("%s, reach %q: %q, want %q", c.asked, c.scope.Reach, got, c.want)
		}
	}
}

// A rendering that has fewer words or links than were sent, and brings nothing for them, is left
// aside: the page is as it was sent.
func TestRenderingThatLoses(t *testing.T) {
	sent := "<title>1</title>" + script + words(60) + links(12)
	fewer := "<title>2</title>" + words(40)
	const other = `<a href="/new">new</a>`
	for _, c := range []struct {
		name, shown string
		ended       web.Reason
		want        string // title, links found, and how the page is kept
	}{
		{"an empty document", "<title>2</title>", web.ReasonRenderRequests, "1, 11 links, as sent"},
		{"an empty document, and nothing is wrong", "<title>2</title>", "", "1, 11 links, as sent"},
		{"fewer links", "<title>2</title>" + words(60) + links(11), "", "1, 11 links, as sent"},
		{"the same", "<title>2</title>" + words(60) + links(12), "", "2, 11 links, as rendered"},
		{"another link, and fewer", fewer + other, "", "1, 11 links, as sent"},
		{"other links, and fewer", fewer + other + `<a href="/newer">newer</a>`, "", "2, 2 links, as rendered"},
		{"cut short, another link, and fewer", fewer + other, web.ReasonRenderCPU, "1, 11 links, as sent"},
		{"cut short, more links, and fewer words", fewer + links(40), web.ReasonRenderCPU, "2, 39 links, as rendered"},
		{"cut short, and more", "<title>2</title>" + words(120) + links(12), web.ReasonRenderCPU, "2, 11 links, as rendered"},
		{"a script leads elsewhere", "<title>2</title>" + other, web.ReasonRenderMoved, "2, 1 links, as rendered"},
	} {
		for _, record := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, of a record: %t", c.name, record), func(t *testing.T) {
				w := mapWeb{"h0.example/1": sent}
				cr := newCrawl(t, w, 1)
				cr.Policy.Render = crawl.RenderAlways
				made := &web.Rendering{Body: []byte(c.shown), Ended: c.ended}
				cr.Renderer = oneRendering{made}
				if record {
					cr.Renderer, cr.Fetcher = nil, withRendering{w, made}
				}
				var got string
				cr.Listen = func(e event.Event) {
					if f, ok := e.(event.Fetched); ok && got == "" {
						how := "as rendered"
						if f.Rendered == nil || f.Rendered.AsSent {
							how = "as sent"
						}
						got = fmt.Sprintf("%s, %d links, %s", f.Title, f.Links, how)
					}
				}
				if _, err := cr.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if string(made.Body) != c.shown {
					t.Error("the rendering of the record was changed")
				}
			})
		}
	}
}

// oneRendering is a renderer that makes the same of each page.
type oneRendering struct{ made *web.Rendering }

func (o oneRendering) Render(context.Context, *web.Response, float64) (*web.Rendering, error) {
	return o.made, nil
}

// withRendering answers with a rendering that a recorded web holds.
type withRendering struct {
	mapWeb
	made *web.Rendering
}

func (w withRendering) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := w.mapWeb.Fetch(ctx, u)
	if err == nil && r.Status == 200 {
		r.Rendering = w.made
	}
	return r, err
}

// What a rendered page asks for at an address that repeats a secret is not kept, nor are such links of it.
func TestRenderTells(t *testing.T) {
	const token = "by-hand-4711"
	at := func(s string) web.URL {
		u, err := web.Parse("http://h0.example" + s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	conceal := func(s string) string { return strings.ReplaceAll(s, token, web.Concealed) }
	resource := func(s string, robots *web.Response) web.Resource {
		return web.Resource{Response: &web.Response{URL: at(s), Status: 200, Robots: robots}, Type: "fetch"}
	}
	page := `<script src=/a.js></script><div id=root></div>`
	r := &web.Response{URL: at("/1"), Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte(page), Conceal: conceal}
	by := &web.Rendering{
		Body:      []byte(words(100) + `<a href="/2">two</a><a href="/3?t=` + token + `">three</a>`),
		Detail:    "leads to /4?t=" + token,
		Resources: []web.Resource{resource("/a.js", nil), resource("/data?t="+token, &web.Response{URL: at("/robots.txt")})},
	}
	cr := newCrawl(t, mapWeb{}, 1)
	cr.Renderer = renders{by}
	a, err := cr.Examine(t.Context(), web.Lease{Candidate: web.Candidate{URL: r.URL}}, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := a.Page.Links; len(l) != 1 || l[0].URL != at("/2") || a.Page.Telling != 1 {
		t.Errorf("the links are %v, and %d are left out", l, a.Page.Telling)
	}
	if strings.Contains(string(r.Rendering.Body), token) || r.Rendering.Concealed != 1 {
		t.Errorf("the document is kept with %d places concealed: %s", r.Rendering.Concealed, r.Rendering.Body)
	}
	if kept := r.Rendering.Resources; len(kept) != 2 || kept[0].URL != at("/a.js") || kept[1].URL != at("/robots.txt") || strings.Contains(r.Rendering.Detail, token) {
		t.Errorf("of the rendering %v is kept, and %q", kept, r.Rendering.Detail)
	}
}

// renders is a renderer that makes the same of all pages.
type renders struct{ by *web.Rendering }

func (r renders) Render(context.Context, *web.Response, float64) (*web.Rendering, error) {
	return r.by, nil
}

// A page keeps the wishes it was sent with when its scripts remove them, and those that its
// scripts add count as well.
func TestRenderKeepsWishes(t *testing.T) {
	for _, c := range []struct {
		sent, shown string
		want        web.Directives
		reason      web.Reason
	}{
		{`<meta name=robots content=noindex>`, ``, web.Directives{NoIndex: true}, web.ReasonNoIndex},
		{``, `<meta name=robots content=noindex>`, web.Directives{NoIndex: true}, web.ReasonNoIndex},
		{`<meta name=robots content="noarchive, nofollow">`, `<meta name=robots content="noai, noimageai">`, web.Directives{NoArchive: true, NoFollow: true, NoAI: true, NoImageAI: true}, ""},
		{`<meta name=tdm-reservation content=1><meta name=tdm-policy content="https://a.example/terms">`, ``, web.Directives{TDMReserved: true, TDMPolicy: "https://a.example/terms"}, ""},
		{`<meta name=tdm-reservation content=1>`, `<meta name=tdm-reservation content=0>`, web.Directives{TDMReserved: true}, ""},
		{``, ``, web.Directives{}, ""},
	} {
		u, err := web.Parse("http://h0.example/1")
		if err != nil {
			t.Fatal(err)
		}
		r := &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte(c.sent + `<script src=/a.js></script><div id=root></div>`)}
		archive := &besideArchive{}
		cr := newCrawl(t, mapWeb{}, 1)
		cr.Archive, cr.Renderer = archive, renders{&web.Rendering{Body: []byte(c.shown + words(100))}}
		a, err := cr.Examine(t.Context(), web.Lease{Candidate: web.Candidate{URL: u}}, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.Page.Directives != c.want || a.Reason != c.reason || !strings.Contains(a.Page.Main, "w99") {
			t.Errorf("sent with %q and shown with %q it wishes %+v, and its reason is %q", c.sent, c.shown, a.Page.Directives, a.Reason)
		}
		if kept := a.Record != nil; kept != (!c.want.NoIndex && !c.want.NoArchive) {
			t.Errorf("sent with %q and shown with %q it is kept: %v", c.sent, c.shown, kept)
		}
	}
}
