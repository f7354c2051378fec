package job

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/web"
)

// madeSite is a site of the made web: items with a text each, of which a third is about bees.
// page answers a path with a document, or with what its scripts ask for; "" is 404.
type madeSite struct {
	name, line string
	page       func(w *madeWeb, site, path string, query url.Values) string
	only       []string // where the texts about bees are, if not at the items
}

// madeWeb is a web of sites that scripts make in part or as a whole, one for each way in which
// sites do so. It is served by a proxy that says that it serves a recorded web.
type madeWeb struct {
	items int
	sites []madeSite
}

func (*madeWeb) bees(n int) bool { return n%3 == 0 }

func (w *madeWeb) text(site string, n int) string {
	about := "steel bridges and their rivets carry trains over rivers"
	if w.bees(n) {
		about = "honey bees dance in the hive and show where flowers are"
	}
	return fmt.Sprintf("Item %d of %s. ", n, site) + strings.Repeat(about+". ", 12)
}

func (w *madeWeb) item(site string, n int, more string) string {
	return fmt.Sprintf(`<!doctype html><title>Item %d</title><h1>Item %d</h1><p>%s</p><p><a href="/">home</a> <a href="/about">about</a> <a href="/contact">contact</a></p>%s`, n, n, w.text(site, n), more)
}

func (w *madeWeb) itemAt(path string) (n int, ok bool) {
	c, err := fmt.Sscanf(path, "/item/%d", &n)
	return n, c == 1 && err == nil && n >= 0 && n < w.items
}

// list is some items as links.
func (w *madeWeb) list(from, to int) (s string) {
	for n := from; n < min(to, w.items); n++ {
		s += fmt.Sprintf(`<li><a href="/item/%d">item %d</a></li>`, n, n)
	}
	return s
}

// numbers is some items as JSON.
func (w *madeWeb) numbers(from, to int) string {
	list := []int{}
	for n := from; n < min(to, w.items); n++ {
		list = append(list, n)
	}
	b, _ := json.Marshal(list)
	return string(b)
}

const (
	intro  = `<p>` + "This page lists what the site holds, the newest first, and is written anew each day by those who keep it. " + `</p>`
	addAll = `for (const n of list) document.getElementById("list").insertAdjacentHTML("beforeend", '<li style="height:300px"><a href="/item/' + n + '">item ' + n + "</a></li>");`
)

