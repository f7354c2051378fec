package store

import (
	"bytes"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// A body is decoded as it was when it was fetched, whatever stands beside its codings.
func TestCodingsAsFetched(t *testing.T) {
	text := strings.Repeat("honey bee ", 100)
	zipped := zip(t, text)
	twice := zip(t, string(zipped))
	for _, c := range []struct {
		lines []string
		raw   []byte
		want  string
	}{
		{[]string{"gzip"}, zipped, text},
		{[]string{"utf-8, gzip"}, zipped, text},
		{[]string{"gzip, none"}, zipped, text},
		{[]string{"none", "gzip"}, zipped, text},
		{[]string{"", "X-GZIP"}, zipped, text},
		{[]string{"gzip", "gzip"}, twice, text},
		{[]string{"identity"}, zipped, string(zipped)},
		{[]string{"utf-8"}, zipped, string(zipped)},
		{[]string{"gzip"}, zip(t, ""), ""},
		{[]string{"gzip, gzip", "gzip"}, zip(t, string(twice)), text},
		{[]string{"gzip, gzip", "gzip, gzip"}, zip(t, string(zip(t, string(twice)))), string(zip(t, string(zip(t, string(twice)))))},
	} {
		dir := t.TempDir()
		a := newArchive(t, dir, Options{})
		x := pageExchange(t, "https://example.org/coded", "")
		x.Response.Head = nil
		x.Response.Header = web.Header{"Content-Type": {"text/html"}, "Content-Encoding": c.lines}
		x.Response.Raw, x.Response.Body = c.raw, []byte(c.want)
		appendTo(t, a, encode(t, a, x))
		for rec, err := range Records(paths(t, dir)...) {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type() != "response" {
				continue
			}
			if p, err := ReadResponse(rec, 1<<20); err != nil || !bytes.Equal(p.Body, x.Response.Body) {
				t.Errorf("%q: a body of %d bytes, want %d, %v", c.lines, len(p.Body), len(c.want), err)
			}
		}
	}
}
