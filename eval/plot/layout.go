package plot

import (
	"math"
	"strings"
)

// Sizes of text.
const (
	titleSize = 16.
	noteSize  = 12.5
	tickSize  = 12.
	nameSize  = 12.5
	lineStep  = 17. // from one line of notes to the next
)

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
