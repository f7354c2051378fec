package store

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/web"
)

var moment = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func mustURL(t testing.TB, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// response is what a fetcher would hand over for a 200 page.
func response(t testing.TB, address, body string) *web.Response {
	t.Helper()
	u := mustURL(t, address)
	return &web.Response{
		URL: u, Started: moment, Took: 120 * time.Millisecond, Proto: "HTTP/1.1", Remote: "192.0.2.7:80", Status: 200,
		RequestHead: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: test", u.RequestPath(), u.Host()),
		Head:        []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Thing: a\r\nx-thing: b"),
		Header:      http.Header{"Content-Type": {"text/html; charset=utf-8"}, "X-Thing": {"a", "b"}},
		Raw:         []byte(body), Body: []byte(body),
	}
}

// pageExchange is an exchange with all that a crawl says of a page.
func pageExchange(t testing.TB, address, body string) web.Exchange {
	p := response(t, address, body)
	return web.Exchange{
		Candidate: web.Candidate{URL: p.URL, From: mustURL(t, "https://example.org/from"), Kind: web.LinkA, Depth: 2, Redirects: 1, Priority: 0.75},
		Response:  p,
		Page: &web.Page{URL: p.URL, MIME: "text/html", Title: "Two\r\nlines", Language: "en", Charset: "utf-8",
			Directives: web.Directives{NoAI: true, TDMReserved: true, TDMPolicy: "https://example.org/tdm"}},
		Verdict: web.Verdict{Relevance: 0.93, Similarity: 0.25, Relevant: true},
		Judge:   "topic", Scorer: "best-first",
	}
}

func newArchive(t testing.TB, dir string, o Options) *Archive {
	t.Helper()
	o.Now = func() time.Time { return moment }
	a, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func appendTo(t testing.TB, a *Archive, records ...[]byte) []byte {
	t.Helper()
	mark, err := a.Append(records...)
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

func encode(t testing.TB, a *Archive, x web.Exchange) []byte {
	t.Helper()
	b, err := a.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func paths(t testing.TB, dir string) []string {
	t.Helper()
	p, err := Paths(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFormat shows a whole file, unzipped.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{Software: "waggle/1", Operator: "ops@example.org", Job: "demo"})
	x := pageExchange(t, "https://example.org/page", "<p>Hello")
	x.Response.Head = append(x.Response.Head, "\r\nTransfer-Encoding: chunked"...)
	x.Response.Robots = response(t, "https://example.org/robots.txt", "User-agent: *")
	x.Response.Robots.RequestHead = nil
	appendTo(t, a, encode(t, a, x))

	f, err := os.Open(paths(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(gz)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/format.txt")
	if err != nil && os.Getenv("WAGGLE_UPDATE") == "" {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(got), "\r\n", "\n")
	if os.Getenv("WAGGLE_UPDATE") != "" {
		if err := os.WriteFile("testdata/format.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(want) {
		t.Errorf("the file differs from testdata/format.txt (WAGGLE_UPDATE=1 writes it):\n%s", text)
	}
	if n := bytes.Count(got, []byte("\n")) - bytes.Count(got, []byte("\r\n")); n != 0 {
		t.Errorf("%d lines do not end in CR LF", n)
	}
}

// TestMembers checks that each record is one gzip member, by an other gzip
// implementation than the one that wrote it.
func TestMembers(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	appendTo(t, a, encode(t, a, pageExchange(t, "https://example.org/a", "<p>Hello")))
	data, err := os.ReadFile(paths(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(data)
	var kinds []string
	for r.Len() > 0 {
		gz, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		gz.Multistream(false)
		text, err := io.ReadAll(gz)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("WARC/1.1\r\n")); n != 1 {
			t.Fatalf("a member holds %d records", n)
		}
		_, kind, _ := strings.Cut(string(text), "WARC-Type: ")
		kind, _, _ = strings.Cut(kind, "\r\n")
		kinds = append(kinds, kind)
	}
	if want := []string{"warcinfo", "response", "request", "metadata"}; !slices.Equal(kinds, want) {
		t.Errorf("members %v, want %v", kinds, want)
	}
}

// A response that refers to an earlier one for its body is a revisit record, and what is
// read of it says so.
func TestRevisit(t *testing.T) {
	at := time.Date(2026, 2, 1, 12, 0, 0, 123456000, time.UTC)
	for _, c := range []struct {
		notModified bool
		profile     string
		head        string
		status      int
	}{
		{true, "http://netpreserve.org/warc/1.1/revisit/server-not-modified", "HTTP/1.1 304 Not Modified\r\nEtag: \"1\"", 304},
		{false, "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "HTTP/1.1 200 OK\r\nContent-Type: text/html", 200},
	} {
		dir := t.TempDir()
		a := newArchive(t, dir, Options{})
		x := pageExchange(t, "https://example.org/a", "the body")
		whole := sha1Digest(x.Response.Raw)
		x.Response.Revisit = &web.Revisit{NotModified: c.notModified, Head: []byte(c.head), Record: "<urn:uuid:1>", At: at}
		appendTo(t, a, encode(t, a, x))
		if rep, err := Verify(nil, paths(t, dir)...); err != nil || !rep.OK() || rep.Types["revisit"] != 1 || rep.Types["response"] != 0 {
			t.Fatalf("verify: %+v, %v", rep, err)
		}
		found := false
		for rec, err := range Records(paths(t, dir)...) {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type() != "revisit" {
				continue
			}
			found = true
			for name, want := range map[string]string{
				"WARC-Profile": c.profile, "WARC-Refers-To": "<urn:uuid:1>", "WARC-Refers-To-Date": "2026-02-01T12:00:00.123456Z",
				"WARC-Refers-To-Target-URI": "https://example.org/a", "WARC-Payload-Digest": whole,
			} {
				if got := rec.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			p, err := ReadResponse(rec, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			v := p.Revisit
			if v == nil || v.NotModified != c.notModified || !v.At.Equal(at) || v.Record != "<urn:uuid:1>" || string(v.Head) != c.head || p.Status != c.status || len(p.Body) > 0 {
				t.Errorf("read %+v, %+v", p, v)
			}
		}
		if !found {
			t.Error("there is no revisit record")
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		a := newArchive(t, dir, Options{})
		x := pageExchange(t, "https://example.org/a", "")
		body := rapid.SliceOf(rapid.Byte()).Draw(rt, "body")
		x.Response.Raw, x.Response.Body = body, body
		x.Response.Truncated = rapid.SampledFrom([]string{"", "length", "time", "disconnect"}).Draw(rt, "truncated")
		x.Candidate.Priority = rapid.Float64().Draw(rt, "priority")
		x.Verdict.Relevance = rapid.Float64Range(0, 1).Draw(rt, "relevance")
		x.Page.Title = rapid.String().Draw(rt, "title")
		appendTo(t, a, encode(t, a, x))
		if err := a.Sync(); err != nil {
			rt.Fatal(err)
		}
		rep, err := Verify(nil, paths(t, dir)...)
		if err != nil || !rep.OK() || rep.Records != 4 || rep.Digests != 5 {
			rt.Fatalf("verify: %+v, %v", rep, err)
		}
		for rec, err := range Records(paths(t, dir)...) {
			if err != nil {
				rt.Fatal(err)
			}
			switch rec.Type() {
			case "response":
				p, err := ReadResponse(rec, 1<<20)
				if err != nil {
					rt.Fatal(err)
				}
				want := *x.Response
				want.RequestHead, want.Took, want.Remote = nil, 0, "192.0.2.7"
				if len(body) == 0 {
					want.Raw, want.Body, p.Raw, p.Body = nil, nil, nil, nil
				}
				if p.Header["X-Thing"][1] != "b" {
					rt.Fatalf("header %v", p.Header)
				}
				want.Header, p.Header = nil, nil
				if p.Record != rec.Get("WARC-Record-ID") {
					rt.Fatalf("record %q", p.Record)
				}
				p.Record = ""
				if !reflect.DeepEqual(*p, want) {
					rt.Fatalf("read %+v\nwrote %+v", *p, want)
				}
			case "metadata":
				block, err := io.ReadAll(rec.Block)
				if err != nil {
					rt.Fatal(err)
				}
				m, err := ParseMeta(block)
				if err != nil {
					rt.Fatal(err)
				}
				want := metaOf(&x)
				want.Title = strings.TrimSpace(strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(want.Title))
				if m.Priority != want.Priority || m.Relevance != want.Relevance || m.Title != want.Title {
					rt.Fatalf("read %+v\nwrote %+v", m, want)
				}
				m.Title = want.Title
				if !reflect.DeepEqual(m, want) {
					rt.Fatalf("read %+v\nwrote %+v", m, want)
				}
			}
		}
	})
}

func TestEncodeIsPure(t *testing.T) {
	a := newArchive(t, t.TempDir(), Options{})
	x := pageExchange(t, "https://example.org/a", strings.Repeat("word ", 10_000))
	want := encode(t, a, x)
	done := make(chan error)
	for range 8 {
		go func() {
			for range 20 {
				if got, err := a.Encode(x); err != nil || !bytes.Equal(got, want) {
					done <- fmt.Errorf("other bytes, or %v", err)
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for name, x := range map[string]web.Exchange{"no response": {}, "no address": {Response: &web.Response{}}} {
		if _, err := a.Encode(x); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func targets(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	for rec, err := range Records(paths(t, dir)...) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type() == "response" {
			list = append(list, rec.Target())
		}
	}
	return list
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{Prefix: "x", MaxFile: 4000})
	var want []string
	for i := range 20 {
		address := fmt.Sprintf("https://example.org/%d", i)
		want = append(want, address)
		appendTo(t, a, encode(t, a, pageExchange(t, address, "<p>Hello")))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got := targets(t, dir); !slices.Equal(got, want) {
		t.Errorf("read %v", got)
	}
	files := paths(t, dir)
	if len(files) < 3 {
		t.Fatalf("files %v", files)
	}
	for i, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 4000 {
			t.Errorf("%s has %d bytes", f, info.Size())
		}
		if want := fmt.Sprintf("x-%05d.warc.gz", i); filepath.Base(f) != want {
			t.Errorf("file %s, want %s", f, want)
		}
		for rec, err := range Records(f) {
			if err != nil || rec.Type() != "warcinfo" || rec.Get("WARC-Filename") != filepath.Base(f) {
				t.Errorf("%s begins with %v, %v", f, rec, err)
			}
			break
		}
	}
	if _, err := Create(dir, Options{Prefix: "x"}); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create over an archive: %v", err)
	}
	if _, err := a.Append([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
}

func TestMarks(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{MaxFile: 3000})
	marks := [][]byte{a.Mark()}
	for i := range 8 {
		marks = append(marks, appendTo(t, a, encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), "<p>Hello"))))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for n := len(marks) - 1; n >= 0; n-- {
		b := newArchive(t, dir, Options{MaxFile: 3000, Mark: marks[n]})
		if got := targets(t, dir); len(got) != n {
			t.Fatalf("at mark %d: %v", n, got)
		}
		if !bytes.Equal(b.Mark(), marks[n]) {
			t.Errorf("mark %q became %q", marks[n], b.Mark())
		}
		b.Close()
	}
	if !bytes.Equal(marks[0], StartMark()) {
		t.Errorf("an empty archive's mark is %q", marks[0])
	}
	b := newArchive(t, dir, Options{Mark: StartMark()})
	appendTo(t, b, encode(t, b, pageExchange(t, "https://example.org/again", "")))
	if got := targets(t, dir); len(got) != 1 {
		t.Errorf("after starting again: %v", got)
	}
}

func TestMissing(t *testing.T) {
	build := func(t *testing.T) (dir string, mark []byte) {
		dir = t.TempDir()
		a := newArchive(t, dir, Options{MaxFile: 1500})
		for i := range 4 {
			mark = appendTo(t, a, encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), "<p>Hello")))
		}
		if n := len(paths(t, dir)); n != 4 {
			t.Fatalf("%d files", n)
		}
		return dir, mark
	}
	for _, c := range []struct {
		name string
		harm func(files []string) error
		say  string
	}{
		{"shorter", func(f []string) error { return os.Truncate(f[3], 100) }, "waggle-00003.warc.gz has 100 of "},
		{"last gone", func(f []string) error { return os.Remove(f[3]) }, "waggle-00003.warc.gz is missing"},
		{"earlier gone", func(f []string) error { return errors.Join(os.Remove(f[0]), os.Remove(f[2])) }, "waggle-00000.warc.gz is missing; waggle-00002.warc.gz is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, mark := build(t)
			if err := c.harm(paths(t, dir)); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, Options{Mark: mark})
			var missing *MissingError
			if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.say) {
				t.Fatalf("got %v, want a *MissingError that says %q", err, c.say)
			}
			if b, err := Open(dir, Options{}); err != nil {
				t.Errorf("without a mark: %v", err)
			} else {
				b.Close()
			}
		})
	}
	t.Run("an earlier one cut", func(t *testing.T) {
		dir, mark := build(t)
		name := paths(t, dir)[1]
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		for size := int64(0); size < info.Size(); size += 13 {
			if err := os.Truncate(name, info.Size()-size); err != nil {
				t.Fatal(err)
			}
			o, err := Open(dir, Options{Mark: mark})
			var damage *Damage
			if size == 0 && err == nil {
				o.Close()
			} else if !errors.As(err, &damage) || damage.File != name {
				t.Errorf("cut by %d of %d bytes: %v", size, info.Size(), err)
			}
		}
	})
	for _, bad := range []string{"", "warc", "warc 3 0 0 0", "warc 2 0 0", "warc 2 0 7 6", "warc 2 0 -1 6", "warc 1 -1 0", "warc 1 0 x", "warc 1 0 0 0"} {
		if _, err := Open(t.TempDir(), Options{Mark: []byte(bad)}); err == nil {
			t.Errorf("mark %q: no error", bad)
		}
	}
}

// TestTornTail cuts a file at every length and opens it without a mark.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	for i := range 2 {
		appendTo(t, a, encode(t, a, pageExchange(t, fmt.Sprintf("https://example.org/%d", i), "<p>Hello")))
	}
	a.Close()
	whole, err := os.ReadFile(paths(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64 // of records
	r := NewReader("whole", bytes.NewReader(whole), int64(len(whole)))
	for _, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if err := r.finish(); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, r.pos())
	}
	for n := range len(whole) + 1 {
		m := newMemory()
		m.files["dir/waggle-00000.warc.gz"] = &memFile{m: m, data: slices.Clone(whole[:n])}
		b, err := Open("dir", Options{Files: m})
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		want := int64(0)
		for _, e := range ends {
			if e <= int64(n) {
				want = e
			}
		}
		if got := string(b.Mark()); got != string(mark{end: want}.text()) {
			t.Fatalf("cut at %d: mark %s, want offset %d", n, got, want)
		}
		b.Close()
	}
}

func TestFullDisk(t *testing.T) {
	m := newMemory()
	a, err := Open("dir", Options{Files: m})
	if err != nil {
		t.Fatal(err)
	}
	before := appendTo(t, a, encode(t, a, pageExchange(t, "https://example.org/a", "x")))
	second := encode(t, a, pageExchange(t, "https://example.org/b", "y"))
	m.fail = func(op string) (keep int, err error) {
		if op == "write" {
			return 100, syscall.ENOSPC
		}
		return 0, nil
	}
	_, err = a.Append(second)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("got %v", err)
	}
	if !bytes.Equal(a.Mark(), before) {
		t.Errorf("mark %s after a failed write, was %s", a.Mark(), before)
	}
	m.fail = nil
	appendTo(t, a, second)
	dir := t.TempDir()
	m.save(t, dir)
	if got := targets(t, dir); len(got) != 2 {
		t.Errorf("read %v", got)
	}
}
