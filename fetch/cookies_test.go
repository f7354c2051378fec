package fetch_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// With a jar the next page is sent what the last one set, and so is what a page asks for of
// its own site; robots.txt, other sites and what they ask for are not. Nothing of it stands
// in what an archive is given.
func TestCookieJar(t *testing.T) {
	const token = "0123456789abcdef0123"
	had := "" // what the last request carried
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: token, Path: "/"})
		http.SetCookie(w, &http.Cookie{Name: "fixed", Value: "of the site", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Echo", "had "+r.Header.Get("Cookie"))
		had = fmt.Sprintf("%s %q", r.URL.Path, r.Header.Get("Cookie"))
		fmt.Fprint(w, had)
	}), "/")
	jar := cookies.New(clock.System{})
	f := direct(t, func(o *fetch.Options) {
		o.IgnoreRobots, o.Cookies = false, jar
		o.Secrets = map[string]fetch.Secret{at: {"Cookie": "fixed=by-hand"}}
	})
	other := strings.Replace(at, "127.0.0.1", "localhost", 1)
	get := func(f fetch.Fetcher, ctx context.Context, u string) string {
		t.Helper()
		r, err := f.Fetch(ctx, address(t, u))
		if err != nil {
			t.Fatal(err)
		}
		if all := fmt.Sprint(string(r.RequestHead), string(r.Head), r.Header, string(r.Body)); strings.Contains(all, token) || strings.Contains(all, "Set-Cookie") || strings.Contains(all, "by-hand") {
			t.Errorf("%s: the archive is given %s", u, all)
		}
		return had
	}
	of := func(page string) context.Context { return fetch.WithPage(t.Context(), address(t, page)) }
	for _, c := range []struct{ what, got, want string }{
		{"the first page", get(f, t.Context(), at+"/1"), `/1 "fixed=by-hand"`},
		{"the next page", get(f, t.Context(), at+"/2"), `/2 "fixed=by-hand; id=` + token + `"`},
		{"another host", get(f, t.Context(), other+"/3"), `/3 ""`},
		{"what a page asks of its site", get(f.Resources(), of(at+"/1"), at+"/4"), `/4 "id=` + token + `; fixed=of the site"`},
	} {
		if c.got != strings.ReplaceAll(c.want, "of the site", `\"of the site\"`) {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	robots, err := direct(t, func(o *fetch.Options) { o.IgnoreRobots, o.Cookies = false, jar }).Fetch(t.Context(), address(t, at+"/1"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := f.Resources().Fetch(of("http://evil.example/"), address(t, other+"/6"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*web.Response{robots.Robots, elsewhere} {
		if all := fmt.Sprint(string(r.Head), r.Header); strings.Contains(all, token) {
			t.Errorf("%s: the archive is given %s", r.URL, all)
		}
	}
	r, err := f.Resources().Fetch(of("http://evil.example/"), address(t, at+"/5"))
	if err != nil || string(r.Body) != `/5 ""` {
		t.Errorf("another site has its page ask for %s: %v", r.Body, err)
	}
}

// The cookies that an origin with a secret sets are not given to the archive with its
// robots.txt or with what its pages ask for either; those of another origin are.
func TestSecretCookies(t *testing.T) {
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "told-by-the-site"})
		w.Header().Set("Content-Type", "text/html")
	}), "/")
	f := direct(t, func(o *fetch.Options) {
		o.IgnoreRobots = false
		o.Secrets = map[string]fetch.Secret{at: fetch.BasicAuth("ada", "correct horse")}
	})
	page, err := f.Fetch(t.Context(), address(t, at+"/"))
	if err != nil {
		t.Fatal(err)
	}
	asked, err := f.Resources().Fetch(fetch.WithPage(t.Context(), page.URL), address(t, at+"/data"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := f.Fetch(t.Context(), address(t, strings.Replace(at, "127.0.0.1", "localhost", 1)+"/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		r    *web.Response
		told bool
	}{{"a page", page, false}, {"robots.txt", page.Robots, false}, {"what a page asks for", asked, false}, {"another origin", other, true}, {"its robots.txt", other.Robots, true}} {
		if got := strings.Contains(string(c.r.Head), "told-by-the-site"); got != c.told {
			t.Errorf("%s: a cookie is in the archive: %t, want %t", c.what, got, c.told)
		}
	}
}

// A redirect is kept as it is followed: to the address that it names, or nowhere, where it repeats what
// stands in the file of secrets, or a cookie of the site. Headers by which a crawl goes keep short words.
func TestRedirectRepeats(t *testing.T) {
	const token, hidden = "0123456789abcdef0123", web.Concealed
	protocol := []string{"X-Robots-Tag", "Tdm-Reservation", "Tdm-Policy", "Link", "Content-Language", "Etag"}
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		to, _ := hex.DecodeString(r.URL.Query().Get("to"))
		http.SetCookie(w, &http.Cookie{Name: "id", Value: token, Path: "/"})
		w.Header().Set("Location", string(to))
		w.Header().Set("X-Told", string(to))
		for _, name := range protocol {
			w.Header().Set(name, "none, by-hand-4711")
		}
		w.WriteHeader(http.StatusFound)
	}), "/")
	own := fetch.BasicAuth("ada", "correct horse")
	own["Cookie"] = `a=b; login=8f3c-77b1; tiny=xy; prefs=none; lang=en-US; edge="-a.bcd.e"; host=127.0.0.1; sum=ab+cde==`
	own["X-Token"], own["X-Pin"], own["X-Debug"], own["Accept-Language"] = "by-hand-4711", "4711", "1", "de-DE"
	own["X-Plus"] = "pa+ss word"
	f := direct(t, func(o *fetch.Options) {
		o.Cookies = cookies.New(clock.System{})
		o.Secrets = map[string]fetch.Secret{at: own}
	})
	for _, c := range []struct{ from, to, told string }{ // told: the target that is kept
		{"/", "/?sid=" + token, "/?sid=" + hidden},
		{"/", "/?sid=nothing", "/?sid=nothing"},
		{"/", "/?sid=by-hand-4711", "/?sid=" + hidden},
		{"/by-hand-4711", "/by-hand-4711/", at + "/by-hand-4711/"}, // in the address asked for, as a word
		{"/xby-hand-4711", "/?sid=by-hand-4711", "/?sid=" + hidden},
		{"/by-hand-4711/", "a", "a"},
		{"/", "/?sid=xby-hand-4711x", "/?sid=x" + hidden + "x"},
		{"/", "/?sid=by%2Dhand%2D4711", "/?sid=" + hidden},
		{"/", "/?sid=4711", "/?sid=" + hidden},                           // a short one that stands alone
		{"/", "/?sid=a.4711", "/?sid=a." + hidden},                       // or nearly so
		{"/", "/?sid=94711", "/?sid=94711"},                              // and by chance
		{"/", "/?sid=1", "/?sid=1"},                                      // as one that is too short always does
		{"/", "/?sid=de-DE", "/?sid=de-DE"},                              // what is no secret
		{"/", "/?sid=-a.bcd.e-a.bcd.e", "/?sid=" + hidden + "" + hidden}, // two that touch
		{"/", "/4711/", "/" + hidden + "/"},                              // not in the address asked for
		{"/4711/a", "/4711/b", at + "/4711/b"},                           // in both
		{"/", "/en-US/", "/en-US/"},                                      // the short value of a cookie
		{"/en-US/a", "/en-US/8f3c-77b1", "/en-US/" + hidden},
		{"/", at + "/b", at + "/b"}, // in the host
		{"/", "//127.0.0.1/b", "http://127.0.0.1/b"},
		{"/", at + "/127.0.0.1", at + "/127.0.0.1"}, // it is no secret
		{"/", "/?sid=8f3c-77b1", "/?sid=" + hidden},
		{"/", "/#by-hand-4711", at + "/"},
		{"/", "/?sid=correct+horse", "/?sid=" + hidden},
		{"/", "/?sid=4711&p=correct%20horse", "/?sid=" + hidden + "&p=" + hidden},
		{"/", "/?q=100%&p=correct%20horse", "/?q=100%&p=" + hidden},
		{"/", "/?q=%zz%2&p=correct%20horse%", "/?q=%zz%2&p=" + hidden + "%"},
		{"/", "/?p=pa+ss%20word", "/?p=" + hidden},
		{"/", "/?p=pa%2Bss+word", "/?p=" + hidden},
		{"/", "/?p=ab+cde%3D%3D", "/?p=" + hidden},
		{"/", "/?sid=YWRhOmNvcnJlY3QgaG9yc2U=", "/?sid=" + hidden},
	} {
		r, err := f.Fetch(t.Context(), address(t, at+c.from+"?to="+hex.EncodeToString([]byte(c.to))))
		if err != nil {
			t.Fatal(err)
		}
		to := c.told
		switch {
		case strings.Contains(to, web.Concealed):
			to = ""
		case to == "a":
			to = at + c.from + to
		case to[0] == '/':
			to = at + to
		}
		if got := r.Location.String(); got != to {
			t.Errorf("%s leads to %q, want %q", c.to, got, to)
		}
		if r.Repeats != strings.Contains(c.told, web.Concealed) {
			t.Errorf("%s: repeats a secret: %v", c.to, r.Repeats)
		}
		if got := r.Header["Location"]; len(got) != 1 || got[0] != c.told || !strings.Contains(string(r.Head), "\r\nLocation: "+c.told+"\r\n") {
			t.Errorf("%s: the archive is given %q, want %q:\n%s", c.to, got, c.told, r.Head)
		}
		if got := fmt.Sprint(r.Header["X-Told"]); strings.Contains(c.to, token) && got != "[/?sid="+hidden+"]" {
			t.Errorf("a cookie that another header repeats is kept as %s", got)
		}
		for _, name := range protocol {
			if got := fmt.Sprint(r.Header[name]); got != "[none, "+hidden+"]" {
				t.Errorf("%s is kept as %s", name, got)
			}
		}
	}
}

