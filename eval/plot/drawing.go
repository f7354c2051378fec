package plot

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
)

// Ink says what a shape is painted with; the colour depends on the theme.
type Ink int

// The inks. Data k is the colour of the k-th series, k = 0…7.
const (
	Paper Ink = iota // background
	Text             // headings and values
	Muted            // axes, notes
	Grid             // hairlines
	Good             // wins
	Even             // ties
	Bad              // losses
	Data             // and the seven after it
)

// dataInks is the number of colours for series; beyond them, dashes tell.
const dataInks = 8

// theme is a colour for each ink. Text reaches a contrast of 4.5:1 with the
// paper, everything else that carries meaning 3:1 (WCAG 2.2, 1.4.3 and 1.4.11).
type theme [Data + dataInks]string

// The two themes; arrays are copied when they are handed on, so nobody changes
// them.
var (
	light = theme{
		Paper: "#ffffff", Text: "#1c2126", Muted: "#5c6670", Grid: "#e3e7eb",
		Good: "#1b7fb8", Even: "#8a939c", Bad: "#c9521c",
		Data: "#1f6fb4", "#c8500a", "#0c8a5c", "#8b4bab", "#9c6f00", "#c2356f", "#12889a", "#5f7d00",
	}
	dark = theme{
		Paper: "#14181c", Text: "#eceff2", Muted: "#a3adb7", Grid: "#2d343b",
		Good: "#4aa8e0", Even: "#78828c", Bad: "#f0824c",
		Data: "#62aef0", "#f28a4b", "#45c795", "#c793e0", "#e0b040", "#f27aa8", "#5cc8d8", "#b9d65a",
	}
)

// point is a place.
type point struct{ X, Y float64 }

// shape is one of the things a Drawing is made of.
type shape interface{ svg(w *bytes.Buffer) }

// stroke is an open line.
type stroke struct {
	points []point
	ink    Ink
	width  float64
	dash   []float64 // on, off, …; nil = unbroken
	tip    string    // what a reader who points at it is told
}

// area is a closed polygon, filled.
type area struct {
	points  []point
	ink     Ink
	opacity float64 // 0…1
	tip     string
}

// dot is a disc.
type dot struct {
	at     point
	radius float64
	ink    Ink
	tip    string
}

// anchor says where a text stands relative to its place.
type anchor int

const (
	start anchor = iota
	middle
	end
)

// label is a line of text on its baseline.
type label struct {
	at     point
	text   string
	size   float64
	bold   bool
	anchor anchor
	ink    Ink
}

// padding is the margin around a drawing that stands alone.
const padding = 16

// Drawing is a laid-out chart.
type Drawing struct {
	Width, Height float64
	Title         string // for those who cannot see it
	Description   string
	shapes        []shape
	panels        []panel // of lines, for Inline
}

func (d *Drawing) add(s ...shape) { d.shapes = append(d.shapes, s...) }

func (d *Drawing) text(x, y float64, s string, size float64, bold bool, a anchor, ink Ink) {
	d.add(label{point{x, y}, s, size, bold, a, ink})
}

func (d *Drawing) line(x1, y1, x2, y2 float64, ink Ink, width float64) {
	d.add(stroke{points: []point{{x1, y1}, {x2, y2}}, ink: ink, width: width})
}

func (d *Drawing) rect(x, y, w, h float64, ink Ink, opacity float64, tip string) {
	d.add(area{[]point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, ink, opacity, tip})
}

// place adds the shapes of another drawing with its origin at (x, y).
func (d *Drawing) place(other *Drawing, x, y float64) {
	move := func(points []point) []point {
		out := make([]point, len(points))
		for i, p := range points {
			out[i] = point{p.X + x, p.Y + y}
		}
		return out
	}
	for _, s := range other.shapes {
		switch s := s.(type) {
		case stroke:
			s.points = move(s.points)
			d.add(s)
		case area:
			s.points = move(s.points)
			d.add(s)
		case dot:
			s.at = point{s.at.X + x, s.at.Y + y}
			d.add(s)
		case label:
			s.at = point{s.at.X + x, s.at.Y + y}
			d.add(s)
		}
	}
	for _, p := range other.panels {
		p.Box = [4]float64{p.Box[0] + x, p.Box[1] + y, p.Box[2] + x, p.Box[3] + y}
		d.panels = append(d.panels, p)
	}
}

// inkNames are the classes of the style sheet.
func (i Ink) class() string {
	names := [...]string{"paper", "text", "muted", "grid", "good", "even", "bad"}
	if i < Data {
		return names[i]
	}
	return "d" + strconv.Itoa(int(i-Data))
}

// Fonts are those of every SVG of this package, as CSS names them: those that a
// page which holds charts should be set in too.
const Fonts = `system-ui,"Helvetica Neue",Arial,"Liberation Sans",sans-serif`

