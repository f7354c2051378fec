package lab

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/score"
)

// List writes, for people, what a lab file can name: scorers with their settings,
// presets with the values of their papers, judges, measures.
func List(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "Scorers: which link goes first")
	for _, d := range score.Descriptions() {
		if d.Print != nil {
			continue
		}
		fmt.Fprintf(out, "  %s\t%s\n", d.Name, d.Line)
		for _, s := range d.Settings {
			fmt.Fprintf(out, "    set: %s\t%s (default %v, %v…%v)\n", s.Name, s.Line, s.Default, s.Min, s.Max)
		}
		if kind := score.ModelOf(d); kind != "" {
			fmt.Fprintf(out, "    train:\tits model of kind %s, on hosts that are not crawled; constants: waggle train model --help\n", kind)
		}
	}
	fmt.Fprintln(out, "    similarity:\tof those that use a likeness to the topic: judge (default), "+strings.Join(judge.SimilarityKinds(), ", "))
	fmt.Fprintln(out, "\nPresets: scorers as papers print them, by one name; what is given beside it takes the place of the printed value")
	listPresets(out, score.Descriptions())
	fmt.Fprintln(out, "\nJudges: how relevant a page is")
	for _, l := range Judges() {
		fmt.Fprintf(out, "  %s\t%s\n", l.Name, l.Line)
	}
	fmt.Fprintln(out, "\nMeasures")
	for _, m := range eval.Measures() {
		fmt.Fprintf(out, "  %s\t%s\n", m.Name, m.Line)
	}
	return out.Flush()
}
