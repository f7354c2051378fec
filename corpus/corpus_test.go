package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

func mustURL(t testing.TB, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func urls(t testing.TB, list ...string) (out []web.URL) {
	for _, s := range list {
		out = append(out, mustURL(t, s))
	}
	return out
}

// The small web: a home page that links to two topics and out, a frame that
// hides a page, a page nobody links to, and addresses in need of canonical
// form. a → b, b → c by an alias, frames → hidden.
var small = []map[string]any{
	{"url": "http://a.example/", "status": 200, "content_type": "text/html", "body": `<title>A</title><a href="/b">b</a> <a href="/b#x">b again</a> <a href="http://out.example/">out</a> <a href="/frames">f</a> <a href="#top">self</a>`},
	{"url": "HTTP://A.example:80/./b", "status": 200, "content_type": "text/html; charset=iso-8859-1", "body": `<title>Bé</title><a href="http://b.example/c">c</a>`, "fetched": "1997-01-15T10:00:00Z", "last_modified": "Tue, 14 Jan 1997 10:00:00 GMT"},
	{"url": "http://b.example/c/", "status": 200, "content_type": "text/html", "body": `<a href="http://a.example/">home</a>`},
	{"url": "http://a.example/frames", "status": 200, "content_type": "text/html", "body": `<frameset><frame src="/hidden"></frameset>`},
	{"url": "http://a.example/hidden", "status": 200, "content_type": "text/plain", "body": "hidden"},
	{"url": "http://a.example/island", "status": 200, "content_type": "text/html", "body": "nobody links here"},
	{"url": "http://a.example/b", "status": 200, "content_type": "text/html", "body": "b once more"},
}

const smallManifest = `name: small
description: "A small web"
pages: 6
hosts: 2
links_inside: 5
topics:
  - name: things
    description: "Things"
    keywords: ["thing", "b"]
    seeds: ["http://A.example"]
    seeds_far: ["http://b.example/c/"]
    examples: ["http://a.example/%62/../b"]
    truth: truth/things.txt
    relevant: 4
    reachable: 3
`

// exchange writes an exchange folder; files replaces or adds, "" removes.
func exchange(t testing.TB, pages []map[string]any, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"web.yaml":         smallManifest,
		"aliases.tsv":      "http://b.example/c\thttp://b.example/c/\nhttp://a.example:80/\thttp://a.example/\n",
		"truth/things.txt": "http://a.example:80/b\nhttp://b.example/c/\nhttp://a.example/hidden\nhttp://a.example/island\n",
		"labels.tsv":       "http://A.EXAMPLE/b\tthing\tx\n",
	}
	var lines strings.Builder
	for _, p := range pages {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(data, '\n'))
	}
	all[pagesName] = lines.String()
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if text == "" {
			continue
		}
		if name == pagesName {
			z, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			text = string(z.EncodeAll([]byte(text), nil))
			z.Close()
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var options = Options{Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }}

func build(t testing.TB, src Source) (*Web, Built) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	built, err := Build(t.Context(), dir, src, options)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, dir), built
}

