package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// aheadClock is the machine's clock, and some time more.
type aheadClock struct {
	clock.System
	by atomic.Int64
}

func (c *aheadClock) Now() time.Time { return c.System.Now().Add(time.Duration(c.by.Load())) }

// heldNames gives names their addresses; two of them have one. name.example is not found
// before held is closed.
type heldNames struct{ held chan struct{} }

func (n heldNames) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if host == "name.example" {
		select {
		case <-n.held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	last := map[string]byte{"a.example": 1, "robots.example": 2, "turn.example": 2, "name.example": 3, "scripts.example": 4}[host]
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 1, last})}, nil
}

// heldBrowser renders nothing before it is closed.
type heldBrowser chan struct{}

func (b heldBrowser) Render(ctx context.Context, _ *web.Response, _ float64) (*web.Rendering, error) {
	select {
	case <-b:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A crawl of hosts that hold it up in different ways tells of each fetch what it waits for,
// in its folder too, and nothing any more once it has ended.
func TestActivity(t *testing.T) {
	held := make(chan struct{})
	var once sync.Once
	letGo := func() { once.Do(func() { close(held) }) }
	defer letGo()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/robots.txt" && (r.Host == "robots.example" || r.Host == "turn.example"), r.Host == "a.example" && r.URL.Path == "/":
			<-held
		}
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "<title>%s</title><p id=app>Loading<script>fill()</script>", r.Host)
	}))
	defer site.Close()
	clk := &aheadClock{}
	stack, err := fetch.New(fetch.Options{
		AllowPrivate: true, Delay: -1, Patience: time.Hour, Timeout: time.Hour, Clock: clk, Resolver: heldNames{held},
		Connect: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, site.Listener.Addr().String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	w, err := collection.At(t.TempDir()).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	none := Duration(0)
	m := &Maker{
		Job: &Job{
			Seeds: []string{"http://a.example/", "http://robots.example/", "http://turn.example/", "http://name.example/", "http://scripts.example/"},
			Topic: Topic{Keywords: []string{"honey bee"}}, Politeness: Politeness{Delay: &none}, Fetch: Fetch{AllowPrivate: true, Workers: 8},
		},
		Writer: w, Clock: clk, Fetcher: stack, Renderer: heldBrowser(held),
	}
	c, err := m.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan web.Activity, 1)
	save := c.Active
	c.Active = func(a web.Activity) {
		save(a)
		select {
		case told <- a:
		default: // nobody looks
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(t.Context())
		ended <- err
	}()
	until := func(is func(*web.Activity) bool) (a web.Activity) {
		t.Helper()
		for {
			select {
			case a = <-told:
				if is(&a) {
					return a
				}
			case err := <-ended:
				t.Fatalf("the crawl ended with %v; it told %+v", err, a)
			case <-t.Context().Done():
				t.Fatalf("it told %+v", a)
			}
		}
	}
	want := map[web.Stage]int{web.StageRequest: 1, web.StageRobots: 1, web.StageTurn: 1, web.StageName: 1, web.StageBrowser: 1}
	a := until(func(a *web.Activity) bool { return maps.Equal(a.Stages, want) })
	if a.Fetches != 8 || a.Busy() != 5 || a.Idle != web.IdleEmpty || len(a.Longest) != 5 {
		t.Errorf("told %+v", a)
	}
	clk.by.Store(int64(time.Minute))
	delete(want, web.StageRequest)
	want[web.StageSlow] = 1
	a = until(func(a *web.Activity) bool { return maps.Equal(a.Stages, want) })
	if kept, err := w.Activity(); err != nil || kept == nil || kept.At.Before(a.At) || !maps.Equal(kept.Stages, want) {
		t.Errorf("the folder tells %+v, %v", kept, err)
	}
	letGo()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if kept, err := w.Activity(); err != nil || kept != nil {
		t.Errorf("a crawl that has ended tells %+v, %v", kept, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A crawl that can fetch nothing tells why, and when the next host is due.
func TestIdle(t *testing.T) {
	hour := Duration(time.Hour)
	m := &Maker{Fetcher: bees(), Job: &Job{
		Seeds: []string{"https://bees.test/"}, Topic: Topic{Keywords: []string{"honey bee"}},
		Politeness: Politeness{Delay: &hour}, Fetch: Fetch{AllowPrivate: true, Workers: 2},
	}}
	c, err := m.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.Control = &crawl.Control{}
	told := make(chan web.Activity)
	c.Active = func(a web.Activity) {
		select {
		case told <- a:
		case <-ctx.Done():
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(ctx)
		ended <- err
	}()
	for _, step := range []struct {
		want web.Idle
		due  bool
	}{{web.IdleDue, true}, {web.IdlePaused, false}} {
		c.Control.Pause(step.want == web.IdlePaused)
		var a web.Activity
		for a.Idle != step.want {
			a = <-told
		}
		if due := a.Due.After(a.At.Add(time.Minute)); due != step.due {
			t.Errorf("%s: told %+v", step.want, a)
		}
	}
	if a := c.Control.Activity(); a == nil || a.Fetches != 2 {
		t.Errorf("Control tells %+v", a)
	}
	stop()
	if err := errors.Join(<-ended, m.Close()); err != nil {
		t.Error(err)
	}
}
