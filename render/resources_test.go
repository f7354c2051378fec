package render

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/web"
)

// shown is a page whose browser is a test: the test asks for what the page would, and sees what
// the page is given.
type shown struct {
	*page
	mu    sync.Mutex
	given map[string]string // by the address of a script: its body, or "refused"
}

func show(t *testing.T, pool *Pool, address string) *shown {
	u, err := web.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := &shown{page: newPage(ctx, pool, &web.Response{URL: u, Status: 200}), given: map[string]string{}}
	s.page.given = true
	s.send = func(_, method string, params any) {
		m := params.(map[string]any)
		said := "refused"
		if method == "Fetch.fulfillRequest" {
			b, err := base64.StdEncoding.DecodeString(m["body"].(string))
			if err != nil {
				t.Error(err)
			}
			said = string(b)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.given[m["requestId"].(string)] = said
	}
	return s
}

// ask asks for scripts and waits until all are there or refused.
func (s *shown) ask(t *testing.T, origin string, scripts ...string) {
	s.want(t, origin, scripts...)
	s.work.Wait()
}

// want asks for scripts.
func (s *shown) want(t *testing.T, origin string, scripts ...string) {
	for _, address := range scripts {
		event := map[string]any{
			"requestId": address, "resourceType": "Script",
			"request": map[string]any{"url": address, "method": "GET", "headers": map[string]string{"Origin": origin}},
		}
		b, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		s.request(devtools.Event{Params: b})
	}
}

func poolOf(t *testing.T, o Options) *Pool {
	o.Program = "none"
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type fetcherFunc func(ctx context.Context, u web.URL) (*web.Response, error)

func (f fetcherFunc) Fetch(ctx context.Context, u web.URL) (*web.Response, error) { return f(ctx, u) }

type pageKey struct{}

type originKey struct{}

// A script is fetched once for the pages of a site, and anew for another site: its server may
// answer by the cookies of its own site, and by the origin that asks.
func TestScriptsAreKeptBySite(t *testing.T) {
	asked := 0
	pool := poolOf(t, Options{
		Page: func(ctx context.Context, page web.URL) context.Context {
			return context.WithValue(ctx, pageKey{}, page)
		},
		Origin: func(ctx context.Context, origin string) context.Context {
			return context.WithValue(ctx, originKey{}, origin)
		},
		Resources: fetcherFunc(func(ctx context.Context, u web.URL) (*web.Response, error) {
			asked++
			body := "for nobody"
			if page := ctx.Value(pageKey{}).(web.URL); page.Scheme() == u.Scheme() && page.Host().Domain() == u.Host().Domain() {
				body = "for ada"
			}
			if origin, ok := ctx.Value(originKey{}).(string); ok {
				body += " from " + origin
			}
			return &web.Response{URL: u, Status: 200, Body: []byte(body), Robots: &web.Response{}}, nil
		}),
	})
	const script = "https://www.a.example/s.js"
	for _, c := range []struct {
		page, origin, want string
		asked              int
	}{
		{"https://www.a.example/1", "", "for ada", 1},
		{"https://www.a.example/2", "https://www.a.example", "for ada", 1},
		{"https://b.example/1", "", "for nobody", 2},
		{"http://www.a.example/1", "", "for nobody", 3},
		{"https://b.example/2", "", "for nobody", 3},
		{"https://b.example/2", "https://b.example", "for nobody from https://b.example", 4},
		{"https://c.b.example/2", "https://c.b.example", "for nobody from https://c.b.example", 5},
		{"https://blog.a.example/", "", "for ada", 6}, // another origin: it may be shown another certificate
		{"https://shop.a.example/", "", "for ada", 6},
	} {
		s := show(t, pool, c.page)
		s.ask(t, c.origin, script)
		if got := s.given[script]; got != c.want || asked != c.asked {
			t.Errorf("%s asks from %q and is given %q after %d requests, want %q after %d", c.page, c.origin, got, asked, c.want, c.asked)
		}
	}
	for _, e := range pool.cache.at {
		if r := e.Value.(*cached).response; r.Robots != nil {
			t.Error("the robots.txt of a script is held")
		}
	}
}

// Scripts with next to no body and a long head are kept within bounds.
func TestKeptScriptsAreBounded(t *testing.T) {
	c := newCache()
	head := strings.Repeat("x", 50_000)
	for i := range 10_000 {
		u, err := web.Parse(fmt.Sprintf("https://a.example/%d.js", i))
		if err != nil {
			t.Fatal(err)
		}
		c.put(request{url: u}, &web.Response{URL: u, Status: 200, Body: []byte("1"), Header: web.Header{"X": {head}}, Raw: []byte("1"), Head: []byte("1"), Robots: &web.Response{}})
	}
	held := 0
	for _, e := range c.at {
		r := e.Value.(*cached).response
		if r.Raw != nil || r.Head != nil || r.Robots != nil {
			t.Fatal("more is held than a page is given")
		}
		held += len(r.Header["X"][0])
	}
	if held > cacheBytes || held < cacheBytes/2 || c.weight > cacheBytes || len(c.at) != c.order.Len() {
		t.Errorf("%d scripts of %d bytes are held, which weigh %d", len(c.at), held, c.weight)
	}
	for c.order.Len() > 0 {
		last := c.order.Remove(c.order.Back()).(*cached)
		c.weight -= last.weight()
	}
	if c.weight != 0 {
		t.Errorf("%d bytes of nothing", c.weight)
	}
}

// A page that asks for more than it may be given is given no more: neither of a host that it asks
// for one script after the other, nor of many at a time.
func TestScriptsOfAPageAreBounded(t *testing.T) {
	body := strings.Repeat(" ", 1<<20)
	for _, hosts := range []int{1, 30} {
		var mu sync.Mutex
		asked, whole := 0, 0
		pool := poolOf(t, Options{
			Limits: Limits{Bytes: 3 << 20},
			Resources: fetcherFunc(func(ctx context.Context, u web.URL) (*web.Response, error) {
				mu.Lock()
				asked++
				waits := asked > 4
				mu.Unlock()
				if waits { // for its turn
					<-ctx.Done()
					return nil, ctx.Err()
				}
				mu.Lock()
				defer mu.Unlock()
				whole++
				return &web.Response{URL: u, Status: 200, Body: []byte(body)}, nil
			}),
		})
		var scripts []string
		for i := range 30 {
			scripts = append(scripts, fmt.Sprintf("https://h%d.example/%d.js", i%hosts, i))
		}
		s := show(t, pool, "https://a.example/")
		s.ask(t, "", scripts...)
		if whole != 4 || hosts == 1 && asked != 4 {
			t.Errorf("%d hosts: %d scripts were asked for, and %d came", hosts, asked, whole)
		}
		given := 0
		for _, said := range s.given {
			if said != "refused" {
				given++
			}
		}
		if given != 4 || len(s.given) != 30 || s.out.Refused[web.ReasonRenderRequests] != 26 {
			t.Errorf("%d hosts: of %d answers %d are scripts, and %v were refused", hosts, len(s.given), given, s.out.Refused)
		}
	}
}

// What a page asks for again and again it is given again within bounds: an answer that is kept for
// other pages, one that it was given, and one that is on its way.
func TestAnswersGivenAgainAreBounded(t *testing.T) {
	body := make([]byte, 1<<20)
	for _, c := range []struct {
		name   string
		status int  // scripts of a status other than 200 are not kept for other pages
		waits  bool // the first answer comes when all has been asked for
	}{
		{"kept", 200, false},
		{"given", 404, false},
		{"on its way", 404, true},
	} {
		come := make(chan struct{})
		asked := 0
		s := show(t, poolOf(t, Options{
			Limits: Limits{Bytes: 3 << 20},
			Resources: fetcherFunc(func(ctx context.Context, u web.URL) (*web.Response, error) {
				asked++
				select {
				case <-come:
				case <-ctx.Done():
				}
				return &web.Response{URL: u, Status: c.status, Body: body}, ctx.Err()
			}),
		}), "https://a.example/")
		given, refused := 0, 0
		s.send = func(_, method string, params any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if method == "Fetch.fulfillRequest" {
				given++
			} else {
				refused++
			}
		}
		const script, times = "https://a.example/s.js", 100
		if !c.waits {
			close(come)
			s.ask(t, "", script)
		}
		for range times {
			s.want(t, "", script)
		}
		if c.waits {
			close(come)
			s.want(t, "", script)
		}
		s.work.Wait()
		if asked != 1 || given != 1+6 || refused != times-6 || s.out.Refused[web.ReasonRenderRequests] != refused || s.over() {
			t.Errorf("%s: of %d bytes, fetched %d times, a page of %d bytes is given %d and refused %d (%v), over %v", c.name, len(body), asked, 3<<20, given, refused, s.out.Refused, s.over())
		}
		if s.pending != 0 || s.fetched != 1 {
			t.Errorf("%s: %d fetched, %d on their way", c.name, s.fetched, s.pending)
		}
	}
}

// A page that has been ended is given nothing more.
func TestEndedPageIsGivenNothing(t *testing.T) {
	var s *shown
	s = show(t, poolOf(t, Options{Resources: fetcherFunc(func(ctx context.Context, u web.URL) (*web.Response, error) {
		s.end(web.ReasonRenderTime, "it took long")
		return &web.Response{URL: u, Status: 200, Body: []byte("late")}, nil
	})}), "https://a.example/")
	const script = "https://a.example/s.js"
	if s.ask(t, "", script); s.given[script] != "refused" {
		t.Errorf("it is given %q", s.given[script])
	}
}

// A browser takes no status without a phrase and no header whose name is no token: the request
// would never be answered.
func TestAnswersAreSuchAsABrowserTakes(t *testing.T) {
	const script = "https://a.example/s.js"
	for _, status := range []int{200, 451, 520, 999} {
		s := show(t, poolOf(t, Options{Resources: fetcherFunc(func(ctx context.Context, u web.URL) (*web.Response, error) {
			return &web.Response{URL: u, Status: status, Header: web.Header{"Etag": {"1"}, "X Foo": {"bar"}, "": {"none"}}}, nil
		})}), "https://a.example/")
		var params map[string]any
		s.send = func(_, _ string, p any) { params = p.(map[string]any) }
		s.ask(t, "", script)
		phrase, _ := params["responsePhrase"].(string)
		if lines, _ := params["responseHeaders"].([]header); phrase == "" || len(lines) != 1 || lines[0] != (header{"Etag", "1"}) || params["responseCode"] != status {
			t.Errorf("%d is answered by %v", status, params)
		}
	}
}
