package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/index"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// searchCmd is `waggle search`.
type searchCmd struct {
	Dir       string   `arg:"" help:"Folder of the crawl, which may still run."`
	Words     []string `arg:"" optional:"" help:"What pages must hold (default: anything)."`
	Host      []string `placeholder:"NAME" help:"Only of this host, or of names below it; may be repeated."`
	Language  []string `placeholder:"LANG" help:"Only in this language, such as en; may be repeated."`
	Type      []string `placeholder:"TYPE" help:"Only of this type, such as text/html, or text/ for all of text; may be repeated."`
	Verdict   string   `enum:",relevant,other" default:"" placeholder:"V" help:"Only relevant pages (relevant), or only others (other)."`
	Relevance float64  `placeholder:"X" help:"Only with at least this relevance, 0…1."`
	Most      float64  `name:"relevance-max" placeholder:"X" help:"Only with at most this relevance."`
	Since     string   `placeholder:"DATE" help:"Only fetched then or later: 2026-03-01, or with a time as 2026-03-01T12:00:00Z."`
	Until     string   `placeholder:"DATE" help:"Only fetched before the end of this day, or before this time."`
	Sort      string   `enum:",relevance,newest,oldest,host,url" default:"" placeholder:"ORDER" help:"relevance, newest, oldest, host or url (default: the best match first)."`
	Number    int      `short:"n" default:"10" placeholder:"N" help:"How many pages (default 10, at most 1000)."`
	From      int      `placeholder:"N" help:"Leave out the first N."`
	Copies    bool     `help:"Give near-copies each, not folded into one."`
	CopiesOf  string   `placeholder:"URL" help:"Only near-copies of this page."`
	Index     string   `placeholder:"FOLDER" help:"Folder of the index (default: index in that of the crawl)."`
	JSON      bool     `help:"One JSON object a line."`
}

// Help tells how to ask.
func (searchCmd) Help() string {
	return `  waggle index bees
  waggle search bees waggle dance                      both words, in any order
  waggle search bees '"waggle dance" -robot'           the phrase, without the word
  waggle search bees dance --host example.org --language en --since 2026-03-01
  waggle search bees --verdict other --sort relevance  the best of what was left out

Words are compared by their stems, so that dances finds dancing. Pages with nearly the
same text are folded into one.`
}

// Run searches.
func (c *searchCmd) Run(ctx context.Context, std streams) error {
	q, err := c.query()
	if err != nil {
		return exit{exitUsage, err}
	}
	col, err := collection.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	r, err := index.Open(cmp.Or(c.Index, index.Dir(col)))
	if errors.Is(err, index.ErrNone) {
		return exit{exitUsage, fmt.Errorf("%w: make it with waggle index %s", err, c.Dir)}
	}
	if err != nil {
		return err
	}
	defer r.Close()
	found, err := r.Search(ctx, q)
	var slip *index.QueryError
	if errors.As(err, &slip) || errors.Is(err, index.ErrAbsent) {
		return exit{exitUsage, err}
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriter(std.out)
	if c.JSON {
		err = writeHits(out, found)
	} else {
		c.show(out, found, terminal.Paint(term.IsTerminal(int(std.out.Fd())) && os.Getenv("NO_COLOR") == ""))
	}
	return errors.Join(err, out.Flush())
}

// query is what the flags ask for.
func (c *searchCmd) query() (q index.Query, err error) {
	q = index.Query{
		Text: strings.Join(c.Words, " "), MinRelevance: c.Relevance, MaxRelevance: c.Most, Hosts: c.Host, Languages: c.Language, Types: c.Type,
		Verdict: index.Verdict(c.Verdict), Sort: index.Sort(c.Sort), Fold: !c.Copies && c.CopiesOf == "", From: c.From, Size: c.Number,
	}
	if c.Number <= 0 {
		return q, fmt.Errorf("-n %d: ask for at least 1 page", c.Number)
	}
	if c.CopiesOf != "" {
		if q.CopiesOf, err = web.Parse(web.WithScheme(c.CopiesOf)); err != nil {
			return q, err
		}
	}
	if q.Since, err = momentOf("--since", c.Since, 0); err != nil {
		return q, err
	}
	q.Until, err = momentOf("--until", c.Until, 24*time.Hour-time.Microsecond)
	return q, err
}

// momentOf reads a day, to which is added, or a time; zero for "".
func momentOf(flag, s string, add time.Duration) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Add(add), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%s %q is neither a day, as 2026-03-01, nor a time, as 2026-03-01T12:00:00Z", flag, s)
	}
	return t, nil
}

// show writes hits for people.
func (c *searchCmd) show(out io.Writer, found *index.Result, paint terminal.Paint) {
	for _, h := range found.Hits {
		title := painted(h.Title, paint)
		if title == "" {
			title = "(without title)"
		}
		note := ""
		if h.Copies > 0 && !c.Copies && c.CopiesOf == "" {
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
		line += fmt.Sprintf("; more with --from %d", c.From+len(found.Hits))
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
func painted(spans []index.Span, paint terminal.Paint) string {
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

// writeHits writes hits for programs.
func writeHits(out io.Writer, found *index.Result) error {
	plain := func(spans []index.Span) string {
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
