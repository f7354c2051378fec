package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// wiki is a server that speaks MediaWiki's protocol: articles at /wiki/TITLE,
// api.php with siteinfo and backlinks in batches of at most most.
type wiki struct {
	*httptest.Server
	links  map[string][]string // title → titles it links to
	most   int
	mu     sync.Mutex
	asked  []string // questions to the API, and articles fetched
	lagged int      // answers of "maxlag" yet to be given
	robots string
}

func newWiki(t *testing.T, links map[string][]string) *wiki {
	w := &wiki{links: links, most: 2}
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(rw, w.robots)
	})
	mux.HandleFunc("/w/api.php", w.api)
	mux.HandleFunc("/wiki/", w.article)
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	return w
}

func (w *wiki) note(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, s)
}

func (w *wiki) count(prefix string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.asked {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func (w *wiki) article(rw http.ResponseWriter, r *http.Request) {
	title := strings.ReplaceAll(strings.TrimPrefix(r.URL.Path, "/wiki/"), "_", " ")
	w.note("page " + title)
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	links, ok := w.links[title]
	if !ok {
		rw.WriteHeader(404)
	}
	fmt.Fprintf(rw, "<title>%s</title><p>About %[1]s.", title)
	for _, l := range links {
		fmt.Fprintf(rw, ` <a href="/wiki/%s">%s</a>`, strings.ReplaceAll(l, " ", "_"), l)
	}
}

func (w *wiki) api(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.note("api " + q.Get("bltitle"))
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	answer := map[string]any{"batchcomplete": true}
	w.mu.Lock()
	lag := w.lagged > 0
	w.lagged--
	w.mu.Unlock()
	switch {
	case q.Get("format") != "json" || q.Get("formatversion") != "2" || q.Get("maxlag") == "":
		answer = map[string]any{"error": map[string]string{"code": "bad", "info": "asked otherwise than this server understands"}}
	case lag:
		rw.Header().Set("Retry-After", "7")
		answer = map[string]any{"error": map[string]string{"code": "maxlag", "info": "Waiting for a database server"}}
	case q.Get("meta") == "siteinfo":
		answer["query"] = map[string]any{"general": map[string]string{"articlepath": "/wiki/$1", "server": "//" + r.Host}}
	case q.Get("list") == "backlinks":
		var from []string
		for title, links := range w.links {
			if slices.Contains(links, q.Get("bltitle")) {
				from = append(from, title)
			}
		}
		slices.Sort(from)
		begin := 0
		if c := q.Get("blcontinue"); c != "" {
			begin, _ = strconv.Atoi(strings.TrimPrefix(c, "0|"))
		}
		limit, _ := strconv.Atoi(q.Get("bllimit"))
		end := min(begin+min(limit, w.most), len(from))
		list := []map[string]any{}
		for i, title := range from[begin:end] {
			list = append(list, map[string]any{"pageid": begin + i, "ns": 0, "title": title})
		}
		if end < len(from) {
			answer["continue"] = map[string]string{"blcontinue": fmt.Sprintf("0|%d", end), "continue": "-||"}
		}
		answer["query"] = map[string]any{"backlinks": list}
	}
	json.NewEncoder(rw).Encode(answer)
}

// jump is a clock that does not wait but goes ahead, and counts what it was to wait.
type jump struct {
	mu     sync.Mutex
	waited []time.Duration
	ahead  time.Duration // of the machine's clock
}

func (j *jump) Now() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Now().Add(j.ahead)
}

func (j *jump) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waited = append(j.waited, d)
	j.ahead += max(d, 0)
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c, func() {}
}

