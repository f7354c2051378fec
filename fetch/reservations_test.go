package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// tdmFiles are made-up sites with a file of reservations, by the address of a request; a
// request for another address is answered by 404.
type tdmFiles struct {
	answers map[string]func() (*web.Response, error)
	asked   []string
}

func (f *tdmFiles) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	f.asked = append(f.asked, u.String())
	if answer := f.answers[u.String()]; answer != nil {
		r, err := answer()
		if r != nil {
			r.URL = u
		}
		return r, err
	}
	return &web.Response{URL: u, Status: 404, Body: []byte("none")}, nil
}

func answers(status int, body string) func() (*web.Response, error) {
	return func() (*web.Response, error) { return &web.Response{Status: status, Body: []byte(body)}, nil }
}

func moves(to string) func() (*web.Response, error) {
	return func() (*web.Response, error) {
		u, err := web.Parse(to)
		return &web.Response{Status: 301, Location: u}, err
	}
}

func fails(f web.Failure) func() (*web.Response, error) {
	return func() (*web.Response, error) { own := f; return nil, &own }
}

// told is what is known of a page by its site, and what came of asking for that.
func told(r *web.Response) string {
	s := "nothing said"
	if r.Site.Said {
		s = map[bool]string{true: "reserved", false: "not reserved"}[r.Site.Reserved]
		if r.Site.Policy != "" {
			s += " by " + r.Site.Policy
		}
	}
	if f := r.SiteFile; f != nil {
		s += ", asked"
		if f.Response != nil {
			s += fmt.Sprintf(" (%s, status %d)", f.Response.URL, f.Response.Status)
		}
		if f.Rules > 0 {
			s += fmt.Sprintf(", %d rules", f.Rules)
		}
		if f.Wrong != "" {
			s += ", wrong: " + f.Wrong
		}
	}
	return s
}

func page(t *testing.T, address string) *web.Response {
	t.Helper()
	u, err := web.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &web.Response{URL: u, Status: 200, Body: []byte("a page")}
}

