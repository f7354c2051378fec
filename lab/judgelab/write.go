package judgelab

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// Write puts tables.md, rows.tsv and the reliability plot into a folder, which it makes
// where it is not there.
func Write(dir string, rows []Row, judge string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	chart := Reliability(rows, judge)
	var all error
	for name, write := range map[string]func(io.Writer) error{
		"tables.md":       func(w io.Writer) error { return WriteTables(w, rows) },
		"rows.tsv":        func(w io.Writer) error { return WriteRows(w, rows) },
		"reliability.svg": chart.SVG,
		"reliability.png": func(w io.Writer) error { return chart.PNG(w, 2, false) },
	} {
		all = errors.Join(all, folder.WriteFrom(filepath.Join(dir, name), write))
	}
	return all
}

// WriteTables writes, in Markdown, what was measured: by the truth of the webs and,
// where pages were read, by what the readers said. Means are over topics; where a
// judge lists nothing in a topic it has no precision there. "pooled" counts the
// pages of all topics together.
func WriteTables(w io.Writer, rows []Row) error {
	var b strings.Builder
	for _, read := range []bool{false, true} {
		of := func(r Row) bool { return r.Read == read }
		if !slices.ContainsFunc(rows, of) {
			continue
		}
		if read {
			fmt.Fprint(&b, "\nBy what readers said, on the pages that were read (relevant: grade 1 or 2). n: pages listed. Pages of a walk stand for all of the walk in their stratum, where the pool is given.\n")
		} else {
			fmt.Fprint(&b, "By the truth files, on the whole web, and on the pages of the walk.\n")
		}
		for _, at := range Moments() {
			fmt.Fprintf(&b, "\n%s:\n\n| told | P@R | precision | pooled | recall | lists nothing | n | ECE, mean | ECE, pooled |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n", moment(at, read))
			for _, c := range conditionsOf(rows, read) {
				var atR, precision, recall, ece []float64
				var all Tally
				none := 0
				for _, r := range rows {
					if r.Condition != c || r.At != at || !of(r) {
						continue
					}
					if r.Listed == 0 {
						none++
					}
					atR, precision = append(atR, r.AtR), append(precision, r.Precision())
					recall, ece = append(recall, r.Recall()), append(ece, r.ECE())
					all.add(&r.Tally)
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d of %d | %d | %s | %s |\n", c, share(mean(atR)), share(mean(precision)), share(all.Precision()),
					share(mean(recall)), none, len(atR), all.ListedPages, three(mean(ece)), three(all.ECE()))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteRows writes every row as tab-separated values.
func WriteRows(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("web\ttopic\ttold\ttruth\tafter\tpages\trelevant\tlisted\tlisted_pages\tcorrect\tprecision\trecall\tp_at_r\tece\n")
	for _, r := range rows {
		truth, after := "files", fmt.Sprint(r.At)
		if r.Read {
			truth = "read"
		}
		if r.At == InWalk {
			after = "walk"
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%g\t%g\t%g\t%d\t%g\t%s\t%s\t%s\t%s\n", r.Web, r.Topic, r.Condition, truth, after, r.Pages, r.Relevant, r.Listed, r.ListedPages, r.Correct,
			three(r.Precision()), three(r.Recall()), three(r.AtR), three(r.ECE()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fewPages is below how many pages the share of a bin says little.
const fewPages = 20

// Reliability draws, for each moment, the share of pages that are relevant against
// the relevance that the judge gave; pages of all topics and conditions together.
func Reliability(rows []Row, judge string) *plot.Drawing {
	l := plot.Lines{
		Title: "What the relevance of the judge " + judge + " is worth", XLabel: "relevance given by the judge, mean of each tenth", YLabel: "share relevant in truth",
		Note:    "Pages of all topics and conditions together, by the truth files. A judge whose figures are probabilities follows the dashed line; under it, it promises too much.",
		Percent: true, YMax: 1, Height: 420,
	}
	for color, at := range Moments() {
		var all Tally
		for _, r := range rows {
			if r.At == at && !r.Read {
				all.add(&r.Tally)
			}
		}
		s := plot.Series{Name: moment(at, false), Color: color, Dots: true}
		for _, b := range all.Bins {
			if b.Weight >= fewPages {
				s.X, s.Y = append(s.X, b.Mean()), append(s.Y, b.Share())
			}
		}
		l.Series = append(l.Series, s)
	}
	l.Series = append(l.Series, plot.Series{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}, Mark: true})
	return l.Draw()
}

func moment(at int, read bool) string {
	switch {
	case at == InWalk && read:
		return "read pages of the walk"
	case at == InWalk:
		return "pages of the walk"
	case at == 0:
		return "before any page"
	}
	return fmt.Sprintf("after %d pages", at)
}

// conditionsOf are the conditions of rows, in their order.
func conditionsOf(rows []Row, read bool) (out []Condition) {
	for _, c := range append(conditions(read), conditions(!read)...) {
		if !slices.Contains(out, c) && slices.ContainsFunc(rows, func(r Row) bool { return r.Read == read && r.Condition == c }) {
			out = append(out, c)
		}
	}
	return out
}

// mean is that of the numbers among xs.
func mean(xs []float64) float64 {
	s, n := 0., 0.
	for _, x := range xs {
		if !math.IsNaN(x) {
			s, n = s+x, n+1
		}
	}
	return s / n
}

func share(x float64) string { return formatted("%.2f", x) }
func three(x float64) string { return formatted("%.3f", x) }

func formatted(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return strings.TrimPrefix(fmt.Sprintf(format, x), "0")
}