// stack fetches from servers on loopback, and waits for nothing.
func stack(t *testing.T, o fetch.Options) *fetch.Stack {
	t.Helper()
	o.AllowPrivate, o.Clock = true, &jump{}
	if o.Delay == 0 {
		o.Delay = -1
	}
	s, err := fetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func address(t testing.TB, s string) web.URL { return addresses(t, s)[0] }

// parserBy is what Load asks for.
func parserBy(c web.Canon) Parser { return parse.New(parse.Options{Canon: c}) }

var jsonType = []string{"application/json"}

func TestMediaWikiAsksWhatLinksHere(t *testing.T) {
	w := newWiki(t, map[string][]string{
		"Waggle dance": nil, "Bee": {"Waggle dance"}, "Honey & wax (bees)": {"Waggle dance"}, "Karl von Frisch": {"Waggle dance", "Bee"},
		"Öland": {"Waggle dance"}, "Unrelated": {"Bee"},
	})
	w.lagged = 1
	c := &jump{}
	m, err := NewMediaWiki(t.Context(), address(t, w.URL+"/w/api.php"), stack(t, fetch.Options{Types: jsonType, IgnoreRobots: true}), c)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(c.waited) != "[7s]" {
		t.Errorf("a wiki that asked for a pause of 7s was given %v", c.waited)
	}
	layer := addresses(t, w.URL+"/wiki/Waggle_dance", w.URL+"/wiki/Unrelated", w.URL+"/other", "http://elsewhere.example/wiki/Bee", w.URL+"/wiki/Bee?action=history")
	named, err := m.Inlinks(t.Context(), layer, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll("W/wiki/Bee W/wiki/Honey_%26_wax_(bees) W/wiki/Karl_von_Frisch W/wiki/%C3%96land |  |  |  | ", "W", w.URL)
	var got []string
	for _, of := range named {
		if of.Cut {
			t.Error("a list told to its end is said to be cut")
		}
		var names []string
		for _, u := range of.Pages {
			names = append(names, u.String())
		}
		got = append(got, strings.Join(names, " "))
	}
	if s := strings.Join(got, " | "); s != want {
		t.Errorf("named %s\nwant  %s", s, want)
	}
	if n := w.count("api Waggle dance"); n != 2 {
		t.Errorf("four in-links, two at a time, took %d questions", n)
	}
	if named, err = m.Inlinks(t.Context(), layer[:1], 3); err != nil || len(named[0].Pages) != 3 || named[0].Cut {
		t.Errorf("with a limit of three: %v, %v", named, err)
	}
}

func TestMediaWikiErrors(t *testing.T) {
	w := newWiki(t, nil)
	s := stack(t, fetch.Options{Types: jsonType, IgnoreRobots: true})
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, `{"hello": 1}`)
	}))
	t.Cleanup(other.Close)
	w.lagged = 100
	text := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, map[string]string{"/w/text": "hello", "/w/list": "[1]", "/w/number": `{"query": 5}`}[r.URL.Path])
	}))
	t.Cleanup(text.Close)
	for _, path := range []string{"/w/text", "/w/list", "/w/number"} {
		_, err := NewMediaWiki(t.Context(), address(t, text.URL+path), s, &jump{})
		if err == nil || !strings.Contains(err.Error(), "MediaWiki API") || strings.Contains(err.Error(), "struct") || strings.Contains(err.Error(), "json:") {
			t.Errorf("%s: error %v, want one for people", path, err)
		}
	}
	for says, api := range map[string]string{
		"is busy; the same command goes on later": w.URL + "/w/api.php",
		"answers 404: is the address right?":      w.URL + "/api.php",
		"is it a MediaWiki API?":                  other.URL + "/w/api.php",
	} {
		if _, err := NewMediaWiki(t.Context(), address(t, api), s, &jump{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}

// An answer that goes on for ever, by a new mark each time, comes to an end:
// when it names nothing new, and when it names one page more each time.
func TestMediaWikiWithoutEnd(t *testing.T) {
	for name, want := range map[string]struct {
		title     func(question int) string
		questions int
		named     int
	}{
		"nothing new":   {func(int) string { return "Bee" }, 1 + maxStale, 1},
		"nothing":       {func(int) string { return "" }, maxStale, 0},
		"one at a time": {func(n int) string { return fmt.Sprint("Bee ", n) }, maxQuestions, maxQuestions},
	} {
		asked := 0
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			if r.URL.Query().Get("list") != "backlinks" {
				fmt.Fprintf(rw, `{"query": {"general": {"articlepath": "/wiki/$1", "server": "http://%s"}}}`, r.Host)
				return
			}
			asked++
			fmt.Fprintf(rw, `{"continue": {"blcontinue": "0|%d"}, "query": {"backlinks": [{"title": %q}]}}`, asked, want.title(asked))
		}))
		m, err := NewMediaWiki(t.Context(), address(t, srv.URL+"/w/api.php"), stack(t, fetch.Options{Types: jsonType, IgnoreRobots: true}), &jump{})
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		m.Asked = func(string) { shown++ }
		named, err := m.Inlinks(t.Context(), addresses(t, srv.URL+"/wiki/Goal"), 100_000)
		srv.Close()
		if err != nil || len(named[0].Pages) != want.named || !named[0].Cut || asked != want.questions || shown != asked {
			t.Errorf("%s: %d pages by %d questions, %d of them told of (%v); want %d by %d, cut", name, len(named[0].Pages), asked, shown, err, want.named, want.questions)
		}
	}
}

