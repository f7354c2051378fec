package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// charts are the examples that the tests draw, by name.
func charts() map[string]interface{ Draw() *Drawing } {
	names := []string{"breadth-first", "random", "best-first-page", "best-first-anchor", "best-first-both", "best-n-first",
		"fish-search", "shark-search", "infospiders", "pagerank", "opic", "ache-like"}
	curve := func(k int, reach float64) Series {
		s := Series{Name: names[k], Color: k}
		for n := 0; n <= 3000; n += 15 {
			x := float64(n)
			rate := .00025 + .00022*float64(k%7)
			y := reach * (1 - math.Exp(-rate*x)) * (1 + .04*math.Sin(x/170+float64(k)))
			s.X, s.Y = append(s.X, x), append(s.Y, y)
			s.Low, s.High = append(s.Low, y*.86), append(s.High, y*1.12)
		}
		return s
	}
	bound := Series{Name: "U: upper bound", Mark: true}
	for n := 0; n <= 3000; n += 15 {
		bound.X, bound.Y = append(bound.X, float64(n)), append(bound.Y, math.Min(math.Max(float64(n)-3, 0), 205))
	}
	lines := func(count int, reach float64) []Series {
		var out []Series
		for k := range count {
			out = append(out, curve(k, reach))
		}
		return append(out, bound)
	}
	few := lines(3, 170)
	var panels []Lines
	for i, topic := range []string{"databases", "software-engineering", "statistics", "graduate-admission", "machine-learning", "bioinformatics", "graphics-vision", "publication-pages"} {
		panels = append(panels, Lines{Title: topic, Series: lines(4, 60+20*float64(i)), XLabel: "pages fetched", YLabel: "relevant pages found"})
	}
	many := lines(12, 190)
	for i := range many {
		many[i].Low, many[i].High = nil, nil
	}
	return map[string]interface{ Draw() *Drawing }{
		"few":       Lines{Title: "Harvest on campus", Note: "Mean over 8 topics, with 95% intervals; 3 repeats each.", XLabel: "pages fetched", YLabel: "relevant pages found", Series: few},
		"many":      Lines{Title: "Harvest on campus, all scorers", XLabel: "pages fetched", YLabel: "relevant pages found", Series: many},
		"multiples": Multiples{Title: "Each topic of campus", Note: "The top of a panel is its own.", Panels: panels},
		"bars": Bars{Title: "Share of the upper bound at 1,000 pages", Note: "Mean over 8 topics; lines are 95% bootstrap intervals.", Percent: true, Decimals: 1, Label: "H/U",
			Items: []Bar{{"best-first-both", .654, .55, .74, "", 0}, {"shark-search", .601, .51, .70, "", 0}, {"fish-search", .42, .31, .55, "", 0}, {"breadth-first", .213, .14, .30, "", 0}, {"not run", math.NaN(), 0, 0, "", 0}}},
		"reliability": Lines{Title: "Calibration", Percent: true, YMax: 1, XLabel: "given", YLabel: "found", Series: []Series{
			{Name: "topic", X: []float64{.05, .3, .7, .95}, Y: []float64{.01, .2, .5, .9}, Dots: true}, {Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}, Mark: true}}},
		"differences": Bars{Title: "Against best-first", Percent: true, Decimals: 1, Label: "difference of H/U, in points",
			Items: []Bar{{"ache-like", .054, .01, .09, "", 0}, {"random", -.4, -.52, -.3, "", 1}, {"opic", -.01, -.06, .03, "", 1}}},
		"balance": Balance{Title: "Topics won against breadth-first at 1,000 pages", Note: "AUC; Holm-adjusted Wilcoxon p at the right.",
			Items: []Score{{"best-first-both", 20, 1, 2, "p .0004"}, {"shark-search", 15, 4, 4, "p .011"}, {"random", 1, 3, 19, "p .0002"}, {"opic", 11, 0, 12, "p .83"}}},
		"offsets": Lines{Title: "Gain by distance", XLabel: "leaves from the link", YLabel: "millibits", Series: []Series{
			{Name: "mean of its words", X: []float64{-8, -4, -1, 0, 1, 8}, Y: []float64{.4, .5, .6, 1.2, .6, .5}},
		}},
		"hostile": Lines{Title: "<script>alert(1)</script> & \"quotes\" \x00 \xff", Note: "]]> <b>", XLabel: "<i>", YLabel: "'", Series: []Series{
			{Name: "</svg><script>", X: []float64{0, 1, 2, 3}, Y: []float64{math.NaN(), 1, math.Inf(1), 2}, Low: []float64{0}, High: nil}, {Name: "empty"}}},
		"empty":          Lines{},
		"empty bars":     Bars{},
		"empty balance":  Balance{},
		"empty multiple": Multiples{},
	}
}

