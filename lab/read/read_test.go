package read

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/teach/harmless/harmlesstest"
	"github.com/waggle-crawler/waggle/web"
)

// desk is the page with a pool of two topics of some pages each, and readers.
type desk struct {
	*Server
	t     testing.TB
	http  *httptest.Server
	saved []pool.Label
	fail  error // of saving

	mu    sync.Mutex
	heard []string // requests, keys left out
}

func address(t testing.TB, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// site is pages by address: "type:body".
type site map[string]string

func (s site) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	body, ok := s[u.String()]
	if !ok {
		return web.NotRecorded(u), nil
	}
	if to, ok := strings.CutPrefix(body, "moved:"); ok {
		l, err := web.Parse(to)
		return &web.Response{URL: u, Status: 301, Location: l}, err
	}
	kind, body, _ := strings.Cut(body, ":")
	return &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {kind}}, Body: []byte(body)}, nil
}

// sit makes a desk with six pages a topic; change may change its options.
func sit(t testing.TB, pages site, change func(*Options)) *desk {
	t.Helper()
	if pages == nil {
		pages = site{}
	}
	p := &pool.Pool{Revision: "r", Webs: []pool.Web{{Name: "hive", Documents: 12}}}
	for _, name := range []string{"bees", "cars"} {
		topic := pool.Topic{Web: "hive", Name: name}
		for n := range 6 {
			u := fmt.Sprintf("http://hive.test/%s/%d", name, n+1)
			topic.Pages = append(topic.Pages, pool.Page{URL: address(t, u)})
			if _, ok := pages[u]; !ok {
				pages[u] = fmt.Sprintf("text/html; charset=utf-8:<title>%s %d</title><nav><a href=/>Home</a></nav><p>%s", name, n+1, strings.Repeat("The "+name+" of page "+fmt.Sprint(n+1)+" go round and round and round again. ", 20))
			}
		}
		p.Topics = append(p.Topics, topic)
	}
	d := &desk{t: t}
	d.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Method + " " + strings.NewReplacer("/"+d.Token+"/", "/", "/"+d.Cap+"/", "/").Replace(r.URL.Path)
		d.mu.Lock()
		d.heard = append(d.heard, said)
		d.mu.Unlock()
		d.ServeHTTP(w, r)
	}))
	o := Options{
		Address: d.http.Listener.Addr().String(), Pool: p,
		Narratives: map[pool.Key]pool.Narrative{},
		Webs:       map[string]Web{"hive": {Fetcher: pages, Parser: parse.New(parse.Options{})}},
		Save: func(l ...pool.Label) error {
			if d.fail != nil {
				return d.fail
			}
			d.saved = append(d.saved, l...)
			return nil
		},
	}
	for i := range p.Topics {
		name := p.Topics[i].Name
		o.Narratives[p.Topics[i].Key()] = pool.Narrative{
			Mainly: "The page is mainly about " + name + ", such as how they live, work, dance and are kept, or one of them in particular.",
			Partly: "The page is about " + name + " in part, such as a section or an example in something else.",
			No:     "Nothing of the page is about " + name + ", or the word stands at most in a menu or a name."}
	}
	if change != nil {
		change(&o)
	}
	var err error
	if d.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	d.http.Start()
	t.Cleanup(d.http.Close)
	return d
}

func (d *desk) request(method, path string, header map[string]string, body string) (*http.Response, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.http.URL+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp, string(b)
}

// do asks as the controls do; failed is what they are told.
func (d *desk) do(name string, a request, answer any) (failed string) {
	d.t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		d.t.Fatal(err)
	}
	_, body := d.request("POST", "/do/"+name, map[string]string{harmless.TokenHeader: d.Token, "Origin": d.http.URL}, string(b))
	var said struct{ Error string }
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		d.t.Fatalf("%s: %s", name, body)
	}
	if answer != nil && said.Error == "" {
		if err := json.Unmarshal([]byte(body), answer); err != nil {
			d.t.Fatal(err)
		}
	}
	return said.Error
}

func (d *desk) kept() string {
	var s []string
	for _, l := range d.saved {
		s = append(s, fmt.Sprintf("%s%s %s %s/%d", l.Topic[:1], l.URL.String()[len("http://hive.test/bees/"):], l.Reader, l.Grade, l.Round))
	}
	return strings.Join(s, "; ")
}