// Style is the style sheet of every SVG of this package, for a page that holds
// many of them. It follows the reader's wish for light or dark.
func Style() string {
	var b strings.Builder
	rules := func(t theme, before string) {
		for i := range t {
			c := Ink(i).class()
			fmt.Fprintf(&b, "%s.wp .f-%s{fill:%s}%s.wp .s-%s{stroke:%s}\n", before, c, t[i], before, c, t[i])
		}
	}
	b.WriteString(".wp{overflow:visible;font-family:" + Fonts + "}.wp path,.wp polyline{stroke-linejoin:round;stroke-linecap:round}\n")
	rules(light, "")
	b.WriteString("@media (prefers-color-scheme:dark){\n")
	rules(dark, "")
	b.WriteString("}\n")
	return b.String()
}

// SVG writes the drawing as a document of its own.
func (d *Drawing) SVG(w io.Writer) error { return d.write(w, true) }

// Inline writes the drawing as an element for an HTML page that holds Style. Its
// attribute data-panels holds the values of lines for a script to show: see
// panel.
func (d *Drawing) Inline(w io.Writer) error { return d.write(w, false) }

func (d *Drawing) write(w io.Writer, alone bool) error {
	var b bytes.Buffer
	pad := 0.
	if alone {
		pad = padding
	}
	w0, h0 := number(d.Width+2*pad), number(d.Height+2*pad)
	values := ""
	if v := d.readable(); v != "" && !alone {
		// As JSON it has no <, > or &, and many double quotes.
		values = " data-panels='" + strings.ReplaceAll(v, "'", "&#39;") + "'"
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="wp" role="img" viewBox="%s %s %s %s" width="%s" height="%s" aria-label="%s"%s>`+"\n",
		number(-pad), number(-pad), w0, h0, w0, h0, escape(d.Title), values)
	fmt.Fprintf(&b, "<desc>%s</desc>\n", escape(d.Description))
	if alone {
		fmt.Fprintf(&b, "<style>\n%s</style>\n", Style())
		fmt.Fprintf(&b, `<rect class="f-paper" x="%s" y="%s" width="%s" height="%s"/>`+"\n", number(-pad), number(-pad), w0, h0)
	}
	for _, s := range d.shapes {
		s.svg(&b)
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// number writes a length with at most two decimals.
func number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		x = 0
	}
	x = math.Round(x*100) / 100
	if x == 0 {
		x = 0 // no −0
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// escape makes text safe within XML; characters that XML cannot hold become
// the replacement character.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= ' ' && r != 0xFFFE && r != 0xFFFF {
			return r
		}
		return 0xFFFD
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return html.EscapeString(s)
}

func coordinates(points []point) string {
	var b strings.Builder
	for i, p := range points {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(number(p.X))
		b.WriteByte(',')
		b.WriteString(number(p.Y))
	}
	return b.String()
}

// close ends an element, with what a reader who points at it is told.
func closeElement(w *bytes.Buffer, element, tip string) {
	if tip == "" {
		w.WriteString("/>\n")
		return
	}
	fmt.Fprintf(w, "><title>%s</title></%s>\n", escape(tip), element)
}

func (s stroke) svg(w *bytes.Buffer) {
	fmt.Fprintf(w, `<polyline class="s-%s" fill="none" stroke-width="%s" points="%s"`, s.ink.class(), number(s.width), coordinates(s.points))
	if len(s.dash) > 0 {
		parts := make([]string, len(s.dash))
		for i, x := range s.dash {
			parts[i] = number(x)
		}
		fmt.Fprintf(w, ` stroke-dasharray="%s" stroke-linecap="butt"`, strings.Join(parts, " "))
	}
	closeElement(w, "polyline", s.tip)
}

func (a area) svg(w *bytes.Buffer) {
	fmt.Fprintf(w, `<polygon class="f-%s" points="%s"`, a.ink.class(), coordinates(a.points))
	if a.opacity < 1 {
		fmt.Fprintf(w, ` opacity="%s"`, number(a.opacity))
	}
	closeElement(w, "polygon", a.tip)
}

func (d dot) svg(w *bytes.Buffer) {
	fmt.Fprintf(w, `<circle class="f-%s" cx="%s" cy="%s" r="%s"`, d.ink.class(), number(d.at.X), number(d.at.Y), number(d.radius))
	closeElement(w, "circle", d.tip)
}

func (l label) svg(w *bytes.Buffer) {
	fmt.Fprintf(w, `<text class="f-%s" x="%s" y="%s" font-size="%s"`, l.ink.class(), number(l.at.X), number(l.at.Y), number(l.size))
	if l.bold {
		w.WriteString(` font-weight="600"`)
	}
	switch l.anchor {
	case middle:
		w.WriteString(` text-anchor="middle"`)
	case end:
		w.WriteString(` text-anchor="end"`)
	}
	fmt.Fprintf(w, ">%s</text>\n", escape(l.text))
}
