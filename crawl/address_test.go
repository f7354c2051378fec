package crawl_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// crowd is a web of sites that share one address, and some that have their own.
// It answers for all of them, and watches how the shared address is asked. It is a
// net.Listener of connections within the process, so that its time can be that of a
// synctest bubble.
type crowd struct {
	http.Server
	conns        chan net.Conn
	closed       chan struct{}
	sites, pages int

	mu    sync.Mutex
	busy  int
	ended time.Time
	gap   time.Duration // the least between two requests
	most  int           // requests at a time
	last  map[string]time.Time
}

// answers is how long a page takes.
const answers = 2 * time.Millisecond

func newCrowd(sites, pages int) *crowd {
	c := &crowd{
		sites: sites, pages: pages, gap: time.Hour, last: map[string]time.Time{},
		conns: make(chan net.Conn), closed: make(chan struct{}),
	}
	c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shared := strings.Contains(r.Host, ".crowd.test")
		if shared {
			c.mu.Lock()
			c.busy++
			c.most = max(c.most, c.busy)
			if !c.ended.IsZero() {
				c.gap = min(c.gap, time.Since(c.ended))
			}
			c.mu.Unlock()
		}
		time.Sleep(answers)
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
		} else {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%d of %s</title>", n, r.Host)
			if n < pages {
				fmt.Fprintf(w, "<a href=/%d>next</a>", n+1)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last[r.Host] = time.Now()
		if shared {
			c.busy--
			c.ended = time.Now()
		}
	})
	return c
}

func (c *crowd) Accept() (net.Conn, error) {
	select {
	case conn := <-c.conns:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

func (c *crowd) Close() error {
	close(c.closed)
	return nil
}

func (c *crowd) Addr() net.Addr { return &net.TCPAddr{} }

func (c *crowd) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	if strings.HasSuffix(name, ".crowd.test") {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	var n byte
	fmt.Sscanf(name, "s%d.", &n)
	return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 216, n})}, nil
}

func (c *crowd) Connect(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case c.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Forty sites behind one address are all fetched whole, one request at a time and
// a delay apart; meanwhile sites elsewhere are fetched as if there were nobody
// else, and the crawl tells what waits. Time is that of the test, so what else the
// machine does changes nothing.
func TestSitesOfOneAddress(t *testing.T) { synctest.Test(t, testSitesOfOneAddress) }

func testSitesOfOneAddress(t *testing.T) {
	const (
		sites, alone, pages = 40, 3, 3
		delay               = 10 * time.Millisecond
	)
	c := newCrowd(sites, pages)
	var serving sync.WaitGroup
	serving.Go(func() { c.Serve(c) }) // its error says that it was closed
	defer func() {
		c.Server.Close()
		serving.Wait()
	}()
	f, err := fetch.New(fetch.Options{
		Contact: "test@crowd.test", Delay: delay, OwnHosts: []string{"test"}, Patience: 2 * delay, Resolver: c, Connect: c.Connect,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var seeds []web.URL
	for i := range sites + alone {
		s := fmt.Sprintf("http://s%d.crowd.test/1", i)
		if i >= sites {
			s = fmt.Sprintf("http://s%d.alone.test/1", i)
		}
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, u)
	}
	control := &crawl.Control{}
	control.Watch(1000)
	var summary event.Summary
	shares, told := 0, 0
	run := &crawl.Crawl{
		Seeds: seeds, Frontier: frontier.NewMemory(frontier.Options{}), Fetcher: f, Parser: parse.New(parse.Options{}),
		Judge: evenJudge{}, Scorer: scorer, Workers: 32, Policy: crawl.Policy{Delay: delay}, Control: control,
		Listen: func(e event.Event) {
			summary.Add(e)
			if f, ok := e.(event.Failed); ok && f.Reason == web.ReasonBusy && strings.Contains(f.Detail, "93.184.215.14") {
				told++
			}
			for _, h := range control.Hosts() {
				shares = max(shares, h.Sharing)
				if h.Sharing > 0 && h.Address != netip.MustParseAddr("93.184.215.14") {
					t.Errorf("%s shares %v", h.Host, h.Address)
				}
			}
		},
	}
	how, err := run.Run(t.Context())
	if err != nil || how != event.FrontierEmpty || summary.Pages != (sites+alone)*pages || len(summary.Failures) > 0 {
		t.Errorf("%s, %v, %d pages of %d, failed %v", how, err, summary.Pages, (sites+alone)*pages, summary.Failures)
	}
	if c.most != 1 || c.gap < delay {
		t.Errorf("the shared address was asked for %d things at a time, %v apart at least", c.most, c.gap)
	}
	if told == 0 || summary.Busy < told || shares == 0 {
		t.Errorf("%d times links were put back for the address, %d in all; hosts told to share it: %d", told, summary.Busy, shares)
	}
	if turns := sites * (pages + 1); summary.Busy > 2*turns {
		t.Errorf("links were put back %d times for %d turns", summary.Busy, turns)
	}
	var crowded time.Time
	for host, at := range c.last {
		if strings.Contains(host, "crowd") && at.After(crowded) {
			crowded = at
		}
	}
	for host, at := range c.last {
		if strings.Contains(host, "alone") && !at.Before(crowded) {
			t.Errorf("%s came after all that share an address", host)
		}
	}
	t.Logf("%d turns, put back %d times, %v apart at least, up to %d others told", sites*(pages+1), summary.Busy, c.gap, shares)
}