// What the sites of pages say, and how often they are asked. A page comes after those of
// the lines before it, and the next line of a site tells what is known of it.
func TestReservations(t *testing.T) {
	const file = "/.well-known/tdmrep.json"
	all := `[{"location":"/open/","tdm-reservation":0},{"location":"/","tdm-reservation":1,"tdm-policy":"https://all.test/terms"}]`
	busy := 0
	files := &tdmFiles{answers: map[string]func() (*web.Response, error){
		"https://all.test" + file:     answers(200, all),
		"http://all.test" + file:      answers(200, "<html>a page for whatever is asked</html>"),
		"https://torn.test" + file:    answers(200, all[:40]),
		"https://down.test" + file:    answers(503, ""),
		"https://moved.test" + file:   moves("https://www.moved.test/tdm"),
		"https://www.moved.test/tdm":  answers(200, all),
		"https://away.test" + file:    moves("https://all.test" + file),
		"https://round.test" + file:   moves("https://round.test" + file),
		"https://forbids.test" + file: fails(web.Failure{Reason: web.ReasonRobots, Detail: "robots.txt disallows it"}),
		"https://resets.test" + file:  fails(web.Failure{Reason: web.ReasonReset, Detail: "the connection broke"}),
		"https://crowded.test" + file: fails(web.Failure{Reason: web.ReasonBusy, RetryAfter: time.Hour, Detail: "its turn comes in an hour"}),
		"https://others.test" + file:  fails(web.Failure{Reason: web.ReasonBusy, Detail: "another worker asks it"}),
		"https://patient.test" + file: func() (*web.Response, error) {
			if busy++; busy < 3 {
				return nil, &web.Failure{Reason: web.ReasonBusy, RetryAfter: 40 * time.Second}
			}
			return answers(200, all)()
		},
	}}
	clock := newFastClock()
	path := filepath.Join(t.TempDir(), "tdmrep")
	begin := func() *fetch.Reservations {
		kept, err := fetch.OpenReservations(path, clock.Now, func(s string) { t.Error("noted", s) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { kept.Close() })
		return fetch.NewReservations(fetch.ReservationsOptions{Files: files, Clock: clock, Kept: kept})
	}
	sites := begin()
	for _, step := range []struct{ page, want string }{
		{"https://all.test/a", "reserved by https://all.test/terms, asked (https://all.test/.well-known/tdmrep.json, status 200), 2 rules"},
		{"https://all.test/open/b", "not reserved"},
		{"http://all.test/a", "nothing said, asked (http://all.test/.well-known/tdmrep.json, status 200)"},
		{"https://none.test/", "nothing said, asked (https://none.test/.well-known/tdmrep.json, status 404)"},
		{"https://none.test/b", "nothing said"},
		{"https://torn.test/", "nothing said, asked (https://torn.test/.well-known/tdmrep.json, status 200), wrong: it is damaged: unexpected EOF"},
		{"https://down.test/", "nothing said, asked (https://down.test/.well-known/tdmrep.json, status 503), wrong: it could not be had: status 503"},
		{"https://down.test/b", "nothing said"},
		{"https://moved.test/", "reserved by https://all.test/terms, asked (https://www.moved.test/tdm, status 200), 2 rules"},
		{"https://away.test/", "nothing said, asked (https://away.test/.well-known/tdmrep.json, status 301)"},
		{"https://round.test/", "nothing said, asked (https://round.test/.well-known/tdmrep.json, status 301)"},
		{"https://forbids.test/", "nothing said, asked"},
		{"https://resets.test/", "nothing said, asked, wrong: it could not be had: connection broken: the connection broke"},
		{"https://crowded.test/", "nothing said, asked, wrong: it could not be had: to be asked later: its turn comes in an hour"},
		{"https://others.test/", "nothing said, asked, wrong: it could not be had: to be asked later: another worker asks it"},
		{"https://patient.test/", "reserved by https://all.test/terms, asked (https://patient.test/.well-known/tdmrep.json, status 200), 2 rules"},
		{"the process dies, and another goes on", ""},
		{"https://all.test/c", "reserved by https://all.test/terms"},
		{"https://none.test/c", "nothing said"},
		{"https://down.test/c", "nothing said"},
		{"an hour later", ""},
		{"https://all.test/d", "reserved by https://all.test/terms"},
		{"https://down.test/d", "nothing said, asked (https://down.test/.well-known/tdmrep.json, status 503), wrong: it could not be had: status 503"},
		{"a week later", ""},
		{"https://all.test/e", "reserved by https://all.test/terms, asked (https://all.test/.well-known/tdmrep.json, status 200), 2 rules"},
	} {
		switch step.page {
		case "the process dies, and another goes on":
			sites = begin()
			continue
		case "an hour later":
			clock.advance(time.Hour)
			continue
		case "a week later":
			clock.advance(7 * 24 * time.Hour)
			continue
		}
		r := page(t, step.page)
		if err := sites.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := told(r); got != step.want {
			t.Errorf("%s:\n got %s\nwant %s", step.page, got, step.want)
		}
	}
	if busy != 3 {
		t.Errorf("%d requests to a site that had to be waited for, want 3", busy)
	}
}

// A file that has moved, of a site that wants a pause before each request: each address is asked
// once it may be, and none again. Its turns are waited for as long as that is bearable in all.
func TestReservationsMovedBehindPauses(t *testing.T) {
	const site = "https://slow.test"
	for _, c := range []struct {
		pause, wait time.Duration
		asked       string
		want        string
	}{
		{30 * time.Second, 0, "/.well-known/tdmrep.json /one /two", "reserved, asked (https://slow.test/two, status 200), 1 rules"},
		{70 * time.Second, 4 * time.Minute, "/.well-known/tdmrep.json /one /two", "reserved, asked (https://slow.test/two, status 200), 1 rules"},
		{70 * time.Second, 0, "/.well-known/tdmrep.json", "nothing said, asked (https://slow.test/.well-known/tdmrep.json, status 301), wrong: it could not be had: to be asked later: a pause"},
	} {
		clock := newFastClock()
		files := &tdmFiles{answers: map[string]func() (*web.Response, error){
			site + "/.well-known/tdmrep.json": moves(site + "/one"),
			site + "/one":                     moves(site + "/two"),
			site + "/two":                     answers(200, `[{"location":"/","tdm-reservation":1}]`),
		}}
		paced := &pacedFiles{Fetcher: files, clock: clock, pause: c.pause, next: clock.Now().Add(c.pause)}
		sites := fetch.NewReservations(fetch.ReservationsOptions{Files: paced, Clock: clock, Wait: c.wait})
		r := page(t, site+"/")
		if err := sites.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.Join(files.asked, " "), site, ""); got != c.asked || told(r) != c.want {
			t.Errorf("a pause of %v, a wait of %v: asked %s, want %s\n got %s\nwant %s", c.pause, c.wait, got, c.asked, told(r), c.want)
		}
	}
}

