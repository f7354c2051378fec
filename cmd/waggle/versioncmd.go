package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

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
	About []string `arg:"" optional:"" name:"command" help:"A command, or resume: what may change when a crawl goes on."`
}

// Help shows how to ask.
func (helpCmd) Help() string {
	return `  waggle help crawl
  waggle help web build
  waggle help resume`
}

// Run shows the help of a command.
func (c helpCmd) Run(parser *kong.Kong, io streams) error {
	if len(c.About) == 1 && c.About[0] == "resume" {
		_, err := fmt.Fprint(io.out, job.ResumeHelp())
		return err
	}
	_, err := parser.Parse(append(c.About, "--help")) // which ends the program
	if readerLeft(err, io.out) {
		return err
	}
	return exit{exitUsage, errors.Join(err, errors.New("waggle help alone lists the commands"))}
}