// An address is tested by what lets the user in where it leads, whatever page or redirect names it.
func TestToldElsewhere(t *testing.T) {
	const token = "0123456789abcdef0123"
	to := ""
	one := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/moved" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}), "/")
	f := direct(t, func(o *fetch.Options) {
		o.Cookies = cookies.New(clock.System{})
		o.Secrets = map[string]fetch.Secret{"https://in.example": {"X-Token": "by-hand-4711"}}
		if err := o.Cookies.Add(cookies.Cookie{Name: "id", Value: token, Domain: "wiki.example", Path: "/"}); err != nil {
			t.Fatal(err)
		}
	})
	for _, c := range []struct {
		to   string
		told bool
	}{
		{"https://in.example/?key=by-hand-4711", true},
		{"https://in.example/?key=by%2Dhand-4711", true},
		{"http://in.example:8080/?key=by-hand-4711", true}, // which may lead on to the other port
		{"https://in.example/?key=by-hand", false},
		{"https://other.example/?key=by-hand-4711", false},
		{"https://wiki.example/?key=" + token, true},
		{"https://other.example/?key=" + token, false},
	} {
		to = c.to
		r, err := f.Fetch(t.Context(), address(t, one+"/moved"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Repeats != c.told || r.Location.IsZero() != c.told || strings.Contains(string(r.Head)+fmt.Sprint(r.Header), to) == c.told {
			t.Errorf("%s: leads to %q with the head\n%s", to, r.Location, r.Head)
		}
		if r, err = f.Fetch(t.Context(), address(t, one+"/page")); err != nil {
			t.Fatal(err)
		}
		page := &web.Page{URL: r.URL, Title: "Bees", Links: []web.Link{{URL: address(t, to), Anchor: "in"}, {URL: address(t, one+"/hive")}}}
		if got := r.WithoutTelling(page); (got.Telling == 1) != c.told || len(got.Links) != 2-got.Telling || got.Title != "Bees" {
			t.Errorf("%s: of two links %d are left out of %v", to, got.Telling, got.Links)
		}
	}
	r, err := direct(t, func(*fetch.Options) {}).Fetch(t.Context(), address(t, one+"/page"))
	if err != nil || r.Conceal != nil {
		t.Errorf("without secrets there is something to look for: %v", err)
	}
}

// A password that is an ordinary word does not cost the pages whose addresses hold it as the one asked for does.
func TestOrdinaryPassword(t *testing.T) {
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/documentation" {
			http.Redirect(w, r, "/documentation/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
	}), "/")
	f := direct(t, func(o *fetch.Options) {
		o.Secrets = map[string]fetch.Secret{at: fetch.BasicAuth("ada", "documentation")}
	})
	r, err := f.Fetch(t.Context(), address(t, at+"/documentation"))
	if err != nil || r.Repeats || r.Location != address(t, at+"/documentation/") || r.Header["Location"][0] != r.Location.String() {
		t.Errorf("moved to %q: %v", r.Location, err)
	}
	for from, left := range map[string]int{"/documentation/1.html": 0, "/xdocumentation/1.html": 1, "/": 1} {
		r, err := f.Fetch(t.Context(), address(t, at+from))
		if err != nil {
			t.Fatal(err)
		}
		page := &web.Page{URL: r.URL, Links: []web.Link{{URL: address(t, at+"/documentation/2.html")}}}
		if got := r.WithoutTelling(page).Telling; got != left {
			t.Errorf("%s: %d links are left out, want %d", from, got, left)
		}
	}
}

