//go:build unix

package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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
