package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	pages "github.com/waggle-crawler/waggle/docs/guide"
	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/job"
)

// versionCmd is `waggle version`.
type versionCmd struct {
	JSON bool `help:"As JSON: version, revision, time, modified, go, os, arch."`
}

// Help shows what to attach to a report.
func (versionCmd) Help() string {
	return `Tells the version, the revision of the source and whether that was modified, and
the version of Go. Name it when you report a fault.

  waggle version --json`
}

// Run prints the version.
func (c versionCmd) Run(io streams) error {
	b := cli.NewBuild(version)
	if c.JSON {
		return json.NewEncoder(io.out).Encode(b)
	}
	_, err := fmt.Fprintln(io.out, b)
	return err
}

// helpCmd is `waggle help`.
type helpCmd struct {
	About []string `arg:"" optional:"" name:"command" help:"A command; resume: what may change when a crawl goes on; guide: the pages of the guide; or one of them, such as logins."`
}

// Help shows how to ask.
func (helpCmd) Help() string {
	return `  waggle help crawl
  waggle help web build
  waggle help resume
  waggle help logins           a page of the guide
  waggle help guide            all pages
  waggle help guide export     one that is called as a command is`
}

// Run shows the help of a command.
func (c helpCmd) Run(parser *kong.Kong, io streams) error {
	if len(c.About) == 1 && c.About[0] == "resume" {
		_, err := fmt.Fprint(io.out, job.ResumeHelp())
		return err
	}
	if text, ok := c.page(parser); ok {
		_, err := fmt.Fprintf(io.out, "%s", text)
		return err
	}
	_, err := parser.Parse(append(c.About, "--help")) // which ends the program
	if readerLeft(err, io.out) {
		return err
	}
	return exit{exitUsage, errors.Join(err, errors.New("waggle help alone lists the commands"))}
}

// page is what is asked for of the guide. A command goes before a page of its name.
func (c helpCmd) page(parser *kong.Kong) (text []byte, ok bool) {
	switch {
	case len(c.About) == 1 && c.About[0] == "guide":
		return fmt.Appendf(nil, "The pages of the guide; waggle help guide NAME shows one:\n\n  %s\n", strings.Join(pages.Names(), "\n  ")), true
	case len(c.About) == 2 && c.About[0] == "guide":
		return pages.Page(c.About[1])
	case len(c.About) == 1 && !slices.ContainsFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == c.About[0] }):
		return pages.Page(c.About[0])
	}
	return nil, false
}
