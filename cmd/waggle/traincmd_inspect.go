package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/train/inspect"
)

// trainInspectCmd is `waggle train inspect`.
type trainInspectCmd struct {
	Path string `arg:"" help:"A model file, or the folder of a collected graph."`
	Top  int    `default:"10" placeholder:"N" help:"Weights or words shown for each state (default ${default})."`
	Plot string `placeholder:"FILE" help:"Draw the training curve as .svg or .png."`
}

// Run shows a model or a graph.
func (c *trainInspectCmd) Run(ctx context.Context, io streams) error {
	if c.Top < 0 || c.Top > 10_000 {
		return exit{exitUsage, fmt.Errorf("--top %d: give 0 to 10,000", c.Top)}
	}
	if err := isPlot(c.Plot); err != nil {
		return err
	}
	if info, err := os.Stat(c.Path); err == nil && info.IsDir() {
		if c.Plot != "" {
			return exit{exitUsage, errors.New("--plot: a collected graph has no training curve to draw")}
		}
		return c.graph(ctx, io)
	}
	f, err := model.Read(c.Path, nil)
	if err != nil {
		return exit{exitUsage, err}
	}
	var b bytes.Buffer
	inspect.Model(&b, c.Path, f, c.Top)
	if _, err := b.WriteTo(io.out); err != nil {
		return err
	}
	if c.Plot == "" {
		return nil
	}
	chart, ok := inspect.Curve(f)
	if !ok {
		return exit{exitUsage, fmt.Errorf("a model of kind %s has no training curve to draw", f.Kind)}
	}
	return savePlot(c.Plot, chart.Draw())
}

// graph shows a collected graph.
func (c *trainInspectCmd) graph(ctx context.Context, io streams) error {
	g, err := loadGraph(ctx, c.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "%s: %s, %s between them, for %s\n\n", c.Path, terminal.Count(len(g.Nodes), "page"), terminal.Count(len(g.Edges), "link"), event.Line(g.Topic.Name))
	inspect.Graph(io.out, g)
	if !folder.Exists(train.SequencesPath(c.Path)) {
		return nil
	}
	list, err := train.LoadSequences(train.SequencesPath(c.Path), g)
	if err != nil {
		return exit{exitUsage, err}
	}
	fmt.Fprintln(io.out)
	inspect.Sequences(io.out, c.Path, g, list)
	return nil
}
