package plot

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// panel is what a script needs to show the values of a chart of lines: its
// place within the drawing and the values at a few places of its axis. As JSON:
//
//	{"box":[left,top,right,bottom], "x":[from,to], "y":[from,to],
//	 "title":"databases", "xLabel":"pages fetched", "percent":false,
//	 "at":[0,50,100], "series":[{"name":"random","ink":"d1","values":[0,2,null]}]}
//
// Shapes: at [P]; values [P], null where a line has no point.
type panel struct {
	Box     [4]float64 `json:"box"`
	X       [2]float64 `json:"x"`
	Y       [2]float64 `json:"y"`
	Title   string     `json:"title"`
	XLabel  string     `json:"xLabel"`
	Percent bool       `json:"percent"`
	At      []value    `json:"at"`
	Series  []readout  `json:"series"`
}

type readout struct {
	Name   string  `json:"name"`
	Ink    string  `json:"ink"`
	Values []value `json:"values"`
}

// value is a number with the digits that a reader can use; NaN is null.
type value float64

// MarshalJSON writes four significant digits, and all of a whole number.
func (v value) MarshalJSON() ([]byte, error) {
	x := float64(v)
	switch {
	case !isReal(x):
		return []byte("null"), nil
	case x == math.Trunc(x) && math.Abs(x) < 1e15:
		return strconv.AppendFloat(nil, x, 'f', -1, 64), nil
	}
	return strconv.AppendFloat(nil, x, 'g', 4, 64), nil
}

// readings is how many places between two ticks of the axis can be read.
const readings = 5

// panel holds the values of lines, at their own points that are nearest to even
// places of the axis: what is read there is what was measured.
func (c Lines) panel(x, y axis) panel {
	p := panel{
		Box: [4]float64{x.from, y.to, x.to, y.from}, X: [2]float64{x.low, x.high}, Y: [2]float64{y.low, y.high},
		Title: c.Title, XLabel: c.XLabel, Percent: c.Percent, At: []value{}, Series: []readout{},
	}
	var all []float64
	for _, s := range c.Series {
		all = append(all, s.X...)
	}
	all = slices.DeleteFunc(all, func(v float64) bool { return !isReal(v) })
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return p
	}
	step := (x.high - x.low) / readings
	if len(x.ticks) > 1 {
		step = (x.ticks[1] - x.ticks[0]) / readings
	}
	for i := 0; ; i++ {
		at := x.low + float64(i)*step
		if at > x.high+step/2 {
			break
		}
		k, _ := slices.BinarySearch(all, at)
		k = min(k, len(all)-1)
		if k > 0 && at-all[k-1] < all[k]-at {
			k--
		}
		if n := len(p.At); n == 0 || float64(p.At[n-1]) != all[k] {
			p.At = append(p.At, value(all[k]))
		}
	}
	for _, s := range c.Series {
		ink, _, _ := inkOf(s)
		r := readout{Name: s.Name, Ink: ink.class(), Values: make([]value, len(p.At))}
		for i, at := range p.At {
			r.Values[i] = value(math.NaN())
			if k, ok := slices.BinarySearch(s.X, float64(at)); ok && k < len(s.Y) {
				r.Values[i] = value(s.Y[k])
			}
		}
		p.Series = append(p.Series, r)
	}
	return p
}

// readable is the panels of a drawing as JSON, "" of one without lines.
func (d *Drawing) readable() string {
	if !slices.ContainsFunc(d.panels, func(p panel) bool { return len(p.At) > 0 }) {
		return ""
	}
	list := slices.Clone(d.panels)
	for i := range list {
		for k := range list[i].Box {
			list[i].Box[k] = math.Round(list[i].Box[k]*10) / 10
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic("plot: " + err.Error()) // plain values
	}
	return string(b)
}

// telling is the share of a chart's height from which a reader sees that a line
// is not straight, or apart from another.
const telling = .1

// Tells tells whether a reader learns more from the lines than from a table of
// their last values: two of them are apart, and one is not straight. Of shares
// the first fifth of the axis does not count, as those of a few things jump. An
// edge of a band is a line. A line alone has to be other than straight.
func (c Lines) Tells() bool {
	x, y := c.axes()
	height, from := y.high-y.low, x.low
	if c.Percent {
		from += (x.high - x.low) / 5
	}
	var lines [][]point
	for _, s := range c.Series {
		for _, values := range [][]float64{s.Y, s.Low, s.High} {
			var line []point
			for i, v := range values {
				if i < len(s.X) && isReal(s.X[i]) && isReal(v) && s.X[i] >= from {
					line = append(line, point{s.X[i], v})
				}
			}
			if len(line) > 1 {
				lines = append(lines, line)
			}
		}
	}
	apart, bent := len(lines) == 1, false
	for i, line := range lines {
		chord := []point{line[0], line[len(line)-1]}
		for _, p := range line {
			bent = bent || math.Abs(p.Y-read(chord, p.X)) >= telling*height
			for _, other := range lines[:i] {
				if v := read(other, p.X); isReal(v) {
					apart = apart || math.Abs(p.Y-v) >= telling*height
				}
			}
		}
	}
	return apart && bent
}

// read is a line's height at x, straight between its points; NaN beside them.
func read(line []point, x float64) float64 {
	k, ok := slices.BinarySearchFunc(line, x, func(p point, x float64) int {
		switch {
		case p.X < x:
			return -1
		case p.X > x:
			return 1
		}
		return 0
	})
	switch {
	case ok:
		return line[k].Y
	case k == 0 || k == len(line):
		return math.NaN()
	}
	a, b := line[k-1], line[k]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}

// Telling is the chart without the panels that tell nothing (see Lines.Tells),
// and the titles of those.
func (c Multiples) Telling() (told Multiples, silent []string) {
	told = c
	told.Panels = nil
	for _, p := range c.Panels {
		if p.Tells() {
			told.Panels = append(told.Panels, p)
		} else {
			silent = append(silent, p.Title)
		}
	}
	return told, silent
}

// Tells tells whether any bar differs from nothing.
func (c Bars) Tells() bool {
	return slices.ContainsFunc(c.Items, func(b Bar) bool { return isReal(b.Value) && b.Value != 0 })
}

// Tells tells whether any two did not tie.
func (c Balance) Tells() bool {
	return slices.ContainsFunc(c.Items, func(s Score) bool { return s.Wins+s.Loses > 0 })
}
