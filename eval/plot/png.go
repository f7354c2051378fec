package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// maxSide bounds an image, in pixels.
const maxSide = 16_000

// PNG rasterises the drawing, scale pixels to each of its own, in light or
// dark colours.
func (d *Drawing) PNG(w io.Writer, scale float64, darkTheme bool) error {
	width, height := int(math.Ceil((d.Width+2*padding)*scale)), int(math.Ceil((d.Height+2*padding)*scale))
	if width < 1 || height < 1 || width > maxSide || height > maxSide {
		return fmt.Errorf("plot: an image of %d × %d pixels: a side has 1 to %d", width, height, maxSide)
	}
	p := &painter{
		img: image.NewRGBA(image.Rect(0, 0, width, height)), raster: &vector.Rasterizer{},
		scale: scale, theme: light, faces: map[face]font.Face{},
	}
	if darkTheme {
		p.theme = dark
	}
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(p.color(Paper, 1)), image.Point{}, draw.Src)
	for _, s := range d.shapes {
		var err error
		switch s := s.(type) {
		case stroke:
			p.stroke(s)
		case area:
			p.fill(s.points, s.ink, s.opacity)
		case dot:
			p.disc(s.at, s.radius)
			p.paint(s.ink, 1)
		case label:
			err = p.label(s)
		}
		if err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p.img); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

type face struct {
	size float64
	bold bool
}

// painter paints shapes on an image. Outlines are gathered, all turning the
// same way so that overlaps do not cancel, and then painted at once within the
// box that holds them.
type painter struct {
	img    *image.RGBA
	raster *vector.Rasterizer
	shapes [][]point // outlines in pixels
	scale  float64
	theme  theme
	faces  map[face]font.Face
}

// color is an ink's, with an opacity in [0,1].
func (p *painter) color(i Ink, opacity float64) color.NRGBA {
	r, g, b := rgb(p.theme[i])
	return color.NRGBA{r, g, b, uint8(math.Round(opacity * 255))}
}

// rgb reads "#rrggbb".
func rgb(s string) (r, g, b uint8) {
	var v [3]uint8
	for i := range v {
		for _, c := range []byte(s[1+2*i : 3+2*i]) {
			x := c - '0'
			if c >= 'a' {
				x = c - 'a' + 10
			}
			v[i] = v[i]<<4 | x
		}
	}
	return v[0], v[1], v[2]
}

func (p *painter) paint(i Ink, opacity float64) {
	box := image.Rectangle{}
	for _, outline := range p.shapes {
		for _, at := range outline {
			x, y := int(math.Floor(at.X)), int(math.Floor(at.Y))
			box = box.Union(image.Rect(x, y, x+2, y+2))
		}
	}
	box = box.Intersect(p.img.Bounds())
	if !box.Empty() {
		p.raster.Reset(box.Dx(), box.Dy())
		for _, outline := range p.shapes {
			for k, at := range outline {
				x, y := float32(at.X-float64(box.Min.X)), float32(at.Y-float64(box.Min.Y))
				if k == 0 {
					p.raster.MoveTo(x, y)
				} else {
					p.raster.LineTo(x, y)
				}
			}
			p.raster.ClosePath()
		}
		p.raster.Draw(p.img, box, image.NewUniform(p.color(i, opacity)), image.Point{})
	}
	p.shapes = p.shapes[:0]
}

// outline adds a closed polygon, turned if need be.
func (p *painter) outline(points []point) {
	if len(points) < 3 {
		return
	}
	twice := 0.0
	pixels := make([]point, len(points))
	for i, a := range points {
		b := points[(i+1)%len(points)]
		twice += a.X*b.Y - b.X*a.Y
		pixels[i] = point{(a.X + padding) * p.scale, (a.Y + padding) * p.scale}
	}
	if twice < 0 {
		slices.Reverse(pixels)
	}
	p.shapes = append(p.shapes, pixels)
}

func (p *painter) fill(points []point, i Ink, opacity float64) {
	p.outline(points)
	p.paint(i, opacity)
}

func (p *painter) disc(at point, r float64) {
	const sides = 24
	points := make([]point, sides)
	for i := range points {
		s, c := math.Sincos(2 * math.Pi * float64(i) / sides)
		points[i] = point{at.X + r*c, at.Y + r*s}
	}
	p.outline(points)
}

// stroke paints a line with round joins, and round ends unless it is dashed.
func (p *painter) stroke(s stroke) {
	for _, run := range dashes(s.points, s.dash) {
		if len(s.dash) == 0 && len(run) > 0 {
			p.disc(run[0], s.width/2)
			p.disc(run[len(run)-1], s.width/2)
		}
		p.ribbon(run, s.width/2)
	}
	p.paint(s.ink, 1)
}

