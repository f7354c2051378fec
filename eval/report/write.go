package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/eval/plot"
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
		"charts": func(s section) ([]template.HTML, error) {
			var out []template.HTML
			for _, c := range s.charts {
				text, err := svg(c.Drawing)
				if err != nil {
					return nil, err
				}
				out = append(out, template.HTML(text)) // plot escapes all text
			}
			return out, nil
		},
		"plotStyle": func() template.CSS { return template.CSS(plot.Style()) },
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

// The colours of text and lines are those of package plot.
const pageHTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
:root{--paper:#ffffff;--text:#1c2126;--muted:#5c6670;--grid:#e3e7eb;--tint:#f5f7f9;--link:#1f6fb4;--warn:#8a4b00;--warnbg:#fff3df}
@media (prefers-color-scheme:dark){:root{--paper:#14181c;--text:#eceff2;--muted:#a3adb7;--grid:#2d343b;--tint:#1b2026;--link:#62aef0;--warn:#f2c078;--warnbg:#33270f}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--text);font:16px/1.55 system-ui,"Helvetica Neue",Arial,sans-serif}
main{max-width:1080px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:2rem;line-height:1.2;margin:0 0 .6em;letter-spacing:-.01em}
h2{font-size:1.4rem;margin:2.6em 0 .6em;padding-top:.9em;border-top:1px solid var(--grid)}
h3{font-size:1rem;margin:2em 0 .5em}
p{max-width:72ch;margin:.5em 0}
.muted,.note{color:var(--muted)}
.note{font-size:.85rem}
code{font:.9em ui-monospace,Menlo,Consolas,monospace;background:var(--tint);padding:.15em .4em;border-radius:4px;overflow-wrap:anywhere}
nav{display:flex;flex-wrap:wrap;gap:.3em 1.3em;margin:1.4em 0}
a{color:var(--link)}
.badge{font-size:.75rem;font-weight:600;vertical-align:middle;color:var(--warn);background:var(--warnbg);padding:.2em .6em;border-radius:99px;margin-left:.5em}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;line-height:1.35}
th,td{padding:.42em .8em .42em 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--grid)}
th{font-weight:600;color:var(--muted);vertical-align:bottom}
td+td,th+th{padding-left:.5em}
td.n{text-align:right;white-space:nowrap}
td:first-child{white-space:nowrap}
.strong{font-weight:700}
figure{margin:1.8em 0}
figure svg{max-width:100%;height:auto;display:block}
details{margin:1em 0}
summary{cursor:pointer;color:var(--link)}
{{plotStyle}}@media print{nav{display:none}h2{break-after:avoid}figure{break-inside:avoid}}
</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
{{range .Notes}}<p>{{.}}</p>
{{end}}{{with .Command}}<p class="muted">Made by <code>{{.}}</code></p>
{{end}}<nav aria-label="Sections">{{range .Sections}}<a href="#{{.ID}}">{{.Title}}</a>
{{end}}</nav>
{{range .Sections}}<section id="{{.ID}}">
<h2>{{.Title}}{{with .Badge}} <span class="badge">{{.}}</span>{{end}}</h2>
{{range .Notes}}<p>{{.}}</p>
{{end}}{{range charts .}}<figure>
{{.}}</figure>
{{end}}{{range .Tables}}{{with .Title}}<h3>{{.}}</h3>
{{end}}{{template "table" .}}{{end}}{{range .Folded}}<details>
<summary>{{with .Title}}{{.}}{{else}}All of them{{end}}</summary>
{{template "table" .}}</details>
{{end}}</section>
{{end}}</main>
</body>
</html>
{{define "table"}}<div class="scroll" tabindex="0" role="region" aria-label="{{with .Title}}{{.}}{{else}}Table{{end}}">
<table>
<thead><tr>{{range .Head}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td{{if or .Number .Strong}} class="{{if .Number}}n{{end}}{{if .Strong}} strong{{end}}"{{end}}>{{.Text}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
</div>
{{with .Note}}<p class="note">{{.}}</p>
{{end}}{{end}}`

// Markdown is the report's tables for a repository. plots is the folder of the
// plots as seen from there, "" to leave them out.
func Markdown(r Results, plots string) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.page().markdown(plots), nil
}

func (p page) markdown(plots string) []byte {
	var w bytes.Buffer
	fmt.Fprintf(&w, "# %s\n\n", md(p.Title))
	for _, n := range p.Notes {
		fmt.Fprintf(&w, "%s\n\n", md(n))
	}
	if p.Command != "" {
		fmt.Fprintf(&w, "Made by:\n\n    %s\n\n", strings.Join(strings.Fields(p.Command), " "))
	}
	for _, s := range p.Sections {
		fmt.Fprintf(&w, "## %s\n\n", md(s.Title))
		for _, n := range s.Notes {
			fmt.Fprintf(&w, "%s\n\n", md(n))
		}
		if plots != "" {
			for _, c := range s.charts {
				fmt.Fprintf(&w, "![%s](%s/%s.svg)\n\n", md(c.Drawing.Title), strings.TrimSuffix(plots, "/"), c.Name)
			}
		}
		for _, t := range append(s.Tables[:len(s.Tables):len(s.Tables)], s.Folded...) {
			if t.Title != "" {
				fmt.Fprintf(&w, "### %s\n\n", md(t.Title))
			}
			writeTable(&w, t)
			if t.Note != "" {
				fmt.Fprintf(&w, "%s\n\n", md(t.Note))
			}
		}
	}
	return append(bytes.TrimRight(w.Bytes(), "\n"), '\n')
}

func writeTable(w *bytes.Buffer, t table) {
	numeric := make([]bool, len(t.Head))
	for _, row := range t.Rows {
		for i, c := range row {
			if i < len(numeric) && c.Number {
				numeric[i] = true
			}
		}
	}
	for _, h := range t.Head {
		fmt.Fprintf(w, "| %s ", md(h))
	}
	w.WriteString("|\n")
	for _, n := range numeric {
		if n {
			w.WriteString("|--:")
		} else {
			w.WriteString("|---")
		}
	}
	w.WriteString("|\n")
	for _, row := range t.Rows {
		for _, c := range row {
			if c.Strong {
				fmt.Fprintf(w, "| **%s** ", md(c.Text))
			} else {
				fmt.Fprintf(w, "| %s ", md(c.Text))
			}
		}
		w.WriteString("|\n")
	}
	w.WriteString("\n")
}

// md makes text safe within a line or a table cell of Markdown.
func md(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`).Replace(s)
}

// ValuesCSV holds every measure of every run:
//
//	web,synthetic,topic,seeds,scorer,judge,repeat,pages,measure,value
//	campus,false,databases,,breadth-first,topic,0,300,hits,4
//
// A value that does not apply is empty. Text that a spreadsheet would take for
// a formula begins with an apostrophe.
func ValuesCSV(r Results) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.values()
}