// Readers grade by themselves; where they differ they look again, knowing what
// the other said; and each takes back labels of their own alone.
func TestReading(t *testing.T) {
	d := sit(t, nil, nil)
	var v topicView
	label := func(reader string, n int, grade string, round int) string {
		t.Helper()
		return d.do("label", request{Reader: reader, N: n, Grade: grade, Round: round}, &v)
	}
	page := func(reader string, n, round int) (p pageView) {
		t.Helper()
		if failed := d.do("page", request{Reader: reader, N: n, Round: round}, &p); failed != "" {
			t.Fatal(failed)
		}
		return p
	}
	none := func(failed string) {
		t.Helper()
		if failed != "" {
			t.Errorf("failed: %s", failed)
		}
	}
	refused := func(failed, want string) {
		t.Helper()
		if !strings.Contains(failed, want) {
			t.Errorf("told %q, want %s", failed, want)
		}
	}
	none(label("ada", 0, "2", 1))
	none(label("ada", 1, "0", 1))
	none(label("ada", 2, "?", 1))
	if v.Read != 3 || v.Pages != 6 || strings.Join(v.Grades, ",") != "2,0,?,,," || !v.Undo {
		t.Errorf("%+v", v)
	}
	if p := page("bob", 0, 2); p.Title != "bees 1" || p.Address.String() != "http://hive.test/bees/1" || len(p.Parts) != 2 || !p.Parts[1].Main || p.Others != nil {
		t.Errorf("%+v", p)
	}
	// bob is told nothing of ada's grades, whatever he asks.
	none(d.do("topic", request{Reader: "bob"}, &v))
	if v.Read != 0 || strings.Join(v.Grades, "") != "" || v.Again != 0 {
		t.Errorf("bob is told %+v", v)
	}
	refused(label("bob", 0, "1", 2), "nothing to look at again")
	none(label("bob", 0, "1", 1))
	none(label("bob", 1, "0", 1))
	none(label("bob", 2, "0", 1)) // ada cannot tell: no disagreement
	if fmt.Sprint(v.Differ) != "[true false false false false false]" || v.Again != 1 {
		t.Errorf("%+v", v)
	}
	// A slip can be undone until the other's grade was shown.
	if p := page("bob", 0, 1); p.Others != nil || !v.Undo {
		t.Errorf("bob is told %v, and undo is %v", p.Others, v.Undo)
	}
	none(label("bob", 0, "0", 1))
	var undone struct {
		topicView
		Topic int
	}
	none(d.do("undo", request{Reader: "bob"}, &undone))
	if undone.Page != 0 || undone.Grades[0] != "1" {
		t.Errorf("%+v", undone)
	}
	if p := page("bob", 0, 2); strings.Join(p.Others, ",") != "2" {
		t.Errorf("bob is told %v", p.Others)
	}
	if p := page("cy", 0, 2); p.Others != nil {
		t.Errorf("cy, who has not read the page, is told %v", p.Others)
	}
	// What was given in ignorance stays; the second look is kept beside it.
	refused(label("bob", 0, "2", 1), "your first grade stays")
	none(label("bob", 0, "2", 2))
	if v.Again != 0 || v.Second[0] != "2" || v.Grades[0] != "1" {
		t.Errorf("%+v", v)
	}
	none(d.do("undo", request{Reader: "bob"}, &undone))
	if undone.Page != 0 || undone.Round != 2 || undone.Again != 1 || undone.Topic != 0 {
		t.Errorf("%+v", undone)
	}
	none(d.do("undo", request{Reader: "bob"}, &undone))
	none(d.do("undo", request{Reader: "bob"}, &undone))
	if undone.Page != 1 || undone.Read != 1 {
		t.Errorf("%+v", undone)
	}
	if undone.Undo { // of page 0 bob was shown what ada said
		t.Error("undo is offered where nothing can be undone")
	}
	refused(d.do("undo", request{Reader: "bob"}, &undone), "nothing to be undone")
	// Changed, and changed back.
	none(label("ada", 1, "1", 1))
	none(label("ada", 1, "1", 1)) // as it is: nothing to keep
	none(d.do("undo", request{Reader: "ada"}, &undone))
	if undone.Page != 1 || undone.Grades[1] != "0" {
		t.Errorf("%+v", undone)
	}
	want := "b1 ada 2/1; b2 ada 0/1; b3 ada ?/1; b1 bob 1/1; b2 bob 0/1; b3 bob 0/1; b1 bob 0/1; b1 bob 1/1; b1 bob 2/2; b1 bob -/2; b3 bob -/1; b2 bob -/1; b2 ada 1/1; b2 ada 0/1"
	if got := d.kept(); got != want {
		t.Errorf("kept %s\nwant %s", got, want)
	}
	// Another day.
	again := sit(t, nil, func(o *Options) { o.Labels = d.saved; o.Reader = "ada" })
	var st state
	if failed := again.do("state", request{Reader: "ada"}, &st); failed != "" || st.Reader != "ada" || strings.Join(st.Readers, ",") != "ada,bob" || st.Topics[0].Read != 3 || st.Topics[0].Again != 1 {
		t.Errorf("another day: %q, %+v", failed, st)
	}
	none(again.do("undo", request{Reader: "ada"}, &undone))
	if undone.Page != 2 || undone.Read != 2 {
		t.Errorf("another day, undone: %+v", undone)
	}
	// Nobody knows any more whether ada was shown what bob said of page 0.
	refused(again.do("label", request{Reader: "ada", Grade: "0", Round: 1}, nil), "your first grade stays")
	none(again.do("undo", request{Reader: "ada"}, &undone))
	if undone.Page != 1 || undone.Undo {
		t.Errorf("another day, undone: %+v", undone)
	}

	for want, a := range map[string]request{
		`grade "3"`:              {Reader: "ada", N: 3, Grade: "3", Round: 1},
		`round 0`:                {Reader: "ada", N: 3, Grade: "2"},
		"no page 6 of topic 0":   {Reader: "ada", N: 6, Grade: "2", Round: 1},
		"no page 0 of topic 2":   {Reader: "ada", Topic: 2, Grade: "2", Round: 1},
		"no page -1 of topic 0":  {Reader: "ada", N: -1, Grade: "2", Round: 1},
		`reader ""`:              {N: 3, Grade: "2", Round: 1},
		"a name of 1 to 60 char": {Reader: "a\tb", N: 3, Grade: "2", Round: 1},
	} {
		refused(d.do("label", a, nil), want)
	}
	// A disk that is full: the grade does not count.
	d.fail = errors.New("no space left on device")
	refused(label("ada", 4, "2", 1), "not graded, because it could not be kept: no space left on device")
	refused(d.do("undo", request{Reader: "ada"}, nil), "not undone, because")
	none(d.do("topic", request{Reader: "ada"}, &v))
	if v.Grades[4] != "" || v.Grades[2] != "?" {
		t.Errorf("%+v", v)
	}
}

