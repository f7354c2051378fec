package plot

import (
	"fmt"
	"math"
	"strings"
)

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