func open(t testing.TB, dir string) *Web {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestExchange(t *testing.T) {
	w, built := build(t, Exchange{exchange(t, small, nil)})
	if want := (Count{Pages: 6, Redirects: 1, Hosts: 2}); built.Count != want || w.Count() != want {
		t.Errorf("built %+v, open %+v", built.Count, w.Count())
	}
	if len(built.Notes) != 1 || !strings.Contains(built.Notes[0], "http://a.example/b (") {
		t.Errorf("notes %q", built.Notes)
	}

	r, err := w.Lookup(mustURL(t, "http://a.example/b"))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Header["Content-Type"][0]; got != "text/html; charset=utf-8" {
		t.Errorf("content type %q of a body in UTF-8", got)
	}
	if !strings.Contains(string(r.Body), "Bé") || r.Header["Last-Modified"][0] != "Tue, 14 Jan 1997 10:00:00 GMT" || r.Started.Year() != 1997 {
		t.Errorf("read %+v", r)
	}
	r, err = w.Lookup(mustURL(t, "http://b.example/c"))
	if err != nil || r.Status != 301 || r.Location != mustURL(t, "http://b.example/c/") {
		t.Errorf("the alias is %+v, %v", r, err)
	}
	if _, err := w.Lookup(mustURL(t, "http://out.example/")); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("an address that is not recorded: %v", err)
	}

	topic, err := w.Topic("things")
	if err != nil {
		t.Fatal(err)
	}
	want := Topic{
		Name: "things", Description: "Things", Keywords: []string{"thing", "b"},
		Seeds: urls(t, "http://a.example/"), SeedsFar: urls(t, "http://b.example/c/"), Examples: urls(t, "http://a.example/b"),
		Truth: "truth/things.txt", Relevant: 4, Reachable: 3,
	}
	if !reflect.DeepEqual(topic, want) {
		t.Errorf("topic %+v\nwant  %+v", topic, want)
	}
	if _, err := w.Topic("other"); err == nil || !strings.Contains(err.Error(), "it has things") {
		t.Errorf("another topic: %v", err)
	}
	truth, err := w.Truth("things")
	if err != nil || len(truth) != 4 || !truth[mustURL(t, "http://a.example/b")] {
		t.Errorf("truth %v, %v", truth, err)
	}
	labels, err := os.ReadFile(filepath.Join(w.Dir(), "labels.tsv"))
	if err != nil || string(labels) != "http://a.example/b\tthing\tx\n" {
		t.Errorf("labels %q, %v", labels, err)
	}
	var read []web.URL
	for r, err := range w.Pages() {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, r.URL)
	}
	if len(read) != w.Len() || len(slices.Collect(w.URLs())) != w.Len() {
		t.Errorf("%d responses of %d", len(read), w.Len())
	}
	f, err := Fetcher{w}.Fetch(t.Context(), mustURL(t, "http://out.example/"))
	if err != nil || f.Status != 404 {
		t.Errorf("fetching what is not recorded: %+v, %v", f, err)
	}
}

// A web.yaml that counts relevant addresses is held against the truth; one that does not is not.
func TestRelevantSaid(t *testing.T) {
	for said, notes := range map[string]int{"relevant: 4": 1, "relevant: 3": 2, "": 1} {
		dir := exchange(t, small, map[string]string{"web.yaml": strings.Replace(smallManifest, "relevant: 4", said, 1)})
		w, built := build(t, Exchange{dir})
		if len(built.Notes) != notes || w.Topics[0].Relevant != 4 {
			t.Errorf("%q: %d relevant, notes %q; want 4, and %d notes", said, w.Topics[0].Relevant, built.Notes, notes)
		}
	}
}

