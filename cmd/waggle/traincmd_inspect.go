package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/train"
)

// trainInspectCmd is `waggle train inspect`.
type trainInspectCmd struct {
	Path string `arg:"" help:"A model file, or the folder of a collected graph."`
	Top  int    `default:"10" placeholder:"N" help:"Weights or words shown for each state (default ${default})."`
	Plot string `placeholder:"FILE" help:"Draw the training curve as .svg or .png."`
}

// Run shows a model or a graph.
func (c *trainInspectCmd) Run(ctx context.Context, io streams) error {
	if c.Top < 0 || c.Top > 10_000 {
		return exit{exitUsage, fmt.Errorf("--top %d: from 0 to 10,000", c.Top)}
	}
	if info, err := os.Stat(c.Path); err == nil && info.IsDir() {
		return c.graph(ctx, io)
	}
	f, err := model.Read(c.Path, nil)
	if err != nil {
		return exit{exitUsage, err}
	}
	var b bytes.Buffer
	c.model(&b, f)
	if _, err := b.WriteTo(io.out); err != nil {
		return err
	}
	if c.Plot == "" {
		return nil
	}
	if len(f.Provenance.Curve) < 2 {
		return exit{exitUsage, fmt.Errorf("a model of kind %s has no training curve to draw", f.Kind)}
	}
	return drawCurve(c.Plot, f)
}

// graph shows a collected graph.
func (c *trainInspectCmd) graph(ctx context.Context, io streams) error {
	g, err := loadGraph(ctx, c.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "%s: %s pages, %s links between them, for %s\n\n", c.Path, terminal.Number(len(g.Nodes)), terminal.Number(len(g.Edges)), event.Line(g.Topic.Name))
	printGraph(io.out, g)
	if !folder.Exists(train.SequencesPath(c.Path)) {
		return nil
	}
	list, err := train.LoadSequences(train.SequencesPath(c.Path), g)
	if err != nil {
		return exit{exitUsage, err}
	}
	fmt.Fprintln(io.out)
	printSequences(io.out, c.Path, g, list)
	return nil
}

// printGraph shows the layers and states of a graph, and its hosts.
func printGraph(out io.Writer, g *train.Graph) {
	layers, states := g.LayerSizes(), g.StateSizes(max(2, g.Layers))
	similar := 0
	hosts := map[string]int{}
	for _, n := range g.Nodes {
		hosts[string(n.URL.Host())]++
		if n.Target && n.Layer > 0 {
			similar++
		}
	}
	fmt.Fprintf(out, "%5s %8s    %5s %8s\n", "layer", "pages", "state", "pages")
	for i, n := range layers {
		more := " "
		if i == len(layers)-1 {
			more = "+"
		}
		fmt.Fprintf(out, "%5d %8s    %4s%s %8s\n", i, terminal.Number(n), fmt.Sprint("T", i), more, terminal.Number(states[i]))
	}
	fmt.Fprintf(out, "\nA page's layer is where it was found; its state is how many links it is from a\ntarget. Targets are layer 0 and %s more pages that are like them.\n", terminal.Number(similar))
	names := slices.SortedFunc(maps.Keys(hosts), func(a, b string) int { return cmp.Or(hosts[b]-hosts[a], strings.Compare(a, b)) })
	fmt.Fprintf(out, "\n%s hosts:", terminal.Number(len(names)))
	for _, h := range names[:min(5, len(names))] {
		fmt.Fprintf(out, " %s (%s)", terminal.Untrusted(h, 40), terminal.Number(hosts[h]))
	}
	if len(names) > 5 {
		fmt.Fprint(out, " …")
	}
	fmt.Fprintln(out)
}

// printSequences counts sequences, their lengths and labels.
func printSequences(out io.Writer, dir string, g *train.Graph, list []train.Sequence) {
	k := max(2, g.Layers)
	lengths, labels, pages := map[int]int{}, make([]int, k), 0
	for _, s := range list {
		lengths[len(s.Nodes)]++
		for _, l := range g.Labels(s, k) {
			labels[l]++
			pages++
		}
	}
	fmt.Fprintf(out, "%s: %s sequences, %.1f pages each\n\n", dir, terminal.Number(len(list)), float64(pages)/float64(max(1, len(list))))
	fmt.Fprintf(out, "%6s %9s    %5s %9s\n", "length", "sequences", "label", "pages")
	sizes := slices.Sorted(maps.Keys(lengths))
	for i := range max(len(sizes), k) {
		left, right := "", ""
		if i < len(sizes) {
			left = fmt.Sprintf("%6d %9s", sizes[i], terminal.Number(lengths[sizes[i]]))
		}
		if i < k {
			right = fmt.Sprintf("%5s %9s", fmt.Sprint("T", i), terminal.Number(labels[i]))
		}
		fmt.Fprintln(out, strings.TrimRight(terminal.Pad(left, 16)+"    "+right, " "))
	}
}

