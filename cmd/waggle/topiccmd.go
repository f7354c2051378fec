package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
	"github.com/waggle-crawler/waggle/train/examples"
)

// topicCmds are the commands of taxonomies, in the order they are used.
type topicCmds struct {
	Import topicImportCmd `cmd:"" help:"Make a taxonomy of an Open Directory dump, a folder tree or a table."`
	Prune  topicPruneCmd  `cmd:"" help:"Fold small topics, add Other, cap large classes."`
	Train  topicTrainCmd  `cmd:"" help:"Fetch the example pages of a taxonomy and train a critic."`
	Show   topicShowCmd   `cmd:"" help:"Show a taxonomy or a critic."`
}

// Help tells how the commands follow one another.
func (topicCmds) Help() string {
	return `From a table of topics and addresses to a crawl:

  waggle topic import examples.tsv -o all.tax
  waggle topic train all.tax -o my.critic --contact you@example.org
  waggle crawl --critic my.critic --focus /insects/bees -o bees --contact you@example.org

The crawl starts from example pages of the topic in focus, up to 30, and takes the names
on its path for keywords, unless seeds, examples or keywords are given. A directory with
many or small topics is pruned in between:

  waggle topic import --structure structure.rdf.u8.gz content.rdf.u8.gz -o dmoz.tax.gz
  waggle topic prune dmoz.tax.gz -o classes.tax
  waggle topic train classes.tax -o dmoz.critic --contact you@example.org
  waggle topic show dmoz.critic /Recreation/Outdoors

In the job file of a crawl it is

  judge: {name: critic, critic: dmoz.critic, focus: [/Recreation/Outdoors/Speleology]}`
}

// topicImportCmd is `waggle topic import`.
type topicImportCmd struct {
	From      string `arg:"" help:"What to import: content.rdf.u8 of an Open Directory dump, a folder with folders of HTML files and lists of addresses, or a table (.csv, .tsv) of topic and address. All may be gzipped."`
	Out       string `short:"o" required:"" placeholder:"FILE" help:"The taxonomy; gzipped if its name ends in .gz."`
	Structure string `placeholder:"FILE" help:"structure.rdf.u8 of the same dump."`
	Under     string `placeholder:"TOPIC" help:"Import only this topic and what is below it."`
	Twice     string `default:"first" enum:"first,all,error" placeholder:"WHAT" help:"An address under several topics stays with the first, goes to all, or is an error."`
	NamesOnly bool   `help:"Build the tree of a dump from the names of topics alone."`
	Partial   bool   `help:"Take a dump of which the end is lost as far as it goes."`
	Force     bool   `help:"Replace the file that is there."`
}

// Run imports.
func (c *topicImportCmd) Run(ctx context.Context, std streams) error {
	info, err := os.Stat(c.From)
	if err != nil {
		return exit{exitUsage, err}
	}
	if err := vacant(c.Out, c.Force, c.From, c.Structure); err != nil {
		return err
	}
	meter := terminal.NewMeter(std.err)
	defer meter.End()
	o := taxonomy.Options{Under: c.Under, Twice: taxonomy.Twice(c.Twice), NamesOnly: c.NamesOnly, Partial: c.Partial, Progress: func(n int) {
		if n%1000 == 0 {
			meter.Show(n, 0, "examples")
		}
	}}
	if info.IsDir() {
		if o.Prefix, err = folder.Between(c.Out, c.From); err != nil {
			return err
		}
	}
	var got taxonomy.ImportReport
	err = folder.WriteZipped(c.Out, func(w io.Writer) error {
		var err error
		got, err = taxonomy.Import(ctx, w, c.From, c.Structure, o)
		return err
	})
	meter.End()
	if err != nil {
		return stoppedOr(ctx, unusable(err), "stopped; nothing was written")
	}
	fmt.Fprintf(std.out, "%s: %s of %s\n", c.Out, terminal.Count(got.Examples, "example"), terminal.Count(got.Topics, "topic"))
	got.WriteNotes(std.out, o)
	return nil
}

// topicPruneCmd is `waggle topic prune`.
type topicPruneCmd struct {
	Taxonomy string `arg:"" help:"The taxonomy."`
	Out      string `short:"o" required:"" placeholder:"FILE" help:"The classes, a taxonomy again; gzipped if its name ends in .gz."`
	K        int    `short:"k" default:"300" placeholder:"N" help:"A topic with fewer examples is folded into the one above it (default ${default})."`
	Cap      int    `default:"300" placeholder:"N" help:"Examples a class keeps, drawn by chance; 0 = all (default ${default})."`
	Seed     uint64 `placeholder:"N" help:"Seed of all random draws."`
	Force    bool   `help:"Replace the file that is there."`
}

