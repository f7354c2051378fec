package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/collection"
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
	Verdict   string   `enum:"all,relevant,other" default:"all" placeholder:"V" help:"Only relevant pages (relevant), only others (other), or all (default)."`
	Relevance float64  `placeholder:"X" help:"Only with at least this relevance, 0…1."`
	Most      *float64 `name:"relevance-max" placeholder:"X" help:"Only with at most this relevance."`
	Since     string   `placeholder:"DATE" help:"Only fetched then or later: 2026-03-01, or with a time as 2026-03-01T12:00:00Z."`
	Until     string   `placeholder:"DATE" help:"Only fetched before the end of this day, or before this time."`
	Sort      string   `enum:"match,relevance,newest,oldest,host,url" default:"match" placeholder:"ORDER" help:"relevance, newest, oldest, host, url, or match: the best match first (default)."`
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
		err = found.WriteJSON(out)
	} else {
		found.Write(out, q, terminal.Paint(terminal.Draws(std.out) && os.Getenv("NO_COLOR") == ""))
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	if behind, err := r.Behind(col); err == nil && behind {
		fmt.Fprintf(std.err, "The crawl has more than the index: waggle index %s takes in the rest.\n", c.Dir)
	}
	return nil
}

// query is what the flags ask for.
func (c *searchCmd) query() (q index.Query, err error) {
	q = index.Query{
		Text: strings.Join(c.Words, " "), MinRelevance: c.Relevance, MaxRelevance: c.Most, Types: c.Type,
		Verdict: index.Verdict(c.Verdict), Sort: index.Sort(c.Sort), Fold: !c.Copies && c.CopiesOf == "", From: c.From, Size: c.Number,
	}
	if c.Verdict == "all" {
		q.Verdict = ""
	}
	if c.Sort == "match" {
		q.Sort = ""
	}
	if c.Number <= 0 {
		return q, fmt.Errorf("-n %d: ask for at least 1 page", c.Number)
	}
	if c.CopiesOf != "" {
		if q.CopiesOf, err = web.Given(c.CopiesOf); err != nil {
			return q, err
		}
	}
	if q.Hosts, err = hostsGiven(c.Host); err != nil {
		return q, err
	}
	for _, l := range c.Language {
		code, _, _ := strings.Cut(l, "-") // pages have no more of de-AT
		if len(code) < 2 || len(code) > 3 {
			return q, fmt.Errorf("--language %q: give the code of a language, such as en", l)
		}
		q.Languages = append(q.Languages, code)
	}
	for _, t := range c.Type {
		if !strings.Contains(t, "/") {
			return q, fmt.Errorf("--type %q: give a type such as text/html, or text/ for all of text", t)
		}
	}
	if c.Most != nil && *c.Most < c.Relevance {
		return q, fmt.Errorf("--relevance %v --relevance-max %v: no page is between them", c.Relevance, *c.Most)
	}
	if q.Since, err = index.ParseTime(c.Since, 0); err != nil {
		return q, fmt.Errorf("--since %w", err)
	}
	if q.Until, err = index.ParseTime(c.Until, 24*time.Hour-time.Microsecond); err != nil {
		return q, fmt.Errorf("--until %w", err)
	}
	if !q.Until.IsZero() && q.Until.Before(q.Since) {
		return q, fmt.Errorf("--since %s --until %s: no page is between them", c.Since, c.Until)
	}
	return q, nil
}

// hostsGiven are the hosts that a person named, by a name or by an address of theirs.
func hostsGiven(names []string) (out []string, err error) {
	for _, name := range names {
		u, err := web.Given(name)
		if err != nil {
			u, err = web.Given("https://" + name)
		}
		if err != nil {
			return nil, fmt.Errorf("--host %q: give the name of a host, such as example.org", name)
		}
		out = append(out, string(u.Host()))
	}
	return out, nil
}
