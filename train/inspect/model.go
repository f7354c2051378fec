// Package inspect shows in words what was learnt before a crawl: collected graphs,
// sequences, models of each kind, and what a study of links tells. Texts are fit for
// a terminal, whoever wrote the file of a model.
package inspect

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
)

// Model shows a model that was read from the file of that name, with at most top
// weights or words for each state.
func Model(out io.Writer, name string, f *model.File, top int) {
	p := f.Provenance
	sought := ""
	if topic := event.Line(p.Topic); topic != "" {
		sought = ", for " + topic
	}
	fmt.Fprintf(out, "%s: %s%s\n\n", name, f.Kind, sought)
	fmt.Fprintf(out, "trained by      waggle %s, on %s (%s)", terminal.Untrusted(p.Waggle, 40), terminal.Count(p.Pages, "page"), terminal.Count(p.Targets, "target"))
	if p.Sequences > 0 {
		fmt.Fprintf(out, " and %s", terminal.Count(p.Sequences, "sequence"))
	}
	fmt.Fprintln(out)
	if p.TrainingSet != "" {
		fmt.Fprintf(out, "training set    %s\n", terminal.Untrusted(p.TrainingSet, 16))
	}
	if f.Space != nil {
		fmt.Fprintf(out, "sees            %s\n", terminal.Untrusted(f.Space.String(), 200))
	}
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		settings = append(settings, fmt.Sprintf("%s=%v", terminal.Untrusted(name, 30), p.Settings[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Texts)) {
		settings = append(settings, terminal.Untrusted(name, 30)+"="+terminal.Untrusted(p.Texts[name], 60))
	}
	fmt.Fprintf(out, "settings        %s\n", strings.Join(settings, " "))
	var sites []string
	for _, s := range p.Sites[:min(5, len(p.Sites))] {
		sites = append(sites, terminal.Untrusted(string(s), 40))
	}
	if len(p.Sites) > 5 {
		sites = append(sites, fmt.Sprintf("and %s more", terminal.Number(len(p.Sites)-5)))
	}
	fmt.Fprintf(out, "never test on   %s\n", strings.Join(sites, ", "))

	if m, ok := f.Payload.(*model.Surroundings); ok {
		surroundings(out, m)
		return
	}
	if m, ok := f.Payload.(*model.Weights); ok {
		fmt.Fprintf(out, "\nLearnt in %s fetches: %d weights that mean the same on every web, and %s of words, hosts, folders and blocks.\n",
			terminal.Number(m.Fetches), len(m.Dense), terminal.Number(len(m.Hashed)))
		fmt.Fprintln(out, "They are kept as numbers: waggle explain names those of a link.")
		return
	}
	total := 0
	for _, n := range p.States {
		total += n
	}
	switch f.Payload.(type) {
	case *model.Paths:
		p.States = nil // they are labels, and shown below
	case *model.Classes:
		p.States = nil // it has layers, or bins of links, which are shown below
	default:
		fmt.Fprintf(out, "\nStates: links from a page to the nearest target\n")
	}
	for i, n := range p.States {
		what := fmt.Sprintf("%d links away", i)
		switch {
		case i == 0:
			what = "a target"
		case i == len(p.States)-1:
			what = fmt.Sprintf("%d links away or more", i)
		case i == 1:
			what = "1 link away"
		}
		fmt.Fprintf(out, "  T%-2d %-24s %9s labels %6s\n", i, what, terminal.Number(n), terminal.Percent(float64(n)/float64(max(1, total))))
	}
	if len(p.Curve) > 1 {
		fmt.Fprintf(out, "\nTraining: the objective after each of %d iterations; %s\n", len(p.Curve)-1, terminal.Untrusted(p.Status, 100))
		writeCurve(out, p.Curve)
	}
	switch m := f.Payload.(type) {
	case *model.Chain:
		chain(out, f, m, top)
	case *model.Markov:
		markov(out, m, top)
	case *model.Classes:
		classes(out, m, top)
	case *model.Paths:
		paths(out, f, m, top)
	}
}

// chain shows the weights of a CRF or MEMM.
func chain(out io.Writer, f *model.File, m *model.Chain, top int) {
	w := m.Weights
	s := w.States
	fmt.Fprintln(out, "\nWhere paths begin")
	writeMatrix(out, [][]float64{m.Start}, []string{""})

	moves := make([][]float64, s)
	for i := range s {
		moves[i] = m.Moves[i*s : (i+1)*s]
	}
	fmt.Fprintln(out, "\nWhere links lead, from state (row) to state, as counted in training; by this a\ncrawl rates links, unless told otherwise")
	writeMatrix(out, moves, stateNames(s))

	// What the model expects of a link when it sees nothing of its end:
	//
	//	p(j|i) ∝ exp(W(L1^(i,j)·bias) + W(L2^(j)·bias))
	rows := make([][]float64, s)
	for i := range s {
		rows[i] = make([]float64, s)
		sum := 0.0
		for j := range s {
			rows[i][j] = math.Exp(w.Arc(0, i, j) + w.State(0, j))
			sum += rows[i][j]
		}
		for j := range s {
			rows[i][j] /= sum
		}
	}
	fmt.Fprintln(out, "\nThe same by the weights of the bias alone; – cannot be")
	writeMatrix(out, rows, stateNames(s))

	fmt.Fprintln(out, "\nThe weights of pages, W(L2^(j)·o): those of links between two states, W(L1), are\nnot listed but for the bias above")
	for j := range s {
		type weight struct {
			id    uint32
			value float64
		}
		var list []weight
		for o := uint32(1); int(o) < w.Observations; o++ {
			if v := w.State(o, j); v != 0 {
				list = append(list, weight{o, v})
			}
		}
		slices.SortFunc(list, func(a, b weight) int {
			return cmp.Or(cmp.Compare(math.Abs(b.value), math.Abs(a.value)), cmp.Compare(a.id, b.id))
		})
		fmt.Fprintf(out, "\nWhat speaks for T%d (+) or against it (−)\n", j)
		for _, x := range list[:min(top, len(list))] {
			sign := "+"
			if x.value < 0 {
				sign = "−"
			}
			fmt.Fprintf(out, "  %s%-8.3f %s\n", sign, math.Abs(x.value), terminal.Untrusted(f.Space.Name(x.id), 90))
		}
	}
}

// markov shows a hidden Markov model.
func markov(out io.Writer, m *model.Markov, top int) {
	first := m.First
	if m.Second != nil {
		first = m.Second.First
	}
	s, k := first.States, first.Symbols
	fmt.Fprintln(out, "\nWhere paths begin")
	writeMatrix(out, [][]float64{first.Pi}, []string{""})
	rows := make([][]float64, s)
	for i := range s {
		rows[i] = first.A[i*s : (i+1)*s]
	}
	fmt.Fprintln(out, "\nWhere links lead, from state (row) to state")
	writeMatrix(out, rows, stateNames(s))
	if m.Second != nil {
		fmt.Fprintln(out, "\nThe same by the states of the last two pages")
		var names []string
		rows := make([][]float64, 0, s*s)
		for i := range s {
			for j := range s {
				names = append(names, fmt.Sprintf("T%d T%d", i, j))
				rows = append(rows, m.Second.A[(i*s+j)*s:(i*s+j+1)*s])
			}
		}
		writeMatrix(out, rows, names)
	}
	fmt.Fprintln(out, "\nClusters of pages: their words, and how likely each state shows them")
	fmt.Fprintf(out, "  %4s", "")
	for j := range s {
		fmt.Fprintf(out, " %6s", fmt.Sprint("T", j))
	}
	fmt.Fprintln(out)
	for o := range k {
		label := fmt.Sprint("C", o)
		words := "(pages without a word that the model knows)"
		if o < len(m.Centroids) {
			list := slices.Clone(m.Centroids[o])
			slices.SortStableFunc(list, func(a, b sparse.Entry) int { return cmp.Compare(b.Value, a.Value) })
			var names []string
			for _, e := range list[:min(top, len(list))] {
				names = append(names, m.Words.Word(e.ID))
			}
			words = strings.Join(names, " ")
		}
		fmt.Fprintf(out, "  %4s", label)
		for j := range s {
			fmt.Fprintf(out, " %6.3f", first.B[j*k+o])
		}
		fmt.Fprintf(out, "  %s\n", terminal.Untrusted(words, 100))
	}
}

// classes shows what tells the classes of a naive Bayes model apart.
func classes(out io.Writer, m *model.Classes, top int) {
	n := m.Bayes.Classes()
	for k := range n {
		what := fmt.Sprintf("Layer %d", k)
		if len(m.Values) > 0 {
			what = fmt.Sprintf("Links worth %.3g", m.Values[k])
		}
		fmt.Fprintf(out, "\n%s: learnt from %s; words that are commoner here than elsewhere\n", what, terminal.Number(int64(m.Bayes.Documents(k))))
		type ratio struct {
			word  uint32
			value float64
		}
		var list []ratio
		for id := range uint32(m.Words.Len()) {
			here, rest := m.Bayes.Theta(k, id), 0.0
			for o := range n {
				if o != k {
					rest += m.Bayes.Theta(o, id) / float64(n-1)
				}
			}
			if here > rest && rest > 0 {
				// What the word adds to the evidence, as often as it is there.
				list = append(list, ratio{id, here * math.Log(here/rest)})
			}
		}
		slices.SortFunc(list, func(a, b ratio) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.word, b.word)) })
		var words []string
		for _, x := range list[:min(top, len(list))] {
			words = append(words, m.Words.Word(x.word))
		}
		fmt.Fprintf(out, "  %s\n", terminal.Untrusted(strings.Join(words, " "), 200))
	}
}

func stateNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("T", i))
	}
	return names
}

// writeMatrix writes probabilities; rows are named, columns are T0, T1, ….
func writeMatrix(out io.Writer, rows [][]float64, names []string) {
	wide := 0
	for _, n := range names {
		wide = max(wide, len(n))
	}
	fmt.Fprintf(out, "  %*s", wide, "")
	for j := range rows[0] {
		fmt.Fprintf(out, " %6s", fmt.Sprint("T", j))
	}
	fmt.Fprintln(out)
	for i, row := range rows {
		fmt.Fprintf(out, "  %*s", wide, names[i])
		for _, v := range row {
			if v == 0 || math.IsNaN(v) {
				fmt.Fprintf(out, " %6s", "–")
			} else {
				fmt.Fprintf(out, " %6.3f", v)
			}
		}
		fmt.Fprintln(out)
	}
}

// writeCurve draws a curve with characters, 12 lines high.
func writeCurve(out io.Writer, curve []float64) {
	const high, wide = 12, 64
	low, top := slices.Min(curve), slices.Max(curve)
	if !(top > low) || math.IsInf(top-low, 0) {
		fmt.Fprintf(out, "  it stays at %.6g\n", low)
		return
	}
	columns := min(wide, len(curve))
	heights := make([]int, columns)
	for x := range columns {
		v := curve[x*(len(curve)-1)/max(1, columns-1)]
		heights[x] = int(math.Round((v - low) / (top - low) * (high - 1)))
	}
	for y := high - 1; y >= 0; y-- {
		label := ""
		switch y {
		case high - 1:
			label = fmt.Sprintf("%.5g", top)
		case 0:
			label = fmt.Sprintf("%.5g", low)
		}
		line := make([]byte, columns)
		for x, h := range heights {
			line[x] = ' '
			if h == y {
				line[x] = '*'
			}
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %12s |%s", label, line), " "))
	}
	fmt.Fprintf(out, "  %12s +%s\n", "", strings.Repeat("-", columns))
	fmt.Fprintf(out, "  %12s  0%*d\n", "", max(1, columns-1), len(curve)-1)
}

// stateWords names a state of a page along a path.
func stateWords(s model.PathState) string {
	name := terminal.Untrusted(s.Label, 40)
	if s.Prefix {
		return "on the way to " + name
	}
	return name
}

// paths shows a model of labelled paths: its states, what each is worth, where
// paths lead, and the words that tell pages and links of each.
func paths(out io.Writer, f *model.File, m *model.Paths, top int) {
	n := len(m.States)
	field := m.Field
	link := n // where states of links begin
	if !m.Dual() {
		link = 0
	}
	fmt.Fprintf(out, "\nStates of pages, how often paths had them, and what a link to each is worth,\nas printed and by the way that is left (vstd)\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, s := range m.States {
		count := 0
		if i < len(f.Provenance.States) {
			count = f.Provenance.States[i]
		}
		fmt.Fprintf(t, "  %s\t%s\t%.3f\t%.3f\t\n", stateWords(s), terminal.Number(count), m.Printed[link+i], m.Discounted[link+i])
	}
	t.Flush() // to a buffer
	type weight struct {
		word  string
		value float64
	}
	show := func(kind, state, at int) {
		var list []weight
		for w := range m.Words.Len() {
			word := m.Words.Word(uint32(w))
			if strings.HasPrefix(word, "page:") != (kind == model.PathPage) {
				continue
			}
			if v := field.State[(w+1)*field.States()+at]; v != 0 {
				list = append(list, weight{word, v})
			}
		}
		slices.SortFunc(list, func(a, b weight) int {
			return cmp.Or(cmp.Compare(math.Abs(b.value), math.Abs(a.value)), strings.Compare(a.word, b.word))
		})
		what := "pages"
		if kind == model.PathLink {
			what = "links to"
		}
		fmt.Fprintf(out, "  %s %s:", what, stateWords(m.States[state]))
		for _, x := range list[:min(top, len(list))] {
			_, word, _ := strings.Cut(x.word, ":")
			fmt.Fprintf(out, "  %s %+.2f", terminal.Untrusted(word, 40), x.value)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "\nWords that speak for a state (+) or against it (−)")
	for i := range n {
		show(model.PathPage, i, i)
		if m.Dual() {
			show(model.PathLink, i, n+i)
		}
	}
	claims(out, m.Claims, top)
}

// claims shows which words tell goals, and how far they held on sites that were left out.
func claims(out io.Writer, c *model.Claims, top int) {
	if c == nil {
		return
	}
	words := make([]uint32, c.Words.Len())
	for i := range words {
		words[i] = uint32(i)
	}
	slices.SortFunc(words, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(math.Abs(c.Weights[b+1]), math.Abs(c.Weights[a+1])), cmp.Compare(a, b))
	})
	fmt.Fprintf(out, "\nGoals by all their words: %s of them, ^ in titles and headings; the probability of a goal\nis 1/(1+exp(−(%.3g·x%+.3g))) of the log odds x by them and by the path\n ", terminal.Number(len(words)), c.Slope, c.Offset)
	for _, w := range words[:min(top, len(words))] {
		fmt.Fprintf(out, "  %s %+.2f", terminal.Untrusted(c.Words.Word(w), 40), c.Weights[w+1])
	}
	fmt.Fprintln(out)
}