// Collecting over the network: in-links from the wiki, pages from its articles,
// obeying robots.txt; and what was fetched and answered is not asked again when
// the collection goes on.
func TestCollectFromAWiki(t *testing.T) {
	w := newWiki(t, map[string][]string{
		"Goal": nil, "A": {"Goal"}, "B": {"Goal"}, "Forbidden": {"Goal"}, "C": {"A"}, "D": {"C", "Goal"},
	})
	w.robots = "User-agent: *\nDisallow: /wiki/Forbidden\nDisallow: /w/\n"
	dir := t.TempDir()
	run := func() *Graph {
		m, err := NewMediaWiki(t.Context(), address(t, w.URL+"/w/api.php"), stack(t, fetch.Options{Types: jsonType, IgnoreRobots: true}), nil)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := NewLive(stack(t, fetch.Options{}), parse.New(parse.Options{}), web.Canon{}, PagesPath(dir), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer pages.Close()
		in := KeptAnswers{From: m, Path: InlinksPath(dir), Batch: 1}
		g, err := Collect(t.Context(), &topic.Topic{Name: "goal", Keywords: []string{"goal"}}, addresses(t, w.URL+"/wiki/Goal"), in, pages, CollectOptions{Workers: 4})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := run()
	var got []string
	for _, n := range g.Nodes {
		got = append(got, fmt.Sprintf("%s %d", strings.TrimPrefix(n.URL.Path(), "/wiki/"), n.Layer))
	}
	if s := strings.Join(got, ", "); s != "Goal 0, A 1, B 1, D 1, C 2" {
		t.Errorf("nodes %s", s)
	}
	if g.Found.NoPage != 1 || w.count("page Forbidden") != 0 {
		t.Errorf("a page that robots.txt forbids was asked for %d times (%+v)", w.count("page Forbidden"), g.Found)
	}
	if err := Save(dir, g, store.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	pages, questions := w.count("page "), w.count("api ")
	if again := run(); again.Digest(nil) != g.Digest(nil) {
		t.Error("going on gives another graph")
	}
	if n := w.count("page "); n != pages {
		t.Errorf("going on fetched %d pages anew", n-pages)
	}
	if n := w.count("api "); n != questions+1 { // the site's own facts
		t.Errorf("going on asked %d questions anew", n-questions-1)
	}
	loaded, err := Load(t.Context(), dir, parserBy)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Digest(nil) != g.Digest(nil) {
		t.Error("the graph read from its folder is another")
	}
}

// A live source follows redirects, fetches once what is asked for twice, knows
// http and https of an address for one, and says why there is no page.
func TestLive(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		rw.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/old":
			http.Redirect(rw, r, "/new?utm_source=x", http.StatusMovedPermanently)
		case "/loop":
			http.Redirect(rw, r, "/loop", http.StatusFound)
		case "/busy":
			rw.WriteHeader(503)
		case "/absent", "/robots.txt":
			rw.WriteHeader(404)
		case "/private":
			fmt.Fprint(rw, `<meta name=robots content=noarchive>secret`)
		default:
			fmt.Fprint(rw, "<p>words")
		}
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	canon := web.Canon{StripTracking: true}
	open := func() *Live {
		l, err := NewLive(stack(t, fetch.Options{Canon: canon}), parserBy(canon), canon, dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if p, err := l.Page(t.Context(), address(t, srv.URL+"/old")); err != nil || p.URL != address(t, srv.URL+"/new") {
				t.Errorf("page %v, error %v", p, err)
			}
		})
	}
	wg.Wait()
	if asked["/old"] != 1 || asked["/new"] != 1 {
		t.Errorf("asked %v", asked)
	}
	https := strings.Replace(srv.URL, "http:", "https:", 1)
	for link, want := range map[string]string{
		srv.URL + "/old": srv.URL + "/new",
		https + "/old":   srv.URL + "/new",
		https + "/new":   srv.URL + "/new",
		https + "/else":  https + "/else",
	} {
		if got := l.Resolve(address(t, link)); got != address(t, want) {
			t.Errorf("%s leads to %s, want %s", link, got, want)
		}
	}
	for path, says := range map[string]string{"/loop": "moved", "/busy": "status 503", "/absent": "holds no document"} {
		if _, err := l.Page(t.Context(), address(t, srv.URL+path)); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), ErrNoPage.Error()) {
			t.Errorf("%s: error %v, want one that says %q", path, err, says)
		}
	}
	if _, err := l.Page(t.Context(), address(t, srv.URL+"/private")); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open()
	defer l.Close()
	if n := l.Fetched(); n != 1 {
		t.Errorf("%d pages were kept, want /new alone: /private asks not to be kept", n)
	}
	if p, err := l.Page(t.Context(), address(t, srv.URL+"/old")); err != nil || p.URL != address(t, srv.URL+"/new") || asked["/new"] != 1 {
		t.Errorf("opened again, /old leads to %v, %v, after %d requests for it", p, err, asked["/new"])
	}
}

