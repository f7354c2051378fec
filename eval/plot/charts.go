package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Sizes of text.
const (
	titleSize = 17.
	noteSize  = 12.5
	tickSize  = 12.
	nameSize  = 12.5
	lineStep  = 17. // from one line of notes to the next
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

// Draw lays the chart out.
func (c Lines) Draw() *Drawing {
	w, h := orElse(c.Width, 760), orElse(c.Height, 440)
	d := &Drawing{Width: w, Height: h, Title: c.Title, Description: c.describe()}
	var r ruler
	top := d.head(&r, c.Title, c.Note, w, c.Plain)

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
	y := newAxis(0, maxY, ticksY, c.Percent).fit(maxY * 1.02)
	x := newAxis(minX, maxX, ticksX, false).fit(maxX)

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
	x.from, x.to = left, w-right
	y.from, y.to = h-bottom, top

	for _, t := range y.ticks {
		ink := Grid
		if t == 0 {
			ink = Muted
		}
		d.line(x.from, y.at(t), x.to, y.at(t), ink, 1)
		d.text(left-8, y.at(t)+size*.36, y.name(t), size, false, end, Muted)
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
		d.text((x.from+x.to)/2, h-6, c.XLabel, tickSize, false, middle, Muted)
	}

	place := func(xs, ys []float64, i int) (point, bool) {
		if i >= len(xs) || i >= len(ys) || !isReal(xs[i]) || !isReal(ys[i]) {
			return point{}, false
		}
		return point{x.at(xs[i]), y.at(min(max(ys[i], y.low), y.high))}, true
	}
	for _, s := range c.Series {
		ink, _, _ := inkOf(s)
		var lower, upper []point
		for i := range s.X {
			l, ok := place(s.X, s.Low, i)
			u, both := place(s.X, s.High, i)
			if ok && both {
				lower, upper = append(lower, l), append(upper, u)
			}
		}
		if len(lower) > 1 {
			lower, upper = simplify(lower), simplify(upper)
			// Edges tell bands apart where they overlap.
			d.add(stroke{points: lower, ink: ink, width: .7}, stroke{points: upper, ink: ink, width: .7})
			lower = slices.Clone(lower)
			slices.Reverse(lower)
			d.add(area{points: append(upper, lower...), ink: ink, opacity: .13})
		}
	}
	var names []endName
	for _, s := range c.Series {
		ink, dash, width := inkOf(s)
		var run []point
		last, seen := point{}, false
		flush := func() {
			if len(run) > 1 {
				d.add(stroke{points: simplify(run), ink: ink, width: width, dash: dash, tip: s.Name})
			}
			run = nil
		}
		for i := range s.X {
			p, ok := place(s.X, s.Y, i)
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
		if len(run) == 1 {
			d.add(dot{run[0], 3, ink, s.Name})
		}
		flush()
		if seen {
			names = append(names, endName{last, s.Name, ink, dash, last.Y})
		}
	}
	if !c.Plain {
		d.nameEnds(&r, names, x.to, top, y.from, right-26)
	}
	return d
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

// head writes title and note, and returns where the rest begins.
func (d *Drawing) head(r *ruler, title, note string, width float64, small bool) float64 {
	size := titleSize
	if small {
		size = 13
	}
	y := 0.0
	if title != "" {
		y += size
		d.text(0, y, r.cut(title, size, true, width), size, true, start, Text)
		y += 6
	}
	for _, line := range wrap(r, note, noteSize, width) {
		y += lineStep
		d.text(0, y-2, line, noteSize, false, start, Muted)
	}
	if y > 0 && !small {
		y += 12
	}
	return y
}

// wrap breaks a text into lines of a width at its spaces.
func wrap(r *ruler, s string, size, width float64) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(s, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			longer := strings.TrimSpace(line + " " + word)
			if line != "" && r.width(longer, size, false) > width {
				lines = append(lines, line)
				longer = word
			}
			line = longer
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
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

// Multiples is a table of small charts that share their series: one for each
// topic.
type Multiples struct {
	Title, Note string
	Panels      []Lines // drawn plain; XLabel and YLabel of the first name the axes of all
	Columns     int     // 0 = 4
	Width       float64 // 0 = 960
	PanelHeight float64 // 0 = 170
}

// Draw lays the chart out.
func (c Multiples) Draw() *Drawing {
	w, columns := orElse(c.Width, 960), c.Columns
	if columns < 1 {
		columns = 4
	}
	columns = max(1, min(columns, len(c.Panels)))
	d := &Drawing{Width: w, Title: c.Title}
	var r ruler
	y := d.head(&r, c.Title, c.Note, w, false)
	y = d.key(&r, c.Panels, y, w)
	if len(c.Panels) > 0 {
		if p := c.Panels[0]; p.XLabel != "" || p.YLabel != "" {
			d.text(0, y+noteSize, strings.Trim("Up: "+orText(p.YLabel, "values")+". Across: "+orText(p.XLabel, "the common axis")+".", " "), noteSize, false, start, Muted)
			y += noteSize + 12
		}
	}
	const gap = 22.
	panelWidth := (w - gap*float64(columns-1)) / float64(columns)
	panelHeight := orElse(c.PanelHeight, 170)
	var told []string
	for i, p := range c.Panels {
		p.Plain, p.Width, p.Height, p.XLabel, p.YLabel = true, panelWidth, panelHeight, "", ""
		drawn := p.Draw()
		d.place(drawn, float64(i%columns)*(panelWidth+gap), y+float64(i/columns)*(panelHeight+14))
		told = append(told, p.Title+": "+drawn.Description)
	}
	rows := (len(c.Panels) + columns - 1) / columns
	d.Height = y + float64(rows)*(panelHeight+14)
	d.Description = strings.Join(told, " ")
	return d
}

// key names the series of all panels, each once, in rows.
func (d *Drawing) key(r *ruler, panels []Lines, y, width float64) float64 {
	x, seen := 0.0, map[string]bool{}
	for _, p := range panels {
		for _, s := range p.Series {
			if seen[s.Name] {
				continue
			}
			if len(seen) == 0 {
				y += 12
			}
			seen[s.Name] = true
			name := r.cut(s.Name, nameSize, false, width-30)
			need := r.width(name, nameSize, false) + 48
			if x > 0 && x+need-20 > width {
				x, y = 0, y+20
			}
			ink, dash, thick := inkOf(s)
			d.add(stroke{points: []point{{x, y - 4}, {x + 22, y - 4}}, ink: ink, width: thick, dash: dash})
			d.text(x+28, y, name, nameSize, false, start, Text)
			x += need
		}
	}
	if len(seen) > 0 {
		y += 12
	}
	return y
}

// Bar is one of a chart's bars.
type Bar struct {
	Name      string
	Value     float64
	Low, High float64 // of an interval; none when they are equal
	Note      string  // after the value
	Color     int
}

// Bars is a chart of horizontal bars.
type Bars struct {
	Title, Note string
	Label       string // of the axis
	Items       []Bar
	Percent     bool
	Decimals    int     // of the written values
	Width       float64 // 0 = 760
}

// Draw lays the chart out.
func (c Bars) Draw() *Drawing {
	const step, thick = 27., 15.
	w := orElse(c.Width, 760)
	d := &Drawing{Width: w, Title: c.Title}
	var r ruler
	top := d.head(&r, c.Title, c.Note, w, false)
	low, high, left, right := 0.0, 0.0, 0.0, 0.0
	for _, b := range c.Items {
		for _, v := range []float64{b.Value, b.Low, b.High} {
			if isReal(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		left = max(left, r.width(b.Name, nameSize, false))
		right = max(right, r.width(c.value(b), nameSize, false))
	}
	left = min(left, w*.4) + 12
	right += 14
	x := newAxis(low, high, 5, c.Percent)
	x.from, x.to = left, w-right
	if x.low < 0 { // values of bars to the left stand there too
		x.from += right
	}
	bottom := top + step*float64(len(c.Items)) + 4
	for _, t := range x.ticks {
		ink := Grid
		if t == 0 {
			ink = Muted
		}
		d.line(x.at(t), top, x.at(t), bottom, ink, 1)
		d.text(x.at(t), bottom+tickSize+5, x.name(t), tickSize, false, middle, Muted)
	}
	var told []string
	for i, b := range c.Items {
		y := top + step*float64(i) + step/2 + 2
		d.text(left-12, y+nameSize*.35, r.cut(b.Name, nameSize, false, left-12), nameSize, false, end, Text)
		told = append(told, b.Name+" "+c.value(b))
		if !isReal(b.Value) {
			d.text(x.at(0)+6, y+nameSize*.35, c.value(b), nameSize, false, start, Muted)
			continue
		}
		ink := Data + Ink(b.Color%dataInks)
		from, to := x.at(0), x.at(b.Value)
		d.rect(min(from, to), y-thick/2, math.Abs(to-from), thick, ink, .85, b.Name+" "+c.value(b))
		reach, a, off := to, start, 7.
		if b.Value < 0 {
			a, off = end, -7
		}
		if isReal(b.Low) && isReal(b.High) && b.Low < b.High {
			d.line(x.at(b.Low), y, x.at(b.High), y, Text, 1.4)
			d.line(x.at(b.Low), y-4, x.at(b.Low), y+4, Text, 1.4)
			d.line(x.at(b.High), y-4, x.at(b.High), y+4, Text, 1.4)
			reach = max(reach, x.at(b.High))
			if b.Value < 0 {
				reach = min(to, x.at(b.Low))
			}
		}
		d.text(reach+off, y+nameSize*.35, c.value(b), nameSize, false, a, Text)
	}
	d.Height = bottom + tickSize + 12
	if c.Label != "" {
		d.Height += 18
		d.text((x.from+x.to)/2, d.Height-6, c.Label, tickSize, false, middle, Muted)
	}
	d.Description = "Bars: " + strings.Join(told, ", ") + "."
	return d
}

func (c Bars) value(b Bar) string {
	s := Number(b.Value, c.Decimals)
	if c.Percent && isReal(b.Value) {
		s = Number(b.Value*100, c.Decimals) + "%"
	}
	return strings.TrimSpace(s + " " + b.Note)
}

// Score is wins, ties and losses of one against another.
type Score struct {
	Name              string
	Wins, Ties, Loses int
	Note              string // at the right
}

// Balance is a chart of wins, ties and losses, centred on the ties.
type Balance struct {
	Title, Note string
	Items       []Score
	Width       float64 // 0 = 760
}

// Draw lays the chart out.
func (c Balance) Draw() *Drawing {
	const step, thick = 27., 17.
	w := orElse(c.Width, 760)
	d := &Drawing{Width: w, Title: c.Title}
	var r ruler
	top := d.head(&r, c.Title, c.Note, w, false)
	left, right, reach := 0.0, 0.0, 1.0
	for _, s := range c.Items {
		left = max(left, r.width(s.Name, nameSize, false))
		right = max(right, r.width(s.Note, nameSize, false))
		reach = max(reach, float64(s.Wins)+float64(s.Ties)/2, float64(s.Loses)+float64(s.Ties)/2)
	}
	left = min(left, w*.4) + 14
	if right > 0 {
		right = min(right, w*.3) + 14
	}
	center, unit := (left+w-right)/2, (w-right-left)/2/reach
	keys := []struct {
		name string
		ink  Ink
	}{{"loses", Bad}, {"ties", Even}, {"wins", Good}}
	x := left
	for _, k := range keys {
		d.rect(x, top, 11, 11, k.ink, 1, "")
		d.text(x+17, top+10, k.name, nameSize, false, start, Text)
		x += r.width(k.name, nameSize, false) + 38
	}
	top += 24
	d.Height = top + step*float64(len(c.Items)) + 6
	d.line(center, top, center, d.Height-6, Muted, 1)
	var told []string
	for i, s := range c.Items {
		y := top + step*float64(i) + step/2
		d.text(left-14, y+nameSize*.35, r.cut(s.Name, nameSize, false, left-14), nameSize, false, end, Text)
		x := center - (float64(s.Loses)+float64(s.Ties)/2)*unit
		for j, n := range []int{s.Loses, s.Ties, s.Wins} {
			if n == 0 {
				continue
			}
			long := float64(n) * unit
			d.rect(x, y-thick/2, max(long-1, 1), thick, keys[j].ink, 1, fmt.Sprintf("%s %s %d", s.Name, keys[j].name, n))
			if number := Number(float64(n), 0); r.width(number, 11.5, true)+6 < long {
				d.text(x+long/2, y+11.5*.36, number, 11.5, true, middle, Paper)
			}
			x += long
		}
		if s.Note != "" {
			d.text(w, y+nameSize*.35, r.cut(s.Note, nameSize, false, right), nameSize, false, end, Muted)
		}
		told = append(told, fmt.Sprintf("%s: %d wins, %d ties, %d losses", s.Name, s.Wins, s.Ties, s.Loses))
	}
	d.Description = strings.Join(told, "; ") + "."
	return d
}

// simplify leaves out the points of a line without which it moves by no more
// than a tenth of a pixel (Douglas & Peucker 1973).
func simplify(points []point) []point {
	if len(points) < 3 {
		return points
	}
	a, b := points[0], points[len(points)-1]
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	far, at := 0.0, 0
	for i := 1; i < len(points)-1; i++ {
		p := points[i]
		off := math.Hypot(p.X-a.X, p.Y-a.Y)
		if length > 0 {
			off = math.Abs((b.X-a.X)*(p.Y-a.Y)-(b.Y-a.Y)*(p.X-a.X)) / length
		}
		if off > far {
			far, at = off, i
		}
	}
	if far <= .1 {
		return []point{a, b}
	}
	left := simplify(points[:at+1])
	return append(left[:len(left)-1:len(left)-1], simplify(points[at:])...)
}

func isReal(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func orElse(x, other float64) float64 {
	if x > 0 {
		return x
	}
	return other
}

func orText(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
