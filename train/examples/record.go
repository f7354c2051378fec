package examples

import (
	"fmt"
	"io"
	"strings"

	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/judge"
)

// fewHeld is how many held-out pages are needed to speak of shares of them.
const fewHeld = 30

// WriteRecord shows how a critic did.
func WriteRecord(w io.Writer, r *judge.Record) {
	pages := 0
	for _, n := range r.Pages {
		pages += n
	}
	fmt.Fprintf(w, "classes      %s, %s pages, %s stems\n", terminal.Number(len(r.Classes)), terminal.Number(pages), terminal.Number(r.Vocabulary))
	if n := len(r.Thin); n > 0 {
		fmt.Fprintf(w, "left out     %s with too few pages: %s%s\n", terminal.Count(n, "topic"), event.Line(strings.Join(r.Thin[:min(n, 5)], ", ")), map[bool]string{true: ", …"}[n > 5])
	}
	if r.HeldOut.Pages == 0 {
		fmt.Fprintln(w, "held out     nothing: the classes have too few pages to tell how good the critic is")
		return
	}
	fmt.Fprintf(w, "held out     %s that it had not learned\n", terminal.Count(r.HeldOut.Pages, "page"))
	right := eval.Wilson(r.HeldOut.Accuracy, r.HeldOut.Pages)
	if r.HeldOut.Pages < fewHeld {
		fmt.Fprintf(w, "             %.0f of them right: too few to tell how good the critic is (95%% interval %.0f to %.0f%%);\n",
			r.HeldOut.Accuracy*float64(r.HeldOut.Pages), 100*right.Low, 100*right.High)
		fmt.Fprintf(w, "             with more pages of each class, %d or more would be held out\n", fewHeld)
	} else {
		printHeld(w, r, right)
	}
	if pairs := r.WorstPairs(10); len(pairs) > 0 {
		fmt.Fprintln(w, "\nmost often taken for one another (held-out pages)")
		for _, p := range pairs {
			fmt.Fprintf(w, "%6d →  %4d ←  %s  |  %s\n", p.AtoB, p.BtoA, event.Line(p.A), event.Line(p.B))
		}
	}
}

// printHeld shows how a critic did on enough held-out pages, of which it had right
// a share within an interval.
func printHeld(w io.Writer, r *judge.Record, right eval.Interval) {
	five := ""
	if len(r.Classes) > 5 { // of five or fewer it is no news
		five = "among the likeliest five " + terminal.Percent(r.HeldOut.Top5) + "; "
	}
	fmt.Fprintf(w, "accuracy     %s (95%% interval %.1f to %.1f%%); %salways the largest class %s\n",
		terminal.Percent(r.HeldOut.Accuracy), 100*right.Low, 100*right.High, five, terminal.Percent(r.MajorityAccuracy()))
	count := "all of a page's words count (as printed)"
	if r.Words > 0 {
		count = fmt.Sprintf("a page counts as at most %s words", terminal.Number(int(r.Words)))
	}
	if r.Guessed {
		count += ", assumed: too few pages to fit it"
	}
	fmt.Fprintf(w, "calibration  error (ECE) %.3f, as printed %.3f; %s\n", r.HeldOut.ECE, r.Printed.ECE, count)
	fmt.Fprintf(w, "             mean surprise %.2f nats, as printed %.2f\n", r.HeldOut.LogLoss, r.Printed.LogLoss)
}

// WriteFocus shows how well a critic tells a focus from the rest.
func WriteFocus(w io.Writer, c *judge.Critic, good []bool) error {
	s := c.FocusResult(good)
	n := 0
	for _, g := range good {
		if g {
			n++
		}
	}
	fmt.Fprintf(w, "in focus     %d of %d classes\n", n, len(good))
	if s.Good > 0 && s.Rest > 0 {
		fmt.Fprintf(w, "held out     %s pages in focus, of which it knew %s (%s)\n", terminal.Number(s.Good), terminal.Number(s.Found), terminal.Percent(s.Recall()))
		fmt.Fprintf(w, "             %s others, of which it took %s for such\n", terminal.Number(s.Rest), terminal.Number(s.False))
	}
	for i, t := range s.Worst[:min(5, len(s.Worst))] {
		if i == 0 {
			fmt.Fprintln(w, "mistakes")
		}
		fmt.Fprintf(w, "%6d ×  %s  taken for  %s\n", t.Pages, event.Line(c.Record.Classes[t.Class]), event.Line(c.Record.Classes[t.For]))
	}
	notes, err := c.Doubts(good)
	for _, n := range notes {
		fmt.Fprintf(w, "note: %s\n", event.Line(n))
	}
	return err
}

// Reliability draws the accuracy of pages over the probability of their
// likeliest class.
func Reliability(r *judge.Record) plot.Lines {
	line := func(title string, h judge.HeldOutResult, color int) plot.Series {
		s := plot.Series{Name: title, Color: color}
		for _, b := range judge.MergeBins(h.Bins, 10) {
			share := eval.Wilson(b.Accuracy, b.Pages)
			s.X, s.Y = append(s.X, b.Mean), append(s.Y, share.Mean)
			s.Low, s.High = append(s.Low, share.Low), append(s.High, share.High)
		}
		return s
	}
	return plot.Lines{
		Title:  "How far the critic's probabilities can be believed",
		Note:   fmt.Sprintf("%s classes; each point is at least 10 held-out pages, with its 95%% interval.\nExpected calibration error %.3f, as printed %.3f.", terminal.Number(len(r.Classes)), r.HeldOut.ECE, r.Printed.ECE),
		XLabel: "probability of the likeliest class", YLabel: "share that was right", YMax: 1,
		Series: []plot.Series{
			line("fitted", r.HeldOut, 0), line("as printed", r.Printed, 1),
			{Name: "perfect", X: []float64{0, 1}, Y: []float64{0, 1}, Mark: true},
		},
	}
}
