package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"
)

// repeating starts a site that lets in who shows it all of a password, a header and two cookies. It sets another
// cookie, and repeats each of them wherever it can: in texts, scripts, JSON, links, redirects, names of hosts,
// its robots.txt, its sitemap, a feed and errors.
func repeating(ts *testscript.TestScript, _ bool, _ []string) {
	const set = "0123456789abcdef-of-ada"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		session, _ := r.Cookie("session")
		login, _ := r.Cookie("login")
		robots := r.URL.Path == "/robots.txt"
		if !robots && (user != "ada" || password == "" || session == nil || login == nil || r.Header.Get("X-Token") == "") {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		secrets := []string{set}
		if !robots {
			secrets = append(secrets, password, user+":"+password, session.Value, login.Value, r.Header.Get("X-Token"), r.Header.Get("Authorization"), r.Header.Get("Cookie"))
		}
		w.Header().Set("Set-Cookie", "id="+set)
		w.Header().Set("X-Echo", strings.Join(secrets, " "))
		var b strings.Builder
		page := func(kind string, status int) {
			w.Header().Set("Content-Type", kind)
			body := []byte(b.String())
			if r.URL.Path != "/" { // half of the site is compressed
				var z bytes.Buffer
				gz := gzip.NewWriter(&z)
				gz.Write(body)
				gz.Close()
				body = z.Bytes()
				w.Header().Set("Content-Encoding", "gzip")
			}
			w.WriteHeader(status)
			w.Write(body)
		}
		host := func(s string) string {
			if strings.ContainsAny(s, " :;=+/") { // which stand in no name of a host
				s = set
			}
			return "http://" + s + ".evil.invalid/"
		}
		switch p := r.URL.Path; {
		case robots:
			fmt.Fprintf(&b, "User-agent: *\nDisallow: /%s\nSitemap: %s\nSitemap: /sitemap.xml\n", set, host(set))
			page("text/plain", http.StatusOK)
		case p == "/sitemap.xml":
			b.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>/listed</loc></url>`)
			for _, s := range secrets {
				fmt.Fprintf(&b, "<url><loc>/in?k=%s</loc></url><url><loc>%s</loc></url>", url.QueryEscape(s), host(s))
			}
			b.WriteString("</urlset>")
			page("application/xml", http.StatusOK)
		case p == "/feed":
			b.WriteString(`<rss version="2.0"><channel><title>bees</title>`)
			for _, s := range secrets {
				fmt.Fprintf(&b, "<item><title>bees of %s</title><link>%s</link></item>", html.EscapeString(s), host(s))
			}
			b.WriteString("</channel></rss>")
			page("application/rss+xml", http.StatusOK)
		case strings.HasPrefix(p, "/moved/"):
			to := "/in?k=" + url.QueryEscape(secrets[1])
			if p == "/moved/host" {
				to = host(login.Value)
			}
			w.Header().Set("Location", to)
			fmt.Fprintf(&b, "<a href=%s>moved</a>", to)
			page("text/html", http.StatusFound)
		default:
			fmt.Fprintf(&b, `<title>Bees at %s</title><link rel=alternate type=application/rss+xml href=/feed><p>Bees for %s.</p><a href=/hive>bees</a> <a href=/gone>bees</a> <a href=/moved/1>bees</a> <a href=/moved/host>bees</a>`, p, set)
			for _, s := range secrets {
				coded, _ := json.Marshal(s + "&")
				fmt.Fprintf(&b, "<p>%s <a href='/in?k=%s'>bees %s</a> <a href='%s'>bees</a> <a href='/in?j=%s'>bees</a><script>var s = %s, t = %q, u = %q</script><!-- %s -->\n", html.EscapeString(s), url.QueryEscape(s),
					html.EscapeString(s), host(s), url.PathEscape(url.PathEscape(s)), coded, base64.StdEncoding.EncodeToString([]byte("x"+s)), base64.RawURLEncoding.EncodeToString([]byte(s)), strings.ReplaceAll(s, " ", `\u0020`))
			}
			status := http.StatusOK
			if p == "/gone" {
				status = http.StatusNotFound
			}
			page("text/html; charset=utf-8", status)
		}
	}))
	ts.Defer(srv.Close)
	ts.Setenv("SITE", srv.URL)
}

// nowhere looks that no file of a folder holds a text, in its name or unpacked.
func nowhere(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return unpacked(name, b, func(name string, b []byte) error {
			for _, s := range args[1:] {
				if bytes.Contains(b, []byte(s)) || strings.Contains(strings.TrimPrefix(name, dir), s) {
					return fmt.Errorf("%s holds %q", name, s)
				}
			}
			return nil
		})
	}))
}

// unpacked looks at a file, and at what is packed into it.
func unpacked(name string, b []byte, look func(name string, b []byte) error) error {
	if err := look(name, b); err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		gz, err := gzip.NewReader(bytes.NewReader(b)) // all members
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		plain, err := io.ReadAll(gz)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return unpacked(name+" unzipped", plain, look)
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				return err
			}
			plain, err := io.ReadAll(r)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", name, f.Name, err)
			}
			if err := unpacked(name+" "+f.Name, plain, look); err != nil {
				return err
			}
		}
	case bytes.HasPrefix(b, []byte("PAR1")):
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows, err := parquet.Read[any](bytes.NewReader(b), f.Size())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return look(name+" read", fmt.Append(nil, rows))
	}
	return nil
}
