package fetch_test

import (
	"context"
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
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: token, Path: "/"})
		http.SetCookie(w, &http.Cookie{Name: "fixed", Value: "of the site", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Echo", "had "+r.Header.Get("Cookie"))
		fmt.Fprintf(w, "%s %q", r.URL.Path, r.Header.Get("Cookie"))
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
		if all := fmt.Sprint(string(r.RequestHead), string(r.Head), r.Header); strings.Contains(all, token) || strings.Contains(all, "Set-Cookie") || strings.Contains(all, "by-hand") {
			t.Errorf("%s: the archive is given %s", u, all)
		}
		return string(r.Body)
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

// A redirect is kept as it is followed: to the address that it names, also where that repeats a
// cookie of the site, or nowhere, where it repeats what stands in the file of secrets. Headers by
// which a crawl goes keep short words.
func TestRedirectRepeats(t *testing.T) {
	const token = "0123456789abcdef0123"
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
		{"/", "/?sid=" + token, at + "/?sid=" + token},
		{"/", "/?sid=nothing", "/?sid=nothing"},
		{"/", "/?sid=by-hand-4711", "/?sid=…"},
		{"/by-hand-4711", "/?sid=by-hand-4711", "/?sid=…"},
		{"/by-hand-4711/", "a", "a"},
		{"/", "/?sid=xby-hand-4711x", "/?sid=x…x"},
		{"/", "/?sid=by%2Dhand%2D4711", "…"},
		{"/", "/?sid=4711", "/?sid=…"},              // a short one that stands alone
		{"/", "/?sid=a.4711", "/?sid=a.…"},          // or nearly so
		{"/", "/?sid=94711", "/?sid=94711"},         // and by chance
		{"/", "/?sid=1", "/?sid=1"},                 // as one that is too short always does
		{"/", "/?sid=de-DE", "/?sid=de-DE"},         // what is no secret
		{"/", "/?sid=-a.bcd.e-a.bcd.e", "/?sid=……"}, // two that touch
		{"/", "/4711/", "/…/"},                      // not in the address asked for
		{"/4711/a", "/4711/b", at + "/4711/b"},      // in both
		{"/", "/en-US/", "/en-US/"},                 // the short value of a cookie
		{"/en-US/a", "/en-US/8f3c-77b1", "/en-US/…"},
		{"/", at + "/b", at + "/b"}, // in the host
		{"/", "//127.0.0.1/b", "http://127.0.0.1/b"},
		{"/", at + "/127.0.0.1", strings.Replace(at, "127.0.0.1", "…", 1) + "/…"},
		{"/", "/?sid=8f3c-77b1", "/?sid=…"},
		{"/", "/#by-hand-4711", at + "/"},
		{"/", "/?sid=correct+horse", "…"},
		{"/", "/?sid=4711&p=correct%20horse", "…"},
		{"/", "/?q=100%&p=correct%20horse", "…"},
		{"/", "/?q=%zz%2&p=correct%20horse%", "…"},
		{"/", "/?p=pa+ss%20word", "…"},
		{"/", "/?p=pa%2Bss+word", "…"},
		{"/", "/?p=ab+cde%3D%3D", "…"},
		{"/", "/?sid=YWRhOmNvcnJlY3QgaG9yc2U=", "/?sid=…"},
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
		if got := fmt.Sprint(r.Header["X-Told"]); strings.Contains(c.to, token) && got != "[/?sid=…]" {
			t.Errorf("a cookie that another header repeats is kept as %s", got)
		}
		for _, name := range protocol {
			if got := fmt.Sprint(r.Header[name]); got != "[none, …]" {
				t.Errorf("%s is kept as %s", name, got)
			}
		}
	}
}