// pacedFiles asks to be asked again where a pause since the request before is not over.
type pacedFiles struct {
	fetch.Fetcher
	clock *fastClock
	pause time.Duration
	next  time.Time
}

func (p *pacedFiles) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if wait := p.next.Sub(p.clock.Now()); wait > 0 {
		return nil, &web.Failure{Reason: web.ReasonBusy, RetryAfter: wait, Detail: "a pause"}
	}
	p.next = p.clock.Now().Add(p.pause)
	return p.Fetcher.Fetch(ctx, u)
}

// The answer for robots.txt, where that is why the file is not asked for, is none for the file.
func TestReservationsRobotsAreNoAnswer(t *testing.T) {
	of, err := web.Parse("https://a.test/robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	files := &tdmFiles{answers: map[string]func() (*web.Response, error){
		"https://a.test/.well-known/tdmrep.json": fails(web.Failure{Reason: web.ReasonRobotsMissing, Detail: "status 503", Robots: &web.Response{URL: of, Status: 503}}),
	}}
	r := page(t, "https://a.test/")
	if err := fetch.NewReservations(fetch.ReservationsOptions{Files: files}).Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if f := r.SiteFile; f.Response != nil || f.Robots == nil || f.Robots.Status != 503 || f.Wrong == "" {
		t.Errorf("the file: %s; robots.txt: %+v", told(r), f.Robots)
	}
}

// Many sites have no such file: 30,000 of them are remembered, by a run and by the next.
func TestReservationsOfManySites(t *testing.T) {
	files, clock := &tdmFiles{}, newFastClock()
	path := filepath.Join(t.TempDir(), "tdmrep")
	const n = 30000
	for run := range 2 {
		kept, err := fetch.OpenReservations(path, clock.Now, func(s string) { t.Error("noted", s) })
		if err != nil {
			t.Fatal(err)
		}
		sites := fetch.NewReservations(fetch.ReservationsOptions{Files: files, Clock: clock, Kept: kept})
		for i := range 2 * n {
			if err := sites.Complete(t.Context(), page(t, fmt.Sprintf("https://h%d.test/", i%n))); err != nil {
				t.Fatal(err)
			}
		}
		if err := kept.Close(); err != nil {
			t.Fatal(err)
		}
		if len(files.asked) != n {
			t.Fatalf("after run %d: %d requests, want %d", run+1, len(files.asked), n)
		}
	}
}

