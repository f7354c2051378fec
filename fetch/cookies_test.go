package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
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
// cookie of the site, or nowhere, where it repeats what stands in the file of secrets.
func TestRedirectRepeats(t *testing.T) {
	const token = "0123456789abcdef0123"
	at := strings.TrimSuffix(serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: token, Path: "/"})
		w.Header().Set("Location", "/?sid="+r.URL.Query().Get("sid"))
		w.Header().Set("X-Told", r.URL.Query().Get("sid"))
		w.WriteHeader(http.StatusFound)
	}), "/")
	own := fetch.BasicAuth("ada", "correct horse")
	own["Cookie"] = "a=b; login=8f3c-77; tiny=xy"
	own["X-Token"], own["X-Pin"], own["X-Debug"], own["Accept-Language"] = "by-hand-4711", "4711", "1", "de-DE"
	f := direct(t, func(o *fetch.Options) {
		o.Cookies = cookies.New(clock.System{})
		o.Secrets = map[string]fetch.Secret{at: own}
	})
	for _, c := range []struct {
		sid  string // as it stands in the address
		told string // the target that is kept
	}{
		{token, at + "/?sid=" + token},
		{"none", "/?sid=none"},
		{"by-hand-4711", "/?sid=…"},
		{"xby-hand-4711x", "/?sid=x…x"},
		{"by%2Dhand%2D4711", "…"},
		{"4711", "/?sid=…"},      // a short one that stands alone
		{"a.4711", "/?sid=a.…"},  // or nearly so
		{"94711", "/?sid=94711"}, // and by chance
		{"1", "/?sid=1"},         // as one that is too short always does
		{"de-DE", "/?sid=de-DE"}, // what is no secret
		{"8f3c-77", "/?sid=…"},
		{"correct+horse", "…"},
		{"YWRhOmNvcnJlY3QgaG9yc2U=", "/?sid=…"},
	} {
		r, err := f.Fetch(t.Context(), address(t, at+"/from?sid="+url.QueryEscape(c.sid)))
		if err != nil {
			t.Fatal(err)
		}
		to := at + strings.TrimPrefix(c.told, at)
		if strings.Contains(c.told, web.Concealed) {
			to = ""
		}
		if got := r.Location.String(); got != to {
			t.Errorf("?sid=%s leads to %q, want %q", c.sid, got, to)
		}
		if got := r.Header["Location"]; len(got) != 1 || got[0] != c.told || !strings.Contains(string(r.Head), "\r\nLocation: "+c.told+"\r\n") {
			t.Errorf("?sid=%s: the archive is given %q, want %q:\n%s", c.sid, got, c.told, r.Head)
		}
		if got := fmt.Sprint(r.Header["X-Told"]); c.sid == token && got != "[…]" {
			t.Errorf("a cookie that another header repeats is kept as %s", got)
		}
	}
}
