package extract_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/extract"
)

// A file of fields is read, or refused with its name; what was read can be written and
// read again.
func FuzzFields(f *testing.F) {
	f.Add("fields:\n  - {name: a, css: 'a > b:not(.c)', take: '@href', pattern: '(x)', at: -1, on: a.example/b}")
	f.Add("fields:\n  - {name: a, many: true, from: [{xpath: '//a[1]/@b'}, {json-ld: T, property: a.b}, {microdata: T, property: a, until: ','}]}")
	f.Add("fields: [{name: a, css: 'a,b ~ c + d'}, {name: b, xpath: 'string(//a)', after: x}]")
	p := page(f, "https://a.example/b", shop)
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := extract.Read("f.yaml", []byte(text))
		if err != nil {
			if !strings.Contains(err.Error(), "f.yaml") {
				t.Fatalf("%q: no place in %v", text, err)
			}
			return
		}
		first := fields.Values(p)
		var b bytes.Buffer
		if _, err := fields.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		again, err := extract.Read("f.yaml", b.Bytes())
		if err != nil {
			t.Fatalf("%q was written as %q: %v", text, b.String(), err)
		}
		for i, vals := range again.Values(p) {
			if strings.Join(vals, "\n") != strings.Join(first[i], "\n") {
				t.Fatalf("%q: %q, read again %q", text, first[i], vals)
			}
		}
	})
}

// Whatever a page is, its values are single lines in UTF-8 of bounded size.
func FuzzPage(f *testing.F) {
	f.Add(shop)
	f.Add("<p itemscope itemref='a b' itemtype=T><b id=a itemprop=x>1<i id=b itemscope itemprop=x itemref=a>")
	f.Add(`<script type=application/ld+json>[{"@id":"a","@type":"T","x":{"@id":"a"}},{"@type":["T",1,null],"x":[[["y"]]]}]</script>`)
	f.Add("<base href='http://['><a href='//%zz'>\xff\x00<svg><a xlink:href=x>")
	read, err := extract.Read("f.yaml", []byte(`
fields:
  - {name: a, many: true, css: "* > b ~ i, a[href]", take: own}
  - {name: b, many: true, css: "a", take: "@href"}
  - {name: c, many: true, xpath: "//*[@id]/following::text()"}
  - {name: d, many: true, json-ld: T, property: x.x}
  - {name: e, many: true, microdata: T, property: x.x}
  - {name: f, many: true, css: body, after: a, until: b, pattern: ".+"}
`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for i, vals := range read.Values(page(t, "https://a.example/", source)) {
			if len(vals) > 1000 {
				t.Fatalf("field %d has %d values", i, len(vals))
			}
			for _, v := range vals {
				if v == "" || len(v) > 4096 || !utf8.ValidString(v) || v != event.Line(v) {
					t.Fatalf("field %d: %q", i, v)
				}
			}
		}
	})
}

// A table is read, or refused with its name.
func FuzzFilled(f *testing.F) {
	f.Add("url\ta\tb[]\nhttps://a.example/\tx\ty | z\n# c\n")
	f.Fuzz(func(t *testing.T, text string) {
		filled, err := extract.ReadFilled("f.tsv", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.tsv") {
				t.Fatalf("no place in %v", err)
			}
			return
		}
		for _, p := range filled.Pages {
			if len(p.Values) != len(filled.Columns) {
				t.Fatalf("%d values of %d columns", len(p.Values), len(filled.Columns))
			}
		}
	})
}
