package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/lab"
	"github.com/waggle-crawler/waggle/lab/read"
	"github.com/waggle-crawler/waggle/web"
)

// labPoolCmds are the commands of `waggle lab pool`.
type labPoolCmds struct {
	Draw   poolDrawCmd   `cmd:"" help:"Draw the pages to read for each topic."`
	Info   poolInfoCmd   `cmd:"" help:"Tell what a pool holds, and what of it was read."`
	Export poolExportCmd `cmd:"" help:"Write the labels as TSV or qrels, or the pages for reading elsewhere."`
}

// poolDrawCmd is `waggle lab pool draw`.
type poolDrawCmd struct {
	Results []string `arg:"" help:"Folders of results of waggle lab run, of labs with keep-runs."`
	Out     string   `short:"o" required:"" placeholder:"DIR" help:"Folder for the pool."`
	Pages   int      `default:"340" help:"Pages to read for a topic."`
	Top     int      `default:"200" help:"Of these, those of the best ranks, at most."`
	Seed    uint64   `default:"1" help:"Of chance."`
	Judges  []string `placeholder:"NAME,…" help:"Judges that rank all pages (default: those of the labs)."`
	Force   bool     `help:"Replace the pool that is there. Labels of it do not fit another."`
}

// Help tells how pages are drawn.
func (poolDrawCmd) Help() string {
	return `Evaluation campaigns call this pooling. Crawls and judges rank pages; for each
topic, the first pages of every ranking are read, and random samples of the
rest, so that what was missed can be estimated. Pages with the same body are
one. The strata:

  top          the first pages of every ranking, all read: as deep as --top allows
  high         up to 4 times as deep, a sample
  middle       up to 16 times as deep, a sample
  low          up to 64 times as deep, a sample
  rest         all others that links lead to from the topic's seeds, a sample
  unreachable  all others, a sample

  waggle lab run -f lab.yaml -o results       with keep-runs: true in the file
  waggle lab pool draw results -o truth
  waggle lab read truth --web WEB             read and label the pages

Beside the pool, narratives.yaml says what counts as a page of each topic; write
it before you read the first page:

  WEB:
    TOPIC:
      mainly: The page is mainly about …
      partly: … is one of several subjects, …
      no: Nothing of the page …`
}

// Run draws.
func (c *poolDrawCmd) Run(ctx context.Context, std streams) error {
	if folder.Exists(filepath.Join(c.Out, "pool.yaml")) && !c.Force {
		return exit{exitUsage, fmt.Errorf("%s holds a pool already: choose another folder, or replace it with --force", c.Out)}
	}
	if c.Pages < 1 || c.Top < 0 || c.Top > c.Pages {
		return exit{exitUsage, fmt.Errorf("--pages=%d --top=%d: give 1 page or more, and of them not more by rank than there are", c.Pages, c.Top)}
	}
	meter := newMeter(std.err)
	p, err := lab.DrawPool(ctx, c.Results, lab.PoolOptions{
		Judges: c.Judges, DrawOptions: pool.DrawOptions{Pages: c.Pages, Top: c.Top, Seed: c.Seed}, Progress: meter.show,
	})
	meter.end()
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped; no pool was written")}
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	if err := p.Write(c.Out); err != nil {
		return err
	}
	return tellPool(std.out, p)
}

// tellPool prints the topics of a pool.
func tellPool(out io.Writer, p *pool.Pool) error {
	fmt.Fprintf(out, "pool %s, seed %d\n\n", p.Revision, p.Seed)
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "topic\tpages\tdepth")
	for _, s := range p.Topics[0].Strata {
		fmt.Fprintf(tab, "\t%s", event.Line(s.Name))
	}
	fmt.Fprintln(tab)
	total := 0
	for i := range p.Topics {
		t := &p.Topics[i]
		total += len(t.Pages)
		fmt.Fprintf(tab, "%s\t%s\t%d", event.Line(t.Key().String()), number(len(t.Pages)), t.Depth)
		for _, s := range t.Strata {
			fmt.Fprintf(tab, "\t%s of %s", number(s.Drawn), number(s.Size))
		}
		fmt.Fprintln(tab)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s pages to read\n", number(total))
	return err
}