func newMadeWeb(items int) *madeWeb {
	other := strings.Repeat(intro, 3)
	plainItems := func(w *madeWeb, site, path, more string) (string, bool) {
		if n, ok := w.itemAt(path); ok {
			return w.item(site, n, more), true
		}
		if path == "/about" || path == "/contact" {
			return "<!doctype html><title>About</title>" + other + `<a href="/">home</a>` + more, true
		}
		return "", false
	}
	scripted := `<script src="/site.js"></script>`
	return &madeWeb{items: items, sites: []madeSite{
		{name: "app", line: "an application: each page is the same empty one, filled with data that a script fetches", page: func(w *madeWeb, site, path string, q url.Values) string {
			if n, ok := w.itemAt(strings.TrimSuffix(strings.TrimPrefix(path, "/data"), ".json")); ok && strings.HasPrefix(path, "/data/") {
				b, _ := json.Marshal(w.text(site, n))
				return string(b)
			}
			switch path {
			case "/list.json":
				return w.numbers(0, w.items)
			case "/site.js":
				return `const show = h => document.getElementById("app").innerHTML = h;
					if (location.pathname === "/") { show("<ul id=list></ul>"); fetch("/list.json").then(r => r.json()).then(list => { ` + addAll + ` }) }
					else fetch("/data" + location.pathname + ".json").then(r => r.json()).then(t => { document.title = "item"; show("<p>" + t + "</p><a href=/>home</a>") });`
			}
			if _, ok := w.itemAt(path); ok || path == "/" {
				return `<!doctype html><title>App</title><div id="app"></div>` + scripted
			}
			return ""
		}},
		{name: "embedded", line: "pages whose text lies in them as data, and is shown by a script", page: func(w *madeWeb, site, path string, q url.Values) string {
			data := any(nil)
			if n, ok := w.itemAt(path); ok {
				data = w.item(site, n, "")
			} else if path == "/" {
				data = "<ul>" + w.list(0, w.items) + "</ul>"
			} else if path == "/site.js" {
				return `document.getElementById("root").innerHTML = JSON.parse(document.getElementById("data").textContent)`
			} else {
				return ""
			}
			b, _ := json.Marshal(data)
			return `<!doctype html><title>E</title><div id="root"></div><script id="data" type="application/json">` + string(b) + `</script>` + scripted
		}},
		{name: "news", line: "articles as sent; lists that a script fills in as one scrolls", page: func(w *madeWeb, site, path string, q url.Values) string {
			if s, ok := plainItems(w, site, path, scripted); ok {
				return s
			}
			switch path {
			case "/site.js":
				return `const list_ = document.getElementById("list"); let from = 0;
					if (list_) new IntersectionObserver(async e => { if (!e[0].isIntersecting) return; const list = await (await fetch("/list.json?from=" + from)).json(); from += 10; ` + addAll + ` }).observe(document.getElementById("end"))`
			case "/list.json":
				from := 0
				fmt.Sscan(q.Get("from"), &from)
				return w.numbers(from, from+10)
			case "/":
				return `<!doctype html><title>News</title>` + other + `<ul id="list" class="feed"></ul><div id="end">.</div><a href="/about">about</a> <a href="/contact">contact</a>` + scripted
			}
			return ""
		}},
		{name: "forum", line: "threads as sent; a button that loads more of the list", page: func(w *madeWeb, site, path string, q url.Values) string {
			if s, ok := plainItems(w, site, path, scripted); ok {
				return s
			}
			switch path {
			case "/site.js":
				return `const b = document.getElementById("more"); let from = 10; if (b) b.onclick = async () => { const list = await (await fetch("/list.json?from=" + from)).json(); from += 10; ` + addAll + ` if (!list.length) b.remove() }`
			case "/list.json":
				from := 0
				fmt.Sscan(q.Get("from"), &from)
				return w.numbers(from, from+10)
			case "/":
				return `<!doctype html><title>Forum</title>` + other + `<ul id="list">` + w.list(0, 10) + `</ul><button id="more">Load more</button>` + scripted
			}
			return ""
		}},
		{name: "docs", line: "pages as sent; the menu that leads from one to another is made by a script", page: func(w *madeWeb, site, path string, q url.Values) string {
			if path == "/site.js" {
				return `const list = ` + w.numbers(0, w.items) + `; document.getElementById("menu").innerHTML = "<ul id=list></ul>"; ` + addAll
			}
			n, ok := w.itemAt(path)
			if !ok && path != "/" {
				return ""
			}
			return fmt.Sprintf(`<!doctype html><title>Docs %d</title><nav id="menu"></nav><p>%s</p><a href="/">start</a>`, n, w.text(site, n)) + scripted
		}},
		{name: "hydrated", line: "all is sent, and a script makes the same of it once more", page: func(w *madeWeb, site, path string, q url.Values) string {
			if s, ok := plainItems(w, site, path, scripted); ok {
				return s
			}
			switch path {
			case "/site.js":
				return `const h = document.body.innerHTML; document.body.innerHTML = h`
			case "/":
				return `<!doctype html><title>H</title>` + other + `<ul>` + w.list(0, w.items) + `</ul>` + scripted
			}
			return ""
		}},
		{name: "comments", line: "all is sent but a few words that readers left", page: func(w *madeWeb, site, path string, q url.Values) string {
			if s, ok := plainItems(w, site, path, `<div class="notes"></div>`+scripted); ok {
				return s
			}
			switch path {
			case "/site.js":
				return `for (const e of document.querySelectorAll(".notes")) e.textContent = "three readers found this good, and one did not: write to them below"`
			case "/":
				return `<!doctype html><title>C</title>` + other + `<ul>` + w.list(0, w.items) + `</ul>` + scripted
			}
			return ""
		}},
		{name: "routes", line: "one page, whose views have addresses behind #", only: []string{"/"}, page: func(w *madeWeb, site, path string, q url.Values) string {
			switch path {
			case "/site.js":
				texts := []string{}
				for n := range min(w.items, 10) {
					texts = append(texts, w.text(site, n))
				}
				b, _ := json.Marshal(texts)
				return `const texts = ` + string(b) + `; const show = () => { const n = +location.hash.slice(2) || 0; document.getElementById("view").innerHTML = "<p>" + texts[n] + "</p>" + texts.map((_, i) => "<a href='#/" + i + "'>" + i + "</a>").join(" ") }; onhashchange = show; show()`
			case "/":
				return `<!doctype html><title>R</title><main id="view"></main>` + scripted
			}
			return ""
		}},
		{name: "cards", line: "pages as sent; a list of elements of its own, with a shadow each", page: func(w *madeWeb, site, path string, q url.Values) string {
			if s, ok := plainItems(w, site, path, scripted); ok {
				return s
			}
			switch path {
			case "/site.js":
				return `customElements.define("x-list", class extends HTMLElement { connectedCallback() { const list = ` + w.numbers(0, w.items) + `; this.attachShadow({mode: "open"}).innerHTML = list.map(n => "<a href=/item/" + n + ">item</a>").join(" ") } })`
			case "/":
				return `<!doctype html><title>K</title>` + other + `<x-list></x-list>` + scripted
			}
			return ""
		}},
		{name: "late", line: "pages as sent; links to related ones come two seconds later, and half of the pages have no others", page: func(w *madeWeb, site, path string, q url.Values) string {
			related := ""
			if n, ok := w.itemAt(path); ok {
				related = fmt.Sprintf(`<aside id="related"></aside><script>setTimeout(() => document.getElementById("related").innerHTML = "<a href=/item/%d>a</a> <a href=/item/%d>b</a>", 2000)</script>`, (n+w.items/2)%w.items, (n+w.items/2+1)%w.items)
			}
			if s, ok := plainItems(w, site, path, related); ok {
				return s
			}
			if path == "/" {
				return `<!doctype html><title>L</title>` + other + `<ul>` + w.list(0, w.items/2) + `</ul>`
			}
			return ""
		}},
	}}
}

