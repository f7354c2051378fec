package teach

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
)

// served is what the handler gives out for the hostile page.
func served(t *testing.T) (d *desk, doc string, header http.Header) {
	t.Helper()
	pages := college()
	d = sit(t, pages, func(o *Options) { o.Images = true })
	pages["http://college.test/hostile"] = strings.ReplaceAll(harmlesstest.Hostile, "WAGGLE", d.http.URL)
	pages["http://college.test/evil.css"] = `text/css:@import url(http://evil.test/i.css); h1 { background: url( "http://evil.test/1.png" ) } </style><script>x()</script>`
	st, failed := d.do("open", postRequest{URL: "http://college.test/hostile"})
	if failed != "" {
		t.Fatal(failed)
	}
	resp, doc := d.request("GET", st.Src, map[string]string{"Sec-Fetch-Dest": "iframe"}, "")
	return d, doc, resp.Header
}

// TestHostileServed looks at what is served of a hostile page: no script, no
// handler, no address but the server's own numbers, and the policy around it.
func TestHostileServed(t *testing.T) {
	d, doc, header := served(t)
	if err := harmlesstest.Check(doc, d.Cap); err != nil {
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
	for k, r := range v.Resources {
		resp, body := d.request("GET", fmt.Sprintf("/load/%s/%d/%d", d.Cap, v.number, k), nil, "")
		if r.Style && (resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/css; charset=utf-8" || strings.Contains(body, "evil.test")) {
			t.Errorf("sheet %s: %d %v\n%s", r.URL, resp.StatusCode, resp.Header, body)
		}
	}
}

// TestStrangers asks as others on the machine could: other names for it, other
// origins, forms, guesses.
func TestStrangers(t *testing.T) {
	d, _, _ := served(t)
	own, token := d.http.URL, d.Token
	before := len(d.saved)
	for name, c := range map[string]struct {
		method, path, body string
		header             map[string]string
		want               int
	}{
		"another name for this machine": {"GET", "/" + token + "/", "", map[string]string{"Host": "rebound.evil.test"}, 421},
		"another port":                  {"GET", "/" + token + "/", "", map[string]string{"Host": "127.0.0.1:1"}, 421},
		"an action by another name":     {"POST", "/do/undo", "{}", map[string]string{"Host": "rebound.evil.test", harmless.TokenHeader: token}, 421},
		"no token":                      {"POST", "/do/undo", "{}", nil, 403},
		"a wrong token":                 {"POST", "/do/undo", "{}", map[string]string{harmless.TokenHeader: token[1:] + "A"}, 403},
		"the token in the query":        {"POST", "/do/undo?token=" + token, "{}", nil, 403},
		"a form of a page":              {"POST", "/do/remove", `{"path":0,"x":"="}`, map[string]string{"Origin": "null", "Content-Type": "text/plain"}, 403},
		"an opaque origin":              {"POST", "/do/undo", "{}", map[string]string{"Origin": "null", harmless.TokenHeader: token}, 403},
		"another site":                  {"POST", "/do/undo", "{}", map[string]string{"Origin": "http://evil.test", harmless.TokenHeader: token}, 403},
		"another site, by its fetch":    {"POST", "/do/undo", "{}", map[string]string{"Sec-Fetch-Site": "cross-site", harmless.TokenHeader: token}, 403},
		"the state without a token":     {"GET", "/do/state", "", nil, 403},
		"an action by GET":              {"GET", "/do/undo", "", map[string]string{harmless.TokenHeader: token}, 403},
		"a post to the controls":        {"POST", "/" + token + "/", "", nil, 403},
		"a guess at a page":             {"GET", "/page/AAAA/1/", "", nil, 403},
		"a guess at the controls":       {"GET", "/AAAA/", "", nil, 403},
		"the root":                      {"GET", "/", "", nil, 403},
		"a file above":                  {"GET", "/" + token + "/../teach.go", "", nil, 400},
		"a link that an image loads":    {"GET", "/page/" + d.Cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "image"}, 403},
		"a link in a window":            {"GET", "/page/" + d.Cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "document"}, 403},
		"a link nobody clicked":         {"GET", "/page/" + d.Cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"}, 403},
		"a link there is not":           {"GET", "/page/" + d.Cap + "/1/999", "", nil, 404},
		"a page there is not":           {"GET", "/page/" + d.Cap + "/99/", "", nil, 410},
		"a number that is none":         {"GET", "/page/" + d.Cap + "/1/0x1", "", nil, 404},
		"a resource there is not":       {"GET", "/load/" + d.Cap + "/1/999", "", nil, 403},
		"an image as a document":        {"GET", "/load/" + d.Cap + "/1/0", "", map[string]string{"Sec-Fetch-Dest": "document"}, 403},
		"too much":                      {"POST", "/do/label", `{"label":"` + strings.Repeat("x", maxAsked) + `"}`, map[string]string{harmless.TokenHeader: token, "Origin": own}, 400},
		"unknown words":                 {"POST", "/do/label", `{"lable":"x"}`, map[string]string{harmless.TokenHeader: token, "Origin": own}, 400},
	} {
		resp, body := d.request(c.method, c.path, c.header, c.body)
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, not %d", name, resp.StatusCode, c.want)
		}
		if strings.Contains(body, token) || strings.Contains(body, d.Cap) {
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
	pages["http://college.test/text"] = "text/plain:" + strings.Repeat("<", 1<<20+9)
	d := sit(t, pages, nil)
	for _, name := range []string{"long", "deep", "attr", "text"} {
		st, failed := d.do("open", postRequest{URL: "http://college.test/" + name})
		if failed != "" || !st.Labelable {
			t.Fatalf("%s: %s", name, failed)
		}
		_, doc := d.request("GET", st.Src, nil, "")
		if len(doc) > 5<<20 || len(doc) < 100 {
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
		st, failed := d.do("open", postRequest{URL: "http://college.test/any"})
		if failed != "" || !st.Labelable {
			t.Fatalf("not shown: %q\n%q", failed, body)
		}
		_, doc := d.request("GET", st.Src, nil, "")
		if err := harmlesstest.Check(doc, d.Cap); err != nil {
			t.Fatalf("%v\n%q\n%s", err, body, doc)
		}
	})
}
