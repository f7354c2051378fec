package view

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// Where the picture of the terminal view is, and the events that it is made of.
var (
	pictureFile   = filepath.Join("..", "..", "docs", "guide", "terminal.svg")
	pictureEvents = filepath.Join("picture", "events.jsonl.gz")
)

// The picture of the terminal view in README and guide is what the view draws of the
// events of a crawl, those of picture:
//
//	go test -run Picture ./internal/view -rewrite          draw it anew
//	WAGGLE_PICTURE=FILE WAGGLE_PICTURE_PAGES=600 go test -run Picture ./internal/view -rewrite
//	                                                    of the first 600 pages of another
//	                                                    crawl, of which FILE holds what
//	                                                    waggle crawl --json printed
func TestPicture(t *testing.T) {
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	if events := os.Getenv("WAGGLE_PICTURE"); events != "" {
		var pages int
		if _, err := fmt.Sscan(os.Getenv("WAGGLE_PICTURE_PAGES"), &pages); err != nil {
			t.Fatalf("WAGGLE_PICTURE_PAGES: %v", err)
		}
		b, err := fewEvents(events, pages)
		if err != nil {
			t.Fatal(err)
		}
		if !rewrite {
			t.Fatalf("%d bytes of events; with -rewrite they are kept", len(b))
		}
		if err := os.WriteFile(pictureEvents, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := drawPicture()
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(got, new(struct{})); err != nil {
		t.Fatalf("the picture is no XML: %v", err)
	}
	if rewrite {
		if err := os.WriteFile(pictureFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(pictureFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the view draws: go test -run Picture ./internal/view -rewrite", pictureFile)
	}
}

// drawPicture draws the view after the last event.
func drawPicture() ([]byte, error) {
	f, err := os.Open(pictureEvents)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var s viewState
	var now time.Time
	for e, err := range event.Read(z) {
		if err != nil {
			return nil, err
		}
		s.Add(e)
		now = e.Time()
	}
	s.keys = true
	return terminalSVG(s.Render(now, 90, 24, true), "The terminal view of a crawl"), nil
}

// fewEvents returns the events of a crawl up to a page, gzipped, without what the
// overview does not show: addresses of links, digests, the titles of other pages.
func fewEvents(name string, pages int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var line []byte
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	link, err := web.Parse("https://link.example/")
	if err != nil {
		return nil, err
	}
	n := 0
	for e, err := range event.Read(f) {
		if err != nil {
			return nil, err
		}
		if n >= pages {
			break
		}
		switch p := e.(type) {
		case event.Fetched:
			n++
			few := event.Fetched{
				At: p.At, Visit: event.Visit{URL: p.URL}, Status: p.Status, Bytes: p.Bytes,
				Relevance: p.Relevance, Relevant: p.Relevant, Reason: p.Reason, Links: p.Links,
			}
			if p.Relevant {
				few.Title = p.Title
			}
			for _, l := range p.Queued {
				few.Queued = append(few.Queued, event.Found{URL: link, Raised: l.Raised})
			}
			for _, l := range p.Skipped {
				few.Skipped = append(few.Skipped, event.Skipped{URL: link, Reason: l.Reason})
			}
			e = few
		case event.Failed:
			p.Visit = event.Visit{URL: link}
			e = p
		}
		if line, err = event.AppendJSON(line[:0], e); err != nil {
			return nil, err
		}
		if _, err := z.Write(append(line, '\n')); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// The measures of the picture, in pixels.
const (
	cellWide   = 8.4
	cellHigh   = 21.0
	pictureTop = 44.0 // of the first line, below the bar of the window
	pictureGap = 24.0 // around the text
	fontSize   = 14
)

// pictureColours of SGR styles; "" is plain text.
var pictureColours = map[string]string{"": "#d5dce6", "1": "#ffffff", "2": "#8793a5", "32": "#5bd19a", "33": "#e6bf55", "31": "#f08080"}

// terminalSVG draws text with SGR styles, as paint makes them, as a terminal window.
// Each word has its place, so that columns stand in whatever font is there, and block
// elements are drawn as shapes.
func terminalSVG(text, title string) []byte {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	wide := 0
	for _, line := range lines {
		wide = max(wide, terminal.Cells(unstyled(line)))
	}
	w, h := float64(wide)*cellWide+2*pictureGap, pictureTop+float64(len(lines))*cellHigh+pictureGap/2
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`+"\n", w, h, w, h, title)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", title, escaped(unstyled(text)))
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%.0f" height="%.0f" rx="10" fill="#131a24" stroke="#2b3646"/>`+"\n", w-1, h-1)
	for i, colour := range []string{"#f0706a", "#e6bf55", "#5bd19a"} { // fixed
		fmt.Fprintf(&b, `<circle cx="%d" cy="20" r="5.5" fill="%s"/>`+"\n", 22+19*i, colour)
	}
	fmt.Fprintf(&b, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace" font-size="%d" xml:space="preserve">`+"\n", fontSize)
	for row, line := range lines {
		column := 0
		for _, run := range styledRuns(line) {
			column = drawRun(&b, run, column, row)
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// styledRun is text of one style.
type styledRun struct{ sgr, text string }

// styledRuns takes a line apart.
func styledRuns(line string) (runs []styledRun) {
	sgr := ""
	for {
		before, after, styled := strings.Cut(line, "\x1b[")
		if before != "" {
			runs = append(runs, styledRun{sgr, before})
		}
		if !styled {
			return runs
		}
		sgr, line, _ = strings.Cut(after, "m")
		if sgr == "0" {
			sgr = ""
		}
	}
}

// drawRun draws a run from a column on, and returns the column behind it.
func drawRun(b *bytes.Buffer, run styledRun, column, row int) int {
	colour := pictureColours[run.sgr]
	base := pictureTop + float64(row)*cellHigh
	spark := strings.ContainsAny(run.text, "▁▂▃▄▅▆▇")
	word, from := "", 0
	flush := func() {
		if word == "" {
			return
		}
		weight := ""
		if run.sgr == "1" {
			weight = ` font-weight="600"`
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s"%s textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
			pictureGap+float64(from)*cellWide, base+15, colour, weight, float64(terminal.Cells(word))*cellWide, escaped(word))
		word = ""
	}
	before := ' '
	for i, r := range run.text {
		x := pictureGap + float64(column)*cellWide
		switch at := strings.IndexRune("▁▂▃▄▅▆▇█", r); {
		case r == ' ':
			flush()
		case spark && at >= 0:
			flush()
			high := float64(at/3+1) * 2 // at counts bytes, three a rune
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x+1, base+17-high, cellWide-2, high, "#5bd19a")
		case r == '█' || r == '░' || r >= '▉' && r <= '▏':
			flush()
			if i > 0 && strings.ContainsRune("█▉▊▋▌▍▎▏░", before) {
				break // drawn with the first of them
			}
			bar, full := strings.TrimRight(run.text[i:], " "), 0.0
			for _, r := range bar {
				if r != '░' {
					full += 1 - float64(r-'█')/8
				}
			}
			shape := `<rect x="%.1f" y="%.1f" width="%.1f" height="10" rx="3" fill="%s"/>` + "\n"
			fmt.Fprintf(b, shape, x, base+5, float64(terminal.Cells(bar))*cellWide, "#2a3545")
			fmt.Fprintf(b, shape, x, base+5, full*cellWide, colour)
		default:
			if word == "" {
				from = column
			}
			word += string(r)
		}
		column += terminal.Cells(string(r))
		before = r
	}
	flush()
	return column
}

// escaped is text for XML.
func escaped(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}
