package render_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/render"
	"github.com/waggle-crawler/waggle/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is what a page may ask for, by address: a body, of which the ending of the address
// tells the type.
type site struct {
	bodies map[string]string

	mu    sync.Mutex
	asked []string
	hook  func() // before each answer, if there is one
}

func (s *site) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, u.String())
	s.mu.Unlock()
	if s.hook != nil {
		s.hook()
	}
	body, ok := s.bodies[u.String()]
	if strings.Contains(u.Path(), "/forbidden") {
		return nil, &web.Failure{Reason: web.ReasonRobots, Detail: "robots.txt disallows it", Robots: &web.Response{URL: at(u.Origin() + "/robots.txt"), Status: 200}}
	}
	status := 200
	if !ok {
		status = 404
	}
	kind := "application/json"
	if strings.HasSuffix(u.Path(), ".js") {
		kind = "text/javascript"
	}
	if to, moved := strings.CutPrefix(body, "Location: "); moved {
		return &web.Response{URL: u, Status: 302, Header: web.Header{"Location": {to}, "Access-Control-Allow-Origin": {"*"}}}, nil
	}
	return &web.Response{
		URL: u, Status: status, Header: web.Header{"Content-Type": {kind}, "Access-Control-Allow-Origin": {"*"}}, Raw: []byte(body), Body: []byte(body),
	}, nil
}

