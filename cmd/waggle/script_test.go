package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waggle-crawler/waggle/corpus"
)

// TestScripts runs the scripts of testdata/script: waggle as its users call it.
// The command "cut FILE" halves a file; "flip FILE N" changes a bit of its byte N; "site" starts a small web site and sets $SITE to its address:
// a file of the script's folder "site" is a page of that name; "serve WEB" serves a recorded web as a proxy at $PROXY. "fill FILE" puts that address in the place of $SITE.
func TestScripts(t *testing.T) {
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DOCS", docs)
			e.Setenv("GOGC", "400") // hundreds of short processes: their time counts, their memory does not
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"cut": func(ts *testscript.TestScript, _ bool, args []string) {
				info, err := os.Stat(ts.MkAbs(args[0]))
				ts.Check(err)
				ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()/2))
			},
			"flip": func(ts *testscript.TestScript, _ bool, args []string) {
				b := []byte(ts.ReadFile(args[0]))
				at, err := strconv.Atoi(args[1])
				ts.Check(err)
				b[at] ^= 1
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
			},
			"fill": func(ts *testscript.TestScript, _ bool, args []string) {
				filled := strings.ReplaceAll(ts.ReadFile(args[0]), "$SITE", ts.Getenv("SITE"))
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(filled), 0o644))
			},
			"serve": func(ts *testscript.TestScript, _ bool, args []string) {
				w, err := corpus.Open(ts.MkAbs(args[0]))
				ts.Check(err)
				s, err := corpus.NewServer(w, corpus.ServerOptions{})
				ts.Check(err)
				l, err := corpus.Listen("")
				ts.Check(err)
				ctx, stop := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- s.Serve(ctx, l) }()
				ts.Defer(func() {
					stop()
					ts.Check(<-done)
					w.Close()
				})
				ts.Setenv("PROXY", "http://"+l.Addr().String())
			},
			"site": func(ts *testscript.TestScript, _ bool, _ []string) {
				dir := http.Dir(ts.MkAbs("site"))
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					if r.URL.Path == "/robots.txt" {
						w.Header().Set("Content-Type", "text/plain")
					}
					http.StripPrefix("/", http.FileServer(dir)).ServeHTTP(w, r)
				}))
				ts.Defer(srv.Close)
				ts.Setenv("SITE", srv.URL)
				ts.Setenv("SITEHOST", strings.TrimPrefix(srv.URL, "http://"))
			},
		},
	})
}
