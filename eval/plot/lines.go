package plot

import (
	"fmt"
	"slices"
	"strings"
)

// Series is a line of a chart. Shapes: X, Y [P], X ascending; Low and High [P]
// bound a band, or are nil. NaN breaks a line.
type Series struct {
	Name      string
	X, Y      []float64
	Low, High []float64
	Mark      bool // drawn in the ink of notes, dashed: a bound to compare with
	Dots      bool // each point is marked
	Color     int  // 0…: which of the series' colours
}

// Lines is a chart of lines over a common axis: harvest curves.
type Lines struct {
	Title, Note    string // Note may be empty, or hold several lines
	XLabel, YLabel string
	Series         []Series
	Percent        bool    // values are shares, shown as percentages
	YMax           float64 // top of the axis; 0 = of the data
	// Width and Height of the drawing; 0 = 760 × 440.
	Width, Height float64
	// Plain leaves the names of the series out: for panels of Multiples, which
	// name them once.
	Plain bool
}

// dashOf is the pattern of a series: after each round of colours another.
func dashOf(color int) []float64 {
	return [][]float64{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}}[color/dataInks%4]
}

func inkOf(s Series) (Ink, []float64, float64) {
	if s.Mark {
		return Muted, [][]float64{{5, 4}, {1.5, 3}}[s.Color%2], 1.4
	}
	return Data + Ink(s.Color%dataInks), dashOf(s.Color), 2
}

// Apart gives series that share a colour others that are free, in their order, so that
// dashes alone tell none of them apart as long as there are colours enough.
func Apart(series []Series) {
	taken := map[int]bool{}
	for _, s := range series {
		if !s.Mark && s.Color < dataInks {
			taken[s.Color] = true
		}
	}
	seen := map[int]bool{}
	for i := range series {
		s := &series[i]
		if s.Mark {
			continue
		}
		if s.Color >= dataInks || seen[s.Color] {
			for free := range dataInks {
				if !taken[free] {
					s.Color = free
					break
				}
			}
		}
		taken[s.Color], seen[s.Color] = true, true
	}
}

// Draw lays the chart out.
func (c Lines) Draw() *Drawing {
	d := &Drawing{Width: orElse(c.Width, 760), Height: orElse(c.Height, 440), Title: c.Title, Description: c.describe()}
	var r ruler
	top := d.head(&r, c.Title, c.Note, d.Width, c.Plain)
	x, y := c.axes()

	left, size := 0.0, tickSize
	if c.Plain {
		size = 11
	}
	for _, t := range y.ticks {
		left = max(left, r.width(y.name(t), size, false))
	}
	left += 12
	right, bottom := 16., 28.
	if c.XLabel != "" {
		bottom += 20
	}
	if !c.Plain {
		for _, s := range c.Series {
			right = max(right, min(r.width(s.Name, nameSize, false), 190)+26)
		}
	}
	if c.YLabel != "" {
		if top > 0 {
			top += 4
		} else {
			top = 8
		}
		d.text(0, top+4, c.YLabel, tickSize, false, start, Muted)
		top += 12
	}
	top += 8
	x.from, x.to = left, d.Width-right
	y.from, y.to = d.Height-bottom, top

	c.grid(d, x, y, size)
	for _, s := range c.Series {
		band(d, x, y, s)
	}
	var names []endName
	for _, s := range c.Series {
		if end, seen := curve(d, x, y, s); seen {
			ink, dash, _ := inkOf(s)
			names = append(names, endName{end, s.Name, ink, dash, end.Y})
		}
	}
	if !c.Plain {
		d.nameEnds(&r, names, x.to, top, y.from, right-26)
	}
	d.panels = append(d.panels, c.panel(x, y))
	return d
}

// axes span the data; they have no places yet.
func (c Lines) axes() (x, y axis) {
	minX, maxX, maxY := 0.0, 0.0, 0.0
	for _, s := range c.Series {
		for i, x := range s.X {
			if !isReal(x) {
				continue
			}
			minX, maxX = min(minX, x), max(maxX, x)
			for _, y := range [][]float64{s.Y, s.High} {
				if i < len(y) && isReal(y[i]) {
					maxY = max(maxY, y[i])
				}
			}
		}
	}
	if c.YMax > 0 {
		maxY = c.YMax
	}
	ticksX, ticksY := 6, 5
	if c.Plain {
		ticksX, ticksY = 3, 3
	}
	return newAxis(minX, maxX, ticksX, false).fit(maxX), newAxis(0, maxY, ticksY, c.Percent).fit(maxY * 1.02)
}

// grid draws the axes with their ticks, whose text has a size.
func (c Lines) grid(d *Drawing, x, y axis, size float64) {
	for _, t := range y.ticks {
		ink := Grid
		if t == 0 {
			ink = Muted
		}
		d.line(x.from, y.at(t), x.to, y.at(t), ink, 1)
		d.text(x.from-8, y.at(t)+size*.36, y.name(t), size, false, end, Muted)
	}
	for i, t := range x.ticks {
		a := middle
		if c.Plain && i == len(x.ticks)-1 && x.at(t) > x.to-8 {
			a = end
		}
		d.line(x.at(t), y.from, x.at(t), y.from+4, Muted, 1)
		d.text(x.at(t), y.from+6+size, x.name(t), size, false, a, Muted)
	}
	if c.XLabel != "" {
		d.text((x.from+x.to)/2, d.Height-6, c.XLabel, tickSize, false, middle, Muted)
	}
}

