package pdf_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/parse/document/pdf"
	"github.com/waggle-crawler/waggle/parse/document/pdf/pdftest"
)

// newReader reads PDF with machine code that is kept in a folder named by the variable
// WAGGLE_PDFIUM, or where pdftest.MachineCode has it.
func newReader(t testing.TB) document.Local {
	t.Helper()
	dir := os.Getenv("WAGGLE_PDFIUM")
	if dir == "" {
		d, done, err := pdftest.MachineCode()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(done)
		dir = d
	}
	engine := pdf.New(pdf.Options{Cache: dir, Memory: 64 << 20, Workers: 1})
	t.Cleanup(func() { engine.Close() })
	return document.Local{PDF: engine.Write, Limits: document.Limits{HTML: 64 << 10, Pages: 20}}
}

// FuzzPDF reads anything as PDF. It is not among those of .ci/run: whoever fuzzes waits ten
// seconds of a processor for PDFium in each process, as its compiler is told to note where it
// goes, unless WAGGLE_PDFIUM names a folder for its machine code. A document that takes long is
// ended by package child, and here by the fuzzer: after ten seconds by the clock. So PDFium is
// made ready before, by a first document. Give the fuzzer -test.fuzzminimizetime 10x, or it makes new
// inputs smaller for most of its time.
func FuzzPDF(f *testing.F) {
	r := newReader(f)
	first := pdftest.Page("The waggle dance", "http://a.example/")
	if _, _, err := r.HTML(document.PDF, first, ""); err != nil {
		f.Fatal(err)
	}
	f.Add(first)
	f.Add(pdftest.Objects("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 9 >>"))
	f.Fuzz(func(t *testing.T, src []byte) {
		html, _, err := r.HTML(document.PDF, src, "")
		if err == nil {
			if len(html) > 64<<10+1<<20+64<<10 {
				t.Errorf("%d bytes of HTML", len(html))
			}
			return
		}
		if strings.Contains(err.Error(), "its reader failed") {
			t.Fatal(err)
		}
		for _, known := range []error{document.ErrDamaged, document.ErrLocked, document.ErrBounds, document.ErrEmpty} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Fatalf("an error of no kind: %v", err)
	})
}

// What PDFium cannot make sense of is damaged, in words and without its number.
func TestDamagedPDF(t *testing.T) {
	src := pdftest.Page("The waggle dance", "http://a.example/")
	_, _, err := newReader(t).HTML(document.PDF, src[:len(src)/4], "")
	if !errors.Is(err, document.ErrDamaged) || err.Error() != document.ErrDamaged.Error()+": it has not the form of a PDF" {
		t.Errorf("%v", err)
	}
}

// A link that begins within the text of another stands behind the text.
func TestLinkWithinLink(t *testing.T) {
	link := func(rect, address string) string {
		return "<< /Type /Annot /Subtype /Link /Rect [" + rect + "] /A << /S /URI /URI (" + address + ") >> >>"
	}
	src := pdftest.Objects(
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /Annots [ "+
			link("70 690 262 720", "http://a.example/")+link("120 690 200 720", "http://b.example/")+" ] >>",
		pdftest.Stream("", "BT /F1 24 Tf 72 700 Td (The waggle dance) Tj ET"),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	)
	html, _, err := newReader(t).HTML(document.PDF, src, "")
	want := `<p><a href="http://a.example/">The waggle dance</a></p><a href="http://b.example/">http://b.example/</a>`
	if err != nil || !strings.Contains(string(html), want) {
		t.Errorf("%s, %v\nwant %s", html, err, want)
	}
}
