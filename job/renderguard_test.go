package job

import (
	"context"
	"fmt"
	"html"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/render"
	"github.com/waggle-crawler/waggle/web"
)

// fewNames knows public.test, at a public address, and names that lead inward. It notes what is
// connected to.
type fewNames struct {
	server string
	inward map[string]netip.Addr
	mu     sync.Mutex
	dialed map[string]bool
}

func (n *fewNames) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	if addr, ok := n.inward[name]; ok {
		return []netip.Addr{addr}, nil
	}
	if name != "public.test" {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

func (n *fewNames) Connect(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed[address] = true
	n.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, network, n.server)
}

// No spelling of an inward address, nor a name that leads to one, is connected to for a page in
// a browser, whether a script asks for it or what it asks for redirects there.
func TestInwardInBrowser(t *testing.T) {
	long.Test(t, "starts a browser")
	chromium.Find(t)
	inward := map[string]netip.Addr{"inward.test": netip.MustParseAddr("10.0.0.1"), "mapped.test": netip.MustParseAddr("::ffff:169.254.169.254")}
	spellings := badweb.Inward()
	for _, name := range slices.Sorted(maps.Keys(inward)) {
		spellings = append(spellings, badweb.Spelling{Written: name, Host: name})
	}
	var redirected sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/away/%d", &i); err != nil {
			http.NotFound(w, r)
			return
		}
		redirected.Store(i, true)
		w.Header().Set("Location", "http://"+spellings[i].Written+"/")
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	n := &fewNames{server: strings.TrimPrefix(server.URL, "http://"), inward: inward, dialed: map[string]bool{}}
	stack, err := fetch.New(fetch.Options{Contact: "mailto:test@example.org", Delay: -1, OwnHosts: []string{"public.test"},
		IgnoreRobots: true, Timeout: time.Minute, Resolver: n, Connect: n.Connect})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	pool, err := render.New(render.Options{Resources: stack.Resources(), Unsandboxed: true,
		Limits: render.Limits{Time: 5 * time.Minute, Memory: 2 << 30, Requests: 4 * len(spellings)}, Note: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	u, err := web.Parse("http://public.test/")
	if err != nil {
		t.Fatal(err)
	}
	var script, list strings.Builder
	addresses := 0
	for i, s := range spellings {
		fmt.Fprintf(&script, "ask(%q); ask(\"/away/%d\");\n", "http://"+s.Written+"/", i)
		fmt.Fprintf(&list, "<img src=\"http://%[1]s/i\"><iframe src=\"http://%[1]s/f\"></iframe><link rel=stylesheet href=\"http://%[1]s/s\">\n", html.EscapeString(s.Written))
		if _, err := netip.ParseAddr(strings.Trim(s.Host, "[]")); err == nil || inward[s.Host].IsValid() {
			addresses++
		}
	}
	body := "<!doctype html><title>Inward</title><body>" + list.String() + `<script>
		let ended = 0, reached = 0;
		const end = () => { ended++; document.title = ended + " ended, " + reached + " reached" };
		const ask = u => { try { fetch(u, {mode: "no-cors"}).then(r => { if (!r.url.startsWith("http://public.test/")) reached++; end() }, end) } catch (e) { end() } };
		` + script.String() + `</script>`
	r, err := pool.Render(t.Context(), &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Raw: []byte(body), Body: []byte(body)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("<title>%d ended, 0 reached</title>", 2*len(spellings)); r.Ended != "" || !strings.Contains(string(r.Body), want) {
		_, title, _ := strings.Cut(string(r.Body), "<title>")
		t.Errorf("ended %q, title %.60q, want %s", r.Ended, title, want)
	}
	// A few the browser refuses itself, or it finds no address in them. What it asks waggle
	// for is refused twice, as it is and behind a redirect.
	if got := r.Refused[web.ReasonAddress]; got < 2*(addresses-5) || got > 2*addresses {
		t.Errorf("%d refused (%v), want about %d", got, r.Refused, 2*addresses)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for d := range n.dialed {
		if d != "93.184.215.14:80" {
			t.Errorf("dialled %s", d)
		}
	}
	for i := range spellings {
		if _, ok := redirected.Load(i); !ok {
			t.Errorf("%q: no redirect was asked for", spellings[i].Written)
		}
	}
}