// A hostile page is served harmless: its links lead nowhere, its resources are
// numbers, and the policy around it holds.
func TestHostileServed(t *testing.T) {
	d := sit(t, nil, func(o *Options) { o.Images = true })
	pages := d.Webs["hive"].Fetcher.(site)
	pages["http://hive.test/bees/1"] = strings.ReplaceAll(harmlesstest.Hostile, "WAGGLE", d.http.URL)
	pages["http://college.test/evil.css"] = "moved:http://college.test/other.css"
	pages["http://college.test/other.css"] = `text/css:@import url(http://evil.test/i.css); h1 { background: url( "http://evil.test/1.png" ); color: red }`
	var p pageView
	if failed := d.do("page", request{Reader: "ada"}, &p); failed != "" {
		t.Fatal(failed)
	}
	if strings.ContainsAny(p.Title, "\x1b\x07\u202e") || len(p.Parts) == 0 {
		t.Errorf("%+v", p)
	}
	resp, doc := d.request("GET", p.Src, map[string]string{"Sec-Fetch-Dest": "iframe"}, "")
	if err := harmlesstest.Check(strings.ReplaceAll(doc, "/0/0/", "/1/"), d.Cap); err != nil {
		t.Error(err)
	}
	if strings.Contains(doc, "/page/"+d.Cap) || !strings.Contains(doc, ">Departments</a>") {
		t.Errorf("links lead somewhere, or are gone:\n%s", doc)
	}
	policy := resp.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "sandbox;") || strings.Contains(policy, "script-src") || strings.Contains(policy, "allow-") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("policy %s", policy)
	}
	sheets := 0
	for k, r := range d.look(t.Context(), 0, 0).Resources {
		resp, body := d.request("GET", fmt.Sprintf("/load/%s/0/0/%d", d.Cap, k), nil, "")
		if r.URL.String() == "http://college.test/evil.css" {
			sheets++
			if resp.StatusCode != 200 || strings.Contains(body, "evil.test") || !strings.Contains(body, "color: red") {
				t.Errorf("sheet: %d %s", resp.StatusCode, body)
			}
		} else if resp.StatusCode != 404 {
			t.Errorf("%s, which is not recorded: %d", r.URL, resp.StatusCode)
		}
	}
	if sheets != 1 {
		t.Errorf("%d sheets", sheets)
	}
}

