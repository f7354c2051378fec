package fetch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// inwardSpellings are ways to write an address that no public web is at, and what
// stands in the canonical address; "" is said of what is no address of a page.
var inwardSpellings = []struct{ written, host string }{
	// IPv4 in decimal, octal, hexadecimal and short forms: WHATWG URL, section 3.5.
	{"127.0.0.1", "127.0.0.1"},
	{"127.1", "127.0.0.1"},
	{"127.0.1", "127.0.0.1"},
	{"2130706433", "127.0.0.1"},
	{"017700000001", "127.0.0.1"},
	{"0x7f000001", "127.0.0.1"},
	{"0X7F000001", "127.0.0.1"},
	{"0x7f.1", "127.0.0.1"},
	{"0177.0.0.1", "127.0.0.1"},
	{"0177.0.0x0.1", "127.0.0.1"},
	{"0x7f.0x0.0x0.0x1", "127.0.0.1"},
	{"00000177.00.00.01", "127.0.0.1"},
	{"127.0x1", "127.0.0.1"},
	{"127.0.0.1.", "127.0.0.1"},
	{"2130706433.", "127.0.0.1"},
	{"0", "0.0.0.0"},
	{"0x", "0.0.0.0"},
	{"0.0.0.0", "0.0.0.0"},
	{"10.1", "10.0.0.1"},
	{"167772161", "10.0.0.1"},
	{"012.0.0.1", "10.0.0.1"},
	{"0xa000001", "10.0.0.1"},
	{"172.16.1", "172.16.0.1"},
	{"0xac100001", "172.16.0.1"},
	{"192.168.257", "192.168.1.1"},
	{"3232235777", "192.168.1.1"},
	{"0300.0250.1.1", "192.168.1.1"},
	{"169.254.169.254", "169.254.169.254"},
	{"2852039166", "169.254.169.254"},
	{"0xa9fea9fe", "169.254.169.254"},
	{"0251.0376.0251.0376", "169.254.169.254"},
	{"169.16689662", "169.254.169.254"},
	{"100.100.100.200", "100.100.100.200"},
	{"4294967295", "255.255.255.255"},
	// Other characters for digits and dots, and escapes.
	{"127\u30020\u30020\u30021", "127.0.0.1"},
	{"\uff11\uff12\uff17.0.0.1", "127.0.0.1"},
	{"①②⑦.0.0.1", "127.0.0.1"},
	{"%31%32%37.0.0.1", "127.0.0.1"},
	{"127%2e0%2e0%2e1", "127.0.0.1"},
	{"user:secret@127.0.0.1", "127.0.0.1"},
	// IPv6, and IPv4 within it.
	{"[::1]", "[::1]"},
	{"[0:0:0:0:0:0:0:1]", "[::1]"},
	{"[0000:0000::0001]", "[::1]"},
	{"[::]", "[::]"},
	{"[::127.0.0.1]", "[::7f00:1]"},
	{"[::ffff:127.0.0.1]", "[::ffff:7f00:1]"},
	{"[::FFFF:7F00:1]", "[::ffff:7f00:1]"},
	{"[0:0:0:0:0:ffff:10.0.0.1]", "[::ffff:a00:1]"},
	{"[::ffff:0:169.254.169.254]", "[::ffff:0:a9fe:a9fe]"},
	{"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]"},
	{"[64:ff9b::a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]"},
	{"[64:ff9b:1::10.0.0.1]", "[64:ff9b:1::a00:1]"},
	{"[2002:7f00:1::]", "[2002:7f00:1::]"},
	{"[2002:a9fe:a9fe::1]", "[2002:a9fe:a9fe::1]"},
	{"[2001:0:7f00:1::1]", "[2001:0:7f00:1::1]"}, // Teredo
	{"[fd00:ec2::254]", "[fd00:ec2::254]"},
	{"[fe80::1]", "[fe80::1]"},
	{"[fec0::1]", "[fec0::1]"},
	{"[ff02::1]", "[ff02::1]"},
	// What a resolver of the system might take for an address is none here.
	{"[fe80::1%25lo]", ""},
	{"256.0.0.1", ""},
	{"4294967296", ""},
	{"127.0.0.0.1", ""},
	{"0x7f.0.0.0x1g", "0x7f.0.0.0x1g"}, // a name, which nobody has
	{"1.2.3.08", ""},
	{"[::ffff:127.1]", ""},
	{"[::1", ""},
}

// No spelling of an inward address is connected to: not as a link or a redirect,
// whose target is fetched as a link is, not as a resource that a browser asks for,
// and not through a proxy, which gets no such request.
func TestInwardSpellings(t *testing.T) {
	if len(inwardSpellings) < 60 {
		t.Fatalf("%d spellings", len(inwardSpellings))
	}
	n := newNetwork(t)
	clock := newManual()
	plain := n.stack(t, clock, nil)
	var asked atomic.Int64
	at, err := url.Parse(serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	proxied := n.stack(t, clock, func(o *fetch.Options) { o.Proxy, o.Connect = at, nil })
	page := address(t, "http://public.test/")
	for _, c := range inwardSpellings {
		for _, link := range []string{"http://" + c.written + "/", "https://" + c.written + ":8443/x", "//" + c.written + "/", `http:\\` + c.written + `\`} {
			u, err := web.Canon{}.Resolve(page, link)
			if c.host == "" {
				if err == nil {
					t.Errorf("%s is an address: %s", link, u)
				}
				continue
			}
			if err != nil || u.Host().Name() != c.host {
				t.Errorf("%s: %s, %v; want host %s", link, u, err, c.host)
				continue
			}
			_, addrErr := netip.ParseAddr(strings.Trim(c.host, "[]"))
			named := addrErr != nil
			want := web.ReasonAddress
			if named {
				want = web.ReasonDNS
			}
			for way, f := range map[string]fetch.Fetcher{"link": plain, "resource": plain.Resources(), "proxy": proxied, "resource by proxy": proxied.Resources()} {
				if named && strings.HasSuffix(way, "proxy") {
					continue // the proxy looks names up
				}
				_, _, err := took(f, clock, u)
				var why *web.Failure
				if !errors.As(err, &why) || why.Reason != want || why.Temporary && !named {
					t.Errorf("%s as %s: %v, want %s", link, way, err, want)
				}
			}
		}
	}
	if len(n.dialed) > 0 || asked.Load() > 0 {
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
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, to, http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<p>A page.")
		})
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		n.server = u.Host
		clock := newManual()
		f := n.stack(t, clock, func(o *fetch.Options) { o.IgnoreRobots = false })
		_, _, err = took(f, clock, address(t, "http://public.test/page"))
		var why *web.Failure
		if !errors.As(err, &why) || why.Reason != web.ReasonRobotsMissing || !strings.Contains(why.Detail, "refused without --allow-private") {
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
