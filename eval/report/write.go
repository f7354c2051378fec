package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/event"
)

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
	if p.Verdict != "" {
		fmt.Fprintf(&w, "**%s**\n\n%s\n\n", md(p.Verdict), md(p.Terms))
	}
	for _, n := range slices.Concat(p.Warnings, p.Notes) {
		fmt.Fprintf(&w, "%s\n\n", md(n))
	}
	if p.Command != "" {
		fmt.Fprintf(&w, "Made by:\n\n    %s\n\n", strings.Join(strings.Fields(p.Command), " "))
	}
	if len(p.Rules) > 0 {
		w.WriteString("## How it was run\n\n")
		for _, n := range p.Rules {
			fmt.Fprintf(&w, "- %s\n", md(n))
		}
		w.WriteString("\n")
	}
	for _, s := range p.Sections {
		fmt.Fprintf(&w, "## %s\n\n", md(s.Title))
		for _, n := range s.Notes {
			fmt.Fprintf(&w, "%s\n\n", md(n))
		}
		if plots != "" {
			for _, c := range append(s.charts[:len(s.charts):len(s.charts)], s.more...) {
				fmt.Fprintf(&w, "![%s](%s/%s.svg)\n\n", md(c.Drawing.Title), strings.TrimSuffix(plots, "/"), c.Name)
			}
		}
		if silent := s.Silent(); silent != "" {
			fmt.Fprintf(&w, "%s\n\n", md(silent))
		}
		for _, t := range append(s.Tables[:len(s.Tables):len(s.Tables)], s.Folded...) {
			if t.Title != "" {
				fmt.Fprintf(&w, "### %s\n\n", md(t.Title))
			}
			writeTable(&w, t)
			if t.Note != "" {
				fmt.Fprintf(&w, "%s\n\n", md(t.Note))
			}
			for _, x := range t.Terms {
				fmt.Fprintf(&w, "- %s: %s\n", md(x.Name), md(x.Line))
			}
			if len(t.Terms) > 0 {
				w.WriteString("\n")
			}
		}
	}
	return append(bytes.TrimRight(w.Bytes(), "\n"), '\n')
}

// numeric tells which columns hold numbers.
func (t table) numeric() []bool {
	out := make([]bool, len(t.Head))
	for _, row := range t.Rows {
		for i, c := range row {
			if i < len(out) && c.Number {
				out[i] = true
			}
		}
	}
	return out
}

func writeTable(w *bytes.Buffer, t table) {
	numeric := t.numeric()
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
			text := md(c.Text)
			if c.Strong {
				text = "**" + text + "**"
			}
			if c.Sub != "" {
				text += " (" + md(c.Sub) + ")"
			}
			fmt.Fprintf(w, "| %s ", text)
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
//	web,synthetic,topic,seeds,scorer,judge,repeat,split,pages,measure,value,upper,lower
//	campus,false,databases,,breadth-first,topic,0,test,300,hits,4,,
//
// split is dev for topics of development. upper is the value if everything
// outside the record were relevant, where that was asked for. Where the truth was
// read, upper and lower are the values if all pages that nobody read were relevant,
// and if none were. A value that does not apply is empty. Text that a spreadsheet would take for a formula
// begins with an apostrophe.
func ValuesCSV(r Results) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.values()
}

func (b *builder) values() ([]byte, error) {
	rows := [][]string{append(keyHead(), "pages", "measure", "value", "upper", "lower")}
	for _, c := range b.Cells {
		key := b.key(c)
		upper, lower := byMeasure(c.Upper), byMeasure(c.Lower)
		for _, v := range c.Values {
			row := append(slices.Clip(key), strconv.Itoa(v.Budget), v.Measure, decimal(float64(v.Value)))
			for _, bound := range []map[eval.Value]eval.Number{upper, lower} {
				text := ""
				if u, ok := bound[eval.Value{Budget: v.Budget, Measure: v.Measure}]; ok {
					text = decimal(float64(u))
				}
				row = append(row, text)
			}
			rows = append(rows, row)
		}
	}
	return table2csv(rows)
}

