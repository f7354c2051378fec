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

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// exportCmd is `waggle export`.
type exportCmd struct {
	Dir   string `arg:"" help:"Folder of the crawl, which may still run."`
	Form  string `arg:"" help:"What to write: ${exports}."`
	Out   string `short:"o" placeholder:"FILE" help:"The file (default, and -: standard output)."`
	Force bool   `help:"Replace the file if it is there."`
}

// Help tells the forms.
func (exportCmd) Help() string {
	var b strings.Builder
	b.WriteString("Forms:\n\n")
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range collection.Exports() {
		fmt.Fprintf(out, "  %s\t%s\n", x.Name, x.Line)
	}
	out.Flush() // a strings.Builder takes everything
	b.WriteString("\n  waggle export bees cdxj -o bees.cdxj\n")
	return b.String()
}

// exportNames lists the forms.
func exportNames() string {
	var names []string
	for _, x := range collection.Exports() {
		names = append(names, x.Name)
	}
	return strings.Join(names, ", ")
}

// Run exports.
func (c *exportCmd) Run(ctx context.Context, std streams) error {
	forms := collection.Exports()
	i := slices.IndexFunc(forms, func(x collection.Export) bool { return x.Name == c.Form })
	if i < 0 {
		return exit{exitUsage, fmt.Errorf("there is no form %q; there are: %s", c.Form, exportNames())}
	}
	col, err := collection.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	if c.Out == "" || c.Out == "-" {
		if err = forms[i].Write(ctx, col, std.out); errors.Is(err, syscall.EPIPE) {
			err = nil // the reader has enough
		}
	} else if err = vacant(c.Out, c.Force); err == nil {
		err = exportTo(ctx, forms[i], col, c.Out)
	}
	if ctx.Err() != nil {
		return exit{exitStopped, errors.New("stopped before its end")}
	}
	return err
}

// exportTo writes an export to a file. One that is complete but for what cannot
// be read is kept.
func exportTo(ctx context.Context, x collection.Export, col collection.Collection, name string) error {
	var partial error
	err := folder.WriteFrom(name, func(out io.Writer) error {
		err := x.Write(ctx, col, out)
		if errors.Is(err, collection.ErrPartial) {
			partial, err = err, nil
		}
		return err
	})
	return errors.Join(err, partial)
}
