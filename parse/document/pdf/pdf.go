// Package pdf reads PDF with PDFium, which runs as WebAssembly: it sees the bytes of one
// document, in memory of its own that is bounded, and neither files nor the network.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	pdfium "github.com/klippa-app/go-pdfium"
	failures "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/parse/document"
)

// Engine reads PDF. It is made ready with the first document, which takes some two
// seconds of a processor and for that time 300 MB of memory, or a tenth of a second and
// 50 MB where the machine code of an earlier time is kept. It is safe for concurrent
// use; Close ends it.
type Engine struct {
	options Options
	once    sync.Once
	err     error
	runtime io.Closer // the kept machine code
	pool    pdfium.Pool
}

// Options of an Engine. The zero value is usable.
type Options struct {
	// Cache is a folder in which the machine code of PDFium is kept; "" = it is made anew
	// each time. Who can write there decides what runs. What other versions of the program
	// kept there is removed when it was not used for folder.Unused.
	Cache string
	// Memory bounds what one document takes, in bytes; 0 = 256 MiB.
	Memory int
	// Workers are the documents read at a time; 0 = one for each core.
	Workers int
}

// New makes an Engine.
func New(o Options) *Engine {
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return &Engine{options: o}
}

// Prepare makes the Engine ready.
func (e *Engine) Prepare() error {
	e.once.Do(func() { e.err = e.prepare() })
	return e.err
}

const page = 64 << 10 // of the memory of WebAssembly, in bytes

func (e *Engine) prepare() error {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(uint32(e.options.Memory / page))
	if e.options.Cache != "" {
		// Without the folder it is slower to begin, and nothing else.
		if c, err := openCache(e.options.Cache); err == nil {
			config = config.WithCompilationCache(c)
			e.runtime = closer{c}
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		MaxIdle: e.options.Workers, MaxTotal: e.options.Workers,
		RuntimeConfig: config, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
	e.pool = pool
	return err
}

// openCache opens what is kept of this build of PDFium and of what compiles it. Another version of
// the program has another folder beside it, as a file that was compiled by it would not do.
func openCache(dir string) (wazero.CompilationCache, error) {
	build := "pdfium"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/klippa-app/go-pdfium" || m.Path == "github.com/tetratelabs/wazero" {
				build += "-" + path.Base(m.Path) + "-" + m.Version
			}
		}
	}
	// Versions before had the folders of wazero here.
	own, err := folder.OpenVersion(dir, build, []string{"pdfium", "wazero-"}, time.Now())
	if err != nil {
		return nil, err
	}
	return wazero.NewCompilationCacheWithDir(own)
}

type closer struct{ wazero.CompilationCache }

func (c closer) Close() error { return c.CompilationCache.Close(context.Background()) }

// Close ends the Engine.
func (e *Engine) Close() error {
	var errs []error
	if e.pool != nil {
		errs = append(errs, e.pool.Close())
	}
	if e.runtime != nil {
		errs = append(errs, e.runtime.Close())
	}
	return errors.Join(errs...)
}

// Write writes the pages of a PDF, with their links at their texts.
func (e *Engine) Write(src []byte, l document.Limits, w *document.Writer) error {
	if err := e.Prepare(); err != nil {
		return fmt.Errorf("PDFium: %w", err)
	}
	pdf, err := e.pool.GetInstance(time.Hour)
	if err != nil {
		return fmt.Errorf("PDFium: %w", err)
	}
	defer pdf.Close()
	if err := write(pdf, src, l, w); err != nil {
		switch {
		case errors.Is(err, failures.ErrPassword), errors.Is(err, failures.ErrSecurity):
			return document.ErrLocked
		case errors.Is(err, failures.ErrFormat):
			return fmt.Errorf("%w: it has not the form of a PDF", document.ErrDamaged)
		case strings.Contains(err.Error(), "out of bounds memory access"), strings.Contains(err.Error(), "unreachable"):
			return fmt.Errorf("%w: it needs more memory than it may, or PDFium failed", document.ErrBounds)
		}
		return fmt.Errorf("%w: %w", document.ErrDamaged, err)
	}
	return nil
}

func write(pdf pdfium.Pdfium, src []byte, l document.Limits, w *document.Writer) error {
	doc, err := pdf.OpenDocument(&requests.OpenDocument{File: &src})
	if err != nil {
		return err
	}
	for _, m := range []struct {
		tag string
		to  func(string)
	}{{"Title", w.Title}, {"Subject", w.Description}, {"Keywords", w.Keywords}} {
		if said, err := pdf.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: doc.Document, Tag: m.tag}); err == nil && !meaningless.MatchString(said.Value) {
			m.to(said.Value)
		}
	}
	if said, err := pdf.FPDFCatalog_GetLanguage(&requests.FPDFCatalog_GetLanguage{Document: doc.Document}); err == nil {
		w.Language(said.Language)
	}
	n, err := pdf.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return err
	}
	failed := 0
	for i := range n.PageCount {
		if i == l.Pages {
			w.Cut()
		}
		if i >= l.Pages || w.Full() {
			break
		}
		if err := writePage(pdf, doc.Document, i, w); err != nil {
			if failed++; failed > 10 || i == 0 && n.PageCount == 1 {
				return err
			}
			w.Cut()
		}
	}
	return nil
}

