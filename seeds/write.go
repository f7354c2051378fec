package seeds

import (
	"bufio"
	"fmt"
	"io"

	"github.com/waggle-crawler/waggle/internal/terminal"
)

// Write writes a file of seeds, one a line with a comment, as a crawl reads it.
func Write(w io.Writer, list []Seed) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "# relevance where the page was judged, source, title")
	for _, s := range list {
		judged := "-"
		if s.Judged {
			judged = fmt.Sprintf("%.2f", s.Relevance)
		}
		fmt.Fprintf(out, "%s  # %s %s %s\n", s.URL, judged, s.Source, terminal.Untrusted(s.Title, 80))
	}
	return out.Flush()
}
