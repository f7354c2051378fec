package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// teachCmd is `waggle teach`, alone or with a command of its own.
type teachCmd struct {
	Show   teachShowCmd   `cmd:"" default:"withargs" help:"Show waggle the way: browse in a local page, and label pages (the default)."`
	Import teachImportCmd `cmd:"" help:"Make paths of click trails: browser profiles, files, recorded searches."`
}

// Help tells what the page is for.
func (teachCmd) Help() string {
	return `Browse to what you seek, and name the pages that matter on the way: milestones
that look alike on every site, Goal for what was sought, Fail for a wrong turn.
A few paths on a few sites are enough to begin with. Pages are fetched by waggle
and shown without scripts; the page that opens is for this machine only.

  waggle teach https://www.example.org/ --contact you@example.org --open
  waggle teach --web WEB -o paths.tsv      the same on a recorded web
  waggle teach import ~/.mozilla/firefox/PROFILE --site example.org -o paths.tsv

waggle teach show --help tells all flags.`
}

// teachShowCmd is `waggle teach show`, or `waggle teach` for short.
type teachShowCmd struct {
	Start []string `arg:"" optional:"" name:"url" help:"Start pages to offer (default, with --web: the seeds of its topics)."`
	Out   string   `short:"o" default:"paths.tsv" placeholder:"FILE" help:"File of the paths: kept after each click, and gone on with if it is there (default paths.tsv). JSON lines if it ends in .jsonl, else TSV. What can be undone is kept beside it, in FILE.undo."`
	Web   string   `placeholder:"WEB" help:"Browse a recorded web instead of the live one."`

	Milestone []string `sep:"none" placeholder:"NAME" help:"A label to offer from the beginning; may be repeated."`
	Task      string   `placeholder:"NAME" help:"What is sought, where one file holds paths of several searches."`

	Suggest  bool `help:"Offer to ask a model, made of what was shown so far, which pages to label next."`
	Images   bool `help:"Show images too."`
	NoStyles bool `help:"Show pages without their style sheets: quicker on slow sites."`

	jobFlags // of fetching

	Port int  `default:"0" placeholder:"N" help:"Port on this machine (default: any free one)."`
	Open bool `help:"Open the page in the browser."`
}

// Run serves the page until it is interrupted.
func (c *teachShowCmd) Run(ctx context.Context, io streams) error {
	o, done, err := c.options(ctx, io)
	if err != nil {
		return err
	}
	defer done()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--port: %w", err)}
	}
	o.Address = l.Addr().String()
	page, err := teach.New(o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(io.out, "Teach here: %s\n", page.URL())
	fmt.Fprintf(io.err, "The address is for this machine and for you: it holds a key. Paths are kept in %s; Ctrl-C ends.\n", event.Line(c.Out))
	return serveLocal(ctx, l, page, localPage{url: page.URL(), open: c.Open, stop: page.Close}, io)
}

// options sets up what is browsed and where paths are kept. done gives back
// what that holds.
func (c *teachShowCmd) options(ctx context.Context, io streams) (o teach.Options, done func(), err error) {
	keeper, err := openKeeper(c.Out)
	if err != nil {
		return o, nil, exit{exitUsage, err}
	}
	if keeper.note != "" {
		fmt.Fprintln(io.err, event.Line(keeper.note))
	}
	canon := web.Canon{}
	o = teach.Options{
		Parser: parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: canon}), Canon: canon,
		Paths: keeper.set, History: keeper.history, Keeper: c.Out, Save: keeper.save, Images: c.Images, Task: c.Task,
	}
	for _, m := range c.Milestone {
		label, err := paths.CleanLabel(m)
		if err == nil && label == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			return o, nil, exit{exitUsage, fmt.Errorf("--milestone %q is no label: %w", m, err)}
		}
		o.Milestones = append(o.Milestones, label)
	}
	for _, s := range c.Start {
		u, err := canon.Parse(s)
		if err != nil {
			return o, nil, exit{exitUsage, fmt.Errorf("start page: %w", err)}
		}
		o.Starts = append(o.Starts, u)
	}
	if c.Web != "" {
		w, err := corpus.Open(c.Web)
		if err != nil {
			return o, nil, exit{exitUsage, err}
		}
		o.Recorded, o.Has = w.Name, w.Has
		o.Fetcher, o.Canon = corpus.Fetcher{Web: w}, w.Canon()
		o.Parser = parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: o.Canon})
		if len(o.Starts) == 0 {
			o.Starts = seedsOf(w)
		}
		o.Titles = recordedTitles(ctx, o)
		done = func() { w.Close() } // it was read only
	} else {
		stack, err := c.stack(ctx, canon)
		if err != nil {
			return o, nil, exit{exitUsage, err}
		}
		o.Fetcher = stack
		done = func() { stack.Close() } // nothing is left to lose
	}
	if c.Suggest {
		o.Suggester = newPathAsker(o)
	}
	if !c.NoStyles {
		o.Resources = o.Fetcher
	}
	return o, done, nil
}

// stack fetches from the live web, pages and what they are shown with by one
// gate: whoever browses asks a host for one thing at a time.
func (c *teachShowCmd) stack(ctx context.Context, canon web.Canon) (*fetch.Stack, error) {
	o, err := politeOptions(ctx, &c.jobFlags)
	if err != nil {
		return nil, err
	}
	o.Canon, o.Types, o.MaxBody = canon, []string{"*/*"}, 6<<20
	return fetch.New(o)
}

