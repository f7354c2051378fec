package teach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach/harmless"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// site is a web in memory: what each address answers, as "text/html:BODY",
// "→ADDRESS" for a redirect, or "down".
type site struct {
	pages map[string]string
	mu    sync.Mutex
	asked []string
}

func (s *site) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, u.String())
	s.mu.Unlock()
	is, ok := s.pages[u.String()]
	if to, moved := strings.CutPrefix(is, "→"); moved {
		at, err := web.Parse(to)
		if err != nil {
			return nil, err
		}
		return &web.Response{URL: u, Status: 302, Header: web.Header{"Location": {to}}, Location: at}, nil
	}
	if is == "down" {
		return nil, &web.Failure{Reason: web.ReasonConnect, Detail: "no connection \x1b[31m"}
	}
	if !ok {
		return &web.Response{URL: u, Status: 404, Header: web.Header{"Content-Type": {"text/html"}}, Body: []byte("no")}, nil
	}
	kind, body, _ := strings.Cut(is, ":")
	return &web.Response{URL: u, Status: 200, Header: web.Header{
		"Content-Type": {kind}, "Refresh": {"0;url=http://evil.test/"}, "Set-Cookie": {"a=b"}, "Link": {"<http://evil.test/x.css>;rel=preload"},
	}, Body: []byte(body)}, nil
}

// college is a small site to teach on.
func college() map[string]string {
	page := func(title, body string) string {
		return "text/html; charset=utf-8:<!DOCTYPE html><title>" + title + `</title><link rel=stylesheet href=/site.css><body><h1>` + title + "</h1>" + body
	}
	return map[string]string{
		"http://college.test/": page("College of Bees", `<p>Welcome. See the <a href="/dept/">Departments</a>, the <a href=/news>News</a> or
			the <a href="http://other.test/">other college</a>.<p><a href="/moved">Courses, moved</a> <a href="/gone">Gone</a> <a href="/down">Down</a> <a href="mailto:x@y">Mail</a>`),
		"http://college.test/dept/":             page("Departments", `<ul><li><a href="courses.html">Courses</a><li><a href=people>People</a></ul><a href="/">Home</a>`),
		"http://college.test/dept/courses.html": page("Courses", `<ol><li><a href="bee101">Bees 101</a><li><a href="bee102">Bees 102</a></ol>`),
		"http://college.test/dept/bee101":       page("Bees 101", "The waggle dance."),
		"http://college.test/dept/bee102":       page("Bees 102", "Drones."),
		"http://college.test/dept/people":       page("People", "Ann."),
		"http://college.test/news":              "text/plain:Nothing <b>new</b>.",
		"http://college.test/moved":             "→http://college.test/dept/courses.html",
		"http://college.test/down":              "down",
		"http://college.test/site.css":          `text/css:@import "http://evil.test/a.css"; body{background:#eef url(http://evil.test/b.png);font-family:sans-serif}`,
		"http://other.test/":                    page("Other College", ""),
		"http://away.test/":                     "→http://other.test/",
	}
}

// desk is a server with somebody sitting at it who calls the actions as the
// controls do.
type desk struct {
	*Server
	t     *testing.T
	http  *httptest.Server
	site  *site
	heard []string // requests: method and path, the keys left out
	saved [][]paths.Path
	past  History // as saved last
	fail  error   // of the next saving

	hearing sync.Mutex
	onAsked func(string) // hears requests too, if it is set
}