// Strangers learn and do nothing.
func TestStrangers(t *testing.T) {
	d := sit(t, nil, nil)
	body := `{"reader":"ada","topic":0,"n":0,"grade":"2","round":1}`
	for name, c := range map[string]struct {
		method, path, body string
		header             map[string]string
		want               int
	}{
		"another name for this machine": {"GET", "/" + d.Token + "/", "", map[string]string{"Host": "rebound.evil.test"}, 421},
		"no token":                      {"POST", "/do/label", body, nil, 403},
		"a wrong token":                 {"POST", "/do/label", body, map[string]string{harmless.TokenHeader: d.Cap}, 403},
		"another site":                  {"POST", "/do/label", body, map[string]string{"Origin": "http://evil.test", harmless.TokenHeader: d.Token}, 403},
		"an opaque origin":              {"POST", "/do/label", body, map[string]string{"Origin": "null", harmless.TokenHeader: d.Token}, 403},
		"a label by GET":                {"GET", "/do/label", "", map[string]string{harmless.TokenHeader: d.Token}, 403},
		"the state without a token":     {"POST", "/do/state", "{}", nil, 403},
		"a guess at a page":             {"GET", "/page/AAAA/0/0/", "", nil, 403},
		"a page as an image":            {"GET", "/page/" + d.Cap + "/0/0/", "", map[string]string{"Sec-Fetch-Dest": "image"}, 403},
		"a page there is not":           {"GET", "/page/" + d.Cap + "/0/9/", "", nil, 404},
		"a number that is none":         {"GET", "/page/" + d.Cap + "/0/-1/", "", nil, 404},
		"a resource there is not":       {"GET", "/load/" + d.Cap + "/0/0/7", "", nil, 403},
		"a resource of no page":         {"GET", "/load/" + d.Cap + "/5/0/0", "", nil, 403},
		"unknown words":                 {"POST", "/do/label", `{"graed":"2"}`, map[string]string{harmless.TokenHeader: d.Token}, 400},
		"an unknown action":             {"POST", "/do/erase", body, map[string]string{harmless.TokenHeader: d.Token}, 404},
		"too much":                      {"POST", "/do/label", `{"reader":"` + strings.Repeat("x", maxAsked) + `"}`, map[string]string{harmless.TokenHeader: d.Token}, 400},
		"the root":                      {"GET", "/", "", nil, 403},
	} {
		resp, body := d.request(c.method, c.path, c.header, c.body)
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, not %d", name, resp.StatusCode, c.want)
		}
		if strings.Contains(body, d.Token) || strings.Contains(body, d.Cap) {
			t.Errorf("%s: the answer holds a key: %s", name, body)
		}
	}
	if len(d.saved) != 0 {
		t.Errorf("saved: %s", d.kept())
	}
	resp, body := d.request("GET", "/"+d.Token+"/", nil, "")
	policy := resp.Header.Get("Content-Security-Policy")
	if resp.StatusCode != 200 || !strings.Contains(body, `sandbox=""`) || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the controls: %d, %s", resp.StatusCode, policy)
	}
	for _, name := range []string{"app.js", "app.css", "base.css", "controls.js", "icon.svg"} {
		if resp, _ := d.request("GET", "/"+d.Token+"/"+name, nil, ""); resp.StatusCode != 200 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if _, err := New(Options{Address: "0.0.0.0:80"}); err == nil || !strings.Contains(err.Error(), "this machine only") {
		t.Errorf("an address for others: %v", err)
	}
}

// A page that is gone, or is none, is told of and can be graded all the same.
func TestPagesThatAreNone(t *testing.T) {
	pages := site{"http://hive.test/bees/1": "image/png:x", "http://hive.test/bees/2": "moved:http://hive.test/gone", "http://hive.test/bees/3": "text/plain:<b>bees</b> & more"}
	d := sit(t, pages, nil)
	for n, want := range []string{"neither HTML nor text", "status 404", "&lt;b&gt;bees&lt;/b&gt; &amp; more"} {
		var p pageView
		if failed := d.do("page", request{Reader: "ada", N: n}, &p); failed != "" {
			t.Errorf("page %d: %s", n, failed)
		}
		if _, doc := d.request("GET", p.Src, nil, ""); !strings.Contains(doc, want) {
			t.Errorf("page %d: %s", n, doc)
		}
		if failed := d.do("label", request{Reader: "ada", N: n, Grade: "?", Round: 1}, nil); failed != "" {
			t.Errorf("page %d: %s", n, failed)
		}
	}
}

// BenchmarkHundredPages is what the server takes of a reader's time for a hundred
// pages, each shown and graded, in a pool with 10,000 labels. The bar for a person,
// reading included, is 600 s. Baseline: 0.4 s on a busy core.
// rendered is a site whose pages a browser has made of what was sent.
type rendered struct{ site }