// maxSeeds bounds the start pages offered.
const maxSeeds = 100

// seedsOf are the start pages of a recorded web's topics.
func seedsOf(w *corpus.Web) (out []web.URL) {
	seen := map[web.URL]bool{}
	for _, t := range w.Topics {
		for _, s := range t.Seeds {
			if !seen[s] && len(out) < maxSeeds {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// Bounds of what is read beforehand of a recorded web.
const (
	maxTitled = 400
	maxTitles = 3 * time.Second
)

// recordedTitles are the titles of the start pages and of the pages that paths
// kept so far end at, as far as a recorded web gives them in a short time.
func recordedTitles(ctx context.Context, o teach.Options) map[web.URL]string {
	ctx, cancel := context.WithTimeout(ctx, maxTitles)
	defer cancel()
	var pages []web.URL
	pages = append(pages, o.Starts...)
	for _, p := range slices.Backward(o.Paths) {
		for _, s := range slices.Backward(p.Steps) { // the present path is shown whole
			pages = append(pages, s.URL)
		}
	}
	titles := map[web.URL]string{}
	var mu sync.Mutex
	pool, ctx := errgroup.WithContext(ctx)
	pool.SetLimit(runtime.GOMAXPROCS(0))
	for _, u := range pages[:min(len(pages), maxTitled)] {
		pool.Go(func() error {
			r, err := o.Fetcher.Fetch(ctx, u)
			if err != nil || r.Status != http.StatusOK {
				return ctx.Err() // where there is no page there is no title
			}
			page, err := o.Parser.Parse(r)
			if err != nil {
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			titles[u] = page.Title
			return ctx.Err()
		})
	}
	pool.Wait() // late ones are left out
	return titles
}

// keeper keeps paths in a file, and what can be undone of them in another
// beside it, whose loss loses no path.
type keeper struct {
	name string
	set  []paths.Path
	// history is what can be undone and redone.
	history teach.History
	// note says why nothing that was done before can be undone, "" = it can.
	note string
	// held is what the file held when it was last read or written; nil = there
	// was none.
	held []byte
	// backup is a file to keep aside before the first writing, as it holds
	// what would be lost: comments, an order of its own.
	backup bool
}

// openKeeper reads the paths kept so far. Paths that are not understood are an
// error, as writing the file anew would lose them.
func openKeeper(name string) (*keeper, error) {
	k := &keeper{name: name}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if dir := filepath.Dir(name); dir != "." {
			if _, err := os.Stat(dir); err != nil {
				return nil, fmt.Errorf("-o %s: make its folder first: %w", name, err)
			}
		}
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	set, problems, err := paths.Read(bytes.NewReader(b), name)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%v\nPaths that are not understood (%d) would be lost from %s: mend it, or choose another -o FILE", problems[0], len(problems), name)
	}
	k.set, k.held = set, b
	if k.held == nil {
		k.held = []byte{}
	}
	anew, err := k.encode(set)
	k.backup = err == nil && !bytes.Equal(anew, b)
	f, err := os.Open(k.pastName())
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	if k.history, err = teach.ReadHistory(f, set); err != nil {
		k.note = fmt.Sprintf("What was done before cannot be undone: %s: %v.", f.Name(), err)
	}
	return k, nil
}

// pastName is the file of what can be undone.
func (k *keeper) pastName() string { return k.name + ".undo" }

func (k *keeper) encode(set []paths.Path) ([]byte, error) {
	var b bytes.Buffer
	write := paths.WriteTSV
	if strings.HasSuffix(k.name, ".jsonl") || strings.HasSuffix(k.name, ".json") {
		write = paths.WriteJSON
	}
	err := write(&b, set)
	return b.Bytes(), err
}

// save writes all paths, whole or not at all, unless somebody else wrote to
// the file meanwhile.
//
// Who is killed between the two files finds both on the same side of the
// action, or the past one action ahead, which ReadHistory knows: an action writes
// the past first, taking one back writes it last.
func (k *keeper) save(set []paths.Path, h teach.History) error {
	now, err := os.ReadFile(k.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case k.held == nil || !bytes.Equal(now, k.held):
		return fmt.Errorf("%s was changed by another program: end waggle teach and start it again to go on from there", k.name)
	}
	b, err := k.encode(set)
	if err != nil {
		return err
	}
	if k.backup {
		if err := folder.Write(k.name+"~", k.held); err != nil {
			return err
		}
		k.backup = false
	}
	back := len(h.Past) < len(k.history.Past)
	if !back {
		if err := k.savePast(set, h); err != nil {
			return err
		}
	}
	if err := folder.Write(k.name, b); err != nil {
		return err
	}
	k.held, k.history = b, h
	if back {
		k.savePast(set, h) // the paths are kept; at worst less can be undone after a restart
	}
	return nil
}

func (k *keeper) savePast(set []paths.Path, h teach.History) error {
	if len(h.Past)+len(h.Future) == 0 {
		if err := os.Remove(k.pastName()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var b bytes.Buffer
	if err := teach.WriteHistory(&b, set, h); err != nil {
		return err
	}
	return folder.Write(k.pastName(), b.Bytes())
}