func (w *madeWeb) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.URL.Path == corpus.CertificatePath {
		out.Header().Set(web.RecordHeader, web.RecordServed)
		return
	}
	for _, s := range w.sites {
		if s.name+".example" != r.Host {
			continue
		}
		body := s.page(w, s.name, r.URL.Path, r.URL.Query())
		switch {
		case body == "":
			http.NotFound(out, r)
			return
		case strings.HasSuffix(r.URL.Path, ".js"):
			out.Header().Set("Content-Type", "text/javascript")
		case strings.HasSuffix(r.URL.Path, ".json"):
			out.Header().Set("Content-Type", "application/json")
		default:
			out.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		io.WriteString(out, body)
		return
	}
	http.NotFound(out, r)
}

// wanted are the addresses with texts about bees.
func (w *madeWeb) wanted(s *madeSite) (out []string) {
	for _, path := range s.only {
		out = append(out, "http://"+s.name+".example"+path)
	}
	for n := range w.items {
		if w.bees(n) && s.only == nil {
			out = append(out, fmt.Sprintf("http://%s.example/item/%d", s.name, n))
		}
	}
	return out
}

// found is what a crawl of the made web brought, by site.
type found struct{ pages, rendered, wanted map[string]int }

func crawlMadeWeb(t *testing.T, w *madeWeb, render string) found {
	t.Helper()
	server := httptest.NewServer(w)
	defer server.Close()
	text := "topic: {keywords: [honey bee, hive]}\njudge: {name: keyword, threshold: 0.05, count-copies: true}\nscorer: {name: breadth-first}\npoliteness: {delay: 0s}\n" +
		"fetch: {unsandboxed: true, browsers: 2, browser-time: 5m, workers: 8, render: " + render + ", through: '" + server.URL + "'}\nseeds:\n"
	for _, s := range w.sites {
		text += "- http://" + s.name + ".example/\n"
	}
	j, err := Parse("job.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	crawlInto(t, dir, j, 0)
	out := found{map[string]int{}, map[string]int{}, map[string]int{}}
	wanted := map[string]bool{}
	for i := range w.sites {
		for _, u := range w.wanted(&w.sites[i]) {
			wanted[u] = true
		}
	}
	for f, err := range collection.At(dir).Fetched() {
		if err != nil {
			t.Fatal(err)
		}
		site := strings.TrimSuffix(f.URL.Host().Name(), ".example")
		out.pages[site]++
		if f.Rendered != nil {
			out.rendered[site]++
		}
		if f.Relevant && wanted[f.URL.String()] {
			out.wanted[site]++
		}
	}
	return out
}

func total(m map[string]int) (n int) {
	for _, c := range m {
		n += c
	}
	return n
}

// On ten sites that scripts make, auto finds at least .95 of the wanted pages that always
// finds, and renders at most a third as many.
func TestRenderRecall(t *testing.T) {
	long.TestOfAll(t, "renders some hundred pages")
	chromium.Find(t)
	w := newMadeWeb(24)
	never, auto, always := crawlMadeWeb(t, w, "never"), crawlMadeWeb(t, w, "auto"), crawlMadeWeb(t, w, "always")
	t.Logf("| site | wanted | never | auto | always | rendered by auto | by always | of pages |")
	t.Logf("|---|---|---|---|---|---|---|---|")
	there := 0
	for i := range w.sites {
		s := &w.sites[i]
		there += len(w.wanted(s))
		t.Logf("| %s: %s | %d | %d | %d | %d | %d | %d | %d |", s.name, s.line, len(w.wanted(s)), never.wanted[s.name], auto.wanted[s.name], always.wanted[s.name],
			auto.rendered[s.name], always.rendered[s.name], always.pages[s.name])
	}
	t.Logf("| all | %d | %d | %d | %d | %d | %d | %d |", there, total(never.wanted), total(auto.wanted), total(always.wanted), total(auto.rendered), total(always.rendered), total(always.pages))
	if got := float64(total(auto.wanted)) / float64(total(always.wanted)); got < 0.95 {
		t.Errorf("auto finds %.3f of what always finds", got)
	}
	if got := float64(total(auto.rendered)) / float64(total(always.rendered)); got > 1./3 {
		t.Errorf("auto renders %.3f of what always renders", got)
	}
}

// noGain is a renderer to which pages are as they were sent.
type noGain struct{}

func (noGain) Render(_ context.Context, r *web.Response, _ float64) (*web.Rendering, error) {
	return &web.Rendering{Body: r.Body}, nil
}

// Of recorded webs, whose pages were sent whole, at most 3% are rendered.
func TestRenderPlain(t *testing.T) {
	long.TestOfAll(t, "crawls three recorded webs")
	for _, name := range []string{"campus", "departments", "manuals"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir() + "/web"
			if _, err := corpus.Build(t.Context(), dir, corpus.Exchange{Dir: recorded.Web(t, name)}, corpus.Options{}); err != nil {
				t.Fatal(err)
			}
			w, err := corpus.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			j, err := Parse("job.yaml", []byte("topic: {keywords: [course]}\njudge: {name: keyword}\nscorer: {name: breadth-first}\npoliteness: {delay: 0s}\nbudget: {pages: 4000}\nseeds: []\n"))
			if err != nil {
				t.Fatal(err)
			}
			m := &Maker{Job: j, Fetcher: corpus.Fetcher{Web: w}, Renderer: noGain{}, Seeds: w.Seeds(50)}
			c, err := m.Crawl(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pages, rendered, hosts := 0, 0, map[web.Host]bool{}
			c.Listen = func(e event.Event) {
				if f, ok := e.(event.Fetched); ok {
					pages++
					hosts[f.URL.Host()] = true
					if f.Rendered != nil {
						rendered++
					}
				}
			}
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d pages of %d hosts, %d rendered: %.1f%%", pages, len(hosts), rendered, 100*float64(rendered)/float64(pages))
			if float64(rendered) > 0.03*float64(pages) {
				t.Errorf("%d of %d pages are rendered", rendered, pages)
			}
		})
	}
}

var _ crawl.Renderer = noGain{}
