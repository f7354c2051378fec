package plot

import (
	"strings"
)

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
		drawn.panels[0].XLabel = c.Panels[i].XLabel
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