// byMeasure are values by budget and measure.
func byMeasure(list []eval.Value) map[eval.Value]eval.Number {
	out := make(map[eval.Value]eval.Number, len(list))
	for _, v := range list {
		out[eval.Value{Budget: v.Budget, Measure: v.Measure}] = v.Value
	}
	return out
}

// CurvesCSV holds the curve of every run: hits, pages similar to an example, and the
// expected loss by the crawl's judge:
//
//	web,synthetic,topic,seeds,scorer,judge,repeat,split,pages,hits,upper,similar,loss,loss_sum,lower
//
// upper and lower are those of ValuesCSV.
func CurvesCSV(r Results) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.curveRows()
}

func (b *builder) curveRows() ([]byte, error) {
	rows := [][]string{append(keyHead(), "pages", "hits", "upper", "similar", "loss", "loss_sum", "lower")}
	for _, c := range b.Cells {
		key := b.key(c)
		for i, n := range c.Points {
			row := append(slices.Clip(key), strconv.Itoa(n))
			for _, values := range [][]float64{c.Hits, c.UpperHits, c.Similar, c.Loss, c.LossSum, c.LowerHits} {
				v := math.NaN()
				if i < len(values) {
					v = values[i]
				}
				row = append(row, decimal(v))
			}
			rows = append(rows, row)
		}
	}
	return table2csv(rows)
}

// SurfaceCSV holds the surface of precision by similarity and the curves of similar
// pages, means over the test topics of a web and over repeats:
//
//	web,synthetic,scorer,judge,topics,pages,precision_0.5,…,precision_0.8,similar_0.75
//
// A precision times pages is the count of similar pages at that threshold.
func SurfaceCSV(r Results) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.surfaceRows()
}

func (b *builder) surfaceRows() ([]byte, error) {
	head := []string{"web", "synthetic", "scorer", "judge", "topics", "pages"}
	for _, γ := range eval.Thresholds() {
		head = append(head, fmt.Sprintf("precision_%v", γ))
	}
	rows := [][]string{append(head, fmt.Sprintf("similar_%v", eval.SimilarThreshold))}
	for _, w := range b.Webs {
		cells := b.cells(func(c eval.Cell) bool { return c.Web == w.Name })
		points := pointsOf(cells, eval.MeshPoints)[1:]
		for _, s := range append(strategies(cells, false), strategies(cells, true)...) {
			similar := overTopics(cells, s, swept(-1), points)
			var precision [][][]float64 // [γ][point][topic]
			for k := range eval.Thresholds() {
				precision = append(precision, overTopics(cells, s, swept(k), points))
			}
			for i, n := range points[:len(similar)] {
				row := []string{event.NoFormula(w.Name), strconv.FormatBool(w.Synthetic), event.NoFormula(s.scorer), event.NoFormula(s.judge), strconv.Itoa(len(similar[i])), strconv.Itoa(n)}
				for _, p := range precision {
					v := math.NaN()
					if i < len(p) {
						v = mean(p[i]) / float64(n)
					}
					row = append(row, decimal(v))
				}
				rows = append(rows, append(row, decimal(mean(similar[i]))))
			}
		}
	}
	return table2csv(rows)
}

// TestsCSV holds every comparison with the baseline, on test topics: of the
// recorded webs together (web is *) and of each:
//
//	web,synthetic,scorer,judge,baseline,pages,measure,topics,difference,low,high,sd,
//	won,tied,lost,wilcoxon,holm,permutation,worst,worst_by,detectable,needed
func TestsCSV(r Results) ([]byte, error) {
	b, err := newBuilder(r)
	if err != nil {
		return nil, err
	}
	return b.testRows()
}

