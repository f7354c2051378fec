package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/extract"
	"github.com/waggle-crawler/waggle/internal/localpage"
	"github.com/waggle-crawler/waggle/internal/notice"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/lab"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/viewer"
	"github.com/waggle-crawler/waggle/viewer/start"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// openCmd is `waggle open`.
type openCmd struct {
	Dirs []string `arg:"" optional:"" name:"dir" help:"Folders of crawls, or folders that hold such folders; none, or one that is empty or new: begin a crawl."`

	Listen        string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where to answer (default 127.0.0.1 and any free port)."`
	Public        string `placeholder:"URL" help:"The address of a proxy with TLS that answers in its place, such as https://crawls.example.org."`
	Index         *bool  `negatable:"" help:"Make the index for searching: at once with --index, never with --no-index, unless somebody asks for it on the page (default: while a crawl runs, where 10 GB of the disk are free)."`
	Fields        string `placeholder:"FILE" help:"Show the values of these fields (YAML, see waggle extract table --help) of each page, and not those of fields.yaml in the folder of the crawl; on the page others can be taken."`
	Lab           string `placeholder:"DIR" help:"Draw the harvest beside that of breadth-first on the topic of the crawl's name, TOPIC or WEB/TOPIC, in these results of waggle lab run."`
	NotifyProgram string `placeholder:"PROGRAM" help:"Program that is told of crawls that are begun, or gone on with, on the page, as that of waggle crawl is."`
	NotifyURL     string `name:"notify-url" placeholder:"URL" help:"Address that is told of them by POST."`

	NoBrowser bool `help:"Open no browser: print the address only."`
}

// Help tells what the page shows.
func (openCmd) Help() string {
	return `The page shows the harvest, hosts, failures and pages of a crawl, each page as it was
archived, and the way by which it was found. The crawl may be running, also in another
process: the page follows it. Nothing is loaded from elsewhere, and nothing is changed but
by what you tell the crawl. waggle crawl --open shows a crawl from its beginning.

Without a folder the page begins a crawl: it asks for the topic, example pages and where
to start, shows what the judge makes of the examples, and makes the folder of the crawl in
the working directory. With one folder that is empty, or not there yet, the crawl is begun
in that. The crawl runs until it has ended, or Ctrl-C.

The address that is printed holds a key: whoever has it can read the collection. Only
this machine is answered; --listen 0.0.0.0:8123 answers others too, without encryption.
--public https://HOST is for a proxy with TLS in front of it. Have the proxy pass the Host
header on: only then are browsers told to send the key over TLS alone.
Programs ask for the same as JSON, see /api/openapi.json there, and Prometheus for
/metrics, with Authorization: Bearer KEY.`
}

// Run serves the page until it is interrupted.
func (c *openCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	var found []collection.Collection
	var folders []string
	begin := start.Options{Dir: ".", Documents: docs, Note: func(line string) { fmt.Fprintln(std.err, line) }}
	for _, dir := range c.Dirs {
		_ = collection.At(dir).BringBack() // what it cannot do is told where a crawl begins
		f, err := viewer.Find(dir)
		if col := collection.At(dir); err != nil && len(c.Dirs) == 1 && !col.Begun() && col.Usable() == nil {
			whole, err := filepath.Abs(dir)
			if err != nil {
				return exit{exitUsage, err}
			}
			begin.Dir, begin.Folder = filepath.Dir(whole), filepath.Base(whole)
			folders = append(folders, dir)
			fmt.Fprintf(std.err, "%s holds nothing yet: the page begins a crawl in it.\n", event.Line(dir))
			break
		}
		if err != nil {
			return exit{exitUsage, err}
		}
		found = append(found, f.Collections...)
		if f.Several {
			folders = append(folders, dir)
		}
		if len(f.Others) > 0 {
			fmt.Fprintln(std.err, notShown(dir, f.Others))
		}
	}
	var fields *watch.FieldFile
	if c.Fields != "" {
		text, err := extract.ReadText(c.Fields)
		if err == nil {
			fields, err = watch.ReadFieldFile(c.Fields, text)
		}
		if err != nil {
			return exit{exitUsage, fmt.Errorf("--fields: %w", err)}
		}
	}
	if strings.HasPrefix(strings.ToLower(c.Public), "http://") {
		return exit{exitUsage, fmt.Errorf("--public %s: without TLS the key could be read on its way: give an https address", c.Public)}
	}
	known, err := c.labCurves()
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--lab: %w", err)}
	}
	notices, err := notice.NewSender(c.NotifyProgram, c.NotifyURL, "waggle/"+version)
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--notify-%w", err)}
	}
	if notices != nil {
		begin.Hear = notices.Hear
	}
	begun := start.New(ctx, begin)
	wait, err := serveCrawls(ctx, std, c.Listen, viewer.Options{Public: c.Public, Collections: found, Folders: folders, Documents: docs, Start: begun, Index: indexing(c.Index), Fields: fields, Lab: known}, !c.NoBrowser)
	if err != nil {
		return err
	}
	err = wait()
	begun.Wait()
	if err := notices.Close(); err != nil {
		complain(std.err, err)
	}
	return err
}