// surroundings shows what an apprentice learnt.
func surroundings(out io.Writer, m *model.Surroundings) {
	low, high := m.Links[0], m.Links[1]
	fmt.Fprintf(out, "\nLinks that were followed: %s to pages of high relevance, %s to others.\n", terminal.Number(int(high)), terminal.Number(int(low)))
	where := fmt.Sprintf("each at its distance, up to %d leaves away", m.Reach)
	if m.Plain {
		where = fmt.Sprintf("up to %d leaves away, wherever", m.Reach)
	}
	only := 0
	for _, f := range m.Features {
		if f.Low == 0 {
			only++
		}
	}
	fmt.Fprintf(out, "Features around them: %s, words %s; %s of them near links to high alone.\n", terminal.Number(len(m.Features)), where, terminal.Number(only))
	fmt.Fprintln(out, "Features are kept as numbers: waggle explain names those of a link.")
}

// Curve is the training curve of a model as a chart; ok is false where its kind has
// none.
func Curve(f *model.File) (chart plot.Lines, ok bool) {
	curve := f.Provenance.Curve
	if len(curve) < 2 {
		return chart, false
	}
	x := make([]float64, len(curve))
	for i := range x {
		x[i] = float64(i)
	}
	// Objectives are below zero; the axis begins at the worst of them.
	low := slices.Min(curve)
	y := make([]float64, len(curve))
	for i, v := range curve {
		y[i] = v - low
	}
	return plot.Lines{
		Title: strings.TrimSuffix(fmt.Sprintf("Training of %s for %s", f.Kind, event.Line(f.Provenance.Topic)), " for "),
		Note:  fmt.Sprintf("Gain of the objective over %.6g, its value at the beginning", low), XLabel: "iterations", YLabel: "gain",
		Series: []plot.Series{{Name: string(f.Kind), X: x, Y: y}},
	}, true
}