// cancelFetcher is a fetcher that cancels after so many fetches.
type cancelFetcher struct {
	Fetcher
	left   atomic.Int32
	cancel func()
}

func (s *cancelFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if s.left.Add(-1) < 0 {
		s.cancel()
	}
	return s.Fetcher.Fetch(ctx, u)
}

// A collection that is stopped anywhere goes on to the graph it would have given.
func TestCollectGoesOn(t *testing.T) {
	links := map[string][]string{"Goal": nil}
	for i := range 6 {
		links[fmt.Sprint("P", i)] = []string{"Goal", fmt.Sprint("P", (i+1)%6)}
		links[fmt.Sprint("Q", i)] = []string{fmt.Sprint("P", i)}
	}
	w := newWiki(t, links)
	s := stack(t, fetch.Options{})
	m, err := NewMediaWiki(t.Context(), address(t, w.URL+"/w/api.php"), stack(t, fetch.Options{Types: jsonType, IgnoreRobots: true}), nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(dir string, after int) (*Graph, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := &cancelFetcher{Fetcher: s, cancel: cancel}
		f.left.Store(int32(after))
		pages, err := NewLive(f, parse.New(parse.Options{}), web.Canon{}, PagesPath(dir), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer pages.Close()
		in := KeptAnswers{From: m, Path: InlinksPath(dir), Batch: 1}
		return Collect(ctx, &topic.Topic{}, addresses(t, w.URL+"/wiki/Goal"), in, pages, CollectOptions{Workers: 1})
	}
	whole, err := run(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stops := 0
	for {
		g, err := run(dir, 2)
		if err == nil {
			if g.Digest(nil) != whole.Digest(nil) {
				t.Error("stopped and gone on with, the graph is another")
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if stops++; stops > 20 {
			t.Fatal("it does not come to an end")
		}
	}
	if stops < 3 {
		t.Errorf("it was stopped %d times: the test tests nothing", stops)
	}
}

// brokenFetcher is a fetcher to which nobody answers from a fetch on, or no page alone.
type brokenFetcher struct {
	Fetcher
	left  int
	pages bool
}

func (b *brokenFetcher) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if b.left--; b.left < 0 && (!b.pages || u.Path() != "/robots.txt") {
		return nil, &web.Failure{Reason: web.ReasonDNS, Detail: "no such host"}
	}
	return b.Fetcher.Fetch(ctx, u)
}

// A collection whose network goes down ends, and goes on to the graph it would have given;
// pages that are gone do not end it.
func TestCollectWithoutNetwork(t *testing.T) {
	links := map[string][]string{"Goal": nil}
	for i := range 2*mostSilent + 4 {
		links[fmt.Sprint("P", i)] = []string{"Goal"}
	}
	w := newWiki(t, links)
	s := stack(t, fetch.Options{})
	m, err := NewMediaWiki(t.Context(), address(t, w.URL+"/w/api.php"), stack(t, fetch.Options{Types: jsonType, IgnoreRobots: true}), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		f     *brokenFetcher
		ends  bool
		nodes int
	}{
		{f: &brokenFetcher{Fetcher: s, left: 4}, ends: true},
		{f: &brokenFetcher{Fetcher: s, left: 1, pages: true}, nodes: 5},
		{f: &brokenFetcher{Fetcher: s, left: 1000}, nodes: 1 + 2*mostSilent + 4},
	} {
		pages, err := NewLive(c.f, parse.New(parse.Options{}), web.Canon{}, PagesPath(dir), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := Collect(t.Context(), &topic.Topic{}, addresses(t, w.URL+"/wiki/Goal"), m, pages, CollectOptions{Workers: 1})
		switch {
		case c.ends && (err == nil || errors.Is(err, ErrNoPage) || !strings.Contains(err.Error(), "the same command goes on")):
			t.Errorf("without a network: %v, error %v", g, err)
		case !c.ends && (err != nil || len(g.Nodes) != c.nodes):
			t.Errorf("%+v: error %v, %d nodes, want %d", c.f, err, len(g.Nodes), c.nodes)
		}
		if err := pages.Close(); err != nil {
			t.Error(err)
		}
	}
}

// goneHosts is a web of which some hosts are gone.
type goneHosts map[string]bool

func (g goneHosts) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	if g[string(u.Host())] {
		return nil, &web.Failure{Reason: web.ReasonDNS, Detail: "no such host"}
	}
	return &web.Response{URL: u, Status: 404}, nil
}

// The network is down where none of the hosts that answered last answers any more, in this run or
// an earlier one; that the very last of them is gone does not end a collection.
func TestGoneHostIsNotTheNetwork(t *testing.T) {
	dir := t.TempDir()
	gone := goneHosts{}
	run := func(ask func(p *Live)) {
		t.Helper()
		p, err := NewLive(gone, parse.New(parse.Options{}), web.Canon{}, dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ask(p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(p *Live, u string) error {
		_, err := p.Page(t.Context(), address(t, u))
		return err
	}
	run(func(p *Live) {
		for _, u := range []string{"https://a.test/", "https://b.test/", "https://b.test/2"} {
			if err := ask(p, u); !errors.Is(err, ErrNoPage) {
				t.Fatal(err)
			}
		}
	})
	for i := range mostSilent {
		gone[fmt.Sprintf("gone%d.test", i)] = true
	}
	for host, ends := range map[string]bool{"b.test": false, "a.test": true} {
		if ends {
			gone["b.test"] = true
		}
		gone[host] = true
		run(func(p *Live) {
			var err error
			for i := range mostSilent {
				err = ask(p, fmt.Sprintf("https://gone%d.test/", i))
			}
			if errors.Is(err, ErrNoPage) == ends {
				t.Errorf("%v are gone, the network is down (want %v): %v", gone, ends, err)
			}
		})
		delete(gone, host)
		delete(gone, "b.test")
	}
}
