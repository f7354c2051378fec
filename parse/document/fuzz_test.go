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

// seeds are the documents of the transcript of a kind.
func seeds(f *testing.F, kinds ...document.Kind) {
	b, err := os.ReadFile("testdata/kinds.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(b), "\n\n") {
		head, rest, _ := strings.Cut(c, "\n")
		body, _, _ := strings.Cut(rest, "----")
		for _, k := range kinds {
			if name, _, _ := strings.Cut(head, " "); name == string(k) {
				f.Add(string(k), body)
			}
		}
	}
}

// FuzzTexts reads anything as any kind that is no zip file.
func FuzzTexts(f *testing.F) {
	kinds := []document.Kind{document.Text, document.Markdown, document.CSV, document.JSON, document.RTF, document.Feed, document.Sitemap}
	seeds(f, kinds...)
	f.Fuzz(func(t *testing.T, kind, src string) {
		for _, k := range kinds {
			if string(k) == kind || kind == "" {
				held(t, k, []byte(src))
			}
		}
	})
}

// FuzzZipped reads zip files whose entries are anything, and anything as a zip file.
func FuzzZipped(f *testing.F) {
	f.Add("docx", `<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr><w:hyperlink r:id="r"><w:r><w:t>bees</w:t></w:r></w:hyperlink></w:p>`,
		`<x><title>t</title><style styleId="a"><name val="heading 1"/></style><Relationship Id="r" Target="http://a.example/" TargetMode="External"/></x>`)
	f.Add("odt", `<text:h text:outline-level="1">bees</text:h><text:a xlink:href="http://a.example/">x</text:a>`, `<x><title>t</title><e language="de"/></x>`)
	f.Add("epub", `<body><h1>bees</h1><a href="http://a.example/">x</a>`, `<x><rootfile full-path="p"/><item id="a" href="%61"/><itemref idref="a"/></x>`)
	f.Fuzz(func(t *testing.T, kind, text, about string) {
		var names []string
		switch document.Kind(kind) {
		case document.Word:
			names = []string{"word/document.xml", "word/styles.xml", "docProps/core.xml", "word/_rels/document.xml.rels"}
		case document.Open:
			names = []string{"content.xml", "styles.xml", "meta.xml"}
		case document.EPUB:
			names = []string{"a", "META-INF/container.xml", "p"}
		default:
			return
		}
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i, name := range names {
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
		held(t, document.Kind(kind), b.Bytes())
		held(t, document.Kind(kind), []byte(text))
	})
}
