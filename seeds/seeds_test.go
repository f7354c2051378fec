package seeds

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// words is a judge of pages about bees.
type words struct{}

func (words) Text(s string) float64 {
	return min(1, float64(strings.Count(strings.ToLower(s), "bee"))/4)
}

func (w words) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	r := w.Text(p.Title + " " + p.Main)
	return web.Verdict{Relevance: r, Relevant: r >= 0.5}, nil
}

// answers serves what interfaces answered, with SITE for the address of the server,
// and counts what was asked.
func answers(t *testing.T) (site string, asked *[]string) {
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.String())
		b, err := os.ReadFile(filepath.Join("testdata", strings.ReplaceAll(strings.TrimPrefix(r.URL.Path, "/"), "/", "_")))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		b = bytes.ReplaceAll(b, []byte("SITE"), []byte(site))
		if strings.HasSuffix(r.URL.Path, ".gz") {
			z := gzip.NewWriter(w)
			z.Write(b)
			z.Close()
			return
		}
		w.Write(b)
	}))
	t.Cleanup(server.Close)
	site = server.URL
	return site, asked
}

func get(ctx context.Context, u web.URL) (*web.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var b bytes.Buffer
	if _, err = b.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	u, err = web.Parse(r.Request.URL.String()) // to which it has moved
	return &web.Response{URL: u, Status: r.StatusCode, Header: web.Header{"Content-Type": {"text/html"}}, Body: b.Bytes()}, err
}

func finder(notes *[]string) *Finder {
	return &Finder{Get: get, Parser: parse.New(parse.Options{}), Judge: words{}, Words: []string{"honey bee"}, Note: func(s string) { *notes = append(*notes, s) }}
}

