package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/long"
)

// TestScripts runs the scripts of testdata/script: waggle as its users call it.
// The command "tries CODE FILE" runs waggle with each line of a file; "call waggle ARGS…" runs waggle in the process of the tests, "ends CODE waggle ARGS…" looks at the code with which it ends, and "setenv NAME=VALUE…" sets variables for them: runScripts writes these three in a script. "cut FILE" halves a file; "flip FILE N" changes a bit of its byte N; "site" starts a small web site and sets $SITE to its address:
// a file of the script's folder "site" is a page of that name; "serve WEB" serves a recorded web as a proxy at $PROXY. "locked" starts a site that wants a password, "remembering" one that lets only those in whom it gave a cookie; "proxy" starts a proxy that wants a password at $PROXY and has a page for every address; "repeating" starts one that repeats whatever lets somebody in; "nowhere DIR TEXT…" looks that no file in DIR holds a text, unpacked. "fill FILE" puts these addresses in the place of $SITE and $PROXY.
func TestScripts(t *testing.T) {
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DOCS", docs)
			e.Setenv("GOGC", "400") // hundreds of short processes: their time counts, their memory does not
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "long" {
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return long.Asked(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ends":   ends,
			"call":   call,
			"setenv": setenv,
			"tries":  tries,
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
				filled := strings.NewReplacer("$SITE", ts.Getenv("SITE"), "$PROXY", ts.Getenv("PROXY")).Replace(ts.ReadFile(args[0]))
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
			"locked": func(ts *testscript.TestScript, _ bool, _ []string) {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					user, password, _ := r.BasicAuth()
					if user != "ada" || password != "correct horse" {
						http.Error(w, "who are you?", http.StatusUnauthorized)
						return
					}
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					w.Header().Set("Set-Cookie", "id=session-of-ada")
					w.Header().Set("X-Echo", r.Header.Get("X-Token"))
					fmt.Fprintf(w, "<title>Bees</title>bees at %s <a href=/hive>bees</a>", r.URL.Path)
					if r.URL.Path == "/telling" {
						fmt.Fprintf(w, `<a href="/comb?t=%s">with the token</a> <a href="/out?p=correct%%20horse">with the password</a>`, r.Header.Get("X-Token"))
					}
				}))
				ts.Defer(srv.Close)
				ts.Setenv("SITE", srv.URL)
			},
			"proxy": func(ts *testscript.TestScript, _ bool, _ []string) {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					who := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
					if user, password, _ := who.BasicAuth(); user != "ada" || password != "correct horse" {
						http.Error(w, "who are you?", http.StatusProxyAuthRequired)
						return
					}
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					fmt.Fprintf(w, "<title>Bees</title>bees at %s", r.URL)
				}))
				ts.Defer(srv.Close)
				ts.Setenv("PROXY", srv.URL)
			},
			"remembering": func(ts *testscript.TestScript, _ bool, _ []string) {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					const id = "0123456789abcdef-of-ada"
					given, err := r.Cookie("id")
					if r.URL.Path != "/" && (err != nil || given.Value != id) {
						http.Error(w, "who are you?", http.StatusForbidden)
						return
					}
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					w.Header().Set("Set-Cookie", "id="+id+"; HttpOnly")
					w.Header().Set("X-Echo", r.Header.Get("Cookie"))
					fmt.Fprintf(w, "<title>Bees</title>bees at %s <a href=/hive>bees</a> <a href=/comb?key=%s>bees</a>", r.URL.Path, id)
				}))
				ts.Defer(srv.Close)
				ts.Setenv("SITE", srv.URL)
			},
			"nowhere":   nowhere,
			"repeating": repeating,
			"site": func(ts *testscript.TestScript, _ bool, _ []string) {
				// Pages that are put there later are newer, also within this second.
				long := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
				ts.Check(filepath.WalkDir(ts.MkAbs("site"), func(path string, _ os.DirEntry, err error) error {
					return errors.Join(err, os.Chtimes(path, long, long))
				}))
				dir := http.Dir(ts.MkAbs("site"))
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
					switch {
					case r.URL.Path == "/robots.txt":
						w.Header().Set("Content-Type", "text/plain")
					case strings.HasSuffix(r.URL.Path, ".xml"):
						w.Header().Set("Content-Type", "application/xml")
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
