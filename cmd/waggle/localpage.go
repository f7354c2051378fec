package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/waggle-crawler/waggle/event"
)

// localFlags are those of commands that serve a page to the person at this machine.
type localFlags struct {
	Port int  `default:"0" placeholder:"N" help:"Port on this machine (default: any free one)."`
	Open bool `help:"Open the page in the browser."`
}

// localPage is such a page.
type localPage interface {
	http.Handler
	URL() string // with its key
}

// serve opens a page at an address and serves it until ctx ends: what it is for, and
// what is kept in which file. Shutdown: the page stops waiting, if it has a Close, then
// the server finishes what it does.
func (f localFlags) serve(ctx context.Context, std streams, what, kept, file string, page func(address string) (localPage, error)) error {
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
	return serveUntil(ctx, std, l, h, f.Open)
}

// serveUntil serves a page until ctx ends, and opens it in the person's browser where
// that is wanted.
func serveUntil(ctx context.Context, std streams, l net.Listener, h localPage, open bool) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if open {
		done, err := openBrowser(h.URL())
		defer done()
		if err != nil {
			fmt.Fprintf(std.err, "No browser could be opened (%v): open the address yourself.\n", err)
		}
	}
	stop := func() error { return nil }
	if c, ok := h.(io.Closer); ok {
		stop = c.Close
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case <-ctx.Done():
	case err := <-ended:
		return errors.Join(err, stop())
	}
	err := stop()
	wait, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(wait); err != nil {
		srv.Close() // a fetch that does not end
	}
	<-ended
	return err
}

// openBrowser shows an address in the person's browser. Arguments of programs
// can be read by everybody on the machine, so the browser is given a file that
// only this person can read, and which leads to the address. done removes it.
func openBrowser(address string) (done func(), err error) {
	f, err := os.CreateTemp("", "waggle-page-*.html") // readable by its owner alone
	if err != nil {
		return func() {}, err
	}
	done = func() { os.Remove(f.Name()) } // at worst it stays: its key is void by then
	_, err = fmt.Fprintf(f, `<!DOCTYPE html><meta http-equiv="refresh" content="0;url=%s"><a href="%[1]s">waggle</a>`, html.EscapeString(address))
	if err = errors.Join(err, f.Close()); err != nil {
		return done, err
	}
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", f.Name())
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", f.Name())
	default:
		cmd = exec.Command("xdg-open", f.Name())
	}
	if err := cmd.Start(); err != nil {
		return done, err
	}
	return done, cmd.Process.Release() // it may live as long as the browser does
}
