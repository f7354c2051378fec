package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/teach"
	"github.com/waggle-crawler/waggle/teach/profile"
	"github.com/waggle-crawler/waggle/topic/paths"
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
	labels, err := paths.ParseAddressLabels(c.Label)
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--label %w", err)}
	}
	keeper, err := teach.OpenFile(c.Out)
	if err != nil {
		return exit{exitUsage, err}
	}
	note := func(format string, args ...any) { fmt.Fprintln(std.err, event.Line(fmt.Sprintf(format, args...))) }
	set, problems, err := profile.Trails(ctx, c.From, c.Site, c.DeadEnds, note)
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped; nothing was written")}
	}
	if err != nil {
		return unusable(err)
	}
	labels.Apply(set)
	if c.Web != "" {
		if set, err = c.recorded(ctx, set, &problems); err != nil {
			return err
		}
	}
	// What Check tells of paths that bear labels is worth knowing; those
	// without are kept all the same, to be labelled.
	_, found := paths.Check(slices.DeleteFunc(slices.Clone(set), func(p paths.Path) bool { return p.Ending() == "" }), nil)
	problems = append(problems, slices.DeleteFunc(found, func(p paths.Problem) bool { return p.Kind == paths.Repeated })...)
	paths.Tell(problems, func(text string) { note("%s", text) })
	known := len(keeper.Paths)
	was := len(set)
	if set = keeper.Missing(set); len(set) == 0 && was > 0 {
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
		return exit{exitUsage, fmt.Errorf("no path through %s was found in %s", strings.Join(c.Site, ", "), c.From)}
	}
	if err := keeper.Save(append(slices.Clone(keeper.Paths), set...), teach.History{}); err != nil {
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
		from := "--contact you@example.org"
		if c.Web != "" {
			from = "--web " + c.Web
		}
		fmt.Fprintf(std.out, "\nNext: waggle teach -o %s %s     and label the pages that matter\n", c.Out, from)
	}
	return nil
}

// recorded keeps the paths that stay in the recorded web, with the links that
// were followed.
func (c *teachImportCmd) recorded(ctx context.Context, set []paths.Path, problems *[]paths.Problem) ([]paths.Path, error) {
	w, err := corpus.Open(c.Web)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	defer w.Close()
	set, outside := paths.Within(ctx, set, corpus.NewLookup(w), filepath.Base(c.Web))
	if ctx.Err() != nil { // the rest was not looked up
		return nil, exit{exitStopped, errors.New("stopped; nothing was written")}
	}
	*problems = append(*problems, outside...)
	return set, nil
}
