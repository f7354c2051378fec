package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/seeds"
)

// seedsCmd is `waggle seeds`.
type seedsCmd struct {
	Source []string `short:"s" sep:"none" required:"" placeholder:"KIND=WHERE" help:"Where to look; may be repeated. The kinds are listed above."`
	Out    string   `short:"o" placeholder:"FILE" help:"The file of seeds (default, and -: standard output)."`
	Force  bool     `help:"Replace the file if it is there."`
	Rounds int      `default:"1" placeholder:"N" help:"How often to ask; from the second round on with words of the relevant pages found (default ${default})."`
	Judged int      `name:"judge-pages" default:"20" placeholder:"N" help:"Fetch so many of the likeliest pages in each round and judge them; 0 ranks by addresses and titles alone (default ${default})."`
	Number int      `short:"n" default:"100" placeholder:"N" help:"Give the best N (default ${default})."`

	cli.Flags
}

// seedsSettings are those of the topic, the judge, and fetching.
func seedsSettings() []string {
	return []string{"topic.description", "topic.keywords", "topic.examples", "topic.negatives", "judge.name", "judge.threshold",
		"contact", "politeness.delay", "fetch.secrets", "fetch.through", "fetch.through-ca", "fetch.allow-private"}
}

// seedsFlags are the flags of seedsSettings. Of the judges they name those that can do with a topic alone: there is no
// flag for what the others need.
func seedsFlags(settings []job.Setting) cli.Flags {
	settings = slices.Clone(settings)
	for i, s := range settings {
		if s.Path == "judge.name" {
			settings[i].Choices = nil
			for _, d := range judge.Descriptions() {
				if !slices.ContainsFunc(d.Needs, func(n judge.Need) bool {
					return !n.Optional && n.Path != "topic" && !strings.HasPrefix(n.Path, "topic.")
				}) {
					settings[i].Choices = append(settings[i].Choices, d.Name)
				}
			}
		}
	}
	return cli.FlagsOf(settings, "", seedsSettings()...)
}

// Help lists the kinds of sources.
func (seedsCmd) Help() string {
	var b strings.Builder
	b.WriteString("Sources:\n\n")
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, k := range seeds.Kinds() {
		where := "=" + k.Where
		if strings.HasPrefix(k.Where, "[") {
			where = "[=" + k.Where[1:]
		}
		fmt.Fprintf(out, "  %s%s\t%s\n", k.Name, where, k.Line)
	}
	out.Flush() // a strings.Builder takes everything
	b.WriteString(`
For example:

  waggle seeds --keywords "honey bee, waggle dance" -s openalex \
      -s searxng=https://search.example.org -s bookmarks=bookmarks.html \
      --rounds 2 --contact you@example.org -o seeds.txt
  waggle crawl --seeds-file seeds.txt -o bees --keywords "honey bee, waggle dance" \
      --contact you@example.org

The likeliest pages are fetched and judged. Pages that are not relevant are left out,
relevant ones come first, and the others follow by the likeness of their addresses and
titles to the topic. Requests are as polite as those of a crawl, and robots.txt holds
for search interfaces as well.
`)
	return b.String()
}

// Run looks for seeds.
func (c *seedsCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	var sources []seeds.Source
	for _, s := range c.Source {
		one, err := seeds.ParseSource(s)
		if err != nil {
			return exit{exitUsage, err}
		}
		sources = append(sources, one)
	}
	switch {
	case c.Rounds < 1 || c.Rounds > 20:
		return exit{exitUsage, fmt.Errorf("--rounds %d: give 1 to 20", c.Rounds)}
	case c.Judged < 0 || c.Number < 1:
		return exit{exitUsage, errors.New("--judge-pages is 0 or more, and -n is 1 or more")}
	}
	j := &job.Job{}
	if err := c.Apply(j); err != nil {
		return exit{exitUsage, err}
	}
	toFile := c.Out != "" && c.Out != "-"
	if toFile {
		read := slices.Concat(j.Topic.Examples, j.Topic.Negatives)
		for _, s := range sources {
			read = append(read, s.Where)
		}
		if err := vacant(c.Out, c.Force, read...); err != nil {
			return err
		}
	}
	meter := terminal.NewMeter(std.err)
	note := func(s string) { fmt.Fprintln(std.err, event.Line(s)) }
	m := &job.Maker{Job: j, Documents: docs, Note: note}
	f, err := seeds.For(ctx, m)
	var found []seeds.Seed
	if err == nil {
		f.Rounds, f.Pages = c.Rounds, c.Judged
		found, err = f.Find(ctx, sources)
	}
	meter.End()
	err = errors.Join(err, m.Close())
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped before its end")}
	}
	if err != nil {
		return wrongJob(err)
	}
	if len(found) == 0 {
		return exit{exitNothing, errors.New("no page was found from which to start")}
	}
	found = found[:min(len(found), c.Number)]
	write := func(out io.Writer) error { return seeds.Write(out, found) }
	if !toFile {
		return write(std.out)
	}
	if err := folder.WriteBeside(c.Out, write); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s: %s; waggle crawl --seeds-file %s begins there\n", c.Out, terminal.Count(len(found), "seed"), c.Out)
	return err
}