// poolInfoCmd is `waggle lab pool info`.
type poolInfoCmd struct {
	Dir string `arg:"" help:"Folder of the pool."`
}

// Run tells.
func (c *poolInfoCmd) Run(std streams) error {
	p, err := pool.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	return tellPool(std.out, p)
}

// poolExportCmd is `waggle lab pool export`.
type poolExportCmd struct {
	Dir   string   `arg:"" help:"Folder of the pool."`
	Form  string   `arg:"" enum:"text" help:"What to write: text."`
	Web   []string `placeholder:"WEB" sep:"none" help:"text: the recorded web of the pages; may be repeated."`
	Topic []string `placeholder:"WEB/TOPIC" sep:"none" help:"Of these topics alone; may be repeated."`
	Words int      `default:"220" help:"text: words of a page, at most."`
	Part  int      `default:"80" help:"text: pages of a file."`
	Out   string   `short:"o" placeholder:"PATH" help:"text: a folder."`
}

// Help tells the forms.
func (poolExportCmd) Help() string {
	return `Forms:

  text    for reading elsewhere: a folder WEB-TOPIC for each topic, with files
          part-01.jsonl … of lines
            {"n":1,"address":"http://…","title":"…","text":"…"}
          in the order of the pool, the text from the main part of the page.
          Nothing tells who found a page.

  waggle lab pool export truth text --web WEB -o reading`
}

// Run exports.
func (c *poolExportCmd) Run(ctx context.Context, std streams) error {
	p, err := pool.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	topics, err := c.topics(p)
	if err != nil {
		return exit{exitUsage, err}
	}
	return c.texts(ctx, std, p, topics)
}

// topics are those asked for.
func (c *poolExportCmd) topics(p *pool.Pool) (out []*pool.Topic, err error) {
	for i := range p.Topics {
		if t := &p.Topics[i]; len(c.Topic) == 0 || slices.Contains(c.Topic, t.Key().String()) {
			out = append(out, t)
		}
	}
	for _, name := range c.Topic {
		w, t, _ := strings.Cut(name, "/")
		if _, err := p.Topic(pool.Key{Web: w, Topic: t}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// texts writes the pages for reading elsewhere.
func (c *poolExportCmd) texts(ctx context.Context, std streams, p *pool.Pool, topics []*pool.Topic) error {
	if c.Words < 1 || c.Part < 1 || c.Out == "" || len(c.Web) == 0 {
		return exit{exitUsage, errors.New("text needs -o FOLDER and --web WEB; --words and --part are at least 1")}
	}
	meter := newMeter(std.err)
	defer meter.end()
	webs := map[string]*corpus.Pages{}
	for _, dir := range c.Web {
		w, pages, err := openPages(ctx, dir, meter)
		if err != nil {
			return err
		}
		webs[w.Name] = pages
		if err := w.Close(); err != nil {
			return err
		}
	}
	for _, t := range topics {
		pages := webs[t.Web]
		if pages == nil {
			continue
		}
		dir := filepath.Join(c.Out, fileWord(t.Web)+"-"+fileWord(t.Name))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		part := 0
		for list := range slices.Chunk(t.Pages, c.Part) {
			b, err := textLines(pages, list, part*c.Part, c.Words)
			if err != nil {
				return err
			}
			part++
			if err := folder.Write(filepath.Join(dir, fmt.Sprintf("part-%02d.jsonl", part)), b); err != nil {
				return err
			}
		}
		fmt.Fprintf(std.out, "%s: %s pages in %d files\n", dir, number(len(t.Pages)), part)
	}
	return nil
}

// textLines are pages as lines of JSON, numbered from first+1.
func textLines(pages *corpus.Pages, list []pool.Page, first, words int) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, x := range list {
		page, ok := pages.Page(x.URL)
		if !ok {
			return nil, fmt.Errorf("%s is not in the recorded web: is it the one that the pool was drawn from?", x.URL)
		}
		err := enc.Encode(struct {
			N       int     `json:"n"`
			Address web.URL `json:"address"`
			Title   string  `json:"title"`
			Text    string  `json:"text"`
		}{first + i + 1, x.URL, event.Line(page.Title), read.Text(page, words)})
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// fileWord is a name as part of a file's name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