// What lets the user in is found in whatever form a server repeats it: in the status line, in headers, in
// links, and in what is no HTTP.
func TestToldInAnyForm(t *testing.T) {
	const (
		cookie = "s%3A0123456789abcdef.b0&c1/d2"
		token  = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEtbG92ZWxhY2UifQ.c2lnbmF0dXJlLTQ3MTE"
	)
	told := ""
	at := serveRaw(t, func(path string) string {
		start := "HTTP/1.1 200 hello " + told
		if path == "/odd" {
			start = "HELLO " + told
		}
		return fmt.Sprintf("%s\r\nContent-Type: text/html\r\nX-Told: %s\r\nSet-Cookie: other=fedcba9876543210\r\nContent-Length: 2\r\n\r\nhi", start, told)
	})
	own := fetch.BasicAuth("ada", "correct horse/1&2")
	own["Cookie"], own["X-Token"] = "id="+cookie, "Bearer "+token
	own["X-Plain"] = token
	f := direct(t, func(o *fetch.Options) { o.Secrets = map[string]fetch.Secret{at: own} })
	base64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for what, one := range map[string]string{
		"password":             "correct horse/1&2",
		"as sent":              base64("ada:correct horse/1&2"),
		"unpadded":             strings.TrimRight(base64("ada:correct horse/1&2"), "="),
		"in base64":            base64("x:correct horse/1&2:more"),
		"one further":          base64("xy:correct horse/1&2"),
		"JSON":                 `{"p":"correct horse\/1\u00262"}`,
		"in the way of links":  "correct%20horse%2F1%262",
		"a form":               "correct+horse%2f1%262",
		"twice":                "correct%2520horse%252F1%25262",
		"HTML":                 "correct horse/1&amp;2",
		"token":                token,
		"its claims":           "eyJzdWIiOiJhZGEtbG92ZWxhY2UifQ",
		"its signature":        "c2lnbmF0dXJlLTQ3MTE",
		"cookie":               cookie,
		"cookie without":       "s:0123456789abcdef.b0&c1/d2",
		"cookie in JSON":       `s:0123456789abcdef.b0\u0026c1\/d2`,
		"a cookie that it set": "fedcba9876543210",
	} {
		told = one
		r, err := f.Fetch(t.Context(), address(t, at+"/"))
		if err != nil {
			t.Fatal(err)
		}
		if all := fmt.Sprint(string(r.Head), r.Header); strings.Contains(all, one) {
			t.Errorf("%s: the archive is given %s", what, all)
		}
		if !strings.HasPrefix(string(r.Head), "HTTP/1.1 200 ") {
			t.Errorf("%s: the status line is %.40q", what, r.Head)
		}
		link := address(t, at+"/next?sid="+strings.NewReplacer("&", "%26", " ", "%20", "{", "%7B").Replace(one))
		page := &web.Page{URL: r.URL, Title: "Bees", Links: []web.Link{{URL: address(t, at+"/hive"), Anchor: "the hive"}, {URL: link, Position: 1}}}
		if got := r.WithoutTelling(page); got.Telling != 1 || len(got.Links) != 1 || got.Links[0].Anchor != "the hive" || len(page.Links) != 2 {
			t.Errorf("%s: of two links %d are left out of %v", what, got.Telling, got.Links)
		}
		if what == "a cookie that it set" {
			continue // nobody knows it where no jar keeps it
		}
		if _, err = f.Fetch(t.Context(), address(t, at+"/odd")); err == nil || strings.Contains(err.Error(), one) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}

// A secret that stands where a long answer is cut in an error is concealed before.
func TestToldWhereItIsCut(t *testing.T) {
	const token = "kLmNoPqRsTuVwXyZ0123456789abcdefghij"
	told := ""
	at := serveRaw(t, func(path string) string {
		return told + "\r\nContent-Length: 2\r\n\r\nhi"
	})
	f := direct(t, func(o *fetch.Options) {
		o.Secrets = map[string]fetch.Secret{at: {"X-Token": token}}
	})
	for _, start := range []string{"HTTP/1.1 101 ", "HELLO ", "HTTP/1.1 200 OK\r\nContent-Type: odd/", "HTTP/1.1 200 OK\r\nodd\x01"} {
		for fill := 40; fill < 320; fill += 7 {
			told = start + strings.Repeat("=", fill) + token
			_, err := f.Fetch(t.Context(), address(t, at+"/"))
			if err == nil || strings.Contains(err.Error(), token[:4]) {
				t.Errorf("%q after %d bytes: %v", start, fill, err)
			}
		}
	}
}

// serveRaw answers each path with bytes, whether or not they are HTTP, and returns its origin.
func serveRaw(t *testing.T, answer func(path string) string) (origin string) {
	t.Helper()
	return strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		c, b, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		b.WriteString(answer(r.URL.Path))
		b.Flush()
	}), "/")
}
