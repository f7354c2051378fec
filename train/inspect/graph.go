package inspect

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/train"
)

// Graph shows the layers and states of a graph, and its hosts.
func Graph(out io.Writer, g *train.Graph) {
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
	fmt.Fprintf(out, "\n%s:", terminal.Count(len(names), "host"))
	for _, h := range names[:min(5, len(names))] {
		fmt.Fprintf(out, " %s (%s)", terminal.Untrusted(h, 40), terminal.Number(hosts[h]))
	}
	if len(names) > 5 {
		fmt.Fprint(out, " …")
	}
	fmt.Fprintln(out)
}

// Sequences counts sequences, their lengths and labels.
func Sequences(out io.Writer, dir string, g *train.Graph, list []train.Sequence) {
	k := max(2, g.Layers)
	lengths, labels, pages := map[int]int{}, make([]int, k), 0
	for _, s := range list {
		lengths[len(s.Nodes)]++
		for _, l := range g.Labels(s, k) {
			labels[l]++
			pages++
		}
	}
	fmt.Fprintf(out, "%s: %s, %.1f pages each\n\n", dir, terminal.Count(len(list), "sequence"), float64(pages)/float64(max(1, len(list))))
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

// Doubt says why a model of a graph may be worth little.
func Doubt(out io.Writer, g *train.Graph) {
	if why := g.Doubt(); why != "" {
		fmt.Fprintf(out, "\nNote: %s.\n", why)
	}
}

// Fitted tells what a model has learnt of a graph, and what to do with its file next:
// crawl by a scorer.
func Fitted(out io.Writer, file, scorer string, f *model.File, g *train.Graph, took time.Duration) {
	of, used := "", len(f.Provenance.States)
	if used > 0 {
		of = fmt.Sprintf(" of %d states", used)
	}
	fmt.Fprintf(out, "%s: %s%s from %s", file, f.Kind, of, terminal.Count(f.Provenance.Pages, "page"))
	if n := f.Provenance.Sequences; n > 0 {
		fmt.Fprintf(out, " and %s", terminal.Count(n, "sequence"))
	}
	fmt.Fprintf(out, ", in %s\n", terminal.Span(took))
	for used > 2 && f.Provenance.States[used-1] == 0 {
		used--
	}
	if used < len(f.Provenance.States) {
		fmt.Fprintf(out, "No training page is %d links away or more: --states %[1]d makes a model without empty states.\n", used)
	}
	if f.Space != nil {
		fmt.Fprintf(out, "It sees %s.\n", event.Line(f.Space.String()))
	}
	if n := len(f.Provenance.Curve); n > 0 {
		fmt.Fprintf(out, "Training: %d iterations, %s; the objective went from %.6g to %.6g.\n", n-1, event.Line(f.Provenance.Status), f.Provenance.Curve[0], f.Provenance.Curve[n-1])
	}
	Doubt(out, g)
	fmt.Fprintf(out, "\nNext: waggle train inspect %s\n      waggle crawl … --scorer %s --model %[1]s\n", file, scorer)
}