func source(t *testing.T, s string) Source {
	t.Helper()
	out, err := ParseSource(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Each kind of source gives the pages of its recorded answer.
func TestSources(t *testing.T) {
	site, asked := answers(t)
	dir := t.TempDir()
	html := filepath.Join(dir, "bookmarks.html")
	chromium := filepath.Join(dir, "Bookmarks")
	firefox := filepath.Join(dir, "bookmarks-2026-01-01.json")
	for name, content := range map[string]string{
		firefox:  `{"root":"placesRoot","type":"text/x-moz-place-container","children":[{"type":"text/x-moz-place-container","children":[{"type":"text/x-moz-place","title":"Fox","uri":"https://bees.test/e"},{"type":"text/x-moz-place","uri":"place:sort=8"},7]}]}`,
		html:     `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><A HREF="https://bees.test/a" ADD_DATE="1">Bees &amp; <b>more</b></A><DT><A HREF="javascript:alert(1)">bad</A><DT><A HREF="place:sort=8">recent</A><DT><A HREF="https://bees.test/b">B</A></DL>`,
		chromium: `{"roots":{"bookmark_bar":{"type":"folder","children":[{"type":"url","name":"Bees","url":"https://bees.test/c"},{"type":"folder","children":[{"type":"url","name":"x","url":"chrome://settings"},{"type":"url","name":"Deep","url":"https://bees.test/d"}]}]},"other":{"type":"folder"}}}`,
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ source, asked, want string }{
		{"searxng=" + site + "/", "/search?format=json&q=honey+bee", "https://bees.test/dance The dance of bees"},
		{"mediawiki=" + site + "/w/api.php", "/w/api.php?action=query&format=json&generator=search&gsrlimit=50&gsrsearch=honey+bee&inprop=url&prop=info", "https://wiki.test/wiki/Bee Bee, https://wiki.test/wiki/Hive Hive"},
		{"openalex=" + site, "/works?mailto=a%40b.test&per-page=50&search=honey+bee", "https://journal.test/1 Waggle dances, https://doi.test/2 Hives"},
		{"commoncrawl=bees.test@" + site, "/CC-INDEX?filter=%3Dstatus%3A200&filter=%3Dmime%3Atext%2Fhtml&fl=url&limit=2000&output=json&url=%2A.bees.test", "https://bees.test/, https://www.bees.test/hives"},
		{"sitemap=" + site + "/sitemap.xml", "/more.xml.gz", "https://bees.test/one, https://bees.test/two, https://bees.test/three"},
		{"feed=" + site + "/rss.xml", "/rss.xml", site + "/entry First, https://bees.test/second Second"},
		{"feed=" + site + "/atom.xml", "/atom.xml", "https://bees.test/atom Atom bees"},
		{"bookmarks=" + html, "", "https://bees.test/a Bees & more, https://bees.test/b B"},
		{"bookmarks=" + chromium, "", "https://bees.test/c Bees, https://bees.test/d Deep"},
		{"bookmarks=" + dir, "", "https://bees.test/c Bees, https://bees.test/d Deep"}, // of a profile
		{"bookmarks=" + firefox, "", "https://bees.test/e Fox"},
	} {
		*asked = nil
		var notes []string
		f := finder(&notes)
		f.Contact = "a@b.test"
		s := source(t, test.source)
		list, err := s.kind.find(t.Context(), f, s.Where, "honey bee")
		if err != nil {
			t.Errorf("%s: %v", test.source, err)
			continue
		}
		var got []string
		for _, x := range list {
			got = append(got, strings.TrimSpace(x.URL.String()+" "+x.Title))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s gives %q, not %q", test.source, got, test.want)
		}
		if test.asked != "" && (len(*asked) == 0 || (*asked)[len(*asked)-1] != test.asked) {
			t.Errorf("%s asks %q, not %q", test.source, *asked, test.asked)
		}
	}
}

// What is no such source, or answers rubbish, is an error that says so.
func TestBadSources(t *testing.T) {
	site, _ := answers(t)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]string{
		"searxng=" + site + "/rss.xml":   "status 404",
		"mediawiki=" + site + "/rss.xml": "not what such an interface gives",
		"mediawiki=" + site + "/broken":  `the wiki says: "no\x1b[31m"`,
		"openalex=" + site + "/none":     "status 404",
		"commoncrawl=x@" + site + "/rss": "status 404",
		"sitemap=" + site + "/rss.xml":   "it is no sitemap",
		"sitemap=" + site + "/search":    "it is no sitemap",
		"feed=" + site + "/sitemap.xml":  "it is no feed",
		"bookmarks=" + empty:             "it holds no bookmarks",
		"bookmarks=" + empty + "/x":      "not a directory",
		"bookmarks=" + t.TempDir():       "holds no file Bookmarks of Chromium",
		"history=" + empty:               "empty",
		"searxng=http://127.0.0.1:1/":    "refused",
	} {
		var notes []string
		_, err := finder(&notes).Find(t.Context(), []Source{source(t, s)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", s, err, want)
		}
		if own := strings.HasPrefix(s, "bookmarks="); errors.As(err, new(job.Mistake)) != own {
			t.Errorf("%s: %v: a mistake of the person's? %v", s, err, !own)
		}
		if strings.ContainsAny(strings.Join(notes, ""), "\x1b\n") {
			t.Errorf("%s: %q", s, notes)
		}
	}
	for s, want := range map[string]string{"": "there is no source", "web=x": "there is no source", "feed=": "written feed=URL", "sitemap": "written sitemap=URL",
		"feed=mailto:x": "not an http or https address", "feed=foo": "no scheme", "openalex=x": "no scheme", "commoncrawl=a.example@x": "no scheme",
		"feed=https://ada:pw@a.example/": "a source: an address with a name or a password", "https://ada:pw@a.example/": "a source: an address with a name"} {
		if _, err := ParseSource(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// An interface that refuses or gives something else is told in words that help. What comes
// before a fault of a source is used.
func TestAnswers(t *testing.T) {
	status, body := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/collinfo.json":
			fmt.Fprintf(w, `[{"cdx-api":"http://%s/index"}]`, r.Host)
		case "/index.xml":
			fmt.Fprintf(w, `<sitemapindex><sitemap><loc>http://%s/whole.xml</loc></sitemap><sitemap><loc>http://%[1]s/search</loc></sitemap></sitemapindex>`, r.Host)
		case "/whole.xml":
			fmt.Fprint(w, `<urlset><url><loc>https://bees.test/bee</loc></url></urlset>`)
		default:
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}))
	defer server.Close()
	site := server.URL
	for _, x := range []struct {
		source string
		status int
		body   string
		found  int
		want   string // of the error, or where something was found of what is told
	}{
		{"searxng=" + site, 200, "<!doctype html><title>Just a moment</title>", 0, "the answer is a page, and not what such an interface gives"},
		{"searxng=" + site, 200, " \n", 0, "the answer is empty"},
		{"searxng=" + site, 200, `{"results":[1,{"url":5},{"url":"javascript:alert(1)"},{"url":"https://bees.test/bee"}]}`, 1, ""},
		{"searxng=" + site, 403, "", 0, "may have to let it give JSON (search: formats: [html, json])"},
		{"mediawiki=" + site + "/api.php", 403, "", 0, "lets programs in that it knows, or none"},
		{"openalex=" + site, 429, "", 0, "status 429: it was asked too often, try again later"},
		{"openalex=" + site, 503, "", 0, "status 503: it has a fault of its own, try again later"},
		{"feed=" + site + "/feed", 404, "", 0, "status 404: is the address right?"},
		{"commoncrawl=bees.test@" + site, 404, `{"message": "No Captures found for: *.bees.test"}`, 0, ""},
		{"commoncrawl=bees.test@" + site, 200, `{"url": "https://bees.test/bee"}` + "\n" + `{"url": "htt`, 1, "unexpected end of JSON input"},
		{"sitemap=" + site + "/index.xml", 500, "", 1, "/search answers with status 500"},
	} {
		status, body = x.status, x.body
		var notes []string
		f := finder(&notes)
		f.Pages = 0
		list, err := f.Find(t.Context(), []Source{source(t, x.source)})
		told := strings.Join(notes, "; ")
		if err != nil {
			told = err.Error()
		}
		if len(list) != x.found || !strings.Contains(told, x.want) || x.want == "" && err != nil || (x.found > 0) != (err == nil) && x.want != "" {
			t.Errorf("%s, status %d, %.40q: %d pages, %v, told %q; want %d, %q", x.source, x.status, x.body, len(list), err, notes, x.found, x.want)
		}
		if err != nil && len(notes) > 0 {
			t.Errorf("%s: %q is told before the error %v of the only source", x.source, notes, err)
		}
	}
}

// Pages are judged, those that are not relevant or not there are left out, and a later
// round asks with words of the relevant ones.
func TestRounds(t *testing.T) {
	site, asked := answers(t)
	var notes []string
	f := finder(&notes)
	f.Rounds, f.Pages = 2, 10
	found, err := f.Find(t.Context(), []Source{source(t, "searxng="+site+"/local"), source(t, "feed="+site+"/none.xml")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range found {
		got = append(got, fmt.Sprintf("%s %.2f %v %s", strings.TrimPrefix(s.URL.String(), site), s.Relevance, s.Judged, s.Source))
	}
	if want := []string{"/good.html 1.00 true searxng"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	var searches []string
	gone := 0
	for _, a := range *asked {
		if a == "/gone.html" {
			gone++
		}
		if strings.HasPrefix(a, "/local/search") {
			searches = append(searches, a)
		}
	}
	if gone != 1 {
		t.Errorf("a page that is not there was asked for %d times", gone)
	}
	if len(searches) != 2 || !strings.Contains(searches[1], "honey+bee+") || !strings.Contains(searches[1], "pollination") {
		t.Errorf("asked: %q", searches)
	}
}

// What goes wrong in a later round is told.
func TestLaterRoundFails(t *testing.T) {
	site, _ := answers(t)
	searches := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if searches++; searches > 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprintf(w, `{"results":[{"url":"%s/good.html","title":"Bees"}]}`, site)
	}))
	defer server.Close()
	var notes []string
	f := finder(&notes)
	f.Rounds, f.Pages = 2, 10
	found, err := f.Find(t.Context(), []Source{source(t, "searxng="+server.URL)})
	if err != nil || len(found) != 1 || searches != 2 {
		t.Fatalf("%+v, %v of %d searches", found, err, searches)
	}
	if told := strings.Join(notes, "; "); !strings.Contains(told, "status 429") {
		t.Errorf("told: %s", told)
	}
}

// Addresses of a feed that has moved are those of where it is now.
func TestMovedFeed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/feed" {
			http.Redirect(w, r, "/blog/feed.xml", http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, `<rss><channel><item><title>Bees</title><link>bees.html</link></item></channel></rss>`)
	}))
	defer server.Close()
	var notes []string
	f := finder(&notes)
	found, err := f.Find(t.Context(), []Source{source(t, "feed="+server.URL+"/feed")})
	if err != nil || len(found) != 1 || found[0].URL.RequestPath() != "/blog/bees.html" {
		t.Errorf("%+v, %v", found, err)
	}
}

