package plot

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"regexp"
	"slices"
	"testing"
)

// line is a series over 0…100.
func line(name string, of func(x float64) float64) Series {
	s := Series{Name: name}
	for x := 0.; x <= 100; x += 2 {
		s.X, s.Y = append(s.X, x), append(s.Y, of(x))
	}
	return s
}

// A chart is worth drawing if its lines can be told apart and a table of their
// last values would not say the same.
func TestChartsThatTellNothing(t *testing.T) {
	flat := func(y float64) func(float64) float64 { return func(float64) float64 { return y } }
	slope := func(a float64) func(float64) float64 { return func(x float64) float64 { return a * x } }
	saturates := func(a float64) func(float64) float64 {
		return func(x float64) float64 { return a * (1 - math.Exp(-x/20)) }
	}
	early := func(x float64) float64 { return 1/(x/4+1) + .5 } // jumps at first, then .5
	for _, test := range []struct {
		name    string
		percent bool
		lines   []func(float64) float64
		want    bool
	}{
		{"flat lines together", false, []func(float64) float64{flat(1), flat(1.01), flat(.99), flat(1)}, false},
		{"flat lines apart", false, []func(float64) float64{flat(1), flat(.5), flat(.2), flat(0)}, false},
		{"diagonals together", false, []func(float64) float64{slope(1), slope(.98), slope(.97), slope(.95)}, false},
		{"diagonals apart", false, []func(float64) float64{slope(1), slope(.5)}, false},
		{"curves together", false, []func(float64) float64{saturates(1), saturates(.98)}, false},
		{"curves apart", false, []func(float64) float64{saturates(1), saturates(.6)}, true},
		{"a curve and a diagonal", false, []func(float64) float64{saturates(1), slope(.01)}, true},
		{"shares that differ at first only", true, []func(float64) float64{early, flat(.5)}, false},
		{"one straight line", false, []func(float64) float64{slope(1)}, false},
		{"one curve", false, []func(float64) float64{saturates(1)}, true},
		{"nothing", false, nil, false},
		{"no numbers", false, []func(float64) float64{flat(math.NaN()), flat(math.Inf(1))}, false},
	} {
		c := Lines{Percent: test.percent}
		for _, f := range test.lines {
			c.Series = append(c.Series, line("a", f))
		}
		if got := c.Tells(); got != test.want {
			t.Errorf("%s: tells something: %v, want %v", test.name, got, test.want)
		}
	}
	wide := line("a", saturates(1))
	wide.High = slices.Clone(wide.Y)
	for i := range wide.High {
		wide.High[i] *= 1.5
	}
	if !(Lines{Series: []Series{wide}}).Tells() {
		t.Error("a band tells nothing")
	}
	if (Bars{Items: []Bar{{Name: "a"}, {Name: "b", Value: math.NaN()}}}).Tells() || !(Bars{Items: []Bar{{Name: "a", Value: -1}}}).Tells() {
		t.Error("bars: of zeros, or of one that is none")
	}
	if (Balance{Items: []Score{{Name: "a", Ties: 9}}}).Tells() || !(Balance{Items: []Score{{Name: "a", Ties: 9, Loses: 1}}}).Tells() {
		t.Error("balances: of ties alone, or of a loss")
	}
}

func TestPanelsThatTellNothingAreLeftOut(t *testing.T) {
	curve, straight := line("a", math.Sqrt), line("b", func(x float64) float64 { return x / 50 })
	told, silent := Multiples{Panels: []Lines{
		{Title: "flat", Series: []Series{straight, straight}}, {Title: "curved", Series: []Series{curve, straight}},
	}}.Telling()
	if len(told.Panels) != 1 || told.Panels[0].Title != "curved" || !slices.Equal(silent, []string{"flat"}) {
		t.Errorf("%d panels, without %q", len(told.Panels), silent)
	}
}

// The values that a page can show are those of the lines, at points of theirs
// that are nearest to even places of the axis, and at their ends.
func TestValuesOfLines(t *testing.T) {
	a := Series{Name: `it's <a> & "b"`, X: []float64{0, 9, 21, 33, 50, 52, 100}, Y: []float64{0, 1, 2.00004, 3.14159265, math.NaN(), 5, 123456}}
	b := Series{Name: "b", X: []float64{0, 100}, Y: []float64{1, 2}, Mark: true}
	c := Lines{Title: "chart", XLabel: "pages", Series: []Series{a, b}, Percent: true}
	var out bytes.Buffer
	if err := (Multiples{Panels: []Lines{c, c}, Columns: 2}).Draw().Inline(&out); err != nil {
		t.Fatal(err)
	}
	checkXML(t, "values", out.String())
	found := regexp.MustCompile(`data-panels='([^']*)'`).FindSubmatch(out.Bytes())
	if found == nil {
		t.Fatalf("no values in\n%s", out.Bytes())
	}
	type read struct {
		Box    [4]float64
		X      [2]float64
		Title  string
		XLabel string
		At     []float64
		Series []struct {
			Name, Ink string
			Values    []*float64
		}
		Percent bool
	}
	var panels []read
	if err := json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &panels); err != nil {
		t.Fatal(err)
	}
	if len(panels) != 2 || panels[1].Box[0] <= panels[0].Box[2] || panels[0].Box[1] != panels[1].Box[1] {
		t.Fatalf("panels %+v", panels)
	}
	p := panels[0]
	if p.Title != "chart" || p.XLabel != "pages" || !p.Percent || p.X != [2]float64{0, 100} || p.Series[0].Name != a.Name || p.Series[1].Ink != "muted" {
		t.Errorf("panel %+v", p)
	}
	if !slices.Equal(p.At, []float64{0, 9, 21, 33, 50, 52, 100}) {
		t.Errorf("at %v", p.At)
	}
	var got []float64
	for _, v := range p.Series[0].Values {
		if v == nil {
			got = append(got, -1)
		} else {
			got = append(got, *v)
		}
	}
	if !slices.Equal(got, []float64{0, 1, 2, 3.142, -1, 5, 123456}) {
		t.Errorf("values %v", got)
	}
	if v := p.Series[1].Values; *v[0] != 1 || v[3] != nil || *v[6] != 2 {
		t.Errorf("values of b: %v", v)
	}
	var alone bytes.Buffer
	if err := c.Draw().SVG(&alone); err != nil || bytes.Contains(alone.Bytes(), []byte("data-panels")) {
		t.Errorf("a file of its own, which has no script, holds values too, %v", err)
	}
}
