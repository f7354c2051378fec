package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/teach/profile"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// teachImportCmd is `waggle teach import`.
type teachImportCmd struct {
	From string   `arg:"" help:"A browser's profile folder, its places.sqlite or History, a file of paths (TSV, JSON), or recorded searches (.tsv, .tsv.zst: kind, seconds, end, target, path)."`
	Site []string `required:"" sep:"none" placeholder:"HOST" help:"A site to take paths of; all others are left alone. May be repeated."`
	Out  string   `short:"o" required:"" placeholder:"FILE" help:"File of the paths; those it holds already are kept. JSON lines if it ends in .jsonl, else TSV."`

	Label    []string `sep:"none" placeholder:"NAME=REGEXP" help:"Label pages whose address matches, such as Goal=/courses/cs[0-9]+; may be repeated, the first that matches holds."`
	DeadEnds bool     `help:"Of recorded searches, keep also the ways that were gone back from, as Fail."`
	Web      string   `placeholder:"WEB" help:"A recorded web: leave out paths that leave it, and look up the links that were followed."`
	Limit    int      `placeholder:"N" help:"At most so many paths (default: all)."`
}

// Help tells what is read and what is not.
func (teachImportCmd) Help() string {
	return `Browsers remember which page a visit came from, so the ways you went through a
site are in your profile. It is read from a copy, so the browser may be running;
only visits to the sites you name are looked at, and nothing leaves this machine.
Ways from a profile bear no labels yet: give some with --label, or with
waggle teach -o FILE.`
}

// Run imports.
func (c *teachImportCmd) Run(ctx context.Context, std streams) error {
	labels, err := c.labels()
	if err != nil {
		return exit{exitUsage, err}
	}
	keeper, err := openKeeper(c.Out)
	if err != nil {
		return exit{exitUsage, err}
	}
	note := func(format string, args ...any) { fmt.Fprintln(std.err, event.Line(fmt.Sprintf(format, args...))) }
	set, problems, err := c.read(ctx, note)
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped; nothing was written")}
	}
	if err != nil {
		return err
	}
	for i := range set {
		for j := range set[i].Steps {
			s := &set[i].Steps[j]
			for _, l := range labels {
				if s.Label == "" && l.pattern.MatchString(s.URL.String()) {
					s.Label = l.name
				}
			}
		}
	}
	if c.Web != "" {
		if set, err = c.recorded(ctx, set, &problems); err != nil {
			return err
		}
	}
	// What Check tells of paths that bear labels is worth knowing; those
	// without are kept all the same, to be labelled.
	_, found := paths.Check(slices.DeleteFunc(slices.Clone(set), func(p paths.Path) bool { return p.Ending() == "" }), nil)
	problems = append(problems, slices.DeleteFunc(found, func(p paths.Problem) bool { return p.Kind == paths.Repeated })...)
	for i, p := range problems {
		if i == maxTold {
			note("… and %d more such notes", len(problems)-i)
			break
		}
		note("%s", p)
	}
	known := len(keeper.set)
	was := len(set)
	if set = keeper.lacks(set); len(set) == 0 && was > 0 {
		fmt.Fprintf(std.out, "%s: nothing new; %s it holds already\n", c.Out, terminal.Count(was, "path"))
		return nil
	}
	if n := was - len(set); n > 0 {
		note("%s stand in %s already, and are not added again", terminal.Count(n, "path"), c.Out)
	}
	if c.Limit > 0 && len(set) > c.Limit {
		set = set[:c.Limit]
	}
	if len(set) == 0 {
		return exit{exitNothing, fmt.Errorf("no path through %s was found in %s", strings.Join(c.Site, ", "), c.From)}
	}
	if err := keeper.save(append(slices.Clone(keeper.set), set...), teach.History{}); err != nil {
		return err
	}
	labelled := 0
	for i := range set {
		if set[i].Ending() != "" {
			labelled++
		}
	}
	were := "paths"
	if len(set) == 1 {
		were = "path"
	}
	fmt.Fprintf(std.out, "%s: %s %s, %s with labels", c.Out, terminal.Number(len(set)), were, terminal.Number(labelled))
	if known > 0 {
		fmt.Fprintf(std.out, ", and %s from before", terminal.Number(known))
	}
	fmt.Fprintln(std.out)
	if labelled < len(set) {
		fmt.Fprintf(std.out, "\nNext: waggle teach -o %s     and label the pages that matter\n", c.Out)
	}
	return nil
}

// lacks are those of set that k does not hold: neither as they are nor, where they
// bear no label, as ways that were labelled since.
func (k *keeper) lacks(set []paths.Path) []paths.Path {
	way := func(p *paths.Path, labels bool) string {
		var b strings.Builder
		b.WriteString(p.Task)
		for _, s := range p.Steps {
			b.WriteString("\n" + s.URL.String())
			if labels {
				b.WriteString("\t" + s.Label)
			}
		}
		return b.String()
	}
	held := make(map[string]bool, 2*len(k.set))
	for i := range k.set {
		held[way(&k.set[i], false)], held[way(&k.set[i], true)] = true, true
	}
	return slices.DeleteFunc(slices.Clone(set), func(p paths.Path) bool { return held[way(&p, p.Ending() != "")] })
}

// maxTold bounds the notes about paths.
const maxTold = 20

type pageLabel struct {
	name    string
	pattern *regexp.Regexp
}

