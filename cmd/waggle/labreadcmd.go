package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/lab/read"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// labReadCmd is `waggle lab read`.
type labReadCmd struct {
	Dir    string   `arg:"" help:"Folder of the pool, with narratives.yaml."`
	Web    []string `required:"" placeholder:"WEB" sep:"none" help:"The recorded web of the pages; may be repeated."`
	Reader string   `placeholder:"NAME" help:"Who reads (default: the page asks)."`
	Images bool     `help:"Show images too."`
	Port   int      `default:"0" placeholder:"N" help:"Port on this machine (default: any free one)."`
	Open   bool     `help:"Open the page in the browser."`
}

// Help tells what the page is for.
func (labReadCmd) Help() string {
	return `Read the pages of a pool and grade each by the sentences of its topic: 2 (mainly),
1 (in part), 0 (no) or ? (cannot tell; also C), by key or click. A page is shown as text,
with its main part marked, or as archived, without scripts and with nothing loaded
from elsewhere. Each grade is kept in labels.tsv, in the folder of the pool, before
the next page is shown; the same command goes on another day.

Several people read under their own names, and none is told what others say of a
page before they have graded it. Where two differ, both can look again.

  waggle lab read truth --web WEB --open
  waggle lab pool agree truth              how far readers agree`
}

// Run serves the page until it is interrupted.
func (c *labReadCmd) Run(ctx context.Context, std streams) error {
	p, err := pool.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	narratives, err := pool.ReadNarratives(c.Dir, p)
	if err != nil {
		return exit{exitUsage, err}
	}
	if c.Reader != "" {
		if err := pool.CheckReader(c.Reader); err != nil {
			return exit{exitUsage, fmt.Errorf("--reader: %w", err)}
		}
	}
	webs, done, err := c.webs(p)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer done()
	lock, err := takeResults(c.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	file, labels, err := pool.OpenLabels(c.Dir, p)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer file.Close() // each label was synced
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--port: %w", err)}
	}
	page, err := read.New(read.Options{
		Address: l.Addr().String(), Pool: p, Narratives: narratives, Webs: webs, Labels: labels, Save: file.Add, Reader: c.Reader, Images: c.Images,
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(std.out, "Read here: %s\n", page.URL())
	fmt.Fprintf(std.err, "The address is for this machine and for you: it holds a key. Labels are kept in %s; Ctrl-C ends.\n", event.Line(c.Dir+"/"+pool.LabelsName))
	return serveLocal(ctx, l, page, localPage{url: page.URL(), open: c.Open}, std)
}

// webs opens the recorded webs. done closes them.
func (c *labReadCmd) webs(p *pool.Pool) (webs map[string]read.Web, done func(), err error) {
	webs = map[string]read.Web{}
	var open []*corpus.Web
	done = func() {
		for _, w := range open {
			w.Close() // it was read only
		}
	}
	for _, dir := range c.Web {
		w, err := corpus.Open(dir)
		if err != nil {
			done()
			return nil, nil, err
		}
		open = append(open, w)
		if _, ok := p.Web(w.Name); !ok {
			done()
			return nil, nil, fmt.Errorf("%s is the web %s, of which the pool has no page", dir, w.Name)
		}
		if u, gone := unrecordedPage(p, w); gone > 0 {
			done()
			return nil, nil, fmt.Errorf("%s does not hold %d pages of the pool, such as %s: it is not the web that the pool was drawn from", dir, gone, u)
		}
		webs[w.Name] = read.Web{
			Fetcher: corpus.Fetcher{Web: w}, Canon: w.Canon(),
			Parser: parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: w.Canon()}),
		}
	}
	return webs, done, nil
}

// unrecordedPage counts the pages of a pool that their web does not hold, and
// names one.
func unrecordedPage(p *pool.Pool, w *corpus.Web) (u web.URL, gone int) {
	for i := range p.Topics {
		if p.Topics[i].Web != w.Name {
			continue
		}
		for _, x := range p.Topics[i].Pages {
			if !w.Has(x.URL) {
				u = x.URL
				gone++
			}
		}
	}
	return u, gone
}
