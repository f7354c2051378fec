package store

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/web"
)

// Two records as another tool writes them: WARC/1.0, LF only in one header, an
// address between angle brackets, a folded line, a chunked body.
const foreign = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a.example/>\r\nWARC-Date: 2020-01-02T03:04:05Z\r\nX-Folded: one\r\n two\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: 78\r\n\r\n" +
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n7\r\n, world\r\n0\r\n\r\n" +
	"\r\n\r\n" +
	"WARC/1.0\nWARC-Type: resource\nWARC-Target-URI: http://b.example/\nContent-Type: text/plain\nContent-Length: 3\n\nabc" + "\r\n\r\n"

func zip(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	_, err := gz.Write([]byte(s))
	if err := errors.Join(err, gz.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestForeignFiles(t *testing.T) {
	cut := strings.Index(foreign, "WARC/1.0\nWARC")
	for name, data := range map[string][]byte{
		"plain":               []byte(foreign),
		"member per record":   append(zip(t, foreign[:cut]), zip(t, foreign[cut:])...),
		"one member":          zip(t, foreign),
		"members of any size": append(append(zip(t, foreign[:cut]), zip(t, "")...), zip(t, foreign[cut:])...),
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader("f", bytes.NewReader(data), int64(len(data)))
			type place struct{ offset, inner int64 }
			var bodies []string
			var places []place
			for rec, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				if rec.Version != "1.0" {
					t.Errorf("version %q", rec.Version)
				}
				p, err := ReadResponse(rec, 1000)
				if err != nil {
					t.Fatal(err)
				}
				bodies = append(bodies, p.URL.String()+" "+string(p.Body))
				places = append(places, place{rec.Offset, rec.Inner})
			}
			want := []string{"http://a.example/ Hello, world", "http://b.example/ abc"}
			if !reflect.DeepEqual(bodies, want) {
				t.Fatalf("read %q", bodies)
			}
			for i := len(places) - 1; i >= 0; i-- { // backwards: no help from order
				rec, err := r.At(places[i].offset, places[i].inner)
				if err != nil {
					t.Fatal(err)
				}
				p, err := ReadResponse(rec, 1000)
				if err != nil {
					t.Fatal(err)
				}
				if got := p.URL.String() + " " + string(p.Body); got != want[i] {
					t.Errorf("at %v: %q", places[i], got)
				}
			}
		})
	}
	r := NewReader("f", strings.NewReader(foreign), int64(len(foreign)))
	rec, err := r.Next()
	if err != nil || rec.Get("x-folded") != "one two" || !rec.Date().Equal(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("read %+v, %v", rec, err)
	}
}