// Run prunes.
func (c *topicPruneCmd) Run(ctx context.Context, std streams) error {
	o := taxonomy.Pruning{K: c.K, Cap: c.Cap, Seed: c.Seed}
	if c.K < 1 || c.Cap < 0 {
		return exit{exitUsage, fmt.Errorf("-k %d --cap %d: k is at least 1, and the cap at least 0", c.K, c.Cap)}
	}
	if c.Cap == 0 {
		o.Cap = -1
	}
	if _, err := os.Stat(c.Taxonomy); err != nil {
		return exit{exitUsage, err}
	}
	err := vacant(c.Out, c.Force, c.Taxonomy)
	if err != nil {
		return err
	}
	if o.Prefix, err = folder.Between(c.Out, filepath.Dir(c.Taxonomy)); err != nil {
		return err
	}
	open := func() (io.ReadCloser, error) {
		in, err := taxonomy.Open(c.Taxonomy)
		return struct {
			io.Reader
			io.Closer
		}{terminal.Until(ctx, in), in}, err
	}
	var got taxonomy.PruneReport
	if err := folder.WriteZipped(c.Out, func(w io.Writer) error {
		got, err = taxonomy.Prune(open, c.Taxonomy, w, o)
		return err
	}); err != nil {
		return stoppedOr(ctx, unusable(err), "stopped; nothing was written")
	}
	got.Write(std.out, c.Out, c.K)
	return nil
}

// topicShowCmd is `waggle topic show`.
type topicShowCmd struct {
	File  string   `arg:"" help:"A taxonomy or a critic."`
	Topic string   `arg:"" optional:"" help:"The topic to show (default: the root)."`
	Depth int      `default:"2" placeholder:"N" help:"Topics below it, down to this depth (default ${default})."`
	Focus []string `sep:"none" placeholder:"TOPIC" help:"Of a critic: how well it tells this topic, and all below it, from the rest; may be repeated."`
	Plot  string   `placeholder:"FILE" help:"Of a critic: draw, as .svg or .png, how its probabilities agree with the held-out pages."`
}

// Run shows.
func (c *topicShowCmd) Run(std streams) error {
	if err := isPlot(c.Plot); err != nil {
		return err
	}
	in, err := taxonomy.Open(c.File)
	if err != nil {
		return exit{exitUsage, err}
	}
	defer in.Close()
	head := bufio.NewReader(in)
	start, _ := head.Peek(13)
	if string(start) == "waggle critic" {
		in.Close()
		return c.critic(std)
	}
	if len(c.Focus) > 0 || c.Plot != "" {
		return exit{exitUsage, fmt.Errorf("%s is no critic: --focus and --plot are for what waggle topic train made", c.File)}
	}
	tree, err := taxonomy.ReadTree(head, c.File)
	if err != nil {
		return unusable(err)
	}
	root, err := c.root(tree.Has, func() []string { return taxonomy.Near(c.Topic, tree.Topics(), 5) })
	if err != nil {
		return err
	}
	return tree.Write(std.out, root, c.Depth)
}

// root is the topic to show.
func (c *topicShowCmd) root(has func(string) bool, near func() []string) (string, error) {
	root, err := taxonomy.Find(c.Topic, has, near)
	if err != nil {
		return "", exit{exitUsage, err}
	}
	return root, nil
}

// critic shows one.
func (c *topicShowCmd) critic(std streams) error {
	cr, err := readCritic(c.File)
	if err != nil {
		return exit{exitUsage, err}
	}
	rec := &cr.Record
	if len(c.Focus) > 0 {
		good, err := cr.Focus(c.Focus)
		if err != nil {
			return exit{exitUsage, err}
		}
		if err := examples.WriteFocus(std.out, cr, good); err != nil {
			return exit{exitUsage, err}
		}
	} else {
		topics := examples.TopicsOf(rec)
		root, err := c.root(topics.Has, func() []string { return taxonomy.Near(c.Topic, topics.All(), 5) })
		if err != nil {
			return err
		}
		count := func(p string) string { return terminal.Number(topics.Pages(p)) }
		if err := taxonomy.WriteTree(std.out, root, c.Depth, topics.Below, count); err != nil {
			return err
		}
		fmt.Fprintln(std.out)
		examples.WriteRecord(std.out, rec)
	}
	if c.Plot != "" {
		return savePlot(c.Plot, examples.Reliability(rec).Draw())
	}
	return nil
}

// readCritic reads the file that waggle topic train made.
func readCritic(name string) (*judge.Critic, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return judge.ReadCritic(b, name)
}
