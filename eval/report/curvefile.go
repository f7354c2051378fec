package report

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/internal/spelling"
)

// CurveChart says what is drawn of a file of curves.
type CurveChart struct {
	Title, Note string
	Strategies  []string // in the order of their colours; none = all of the file
	Columns     []string // what is drawn: a row of panels each
	Webs        []string // none = all of the file
	Percent     bool     // values are shares
}

// mostCurvePages and mostCurveValue bound what is drawn: beyond them axes cannot be read.
const (
	mostCurvePages = 1e9
	mostCurveValue = 1e12
)

// curvePoint is a place in a chart of curves.
type curvePoint struct {
	web, strategy, column string
	pages                 float64
}

// curveFile is what is read of a file of curves.
type curveFile struct {
	webs, strategies []string // as the file has them
	values           map[curvePoint]map[curveRun][]float64
	pages            map[curvePoint][]float64         // of a curve, whose pages is 0
	runs             map[curvePoint]map[curveRun]bool // of a web and column, by any strategy
	whole            map[string]bool                  // webs with a topic that is no part: none of theirs is
}

// curveRun is a run of a strategy; its topic is "" in a file of means.
type curveRun struct{ topic, repeat string }

// ChartCurves draws the curves of a CSV file whose first line names its columns, among them
// web, pages, and strategy or scorer, as curves.csv and surface.csv of a lab have them. With a
// column topic, as in curves.csv, lines are means over topics, the parts and repeats of each averaged first.
// As in the report of a lab, topics of development are left out, and so is a strategy, on a web, without all
// the runs that others have there: its mean would be one of other topics.
func ChartCurves(r io.Reader, c CurveChart) (*plot.Drawing, error) {
	f, err := readCurves(r, c.Columns)
	if err != nil {
		return nil, err
	}
	strategies, err := chosen("strategy", c.Strategies, f.strategies)
	if err != nil {
		return nil, err
	}
	webs, err := chosen("web", c.Webs, f.webs)
	if err != nil {
		return nil, err
	}
	webs = f.withValues(webs, strategies, c)
	var left []string
	m := plot.Multiples{Title: c.Title, Columns: len(webs), PanelHeight: 220}
	up := "what its title says"
	if len(c.Columns) == 1 {
		up = columnWords(c.Columns[0])
	}
	for _, column := range c.Columns {
		for _, w := range webs {
			panel := plot.Lines{Title: w, XLabel: "pages fetched", YLabel: up, Percent: c.Percent}
			if len(c.Columns) > 1 {
				panel.Title += ", " + columnWords(column)
			}
			for i, s := range strategies {
				line := plot.Series{Name: s, Color: i}
				at := curvePoint{web: w, strategy: s, column: column}
				all := f.runs[curvePoint{web: w, column: column}]
				for _, n := range f.pages[at] {
					if at.pages = n; len(f.values[at]) == len(all) {
						line.X, line.Y = append(line.X, n), append(line.Y, f.mean(at))
					}
				}
				at.pages = 0
				if without := s + " on " + w; len(line.X) > 0 {
					panel.Series = append(panel.Series, line)
				} else if len(f.pages[at]) > 0 && !slices.Contains(left, without) {
					left = append(left, without)
				}
			}
			m.Panels = append(m.Panels, panel)
		}
	}
	if m.Note = c.Note; len(left) > 0 {
		m.Note = strings.TrimSpace(m.Note + " Left out, for want of runs that others have: " + strings.Join(left, ", ") + ".")
	}
	if len(m.Panels) == 1 {
		m.PanelHeight = 340
	}
	return m.Draw(), nil
}

// withValues are those of some webs that have a value to draw, unless they were asked for.
func (f *curveFile) withValues(webs, strategies []string, c CurveChart) (some []string) {
	if len(c.Webs) > 0 {
		return webs
	}
	for _, w := range webs {
		if slices.ContainsFunc(c.Columns, func(column string) bool {
			return slices.ContainsFunc(strategies, func(s string) bool { return len(f.pages[curvePoint{web: w, strategy: s, column: column}]) > 0 })
		}) {
			some = append(some, w)
		}
	}
	return some
}

// columnWords is what the axis of a column is called: words for those that a lab writes, else its name.
func columnWords(column string) string {
	switch column {
	case "hits":
		return "relevant pages found"
	case "upper":
		return "relevant pages found, if all unread are"
	case "lower":
		return "relevant pages found, if no unread are"
	case "similar":
		return "pages with such a cosine"
	case "sigma":
		return "mean cosine to the nearest example"
	case "loss":
		return "expected loss, mean of the pages"
	case "loss_sum":
		return "expected loss, sum of the pages"
	}
	for prefix, words := range map[string]string{"precision_": "precision", "similar_": "pages"} {
		if cosine, ok := strings.CutPrefix(column, prefix); ok {
			return words + ", cosine ≥ " + strings.TrimPrefix(cosine, "0")
		}
	}
	return column
}

// mean is that over the topics of a point, NaN of none.
func (f *curveFile) mean(at curvePoint) float64 {
	topics := map[string][]float64{}
	runs := slices.SortedFunc(maps.Keys(f.values[at]), func(a, b curveRun) int { // one order of the sums
		return cmp.Or(strings.Compare(a.topic, b.topic), strings.Compare(a.repeat, b.repeat))
	})
	for _, run := range runs {
		topic := run.topic
		if part := strings.LastIndexByte(topic, '@'); part >= 0 && !f.whole[at.web] {
			topic = topic[:part]
		}
		topics[topic] = append(topics[topic], f.values[at][run]...)
	}
	var means []float64
	for _, t := range slices.Sorted(maps.Keys(topics)) {
		means = append(means, mean(topics[t]))
	}
	return mean(means)
}

