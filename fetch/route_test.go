package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// network is a small one: names, addresses, and one server behind those that
// are not closed.
type network struct {
	server string // host:port on loopback

	mu     sync.Mutex
	names  map[string][]netip.Addr
	closed map[string]bool // addresses
	dialed []string        // addresses with their ports
}

// newNetwork starts the server, which answers every request with a page.
func newNetwork(t *testing.T) *network {
	n := &network{names: map[string][]netip.Addr{}, closed: map[string]bool{}}
	n.serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>A page.")
	})
	return n
}

// serve puts another server there.
func (n *network) serve(t *testing.T, page http.HandlerFunc) {
	t.Helper()
	u, err := url.Parse(serve(t, page))
	if err != nil {
		t.Fatal(err)
	}
	n.server = u.Host
}

func (n *network) name(name string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = nil
	for _, a := range addrs {
		n.names[name] = append(n.names[name], netip.MustParseAddr(a))
	}
}

func (n *network) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if addrs, ok := n.names[name]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (n *network) Connect(ctx context.Context, kind, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	closed := n.closed[netip.MustParseAddrPort(address).Addr().String()]
	n.mu.Unlock()
	if closed {
		return nil, &net.OpError{Op: "dial", Net: kind, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	var d net.Dialer
	return d.DialContext(ctx, kind, n.server)
}

// stack returns one that sees nothing but n, with clock c.
func (n *network) stack(t *testing.T, c *manual, change func(*fetch.Options)) *fetch.Stack {
	t.Helper()
	o := fetch.Options{Contact: "mailto:test@example.org", Delay: -1, IgnoreRobots: true, Timeout: 30 * time.Second,
		Resolver: n, Connect: n.Connect, Clock: c}
	if change != nil {
		change(&o)
	}
	f, err := fetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// took fetches u and adds up what it waited, by a clock that is moved on for it.
func took(f fetch.Fetcher, c *manual, u web.URL) (r *web.Response, waited time.Duration, err error) {
	done := make(chan bool)
	go func() {
		defer close(done)
		r, err = f.Fetch(context.Background(), u)
	}()
	for {
		select {
		case wait := <-c.Waiting:
			waited += wait
			c.Advance(wait)
		case <-done:
			return r, waited, err
		}
	}
}

// --allow-private opens private addresses and nothing else: the public web has
// its delay and its contact.
func TestAllowPrivateOpensNothingElse(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fetch.Options)
		url    string
		second time.Duration // that a second request waits
		reason web.Reason
	}{
		{"public", nil, "http://public.test/", time.Second, ""},
		{"public", func(o *fetch.Options) { o.AllowPrivate = true }, "http://public.test/", time.Second, ""},
		{"public", func(o *fetch.Options) { o.AllowPrivate, o.Delay = true, 300*time.Millisecond }, "http://public.test/", time.Second, ""},
		{"public", func(o *fetch.Options) { o.AllowPrivate, o.Delay = true, 5*time.Second }, "http://public.test/", 5 * time.Second, ""},
		{"public address", func(o *fetch.Options) { o.AllowPrivate = true }, "http://93.184.215.14/", time.Second, ""},
		{"public and private", func(o *fetch.Options) { o.AllowPrivate = true }, "http://both.test/", time.Second, ""},
		{"private", nil, "http://private.test/", 0, web.ReasonAddress},
		{"metadata", func(o *fetch.Options) { o.AllowPrivate = true }, "http://169.254.169.254/latest/", 0, web.ReasonAddress},
		{"metadata", func(o *fetch.Options) { o.AllowPrivate = true }, "http://0xa9fea9fe/latest/", 0, web.ReasonAddress},
		{"metadata", func(o *fetch.Options) { o.AllowPrivate = true }, "http://[fd00:ec2::254]/latest/", 0, web.ReasonAddress},
		{"private address", nil, "http://10.0.0.1/", 0, web.ReasonAddress},
		{"private", func(o *fetch.Options) { o.AllowPrivate = true }, "http://private.test/", 0, ""},
		{"private", func(o *fetch.Options) { o.AllowPrivate, o.Contact = true, "" }, "http://private.test/", 0, ""},
		{"private, as fast as it is told", func(o *fetch.Options) { o.AllowPrivate, o.Delay = true, 100*time.Millisecond }, "http://private.test/", 100 * time.Millisecond, ""},
		{"loopback", func(o *fetch.Options) { o.AllowPrivate, o.Contact = true, "" }, "http://127.0.0.1/", 0, ""},
		{"no contact", func(o *fetch.Options) { o.AllowPrivate, o.Contact = true, "" }, "http://public.test/", 0, web.ReasonContact},
		{"no contact", func(o *fetch.Options) { o.AllowPrivate, o.Contact = true, "" }, "http://[2606:2800:21f::1]/", 0, web.ReasonContact},
		{"no contact", func(o *fetch.Options) { o.AllowPrivate, o.Contact = true, "" }, "http://both.test/", 0, ""}, // by its private address
		{"own", func(o *fetch.Options) { o.OwnHosts = []string{"public.test"} }, "http://public.test/", 0, ""},
		{"own, below", func(o *fetch.Options) { o.OwnHosts = []string{"test"} }, "http://public.test/", 0, ""},
		{"not own", func(o *fetch.Options) { o.OwnHosts = []string{"lic.test", "www.public.test"} }, "http://public.test/", time.Second, ""},
		{"own without contact", func(o *fetch.Options) {
			o.AllowPrivate, o.Contact, o.OwnHosts = true, "", []string{"public.test"}
		}, "http://public.test/", 0, web.ReasonContact},
	} {
		n := newNetwork(t)
		n.name("public.test", "93.184.215.14")
		n.name("private.test", "10.0.0.1")
		n.name("both.test", "10.0.0.1", "93.184.215.14")
		clock := newManual()
		f := n.stack(t, clock, c.change)
		u := address(t, c.url)
		_, _, err := took(f, clock, u)
		var why *web.Failure
		if errors.As(err, &why); (why != nil) != (c.reason != "") || why != nil && why.Reason != c.reason {
			t.Errorf("%s, %s: %v, want %q", c.name, u, err, c.reason)
			continue
		}
		if why != nil {
			if len(n.dialed) > 0 || why.Temporary {
				t.Errorf("%s, %s: dialled %v, to be tried again: %v", c.name, u, n.dialed, why.Temporary)
			}
			if c.reason == web.ReasonContact && !strings.Contains(why.Detail, "--contact") {
				t.Errorf("%s, %s: %s: says nothing of what to do", c.name, u, why.Detail)
			}
			continue
		}
		if _, waited, err := took(f, clock, u); err != nil || waited != c.second {
			t.Errorf("%s, %s: the second request waits %v, %v; want %v", c.name, u, waited, err, c.second)
		}
	}
}

// Through a proxy no address is known. One that serves a recorded web may be
// asked as one likes; any other may lead to the live web.
func TestProxyGetsNoFreedom(t *testing.T) {
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>A page.")
	})
	at, err := url.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		o      fetch.Options
		url    string
		second time.Duration
		reason web.Reason
	}{
		{"recorded", fetch.Options{Recorded: true}, "http://a.test/", 0, ""},
		{"recorded", fetch.Options{Recorded: true}, "http://10.0.0.1/", 0, ""},
		{"plain", fetch.Options{Contact: "me@example.org"}, "http://a.test/", time.Second, ""},
		{"plain", fetch.Options{Contact: "me@example.org", AllowPrivate: true}, "http://a.test/", time.Second, ""},
		{"plain, own", fetch.Options{Contact: "me@example.org", OwnHosts: []string{"a.test"}}, "http://a.test/", 0, ""},
		{"plain", fetch.Options{AllowPrivate: true}, "http://a.test/", 0, web.ReasonContact},
		{"plain", fetch.Options{AllowPrivate: true}, "http://10.0.0.1/", 0, ""},
		{"plain", fetch.Options{Contact: "me@example.org"}, "http://169.254.169.254/", 0, web.ReasonAddress},
	} {
		clock := newManual()
		o := c.o
		o.Proxy, o.Delay, o.IgnoreRobots, o.Clock = at, -1, true, clock
		f, err := fetch.New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = took(f, clock, address(t, c.url))
		var why *web.Failure
		if errors.As(err, &why); (why != nil) != (c.reason != "") || why != nil && why.Reason != c.reason {
			t.Errorf("%s, %s: %v, want %q", c.name, c.url, err, c.reason)
		}
		if why == nil {
			if _, waited, err := took(f, clock, address(t, c.url)); err != nil || waited != c.second {
				t.Errorf("%s, %s: the second request waits %v, %v; want %v", c.name, c.url, waited, err, c.second)
			}
			// All names are behind one address, that of the proxy.
			if _, waited, err := took(f, clock, address(t, "http://b.test/")); c.o.Contact != "" && (err != nil || waited != 0) {
				t.Errorf("%s: another name waits %v, %v", c.name, waited, err)
			}
		}
		f.Close()
	}
}