func at(s string) web.URL {
	u, err := web.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// page is a response with a document.
func page(address, body string) *web.Response {
	return &web.Response{URL: at(address), Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Raw: []byte(body), Body: []byte(body)}
}

// pool makes a pool, or skips the test where there is no browser.
func pool(t *testing.T, s *site, change func(*render.Options)) *render.Pool {
	t.Helper()
	o := render.Options{Resources: s, Unsandboxed: true, Limits: render.Limits{Time: 5 * time.Minute}, Note: func(n string) { t.Log(n) }}
	if change != nil {
		change(&o)
	}
	p, err := render.New(o)
	var absent *devtools.AbsentError
	if errors.As(err, &absent) {
		t.Skip("needs a browser: install chromium")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

const head = "<!doctype html><html lang=en><head><title>as sent</title></head><body>"

// What scripts make of pages is in their renderings.
func TestRender(t *testing.T) {
	s := &site{bodies: map[string]string{
		"http://a.example/data.json":      `["honey bees","bumble bees"]`,
		"http://a.example/list.js":        `fetch("/data.json").then(r => r.json()).then(l => { for (const x of l) document.getElementById("root").insertAdjacentHTML("beforeend", "<a href=/" + x.split(" ")[0] + ">" + x + "</a>"); document.title = "from a script"; });`,
		"http://api.example/data.json":    `"from another host"`,
		"http://a.example/moved.json":     "Location: http://api.example/data.json",
		"http://a.example/w.js":           `fetch("/data.json").then(r => r.text()).then(t => postMessage(t))`,
		"http://a.example/module.js":      `import {text} from "./part.js"; document.body.append(text);`,
		"http://a.example/part.js":        `export const text = "of a module";`,
		"http://a.example/items.json?p=1": `[1]`, "http://a.example/items.json?p=2": `[2]`, "http://a.example/items.json?p=3": `[3]`,
	}}
	p := pool(t, s, nil)
	cases := []struct {
		name, body string
		want       []string // parts of the document
		absent     []string
		check      func(t *testing.T, r *web.Rendering)
	}{
		{
			name: "without scripts", body: head + `<p>plain</p><img src=a.png><link rel=stylesheet href=a.css><iframe src=/frame></iframe>`,
			want: []string{"<title>as sent</title>", "<p>plain</p>", `<iframe src="/frame">`, `lang="en"`},
			check: func(t *testing.T, r *web.Rendering) {
				if r.Requests != 0 || len(s.asked) != 0 {
					t.Errorf("it asked for %q", s.asked)
				}
			},
		},
		{
			name: "fetch of JSON", body: head + `<div id=root></div><script src=/list.js></script>`,
			want: []string{"<title>from a script</title>", `<a href="/honey">honey bees</a>`, `<a href="/bumble">`},
			check: func(t *testing.T, r *web.Rendering) {
				var got []string
				for _, x := range r.Resources {
					got = append(got, x.Type+" "+x.URL.String())
				}
				if want := []string{"script http://a.example/list.js", "xhr http://a.example/data.json"}; !slices.Equal(got, want) || r.Requests != 2 {
					t.Errorf("%d requests, resources %q", r.Requests, got)
				}
			},
		},
		{
			name: "a script that it was given before", body: head + `<div id=root></div><script src=/list.js></script>`,
			want: []string{`<a href="/honey">honey bees</a>`},
			check: func(t *testing.T, r *web.Rendering) {
				if len(r.Resources) != 1 || r.Resources[0].URL != at("http://a.example/data.json") {
					t.Errorf("resources %+v", r.Resources)
				}
			},
		},
		{
			name: "late content", body: head + `<script>setTimeout(() => document.body.append("five seconds later"), 5000)</script>`,
			want: []string{"five seconds later"},
		},
		{
			name: "XMLHttpRequest", body: head + `<script>const x = new XMLHttpRequest(); x.open("GET", "/data.json"); x.onload = () => document.body.append(x.responseText); x.send()</script>`,
			want: []string{"bumble bees"},
		},
		{
			name: "another host", body: head + `<script>fetch("http://api.example/data.json").then(r => r.text()).then(t => document.body.append(t))</script>`,
			want: []string{"from another host"},
		},
		{
			name: "a redirect", body: head + `<script>fetch("/moved.json").then(r => r.text()).then(t => document.body.append(t))</script>`,
			want: []string{"from another host"},
		},
		{
			name: "modules", body: head + `<script type=module src=/module.js></script>`,
			want: []string{"of a module"},
		},
		{
			name: "a worker", body: head + `<script>new Worker("/w.js").onmessage = e => document.body.append("worker: " + e.data)</script>`,
			want: []string{"worker: [", "bumble bees"},
		},
		{
			name: "shadow roots", body: head + `<x-card>light</x-card><script>customElements.define("x-card", class extends HTMLElement { connectedCallback() { this.attachShadow({mode: "open"}).innerHTML = "<h2>shadow</h2><slot></slot><a href=/in>in</a>"; } })</script>`,
			want: []string{`<x-card><h2>shadow</h2>light<a href="/in">in</a></x-card>`},
		},
		{
			name: "infinite scroll", body: head + `<ul id=l></ul><div id=end>end</div><script>
				let p = 0; new IntersectionObserver(async e => { if (!e[0].isIntersecting || p >= 3) return;
					const items = await (await fetch("/items.json?p=" + ++p)).json();
					for (const i of items) for (let n = 0; n < 30; n++) l.insertAdjacentHTML("beforeend", "<li style='height:80px'>item " + i + "." + n);
				}).observe(end)</script>`,
			want: []string{"item 1.0", "item 2.29", "item 3.29"},
			check: func(t *testing.T, r *web.Rendering) {
				if r.Scrolls < 2 || r.Scrolls > 6 || r.Clicks != 0 {
					t.Errorf("%d scrolls, %d clicks", r.Scrolls, r.Clicks)
				}
			},
		},
		{
			name: "load more", body: head + `<ul id=l></ul><button id=b>Mehr anzeigen</button><form><button>Show more</button></form><script>
				let p = 0; b.onclick = async () => { l.insertAdjacentHTML("beforeend", "<li>item " + await (await fetch("/items.json?p=" + ++p)).text()); if (p == 3) b.remove(); }</script>`,
			want: []string{"<li>item [1]", "<li>item [2]", "<li>item [3]"},
			check: func(t *testing.T, r *web.Rendering) {
				if r.Clicks != 3 {
					t.Errorf("%d clicks", r.Clicks)
				}
			},
		},
		{
			name: "routes", body: head + `<nav><a href="#/honey">h</a><a href="#/wax">w</a></nav><main id=m></main><script>
				onhashchange = () => { m.innerHTML = "<p>about " + location.hash.slice(2) + "</p>"; }</script>`,
			want: []string{`<section data-waggle-route="#/honey">`, "<p>about honey</p>", "<p>about wax</p>"},
			check: func(t *testing.T, r *web.Rendering) {
				if r.Routes != 2 {
					t.Errorf("%d routes", r.Routes)
				}
			},
		},
		{
			name: "the view before the routes", body: head + `<nav><a href="#/">home</a><a href="#/wax">w</a></nav><main id=m></main><script>
				const show = () => { m.innerHTML = location.hash.length > 2 ? "<p>about " + location.hash.slice(2) + "</p>" : "<p>" + "news</p><a href=/first>first</a>"; };
				onhashchange = show; show()</script>`,
			want: []string{"<p>news</p>", "/first", "<p>about wax</p>"},
			check: func(t *testing.T, r *web.Rendering) {
				for _, s := range []string{"<p>news</p>", "<p>about wax</p>"} {
					if n := strings.Count(string(r.Body), s); n != 1 {
						t.Errorf("%q is there %d times", s, n)
					}
				}
			},
		},
		{
			name: "addresses of its own", body: head + `<script>history.pushState({}, "", "/own/address"); document.body.append(location.pathname)</script>`,
			want: []string{"/own/address"},
		},
		{
			name: "what robots.txt disallows", body: head + `<script>fetch("/forbidden.json").catch(() => document.body.append("refused"))</script>`,
			want: []string{"refused"},
			check: func(t *testing.T, r *web.Rendering) {
				if r.Refused[web.ReasonRobots] != 1 || len(r.Resources) != 1 || r.Resources[0].URL != at("http://a.example/robots.txt") {
					t.Errorf("refused %v, resources %+v", r.Refused, r.Resources)
				}
			},
		},
		{
			name: "what would change something", body: head + `<script>fetch("/data.json", {method: "POST", body: "x"}).catch(() => document.body.append("refused")); navigator.sendBeacon("/beacon", "x")</script>`,
			want: []string{"refused"},
			check: func(t *testing.T, r *web.Rendering) {
				if r.Refused[web.ReasonMethod] != 1 || len(r.Resources) != 0 {
					t.Errorf("refused %v, resources %+v", r.Refused, r.Resources)
				}
			},
		},
		{
			name: "a broken script", body: head + `<p>kept</p><script>throw new Error("x")</script><script>document.body.append("after it")</script>`,
			want: []string{"<p>kept</p>", "after it"},
		},
		{
			name: "addresses that cannot be read", body: head + `<a href="https://#!">a</a><a href="http:///#/x">b</a><script>document.body.append("ma" + "de")</script>`,
			want: []string{"made"},
		},
		{
			name: "a drawing that loads more", body: head + `<svg role=button aria-label="Show more" width=9 height=9></svg><script>
				document.querySelector("svg").addEventListener("click", e => { e.target.remove(); document.body.append("ma" + "de"); })</script>`,
			want: []string{"made"},
		},
		{
			name: "a control that hides what it is", body: head + `<form role=button aria-label="Show more"><input name=innerText><input name=closest></form><script>document.body.append("ma" + "de")</script>`,
			want: []string{"made"},
		},
		{
			name: "no document", body: head + `<script>document.documentElement.remove()</script>`,
			check: func(t *testing.T, r *web.Rendering) {
				if r.Body == nil {
					t.Error("it is lost")
				}
			},
		},
		{
			name: "what the page sees of waggle", body: head + `<script>setTimeout(() => document.body.append(typeof waggle + " " + navigator.webdriver), 3000); Object.prototype.toJSON = () => "x"; Array.prototype.push = null; document.querySelectorAll = null</script>`,
			want: []string{"undefined "},
		},
	}
	for _, c := range cases[:long.Of(2, len(cases))] { // each costs a second of processor time
		t.Run(c.name, func(t *testing.T) {
			s.asked = nil
			r, err := p.Render(t.Context(), page("http://a.example/", c.body), 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v, %d requests", r.Took.Round(time.Millisecond), r.Requests)
			for _, w := range c.want {
				if !strings.Contains(string(r.Body), w) {
					t.Errorf("%q is not in\n%.3000s", w, r.Body)
				}
			}
			if r.Ended != "" {
				t.Errorf("ended: %s, %s", r.Ended, r.Detail)
			}
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}