// ribbon outlines a line of a half width. At gentle turns its sides meet where
// they would cross; at a sharp one it is cut, and a disc closes the gap.
func (p *painter) ribbon(line []point, half float64) {
	const gentle = .8 // cosine of the turn
	var left, right []point
	flush := func() {
		slices.Reverse(right)
		p.outline(append(left, right...))
		left, right = nil, nil
	}
	var before point // direction of the segment before
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if length == 0 {
			continue
		}
		at := point{(b.X - a.X) / length, (b.Y - a.Y) / length}
		side := point{-at.Y * half, at.X * half}
		cos := before.X*at.X + before.Y*at.Y
		switch {
		case len(left) == 0:
			left, right = append(left, point{a.X + side.X, a.Y + side.Y}), append(right, point{a.X - side.X, a.Y - side.Y})
		case cos >= gentle:
			// The corner lies on the bisector of the two normals, at half/cos(turn/2).
			x, y := -(before.Y+at.Y)*half/(1+cos), (before.X+at.X)*half/(1+cos)
			left[len(left)-1], right[len(right)-1] = point{a.X + x, a.Y + y}, point{a.X - x, a.Y - y}
		default:
			flush()
			p.disc(a, half)
			left, right = append(left, point{a.X + side.X, a.Y + side.Y}), append(right, point{a.X - side.X, a.Y - side.Y})
		}
		left, right = append(left, point{b.X + side.X, b.Y + side.Y}), append(right, point{b.X - side.X, b.Y - side.Y})
		before = at
	}
	flush()
}

// dashes cuts a line into the parts that are drawn.
func dashes(points []point, pattern []float64) [][]point {
	total := 0.0
	for _, x := range pattern {
		total += max(x, 0)
	}
	if total == 0 || len(points) < 2 {
		return [][]point{points}
	}
	var out [][]point
	k, left, on := 0, pattern[0], true
	run := []point{points[0]}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		for done := 0.0; done < length; {
			step := min(left, length-done)
			done += step
			at := point{a.X + (b.X-a.X)*done/length, a.Y + (b.Y-a.Y)*done/length}
			if on {
				run = append(run, at)
			}
			if left -= step; left <= 1e-9 {
				if on && len(run) > 1 {
					out = append(out, run)
				}
				k = (k + 1) % len(pattern)
				left, on = pattern[k], !on
				run = []point{at}
			}
		}
	}
	if on && len(run) > 1 {
		out = append(out, run)
	}
	return out
}

func (p *painter) label(l label) error {
	f := face{l.size, l.bold}
	if p.faces[f] == nil {
		made, err := newFace(f, p.scale)
		if err != nil {
			return err
		}
		p.faces[f] = made
	}
	d := font.Drawer{Dst: p.img, Src: image.NewUniform(p.color(l.ink, 1)), Face: p.faces[f]}
	x, y := (l.at.X+padding)*p.scale, (l.at.Y+padding)*p.scale
	switch width := float64(d.MeasureString(l.text)) / 64; l.anchor {
	case middle:
		x -= width / 2
	case end:
		x -= width
	}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(math.Round(x * 64)), Y: fixed.Int26_6(math.Round(y * 64))}
	d.DrawString(l.text)
	return nil
}

// newFace opens one of the Go fonts (The Go Authors, BSD), which are part of
// golang.org/x/image.
func newFace(f face, scale float64) (font.Face, error) {
	data := goregular.TTF
	if f.bold {
		data = gobold.TTF
	}
	parsed, err := opentype.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("plot: font: %w", err)
	}
	return opentype.NewFace(parsed, &opentype.FaceOptions{Size: f.size * scale, DPI: 72, Hinting: font.HintingNone})
}

// ruler measures text for the layout. Who looks at an SVG seldom has the Go
// fonts: what fits has to fit in wider ones too. DejaVu Sans, the widest in
// common use, takes up to 1.15 times their width, and its bold up to 1.26.
type ruler struct{ faces map[face]font.Face }

// slack and slackBold are how much wider than the Go fonts text may come out.
const (
	slack     = 1.15
	slackBold = 1.26
)

// width is the room for a line of text, in pixels.
func (r *ruler) width(s string, size float64, bold bool) float64 {
	if bold {
		return slackBold * r.plain(s, size, bold)
	}
	return slack * r.plain(s, size, bold)
}

// plain is the width of a line of text in the Go fonts.
func (r *ruler) plain(s string, size float64, bold bool) float64 {
	f := face{size, bold}
	if r.faces == nil {
		r.faces = map[face]font.Face{}
	}
	if r.faces[f] == nil {
		made, err := newFace(f, 1)
		if err != nil {
			return .6 * size * float64(len([]rune(s)))
		}
		r.faces[f] = made
	}
	return float64(font.MeasureString(r.faces[f], s)) / 64
}

// cut shortens a text to a width, with an ellipsis.
func (r *ruler) cut(s string, size float64, bold bool, width float64) string {
	width += 1e-6 // what was measured for this very text fits
	if r.width(s, size, bold) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 {
		runes = runes[:len(runes)-1]
		if short := string(runes) + "…"; r.width(short, size, bold) <= width {
			return short
		}
	}
	return "…"
}
