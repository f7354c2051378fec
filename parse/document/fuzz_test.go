package document_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/parse/document"
)

// small are bounds that a fuzzer meets.
var small = document.Limits{HTML: 8 << 10, Unpacked: 64 << 10, Entries: 50, Depth: 20, Links: 50}

// held holds what a reader makes of a document against its bounds.
func held(t *testing.T, k document.Kind, src []byte) {
	t.Helper()
	html, cut, err := document.Local{Limits: small}.HTML(k, src, "")
	if err != nil {
		if strings.Contains(err.Error(), "its reader failed") {
			t.Fatalf("%s: %v", k, err)
		}
		for _, known := range []error{document.ErrDamaged, document.ErrLocked, document.ErrBounds, document.ErrEmpty} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Fatalf("%s: an error of no kind: %v", k, err)
	}
	// What is open when the bound is met is still closed, and a head has its own texts.
	if most := small.HTML + 1<<20 + 64<<10; len(html) > most {
		t.Errorf("%s: %d bytes of HTML from %d, more than %d", k, len(html), len(src), most)
	}
	again, cutAgain, _ := document.Local{Limits: small}.HTML(k, src, "")
	if cut != cutAgain || !bytes.Equal(html, again) {
		t.Errorf("%s: the same document makes other HTML", k)
	}
}

// seeds are the documents of the transcript of some kinds, each with the place of its kind among them.
func seeds(f *testing.F, kinds ...document.Kind) {
	b, err := os.ReadFile("testdata/kinds.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(b), "\n\n") {
		head, rest, _ := strings.Cut(c, "\n")
		body, _, _ := strings.Cut(rest, "----")
		for i, k := range kinds {
			if name, _, _ := strings.Cut(head, " "); name == string(k) {
				f.Add(byte(i), body)
			}
		}
	}
}

// FuzzTexts reads anything as any kind that is no zip file.
func FuzzTexts(f *testing.F) {
	kinds := []document.Kind{document.Text, document.Markdown, document.CSV, document.JSON, document.RTF, document.Feed, document.Sitemap}
	seeds(f, kinds...)
	f.Fuzz(func(t *testing.T, kind byte, src string) {
		held(t, kinds[int(kind)%len(kinds)], []byte(src))
	})
}

// FuzzZipped reads zip files whose entries are anything, and anything as a zip file.
func FuzzZipped(f *testing.F) {
	kinds := []struct {
		document.Kind
		names []string // of entries
	}{
		{document.Word, []string{"word/document.xml", "word/styles.xml", "docProps/core.xml", "word/_rels/document.xml.rels"}},
		{document.Open, []string{"content.xml", "styles.xml", "meta.xml"}},
		{document.EPUB, []string{"a", "META-INF/container.xml", "p"}},
	}
	f.Add(byte(0), `<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr><w:hyperlink r:id="r"><w:r><w:t>bees</w:t></w:r></w:hyperlink></w:p>`,
		`<x><title>t</title><style styleId="a"><name val="heading 1"/></style><Relationship Id="r" Target="http://a.example/" TargetMode="External"/></x>`)
	f.Add(byte(1), `<text:h text:outline-level="1">bees</text:h><text:a xlink:href="http://a.example/">x</text:a>`, `<x><title>t</title><e language="de"/></x>`)
	f.Add(byte(2), `<body><h1>bees</h1><a href="http://a.example/">x</a>`, `<x><rootfile full-path="p"/><item id="a" href="%61"/><itemref idref="a"/></x>`)
	f.Fuzz(func(t *testing.T, kind byte, text, about string) {
		k := kinds[int(kind)%len(kinds)]
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i, name := range k.names {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				io.WriteString(w, text)
			} else {
				io.WriteString(w, about)
			}
		}
		z.Close()
		held(t, k.Kind, b.Bytes())
		held(t, k.Kind, []byte(text))
	})
}
