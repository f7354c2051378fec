package viewer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/collection"
	crawler "github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/viewer/figures"
	"github.com/waggle-crawler/waggle/viewer/watch"
	"github.com/waggle-crawler/waggle/web"
)

// site is a web by address: a body, or a type and a body behind "type:".
type site map[string]string

func (s site) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	body, ok := s[u.String()]
	r := &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: time.Now(), Head: []byte("HTTP/1.1 200 OK\r\nServer: a\x1b[31m\u202eb\r\n"),
		Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, RequestHead: []byte("GET " + u.RequestPath() + " HTTP/1.1\r\n\r\n"),
	}
	if to, moved := strings.CutPrefix(body, "moved:"); moved {
		r.Status, r.Header["Location"] = 301, []string{to}
		r.Location, _ = web.Parse(to)
		r.Head = []byte("HTTP/1.1 301 Moved\r\nLocation: " + to + "\r\n")
		body = ""
	}
	if !ok {
		r.Status, body = 404, "none"
		r.Head = []byte("HTTP/1.1 404 None\r\n")
	}
	r.Body = []byte(body)
	r.Raw = r.Body
	return r, nil
}

func bees() site {
	return site{
		"https://bees.test/":        `<title>Bees</title><p>The honey bee. <a href="/dance">the waggle dance</a> <a href="/cars">cars</a> <a href="/old">hive of the honey bee</a> <a href="/photo.png">photo</a> <a href="/gone">gone</a>`,
		"https://bees.test/dance":   `<title>Dance</title><p>The waggle dance of the honey bee. <a href="https://flowers.test/">flowers of the honey bee</a>`,
		"https://bees.test/cars":    `<title>Cars</title><p>Four wheels, and no insect. <a href="/wheels">wheels</a>`,
		"https://bees.test/old":     `moved:https://bees.test/hive`,
		"https://bees.test/hive":    `<title>Hive</title><p>A honey bee lives in a hive.`,
		"https://flowers.test/":     `<title>Flowers</title><p>The honey bee forages on flowers.`,
		"https://bees.test/wheels":  `<title>Wheels</title><p>Round.`,
		"https://bees.test/hostile": strings.TrimPrefix(harmlesstest.Hostile, "text/html; charset=utf-8:"),
	}
}

// crawled crawls a site into a new folder.
func crawled(t *testing.T, s site, seeds ...string) collection.Collection {
	t.Helper()
	return crawledBy(t, "bees", "", s, seeds...)
}

// crawlBy crawls to the end, and closes what that took.
func crawlBy(t *testing.T, m *job.Maker) {
	t.Helper()
	c, err := m.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Clock = &leapClock{}
	_, err = c.Run(t.Context())
	if err = errors.Join(err, m.Close(), m.Writer.Close()); err != nil {
		t.Fatal(err)
	}
}

// crawledBy crawls a site in a crawl of a name, by a scorer; "" is the default.
func crawledBy(t *testing.T, name, scorer string, s crawler.Fetcher, seeds ...string) collection.Collection {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bees")
	w, err := collection.At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	none := job.Duration(0)
	m := &job.Maker{Writer: w, Fetcher: s, Job: &job.Job{
		Name: name, Seeds: seeds, Topic: job.Topic{Keywords: []string{"honey bee"}}, Scorer: job.Scorer{Name: scorer}, Fetch: job.Fetch{Workers: 1}, Politeness: job.Politeness{Delay: &none},
	}}
	crawlBy(t, m)
	return w.Collection
}

// leapClock is ahead of the machine's by what was waited for: nobody waits long.
type leapClock struct {
	clock.System
	ahead atomic.Int64 // nanoseconds
}

func (c *leapClock) Now() time.Time { return c.System.Now().Add(time.Duration(c.ahead.Load())) }

func (c *leapClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	fire := make(chan time.Time, 1)
	t := time.AfterFunc(time.Millisecond, func() {
		c.ahead.Add(int64(d))
		fire <- c.Now()
	})
	return fire, func() { t.Stop() }
}

// desk is a page that is served.
type desk struct {
	*Server
	t    testing.TB
	http *httptest.Server
}

func serve(t testing.TB, crawls ...collection.Collection) *desk {
	t.Helper()
	return serveWith(t, Options{Collections: crawls})
}