// fewPaths is the number of labelled paths below which users are told that they are few: the models of
// docs/results/paths.md are of 9 or 10, and their gain is small.
const fewPaths = 9

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// FittedPaths tells of a model of labelled paths that was just learnt, in a file of that name.
func FittedPaths(out io.Writer, name string, f *model.File, took time.Duration) {
	m := f.Payload.(*model.Paths)
	fmt.Fprintf(out, "%s: model %s of %d states from %s over %s of %s, %s, in %s\n", name, f.Provenance.Texts["model"], len(m.States),
		terminal.Count(f.Provenance.Sequences, "path"), terminal.Count(f.Provenance.Pages, "page"), terminal.Count(len(f.Provenance.Sites), "host"), terminal.Count(f.Provenance.Targets, "goal"), terminal.Span(took))
	if n := f.Provenance.Sequences; n < fewPaths {
		fmt.Fprintf(out, "Note: %s to %s %s little to learn from: with fewer than %d a model may well do worse than best-first-both, which needs none. Label more paths, on several sites.\n", terminal.Count(n, "path"), terminal.Count(f.Provenance.Targets, "goal"), isOrAre(n), fewPaths)
	}
	fmt.Fprintf(out, "\nNext: waggle train inspect %s\n      waggle forage -f sites.txt --model %[1]s --contact you@example.org -o found\n", name)
}