func TestBuildIsReproducible(t *testing.T) {
	src := Exchange{exchange(t, small, nil)}
	a, _ := build(t, src)
	b, _ := build(t, src)
	for _, name := range []string{"small-00000.warc.gz", "web.yaml", "truth/things.txt"} {
		x, err := os.ReadFile(filepath.Join(a.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		if y, err := os.ReadFile(filepath.Join(b.Dir(), name)); err != nil || string(x) != string(y) {
			t.Errorf("%s differs between two builds, %v", name, err)
		}
	}
}

func TestSurvey(t *testing.T) {
	w, _ := build(t, Exchange{exchange(t, small, nil)})
	s, err := w.Survey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// a → b, frames; b → c (by the alias); c → a; frames → hidden.
	want := Survey{
		Count: w.Count(), LinksInside: 5, LinksOutside: 1, Reachable: 5,
		Topics: []TopicSurvey{{Name: "things", Relevant: 4, Seeds: 1, Pages: 5, Reachable: 3, ReachableFar: 3, ReachableAll: 3}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("survey %+v\nwant   %+v", s, want)
	}
	if diff := w.Compare(s); len(diff) > 0 {
		t.Errorf("differs from web.yaml: %q", diff)
	}
	s.LinksInside = 4
	if diff := w.Compare(s); !slices.Equal(diff, []string{"links inside: web.yaml says 5, found 4"}) {
		t.Errorf("differences %q", diff)
	}
}

// A manifest may count what is reachable from the seeds of all topics: then the survey
// says that, and what a topic's own seeds lead to.
func TestSurveyOfAllSeeds(t *testing.T) {
	manifest := strings.Replace(smallManifest, "seeds: [\"http://A.example\"]", "seeds: [\"http://a.example/frames\"]", 1) +
		"  - name: others\n    description: Others\n    seeds: [\"http://a.example/\"]\n"
	w, _ := build(t, Exchange{exchange(t, small, map[string]string{"web.yaml": manifest})})
	s, err := w.Survey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "topic things: web.yaml counts 3 relevant pages that links lead to from the seeds of all topics; from its own, by which crawls of the topic begin, they lead to 1"
	if diff := w.Compare(s); !slices.Contains(diff, want) {
		t.Errorf("differences %q, want %q", diff, want)
	}
}

func TestBadExchange(t *testing.T) {
	page := func(change map[string]any) []map[string]any {
		p := map[string]any{}
		for k, v := range small[0] {
			p[k] = v
		}
		for k, v := range change {
			p[k] = v
		}
		return []map[string]any{small[2], p}
	}
	for _, c := range []struct {
		name  string
		pages []map[string]any
		files map[string]string
		say   string
	}{
		{"no web.yaml", small, map[string]string{"web.yaml": ""}, "web.yaml"},
		{"unknown key", small, map[string]string{"web.yaml": "name: x\ncolour: red\n"}, "line 2: field colour"},
		{"no name", small, map[string]string{"web.yaml": "pages: 1\n"}, "name is missing"},
		{"truth outside", small, map[string]string{"web.yaml": "name: x\ntopics: [{name: t, truth: ../../x}]\n"}, "outside the folder"},
		{"bad seed", small, map[string]string{"web.yaml": "name: x\ntopics: [{name: t, seeds: ['mailto:x']}]\n"}, "mailto:x"},
		{"two topics", small, map[string]string{"web.yaml": "name: x\ntopics: [{name: t}, {name: t}]\n"}, "two topics are named t"},
		{"no truth", small, map[string]string{"truth/things.txt": ""}, "things.txt"},
		{"bad truth", small, map[string]string{"truth/things.txt": "http://a.example/\nnothing\n"}, "things.txt, line 2"},
		{"no pages", nil, map[string]string{pagesName: "\n"}, "no page"},
		{"bad address", page(map[string]any{"url": "nothing"}), nil, "pages.jsonl.zst, line 2"},
		{"bad status", page(map[string]any{"status": 42}), nil, "line 2: status 42"},
		{"no body", page(map[string]any{"body": nil}), nil, "line 2: body is missing"},
		{"bad JSON", small, map[string]string{pagesName: "{}x"}, "line 1: "},
		{"bad alias", small, map[string]string{"aliases.tsv": "\nhttp://a.example/\n"}, "aliases.tsv, line 2: want two"},
		{"bad label", small, map[string]string{"labels.tsv": "x\ty\n"}, "labels.tsv, line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := t.TempDir()
			_, err := Build(t.Context(), filepath.Join(out, "web"), Exchange{exchange(t, c.pages, c.files)}, options)
			if err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, want %q", err, c.say)
			}
			if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	t.Run("plain", func(t *testing.T) {
		dir := exchange(t, nil, map[string]string{pagesName: ""})
		page := `{"url":"http://a.example/","status":200,"content_type":"text/html","body":"<title>A</title>"}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, plainName), []byte(page+"{}x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if src, err := Detect(dir); err != nil || src != (Exchange{dir}) {
			t.Fatalf("%v, %v", src, err)
		}
		_, err := Build(t.Context(), filepath.Join(t.TempDir(), "web"), Exchange{dir}, options)
		if err == nil || !strings.Contains(err.Error(), "pages.jsonl, line 2") {
			t.Errorf("got %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, plainName), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, b := build(t, Exchange{dir}); b.Manifest.Pages != 1 {
			t.Errorf("%d pages", b.Manifest.Pages)
		}
	})
	t.Run("torn file", func(t *testing.T) {
		dir := exchange(t, small, nil)
		if err := os.Truncate(filepath.Join(dir, pagesName), 60); err != nil {
			t.Fatal(err)
		}
		if _, err := Build(t.Context(), filepath.Join(t.TempDir(), "web"), Exchange{dir}, options); err == nil {
			t.Error("no error")
		}
	})
}

func TestForce(t *testing.T) {
	src := Exchange{exchange(t, small, nil)}
	dir := filepath.Join(t.TempDir(), "web")
	for _, c := range []struct {
		force bool
		ok    bool
	}{{false, true}, {false, false}, {true, true}} {
		o := options
		o.Force = c.force
		if _, err := Build(t.Context(), dir, src, o); (err == nil) != c.ok || err != nil && !errors.Is(err, fs.ErrExist) {
			t.Errorf("force %v: %v", c.force, err)
		}
	}
	open(t, dir)
	o := options
	o.Force = true
	plain := exchange(t, small, nil)
	if err := errors.Join(os.Remove(filepath.Join(plain, pagesName)), os.WriteFile(filepath.Join(plain, plainName), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{src.Dir, plain, filepath.Dir(dir)} { // no recorded webs
		if _, err := Build(t.Context(), other, src, o); !errors.Is(err, fs.ErrExist) {
			t.Errorf("over %s: %v", other, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := t.TempDir()
	if _, err := Build(ctx, filepath.Join(out, "web"), Exchange{exchange(t, small, nil)}, options); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCrawlAndWARCs builds a web from what a crawl kept, and from the same
// files as if of another tool.
func TestCrawlAndWARCs(t *testing.T) {
	dir := t.TempDir()
	a, err := store.Create(filepath.Join(dir, "archive"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	header := web.Header{"Content-Type": {"text/html"}}
	put := func(address string, status int, at time.Duration, body string) {
		t.Helper()
		record, err := a.Encode(web.Exchange{Response: &web.Response{
			URL: mustURL(t, address), Started: time.Unix(0, 0).Add(at), Status: status, Raw: []byte(body),
			RequestHead: []byte("GET / HTTP/1.1"), Header: header,
		}})
		if err == nil {
			_, err = a.Append(record)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("http://a.example/robots.txt", 200, 0, "User-agent: *")
	put("http://a.example/", 503, 1, "busy")
	put("http://a.example/", 200, 2, "<title>A</title><a href='/b;jsessionid=4711?utm_source=a'>B</a><a href='/old'>old</a>")
	put("http://a.example/b", 200, 2, "<title>B</title>")
	put("http://a.example/c", 200, 2, "<title>C</title>")
	header = web.Header{"Location": {"/c?utm_source=a"}}
	put("http://a.example/old", 301, 2, "")
	header = web.Header{"Content-Type": {"text/html"}}
	put("http://a.example/gone", 404, 3, "gone")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	job := "name: bees\nseeds: ['http://a.example']\ntopic: {description: Bees, keywords: [bee], examples: ['http://a.example/x', page.html]}\nbudget: {pages: 9}\n"
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(job), 0o644); err != nil {
		t.Fatal(err)
	}

	src, err := Detect(dir)
	if err != nil || src != (Crawl{dir}) {
		t.Fatalf("%#v, %v", src, err)
	}
	w, built := build(t, src)
	if want := (Count{Pages: 3, Redirects: 1, Robots: 1, Errors: 1, Hosts: 1}); w.Count() != want || w.Manifest.Pages != 3 {
		t.Errorf("count %+v", w.Count())
	}
	if r, err := w.Lookup(mustURL(t, "http://a.example/")); err != nil || !strings.HasPrefix(string(r.Body), "<title>A</title>") {
		t.Errorf("the later response should count: %+v, %v", r, err)
	}
	want := []Topic{{Name: "bees", Description: "Bees", Keywords: []string{"bee"}, Seeds: urls(t, "http://a.example/"), Examples: urls(t, "http://a.example/x")}}
	if !reflect.DeepEqual(w.Topics, want) {
		t.Errorf("topics %+v", w.Topics)
	}
	if len(built.Notes) > 0 {
		t.Errorf("notes %q", built.Notes)
	}
	// The pages lie under addresses by the crawl's rules, and so are their links
	// read, and where redirects lead; another web built from this keeps them.
	again, _ := build(t, Recorded{w.dir})
	for _, w := range []*Web{w, again} {
		s, err := w.Survey(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if rules := (web.Canon{StripSessions: true, StripTracking: true}); w.Canon() != rules || s.LinksInside != 2 || s.LinksOutside != 0 || s.Reachable != 3 {
			t.Errorf("by the rules %+v: %+v", w.Canon(), s)
		}
	}
	// Of seeds without a scheme the spelling counts that was recorded, and else https.
	job = strings.Replace(job, "'http://a.example'", "a.example, b.example, 'https://a.example/c', 'https://c.example/'", 1)
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(job+"addresses: {keep-session-ids: true}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	keeps, _ := build(t, src)
	if got, want := keeps.Topics[0].Seeds, urls(t, "http://a.example/", "https://b.example/", "https://a.example/c", "https://c.example/"); !slices.Equal(got, want) {
		t.Errorf("seeds %v, want %v", got, want)
	}
	if rules := (web.Canon{StripTracking: true}); keeps.Canon() != rules {
		t.Errorf("the crawl kept session ids, and the rules are %+v", keeps.Canon())
	}

	files, err := store.Paths(filepath.Join(dir, "archive"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], data[:len(data)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	w, built = build(t, WARCs{[]string{files[0]}})
	if len(built.Notes) != 1 || !strings.Contains(built.Notes[0], "damaged, left out: "+files[0]+", offset ") {
		t.Errorf("notes %q", built.Notes)
	}
	if rep, err := store.Verify(nil, w.files[0].path); err != nil || !rep.OK() || rep.Types["request"] != 7 {
		t.Errorf("copied records: %+v, %v", rep, err)
	}
}

func TestOpenErrors(t *testing.T) {
	w, _ := build(t, Exchange{exchange(t, small, nil)})
	dir := w.Dir()
	warc := filepath.Join(dir, "small-00000.warc.gz")
	data, err := os.ReadFile(warc)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		harm func() error
		say  string
	}{
		{"damaged", func() error {
			bad := slices.Clone(data)
			bad[len(bad)/2] ^= 0x55
			return os.WriteFile(warc, bad, 0o644)
		}, ", offset "},
		{"torn", func() error { return os.WriteFile(warc, data[:len(data)-9], 0o644) }, "unexpected EOF"},
		{"no WARC", func() error { return os.Remove(warc) }, "no WARC files"},
		{"no manifest", func() error { return os.Remove(filepath.Join(dir, "web.yaml")) }, "is not a recorded web"},
	} {
		if err := c.harm(); err != nil {
			t.Fatal(err)
		}
		if w, err := Open(dir); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.say)
			if w != nil {
				w.Close()
			}
		}
	}
}

// TestIndex spoils the index in many ways: it is always made again.
func TestIndex(t *testing.T) {
	w, _ := build(t, Exchange{exchange(t, small, nil)})
	path := filepath.Join(w.Dir(), indexName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"absent": func() error { return os.Remove(path) },
		"empty":  func() error { return os.WriteFile(path, nil, 0o644) },
		"cut":    func() error { return os.WriteFile(path, good[:len(good)/2], 0o644) },
		"changed": func() error {
			return os.WriteFile(path, []byte(strings.Replace(string(good), "\t200\t", "\t201\t", 1)), 0o644)
		},
		"other file time": func() error {
			return os.Chtimes(filepath.Join(w.Dir(), "small-00000.warc.gz"), time.Unix(9, 0), time.Unix(9, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			again := open(t, w.Dir())
			if !reflect.DeepEqual(again.pages, w.pages) || !slices.Equal(again.order, w.order) {
				t.Errorf("other pages: %v", again.order)
			}
			made, err := os.ReadFile(path)
			if err != nil || !strings.HasPrefix(string(made), indexMagic) || !strings.Contains(string(made), "\nend\t") {
				t.Errorf("the index is %.100q, %v", made, err)
			}
		})
	}
}

// TestDepartments builds, surveys and serves a real web.
func TestDepartments(t *testing.T) {
	dir := recorded.Web(t, "departments")
	src, err := Detect(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, built := build(t, src)
	m := w.Manifest
	if m.Pages != 2872 || m.Hosts != 82 || len(m.Topics) != 5 {
		t.Errorf("manifest %+v", m)
	}
	t.Logf("built: %+v, notes %q", built.Count, built.Notes)
	for _, topic := range w.Topics {
		truth, err := w.Truth(topic.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(truth) != topic.Relevant {
			t.Errorf("topic %s: %d relevant of %d", topic.Name, len(truth), topic.Relevant)
		}
		for u := range truth {
			if w.Status(u) != 200 {
				t.Errorf("topic %s: %s has status %d", topic.Name, u, w.Status(u))
			}
		}
	}
	long.Test(t, "surveys a recorded web")
	s, err := w.Survey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// web.yaml counts links in comments, too, which no browser follows.
	if float64(s.LinksInside) < 0.97*float64(m.LinksInside) || s.LinksInside > m.LinksInside {
		t.Errorf("%d links inside, web.yaml says %d", s.LinksInside, m.LinksInside)
	}
	for i, topic := range s.Topics {
		if want := m.Topics[i].Reachable; topic.Reachable < want-3 || topic.Reachable > want {
			t.Errorf("topic %s: %d reachable, web.yaml says %d", topic.Name, topic.Reachable, want)
		}
	}
	t.Log(fmt.Sprint(w.Compare(s)))
}