func serveWith(t testing.TB, o Options) *desk {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	o.Address, o.Every = srv.Listener.Addr(), 10*time.Millisecond
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = s
	srv.Start()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done; srv.CloseClientConnections(); srv.Close() })
	d := &desk{s, t, srv}
	for _, c := range s.all() {
		c.until(t, (*watch.State).Read)
	}
	return d
}

// until waits for what is true of a crawl.
func (c *crawl) until(t testing.TB, is func(*watch.State) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if st, err := c.Until(ctx, is); err != nil {
		t.Fatalf("%v with %+v", err, st)
	}
}

// post posts JSON to an address of the first crawl as a program would, and returns the status and the answer.
func (d *desk) post(path, body string) (int, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.http.URL+"/api/crawls/1/"+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.key)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return got.StatusCode, strings.TrimSpace(string(b))
}

// ask asks as a program would.
func (d *desk) ask(path string, header ...string) (*http.Response, []byte) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.http.URL+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if len(header) == 0 {
		header = []string{"Authorization", "Bearer " + d.key}
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return got, b
}

func (d *desk) get(path string, into any) {
	d.t.Helper()
	got, b := d.ask("/api/crawls/1/" + path)
	if got.StatusCode != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, got.StatusCode, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		d.t.Fatalf("%s: %v in %s", path, err, b)
	}
}

// A page that was shown is shown anew once a crawl that was begun anew in the folder has fetched it.
func TestBegunAnew(t *testing.T) {
	col := crawled(t, site{"https://bees.test/": `<title>Bees</title><p>The honey bee of old.`}, "https://bees.test/")
	d := serve(t, col)
	shows := func(want string) {
		t.Helper()
		var got bodyView
		d.get("body?url="+url.QueryEscape("https://bees.test/"), &got)
		if len(got.Parts) == 0 || !strings.Contains(got.Parts[len(got.Parts)-1].Text, want) {
			t.Errorf("%+v, want %q", got.Parts, want)
		}
	}
	shows("of old")
	anew := crawled(t, site{"https://bees.test/": `<title>Anew</title><p>The honey bee of today.`}, "https://bees.test/")
	if err := errors.Join(os.RemoveAll(col.Dir()), os.Rename(anew.Dir(), col.Dir())); err != nil {
		t.Fatal(err)
	}
	var list watch.PageList
	d.crawls[0].until(t, func(*watch.State) bool {
		d.get("pages", &list)
		return len(list.Pages) == 1 && list.Pages[0].Title == "Anew"
	})
	shows("of today")
}