func (c *teachImportCmd) labels() (out []pageLabel, err error) {
	for _, l := range c.Label {
		name, pattern, ok := strings.Cut(l, "=")
		if !ok {
			return nil, fmt.Errorf("--label %q: write NAME=REGEXP", l)
		}
		p := pageLabel{}
		if p.name, err = paths.CleanLabel(name); err != nil || p.name == "" {
			return nil, fmt.Errorf("--label %q: %w", l, errors.Join(errors.New("no usable name"), err))
		}
		if p.pattern, err = regexp.Compile(pattern); err != nil {
			return nil, fmt.Errorf("--label %q: %w", l, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// read reads whatever From is.
func (c *teachImportCmd) read(ctx context.Context, note func(string, ...any)) ([]paths.Path, []paths.Problem, error) {
	head, err := beginning(c.From)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	if head == nil || bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		f, err := profile.Read(ctx, c.From, profile.Options{Sites: c.Site})
		if err != nil {
			return nil, nil, err
		}
		note("%s, schema version %d: read a copy of %s", f.Browser, f.Version, strings.Join(f.Copied, " and "))
		if f.Behind && head != nil { // a file of its own, no profile
			note("no %s-wal was beside it: if this is a copy made while the browser was running, copy that too, as the latest visits are there", filepath.Base(c.From))
		}
		note("%s visits to %s", terminal.Number(f.Visits), strings.Join(c.Site, ", "))
		return f.Paths, nil, nil
	}
	sites, err := profile.Sites(c.Site)
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	in, closeIn, err := openText(c.From, head)
	if err != nil {
		return nil, nil, err
	}
	defer closeIn()
	b := bufio.NewReaderSize(in, 64<<10)
	first, err := b.Peek(4 << 10)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, fmt.Errorf("%s: %w", c.From, err)
	}
	var set []paths.Path
	var problems []paths.Problem
	if isGames(first) {
		problems, err = paths.ReadGames(b, c.From, func(g paths.Game) bool {
			var ways []paths.Path
			if ways, err = g.Paths(c.DeadEnds); err != nil {
				return false
			}
			for i := range ways {
				ways[i].File = c.From
			}
			set = append(set, ways...)
			return ctx.Err() == nil
		})
	} else {
		set, problems, err = paths.Read(b, c.From)
	}
	if err != nil {
		return nil, nil, err
	}
	before := len(set)
	set = slices.DeleteFunc(set, func(p paths.Path) bool {
		for _, s := range p.Steps {
			if sites.Of(s.URL) == "" {
				return true
			}
		}
		return false
	})
	if left := before - len(set); left > 0 {
		note("paths that go to other sites are left out: %s", terminal.Number(left))
	}
	return set, problems, nil
}

// beginning is the first bytes of a file, nil for a folder.
func beginning(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		// A pipe would be without its beginning when it is read for good.
		return nil, fmt.Errorf("%s is no regular file: write what it gives to one, and name that", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 16)
	n, err := io.ReadFull(f, b)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return b[:n:n], nil
}

// openText opens a file of text, compressed by zstd or not.
func openText(name string, head []byte) (io.Reader, func(), error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return f, func() { f.Close() }, nil // it was read only
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return z, func() { z.Close(); f.Close() }, nil
}

// isGames tells recorded searches from paths by the first line that is no
// comment.
func isGames(head []byte) bool {
	for line := range bytes.Lines(head) {
		if line[0] != '#' && len(bytes.TrimSpace(line)) > 0 {
			return bytes.HasPrefix(line, []byte("finished\t")) || bytes.HasPrefix(line, []byte("unfinished\t"))
		}
	}
	return false
}

// recorded keeps the paths that stay in the recorded web, with the links that
// were followed.
func (c *teachImportCmd) recorded(ctx context.Context, set []paths.Path, problems *[]paths.Problem) ([]paths.Path, error) {
	w, err := corpus.Open(c.Web)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	defer w.Close()
	rec := newRecord(w)
	return slices.DeleteFunc(set, func(p paths.Path) bool {
		if ctx.Err() != nil {
			return true
		}
		for _, s := range p.Steps {
			if _, ok := rec.Page(s.URL); !ok {
				*problems = append(*problems, paths.Problem{Kind: paths.Outside, Place: p.Place(), Dropped: true,
					Text: fmt.Sprintf("%s is not in %s; the path is left out", s.URL, filepath.Base(c.Web))})
				return true
			}
		}
		paths.Resolve(&p, rec)
		return false
	}), nil
}

// record looks pages up in a recorded web, and remembers the latest.
type record struct {
	web    *corpus.Web
	parser *parse.Parser
	pages  map[web.URL]*web.Page
}

func newRecord(w *corpus.Web) *record {
	return &record{w, parse.New(parse.Options{Analyzer: text.NewAnalyzer(), Canon: w.Canon()}), map[web.URL]*web.Page{}}
}

// Page implements paths.Record.
func (r *record) Page(u web.URL) (*web.Page, bool) {
	if p, ok := r.pages[u]; ok {
		return p, p != nil
	}
	var page *web.Page
	if resp, err := r.web.Lookup(u); err == nil && resp.Status/100 == 2 {
		page, _ = r.parser.Parse(resp) // what is no page is none
	}
	if len(r.pages) >= 10_000 {
		clear(r.pages)
	}
	r.pages[u] = page
	return page, page != nil
}
