package forage

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/internal/terminal"
)

// WriteTable writes goals and the table of sites.
func WriteTable(out io.Writer, results []Result) {
	sites, found, pages, first := 0, 0, 0, 0
	for _, r := range results {
		for _, g := range r.Goals {
			fmt.Fprintf(out, "%s\n", g.URL())
			for _, s := range g.Path[:len(g.Path)-1] {
				fmt.Fprintf(out, "    %s\n", strings.TrimSpace(s.URL.String()+"  "+terminal.Untrusted(s.Milestone(), 60)))
			}
		}
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nsite\tended\tgoals\tfirst after\tpages")
	for _, r := range results {
		after := "–"
		sites++
		pages += r.Pages
		if len(r.Goals) > 0 {
			found++
			first += r.Goals[0].Pages
			after = terminal.Count(r.Goals[0].Pages, "page")
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\n", r.Start, r.Ending.Brief(), len(r.Goals), after, r.Pages)
	}
	t.Flush() // errors show at the next print
	fmt.Fprintf(out, "\n%d of %d sites have a goal", found, sites)
	if found > 0 {
		fmt.Fprintf(out, ", the first after %.1f pages on average", float64(first)/float64(found))
	}
	fmt.Fprintf(out, "; %s fetched.\n", terminal.Count(pages, "page"))
}
