package corpus

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

func openPages(t testing.TB, w *Web, p *parse.Parser, o PagesOptions) *Pages {
	t.Helper()
	c, err := OpenPages(t.Context(), w, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sameAsParsed compares every recorded response and page with the record.
func sameAsParsed(t *testing.T, w *Web, c *Pages, p *parse.Parser) (pages int) {
	t.Helper()
	if c.Len() != w.Len() {
		t.Errorf("%d addresses, the web has %d", c.Len(), w.Len())
	}
	for r, err := range w.Pages() {
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Fetch(t.Context(), r.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != r.Status || len(got.Raw) != len(r.Raw) || len(got.Body) != len(r.Body) || got.Location != r.Location ||
			got.Truncated != r.Truncated || !reflect.DeepEqual(got.Header["Retry-After"], r.Header["Retry-After"]) ||
			!reflect.DeepEqual(got.Header["Content-Type"], r.Header["Content-Type"]) {
			t.Fatalf("%s: fetched\n%+v\nrecorded\n%+v", r.URL, got, r)
		}
		if isRobots(r.URL) && string(got.Body) != string(r.Body) {
			t.Errorf("%s: %q, recorded %q", r.URL, got.Body, r.Body)
		}
		want, why := parsePage(p, r)
		page, ok := c.Page(r.URL)
		digest, hasDigest := c.Digest(r.URL)
		if ok != (want != nil) || hasDigest != ok {
			t.Fatalf("%s: a page %v, a digest %v; parsed anew %v", r.URL, ok, hasDigest, want != nil)
		}
		if why != nil {
			var damage *web.Failure
			if _, err := c.Parse(got); err == nil || err.Error() != why.Error() || !errors.Is(err, parse.ErrType) && !errors.As(err, &damage) {
				t.Errorf("%s: error %v, parsing says %v", r.URL, err, why)
			}
		}
		if !ok {
			continue
		}
		pages++
		if digest != want.Digest {
			t.Errorf("%s: digest %x, want %x", r.URL, digest, want.Digest)
		}
		if !reflect.DeepEqual(page, want) {
			v, x := reflect.ValueOf(*page), reflect.ValueOf(*want)
			for i := range v.NumField() {
				if !reflect.DeepEqual(v.Field(i).Interface(), x.Field(i).Interface()) {
					t.Errorf("%s: %s is\n%+v\nparsed anew\n%+v", r.URL, v.Type().Field(i).Name, v.Field(i), x.Field(i))
				}
			}
			t.FailNow()
		}
	}
	return pages
}

// Pages with the nesting of their leaves and without it are kept, in turn, in one file.
func TestPagesWithNesting(t *testing.T) {
	w := served(t)
	for _, nesting := range []bool{true, false} {
		p := parse.New(parse.Options{Nesting: nesting})
		sameAsParsed(t, w, openPages(t, w, p, PagesOptions{}), p)
	}
}

func TestPagesAreAsParsed(t *testing.T) {
	w := served(t)
	p := parse.New(parse.Options{})
	c := openPages(t, w, p, PagesOptions{})
	if n := sameAsParsed(t, w, c, p); n < 5 {
		t.Errorf("only %d pages were compared", n)
	}
	// Where the type has to be guessed, there is something to guess from.
	r, err := c.Fetch(t.Context(), mustURL(t, "http://a.example/bare"))
	if err != nil || string(r.Body) != "<html>no type" {
		t.Errorf("body %q, error %v", r.Body, err)
	}
	missing := mustURL(t, "http://a.example/missing")
	if _, ok := c.Page(missing); ok || c.Has(missing) {
		t.Error("an address outside the record has a page")
	}
	if r, err := c.Fetch(t.Context(), missing); err != nil || r.Status != 404 {
		t.Errorf("outside the record: %+v, %v; want a 404", r, err)
	}
}

func TestPagesOfDepartmentsAreAsParsed(t *testing.T) {
	long.Test(t, "parses a web twice")
	if raceDetector {
		t.Skip("parses a web twice and shares nothing: TestPagesAreShared looks for races")
	}
	w, _ := build(t, Exchange{Dir: recorded.Web(t, "departments")})
	p := parse.New(parse.Options{})
	var last, total int
	c := openPages(t, w, p, PagesOptions{Progress: func(n, of int) { last, total = n, of }})
	if last != w.Len() || total != w.Len() {
		t.Errorf("progress ended at %d of %d, the web has %d", last, total, w.Len())
	}
	if n := sameAsParsed(t, w, c, p); n < 2000 {
		t.Errorf("only %d pages were compared", n)
	}
}

func TestPagesFileIsReproducible(t *testing.T) {
	w := served(t)
	p := parse.New(parse.Options{})
	openPages(t, w, p, PagesOptions{Workers: 1})
	first, err := os.ReadFile(filepath.Join(w.Dir(), pagesFile))
	must(t, err)
	other := filepath.Join(t.TempDir(), "other.bin")
	openPages(t, w, p, PagesOptions{Path: other, Workers: 7})
	if second, err := os.ReadFile(other); err != nil || string(second) != string(first) {
		t.Errorf("made twice, the files differ (%d and %d bytes, %v)", len(first), len(second), err)
	}
}

// entries reads feeds alone, whose entries tell when they changed, and no document that is
// broken.
type entries struct{}

func (entries) HTML(r *web.Response, mediaType, _ string) (*parse.Document, error) {
	switch mediaType {
	case "application/rss+xml":
		return &parse.Document{HTML: r.Body, Type: mediaType, Listing: parse.SourceFeeds}, nil
	case "application/pdf":
		return nil, &web.Failure{Reason: web.ReasonDamaged, Detail: "it is broken"}
	}
	return nil, nil
}

// Documents, the dates of their entries, the languages of terms and the beginnings that tell a
// type are kept, and pages that another parser made are not taken.
func TestPagesOfDocuments(t *testing.T) {
	w, _ := build(t, Exchange{exchange(t, append([]map[string]any{
		{"url": "http://a.example/feed", "status": 200, "content_type": "application/rss+xml", "body": "<a href=/b data-changed=2024-05-01>b</a> <a href=/island data-published=2024-05-02>island</a>"},
		{"url": "http://a.example/broken", "status": 200, "content_type": "application/pdf", "body": "%PDF-"},
		{"url": "http://a.example/list", "status": 200, "content_type": "text/plain", "body": "http://a.example/b\n" + strings.Repeat("http://a.example/\n", 100)},
		{"url": "http://a.example/bienen", "status": 200, "content_type": "text/html", "body": "<html lang=de><p>Die Bienen tanzen den Schwänzeltanz, und andere Bienen folgen ihnen über die Wiese."},
	}, small...), nil)})
	plain := parse.New(parse.Options{})
	sameAsParsed(t, w, openPages(t, w, plain, PagesOptions{}), plain)
	p := parse.New(parse.Options{Documents: entries{}, Sources: parse.Sources(), Analyzer: parse.NewAnalyzer("en", "de")})
	c := openPages(t, w, p, PagesOptions{})
	sameAsParsed(t, w, c, p)
	feed, ok := c.Page(mustURL(t, "http://a.example/feed"))
	if !ok || len(feed.Links) != 2 || feed.Links[0].Changed != "2024-05-01" || !feed.Links[1].Published {
		t.Errorf("feed %+v", feed)
	}
	if bees, ok := c.Page(mustURL(t, "http://a.example/bienen")); !ok || bees.TermLanguage != "de" {
		t.Errorf("terms by the rules of %q", bees.TermLanguage)
	}
	list, err := c.Fetch(t.Context(), mustURL(t, "http://a.example/list"))
	if err != nil || !strings.HasPrefix(string(list.Body), "http://a.example/b\nhttp://") || len(list.Body) <= beginning {
		t.Errorf("the list begins with %.30q, %v", list.Body, err)
	}
	// The pages of one parser are not those of another, whichever 12 are compared.
	for _, o := range []parse.Options{{Documents: entries{}}, {Sources: parse.Sources()}, {Analyzer: parse.NewAnalyzer("de")}} {
		anew := false
		openPages(t, w, parse.New(o), PagesOptions{Progress: func(int, int) { anew = true }})
		if !anew {
			t.Errorf("the pages of another parser were taken for those of %q", parse.New(o).Reads())
		}
	}
}

// TestPagesAreMadeAnew spoils the file in every way and wants the pages right
// all the same.
func TestPagesAreMadeAnew(t *testing.T) {
	p := parse.New(parse.Options{})
	path := func(w *Web) string { return filepath.Join(w.Dir(), pagesFile) }
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, w *Web) *parse.Parser
		anew  bool
	}{
		{"left alone", func(*testing.T, *Web) *parse.Parser { return p }, false},
		{"absent", func(t *testing.T, w *Web) *parse.Parser { must(t, os.Remove(path(w))); return p }, true},
		{"empty", func(t *testing.T, w *Web) *parse.Parser { must(t, os.WriteFile(path(w), nil, 0o644)); return p }, true},
		{"cut", func(t *testing.T, w *Web) *parse.Parser { must(t, os.Truncate(path(w), 300)); return p }, true},
		{"a bit flipped", func(t *testing.T, w *Web) *parse.Parser {
			b, err := os.ReadFile(path(w))
			must(t, err)
			b[len(b)/2] ^= 4
			must(t, os.WriteFile(path(w), b, 0o644))
			return p
		}, true},
		{"another version", func(t *testing.T, w *Web) *parse.Parser {
			b, err := os.ReadFile(path(w))
			must(t, err)
			b[len(pagesMagic)-2] = '0'
			must(t, os.WriteFile(path(w), b, 0o644))
			return p
		}, true},
		{"made with tables beyond its end", func(t *testing.T, w *Web) *parse.Parser {
			b, err := os.ReadFile(path(w))
			must(t, err)
			end := len(b) - 8
			binary.LittleEndian.PutUint64(b[end-3*8:], uint64(end))
			binary.LittleEndian.PutUint64(b[end:], xxh3.Hash(b[:end]))
			must(t, os.WriteFile(path(w), b, 0o644))
			return p
		}, true},
		{"larger than any", func(t *testing.T, w *Web) *parse.Parser { must(t, os.Truncate(path(w), 1<<40)); return p }, true},
		{"a link to what has no end", func(t *testing.T, w *Web) *parse.Parser {
			must(t, os.Remove(path(w)))
			must(t, os.Symlink("/dev/zero", path(w))) // of which some systems have none: then it leads nowhere
			return p
		}, true},
		{"other WARC files", func(t *testing.T, w *Web) *parse.Parser {
			must(t, os.Chtimes(w.files[0].path, time.Time{}, time.Unix(1e9, 0)))
			return p
		}, true},
		{"another parser", func(*testing.T, *Web) *parse.Parser { return parse.New(parse.Options{MaxText: 3}) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := served(t)
			openPages(t, w, p, PagesOptions{})
			p := c.spoil(t, w)
			anew := false
			got := openPages(t, w, p, PagesOptions{Progress: func(int, int) { anew = true }})
			if anew != c.anew {
				t.Errorf("made anew: %v, want %v", anew, c.anew)
			}
			sameAsParsed(t, w, got, p)
			left, err := filepath.Glob(filepath.Join(w.Dir(), ".pages-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPagesCancelled(t *testing.T) {
	w := served(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := OpenPages(ctx, w, parse.New(parse.Options{}), PagesOptions{Progress: func(int, int) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if left, err := filepath.Glob(filepath.Join(w.Dir(), "*pages*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestPagesWhereNothingCanBeWritten: a web that is only for reading has pages
// all the same, and keeps nothing of them.
func TestPagesWhereNothingCanBeWritten(t *testing.T) {
	w := served(t)
	p := parse.New(parse.Options{})
	if _, err := OpenPages(t.Context(), w, p, PagesOptions{Path: filepath.Join(t.TempDir(), "absent", "x.bin")}); err == nil || !strings.Contains(err.Error(), w.Dir()) {
		t.Errorf("error %v does not name the web", err)
	}
	if os.Geteuid() == 0 {
		t.Skip("needs a user who may not write everywhere: run it as another than root")
	}
	must(t, os.Chmod(w.Dir(), 0o555))
	defer os.Chmod(w.Dir(), 0o755)
	sameAsParsed(t, w, openPages(t, w, p, PagesOptions{}), p)
	if left, err := filepath.Glob(filepath.Join(w.Dir(), "*pages*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestPagesAreShared(t *testing.T) {
	w := served(t)
	p := parse.New(parse.Options{})
	c := openPages(t, w, p, PagesOptions{})
	u := mustURL(t, "http://a.example/")
	want, _ := c.Page(u)
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			for range 100 {
				if got, ok := c.Page(u); !ok || !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v, want %+v", got, want)
					return
				}
			}
		})
	}
	g.Wait()
}

// TestBlock: strings that share memory lie in a block as they do there, and
// each reads the same from it.
func TestBlock(t *testing.T) {
	all := "See the waggle dance of bees"
	apart := string([]byte("apart"))
	twin := string([]byte("apart"))
	list := []string{all[:3], "", all[4:14], all[8:20], apart, all[:20], twin, all[21:]}
	text, place := newBlock(list)
	for _, s := range list {
		if s == "" {
			continue
		}
		if at := place(s); text[at:at+len(s)] != s {
			t.Errorf("%q reads %q", s, text[at:at+len(s)])
		}
	}
	if want := len(all[:20]) + len(apart) + len(all[21:]); len(text) != want {
		t.Errorf("the block %q has %d bytes, want %d", text, len(text), want)
	}
}

// madePages are the bytes of a file of one response, without its sum, and its page, nil if there is none.
func madePages(t testing.TB, p *parse.Parser, r *web.Response) ([]byte, *web.Page) {
	t.Helper()
	page, why := parsePage(p, r)
	var b bytes.Buffer
	e := newEncoder(&b, [16]byte{})
	must(t, errors.Join(e.add(r, page, why), e.finish()))
	return b.Bytes()[:b.Len()-8], page
}

// madeResponse is a response to encode.
func madeResponse(t testing.TB, kind, body string) *web.Response {
	return &web.Response{
		URL: mustURL(t, "http://a.example/p"), Started: time.Unix(1e9, 5).UTC(), Status: 200,
		Header: web.Header{"Content-Type": {kind}}, Raw: []byte(body), Body: []byte(body),
	}
}

// manyParts is a page that has something of nearly all that is kept.
const manyParts = "<base href='http://b.example/'><meta name=robots content=noindex><title>T</title><h1>H</h1><p>See <a href=/x>the <em>waggle</em> dance</a><br>of bees <img alt='a bee'><a href=y rel=nofollow>y</a>"

// readAny reads what may be no file of pages at all, and all that it says it has.
func readAny(t *testing.T, data []byte) {
	t.Helper()
	var c *Pages
	var err error
	body := 0
	used := allocated.By(func() { c, err = newPages(string(data)) })
	if err == nil {
		body = len(c.blank)
	}
	// A table of addresses takes most: a byte of it may stand for the zero address.
	if most := uint64(200*len(data) + body + 64<<10); used > most || body > maxBody {
		t.Fatalf("%d bytes allocated for a file of %d, and %d zero ones among them", used, len(data), body)
	}
	if err != nil {
		return
	}
	for u := range c.at {
		var page *web.Page
		used := allocated.By(func() { page, _ = c.Page(u) })
		if most := uint64(100*len(data) + 64<<10); used > most {
			t.Fatalf("%d bytes allocated for a page of a file of %d", used, len(data))
		}
		_, hasDigest := c.Digest(u)
		r, err := c.Fetch(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		if parsed, err := c.Parse(r); (page != nil) != (err == nil) || (parsed != nil) != (page != nil) || page != nil && !hasDigest {
			t.Fatalf("a page %v, a digest %v; parsed %v, %v", page != nil, hasDigest, parsed != nil, err)
		}
		if page == nil {
			continue
		}
		for _, l := range page.Links {
			if l.First <= l.Last {
				_ = page.Leaves[l.First : l.Last+1]
			}
		}
	}
}

// A file with any byte replaced by any of some others is read or refused. Its sum would be made good.
func TestPagesOfAnyBytes(t *testing.T) {
	for _, p := range []*parse.Parser{parse.New(parse.Options{}), parse.New(parse.Options{Nesting: true})} {
		whole, page := madePages(t, p, madeResponse(t, "text/html", manyParts))
		if page == nil || len(page.Links) == 0 || len(page.Leaves) == 0 {
			t.Fatalf("too little stands in %+v", page)
		}
		for i := range whole {
			for _, to := range []byte{0, 1, 0x7f, 0x80, 0xff} {
				b := bytes.Clone(whole)
				b[i] = to
				readAny(t, b)
				for j := i + 1; j < min(i+10, len(b)); j++ {
					b[j] = 0xff // a number that is too large
				}
				readAny(t, b)
			}
		}
	}
}

// FuzzMadePages reads files that somebody made: anything, and places of the tables in it.
func FuzzMadePages(f *testing.F) {
	for _, nesting := range []bool{false, true} {
		for _, c := range [][2]string{{"text/html", manyParts}, {"text/plain", "plain text"}, {"image/png", "\x89PNG"}} {
			b, _ := madePages(f, parse.New(parse.Options{Nesting: nesting}), madeResponse(f, c[0], c[1]))
			tail := b[len(b)-3*8:]
			at := func(i int) uint64 { return binary.LittleEndian.Uint64(tail[8*i:]) }
			f.Add(b[:len(b)-len(tail)], at(0), at(1), at(2))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, words, addresses, places uint64) {
		for _, at := range []uint64{words, addresses, places} {
			b = binary.LittleEndian.AppendUint64(slices.Clip(b), at)
		}
		readAny(t, b)
	})
}

// FuzzPages writes whatever parses and reads it back.
func FuzzPages(f *testing.F) {
	kinds := []string{"text/html", "text/plain", "application/xhtml+xml", "text/html; charset=windows-1251", "", "image/png"}
	f.Add(byte(0), "<title>T</title><h1>H</h1><p>See <a href=/x>the <em>waggle</em> dance</a><br>of bees <img alt='a bee'>")
	f.Add(byte(0), "<title>T</title><p>Log in <input type=password>")
	f.Add(byte(0), "<title>T</title><form><input type=password></form>")
	f.Add(byte(0), "<base href='http://b.example/'><a href=y rel=nofollow></a><a href=y><img alt=pic></a><meta name=robots content='noindex,noarchive'>")
	f.Add(byte(0), "<frameset><frame src=a><frame src=b></frameset>")
	f.Add(byte(0), "\xff\x00<p>\xe4\xf6 <b>x</b>y<b>z</b>")
	f.Add(byte(1), "plain text, no links")
	f.Add(byte(5), "\x89PNG")
	p := parse.New(parse.Options{})
	f.Fuzz(func(t *testing.T, kind byte, body string) {
		r := madeResponse(t, kinds[int(kind)%len(kinds)], body)
		b, want := madePages(t, p, r)
		c, err := newPages(string(b))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := c.Page(r.URL)
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, want) {
			t.Fatalf("read\n%+v\nwant\n%+v", got, want)
		}
	})
}

// BenchmarkPages makes a page from the file's bytes, for every page of the
// recorded web named by WAGGLE_WEB, an opened one (default: departments, built
// for the purpose). MB is the file's size and live-MB the heap it takes.
func BenchmarkPages(b *testing.B) {
	var w *Web
	if dir := os.Getenv("WAGGLE_WEB"); dir != "" {
		var err error
		w, err = Open(dir)
		must(b, err)
		defer w.Close()
	} else {
		w, _ = build(b, Exchange{Dir: recorded.Web(b, "departments")})
	}
	p := parse.New(parse.Options{})
	openPages(b, w, p, PagesOptions{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	started := time.Now()
	c := openPages(b, w, p, PagesOptions{})
	opened := time.Since(started)
	runtime.GC()
	runtime.ReadMemStats(&after)
	var list []web.URL
	for u := range w.URLs() {
		if _, ok := c.Page(u); ok {
			list = append(list, u)
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c.Page(list[i%len(list)])
		i++
	}
	b.ReportMetric(float64(len(c.data))/1e6, "MB")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "live-MB")
	b.ReportMetric(opened.Seconds(), "s-open")
}

// A survey by the pages that are kept parsed is the survey by the records.
func TestSurveyOfKeptPages(t *testing.T) {
	w, _ := build(t, Exchange{exchange(t, small, nil)})
	plain, err := w.Survey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := parse.New(parse.Options{Canon: w.Canon()})
	if len(w.keptPages(p).at) > 0 {
		t.Fatal("pages are kept before they were parsed")
	}
	if _, err := OpenPages(t.Context(), w, p, PagesOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(w.keptPages(p).at) != w.Len() {
		t.Fatal("no pages are kept")
	}
	kept, err := w.Survey(t.Context(), nil)
	if err != nil || !reflect.DeepEqual(kept, plain) {
		t.Errorf("%+v, %v\nwant\n%+v", kept, err, plain)
	}
}
