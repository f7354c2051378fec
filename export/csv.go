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

// Each text of a page is a cell, as spreadsheets open these tables: one line, no control
// character, no formula.

// cell is an event.Line in which neither the text nor a part of it begins a formula: where decimals
// have a comma, spreadsheets part cells by semicolons, also within quotes. An apostrophe
// behind the semicolon says that text follows.
func cell(s string) string {
	s = event.NoFormula(event.Line(s))
	if !strings.Contains(s, ";") {
		return s
	}
	parts := strings.Split(s, ";")
	for i, part := range parts[1:] {
		// Quotes and spaces before a formula may go when the cell is read.
		if start := strings.TrimLeft(part, `" `); event.NoFormula(start) != start {
			parts[i+1] = "'" + part
		}
	}
	return strings.Join(parts, ";")
}

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
			cell(p.URL), p.Time.Format(time.RFC3339Nano), strconv.Itoa(int(p.Status)), cell(p.Type), cell(p.Language), cell(p.Title), cell(p.Text),
			decimal(p.Relevance), strconv.FormatBool(p.Relevant), cell(p.Reason), cell(p.CopyOf), cell(p.Judge), cell(p.Scorer), strconv.Itoa(int(p.Depth)),
			cell(p.From), cell(p.Digest), strings.Join(p.OptOuts, " "), cell(p.TDMPolicy), cell(p.Crawl),
		}
		for i := range in.Columns {
			row = append(row, cell(strings.Join(valuesOf(p.Values, i), Between)))
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
			cell(l.From), cell(l.To), cell(l.Kind), cell(l.Anchor), cell(l.Context), priority, l.Fate, cell(l.Reason), cell(l.Crawl),
		})
	}, func() error { w.Flush(); return w.Error() })
}

// decimal is the shortest number that reads back as v.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