func TestPage(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/"))
	var st watch.State
	d.get("state", &st)
	if f := st.Figures; f.Pages != 6 || f.Relevant != 4 || f.Ended != "FrontierEmpty" || f.Waiting != 0 || st.Running || st.Reading != 1 {
		t.Errorf("%+v", st)
	}
	var list struct {
		Pages []figures.Page
		All   int
	}
	d.get("pages?verdict=relevant&text=honey+hive", &list)
	if list.All != 0 {
		t.Errorf("%+v", list)
	}
	d.get("pages?verdict=relevant&text=hive", &list)
	if list.All != 1 || list.Pages[0].Title != "Hive" {
		t.Errorf("%+v", list)
	}
	var p watch.Page
	var b bodyView
	d.get("page?url="+url.QueryEscape("https://bees.test/hive"), &p)
	d.get("body?url="+url.QueryEscape("https://bees.test/hive"), &b)
	var way []string
	for _, s := range p.Way {
		way = append(way, s.URL.RequestPath()+" "+string(s.Link)+" "+s.Meaning+" "+s.Anchor)
	}
	if got := strings.Join(way, "\n"); got != "/ seed seed \n/old a link hive of the honey bee\n/hive redirect redirect " {
		t.Errorf("the way:\n%s", got)
	}
	if !b.Archived || len(b.Parts) != 1 || b.Parts[0].Text != "A honey bee lives in a hive." || p.Way[1].Page || p.Way[1].Queued == nil {
		t.Errorf("%+v %+v", p, b)
	}
	d.get("body?url="+url.QueryEscape("https://bees.test/"), &b)
	fates := map[string]string{}
	for _, l := range b.Links {
		fates[l.URL.RequestPath()] = string(l.Fate.Fate) + " " + string(l.Reason)
	}
	for path, want := range map[string]string{"/dance": "fetched ", "/old": "moved redirect", "/photo.png": "skipped extension", "/gone": "failed status"} {
		if fates[path] != want {
			t.Errorf("%s: %q, want %q", path, fates[path], want)
		}
	}
	for _, h := range b.Headers {
		if h[0] == "Server" && h[1] != "a[31mb" {
			t.Errorf("%q", h)
		}
	}
	var g figures.Graph
	d.get("graph", &g)
	if len(g.Links) != 1 || g.Hosts[g.Links[0].From].Host != "bees.test" || g.Links[0].Relevant != 1 {
		t.Errorf("%+v", g)
	}
	var why struct{ Fate, Text string }
	d.get("explain?url="+url.QueryEscape("https://bees.test/gone"), &why)
	if why.Fate != "failed" || !strings.Contains(why.Text, "Fetched, but it brought no page") {
		t.Errorf("%+v", why)
	}
	for path, want := range map[string]int{
		"/api/crawls": 200, "/api/crawls/1/curve?points=3": 200, "/api/crawls/1/job": 200, "/api/crawls/1/hosts?order=rate": 200, "/api/crawls/1/frontier": 200,
		"/api/crawls/1/failures": 200, "/api/crawls/1/choices": 200,
		"/api/crawls/1/hosts?order=no": 400, "/api/crawls/1/hosts?oder=pages": 400, "/api/crawls?x": 400, "/api/crawls/1/pages?n=-1": 400, "/api/crawls/1/pages?least=NaN": 400, "/api/crawls/1/pages?since=x": 400, "/api/crawls/1/page?url=x": 400,
		"/api/crawls/1/page?url=http://nowhere.test/": 404, "/api/crawls/2/state": 404, "/api/nothing": 404, "/nothing": 404,
	} {
		if got, b := d.ask(path); got.StatusCode != want || want > 200 && strings.HasPrefix(path, "/api") && !json.Valid(b) {
			t.Errorf("%s: %d %s, want %d", path, got.StatusCode, b, want)
		}
	}
}

// Nobody but the person's page and who has the key is told anything.
func TestStrangers(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/hostile"))
	inside, cookie := "/"+d.folder+"/api/crawls", d.cookie()+"="+d.key
	port := d.http.URL[strings.LastIndexByte(d.http.URL, ':')+1:]
	for name, x := range map[string]struct {
		path   string
		header []string
		want   int
	}{
		"a program with the key":      {"/api/crawls", []string{"Authorization", "Bearer " + d.key}, 200},
		"a program without":           {"/api/crawls", []string{"Accept", "*/*"}, 403},
		"a wrong key":                 {"/api/crawls", []string{"Authorization", "Bearer " + d.key[1:]}, 403},
		"the page":                    {inside, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200},
		"the page by another name":    {inside, []string{"Cookie", cookie, "Host", "localhost:" + port}, 200},
		"a page of another port":      {inside, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 403},
		"a page of another site":      {inside, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403},
		"another origin":              {inside, []string{"Cookie", cookie, "Origin", "http://127.0.0.1:1"}, 403},
		"no origin, as in a sandbox":  {inside, []string{"Cookie", cookie, "Origin", "null"}, 403},
		"a name pointed here":         {inside, []string{"Cookie", cookie, "Host", "evil.test:" + port}, 421},
		"a name, with the key":        {"/api/crawls", []string{"Authorization", "Bearer " + d.key, "Host", "evil.test"}, 421},
		"another address":             {inside, []string{"Cookie", cookie, "Host", "10.0.0.1:" + port}, 421},
		"another port":                {inside, []string{"Cookie", cookie, "Host", "127.0.0.1:1"}, 421},
		"metrics without a key":       {"/metrics", []string{"Accept", "*/*"}, 403},
		"changes without a key":       {"/api/crawls/1/changes", []string{"Accept", "*/*"}, 403},
		"an archived page, wrong cap": {"/" + d.folder + "/page/x/1/1/", []string{"Cookie", cookie}, 403},
		"an archived page, no frame":  {"/" + d.folder + "/page/" + d.cap + "/1/1/", []string{"Sec-Fetch-Dest", "document"}, 403},
		"an archived page":            {"/" + d.folder + "/page/" + d.cap + "/1/1/", []string{"Sec-Fetch-Dest", "iframe"}, 200},
		"a file outside":              {"/" + d.folder + "/../../viewer.go", []string{"Cookie", cookie}, 400},
		"the page's files":            {"/" + d.folder + "/app.js", []string{"Accept", "*/*"}, 200},
	} {
		got, b := d.ask(x.path, x.header...)
		if got.StatusCode != x.want {
			t.Errorf("%s: %d %.80s, want %d", name, got.StatusCode, b, x.want)
		}
		if x.want != 200 && strings.Contains(string(b), d.key) {
			t.Errorf("%s: is told the key", name)
		}
		h := got.Header
		policy := h.Get("Content-Security-Policy")
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(policy, "default-src 'none'") || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", name, h)
		}
		if shown := strings.HasPrefix(name, "an archived page"); strings.Contains(policy, "unsafe") && !(shown && x.want == 200) || strings.Contains(policy, "unsafe-eval") {
			t.Errorf("%s: %s", name, policy)
		}
	}
	// The key becomes a cookie that only this page has.
	got, _ := d.ask(strings.TrimPrefix(d.URL(), d.http.URL), "Accept", "*/*")
	c := got.Cookies()
	if len(c) != 1 || c[0].Value != d.key || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Path != "/"+d.folder+"/" {
		t.Errorf("cookies %v", c)
	}
	if got, _ := d.ask("/"+d.folder+"/?key=wrong", "Accept", "*/*"); len(got.Cookies()) != 0 {
		t.Error("a wrong key becomes a cookie")
	}
	// Nothing can be changed by a form of another page.
	r, err := http.Post(d.http.URL+inside, "text/plain", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusForbidden {
		t.Errorf("a form: %d", r.StatusCode)
	}
}

