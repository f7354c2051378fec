package main

import (
	"context"
	"fmt"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/train/gather"
)

// trainCollectCmd is `waggle train collect`.
type trainCollectCmd struct {
	Out  string `short:"o" required:"" placeholder:"DIR" help:"Folder of the graph. A collection that was stopped goes on where it was."`
	File string `short:"f" placeholder:"JOB.yaml" help:"Job file: its topic and examples are the targets, and it says how to fetch."`

	Web   string `placeholder:"WEB" help:"A recorded web, or the folder of a finished crawl: pages, and in-links unless another provider is named, come from there."`
	Topic string `placeholder:"NAME" help:"Topic of the recorded web; its examples are the targets."`
	Truth bool   `help:"Take all relevant pages of that topic for targets: for experiments."`

	Target []string `sep:"none" placeholder:"URL" help:"A target; may be repeated."`

	MediaWiki string   `name:"mediawiki" placeholder:"API" help:"In-links: ask a wiki what links here, such as https://en.wikipedia.org/w/api.php."`
	Edges     []string `sep:"none" placeholder:"FILE" help:"In-links: a list of links, two addresses a line (.gz and .zst too); may be repeated."`
	CCNodes   []string `name:"cc-vertices" sep:"none" placeholder:"FILE" help:"In-links: vertices of a web graph of Common Crawl; may be repeated."`
	CCEdges   []string `name:"cc-edges" sep:"none" placeholder:"FILE" help:"The edges that go with them; may be repeated."`

	Hosts    []string `placeholder:"HOST,…" help:"Take pages of these hosts and of those below them only."`
	NotHosts []string `placeholder:"HOST,…" help:"Take none of these: they stay unseen for testing."`

	Layers     int     `default:"5" help:"Layers, targets included (default ${default})."`
	LayerNodes int     `default:"600" placeholder:"N" help:"Most pages a layer (default ${default})."`
	Fill       bool    `help:"Let pages that are in the graph already not count as in-links, so that layers fill up; the paper counts them."`
	Similar    float64 `default:"0.8" placeholder:"X" help:"Cosine from which a page counts as a target as well (default ${default}); 2 for none."`
	Seed       uint64  `placeholder:"N" help:"Seed of the draw among in-links."`
	AllPages   bool    `help:"On a record: take pages that ask not to be kept or followed."`

	cli.Flags // of the topic and of fetching

	Force bool `help:"Begin anew although DIR holds a graph."`
}

// Help shows the ways to in-links.
func (trainCollectCmd) Help() string {
	return `The graph is built backwards: layer 0 is the targets, each further layer is
pages that link to the one before. Who links to a page is told by

  --web WEB                   the links of a recorded web or a finished crawl
  --mediawiki API             a wiki's own "what links here"
  --edges FILE                a list of links, however long: it is read through
                              once a layer, and only what touches it is kept
  --cc-vertices, --cc-edges   a web graph as Common Crawl publishes it

and the pages come from WEB or, without it, from the web: politely, by robots.txt.

  waggle train collect -o bees --web WEB --topic bees
  waggle train collect -o bees -f job.yaml --mediawiki https://en.wikipedia.org/w/api.php
  waggle train collect -o bees --critic my.critic --focus /insects/bees --edges links.tsv.gz \
    --contact you@example.org
  waggle train sequences bees
  waggle train model bees --kind crf -o bees.model
  waggle train inspect bees.model
  waggle crawl -f job.yaml -o found --scorer crf --model bees.model`
}

// Run collects.
func (c *trainCollectCmd) Run(ctx context.Context, io streams) (err error) {
	meter := terminal.NewMeter(io.err)
	defer meter.End()
	g := gather.Collection{
		Out: c.Out, Web: c.Web, Topic: c.Topic, Truth: c.Truth, Target: c.Target,
		MediaWiki: c.MediaWiki, Edges: c.Edges, CCNodes: c.CCNodes, CCEdges: c.CCEdges, Hosts: c.Hosts, NotHosts: c.NotHosts,
		Layers: c.Layers, LayerNodes: c.LayerNodes, Fill: c.Fill, Similar: c.Similar, Seed: c.Seed, AllPages: c.AllPages, Force: c.Force,
		Note: func(s string) { fmt.Fprintln(io.err, event.Line(s)) }, Progress: meter.Show,
	}
	if err := g.Check(); err != nil {
		return exit{exitUsage, err}
	}
	place := folder.Absent(c.Out)
	defer func() { removeUnusable(place, err) }()
	lock, err := takeResults(c.Out)
	if err != nil {
		return err
	}
	defer lock.Close()
	if g.Job, err = readJob(c.File); err == nil {
		if c.Value("judge.critic") != "" {
			g.Job.Judge.Name, g.Job.Judge.Focus = "critic", nil
		}
		err = c.Apply(g.Job)
	}
	if err == nil && c.Topic == "" && len(c.Target) == 0 {
		err = cli.Placed(g.Job.TakeTopic())
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	graph, err := g.Run(ctx)
	meter.End()
	if err != nil {
		return stoppedOr(ctx, wrongJob(err), "stopped; the same command goes on where it was")
	}
	g.Report(io.out, graph)
	return nil
}