// TestDraw draws every example. With WAGGLE_PLOTS it leaves them in that
// folder, to be looked at.
func TestDraw(t *testing.T) {
	dir := os.Getenv("WAGGLE_PLOTS")
	for name, chart := range charts() {
		var a, b, image, again bytes.Buffer
		if err := chart.Draw().SVG(&a); err != nil {
			t.Fatal(err)
		}
		if err := chart.Draw().SVG(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: SVG differs between two drawings, %v", name, err)
		}
		checkXML(t, name, a.String())
		if chart.Draw().Height < 1 {
			continue
		}
		// Few pixels and themes suffice to see that it works.
		scale, themes := .4, []bool{len(name)%2 == 0}
		if dir != "" {
			scale, themes = 2, []bool{false, true}
		}
		for _, dark := range themes {
			image.Reset()
			again.Reset()
			if err := chart.Draw().PNG(&image, scale, dark); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := chart.Draw().PNG(&again, scale, dark); err != nil || !bytes.Equal(image.Bytes(), again.Bytes()) {
				t.Errorf("%s: PNG differs between two drawings, %v", name, err)
			}
			if dir != "" {
				file := filepath.Join(dir, fmt.Sprintf("%s-%v.png", name, dark))
				if err := os.WriteFile(file, image.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := png.Decode(&image); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".svg"), a.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkXML reads an SVG as strictly as XML asks, and finds no element or
// number that does not belong there.
func checkXML(t *testing.T, name, svg string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, svg)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "svg", "desc", "style", "rect", "polyline", "polygon", "circle", "text", "title":
		default:
			t.Errorf("%s: element %s", name, e.Name.Local)
		}
		for _, a := range e.Attr {
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s: %s %s=%q", name, e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

// contrast is WCAG 2.2's, from 1 to 21.
func contrast(a, b string) float64 {
	luminance := func(s string) float64 {
		r, g, b := rgb(s)
		sum := 0.0
		for i, v := range []uint8{r, g, b} {
			c := float64(v) / 255
			if c <= .04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+.055)/1.055, 2.4)
			}
			sum += c * []float64{.2126, .7152, .0722}[i]
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func TestColoursCanBeSeen(t *testing.T) {
	if c := contrast("#000000", "#ffffff"); math.Abs(c-21) > 1e-9 {
		t.Fatalf("black on white has %v", c)
	}
	for name, theme := range map[string]theme{"light": light, "dark": dark} {
		for i := range theme {
			ink, least := Ink(i), 3.
			switch ink {
			case Paper, Grid:
				continue
			case Text, Muted:
				least = 4.5
			}
			if c := contrast(theme[i], theme[Paper]); c < least {
				t.Errorf("%s: %s %s on paper has %.2f:1, not %v", name, ink.class(), theme[i], c, least)
			}
		}
		// Names beside lines and numbers in bars are text too.
		for i := Data; i < Data+dataInks; i++ {
			if c := contrast(theme[i], theme[Paper]); c < 3.9 {
				t.Errorf("%s: name in %s %s has %.2f:1", name, i.class(), theme[i], c)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		count     int
		percent   bool
		want      string
	}{
		{0, 205, 5, false, "0 50 100 150 200 250"},
		{0, 101, 5, false, "0 20 40 60 80 100 120"},
		{0, .66, 5, true, "0% 10% 20% 30% 40% 50% 60% 70%"},
		{-.52, .09, 5, true, "−60% −50% −40% −30% −20% −10% 0% 10%"},
		{0, 10_000, 2, false, "0 5,000 10,000"},
		{0, 0, 5, false, "0.0 0.2 0.4 0.6 0.8 1.0"},
	} {
		a := newAxis(test.low, test.high, test.count, test.percent)
		var names []string
		for _, v := range a.ticks {
			names = append(names, a.name(v))
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%v…%v: %s, want %s", test.low, test.high, got, test.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		v        float64
		decimals int
		want     string
	}{{1234567, 0, "1,234,567"}, {-1234.5, 1, "−1,234.5"}, {-.0004, 3, "0.000"}, {999, 0, "999"}, {math.NaN(), 2, "–"}} {
		if got := Number(test.v, test.decimals); got != test.want {
			t.Errorf("%v with %d decimals: %s, want %s", test.v, test.decimals, got, test.want)
		}
	}
}

// A name beside a line keeps its distance from the next, and stays on the
// chart, however close together the lines end.
func TestNamesDoNotCoverEachOther(t *testing.T) {
	l := Lines{XLabel: "x"}
	for k := range 20 {
		l.Series = append(l.Series, Series{Name: fmt.Sprintf("series %d", k), X: []float64{0, 1}, Y: []float64{0, 5 + float64(k%3)/100}, Color: k})
	}
	d := l.Draw()
	var at []float64
	for _, s := range d.shapes {
		if n, ok := s.(label); ok && strings.HasPrefix(n.text, "series") {
			at = append(at, n.at.Y)
		}
	}
	if len(at) != 20 {
		t.Fatalf("%d names", len(at))
	}
	for i, y := range at {
		if y < 0 || y > d.Height || i > 0 && y-at[i-1] < 12 {
			t.Errorf("name %d at %v of %v, the one before at %v", i, y, d.Height, at[max(i-1, 0)])
		}
	}
}

// What is written stays on the drawing in the widest fonts that readers have:
// those take up to 1.15 times the room of the Go fonts, and bold ones 1.26.
func TestLabelsStayOnTheDrawing(t *testing.T) {
	var r ruler
	for name, chart := range charts() {
		d := chart.Draw()
		for _, s := range d.shapes {
			if line, ok := s.(stroke); ok {
				for _, p := range line.points {
					if p.X < -1 || p.X > d.Width+1 {
						t.Errorf("%s: a line reaches to %.0f of %.0f", name, p.X, d.Width)
					}
				}
			}
			l, ok := s.(label)
			if !ok || l.text == "" {
				continue
			}
			wide := 1.14 * r.plain(l.text, l.size, false)
			if l.bold {
				wide = 1.25 * r.plain(l.text, l.size, true)
			}
			left := l.at.X
			switch l.anchor {
			case middle:
				left -= wide / 2
			case end:
				left -= wide
			}
			if left < -1 || left+wide > d.Width+1 {
				t.Errorf("%s: %q reaches from %.0f to %.0f of %.0f", name, l.text, left, left+wide, d.Width)
			}
		}
	}
}

func TestPNGRefusesAbsurdSizes(t *testing.T) {
	for _, scale := range []float64{0, -1, 1e6, math.NaN()} {
		if err := (&Drawing{Width: 100, Height: 100}).PNG(io.Discard, scale, false); err == nil {
			t.Errorf("scale %v is taken", scale)
		}
	}
}

// Lines of a chart that would share a colour are given others, as far as there are some,
// and none is grey, as bounds are.
func TestApart(t *testing.T) {
	all := []Series{{Name: "a", Color: 7}, {Name: "b", Color: 15}, {Name: "c", Color: 7}, {Name: "d", Color: 2}, {Name: "U", Color: 7, Mark: true}}
	Apart(all)
	taken := map[int]bool{}
	for _, s := range all[:4] {
		if s.Color >= dataInks || taken[s.Color] {
			t.Errorf("%s has colour %d", s.Name, s.Color)
		}
		taken[s.Color] = true
	}
	if all[0].Color != 7 || all[3].Color != 2 || all[4].Color != 7 {
		t.Errorf("colours that nobody shares, or of a bound, were changed: %v", all)
	}
	for _, theme := range []theme{light, dark} {
		for k := range dataInks {
			var r, g, b int
			if _, err := fmt.Sscanf(theme[int(Data)+k], "#%02x%02x%02x", &r, &g, &b); err != nil {
				t.Fatal(err)
			}
			if max(r, g, b)-min(r, g, b) < 64 {
				t.Errorf("colour %d is grey: %s", k, theme[int(Data)+k])
			}
		}
	}
}