// Of a long text as much is given as is wanted, with how much is left; by default all.
func TestLongText(t *testing.T) {
	s := bees()
	s["https://bees.test/dance"] = `<title>Dance</title><p>The waggle dance of bees.<p>` + strings.Repeat("é", 1000) + `<p>The end.`
	d := serve(t, crawled(t, s, "https://bees.test/"))
	for _, x := range []struct {
		more        string
		given, rest int
	}{{"", 1035, 0}, {"&text=2000", 1035, 0}, {"&text=524", 524, 511}, {"&text=25", 25, 1010}, {"&text=3", 3, 1032}} {
		var b bodyView
		d.get("body?url=https://bees.test/dance"+x.more, &b)
		given := 0
		for _, p := range b.Parts {
			if p.Text == "" {
				t.Errorf("%s: an empty part", x.more)
			}
			given += utf8.RuneCountInString(p.Text)
		}
		if given != x.given || b.Rest != x.rest {
			t.Errorf("%s: %d characters, %d more; want %d and %d", x.more, given, b.Rest, x.given, x.rest)
		}
	}
}

// A page with everything a page can try is shown without any of it, and told as text.
func TestHostilePage(t *testing.T) {
	d := serve(t, crawled(t, bees(), "https://bees.test/hostile"))
	var x watch.Page
	var p bodyView
	d.get("page?url="+url.QueryEscape("https://bees.test/hostile"), &x)
	d.get("body?url="+url.QueryEscape("https://bees.test/hostile"), &p)
	got, doc := d.ask("/"+d.folder+"/"+p.Src, "Sec-Fetch-Dest", "iframe")
	if got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, doc)
	}
	policy := got.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "sandbox; default-src 'none'; ") || strings.Contains(policy, "script-src") || got.Header.Get("X-Frame-Options") != "" {
		t.Errorf("%v", got.Header)
	}
	ours := strings.ReplaceAll(string(doc), "/"+d.folder+"/load/", "/load/")
	if err := harmlesstest.Check(strings.ReplaceAll(ours, "/load/"+d.cap+"/1/1/", "/load/CAP/1/"), "CAP"); err != nil {
		t.Error(err)
	}
	b, err := json.Marshal([]any{x, p})
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(b), "\x1b\x07\u202e<>") {
		t.Errorf("%.2000s", b)
	}
}