func readCurves(r io.Reader, columns []string) (*curveFile, error) {
	lines := csv.NewReader(r)
	head, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: give curves.csv of a lab, or one like it")
	}
	if err != nil {
		return nil, err
	}
	place := func(names ...string) (int, error) {
		for _, n := range names {
			if i := slices.Index(head, n); i >= 0 {
				return i, nil
			}
		}
		if slices.Contains(names, "") {
			return 0, errors.New("the name of a column to draw is empty: leave it out")
		}
		return 0, fmt.Errorf("there is no column %s: the file has %s", strings.Join(names, " or "), strings.Join(head, ", "))
	}
	web, err := place("web")
	if err != nil {
		return nil, err
	}
	strategy, err := place("strategy", "scorer")
	if err != nil {
		return nil, err
	}
	pages, err := place("pages")
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("name the columns to draw, of %s", strings.Join(head, ", "))
	}
	var drawn []int
	for n, c := range columns {
		i, err := place(c)
		if err != nil {
			return nil, err
		}
		if slices.Contains(columns[:n], c) {
			return nil, fmt.Errorf("the column %s is named twice: leave one out", c)
		}
		if slices.Contains(head[i+1:], c) {
			return nil, fmt.Errorf("line 1: two columns are called %s: give one of them another name", c)
		}
		drawn = append(drawn, i)
	}
	topic, repeat, split := slices.Index(head, "topic"), slices.Index(head, "repeat"), slices.Index(head, "split")
	f := &curveFile{
		values: map[curvePoint]map[curveRun][]float64{}, pages: map[curvePoint][]float64{},
		runs: map[curvePoint]map[curveRun]bool{}, whole: map[string]bool{},
	}
	one := map[string]string{} // of columns that a chart has no place for
	for {
		cells, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if split >= 0 && cells[split] == "dev" {
			continue
		}
		line, _ := lines.FieldPos(0)
		for i, name := range head {
			if name != "judge" && name != "seeds" {
				continue
			}
			if was, ok := one[name]; ok && was != cells[i] {
				return nil, fmt.Errorf("line %d: %s is %q, and %q before: leave all but one of them out of the file", line, name, cells[i], was)
			}
			one[name] = cells[i]
		}
		n, err := strconv.ParseFloat(cells[pages], 64)
		if err != nil || !(n >= 0 && n <= mostCurvePages) {
			return nil, fmt.Errorf("line %d: %q is no number of pages", line, cells[pages])
		}
		if !slices.Contains(f.webs, cells[web]) {
			f.webs = append(f.webs, cells[web])
		}
		if !slices.Contains(f.strategies, cells[strategy]) {
			f.strategies = append(f.strategies, cells[strategy])
		}
		var of curveRun
		if topic >= 0 {
			of.topic = cells[topic]
			f.whole[cells[web]] = f.whole[cells[web]] || !strings.Contains(of.topic, "@")
			if repeat >= 0 {
				of.repeat = cells[repeat]
			}
		}
		for k, i := range drawn {
			if cells[i] == "" {
				continue
			}
			v, err := strconv.ParseFloat(cells[i], 64)
			if err != nil || !(math.Abs(v) <= mostCurveValue) {
				return nil, fmt.Errorf("line %d: %q of the column %s is no number", line, cells[i], columns[k])
			}
			curve := curvePoint{web: cells[web], strategy: cells[strategy], column: columns[k]}
			at := curve
			at.pages = n
			if f.values[at] == nil {
				f.values[at] = map[curveRun][]float64{}
				f.pages[curve] = append(f.pages[curve], n)
			}
			f.values[at][of] = append(f.values[at][of], v)
			all := curvePoint{web: cells[web], column: columns[k]}
			if f.runs[all] == nil {
				f.runs[all] = map[curveRun]bool{}
			}
			f.runs[all][of] = true
		}
	}
	for _, p := range f.pages {
		slices.Sort(p)
	}
	if len(f.pages) == 0 {
		return nil, fmt.Errorf("the file has no value of %s: give curves.csv of a lab, or one like it", strings.Join(columns, ", "))
	}
	for _, c := range columns {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(f.pages)), func(at curvePoint) bool { return at.column == c }) {
			return nil, fmt.Errorf("the column %s has no value: leave it out", c)
		}
	}
	return f, nil
}

// chosen are the names that were asked for, all that there are if none was.
func chosen(what string, asked, all []string) ([]string, error) {
	if len(asked) == 0 {
		return all, nil
	}
	var out []string
	for _, a := range asked {
		a = strings.TrimSpace(a) // of a list with a blank after each comma
		if !slices.Contains(all, a) {
			return nil, fmt.Errorf("the file has no %s %q%s: it has %s", what, a, spelling.Hint(a, all), strings.Join(all, ", "))
		}
		if slices.Contains(out, a) {
			return nil, fmt.Errorf("the %s %q is named twice: leave one out", what, a)
		}
		out = append(out, a)
	}
	return out, nil
}