// sit opens the page on a web.
func sit(t *testing.T, pages map[string]string, change func(*Options)) *desk {
	t.Helper()
	d := &desk{t: t, site: &site{pages: pages}}
	d.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.hearing.Lock()
		said := r.Method + " " + strings.NewReplacer("/"+d.Token+"/", "/", "/"+d.Cap+"/", "/").Replace(r.URL.Path)
		d.heard = append(d.heard, said)
		if d.onAsked != nil {
			d.onAsked(said)
		}
		d.hearing.Unlock()
		d.ServeHTTP(w, r)
	}))
	start, err := web.Parse("http://college.test/")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Address: strings.TrimPrefix(d.http.URL, "http://"), Fetcher: d.site, Resources: d.site,
		Parser: parse.New(parse.Options{Analyzer: text.NewAnalyzer()}), Starts: []web.URL{start}, Keeper: "paths.tsv",
		Save: func(set []paths.Path, h History) error {
			if err := d.fail; err != nil {
				d.fail = nil
				return err
			}
			d.saved, d.past = append(d.saved, slices.Clone(set)), h
			return nil
		},
	}
	if change != nil {
		change(&o)
	}
	if d.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Close()
		d.http.Close()
	})
	return d
}

// request asks the server without following redirects.
func (d *desk) request(method, path string, header map[string]string, body string) (*http.Response, string) {
	d.t.Helper()
	r, err := http.NewRequest(method, d.http.URL+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
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

// do calls an action. failed is what it says when it cannot.
func (d *desk) do(name string, a postRequest) (st state, failed string) {
	d.t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		d.t.Fatal(err)
	}
	resp, body := d.request("POST", "/do/"+name, map[string]string{harmless.TokenHeader: d.Token}, string(b))
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &st); err != nil {
			d.t.Fatal(err)
		}
		return st, ""
	}
	var said struct{ Error string }
	if err := json.Unmarshal([]byte(body), &said); err != nil || said.Error == "" {
		d.t.Fatalf("%s: status %d, %q", name, resp.StatusCode, body)
	}
	return d.Server.state(), said.Error
}

// click follows a link of the page in the frame by its text, as browser and
// controls do together.
func (d *desk) click(anchor string) (st state, failed string) {
	d.t.Helper()
	d.mu.Lock()
	v := d.view(d.current)
	d.mu.Unlock()
	for k, l := range v.Links {
		if l.Anchor != anchor {
			continue
		}
		resp, body := d.request("GET", fmt.Sprintf("/page/%s/%d/%d", d.Cap, v.number, k), map[string]string{
			"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-User": "?1"}, "")
		if resp.StatusCode != http.StatusSeeOther {
			d.t.Fatalf("link %q: status %d, %s", anchor, resp.StatusCode, body)
		}
		d.request("GET", resp.Header.Get("Location"), map[string]string{"Sec-Fetch-Dest": "iframe"}, "")
		return d.do("arrived", postRequest{View: d.Server.state().Framed})
	}
	d.t.Fatalf("no link %q on %s", anchor, v.url)
	return st, ""
}

// label labels the page that is shown.
func (d *desk) label(name string) (state, string) {
	d.t.Helper()
	st := d.Server.state()
	return d.do("label", postRequest{Label: name, URL: st.Steps[st.Step].URL})
}

// tsv is what was saved last, without comments.
func (d *desk) tsv() string {
	d.t.Helper()
	if len(d.saved) == 0 {
		return ""
	}
	var b bytes.Buffer
	if err := paths.WriteTSV(&b, d.saved[len(d.saved)-1]); err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.ReplaceAll(line, "http://college.test", ""))
		}
	}
	return strings.Trim(strings.Join(out, ""), "\n")
}

var errDisk = errors.New("no space left")

