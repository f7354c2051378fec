package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/waggle-crawler/waggle/lab/pathlab"
	"github.com/waggle-crawler/waggle/topic/paths"
)

// labPathsCmd is `waggle lab paths`.
type labPathsCmd struct {
	Web     string   `required:"" placeholder:"WEB" help:"Recorded web whose pages people have labelled (labels.tsv), or with --games that of the searches."`
	Topics  []string `placeholder:"NAME" help:"Kinds of page that are sought, each in turn."`
	Games   string   `placeholder:"FILE" help:"Recorded searches of people, as tab-separated lines: rank their clicks instead."`
	Repeats int      `default:"3" placeholder:"N" help:"Draws of paths (default ${default})."`
	Goals   int      `default:"6" placeholder:"N" help:"Paths to goals that teach (default ${default})."`
	Wrong   int      `default:"4" placeholder:"N" help:"Wrong turns that teach (default ${default})."`
	Pages   int      `default:"100" placeholder:"N" help:"Pages to forage of a site (default ${default})."`
	Tokens  []int    `default:"0,10,100" placeholder:"N" help:"Words of a page that are read (default 0,10,100)."`
	Seed    uint64   `help:"Of every draw."`
}

// Help tells what is measured.
func (labPathsCmd) Help() string {
	return `Prints tables in Markdown. Each site is tried in turn with what the others teach.
Measured are how well pages along paths are named (precision, recall, F1 over all
states A, for Goal G, for Goal against the rest B), and how many pages it takes
from the start page to the first goal; truth is what people have labelled.`
}

// Run measures.
func (c *labPathsCmd) Run(ctx context.Context, io streams) error {
	meter := newMeter(io.err)
	defer meter.end()
	w, pages, err := openPages(ctx, c.Web, meter)
	if err != nil {
		return err
	}
	defer w.Close() // it was read only
	tell := func(s string) { meter.show(0, 0, s) }
	var b bytes.Buffer
	if c.Games != "" {
		f, err := os.Open(c.Games)
		if err != nil {
			return exit{exitUsage, err}
		}
		defer f.Close() // it was read only
		var games []paths.Game
		if _, err := paths.ReadGames(f, c.Games, func(g paths.Game) bool { games = append(games, g); return true }); err != nil {
			return exit{exitUsage, err}
		}
		for _, shown := range []int{10, 50} {
			rows, err := pathlab.RankClicks(ctx, pages, games, pathlab.TrailOptions{Targets: 20, Shown: shown, Tested: 20, Seed: c.Seed}, tell)
			if err != nil {
				return err
			}
			pathlab.WriteClicks(&b, rows)
			fmt.Fprintln(&b)
		}
	} else {
		t := &pathlab.Trial{
			Web: w, Pages: pages, Topics: c.Topics, Repeats: c.Repeats, Goals: c.Goals, Wrong: c.Wrong, TestGoals: 14, TestWrong: 9, Budget: c.Pages, Seed: c.Seed,
		}
		if len(t.Topics) == 0 {
			for _, topic := range w.Topics {
				t.Topics = append(t.Topics, topic.Name)
			}
		}
		named, err := t.Names(ctx, c.Tokens, tell)
		if err != nil {
			return err
		}
		pathlab.WriteNaming(&b, named)
		reached, err := t.Reach(ctx, tell)
		if err != nil {
			return err
		}
		fmt.Fprintln(&b)
		pathlab.WriteReached(&b, reached)
	}
	meter.end()
	_, err = b.WriteTo(io.out)
	return err
}
