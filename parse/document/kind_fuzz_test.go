package document_test

import (
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/web"
)

// recognised is a reader that only notes the kind it was asked to read.
type recognised struct{ kind document.Kind }

func (r *recognised) HTML(k document.Kind, _ []byte, _ string) ([]byte, bool, error) {
	r.kind = k
	return nil, false, document.ErrEmpty
}

// Which kind a document is of, whatever it begins with and whatever its server says: one of
// those that there are, at a cost that its length bounds.
func FuzzKind(f *testing.F) {
	f.Add([]byte("PK\x03\x04 mimetypeapplication/epub+zip"), "application/zip", "/a.docx")
	f.Add([]byte("<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]><!-- --><a:RSS>"), "text/xml", "/")
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), "application/x-gzip", "/sitemap.xml.gz")
	f.Add([]byte("https://a.example/\nhttps://a.example/b\n"), "text/plain", "/sitemap.txt")
	f.Add([]byte("\xff\xfe<\x00f\x00e\x00e\x00d\x00>\x00"), "application/octet-stream", "/x.rtf")
	var all []document.Kind
	for _, d := range document.Kinds() {
		all = append(all, d.Kind)
	}
	f.Fuzz(func(t *testing.T, body []byte, mediaType, path string) {
		u, err := web.Parse("https://a.example" + path)
		if err != nil {
			return
		}
		var seen recognised
		d := document.Documents{Reader: &seen}
		r := &web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {mediaType}}, Body: body}
		var made *parse.Document
		used := allocated.By(func() { made, err = d.HTML(r, mediaType, "") })
		if seen.kind != "" && seen.kind != document.Sitemap && !slices.Contains(all, seen.kind) {
			t.Errorf("a document of kind %q: %v %v", seen.kind, made, err)
		}
		if used > uint64(1<<20+4*len(body)) {
			t.Errorf("%d bytes allocated to tell the kind of %d", used, len(body))
		}
	})
}
