package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
)

// completionCmd is `waggle completion`.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help shows where the script goes.
func (completionCmd) Help() string {
	return `Prints a script by which a shell completes commands, flags and the values that can
be listed, such as the names of scorers. Print it anew after an update.

  waggle completion bash > ~/.local/share/bash-completion/completions/waggle
  waggle completion zsh > _waggle       and move it into a folder of $fpath
  waggle completion fish > ~/.config/fish/completions/waggle.fish`
}

// Run prints the script.
func (c completionCmd) Run(parser *kong.Kong, io streams) error {
	script, err := cli.Completion(c.Shell, parser.Model, listedValues())
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(io.out, script)
	return err
}

// listedValues are those that kong checks, and those of settings.
func listedValues() cli.Values {
	choices := map[string][]string{}
	for _, s := range job.Settings() {
		if s.Flag != "" {
			choices[s.Flag] = s.Choices
		}
	}
	return func(v *kong.Value) []string {
		if v.Enum != "" {
			return v.EnumSlice()
		}
		if v.Flag == nil {
			if v.Name == "form" {
				return formNames()
			}
			return nil
		}
		return choices[v.Flag.Name]
	}
}

// manCmd is `waggle man`.
type manCmd struct {
	Out string `short:"o" required:"" placeholder:"DIR" help:"Folder for the pages; those of an earlier version are replaced."`
}

// Help shows how to read a page.
func (manCmd) Help() string {
	return `Writes a man page of each command, made of the same descriptions as this help.

  waggle man -o ~/.local/share/man/man1
  man waggle-crawl`
}

// Run writes the pages.
func (c manCmd) Run(parser *kong.Kong, io streams) error {
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return exit{exitUsage, err}
	}
	pages := cli.Pages(parser.Model, version)
	for _, p := range pages {
		if err := folder.Write(filepath.Join(c.Out, p.Name), []byte(p.Text)); err != nil {
			return unusable(err)
		}
	}
	_, err := fmt.Fprintf(io.out, "%s: %s pages; man waggle shows the first\n", c.Out, terminal.Number(len(pages)))
	return err
}