func (s rendered) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := s.site.Fetch(ctx, u)
	if sent, made, ok := strings.Cut(string(r.Body), "|made|"); ok {
		r.Body, r.Rendering = []byte(sent), &web.Rendering{Body: []byte(made)}
	}
	return r, err
}

// A page that was rendered is shown as the judge saw it, and not as it was sent; and a text in
// another encoding as text.
func TestShownAsJudged(t *testing.T) {
	pages := site{
		"http://hive.test/bees/1": `text/html; charset=iso-8859-1:<title>App</title><div id=app>Please wait</div><script src=/app.js></script>|made|<title>Bees</title><p>The honey bee visits a Blüte.`,
		"http://hive.test/bees/2": "text/plain; charset=iso-8859-1:Bees\n  in a <b>Bl\xfcte</b>",
	}
	d := sit(t, pages, func(o *Options) {
		w := o.Webs["hive"]
		w.Fetcher = rendered{pages}
		o.Webs["hive"] = w
	})
	for n, want := range []string{"<p>The honey bee visits a Blüte.", "<pre>\nBees\n  in a &lt;b&gt;Blüte&lt;/b&gt;</pre>"} {
		_, body := d.request("GET", fmt.Sprintf("/page/%s/0/%d/", d.Cap, n), nil, "")
		if !strings.Contains(body, want) || strings.Contains(body, "Please wait") {
			t.Errorf("page %d: want %q in\n%s", n, want, body)
		}
		var p pageView
		if failed := d.do("page", request{Reader: "ada", N: n, Round: 1}, &p); failed != "" || len(p.Parts) == 0 || !strings.Contains(p.Parts[0].Text, "Blüte") {
			t.Errorf("page %d as text: %+v %s", n, p, failed)
		}
	}
}

func BenchmarkHundredPages(b *testing.B) {
	const pages, topics = 1000, 10
	var labels []pool.Label
	recorded := site{}
	p := &pool.Pool{Revision: "r", Webs: []pool.Web{{Name: "hive", Documents: pages * topics}}}
	for i := range topics {
		t := pool.Topic{Web: "hive", Name: fmt.Sprint("t", i)}
		for n := range pages {
			u := address(b, fmt.Sprintf("http://hive.test/%d/%d", i, n))
			t.Pages = append(t.Pages, pool.Page{URL: u})
			recorded[u.String()] = "text/html:<title>a page</title>" + strings.Repeat("<p>Bees go round and round and round again, and dance.", 200)
			labels = append(labels, pool.Label{Key: t.Key(), URL: u, Grade: pool.Partly, Reader: "bob", Round: 1})
		}
		p.Topics = append(p.Topics, t)
	}
	d := sit(b, recorded, func(o *Options) {
		o.Pool, o.Labels = p, labels
		for i := range p.Topics {
			o.Narratives[p.Topics[i].Key()] = pool.Narrative{}
		}
	})
	round := 0
	for b.Loop() {
		reader := fmt.Sprint("ada ", round)
		round++
		for n := range 100 {
			if failed := d.do("page", request{Reader: reader, N: n}, nil) + d.do("label", request{Reader: reader, N: n, Grade: "2", Round: 1}, nil); failed != "" {
				b.Fatal(failed)
			}
		}
	}
}

// BenchmarkGradeInLargePool grades a page in a pool of 100,000 pages with as many
// labels, and takes the grade back; the bar is 10 ms for each of the two. Baseline on a
// busy core: 9 ms for both.
func BenchmarkGradeInLargePool(b *testing.B) {
	const pages, topics = 10_000, 10
	p := &pool.Pool{Revision: "r", Webs: []pool.Web{{Name: "hive", Documents: pages * topics}}}
	var labels []pool.Label
	for i := range topics {
		t := pool.Topic{Web: "hive", Name: fmt.Sprint("t", i)}
		for n := range pages {
			u := address(b, fmt.Sprintf("http://hive.test/%d/%d", i, n))
			t.Pages = append(t.Pages, pool.Page{URL: u})
			labels = append(labels, pool.Label{Key: t.Key(), URL: u, Grade: pool.Partly, Reader: "bob", Round: 1})
		}
		p.Topics = append(p.Topics, t)
	}
	d := sit(b, site{}, func(o *Options) {
		o.Pool, o.Labels = p, labels
		for i := range p.Topics {
			o.Narratives[p.Topics[i].Key()] = pool.Narrative{}
		}
	})
	for b.Loop() {
		failed := d.do("label", request{Reader: "ada", N: 7, Grade: "2", Round: 1}, nil) + d.do("undo", request{Reader: "ada"}, nil)
		if failed != "" {
			b.Fatal(failed)
		}
	}
}