// TestTeach walks the site: a transcript of what a person does, and the paths
// that are kept.
func TestTeach(t *testing.T) {
	d := sit(t, college(), nil)
	expect := func(what, want string) {
		t.Helper()
		want = strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(want), "  ", "\t"), "\n\n\n", "\n\n")
		if got := d.tsv(); got != want {
			t.Fatalf("after %s the paths are\n%s\nwant\n%s", what, got, want)
		}
	}
	must := func(_ state, failed string) {
		t.Helper()
		if failed != "" {
			t.Fatal(failed)
		}
	}
	must(d.do("open", postRequest{URL: "college.test/"}))
	expect("a failed https", "")
	must(d.do("open", postRequest{URL: "http://college.test/"}))
	expect("opening", "/")
	must(d.click("Departments"))
	must(d.label("Departments"))
	must(d.click("Courses"))
	must(d.click("Bees 101"))
	must(d.label("goal"))
	expect("the first goal", `
/
/dept/  Departments  Departments  1
/dept/courses.html    Courses  1
/dept/bee101  Goal  Bees 101  1`)

	// Back to the departments, along another link: a new path begun alike.
	must(d.do("go", postRequest{Path: 0, Step: 1}))
	must(d.click("People"))
	must(d.label("Fail"))
	first := `
/
/dept/  Departments  Departments  1
/dept/courses.html    Courses  1
/dept/bee101  Goal  Bees 101  1

`
	expect("a wrong turn", first+`
/
/dept/  Departments  Departments  1
/dept/people  Fail  People  2`)

	// A page has one label: renaming the milestone renames it in both paths.
	must(d.do("go", postRequest{Path: 1, Step: 1}))
	st, failed := d.label("Dept")
	must(st, failed)
	if !strings.Contains(st.Notice, "one more place") {
		t.Errorf("notice %q", st.Notice)
	}
	expect("renaming", strings.ReplaceAll(first, "/dept/  Departments", "/dept/  Dept")+`
/
/dept/  Dept  Departments  1
/dept/people  Fail  People  2`)
	must(d.do("undo", postRequest{}))
	expect("undo", first+`
/
/dept/  Departments  Departments  1
/dept/people  Fail  People  2`)

	// Undo as far as it goes, then start anew.
	repeat := func(what string) (n int) {
		for ; ; n++ {
			if _, failed := d.do(what, postRequest{}); failed != "" {
				return n
			}
		}
	}
	if n := repeat("undo"); n != 8 {
		t.Errorf("%d actions were undone, not 8", n)
	}
	expect("undoing all", "")
	if n := repeat("redo"); n != 9 {
		t.Errorf("%d actions were redone, not 9", n)
	}
	expect("redoing all", strings.ReplaceAll(first, "/dept/  Departments", "/dept/  Dept")+`
/
/dept/  Dept  Departments  1
/dept/people  Fail  People  2`)

	// What is done after undoing is another way: what was undone is forgotten.
	must(d.do("undo", postRequest{}))
	if st, failed := d.do("undo", postRequest{}); failed != "" || st.Redo != "the label Fail" || st.Notice != "Undone: the label Fail." {
		t.Errorf("%q, to redo %q, said %q", failed, st.Redo, st.Notice)
	}
	if st, failed := d.label("Goal"); failed != "" || st.Redo != "" {
		t.Errorf("%q, to redo %q", failed, st.Redo)
	}
	repeat("undo")
	expect("undoing all again", "")

	// A link that redirects, a page without a label gone back from, home again.
	must(d.do("open", postRequest{URL: "http://college.test/"}))
	must(d.click("News"))
	must(d.do("go", postRequest{Path: 0, Step: 0}))
	must(d.click("Courses, moved"))
	must(d.label("Goal"))
	expect("a redirect", `
/
/dept/courses.html  Goal  Courses, moved  4  /moved`)

	// The second goal of a path is refused, with the remedy.
	must(d.click("Bees 101"))
	if _, failed := d.label("Goal"); !strings.Contains(failed, "Begin a new path") {
		t.Errorf("a second goal: %q", failed)
	}
	must(d.do("remove", postRequest{Path: 0}))
	expect("removing", "")
}

