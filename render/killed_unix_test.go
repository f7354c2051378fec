//go:build unix

package render_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/render"
	"github.com/waggle-crawler/waggle/web"
)

// A page whose browser is killed is rendered again, a bounded number of times, and what it
// asked for in vain is kept.
func TestKilledBrowser(t *testing.T) {
	long.Test(t, "kills browsers")
	for _, c := range []struct {
		kills, tries int
		body         string // part of the document
		ended        web.Reason
	}{
		{kills: 1, tries: 2, body: "honey bees"},
		{kills: 9, tries: 3, ended: web.ReasonRenderCrash},
	} {
		t.Run(fmt.Sprint(c.kills), func(t *testing.T) {
			pid := filepath.Join(t.TempDir(), "pid")
			left := c.kills
			s := &site{bodies: map[string]string{"http://a.example/a.json": `"honey bees"`}}
			s.hook = func() {
				if left == 0 {
					return
				}
				left--
				text, err := os.ReadFile(pid)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := strconv.Atoi(strings.TrimSpace(string(text)))
				if err != nil {
					t.Error(err)
					return
				}
				if err := unix.Kill(n, unix.SIGKILL); err != nil {
					t.Error(err)
				}
			}
			p := pool(t, s, func(o *render.Options) {
				chromium, err := devtools.Find()
				if err != nil {
					t.Skip("needs a browser: install chromium")
				}
				o.Program = filepath.Join(t.TempDir(), "browser")
				script := fmt.Sprintf("#!/bin/sh\necho $$ > %q\nexec %q \"$@\"\n", pid, chromium)
				if err := os.WriteFile(o.Program, []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			})
			r, err := p.Render(t.Context(), page("http://a.example/", head+`<script>fetch("/a.json").then(r => r.json()).then(t => document.body.append(t))</script>`), 0)
			if err != nil {
				t.Fatal(err)
			}
			if r.Tries != c.tries || r.Ended != c.ended || !strings.Contains(string(r.Body), c.body) || c.ended != "" && r.Body != nil {
				t.Errorf("%d tries, ended %q (%s), want %d, %q; document\n%s", r.Tries, r.Ended, r.Detail, c.tries, c.ended, r.Body)
			}
			if len(r.Resources) != len(s.asked) || len(s.asked) != c.tries {
				t.Errorf("%d requests, kept are %+v", len(s.asked), r.Resources)
			}
			next, err := p.Render(t.Context(), page("http://b.example/", head+`<script>document.body.append("as " + "ever")</script>`), 0)
			if err != nil || next.Tries != 1 || !strings.Contains(string(next.Body), "as ever") {
				t.Errorf("the next page: %v, %+v", err, next)
			}
		})
	}
}

// balky is a browser that does not start as long as there is no file ok, and writes a line into
// the file starts each time; without a browser on the machine it never starts.
func balky(t *testing.T, program string) (dir string, starts func() int) {
	t.Helper()
	dir = t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho x >> %q\ntest -e %q && exec %q \"$@\"\necho 'out of memory' >&2\nexit 1\n", filepath.Join(dir, "starts"), filepath.Join(dir, "ok"), program)
	if err := os.WriteFile(filepath.Join(dir, "browser"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, func() int {
		b, err := os.ReadFile(filepath.Join(dir, "starts"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(b), "x")
	}
}

// A browser that does not start is tried again after a pause that doubles, and each time that is
// said; in the end it is given up.
func TestStartsAgain(t *testing.T) {
	dir, starts := balky(t, "false")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var notes []string
	p, err := render.New(render.Options{Resources: &site{}, Program: filepath.Join(dir, "browser"), Note: func(n string) { notes = append(notes, n) }})
	if err != nil {
		t.Fatal(err)
	}
	p.SetClock(func() time.Time { return now })
	show := func() {
		t.Helper()
		r, err := p.Render(t.Context(), page("http://a.example/", head), 0)
		var failure *web.Failure
		if r != nil || !errors.As(err, &failure) || failure.Reason != web.ReasonBrowser || !strings.Contains(err.Error(), "out of memory") {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	show()
	once := starts()
	var pauses []time.Duration
	for last := now; len(notes) < 40 && now.Sub(last) < 2*time.Hour; now = now.Add(5 * time.Second) {
		said := len(notes)
		if show(); len(notes) > said {
			pauses = append(pauses, now.Sub(last))
			last = now
		}
	}
	if got, want := fmt.Sprint(pauses), "[10s 20s 40s 1m20s 2m40s 5m20s 10m40s 21m20s 42m40s 1h0m0s 1h0m0s]"; got != want || starts() != 12*once {
		t.Errorf("%d starts, of %d each, after %s; want %s", starts(), once, got, want)
	}
	if len(notes) != 12 || !strings.Contains(notes[0], "tried again in 10s") || !strings.Contains(notes[1], "tried again in 20s") || !strings.Contains(notes[11], "12 times") {
		t.Errorf("%q", notes)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// One that starts later renders what comes then, which is said.
func TestStartsLater(t *testing.T) {
	chromium, err := devtools.Find()
	if err != nil {
		t.Skip("needs a browser: install chromium")
	}
	dir, _ := balky(t, chromium)
	now := time.Now()
	var notes []string
	p := pool(t, &site{}, func(o *render.Options) {
		o.Program, o.Note = filepath.Join(dir, "browser"), func(n string) {
			if !strings.Contains(n, "sandbox") { // which not every machine gives
				notes = append(notes, n)
			}
		}
	})
	p.SetClock(func() time.Time { return now })
	sent := page("http://a.example/", head+`<script>document.body.append("from " + "a script")</script>`)
	if _, err := p.Render(t.Context(), sent, 0); err == nil {
		t.Fatal("it started")
	}
	if err := os.WriteFile(filepath.Join(dir, "ok"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Render(t.Context(), sent, 0); err == nil {
		t.Error("it was tried again at once")
	}
	now = now.Add(time.Minute)
	r, err := p.Render(t.Context(), sent, 0)
	if err != nil || !strings.Contains(string(r.Body), "from a script") {
		t.Errorf("%+v, %v", r, err)
	}
	if len(notes) != 2 || !strings.Contains(notes[1], "starts now") {
		t.Errorf("%q", notes)
	}
}