// labCurves reads what breadth-first found in the lab, by the name of a crawl; nil without a lab.
func (c *openCmd) labCurves() (func(crawl string) viewer.LabCurve, error) {
	if c.Lab == "" {
		return nil, nil
	}
	results, err := lab.ReadCurves(c.Lab, "breadth-first")
	if err != nil {
		return nil, err
	}
	return func(crawl string) viewer.LabCurve {
		got, err := results.Of(crawl)
		if err != nil {
			return viewer.LabCurve{Why: err.Error()}
		}
		return viewer.LabCurve{Web: got.Web, Pages: got.Points, Relevant: got.Hits, Crawls: got.Crawls}
	}, nil
}

// notShown names folders in dir that hold no crawl, the first of many.
func notShown(dir string, names []string) string {
	const most = 5
	var shown []string
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, terminal.Untrusted(name, 60))
	}
	list := strings.Join(shown, ", ")
	if n := len(names) - most; n > 0 {
		list += " and " + terminal.Count(n, "other")
	}
	hold, are := "hold", "are"
	if len(names) == 1 {
		hold, are = "holds", "is"
	}
	return fmt.Sprintf("%s in %s %s no crawl, and %s not shown until one begins there: %s", terminal.Count(len(names), "folder"), event.Line(dir), hold, are, list)
}

// indexing is when an index is made, by the flag --index; nil = it was not given.
func indexing(flag *bool) watch.Indexing {
	switch {
	case flag == nil:
		return watch.WithRoom
	case *flag:
		return watch.Always
	}
	return watch.WhenAsked
}

// serveCrawls serves the page of crawls until ctx ends, and says where it is. wait
// returns when it has ended.
func serveCrawls(ctx context.Context, std streams, listen string, o viewer.Options, browser bool) (wait func() error, err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, exit{exitUsage, fmt.Errorf("--listen: %w", err)}
	}
	o.Address = l.Addr()
	v, err := viewer.New(o)
	if err != nil {
		l.Close()
		return nil, exit{exitUsage, err}
	}
	fmt.Fprintf(std.out, "Look here: %s\n", v.URL())
	if at, err := netip.ParseAddrPort(l.Addr().String()); err == nil && !at.Addr().IsLoopback() {
		fmt.Fprintln(std.err, "Other machines are answered too, without encryption: whoever can listen on the network can read the key.")
	} else {
		fmt.Fprintln(std.err, "The address is for this machine and for you: it holds a key. Ctrl-C ends.")
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { v.Run(ctx) })
	ended := make(chan error, 1)
	go func() {
		err := localpage.Serve(ctx, l, v, browser, std.err)
		cancel()
		running.Wait()
		ended <- err
	}()
	return func() error { return <-ended }, nil
}
