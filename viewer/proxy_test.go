package viewer

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/viewer/watch"
)

// Behind a proxy with TLS the page is the same, whether the proxy names itself to the server or
// names the server: it is shown with its archived pages, and changes come from it alone.
func TestBehindProxy(t *testing.T) {
	for _, names := range []bool{true, false} {
		var to *url.URL
		proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			if names {
				r.Out.Host = r.In.Host
			}
		}})
		defer proxy.Close()
		d := serveWith(t, Options{Public: proxy.URL + "/"})
		var err error
		if to, err = url.Parse(d.http.URL); err != nil {
			t.Fatal(err)
		}
		d.add(crawled(t, bees(), "https://bees.test/")).until(t, (*watch.State).Read)
		at := proxy.URL + "/" + d.folder + "/"
		if d.URL() != at+"?key="+d.key {
			t.Errorf("the address is %s", d.URL())
		}
		ask := func(method, path, body string, header ...string) *http.Response {
			t.Helper()
			r, err := http.NewRequest(method, at+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			got, err := proxy.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			return got
		}
		page := ask("GET", "?key="+d.key, "")
		if page.StatusCode != http.StatusOK || len(page.Cookies()) != 1 || page.Cookies()[0].Secure != names {
			t.Fatalf("the page: %d, %v", page.StatusCode, page.Cookies())
		}
		policy := strings.Fields(strings.ReplaceAll(page.Header.Get("Content-Security-Policy"), ";", " ;"))
		if !slices.Contains(policy, at+"page/"+d.cap+"/") || names && strings.Contains(strings.Join(policy, " "), "http://") {
			t.Errorf("%q", policy)
		}
		cookie := d.cookie() + "=" + d.key
		for origin, want := range map[string]int{proxy.URL: 200, "https://evil.test": 403, strings.Replace(proxy.URL, "https:", "http:", 1): 403} {
			if got := ask("POST", "api/crawls/1/acts", `{"do":"pause"}`, "Cookie", cookie, "Origin", origin, "Sec-Fetch-Site", "same-origin"); got.StatusCode != want {
				t.Errorf("told from %s: %d, want %d", origin, got.StatusCode, want)
			}
		}
		shown := ask("GET", "page/"+d.cap+"/1/1/", "", "Sec-Fetch-Dest", "iframe")
		if policy := shown.Header.Get("Content-Security-Policy"); shown.StatusCode != http.StatusOK || !strings.Contains(policy+";", proxy.URL+";") || !strings.Contains(policy, at+"load/") {
			t.Errorf("an archived page: %d, %s", shown.StatusCode, policy)
		}
	}
}

// An address that can be none of a proxy is refused.
func TestPublic(t *testing.T) {
	for address, want := range map[string]string{
		"https://Crawls.example.org": "https://crawls.example.org", "https://crawls.example.org:443/": "https://crawls.example.org", "https://crawls.example.org:8443": "https://crawls.example.org:8443",
		"crawls.example.org": "", "ftp://crawls.example.org": "", "https://": "", "https://crawls.example.org/bees": "", "https://you:secret@crawls.example.org": "", "https://crawls.example.org?x": "",
	} {
		if got, _, err := originOf(address); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}