// meaningless are titles that programs make up.
var meaningless = regexp.MustCompile(`(?i)^\s*(untitled.*|title|document\d*|microsoft (word|powerpoint|excel) - .*|.*\.(docx?|pptx?|xlsx?|tex|dvi|indd|ps|pdf|odt|rtf))\s*$`)

// link is a link of a page: the characters from first to last are its text, none where
// first is below 0.
type link struct {
	address     string
	first, last int
}

// maxPageLinks bounds the links read of a page.
const maxPageLinks = 2000

func writePage(pdf pdfium.Pdfium, doc references.FPDF_DOCUMENT, index int, w *document.Writer) error {
	loaded, err := pdf.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: doc, Index: index})
	if err != nil {
		return err
	}
	defer pdf.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
	text, err := pdf.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &loaded.Page}})
	if err != nil {
		return err
	}
	defer pdf.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage})
	n, err := pdf.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil {
		return err
	}
	var units []uint16
	if n.Count > 0 {
		said, err := pdf.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, Count: n.Count})
		if err != nil {
			return err
		}
		units = utf16.Encode([]rune(said.Text))
	}
	links := linksOf(pdf, doc, loaded.Page, text.TextPage, len(units))
	w.Open("section")
	w.Open("p")
	at := 0
	var behind []link // that are of no text, or begin within that of another
	for _, l := range links {
		if l.first < at {
			behind = append(behind, l)
			continue
		}
		w.Linked(plain(units[at:l.first]))
		w.OpenLink(l.address)
		w.Text(plain(units[l.first : l.last+1]))
		w.Close("a")
		at = l.last + 1
	}
	w.Linked(plain(units[at:]))
	w.Close("p")
	for _, l := range behind {
		w.Link(l.address, "")
	}
	w.Close("section")
	return nil
}

// linksOf finds the links of a page that lead out of the document, in the order of the
// text; what they span is found by the corners of their rectangles.
func linksOf(pdf pdfium.Pdfium, doc references.FPDF_DOCUMENT, page references.FPDF_PAGE, text references.FPDF_TEXTPAGE, chars int) (out []link) {
	by := requests.Page{ByReference: &page}
	for start := 0; len(out) < maxPageLinks; {
		got, err := pdf.FPDFLink_Enumerate(&requests.FPDFLink_Enumerate{Page: by, StartPos: start})
		if err != nil || got.Link == nil || got.NextStartPos == nil || *got.NextStartPos <= start {
			break
		}
		start = *got.NextStartPos
		action, err := pdf.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: *got.Link})
		if err != nil || action.Action == nil {
			continue
		}
		uri, err := pdf.FPDFAction_GetURIPath(&requests.FPDFAction_GetURIPath{Document: doc, Action: *action.Action})
		if err != nil || uri.URIPath == nil || *uri.URIPath == "" {
			continue
		}
		l := link{*uri.URIPath, -1, -1}
		if at, err := pdf.FPDFLink_GetAnnotRect(&requests.FPDFLink_GetAnnotRect{Link: *got.Link}); err == nil && at.Rect != nil {
			r := at.Rect
			middle := float64(r.Top+r.Bottom) / 2
			index := func(x float64) int {
				found, err := pdf.FPDFText_GetCharIndexAtPos(&requests.FPDFText_GetCharIndexAtPos{TextPage: text, X: x, Y: middle, XTolerance: 6, YTolerance: 6})
				if err != nil {
					return -1
				}
				return found.CharIndex
			}
			first, last := index(float64(r.Left)+2), -1
			// The text may end before the rectangle does.
			for step := 0; first >= 0 && last < 0 && step < 16; step++ {
				last = index(float64(r.Right) - 2 - float64(r.Right-r.Left)*float64(step)/16)
			}
			if first >= 0 && last >= first && last < chars && last-first < 500 {
				l.first, l.last = first, last
			}
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b link) int { return a.first - b.first })
	return out
}

// plain is a piece of text as people read it: words that are parted at the end of a line
// are joined.
func plain(units []uint16) string {
	return parted.Replace(string(utf16.Decode(units)))
}

// parted joins words: PDFium puts U+0002 or U+FFFE in the place of a hyphen that ends a
// line.
var parted = strings.NewReplacer("\x02\r\n", "", "\ufffe\r\n", "", "\x02", "", "\ufffe", "")
