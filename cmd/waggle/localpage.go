package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/localpage"
)

// localFlags are those of commands that serve a page to the person at this machine.
type localFlags struct {
	Port int  `default:"0" placeholder:"N" help:"Port on this machine (default: any free one)."`
	Open bool `help:"Open the page in the browser."`
}

// serve opens a page at an address and serves it until ctx ends: what it is for, and
// what is kept in which file.
func (f localFlags) serve(ctx context.Context, std streams, what, kept, file string, page func(address string) (localpage.Page, error)) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", f.Port))
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--port: %w", err)}
	}
	h, err := page(l.Addr().String())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(std.out, "%s here: %s\n", what, h.URL())
	fmt.Fprintf(std.err, "The address is for this machine and for you: it holds a key. %s are kept in %s; Ctrl-C ends.\n", kept, event.Line(file))
	return localpage.Serve(ctx, l, h, f.Open, std.err)
}