// TestTeachMishaps goes where nothing is.
func TestTeachMishaps(t *testing.T) {
	d := sit(t, college(), nil)
	st, _ := d.do("open", postRequest{URL: "http://away.test/"})
	if !strings.Contains(st.Notice, "has moved to another site") || st.Steps[0].URL != "http://other.test/" {
		t.Errorf("a start page that moved off-site: %q, %+v", st.Notice, st.Steps)
	}
	if st, _ = d.do("open", postRequest{URL: "http://college.test/"}); st.Total != 1 {
		t.Errorf("a path of one page without a label is kept: %d paths", st.Total)
	}
	if st, _ = d.click("other college"); !strings.Contains(st.Notice, "This page is on another site: other.test, not college.test.") {
		t.Errorf("leaving the site: %q", st.Notice)
	}
	d.do("go", postRequest{Path: 0, Step: 0})
	for _, anchor := range []string{"Gone", "Down"} {
		before := d.tsv()
		st, failed := d.click(anchor)
		if failed != "" || st.Labelable || d.tsv() != before {
			t.Errorf("%s: %q, labelable %v, paths\n%s", anchor, failed, st.Labelable, d.tsv())
		}
		_, doc := d.request("GET", d.pagePath(st.Framed), nil, "")
		if want := map[string]string{"Gone": "answered with status 404", "Down": "no connection [31m (no connection)"}[anchor]; !strings.Contains(doc, want) {
			t.Errorf("%s: no %q in %s", anchor, want, doc)
		}
		if _, failed := d.label("Goal"); failed == "" {
			t.Errorf("%s: a page that is not there was labelled", anchor)
		}
		if st, _ = d.do("go", postRequest{Path: 0, Step: 0}); !st.Labelable {
			t.Errorf("%s: no way back", anchor)
		}
	}
	for name, a := range map[string]postRequest{
		"open": {URL: "javascript:alert(1)"}, "go": {Path: 9}, "remove": {Path: -1}, "take": {Path: 0}, "suggest": {},
		"label": {Label: "x\x00y", URL: "http://college.test/"}, "nonsense": {},
	} {
		if _, failed := d.do(name, a); failed == "" {
			t.Errorf("%s %+v: no complaint", name, a)
		}
	}
	if _, failed := d.do("label", postRequest{Label: "Goal", URL: "http://college.test/dept/"}); !strings.Contains(failed, "has changed meanwhile") {
		t.Errorf("a label for another page than the one shown: %q", failed)
	}
	// What cannot be kept is not done.
	d.fail = errDisk
	if st, failed := d.label("Goal"); !strings.Contains(failed, "no space left") || st.Steps[0].Label != "" {
		t.Errorf("no space: %q, %+v", failed, st.Steps)
	}
	if st, failed := d.label("Goal"); failed != "" || st.Steps[0].Label != "Goal" {
		t.Errorf("with space again: %q, %+v", failed, st.Steps)
	}
}