// No later round is announced where no source is asked for words.
func TestRoundsOfListsAlone(t *testing.T) {
	site, _ := answers(t)
	var notes []string
	f := finder(&notes)
	f.Rounds, f.Pages = 2, 10
	file := filepath.Join(t.TempDir(), "bookmarks.html")
	if err := os.WriteFile(file, []byte(`<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><A HREF="`+site+`/good.html">Good</A></DL>`), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := f.Find(t.Context(), []Source{source(t, "bookmarks="+file)})
	if err != nil || len(found) != 1 || !found[0].Judged {
		t.Fatalf("%+v, %v", found, err)
	}
	if told := strings.Join(notes, "; "); strings.Contains(told, "next round") {
		t.Errorf("told: %s", told)
	}
}

func TestTypicalWords(t *testing.T) {
	for _, c := range []struct {
		languages []string
		page      string
		known     []string
		want      []string
	}{
		{nil, "<title>Pollination</title><p>Pollination, pollination by bees and the apiaries. The pollinating of apiaries.", []string{"bee"}, []string{"apiaries", "pollination"}},
		{[]string{"de"}, "<title>Imkerei</title><p>Bienen und ihre Bienen. Die Imkerei lebt von den Bienen.", nil, []string{"bienen", "imkerei"}},
		{[]string{"zh"}, "<title>蜜蜂的舞蹈</title><p>蜜蜂在花间跳舞，蜜蜂在田野采蜜。", nil, []string{"蜜蜂"}},
		{[]string{"en", "de"}, "<title>Imkerei</title><p>Bienen und ihre Bienen. Die Imkerei lebt von den Bienen, und wir sind nicht mit dem Auto da.", []string{"Biene"}, []string{"imkerei"}},
	} {
		a := parse.NewAnalyzer(c.languages...)
		page, err := parse.New(parse.Options{Analyzer: a}).Parse(&web.Response{Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(c.page)})
		if err != nil {
			t.Fatal(err)
		}
		if got := TypicalWords([]*web.Page{page}, a, len(c.want), c.known); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, not %q", c.languages, got, c.want)
		}
	}
	if got := TypicalWords(nil, text.NewAnalyzer(), 2, nil); got != nil {
		t.Errorf("of no pages: %q", got)
	}
}

// A history gives its pages, the most visited first.
func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "places.sqlite")
	conn, err := sqlite.OpenConn(file, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, `PRAGMA user_version = 70;
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, title TEXT, visit_count INTEGER, hidden INTEGER);
CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER, visit_type INTEGER);
INSERT INTO moz_places VALUES (1, 'https://bees.test/', 'Bees', 2, 0), (2, 'about:config', '', 9, 0), (3, 'https://often.test/', NULL, 7, 0), (4, 'https://hidden.test/', 'x', 7, 1), (5, 'https://never.test/', 'x', 0, 0);`, nil)
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	list, err := history(t.Context(), nil, file, "")
	if err != nil || len(list) != 2 || list[0].URL.String() != "https://often.test/" || list[1].Title != "Bees" {
		t.Errorf("%+v, %v", list, err)
	}
}
