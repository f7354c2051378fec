package demo

import (
	"fmt"
	"io"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
)

// Result is one crawl of the demo.
type Result struct {
	Scorer, Dir string
	Summary     *event.Summary
}

// Write compares crawls for a topic, of which the first is the focused one, and tells
// where they are.
func Write(out io.Writer, topic string, results []Result) error {
	fmt.Fprintf(out, "\nThe topic: %s\n\n%-18s %6s %9s %8s  %s\n", topic, "scorer", "pages", "relevant", "harvest", "collection")
	for _, r := range results {
		fmt.Fprintf(out, "%-18s %6d %9d %7.1f%%  %s\n", r.Scorer, r.Summary.Pages, r.Summary.Relevant, 100*r.Summary.Harvest(), r.Dir)
	}
	_, err := fmt.Fprintf(out, `
A page counts as relevant by the crawl's own judge. In each collection harvest.tsv
lists the relevant pages, archive/ holds them as WARC, and this tells why one of
them was fetched:

  waggle explain %s -o %s
`, firstRelevant(results[0].Dir), results[0].Dir)
	return err
}

// firstRelevant is the most relevant address of a crawl, for the example.
func firstRelevant(dir string) string {
	h, err := collection.At(dir).Harvest()
	if err != nil || len(h) == 0 {
		return "URL"
	}
	return event.Line(h[0].URL.String())
}