// The page follows a log that grows, is cut back and grows another way, goes and comes
// back, and one that is damaged.
func TestLogThatChanges(t *testing.T) {
	dir := t.TempDir()
	col := collection.At(dir)
	page := func(n int) []byte {
		u, err := web.Parse("http://a.test/" + string(rune('a'+n)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := event.AppendJSON(nil, event.Fetched{At: event.At{At: time.Unix(int64(n), 0).UTC()}, Visit: event.Visit{URL: u}, Status: 200, Relevance: 1, Relevant: true})
		if err != nil {
			t.Fatal(err)
		}
		return append(b, '\n')
	}
	write := func(parts ...[]byte) {
		t.Helper()
		var all []byte
		for _, p := range parts {
			all = append(all, p...)
		}
		if err := os.WriteFile(col.EventLog(), all, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(page(0))
	d := serve(t, col)
	c := d.crawls[0]
	is := func(pages int) func(*watch.State) bool {
		return func(s *watch.State) bool { return s.Figures.Pages == pages && s.Error == "" }
	}
	last := func() (list []figures.Page) {
		c.With(func(f *figures.Crawl) { list, _ = f.List(figures.Filter{Down: true, N: 1}) })
		return list
	}
	c.until(t, is(1))
	write(page(0), page(1), page(2)[:20]) // a line that is being written
	c.until(t, is(2))
	write(page(0), page(1), page(2))
	c.until(t, is(3))
	write(page(0), page(3), page(4), page(5)) // cut back to the first, and gone on otherwise
	c.until(t, func(s *watch.State) bool { return is(4)(s) && last()[0].URL == "http://a.test/f" })
	if err := os.Remove(col.EventLog()); err != nil {
		t.Fatal(err)
	}
	c.until(t, func(s *watch.State) bool { return s.Error != "" })
	var st watch.State
	d.get("state", &st)
	if !strings.Contains(st.Error, "does not hold the crawl any more") || st.Figures.Pages != 4 {
		t.Errorf("%+v", st)
	}
	write(page(0), []byte("{\"kind\":\"fetched\"}}\n"), page(1))
	c.until(t, func(s *watch.State) bool { return is(2)(s) && s.Damaged == 1 })
}

// A page that listens is told of changes as they come.
func TestChanges(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	log, err := os.ReadFile(col.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	half := log[:1+strings.LastIndexByte(string(log[:len(log)/2]), '\n')]
	if err := os.WriteFile(col.EventLog(), half, 0o644); err != nil {
		t.Fatal(err)
	}
	d := serve(t, col)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.http.URL+"/"+d.folder+"/api/crawls/1/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", d.cookie()+"="+d.key)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	next := func() (st watch.State) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &st); err != nil {
					t.Fatal(err)
				}
				return st
			}
		}
		t.Fatalf("no more is told: %v", lines.Err())
		return st
	}
	first := next()
	if err := os.WriteFile(col.EventLog(), log, 0o644); err != nil {
		t.Fatal(err)
	}
	for st := first; st.Figures.Ended == ""; {
		if st = next(); st.Revision <= first.Revision || st.Figures.Pages < first.Figures.Pages {
			t.Fatalf("%+v after %+v", st, first)
		}
	}
}

// A folder of crawls gives all of them; one that cannot be written to, or is damaged, is
// shown as well.
func TestFind(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	f, err := Find(filepath.Dir(col.Dir()))
	if list := f.Collections; err != nil || len(list) != 1 || list[0].Dir() != col.Dir() {
		t.Errorf("%v %v", list, err)
	}
	making := t.TempDir() // what a merge has not completed is no crawl yet
	if err := os.CopyFS(filepath.Join(making, "all"+collection.Merging), os.DirFS(col.Dir())); err != nil {
		t.Fatal(err)
	}
	if f, err := Find(making); !errors.Is(err, collection.ErrNone) {
		t.Errorf("a folder that is being merged: %v, %v", f.Collections, err)
	}
	if _, err := Find(t.TempDir()); !errors.Is(err, collection.ErrNone) {
		t.Error(err)
	}
	files, err := col.ArchiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Truncate(files[0], info.Size()/3), os.Remove(col.JobFile()), os.Chmod(col.Dir(), 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(col.Dir(), 0o755) })
	d := serve(t, col)
	var p watch.Page
	var b bodyView
	d.get("page?url="+url.QueryEscape("https://flowers.test/"), &p)
	d.get("body?url="+url.QueryEscape("https://flowers.test/"), &b)
	if b.Archived || b.Missing == "" || len(p.Way) != 3 {
		t.Errorf("%+v %+v", p, b)
	}
	if got, _ := d.ask("/api/crawls/1/job"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a job that is missing: %d", got.StatusCode)
	}
}
