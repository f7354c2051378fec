package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/export"
	"github.com/waggle-crawler/waggle/extract"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
)

// exportCmd is `waggle export`.
type exportCmd struct {
	Dir     string   `arg:"" help:"Folder of the crawl, which may still run."`
	Form    string   `arg:"" help:"What to write: ${exports}."`
	With    []string `sep:"none" placeholder:"DIR" help:"Another crawl for the same export; may be repeated."`
	Without bool     `name:"without-opt-outs" help:"Leave out pages that say noindex, noarchive or noai, or reserve text and data mining."`
	Fields  string   `placeholder:"FILE" help:"Add the values of these fields to the tables of pages; see waggle help extract table."`
	Out     string   `short:"o" placeholder:"FILE" help:"The file (default, and -: standard output)."`
	Force   bool     `help:"Replace the file if it is there."`
}

// Help tells the forms.
func (exportCmd) Help() string {
	var b strings.Builder
	b.WriteString("Forms:\n\n")
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range export.Forms() {
		fmt.Fprintf(out, "  %s\t%s\n", x.Name, x.Line)
	}
	out.Flush() // a strings.Builder takes everything
	b.WriteString(`
For example:

  waggle export bees wacz -o bees.wacz                 open it in ReplayWeb.page
  waggle export bees pages-parquet -o bees.parquet
  duckdb -c "select url, relevance from 'bees.parquet' order by 2 desc limit 10"
  waggle export bees pages-csv --with wasps --without-opt-outs -o insects.csv

A page that several crawls hold is exported once, as it was fetched last. Texts of
pages are untrusted: tables for spreadsheets (harvest, CSV) hold them without formulas
and control characters, JSON escapes these, and Parquet has them as they are.
`)
	return b.String()
}

// exportNames lists the forms.
func exportNames() string {
	return strings.Join(formNames(), ", ")
}

func formNames() (names []string) {
	for _, x := range export.Forms() {
		names = append(names, x.Name)
	}
	return names
}

// Run exports.
func (c *exportCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	forms := export.Forms()
	i := slices.IndexFunc(forms, func(x export.Form) bool { return x.Name == c.Form })
	if i < 0 {
		return exit{exitUsage, fmt.Errorf("there is no form %q%s; there are: %s", c.Form, spelling.Hint(c.Form, formNames()), exportNames())}
	}
	in := &export.Input{WithoutOptOuts: c.Without, Parser: func(col collection.Collection) (crawl.Parser, error) { return job.LinkParser(col, docs), nil }}
	if c.Fields != "" {
		fields, err := extract.ReadFile(c.Fields)
		if err != nil {
			return unusable(err)
		}
		short := withFields(in, fields, docs)
		defer tellShort(std.err, short)
		if err := export.CheckColumns(c.Form, in.Columns); err != nil {
			return exit{exitUsage, fmt.Errorf("%s: %w", c.Fields, err)}
		}
	}
	for _, dir := range append([]string{c.Dir}, c.With...) {
		col, err := collection.Open(dir)
		if err != nil {
			return exit{exitUsage, err}
		}
		in.Collections = append(in.Collections, col)
	}
	var err error
	if c.Out == "" || c.Out == "-" {
		if forms[i].Binary && term.IsTerminal(int(std.out.Fd())) {
			return exit{exitUsage, fmt.Errorf("%s is nothing for a terminal: name a file, as with -o %s", c.Form, forms[i].File)}
		}
		if err = forms[i].Write(ctx, in, std.out); errors.Is(err, syscall.EPIPE) {
			err = nil // the reader has enough
		}
	} else if err = vacant(c.Out, c.Force, c.Fields); err == nil {
		err = exportTo(ctx, forms[i], in, c.Out)
	}
	return stoppedOr(ctx, err, "stopped before its end")
}

// exportTo writes an export to a file. One that is complete but for what cannot
// be read is kept.
func exportTo(ctx context.Context, x export.Form, in *export.Input, name string) error {
	var partial error
	err := folder.WriteBeside(name, func(out io.Writer) error {
		err := x.Write(ctx, in, out)
		if errors.Is(err, export.ErrPartial) {
			partial, err = err, nil
		}
		return err
	})
	return errors.Join(err, partial)
}
