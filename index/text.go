package index

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// ParseTime reads a day, to which is added, or a time; zero for "".
func ParseTime(s string, add time.Duration) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Add(add), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q is neither a day, as 2026-03-01, nor a time, as 2026-03-01T12:00:00Z", s)
	}
	return t, nil
}

// Write writes a result of a query for people, in lines of any length.
func (found *Result) Write(out io.Writer, q Query, paint terminal.Paint) {
	for _, h := range found.Hits {
		title := painted(h.Title, paint)
		if title == "" {
			title = "(without title)"
		}
		note := ""
		if h.Copies > 0 && q.Fold {
			note = paint.Style("2", fmt.Sprintf("  and %s", copies(h.Copies)))
		}
		fmt.Fprintf(out, "%.2f  %s%s\n      %s\n", h.Relevance, title, note, event.Line(h.URL.String()))
		if text := painted(h.Snippet, paint); text != "" {
			fmt.Fprintf(out, "      %s\n", text)
		}
	}
	if len(found.Hits) > 0 {
		fmt.Fprintln(out)
	}
	line := fmt.Sprintf("%s of %s match", terminal.Number(found.Total), terminal.Count(found.Pages, "page"))
	if found.More {
		line += fmt.Sprintf("; more with --from %d", q.From+len(found.Hits))
	}
	fmt.Fprintln(out, line)
}

func copies(n int) string {
	if n == 1 {
		return "1 near-copy"
	}
	return terminal.Number(n) + " near-copies"
}

// painted is a text with its matches in bold, or as it is.
func painted(spans []Span, paint terminal.Paint) string {
	var b strings.Builder
	for _, s := range spans {
		style := ""
		if s.Marked {
			style = "1"
		}
		b.WriteString(paint.Style(style, s.Text))
	}
	return b.String()
}

// WriteJSON writes the hits of a result for programs, a JSON object a line.
func (found *Result) WriteJSON(out io.Writer) error {
	plain := func(spans []Span) string {
		var b strings.Builder
		for _, s := range spans {
			b.WriteString(s.Text)
		}
		return b.String()
	}
	enc := json.NewEncoder(out)
	for _, h := range found.Hits {
		err := enc.Encode(struct {
			URL       web.URL   `json:"url"`
			Title     string    `json:"title"`
			Snippet   string    `json:"snippet"`
			Relevance float64   `json:"relevance"`
			Relevant  bool      `json:"relevant"`
			Language  string    `json:"language"`
			Type      string    `json:"type"`
			Status    int       `json:"status"`
			Depth     int       `json:"depth"`
			Time      time.Time `json:"time"`
			From      string    `json:"from"`
			Copies    int       `json:"copies"`
			Score     float64   `json:"score"`
		}{h.URL, plain(h.Title), plain(h.Snippet), h.Relevance, h.Relevant, h.Language, h.MIME, h.Status, h.Depth, h.At, h.From.String(), h.Copies, h.Score})
		if err != nil {
			return err
		}
	}
	return nil
}
