package inspect

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/train"
)

// Study shows how many links of a study were told right, by how much of what
// surrounds them.
func Study(out io.Writer, s *train.Study) {
	fmt.Fprintf(out, "Links to pages it had not learned from, told right:\n\n%-36s %7s %7s %7s %9s\n", "", "all", "high", "low", "links")
	line := func(name string, a train.Accuracy) {
		fmt.Fprintf(out, "%-36s %7s %7s %7s %9s\n", name, Share(a.All()), Share(a.OfHigh()), Share(a.OfLow()), terminal.Number(a.Low+a.High))
	}
	for _, a := range s.Also {
		line(a.Name, a.Accuracy)
	}
	for _, r := range s.ByReach {
		line(fmt.Sprintf("words up to %d leaves away", r.Reach), r.Offsets)
	}
	for _, r := range s.ByReach {
		line(fmt.Sprintf("the same without distances, %d", r.Reach), r.Plain)
	}
}

// Lopsided says what to try where a model tells links apart hardly better than a
// guess would, "" where it does better.
func Lopsided(t train.ApprenticeModel) string {
	const guess, few = 0.6, 0.1 // of Balanced; the lesser side's share of the links
	if t.Held.Balanced() >= guess {
		return ""
	}
	less, side := t.High, "high"
	if t.Low < less {
		less, side = t.Low, "low"
	}
	says := "That is hardly better than a guess"
	if t.Held.Low == 0 || t.Held.High == 0 {
		says = "How well it tells the two apart is not known"
	}
	switch even := t.File.Provenance.Settings["boundary"] == 1; {
	case float64(less) >= few*float64(t.Low+t.High):
		return says + ": take a longer crawl, or look with --study DIR at which distances words tell anything."
	case even:
		return fmt.Sprintf("%s: only %s of %s links are %s, as most targets are equally relevant. Take a longer crawl, or one that found more.", says, terminal.Number(less), terminal.Number(t.Low+t.High), side)
	default:
		return fmt.Sprintf("%s: only %s of %s links are %s. Try --set boundary=1, by which the upper half is high.",
			says, terminal.Number(less), terminal.Number(t.Low+t.High), side)
	}
}

// Share is a share for people; there is none of nothing.
func Share(x float64) string {
	if math.IsNaN(x) {
		return "none"
	}
	return terminal.Percent(x)
}

// Apprentice tells what a model has learnt from crawls, and what to do with its file
// next: crawl by a scorer with the same settings.
func Apprentice(out io.Writer, file, scorer string, set map[string]float64, t train.ApprenticeModel, took time.Duration) {
	fmt.Fprintf(out, "%s: %s links of %s pages, %s to pages of high relevance; in %s\n",
		file, terminal.Number(t.Low+t.High), terminal.Number(t.File.Provenance.Pages), terminal.Number(t.High), terminal.Span(took))
	if t.Held.Low+t.Held.High > 0 {
		fmt.Fprintf(out, "Of links to pages it had not learned from it told %s right: %s of those to high, %s of those to low.\n",
			Share(t.Held.All()), Share(t.Held.OfHigh()), Share(t.Held.OfLow()))
	}
	if hint := Lopsided(t); hint != "" {
		fmt.Fprintln(out, hint)
	}
	fmt.Fprintf(out, "\nNext: waggle crawl … --scorer %s --model %s\n", scorer, file)
	if same := likewise(set); same != "" {
		fmt.Fprintf(out, "with scorer: {set: {%s}} in the job file\n", same)
	}
}

// likewise are the settings of a model that a crawl by it should have as well.
func likewise(set map[string]float64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, fmt.Sprintf("%s: %v", name, set[name]))
	}
	return strings.Join(out, ", ")
}
