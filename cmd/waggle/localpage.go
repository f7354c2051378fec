package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// localPage is a page that a command serves to the person at this machine.
type localPage struct {
	url  string
	open bool         // in the browser
	stop func() error // ends requests that wait; nil = none do
}

// serveLocal serves a local page until ctx ends. Shutdown: the page stops
// waiting, then the server finishes what it does.
func serveLocal(ctx context.Context, l net.Listener, h http.Handler, p localPage, std streams) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if p.open {
		done, err := openBrowser(p.url)
		defer done()
		if err != nil {
			fmt.Fprintf(std.err, "No browser could be opened (%v): open the address yourself.\n", err)
		}
	}
	stop := func() error { return nil }
	if p.stop != nil {
		stop = p.stop
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