func (b *builder) testRows() ([]byte, error) {
	rows := [][]string{{"web", "synthetic", "scorer", "judge", "baseline", "pages", "measure", "topics", "difference", "low", "high", "sd",
		"won", "tied", "lost", "wilcoxon", "holm", "permutation", "worst", "worst_by", "detectable", "needed"}}
	add := func(web string, synthetic bool, cells []eval.Cell) {
		for _, n := range b.Budgets {
			for _, measure := range compared() {
				for _, c := range b.compare(web, cells, measure, n) {
					rows = append(rows, []string{event.NoFormula(web), strconv.FormatBool(synthetic), event.NoFormula(c.scorer), event.NoFormula(c.judge), event.NoFormula(b.Baseline), strconv.Itoa(n), measure,
						strconv.Itoa(c.Topics), decimal(c.Difference.Mean), decimal(c.Difference.Low), decimal(c.Difference.High), decimal(c.SD),
						strconv.Itoa(c.Wins), strconv.Itoa(c.Ties), strconv.Itoa(c.Loses), decimal(c.Wilcoxon.P), decimal(c.holm), decimal(c.Permutation.P),
						event.NoFormula(c.Worst.String()), decimal(c.WorstBy), decimal(c.Detectable), strconv.Itoa(c.Needed)})
				}
			}
		}
	}
	add(allWebs, false, b.cells(func(c eval.Cell) bool { return !b.synthetic[c.Web] }))
	for _, w := range b.Webs {
		add(w.Name, w.Synthetic, b.cells(func(c eval.Cell) bool { return c.Web == w.Name }))
	}
	return table2csv(rows)
}

// modelRows are what training told of the model of each run:
//
//	web,synthetic,topic,seeds,scorer,judge,repeat,split,name,value
//
// name is targets, pages, sites or sequences, counts of what taught the model, or
// what training chose, such as clusters-found.
func (b *builder) modelRows() ([]byte, error) {
	rows := [][]string{append(keyHead(), "name", "value")}
	for _, c := range b.Cells {
		for _, name := range slices.Sorted(maps.Keys(c.Model)) {
			rows = append(rows, append(slices.Clip(b.key(c)), event.NoFormula(name), decimal(c.Model[name])))
		}
	}
	return table2csv(rows)
}

func keyHead() []string {
	return []string{"web", "synthetic", "topic", "seeds", "scorer", "judge", "repeat", "split"}
}

func (b *builder) key(c eval.Cell) []string {
	split := "test"
	if b.dev[id(c)] {
		split = "dev"
	}
	return []string{event.NoFormula(c.Web), strconv.FormatBool(b.synthetic[c.Web]), event.NoFormula(c.Topic), event.NoFormula(c.Seeds), event.NoFormula(c.Scorer), event.NoFormula(c.Judge), strconv.Itoa(c.Repeat), split}
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
//	surface.csv          precision by similarity over pages and thresholds, and similar pages
//	tests.csv            every comparison with the baseline
//	models.csv           what training told of the model of each run
//	plots/NAME.svg .png  every chart; those of an earlier report are removed
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
		"surface.csv": b.surfaceRows,
		"tests.csv":   b.testRows,
		"models.csv":  b.modelRows,
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
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data, err := files[name]()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil { // the others would fail alike
			return fmt.Errorf("report: %w", err)
		}
	}
	// What else lies there as a chart does, in both formats, is an earlier one.
	old, err := os.ReadDir(filepath.Join(dir, "plots"))
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, f := range old {
		name, isSVG := strings.CutSuffix(filepath.Join("plots", f.Name()), ".svg")
		if _, err := os.Stat(filepath.Join(dir, name+".png")); !isSVG || err != nil || files[name+".svg"] != nil {
			continue
		}
		if err := errors.Join(os.Remove(filepath.Join(dir, name+".svg")), os.Remove(filepath.Join(dir, name+".png"))); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}