// place is where the i-th point of a line stands, if it has one.
func place(x, y axis, xs, ys []float64, i int) (point, bool) {
	if i >= len(xs) || i >= len(ys) || !isReal(xs[i]) || !isReal(ys[i]) {
		return point{}, false
	}
	return point{x.at(xs[i]), y.at(min(max(ys[i], y.low), y.high))}, true
}

// band draws what lies between Low and High of a series.
func band(d *Drawing, x, y axis, s Series) {
	ink, _, _ := inkOf(s)
	var lower, upper []point
	for i := range s.X {
		l, ok := place(x, y, s.X, s.Low, i)
		u, both := place(x, y, s.X, s.High, i)
		if ok && both {
			lower, upper = append(lower, l), append(upper, u)
		}
	}
	if len(lower) < 2 {
		return
	}
	lower, upper = simplify(lower), simplify(upper)
	// Edges tell bands apart where they overlap, and are thinner than any line.
	d.add(stroke{points: lower, ink: ink, width: .6, dash: []float64{1, 2}}, stroke{points: upper, ink: ink, width: .6, dash: []float64{1, 2}})
	lower = slices.Clone(lower)
	slices.Reverse(lower)
	d.add(area{points: append(upper, lower...), ink: ink, opacity: .1})
}

// curve draws the line of a series, and returns its last point if it has any.
func curve(d *Drawing, x, y axis, s Series) (last point, seen bool) {
	ink, dash, width := inkOf(s)
	var run []point
	flush := func() {
		switch {
		case len(run) > 1:
			d.add(stroke{points: simplify(run), ink: ink, width: width, dash: dash, tip: s.Name})
		case len(run) == 1 && !s.Dots:
			d.add(dot{run[0], 3, ink, s.Name})
		}
		run = nil
	}
	for i := range s.X {
		p, ok := place(x, y, s.X, s.Y, i)
		if !ok {
			flush()
			continue
		}
		run = append(run, p)
		last, seen = p, true
		if s.Dots {
			d.add(dot{p, 3, ink, s.Name})
		}
	}
	flush()
	return last, seen
}

// endName is the name of a line beside its end.
type endName struct {
	end  point
	name string
	ink  Ink
	dash []float64
	y    float64 // where it is written
}

// nameEnds writes names beside the ends of lines, pushed apart where they
// would cover each other, with a thread to those that had to move far.
func (d *Drawing) nameEnds(r *ruler, names []endName, x, top, bottom, width float64) {
	if len(names) == 0 {
		return
	}
	slices.SortStableFunc(names, func(a, b endName) int {
		switch {
		case a.y < b.y:
			return -1
		case a.y > b.y:
			return 1
		}
		return 0
	})
	// Names that would touch form a block around the middle of where they would
	// stand; blocks that touch are joined in turn.
	gap := min(15, (bottom-top)/float64(len(names)))
	type block struct {
		sum   float64 // of the first lines of its names, were each on its own
		count int
	}
	first := func(b block) float64 {
		y := b.sum / float64(b.count)
		return max(min(y, bottom-gap*float64(b.count-1)), top)
	}
	var blocks []block
	for _, n := range names {
		blocks = append(blocks, block{n.end.Y, 1})
		for k := len(blocks) - 1; k > 0; k-- {
			a, b := blocks[k-1], blocks[k]
			if first(a)+gap*float64(a.count) <= first(b) {
				break
			}
			blocks[k-1] = block{a.sum + b.sum - gap*float64(a.count*b.count), a.count + b.count}
			blocks = blocks[:k]
		}
	}
	i := 0
	for _, b := range blocks {
		for k := range b.count {
			names[i].y = first(b) + gap*float64(k)
			i++
		}
	}
	for _, n := range names {
		to := x + 20
		dash := n.dash
		if x-n.end.X > 4 { // a long thread must not pass for the line itself
			dash = []float64{1, 4}
		}
		d.add(stroke{points: []point{n.end, {max(x, n.end.X) + 2, n.end.Y}, {to - 3, n.y}}, ink: n.ink, width: 1.1, dash: dash})
		d.text(to, n.y+nameSize*.35, r.cut(n.name, nameSize, false, width), nameSize, false, start, n.ink)
	}
}

func (c Lines) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Lines: %s over %s.", orText(c.YLabel, "values"), orText(c.XLabel, "a common axis"))
	a := axis{percent: c.Percent}
	for _, s := range c.Series {
		for i := min(len(s.X), len(s.Y)) - 1; i >= 0; i-- {
			if isReal(s.Y[i]) {
				value := Number(s.Y[i], 1)
				if a.percent {
					value = Number(s.Y[i]*100, 1) + "%"
				}
				fmt.Fprintf(&b, " %s ends at %s.", s.Name, value)
				break
			}
		}
	}
	return b.String()
}
