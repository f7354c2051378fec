package export

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
)

// Each text of a page is an event.Cell, as spreadsheets open these tables: one line, no
// control character, no formula.

func writePagesCSV(ctx context.Context, in *Input, out io.Writer) error {
	w := csv.NewWriter(out)
	head := []string{"url", "time", "status", "type", "language", "title", "text", "relevance", "relevant", "reason", "copy_of", "judge", "scorer", "depth", "from", "digest", "opt_outs", "tdm_policy", "crawl"}
	for _, c := range in.Columns {
		head = append(head, c.Name)
	}
	if err := w.Write(head); err != nil {
		return err
	}
	return pagesTo(ctx, in, func(p pageRow) error {
		row := []string{
			event.Cell(p.URL), p.Time.Format(time.RFC3339Nano), strconv.Itoa(int(p.Status)), event.Cell(p.Type), event.Cell(p.Language), event.Cell(p.Title), event.Cell(p.Text),
			decimal(p.Relevance), strconv.FormatBool(p.Relevant), event.Cell(p.Reason), event.Cell(p.CopyOf), event.Cell(p.Judge), event.Cell(p.Scorer), strconv.Itoa(int(p.Depth)),
			event.Cell(p.From), event.Cell(p.Digest), strings.Join(p.OptOuts, " "), event.Cell(p.TDMPolicy), event.Cell(p.Crawl),
		}
		for i := range in.Columns {
			row = append(row, event.Cell(strings.Join(valuesOf(p.Values, i), Between)))
		}
		return w.Write(row)
	}, func() error { w.Flush(); return w.Error() })
}

func writeLinksCSV(ctx context.Context, in *Input, out io.Writer) error {
	w := csv.NewWriter(out)
	if err := w.Write([]string{"from", "to", "kind", "anchor", "context", "priority", "fate", "reason", "crawl"}); err != nil {
		return err
	}
	return linksTo(ctx, in, func(l linkRow) error {
		priority := ""
		if l.Priority != nil {
			priority = decimal(*l.Priority)
		}
		return w.Write([]string{
			event.Cell(l.From), event.Cell(l.To), event.Cell(l.Kind), event.Cell(l.Anchor), event.Cell(l.Context), priority, l.Fate, event.Cell(l.Reason), event.Cell(l.Crawl),
		})
	}, func() error { w.Flush(); return w.Error() })
}

// decimal is the shortest number that reads back as v.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