func (b *builder) values() ([]byte, error) {
	rows := [][]string{{"web", "synthetic", "topic", "seeds", "scorer", "judge", "repeat", "pages", "measure", "value"}}
	for _, c := range b.Cells {
		for _, v := range c.Values {
			rows = append(rows, append(b.key(c.Web, c.Topic, c.Seeds, c.Scorer, c.Judge, c.Repeat), strconv.Itoa(v.Budget), v.Measure, decimal(float64(v.Value))))
		}
	}
	return table2csv(rows)
}

// CurvesCSV holds the curve of every run:
//
//	web,synthetic,topic,seeds,scorer,judge,repeat,pages,hits,similar
func CurvesCSV(r Results) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.curveRows()
}

func (b *builder) curveRows() ([]byte, error) {
	rows := [][]string{{"web", "synthetic", "topic", "seeds", "scorer", "judge", "repeat", "pages", "hits", "similar"}}
	for _, c := range b.Cells {
		for i, n := range c.Points {
			hits, similar := math.NaN(), math.NaN()
			if i < len(c.Hits) {
				hits = c.Hits[i]
			}
			if i < len(c.Similar) {
				similar = c.Similar[i]
			}
			rows = append(rows, append(b.key(c.Web, c.Topic, c.Seeds, c.Scorer, c.Judge, c.Repeat), strconv.Itoa(n), decimal(hits), decimal(similar)))
		}
	}
	return table2csv(rows)
}

func (b *builder) key(web, topic, seeds, scorer, judge string, repeat int) []string {
	return []string{plain(web), strconv.FormatBool(b.synthetic[web]), plain(topic), plain(seeds), plain(scorer), plain(judge), strconv.Itoa(repeat)}
}

// plain keeps a spreadsheet from taking text for a formula.
func plain(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func decimal(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 9, 64)
}

func table2csv(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// Write writes everything into a folder, which is made if need be:
//
//	report.html          the report
//	report.md            its tables
//	values.csv           every measure of every run
//	curves.csv           every curve
//	plots/NAME.svg .png  every chart
func Write(dir string, r Results) error {
	b, err := newBuilder(r)
	if err != nil {
		return err
	}
	p := b.page()
	files := map[string]func() ([]byte, error){
		"report.html": p.html,
		"report.md":   func() ([]byte, error) { return p.markdown("plots"), nil },
		"values.csv":  b.values,
		"curves.csv":  b.curveRows,
	}
	for _, c := range p.plots() {
		files[filepath.Join("plots", c.Name+".svg")] = func() ([]byte, error) {
			var b bytes.Buffer
			err := c.Drawing.SVG(&b)
			return b.Bytes(), err
		}
		files[filepath.Join("plots", c.Name+".png")] = func() ([]byte, error) {
			var b bytes.Buffer
			err := c.Drawing.PNG(&b, 2, false)
			return b.Bytes(), err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "plots"), 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var errs []error
	for name, make := range files {
		data, err := make()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("report: %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
