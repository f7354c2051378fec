// Package localpage serves a page to the person at this machine, and opens it in the
// browser.
package localpage

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
)

// Page is a page for the person at this machine.
type Page interface {
	http.Handler
	URL() string // with its key
}

// Serve serves a page until ctx ends, and opens it in the person's browser where that
// is wanted; if that fails, warnings is told. Shutdown: the page stops waiting, if it is
// an io.Closer, then the server finishes what it does, for 5 seconds at most.
func Serve(ctx context.Context, l net.Listener, h Page, open bool, warnings io.Writer) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if open {
		done, err := openBrowser(h.URL())
		defer done()
		if err != nil {
			fmt.Fprintf(warnings, "No browser could be opened (%v): open the address yourself.\n", err)
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