// TestDamage reads hostile and broken files: each gives the damage it should,
// and what is whole behind it is read.
func TestDamage(t *testing.T) {
	good := "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://ok.example/\r\nContent-Length: 2\r\n\r\nok\r\n\r\n"
	header := func(lines string) string { return "WARC/1.1\r\n" + lines + "\r\n" }
	flipped := zip(t, strings.Replace(good, "ok\r\n\r\n", "no\r\n\r\n", 1))
	flipped[len(flipped)-6] ^= 1 // checksum
	for _, c := range []struct {
		name   string
		data   []byte
		say    string // of the first damage; "" = none
		torn   bool
		whole  int // records that read
		follow bool
	}{
		{"empty file", nil, "", false, 0, false},
		{"not a WARC file", []byte("<html>"), "unexpected EOF", true, 0, false},
		{"text", []byte("<html>\n\n"), "not the start of a WARC record", false, 0, true},
		{"no length", []byte(header("WARC-Type: x\r\n")), "Content-Length", false, 0, true},
		{"negative length", []byte(header("Content-Length: -1\r\n")), "Content-Length", false, 0, true},
		{"length beyond int64", []byte(header("Content-Length: 99999999999999999999\r\n")), "Content-Length", false, 0, true},
		{"length beyond the bound", []byte(header("Content-Length: 999999999999\r\n")), "more than", false, 0, true},
		{"length beyond the file", []byte(header("Content-Length: 100\r\n") + "abc"), "unexpected EOF", true, 0, false},
		{"line without a colon", []byte(header("what\r\n")), "no colon", false, 0, true},
		{"endless header line", []byte("WARC/1.1\r\nX: " + strings.Repeat("a", 2*maxHeader)), "header of more than", false, 0, true},
		{"endless header", []byte("WARC/1.1\r\n" + strings.Repeat("A: b\r\n", maxFields+1)), "more than 10000 lines", false, 0, true},
		{"endless folded lines", []byte("WARC/1.1\r\nA: b\r\n" + strings.Repeat(" c\r\n", maxFolded+1)), "more than 1000 folded lines", false, 0, true},
		{"endless line ends", []byte(strings.Repeat("\r\n", maxHeader)), "line ends between records", false, 0, true},
		{"bad gzip header", []byte("\x1f\x8b\x09\x00\x00\x00\x00\x00\x00\x00"), "gzip", false, 0, true},
		{"bad deflate", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff"), "corrupt", false, 0, true},
		{"wrong checksum", flipped, "checksum", false, 1, true},
		{"zeros", make([]byte, 100), "unexpected EOF", true, 0, false},
		{"cut gzip", zip(t, good)[:30], "unexpected EOF", true, 0, false},
		{"bomb of line ends", zip(t, strings.Repeat("\n", 8<<20)), "line ends between records", false, 0, true},
	} {
		for _, zipped := range []bool{false, true} {
			data, whole, name := c.data, c.whole, c.name
			if zipped { // a whole record behind the damage
				if !c.follow {
					continue
				}
				name += ", and more"
				data = append(bytes.Clone(data), zip(t, good)...)
				whole++
			}
			t.Run(name, func(t *testing.T) {
				r := NewReader("f", bytes.NewReader(data), int64(len(data)))
				got := 0
				var first *Damage
				for rec, err := range r.All() {
					if err == nil {
						got++
						if _, err := io.Copy(io.Discard, rec.Block); err != nil {
							got--
						}
						continue
					}
					var d *Damage
					if !errors.As(err, &d) {
						t.Fatalf("%T: %v", err, err)
					}
					if first == nil {
						first = d
					}
				}
				if got != whole {
					t.Errorf("%d records read, want %d (%v)", got, whole, first)
				}
				switch {
				case c.say == "" && first == nil:
				case first == nil || !strings.Contains(first.Error(), c.say):
					t.Errorf("damage %v, want %q", first, c.say)
				case !zipped && first.Torn != c.torn:
					t.Errorf("torn is %v", first.Torn)
				}
			})
		}
	}
}

func TestReadResponseBounds(t *testing.T) {
	rec := func(head, body string) *Record {
		block := head + "\r\n\r\n" + body
		return &Record{
			Fields: []Field{{"WARC-Type", "response"}, {"WARC-Target-URI", "http://a.example/x"}},
			Length: int64(len(block)), Block: strings.NewReader(block),
		}
	}
	bomb := string(zip(t, strings.Repeat("a", 10<<20)))
	// Behind more of nothing than a body of that length can be coded to, nothing more is read.
	nothing := string(zip(t, string(zip(t, "<p>hi"))+strings.Repeat(string(zip(t, "")), 60_000)+string(zip(t, "<p>never"))))
	for _, c := range []struct {
		name, head, body, wantBody, truncated string
		bad                                   bool
	}{
		{"gzip bomb", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip", bomb, strings.Repeat("a", 100_000), "length", false},
		{"codings of nothing", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip", nothing, "<p>hi", "", false},
		{"a head of folded lines", "HTTP/1.1 200 OK\r\nX: a" + strings.Repeat("\r\n b", maxFolded+1), "", "", "", true},
		{"long body", "HTTP/1.1 200 OK", strings.Repeat("a", 200_000), "", "length", false},
		{"broken gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip", "not gzip", "not gzip", "", false},
		{"unknown coding", "HTTP/1.1 200 OK\r\nContent-Encoding: rot13", "abc", "abc", "", false},
		{"false chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "no chunks", "no chunks", "", false},
		{"no status", "hello", "", "", "", true},
		{"status 9", "HTTP/1.1 9", "", "", "", true},
		{"empty", "", "", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ReadResponse(rec(c.head, c.body), 100_000)
			if (err != nil) != c.bad {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if c.wantBody != "" && string(p.Body) != c.wantBody || len(p.Body) > 100_000 {
				t.Errorf("a body of %d bytes: %.20q", len(p.Body), p.Body)
			}
			if p.Truncated != c.truncated {
				t.Errorf("truncated %q", p.Truncated)
			}
		})
	}
	if _, err := ReadResponse(rec("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", maxHeader), ""), 4*maxHeader); err == nil {
		t.Error("a head of more than a megabyte is read")
	}
	p, err := ReadResponse(rec("HTTP/1.1 301 Moved\r\nLocation: /y?token="+web.Concealed, ""), 100)
	if err != nil || !p.Location.IsZero() {
		t.Errorf("a location of which something is concealed leads to %v, %v", p.Location, err)
	}
	p, err = ReadResponse(rec("HTTP/1.1 301 Moved\r\nLocation: ../y#z", ""), 100)
	if err != nil || p.Location.String() != "http://a.example/y" {
		t.Errorf("location %v, %v", p.Location, err)
	}
}

// What the archive has of a body in its coding may decode to more than the page was judged by.
func TestDecodedBodyIsCutWhereItWas(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	x := pageExchange(t, "https://example.org/long", "")
	text := strings.Repeat("honey bee ", 10_000)
	x.Response.Head = append(x.Response.Head, "\r\nContent-Encoding: gzip"...)
	x.Response.Header["Content-Encoding"] = []string{"gzip"}
	x.Response.Raw, x.Response.Body, x.Response.Truncated = zip(t, text), []byte(text[:1000]), "length"
	appendTo(t, a, encode(t, a, x))
	for rec, err := range Records(paths(t, dir)...) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type() != "response" {
			continue
		}
		p, err := ReadResponse(rec, 1<<20)
		if err != nil || !bytes.Equal(p.Body, x.Response.Body) || p.Truncated != "length" {
			t.Errorf("a body of %d bytes, truncated %q, %v", len(p.Body), p.Truncated, err)
		}
	}
}

func TestVerifyFindsChange(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	block := []byte("HTTP/1.1 200 OK\r\n\r\nHello")
	rec := &Record{Version: "1.1", Fields: []Field{
		{"WARC-Type", "response"}, {"WARC-Target-URI", "http://a.example/"}, {"Content-Type", "application/http;msgtype=response"},
		{"WARC-Block-Digest", sha1Digest(block)}, {"WARC-Payload-Digest", sha1Digest([]byte("Hello"))},
	}}
	appendTo(t, a, a.Copy(rec, block))
	appendTo(t, a, a.Copy(rec, []byte("HTTP/1.1 200 ok\r\n\r\nHello")))
	appendTo(t, a, a.Copy(rec, []byte("HTTP/1.1 200 OK\r\n\r\nHallo")))
	rep, err := Verify(nil, paths(t, dir)...)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, d := range rep.Damaged {
		said = append(said, strings.Fields(d.Error())[3])
	}
	want := []string{"WARC-Block-Digest", "WARC-Block-Digest", "WARC-Payload-Digest"}
	if !reflect.DeepEqual(said, want) || rep.Digests != 4 {
		t.Errorf("found %q, %d digests good: %v", said, rep.Digests, rep.Damaged)
	}
}

// A line of a head may be longer than what is read of it at once: its end alone is no empty line.
func TestVerifyLongHeadLines(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	var mark []byte
	for _, around := range []int{4096, 8192} {
		for size := around - 2; size <= around+2; size++ {
			x := pageExchange(t, fmt.Sprintf("https://example.org/%d", size), "<p>Hello")
			x.Response.Head = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nX: %s\r\nContent-Type: text/html", strings.Repeat("x", size-len("X: ")))
			mark = appendTo(t, a, encode(t, a, x))
		}
	}
	if rep, err := Verify(nil, paths(t, dir)...); err != nil || !rep.OK() {
		t.Errorf("%v, %v", rep.Damaged, err)
	}
	o, err := Open(dir, Options{Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
}

func TestCDXJ(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	for _, u := range []string{"https://www.example.org/B?q=1", "http://192.0.2.7:8080/", "https://example.org/a"} {
		appendTo(t, a, encode(t, a, pageExchange(t, u, "<p>Hello")))
	}
	var keys []string
	for _, line := range cdxj(t, paths(t, dir)...) {
		keys = append(keys, strings.Join(strings.Fields(line)[:2], " "))
	}
	want := []string{"7,2,0,192:8080)/ 20260301120000", "org,example)/a 20260301120000", "org,example)/b?q=1 20260301120000"}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("keys %q", keys)
	}
	data, err := os.ReadFile(paths(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range Index(paths(t, dir)...) {
		if err != nil {
			t.Fatal(err)
		}
		gz, err := gzip.NewReader(bytes.NewReader(data[e.Offset : e.Offset+e.Length]))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(gz); err != nil || bytes.Count(text, []byte("WARC/1.1")) != 1 {
			t.Errorf("%+v is not one whole record: %v", e, err)
		}
	}
}

// TestWarcio lets an independent reader index and check an archive: the npm
// package warcio 2.4.11. To run it:
//
//	cd $(mktemp -d) && npm install warcio@2.4.11
//	WAGGLE_WARCIO=$PWD/node_modules/.bin/warcio go test -run Warcio ./store
func TestWarcio(t *testing.T) {
	warcio := os.Getenv("WAGGLE_WARCIO")
	if warcio == "" {
		t.Skip("needs the npm package warcio: set WAGGLE_WARCIO to its command, as above")
	}
	dir := t.TempDir()
	a := newArchive(t, dir, Options{Software: "waggle", MaxFile: 20_000})
	const pages = 50
	for i := range pages {
		x := pageExchange(t, fmt.Sprintf("https://example.org/%d", i), strings.Repeat("<p>word ", i*100))
		switch i % 4 {
		case 1:
			x.Response.Head = append(x.Response.Head, "\r\nTransfer-Encoding: chunked"...)
		case 2:
			x.Response.Raw = zip(t, string(x.Response.Body))
			x.Response.Head = append(x.Response.Head, "\r\nContent-Encoding: gzip"...)
		case 3:
			x.Response.Robots = response(t, fmt.Sprintf("https://example%d.org/robots.txt", i), "User-agent: *")
		}
		appendTo(t, a, encode(t, a, x))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files := paths(t, dir)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), warcio, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("warcio %v: %v: %s", args, err, stderr.String())
		}
		return string(out)
	}
	records := 0
	for _, err := range Records(files...) {
		if err != nil {
			t.Fatal(err)
		}
		records++
	}
	index := run(append([]string{"index"}, files...)...)
	if got := strings.Count(index, "\n"); got != records {
		t.Errorf("warcio indexes %d records of %d", got, records)
	}
	ours := cdxj(t, files...)
	theirs := slices.Sorted(strings.Lines(run(append([]string{"cdx-index"}, files...)...)))
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("CDXJ of warcio (-) and of ours (+):\n%s", diff)
	}
	t.Logf("warcio indexed %d records in %d files, %d responses", records, len(files), len(theirs))
	check := filepath.Join(filepath.Dir(warcio), "..", "warcio")
	script := fmt.Sprintf(`
import { createReadStream } from "node:fs";
import { WARCParser } from %q;
import { createHash } from "node:crypto";
const A = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const base32 = (b) => { let s = "", v = 0, n = 0; for (const c of b) { v = (v << 8 | c) & 0xfff; n += 8; while (n >= 5) { n -= 5; s += A[v >> n & 31]; } } return s; };
let n = 0, bad = 0;
for (const f of process.argv.slice(2)) {
  const p = new WARCParser(createReadStream(f), { parseHttp: false });
  for await (const r of p) {
    const data = await r.readFully(false);
    const want = r.warcHeader("WARC-Block-Digest");
    n++;
    if ("sha1:" + base32(createHash("sha1").update(data).digest()) !== want) bad++;
  }
}
console.log(n + " " + bad);
`, filepath.Join(check, "dist", "index.js"))
	file := filepath.Join(t.TempDir(), "check.mjs")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", append([]string{file}, files...)...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != fmt.Sprintf("%d 0", records) {
		t.Errorf("block digests read by warcio (records, wrong): %s %v", out, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(foreign))
	f.Add(zip(f, foreign))
	a := newArchive(f, f.TempDir(), Options{})
	f.Add(encode(f, a, pageExchange(f, "https://example.org/", "<p>Hello")))
	f.Add([]byte("WARC/1.1\r\nContent-Length: 99\r\n\r\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader("fuzz", bytes.NewReader(data), int64(len(data)))
		last := int64(-1)
		lastInner := int64(-1)
		for range len(data) + 2 { // each record and damage takes up a byte at least
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			var at, inner int64
			var d *Damage
			switch {
			case err == nil:
				at, inner = rec.Offset, rec.Inner
				if rec.Length%2 == 0 { // half of them are left unread
					if p, err := ReadResponse(rec, 1<<16); err == nil && (len(p.Raw) > 1<<16 || len(p.Body) > 1<<16) {
						t.Fatalf("bodies of %d and %d bytes", len(p.Raw), len(p.Body))
					}
				}
				if at < last || at == last && inner <= lastInner {
					t.Fatalf("a record at %d+%d after one at %d+%d", at, inner, last, lastInner)
				}
				last, lastInner = at, inner
			case errors.As(err, &d):
				if d.Offset < 0 || d.Offset > int64(len(data)) {
					t.Fatalf("damage at %d of %d bytes", d.Offset, len(data))
				}
			default:
				t.Fatalf("%T: %v", err, err)
			}
		}
		if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
			return // a member may unzip to more records than it has bytes
		}
		t.Fatal("reading does not end")
	})
}

func FuzzParseMeta(f *testing.F) {
	x := pageExchange(f, "https://example.org/", "")
	m := metaOf(&x)
	f.Add(m.append(nil))
	f.Fuzz(func(t *testing.T, block []byte) {
		m, err := ParseMeta(block)
		if err != nil {
			return
		}
		again, err := ParseMeta(m.append(nil))
		if err != nil {
			return // numbers out of what Encode writes
		}
		if m.Page && again.Title != m.Title || again.Via != m.Via || again.Depth != m.Depth {
			t.Fatalf("%+v became %+v", m, again)
		}
	})
}

// cdxj are the lines of the index of files, sorted, each with its newline.
func cdxj(t *testing.T, files ...string) (lines []string) {
	t.Helper()
	for e, err := range Index(files...) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Replayable() {
			continue
		}
		line, err := e.CDXJ(filepath.Base(e.File))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line)+"\n")
	}
	slices.Sort(lines)
	return lines
}