// Only a page has its site asked.
func TestReservationsOfNoPage(t *testing.T) {
	files := &tdmFiles{}
	sites := fetch.NewReservations(fetch.ReservationsOptions{Files: files})
	for _, change := range []func(*web.Response){
		func(r *web.Response) { r.Status = 404 }, func(r *web.Response) { r.Status = 301 }, func(r *web.Response) { r.Status = 503 },
		func(r *web.Response) { r.Body = nil },
	} {
		r := page(t, "https://a.test/")
		change(r)
		if err := sites.Complete(t.Context(), r); err != nil || len(files.asked) > 0 {
			t.Errorf("status %d, %d bytes: asked %q, %v", r.Status, len(r.Body), files.asked, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sites.Complete(ctx, page(t, "https://a.test/")); !errors.Is(err, context.Canceled) {
		t.Errorf("a crawl that ends: %v", err)
	}
}

// The request for the file passes robots.txt, the gate and the address guard as those for pages
// do, and its body is bounded.
func TestReservationsOnTheNetwork(t *testing.T) {
	var order []string
	var began []time.Time
	file := `[{"location":"/","tdm-reservation":1}]`
	robots := "User-agent: *\nDisallow: /secret"
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		order, began = append(order, r.URL.Path), append(began, time.Now())
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, robots)
		case "/.well-known/tdmrep.json":
			fmt.Fprint(w, file)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "a page")
		}
	})
	const delay = 20 * time.Millisecond
	fetched := func() *web.Response {
		order, began = nil, nil
		f := direct(t, func(o *fetch.Options) { o.IgnoreRobots, o.Reservations, o.Delay = false, true, delay })
		u, err := web.Parse(at + "a")
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Fetch(t.Context(), u)
		if err == nil {
			err = f.Complete(t.Context(), r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := fetched()
	if got := strings.Join(order, " "); got != "/robots.txt /a /.well-known/tdmrep.json" || !r.Site.Reserved {
		t.Errorf("asked for %s: %s", got, told(r))
	}
	for i := 1; i < len(began); i++ {
		if d := began[i].Sub(began[i-1]); d < delay {
			t.Errorf("request %d came %v after the one before", i+1, d)
		}
	}
	file = strings.Repeat(" ", 600<<10) + file
	if r = fetched(); r.Site.Said || len(r.SiteFile.Response.Body) > 501<<10 {
		t.Errorf("a file without an end: %s, %d bytes read", told(r), len(r.SiteFile.Response.Body))
	}
	file = "[" + strings.Repeat(" ", 600<<10) + "]"
	if r = fetched(); !strings.Contains(told(r), "wrong: it is longer than 500 KiB") {
		t.Errorf("a long file: %s", told(r))
	}
	robots = "User-agent: *\nDisallow: /.well-known/"
	if r = fetched(); strings.Contains(strings.Join(order, " "), "tdmrep") || r.Site.Said {
		t.Errorf("robots.txt forbids it: asked for %q, %s", order, told(r))
	}
}

// A file whose body breaks counts as broken only where it holds rules: elsewhere its status tells all.
func TestBrokenBodiesOfFiles(t *testing.T) {
	for _, c := range []struct {
		status    int
		truncated string
		missing   bool
	}{
		{200, "disconnect", true}, {200, "time", true}, {200, "length", false}, {404, "disconnect", false},
		{404, "time", false}, {403, "disconnect", false}, {429, "disconnect", true}, {503, "disconnect", true}, {503, "", true},
	} {
		files := fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
			return &web.Response{URL: u, Status: c.status, Truncated: c.truncated, Body: []byte("[broken")}, nil
		})
		pages := fetcherFunc(func(_ context.Context, u web.URL) (*web.Response, error) {
			return &web.Response{URL: u, Status: 200, Body: []byte("a page")}, nil
		})
		name := fmt.Sprintf("status %d, cut by %q", c.status, c.truncated)
		robots := fetch.NewRobots(fetch.RobotsOptions{Pages: pages, Files: files, Clock: newFastClock()})
		_, err := robots.Fetch(t.Context(), address(t, "https://a.test/"))
		f := (*web.Failure)(nil)
		if missing := errors.As(err, &f) && f.Reason == web.ReasonRobotsMissing; missing != c.missing || !missing && err != nil {
			t.Errorf("robots.txt, %s: %v", name, err)
		}
		if c.truncated == "length" {
			continue // tdmrep.json is damaged
		}
		r := page(t, "https://a.test/")
		if err := fetch.NewReservations(fetch.ReservationsOptions{Files: files, Clock: newFastClock()}).Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if missing := r.SiteFile.Wrong != ""; missing != c.missing {
			t.Errorf("tdmrep.json, %s: %s", name, told(r))
		}
	}
}