// TestGoOn continues with paths kept earlier, and tells what is wrong in them.
func TestGoOn(t *testing.T) {
	set, _, err := paths.Read(strings.NewReader("http://college.test/\nhttp://college.test/dept/\tDepts\n\nhttp://college.test/\nhttp://college.test/dept/\tDept\nhttp://college.test/dept/people\tGoal\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	d := sit(t, college(), func(o *Options) { o.Paths = set; o.Milestones = []string{"Home"} })
	st, failed := d.do("resume", postRequest{})
	if failed != "" || st.Path != 1 || st.Step != 2 || !st.Labelable || st.Src == "" {
		t.Errorf("%s: %+v", failed, st)
	}
	var names []string
	for _, l := range st.Labels {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "Home Depts Dept" {
		t.Errorf("milestones %q", got)
	}
	if len(st.Problems) == 0 || !strings.HasPrefix(st.Problems[0], "Path 1: ") || !strings.Contains(st.Problems[0], `is "Depts" here and "Dept"`) {
		t.Errorf("problems %q", st.Problems)
	}
	_, tsv := d.request("GET", "/do/export?form=tsv", map[string]string{harmless.TokenHeader: d.Token}, "")
	_, lines := d.request("GET", "/do/export?form=json", map[string]string{harmless.TokenHeader: d.Token}, "")
	for form, file := range map[string]string{"tsv": tsv, "json": lines} {
		if got, problems, err := paths.Read(strings.NewReader(file), form); err != nil || len(problems) > 0 || len(got) != 2 {
			t.Errorf("%s: %d paths, %v %v", form, len(got), problems, err)
		}
	}
}

// TestResourcesOnce asks a site for its style sheet once, however many of its
// pages are seen.
func TestResourcesOnce(t *testing.T) {
	d := sit(t, college(), nil)
	for n := range 3 {
		d.do("open", postRequest{URL: "http://college.test/dept/"})
		d.mu.Lock()
		v := d.view(d.current)
		d.mu.Unlock()
		resp, body := d.request("GET", fmt.Sprintf("/load/%s/%d/0", d.Cap, v.number), map[string]string{"Sec-Fetch-Dest": "style"}, "")
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, "font-family:sans-serif") || strings.Contains(body, "evil") {
			t.Fatalf("time %d: %d %s", n, resp.StatusCode, body)
		}
	}
	times := 0
	for _, u := range d.site.asked {
		if u == "http://college.test/site.css" {
			times++
		}
	}
	if times != 1 {
		t.Errorf("the sheet was asked for %d times", times)
	}
}

// TestLoading tells the controls that a link was clicked while its page is on
// the way.
func TestLoading(t *testing.T) {
	slow := &slowSite{site: site{pages: college()}, asked: make(chan web.URL), answer: make(chan bool)}
	d := sit(t, college(), nil)
	d.do("open", postRequest{URL: "http://college.test/"})
	d.Fetcher = slow
	clicked := make(chan string)
	go func() {
		st, failed := d.click("Departments")
		clicked <- fmt.Sprint(st.Steps[len(st.Steps)-1].URL, st.Loading, failed)
	}()
	if u := <-slow.asked; u.String() != "http://college.test/dept/" {
		t.Errorf("asked for %s", u)
	}
	if st := d.Server.state(); !st.Loading || len(st.Steps) != 1 {
		t.Errorf("on the way: %+v", st)
	}
	close(slow.answer)
	if got := <-clicked; got != "http://college.test/dept/false" {
		t.Errorf("there: %s", got)
	}
}

// slowSite answers when it is told to.
type slowSite struct {
	site
	asked  chan web.URL
	answer chan bool
}

func (s *slowSite) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	s.asked <- u
	<-s.answer
	return s.site.Fetch(ctx, u)
}

// TestUndoNotKept leaves everything as it was where undoing, redoing or an action
// after them cannot be kept.
func TestUndoNotKept(t *testing.T) {
	d := sit(t, college(), nil)
	d.do("open", postRequest{URL: "http://college.test/"})
	d.label("Goal")
	d.fail = errDisk
	if st, failed := d.do("undo", postRequest{}); !strings.Contains(failed, "not undone") || st.Steps[0].Label != "Goal" || st.Undo != "the label Goal" || st.Redo != "" {
		t.Errorf("%q, %+v", failed, st.Steps)
	}
	if st, failed := d.do("undo", postRequest{}); failed != "" || st.Steps[0].Label != "" || len(d.past.Past) != 1 || len(d.past.Future) != 1 {
		t.Errorf("%q, %+v", failed, st.Steps)
	}
	d.fail = errDisk
	if st, failed := d.do("redo", postRequest{}); !strings.Contains(failed, "not redone") || st.Steps[0].Label != "" || st.Redo != "the label Goal" {
		t.Errorf("%q, %+v", failed, st.Steps)
	}
	d.fail = errDisk
	if st, failed := d.label("Dept"); !strings.Contains(failed, "not done") || st.Steps[0].Label != "" || st.Redo != "the label Goal" {
		t.Errorf("an action that is not kept: %q, to redo %q", failed, st.Redo)
	}
	if st, failed := d.do("redo", postRequest{}); failed != "" || st.Steps[0].Label != "Goal" || st.Redo != "" || st.Undo != "the label Goal" {
		t.Errorf("%q, %+v", failed, st.Steps)
	}
}
