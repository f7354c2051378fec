package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/lab/read"
)

// poolImportCmd is `waggle lab pool import`.
type poolImportCmd struct {
	Dir    string   `arg:"" help:"Folder of the pool."`
	Files  []string `arg:"" name:"file" help:"Files of labels."`
	Topic  string   `placeholder:"WEB/TOPIC" help:"Of lines that name no topic."`
	Reader string   `placeholder:"NAME" help:"Of lines that name no reader."`
	Round  int      `default:"1" help:"Of lines that name no round: 1 = independent, 2 = a second look."`
}

// Help tells the forms.
func (poolImportCmd) Help() string {
	return `Two forms are read. TSV, whose first line names the columns, in any order; grade
is needed, and n (the place in the order of the pool, from 1) or address:

  topic	n	address	grade	reader	round
  WEB/TOPIC	1	http://…	2	ada	1

and qrels of TREC, of which the second word is not looked at:

  WEB/TOPIC 0 http://… 2

Grades are 2 (mainly), 1 (in part), 0 (no), and ? (cannot tell). Every line is
checked; where one is wrong, or two files contradict each other, nothing is taken
in. A grade replaces the one that the same reader gave before. But a first grade
stays once another reader has given the page another one: agreement is measured on
first grades. A second look (--round 2) corrects it.

  waggle lab pool import truth ada.tsv --topic WEB/TOPIC --reader ada`
}

// Run takes labels in.
func (c *poolImportCmd) Run(std streams) error {
	o := pool.ImportOptions{Reader: c.Reader, Round: c.Round}
	if c.Round != 1 && c.Round != 2 {
		return exit{exitUsage, fmt.Errorf("--round=%d: 1 (independent) or 2 (second look) is wanted", c.Round)}
	}
	if c.Topic != "" {
		var err error
		if o.Topic, err = pool.ParseKey(c.Topic); err != nil {
			return exit{exitUsage, fmt.Errorf("--%w", err)}
		}
	}
	p, err := pool.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	labels, err := pool.NewImporter(p, o).ReadFiles(c.Files...)
	if err != nil {
		return exit{exitUsage, err}
	}
	lock, err := takePool(c.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	f, old, err := openLabels(std, c.Dir, p)
	if err != nil {
		return err
	}
	added, changed, err := pool.NewLabels(old, labels)
	if err != nil {
		return exit{exitUsage, errors.Join(err, f.Close())}
	}
	if err = errors.Join(f.Add(added...), f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s labels taken in, of which %s change a grade; %s were there\n", terminal.Number(len(added)), terminal.Number(changed), terminal.Number(len(labels)-len(added)))
	return err
}

// poolExportCmd is `waggle lab pool export`.
type poolExportCmd struct {
	Dir   string   `arg:"" help:"Folder of the pool."`
	Form  string   `arg:"" enum:"tsv,qrels,text" help:"What to write: tsv, qrels or text."`
	Web   []string `placeholder:"WEB" sep:"none" help:"text: the recorded web of the pages; may be repeated."`
	Topic []string `placeholder:"WEB/TOPIC" sep:"none" help:"Of these topics alone; may be repeated."`
	Words int      `default:"220" help:"text: words of a page, at most."`
	Part  int      `default:"80" help:"text: pages of a file."`
	Out   string   `short:"o" placeholder:"PATH" help:"tsv, qrels: a file (default: standard output); text: a folder."`
	Force bool     `help:"Replace the file, or the files of a topic, if they are there."`
}

// Help tells the forms.
func (poolExportCmd) Help() string {
	return `Forms:

  tsv     all labels, as waggle lab pool import reads them
  qrels   the grades of pages by all readers together, as TREC has them: of
          several grades the median, of two in the middle the lower; second looks
          at a page, where there are some, count alone; "cannot tell" is left out
  text    for reading elsewhere: a folder WEB-TOPIC for each topic, with files
          part-01.jsonl … of lines
            {"n":1,"address":"http://…","title":"…","text":"…"}
          in the order of the pool, the text from the main part of the page.
          Nothing tells who found a page.

  waggle lab pool export truth text --web WEB -o reading`
}

// Run exports.
func (c *poolExportCmd) Run(ctx context.Context, std streams) error {
	p, labels, err := openPool(c.Dir)
	if err != nil {
		return err
	}
	topics, err := p.Select(c.Topic)
	if err != nil {
		return exit{exitUsage, err}
	}
	if c.Form == "text" {
		return c.texts(ctx, std, p, topics)
	}
	labels = slices.DeleteFunc(labels, func(l pool.Label) bool {
		return !slices.ContainsFunc(topics, func(t *pool.Topic) bool { return t.Key() == l.Key })
	})
	write := pool.WriteTSV
	if c.Form == "qrels" {
		write = pool.WriteQrels
	}
	if c.Out == "" {
		if err = write(std.out, p, labels); errors.Is(err, syscall.EPIPE) {
			err = nil // the reader has enough
		}
		return err
	}
	if err := vacant(c.Out, c.Force, pool.Files(c.Dir)...); err != nil {
		return err
	}
	return folder.WriteBeside(c.Out, func(w io.Writer) error { return write(w, p, labels) })
}

// texts writes the pages for reading elsewhere.
func (c *poolExportCmd) texts(ctx context.Context, std streams, p *pool.Pool, topics []*pool.Topic) error {
	if c.Words < 1 || c.Part < 1 || c.Out == "" || len(c.Web) == 0 {
		return exit{exitUsage, errors.New("text needs -o FOLDER and --web WEB; --words and --part are at least 1")}
	}
	meter := terminal.NewMeter(std.err)
	defer meter.End()
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
	if err := folder.MayBe(c.Out); err != nil {
		return exit{exitUsage, err}
	}
	made, err := read.MakeTexts(c.Out, p, topics, webs, read.TextOptions{Part: c.Part, Words: c.Words, Replace: c.Force})
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: name another folder, or have it replaced with --force", err)
	}
	if err != nil {
		return unusable(err)
	}
	for _, t := range made {
		if err := t.Write(); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%s: %s in %s\n", t.Dir, terminal.Count(t.Pages, "page"), terminal.Count(t.Files(), "file"))
	}
	return nil
}
