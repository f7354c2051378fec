package render_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/render"
)

// Scripts find the cookies of their page that they may read, and those that they set or
// delete are so in the jar. Pages of other sites find none of them.
func TestCookies(t *testing.T) {
	long.Test(t, "starts a browser")
	jar := cookies.New(clock.System{})
	jar.Answered(at("http://www.a.example/"), http.Header{"Set-Cookie": {"seen=1; Domain=a.example; Max-Age=3600", "hidden=2; HttpOnly", "gone=3", "odd=\"4\""}})
	p := pool(t, &site{}, func(o *render.Options) { o.Cookies = jar })
	const script = `<script>document.body.append("found " + document.cookie.split("; ").sort().join("; "));
		document.cookie = "made=by a script; path=/"; document.cookie = "gone=; max-age=0"; document.cookie = "hidden=mine"; document.cookie = "for=all; domain=example";</script>`
	for _, c := range []struct{ page, found, after string }{
		{"http://www.a.example/", `found gone=3; odd="4"; seen=1<`, `seen=1; hidden=2; odd="4"; made=by a script`},
		{"http://b.a.example/", "found seen=1<", "seen=1; made=by a script; hidden=mine"},
		{"http://b.example/", "found <", "made=by a script; hidden=mine"},
	} {
		r, err := p.Render(t.Context(), page(c.page, head+script), 0)
		if err != nil || !strings.Contains(string(r.Body), c.found) {
			t.Errorf("%s: %v, %+v\n%s\nwant %s", c.page, err, r, r.Body, c.found)
		}
		if got := jar.Header(at(c.page)); got != c.after {
			t.Errorf("%s leaves %q, want %q", c.page, got, c.after)
		}
	}
}
