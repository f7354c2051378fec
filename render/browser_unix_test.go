//go:build unix

package render

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/web"
)

// asBrowser has the program of these tests be a browser that keeps cookies, refuses all of a
// call of which one is named bad, and in whose pages every expression throws.
const asBrowser = "WAGGLE_TEST_AS_BROWSER"

func init() {
	if os.Getenv(asBrowser) == "" {
		return
	}
	in, out := bufio.NewReader(os.NewFile(3, "in")), os.NewFile(4, "out")
	var kept []cookie
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			os.Exit(0)
		}
		var call struct {
			ID     int
			Method string
			Params struct{ Cookies []cookie }
		}
		if err := json.Unmarshal(text[:len(text)-1], &call); err != nil {
			panic(err)
		}
		answer := map[string]any{"id": call.ID, "result": map[string]any{"cookies": kept, "exceptionDetails": map[string]any{"text": "Uncaught"}}}
		var set []cookie
		for _, c := range call.Params.Cookies {
			if u, err := url.Parse(c.URL); err == nil && c.Domain == "" {
				c.Domain, c.URL = u.Hostname(), ""
			}
			if set = append(set, c); c.Name == "bad" {
				answer, set = map[string]any{"id": call.ID, "error": map[string]any{"message": "Invalid cookie fields"}}, nil
				break
			}
		}
		kept = append(kept, set...)
		if text, err = json.Marshal(answer); err != nil {
			panic(err)
		}
		if _, err := out.Write(append(text, 0)); err != nil {
			os.Exit(0)
		}
	}
}

// browser is the path of such a browser, before which a line of shell is run.
func browser(t *testing.T, line string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\n%s\n%s=1 exec %q\n", line, asBrowser, os.Args[0]), 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}

// inBrowser is a page in such a browser.
func inBrowser(t *testing.T, o Options, address string) *page {
	t.Helper()
	u, err := web.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	program := browser(t, "")
	b, err := devtools.Start(t.Context(), devtools.Options{Program: program})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Kill() })
	p := newPage(t.Context(), poolOf(t, o), &web.Response{URL: u, Status: 200})
	t.Cleanup(func() { p.stop(nil) })
	p.browser, p.context = b, "context"
	return p
}

// A cookie that the browser refuses stays in the jar, and keeps no other from the page.
func TestRefusedCookies(t *testing.T) {
	jar := cookies.New(clock.System{})
	p := inBrowser(t, Options{Cookies: jar}, "http://a.example/")
	jar.Answered(p.asked.URL, http.Header{"Set-Cookie": {"one=1", "bad=2", "three=3"}})
	before := jar.Header(p.asked.URL)
	if err := p.giveCookies(); err != nil {
		t.Error(err)
	}
	var given []string
	for _, c := range p.cookies {
		given = append(given, c.Name)
	}
	if got := strings.Join(given, " "); got != "one three" {
		t.Errorf("the page is given %q", got)
	}
	p.takeCookies(t.Context())
	if after := jar.Header(p.asked.URL); after != before {
		t.Errorf("the jar has %q, and had %q", after, before)
	}
}

// What throws within waggle's own script is no crash of the page.
func TestThrown(t *testing.T) {
	p := inBrowser(t, Options{}, "http://a.example/")
	err := p.evaluate("waggle.more()", nil)
	if p.note(err); err == nil || p.out.Ended != "" || p.over() {
		t.Errorf("after %v it ended by %q (%s)", err, p.out.Ended, p.out.Detail)
	}
}

// The sandbox is given up only where the system gives none, and that is said.
func TestSandboxIsGivenUpLast(t *testing.T) {
	for _, c := range []struct {
		says  string
		notes int
	}{
		{"out of memory", 0}, {"No usable sandbox!", 1},
		{"FATAL:setuid_sandbox_host.cc(158)] The SUID sandbox helper binary was found, but is not configured correctly. Rather than run without sandboxing I'm aborting now.", 1},
		{"FATAL:credentials.cc(127)] Check failed: . : Permission denied (13)", 1},
	} {
		var notes []string
		args := filepath.Join(t.TempDir(), "args")
		p := poolOf(t, Options{Unsandboxed: true, Note: func(n string) { notes = append(notes, n) }})
		p.o.Program = browser(t, fmt.Sprintf(`echo "$*" >> %q; case "$*" in *--no-sandbox*) ;; *) echo %q >&2; exit 1;; esac`, args, c.says))
		b, err := p.first(t.Context(), &slot{})
		if err == nil {
			b.Kill()
		}
		asked, _ := os.ReadFile(args)
		if without := strings.Contains(string(asked), "--no-sandbox"); without != (c.notes > 0) || (err == nil) != without || len(notes) != c.notes {
			t.Errorf("%s: error %v, without a sandbox: %v, notes %q", c.says, err, without, notes)
		}
	}
}
