package fetch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/badweb"
	"github.com/waggle-crawler/waggle/web"
)

// No spelling of an inward address is connected to: not as a link, a redirect or what a
// robots.txt redirects to, not as a resource that a browser asks for, and not through a
// proxy, which gets no such request.
func TestInwardSpellings(t *testing.T) {
	spellings := badweb.Inward()
	if len(spellings) < 60 {
		t.Fatalf("%d spellings", len(spellings))
	}
	n := newNetwork(t)
	n.name("public.test", "93.184.215.14")
	var mu sync.Mutex
	leads := "" // where redirects lead
	n.serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Location", leads)
		w.WriteHeader(http.StatusFound)
	})
	clock := newManual()
	plain := n.stack(t, clock, nil)
	var asked atomic.Int64
	at, err := url.Parse(serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	proxied := n.stack(t, clock, func(o *fetch.Options) { o.Proxy, o.Connect = at, nil })
	page := address(t, "http://public.test/")
	ways := []struct {
		name     string
		resolves bool // names are looked up here, and not by a proxy
		fetch    func(u web.URL) error
	}{
		{"link", true, func(u web.URL) error { return tookError(plain, clock, u) }},
		{"resource", true, func(u web.URL) error { return tookError(plain.Resources(), clock, u) }},
		{"proxy", false, func(u web.URL) error { return tookError(proxied, clock, u) }},
		{"resource by proxy", false, func(u web.URL) error { return tookError(proxied.Resources(), clock, u) }},
		{"redirect", true, func(web.URL) error { return tookError(follower{plain}, clock, page) }},
		{"redirect of a resource", true, func(web.URL) error { return tookError(follower{plain.Resources()}, clock, page) }},
		{"redirect of robots.txt", true, func(web.URL) error {
			obeying := n.stack(t, clock, func(o *fetch.Options) { o.IgnoreRobots = false })
			return tookError(obeying, clock, page)
		}},
	}
	for _, c := range spellings {
		for i, link := range []string{"http://" + c.Written + "/", "https://" + c.Written + ":8443/x", "//" + c.Written + "/", `http:\\` + c.Written + `\`} {
			u, err := web.Canon{}.Resolve(page, link)
			if c.Host == "" {
				if err == nil {
					t.Errorf("%s is an address: %s", link, u)
				}
				continue
			}
			if err != nil || u.Host().Name() != c.Host {
				t.Errorf("%s: %s, %v; want host %s", link, u, err, c.Host)
				continue
			}
			_, addrErr := netip.ParseAddr(strings.Trim(c.Host, "[]"))
			named := addrErr != nil
			for _, way := range ways {
				if named && !way.resolves || i > 0 && strings.HasPrefix(way.name, "redirect") {
					continue
				}
				mu.Lock()
				leads = link
				mu.Unlock()
				want := web.ReasonAddress
				switch {
				case way.name == "redirect of robots.txt":
					want = web.ReasonRobotsMissing
				case named:
					want = web.ReasonDNS
				}
				err := way.fetch(u)
				var why *web.Failure
				if !errors.As(err, &why) || why.Reason != want || why.Temporary && want == web.ReasonAddress {
					t.Errorf("%s as %s: %v, want %s", link, way.name, err, want)
				}
				if want == web.ReasonRobotsMissing && !named && !strings.Contains(why.Detail, ": refused") {
					t.Errorf("%s as %s: %v, want it refused", link, way.name, err)
				}
			}
		}
	}
	for _, d := range n.dialed {
		if d != "93.184.215.14:80" {
			t.Errorf("dialled %s", d)
		}
	}
	if len(n.dialed) == 0 || asked.Load() > 0 {
		t.Errorf("dialled %d times, and asked the proxy %d times", len(n.dialed), asked.Load())
	}
}

// follower goes where an answer leads.
type follower struct{ fetch.Fetcher }

func (f follower) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	return fetch.Follow(ctx, f.Fetcher, u, 5)
}

func tookError(f fetch.Fetcher, c *manual, u web.URL) error {
	_, _, err := took(f, c, u)
	return err
}

// A proxy that the environment names is not used: only what the job says is.
func TestNoProxyOfTheEnvironment(t *testing.T) {
	var asked atomic.Int64
	at := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, at)
	}
	n := newNetwork(t)
	n.name("public.test", "93.184.215.14")
	clock := newManual()
	f := n.stack(t, clock, nil)
	if err := tookError(f, clock, address(t, "http://public.test/")); err != nil {
		t.Error(err)
	}
	if err := tookError(f, clock, address(t, "http://127.0.0.1/")); err == nil {
		t.Error("loopback was asked")
	}
	if len(n.dialed) != 1 || asked.Load() > 0 {
		t.Errorf("dialled %v, and asked the proxy %d times", n.dialed, asked.Load())
	}
}

// dnsForgets is longer than answers of name servers are kept.
const dnsForgets = time.Hour

// A name may lead to any of them: all wrappings, answers of which some are
// inward, and answers that change once they were checked.
func TestInwardNames(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second []string // answers to the first lookup, and to each later one
		refused       bool
		dialed        string
	}{
		{"loopback", []string{"127.0.0.1"}, nil, true, ""},
		{"metadata", []string{"169.254.169.254"}, nil, true, ""},
		{"mapped", []string{"::ffff:10.0.0.1"}, nil, true, ""},
		{"compatible", []string{"::a00:1"}, nil, true, ""},
		{"NAT64", []string{"64:ff9b::10.0.0.1"}, nil, true, ""},
		{"6to4", []string{"2002:a00:1::1"}, nil, true, ""},
		{"with a zone", []string{"fe80::1%eth0"}, nil, true, ""},
		{"all of several", []string{"10.0.0.1", "::1", "fd00::1"}, nil, true, ""},
		{"some of several", []string{"10.0.0.1", "93.184.215.14", "::1"}, nil, false, "93.184.215.14:80"},
		{"inward later", []string{"93.184.215.14"}, []string{"127.0.0.1"}, false, "93.184.215.14:80"},
		{"public later", []string{"127.0.0.1"}, []string{"93.184.215.14"}, true, ""},
	} {
		n := newNetwork(t)
		lookups := 0
		answers := func(context.Context, string, string) ([]netip.Addr, error) {
			now := c.first
			if lookups++; lookups > 1 && c.second != nil {
				now = c.second
			}
			var out []netip.Addr
			for _, a := range now {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		}
		clock := newManual()
		f := n.stack(t, clock, func(o *fetch.Options) { o.Resolver = resolverFunc(answers) })
		_, _, err := took(f, clock, address(t, "http://name.test/"))
		var why *web.Failure
		errors.As(err, &why)
		if refused := why != nil && why.Reason == web.ReasonAddress; refused != c.refused || !refused && err != nil {
			t.Errorf("%s: %v, want refused: %v", c.name, err, c.refused)
		}
		if got := strings.Join(n.dialed, " "); got != c.dialed {
			t.Errorf("%s: dialled %q, want %q", c.name, got, c.dialed)
		}
		if c.name != "inward later" {
			continue
		}
		// Once its answer is forgotten the name is refused, open connections or not.
		clock.Advance(dnsForgets)
		if _, _, err := took(f, clock, address(t, "http://name.test/again")); !errors.As(err, &why) || why.Reason != web.ReasonAddress {
			t.Errorf("%s: %v at the second lookup", c.name, err)
		}
	}
}

// A connection is made to the address that was checked before the host's turn, though the answer is
// forgotten by then and the name leads inward.
func TestAnswerChangesBeforeTheConnection(t *testing.T) {
	n := newNetwork(t)
	lookups := 0
	answers := func(context.Context, string, string) ([]netip.Addr, error) {
		if lookups++; lookups == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	clock := newManual()
	f := n.stack(t, clock, func(o *fetch.Options) {
		o.Resolver = resolverFunc(answers)
		o.MayAsk = func(context.Context, web.Host, bool) error { // it is asked between the two
			clock.Advance(dnsForgets)
			return nil
		}
	})
	if _, _, err := took(f, clock, address(t, "http://name.test/")); err != nil || strings.Join(n.dialed, " ") != "93.184.215.14:80" {
		t.Errorf("%v after %d look-ups, and dialled %q", err, lookups, n.dialed)
	}
	var why *web.Failure
	if _, _, err := took(f, clock, address(t, "http://name.test/again")); !errors.As(err, &why) || why.Reason != web.ReasonAddress || len(n.dialed) != 1 {
		t.Errorf("then %v after %d look-ups, and dialled %q", err, lookups, n.dialed)
	}
}

type resolverFunc func(context.Context, string, string) ([]netip.Addr, error)

func (f resolverFunc) LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error) {
	return f(ctx, network, name)
}

// The redirects of a robots.txt are followed without a crawl: they lead inward no
// more than links do.
func TestInwardRobots(t *testing.T) {
	for _, to := range []string{"http://127.0.0.1/robots.txt", "http://2852039166/latest/meta-data", "http://[::ffff:10.0.0.1]/", "//inward.test/", "http://0x7f.1:8080/"} {
		n := newNetwork(t)
		n.name("public.test", "93.184.215.14")
		n.name("inward.test", "10.0.0.1")
		n.serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, to, http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<p>A page.")
		})
		clock := newManual()
		f := n.stack(t, clock, func(o *fetch.Options) { o.IgnoreRobots = false })
		_, _, err := took(f, clock, address(t, "http://public.test/page"))
		var why *web.Failure
		if !errors.As(err, &why) || why.Reason != web.ReasonRobotsMissing || !strings.Contains(why.Detail, ": refused") {
			t.Errorf("%s: %v", to, err)
		}
		if len(n.dialed) == 0 {
			t.Errorf("%s: nobody was asked", to)
		}
		for _, d := range n.dialed {
			if !strings.HasPrefix(d, "93.184.215.14:") {
				t.Errorf("%s: dialled %s", to, d)
			}
		}
	}
}

// Who may not ask for a robots.txt has not learnt anything of the site: it is asked for later.
func TestMayNotAsk(t *testing.T) {
	n := newNetwork(t)
	n.name("public.test", "93.184.215.14")
	var asked []string
	n.serve(t, func(w http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path) })
	over, pages := errors.New("the session is over"), []bool{}
	may := over
	clock := newManual()
	f := n.stack(t, clock, func(o *fetch.Options) {
		o.IgnoreRobots = false
		o.MayAsk = func(_ context.Context, _ web.Host, page bool) error {
			pages = append(pages, page)
			return may
		}
	})
	if err := tookError(f, clock, address(t, "http://public.test/1")); !errors.Is(err, over) || len(asked) > 0 || !slices.Equal(pages, []bool{false}) {
		t.Errorf("%v, and asked for %q; pages: %v", err, asked, pages)
	}
	may = nil
	if err := tookError(f, clock, address(t, "http://public.test/1")); err != nil || !slices.Equal(asked, []string{"/robots.txt", "/1"}) || !slices.Equal(pages, []bool{false, false, true}) {
		t.Errorf("then %v, and asked for %q; pages: %v", err, asked, pages)
	}
}