// model shows a model.
func (c *trainInspectCmd) model(out io.Writer, f *model.File) {
	p := f.Provenance
	sought := ""
	if topic := event.Line(p.Topic); topic != "" {
		sought = ", for " + topic
	}
	fmt.Fprintf(out, "%s: %s%s\n\n", c.Path, f.Kind, sought)
	fmt.Fprintf(out, "trained by      waggle %s, on %s pages (%s targets)", terminal.Untrusted(p.Waggle, 40), terminal.Number(p.Pages), terminal.Number(p.Targets))
	if p.Sequences > 0 {
		fmt.Fprintf(out, " and %s sequences", terminal.Number(p.Sequences))
	}
	fmt.Fprintf(out, "\ntraining set    %s\n", terminal.Untrusted(p.TrainingSet, 16))
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
		apprenticeModel(out, m)
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
		printCurve(out, p.Curve)
	}
	switch m := f.Payload.(type) {
	case *model.Chain:
		c.chain(out, f, m)
	case *model.Markov:
		c.markov(out, m)
	case *model.Classes:
		c.classes(out, m)
	case *model.Paths:
		c.paths(out, f, m)
	}
}

// chain shows the weights of a CRF or MEMM.
func (c *trainInspectCmd) chain(out io.Writer, f *model.File, m *model.Chain) {
	w := m.Weights
	s := w.States
	fmt.Fprintln(out, "\nWhere paths begin")
	printMatrix(out, [][]float64{m.Start}, []string{""})

	moves := make([][]float64, s)
	for i := range s {
		moves[i] = m.Moves[i*s : (i+1)*s]
	}
	fmt.Fprintln(out, "\nWhere links lead, from state (row) to state, as counted in training; by this a\ncrawl rates links, unless told otherwise")
	printMatrix(out, moves, stateNames(s))

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
	printMatrix(out, rows, stateNames(s))

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
		for _, x := range list[:min(c.Top, len(list))] {
			sign := "+"
			if x.value < 0 {
				sign = "−"
			}
			fmt.Fprintf(out, "  %s%-8.3f %s\n", sign, math.Abs(x.value), terminal.Untrusted(f.Space.Name(x.id), 90))
		}
	}
}

// markov shows a hidden Markov model.
func (c *trainInspectCmd) markov(out io.Writer, m *model.Markov) {
	first := m.First
	if m.Second != nil {
		first = m.Second.First
	}
	s, k := first.States, first.Symbols
	fmt.Fprintln(out, "\nWhere paths begin")
	printMatrix(out, [][]float64{first.Pi}, []string{""})
	rows := make([][]float64, s)
	for i := range s {
		rows[i] = first.A[i*s : (i+1)*s]
	}
	fmt.Fprintln(out, "\nWhere links lead, from state (row) to state")
	printMatrix(out, rows, stateNames(s))
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
		printMatrix(out, rows, names)
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
			for _, e := range list[:min(c.Top, len(list))] {
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
func (c *trainInspectCmd) classes(out io.Writer, m *model.Classes) {
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
		for _, x := range list[:min(c.Top, len(list))] {
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

// printMatrix writes probabilities; rows are named, columns are T0, T1, ….
func printMatrix(out io.Writer, rows [][]float64, names []string) {
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

// printCurve draws a curve with characters, 12 lines high.
func printCurve(out io.Writer, curve []float64) {
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

// drawCurve draws a training curve as a file.
func drawCurve(name string, f *model.File) error {
	curve := f.Provenance.Curve
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
	d := plot.Lines{
		Title: strings.TrimSuffix(fmt.Sprintf("Training of %s for %s", f.Kind, event.Line(f.Provenance.Topic)), " for "),
		Note:  fmt.Sprintf("Gain of the objective over %.6g, its value at the beginning", low), XLabel: "iterations", YLabel: "gain",
		Series: []plot.Series{{Name: string(f.Kind), X: x, Y: y}},
	}.Draw()
	var b bytes.Buffer
	var err error
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".svg":
		err = d.SVG(&b)
	case ".png":
		err = d.PNG(&b, 2, false)
	default:
		return exit{exitUsage, fmt.Errorf("--plot %s: a name that ends in .svg or .png", name)}
	}
	if err != nil {
		return err
	}
	return folder.Write(name, b.Bytes())
}
