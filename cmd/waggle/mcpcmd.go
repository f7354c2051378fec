package main

import (
	"context"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/viewer/mcp"
)

// mcpCmd is `waggle mcp`.
type mcpCmd struct {
	Dir        string `arg:"" help:"Folder of the crawl, which may still run."`
	AllowLabel bool   `help:"Offer the tool label: what the program calls relevant or irrelevant changes the crawl."`
}

// Help tells how a program is given the tools.
func (mcpCmd) Help() string {
	return `A program that speaks the Model Context Protocol starts this command and asks it
over standard input and output. It is told of it by a line of its configuration, most
often

  {"mcpServers": {"bees": {"command": "waggle", "args": ["mcp", "/home/you/bees"]}}}

or it is given the command itself:

  waggle mcp bees
  waggle mcp bees --allow-label

The tools are figures, search, page and explain, and label if that is allowed. Nothing
is fetched from the web. search looks at the texts of pages once waggle index has run.
What is told to the program are texts of strangers: it is warned of them, and should
have no tool with which a page that lies to it could do harm.`
}

// Run answers until the program leaves.
func (c *mcpCmd) Run(ctx context.Context, std streams, docs parse.Documents) error {
	col, err := collection.Open(c.Dir)
	if err != nil {
		return exit{exitUsage, err}
	}
	return mcp.New(mcp.Options{Collection: col, Documents: docs, Version: version, AllowLabel: c.AllowLabel}).Run(ctx, std.in, std.out)
}