// An address at which there is no server costs a try, and the next time the one
// that answered is asked first.
func TestGateTriesOtherAddresses(t *testing.T) {
	n := newNetwork(t)
	n.name("two.test", "93.184.215.14", "2606:2800:21f::1")
	n.name("other.test", "2606:2800:21f::2") // on the network of the second
	n.closed["93.184.215.14"] = true
	clock := newManual()
	f := n.stack(t, clock, nil)
	for i, c := range []struct {
		name string
		wait time.Duration
	}{{"other.test", 0}, {"two.test", time.Second}, {"two.test", time.Second}, {"other.test", time.Second}} {
		r, waited, err := took(f, clock, address(t, "http://"+c.name+"/"))
		if err != nil || waited != c.wait || network64(r.Address) != "2606:2800:21f::" {
			t.Errorf("request %d: %+v, %v, waited %v, want %v", i, r, err, waited, c.wait)
		}
	}
	if want := []string{"[2606:2800:21f::2]:80", "93.184.215.14:80", "[2606:2800:21f::1]:80"}; !slices.Equal(n.dialed, want) {
		t.Errorf("dialled %v, want %v", n.dialed, want)
	}
	n.closed["2606:2800:21f::1"], n.closed["93.184.215.14"] = true, true
	n.name("none.test", "93.184.215.14", "2606:2800:21f::1")
	var why *web.Failure
	if _, _, err := took(f, clock, address(t, "http://none.test/")); !errors.As(err, &why) || why.Reason != web.ReasonConnect {
		t.Errorf("%v, want no connection", err)
	}
}

func network64(a netip.Addr) string {
	p, _ := a.Prefix(64)
	return p.Addr().String()
}

// A connection that is open still to an address which is no longer the name's is
// not used: the gate of that address was not passed.
func TestStaleConnections(t *testing.T) {
	n := newNetwork(t)
	n.name("moves.test", "93.184.215.14")
	clock := newManual()
	f := n.stack(t, clock, nil)
	for i, want := range []string{"93.184.215.14", "93.184.215.14", "93.184.215.99", "93.184.215.99"} {
		if i == 2 {
			n.name("moves.test", "93.184.215.99")
			clock.Advance(time.Hour) // the name is looked up again
		}
		r, _, err := took(f, clock, address(t, fmt.Sprintf("http://moves.test/%d", i)))
		if err != nil || r.Address.String() != want || r.Remote != want+":80" {
			t.Errorf("request %d: %+v, %v, want it at %s", i, r, err, want)
		}
	}
	if want := []string{"93.184.215.14:80", "93.184.215.99:80"}; !slices.Equal(n.dialed, want) {
		t.Errorf("dialled %v, want %v", n.dialed, want)
	}
}
