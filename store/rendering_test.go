package store

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// The file of a site stands before the response beside which it was asked for, and so do the
// robots.txt that came on the way to it.
func TestSiteFile(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	x := pageExchange(t, "https://example.org/page", "<p>a page")
	moved := response(t, "https://example.org/.well-known/tdmrep.json", "")
	moved.Robots = response(t, "https://example.org/robots.txt", "User-agent: *")
	x.Response.SiteFile = &web.SiteFile{Response: moved, Robots: response(t, "https://www.example.org/robots.txt", "")}
	other := pageExchange(t, "https://example.com/page", "<p>another")
	other.Response.SiteFile = &web.SiteFile{Robots: response(t, "https://example.com/robots.txt", "")}
	appendTo(t, a, encode(t, a, x), encode(t, a, other))
	var got []string
	for p, err := range Pieces(paths(t, dir)[0], -1) {
		if err != nil || p.Damage != nil {
			t.Fatal(err, p.Damage)
		}
		if p.Type == "response" {
			got = append(got, p.Target)
		}
	}
	want := []string{
		"https://example.org/robots.txt", "https://example.org/.well-known/tdmrep.json", "https://www.example.org/robots.txt", "https://example.org/page",
		"https://example.com/robots.txt", "https://example.com/page",
	}
	if !slices.Equal(got, want) {
		t.Errorf("responses\n%q\nwant\n%q", got, want)
	}
}

// A rendering stands before the response that it is of, with what the page asked for, and is
// read back with it.
func TestRendering(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	asked := response(t, "https://example.org/data.json", `{"a": 1}`)
	asked.Robots = response(t, "https://example.org/robots.txt", "User-agent: *")
	x := pageExchange(t, "https://example.org/page", `<div id="app"></div>`)
	x.Response.Rendering = &web.Rendering{
		Body: []byte("<p>rendered"), Started: moment.Add(time.Second), Took: 1500 * time.Millisecond, Ended: web.ReasonRenderSize,
		Resources: []web.Resource{{Response: asked, Type: "fetch"}},
	}
	plain := pageExchange(t, "https://example.org/plain", "<p>as sent")
	plain.Response.Rendering = &web.Rendering{Ended: web.ReasonRenderCPU, Took: time.Second}
	appendTo(t, a, encode(t, a, x), encode(t, a, plain))

	var got []string
	var metas []Meta
	for p, err := range Pieces(paths(t, dir)[0], -1) {
		if err != nil || p.Damage != nil || p.BadMeta != nil {
			t.Fatal(err, p.Damage, p.BadMeta)
		}
		line := p.Type + " " + p.Target
		if p.Asked {
			line += " asked"
		}
		if p.Type == "metadata" {
			metas = append(metas, p.Meta)
		}
		got = append(got, line)
	}
	want := []string{
		"warcinfo ",
		"response https://example.org/robots.txt", "request https://example.org/robots.txt",
		"response https://example.org/data.json asked", "request https://example.org/data.json",
		"conversion https://example.org/page",
		"response https://example.org/page", "request https://example.org/page", "metadata https://example.org/page",
		"response https://example.org/plain", "request https://example.org/plain", "metadata https://example.org/plain",
	}
	if !slices.Equal(got, want) {
		t.Errorf("records\n%q\nwant\n%q", got, want)
	}
	if m := metas[0]; !m.Rendered || m.Ended != web.ReasonRenderSize || m.Rendering != 1500*time.Millisecond {
		t.Errorf("the first metadata: %+v", m)
	}
	if m := metas[1]; !m.Rendered || m.Ended != web.ReasonRenderCPU {
		t.Errorf("the second metadata: %+v", m)
	}

	for e, err := range Index(paths(t, dir)...) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != "conversion" {
			continue
		}
		r := opened(t, paths(t, dir)[0])
		p, rec, err := r.ResponseAt(e.Offset, e.Inner, 1<<20)
		if err != nil || rec.Type() != "response" || string(p.Body) != `<div id="app"></div>` || p.Rendering == nil {
			t.Fatalf("%v, %+v", err, p)
		}
		if shown := p.Rendered(); string(shown.Body) != "<p>rendered" || shown.Truncated != "length" || shown.Header["Content-Type"][0] != typeRendered {
			t.Errorf("rendered: %+v", shown)
		}
	}
}

// opened is a reader of a file.
func opened(t *testing.T, path string) *Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return NewReader(path, f, info.Size())
}

// The records say in how many places something is concealed, and are read so; others say nothing of it.
func TestConcealed(t *testing.T) {
	dir := t.TempDir()
	a := newArchive(t, dir, Options{})
	x := pageExchange(t, "https://example.org/page", "<p>"+web.Concealed+" and "+web.Concealed)
	x.Response.Concealed = 2
	x.Response.Robots = response(t, "https://example.org/robots.txt", "User-agent: *")
	x.Response.Rendering = &web.Rendering{Body: []byte("<p>" + web.Concealed), Started: moment, Concealed: 1}
	appendTo(t, a, encode(t, a, x))
	name := paths(t, dir)[0]
	got := map[string]string{}
	at := int64(-1)
	for p, err := range Pieces(name, -1) {
		if err != nil || p.Damage != nil {
			t.Fatal(err, p.Damage)
		}
		if p.Type == "conversion" {
			at = p.Offset
		}
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(name, f, info.Size())
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		got[rec.Type()+" "+rec.Target()] = rec.Get("Waggle-Concealed")
	}
	for what, want := range map[string]string{
		"response https://example.org/page": "2", "conversion https://example.org/page": "1",
		"response https://example.org/robots.txt": "", "request https://example.org/page": "", "metadata https://example.org/page": "",
	} {
		if n, ok := got[what]; !ok || n != want {
			t.Errorf("%s: %q places, want %q", what, n, want)
		}
	}
	p, _, err := r.ResponseAt(at, 0, 1<<20)
	if err != nil || p.Concealed != 2 || p.Rendering == nil || p.Rendering.Concealed != 1 || p.Rendered().Concealed != 1 {
		t.Errorf("read as %+v: %v", p, err)
	}
}
