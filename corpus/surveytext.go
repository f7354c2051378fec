package corpus

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// Write tells what a survey found of a web, for a terminal.
func (s Survey) Write(out io.Writer, w *Web) {
	fmt.Fprintf(out, "%s: %s\n", event.Line(w.Name), event.Line(w.Description))
	if w.Source != "" {
		fmt.Fprintf(out, "from %s\n", strings.TrimSuffix(event.Line(w.Source)+"; "+event.Line(w.Licence), "; "))
	}
	if w.Synthetic {
		fmt.Fprintln(out, "synthetic: it shows that nothing broke, and supports no claim about the web")
	}
	fmt.Fprintf(out, "\npages          %s on %s; %s, %s\n", terminal.Number(s.Pages), terminal.Count(s.Hosts, "host"), terminal.Count(s.Redirects, "redirect"), terminal.Count(s.Errors, "error"))
	fmt.Fprintf(out, "links inside   %s (%.1f a page), outside %s\n", terminal.Number(s.LinksInside), float64(s.LinksInside)/float64(max(1, s.Pages)), terminal.Number(s.LinksOutside))
	fmt.Fprintf(out, "reachable      %s of the pages from the seeds of all topics\n", terminal.Percent(float64(s.Reachable)/float64(max(1, s.Pages))))
	if s.Unparsed > 0 {
		fmt.Fprintf(out, "not HTML       %s\n", terminal.Number(s.Unparsed))
	}
	known := slices.ContainsFunc(s.Topics, func(t TopicSurvey) bool { return t.Relevant > 0 })
	if known {
		fmt.Fprintf(out, "\n%-24s %8s %9s %10s %9s %10s\n", "topic", "relevant", "recorded", "reachable", "far seeds", "seeds")
		for _, t := range s.Topics {
			fmt.Fprintf(out, "%-24s %8d %9d %10d %9d %10d\n", terminal.Clip(event.Line(t.Name), 24), t.Relevant, t.Relevant-t.NotRecorded, t.Reachable, t.ReachableFar, t.Seeds)
		}
	}
	if known {
		fmt.Fprintln(out, "\nrelevant: addresses in the truth of the topic; reachable: of these, by links from its seeds,")
		fmt.Fprintln(out, "and far seeds: from its far seeds. A lab counts fewer, as seeds, examples and copies of")
		fmt.Fprintln(out, "pages are no hits there, and a truth that people have read takes the place of this one.")
	}
	for _, n := range w.Compare(s) {
		fmt.Fprintf(out, "note: %s\n", event.Line(n))
	}
}
