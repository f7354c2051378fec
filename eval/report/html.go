package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/waggle-crawler/waggle/eval/plot"
)

// The page's template, its style sheet, in which FONTS stands for those of the
// charts and whose colours are theirs, and its script, which shows the values of
// charts. A page loads nothing, and its policy lets no other script run.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

// HTML is the report as one file that loads nothing from anywhere.
func HTML(r Results) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.page().html()
}

func (p page) html() ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"charts":  section.inline,
		"numeric": table.numeric,
		"style": func() template.CSS {
			return template.CSS(strings.Replace(pageCSS, "FONTS", plot.Fonts, 1) + plot.Style())
		},
		"script": func() template.HTML { return template.HTML("<script>" + pageJS + "</script>") },
		"scriptHash": func() string {
			sum := sha256.Sum256([]byte(pageJS))
			return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
		},
	}).Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

// inline is a section's charts as elements of a page: those that are open, or
// those behind a heading.
func (s section) inline(more bool) (out []template.HTML, err error) {
	list := s.charts
	if more {
		list = s.more
	}
	for _, c := range list {
		var b bytes.Buffer
		if err := c.Drawing.Inline(&b); err != nil {
			return nil, err
		}
		out = append(out, template.HTML(b.String())) // plot escapes all text
	}
	return out, nil
}
