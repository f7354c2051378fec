package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/login"
	"github.com/waggle-crawler/waggle/web"
)

// loginCmd is `waggle login`.
type loginCmd struct {
	URLs        []string `arg:"" name:"url" placeholder:"URL" help:"The page at which you log in; of further ones, such as a wiki that one login opens too, the cookies are taken as well."`
	Out         string   `short:"o" default:"cookies.txt" placeholder:"FILE" help:"The file of cookies (default ${default}); those of other sites in it stay."`
	Unsandboxed bool     `help:"Permit the browser to run without its sandbox, which root cannot have."`
}

// Help says what happens.
func (loginCmd) Help() string {
	return `For example:

  waggle login https://wiki.example.org/login -o cookies.txt
  waggle crawl https://wiki.example.org/ -o notes --keywords "honey bee" \
      --cookies cookies.txt --contact you@example.org

A window of Chromium opens at the first page, with a profile of its own that is removed
afterwards. Log in there, also where a second step or a picture to read is asked for. Then
press Enter here, or close the window: the cookies of the sites that you named go into the
file, which only you may read. waggle sees neither name nor password.

Leave out of the crawl what a link must not do in your name: --exclude '(?i)log-?out|delete'.
When the login has run out, log in again into the same file.`
}

// Run opens the window.
func (c *loginCmd) Run(ctx context.Context, std streams) (err error) {
	var urls []web.URL
	for _, s := range c.URLs {
		u, err := web.Given(s)
		if err != nil {
			return exit{exitUsage, err}
		}
		urls = append(urls, u)
	}
	if dir := filepath.Dir(c.Out); !folder.Exists(dir) {
		return exit{exitUsage, fmt.Errorf("-o %s: there is no folder %s; make it first", c.Out, dir)}
	}
	jar, err := cookies.Open(c.Out, clock.System{})
	if err != nil {
		return exit{exitUsage, err}
	}
	defer func() { err = errors.Join(err, jar.Close()) }() // closed already where its cookies were written
	w, err := login.Open(ctx, login.Options{URLs: urls, Unsandboxed: c.Unsandboxed})
	switch {
	case errors.Is(err, login.ErrNoScreen):
		return exit{exitUsage, fmt.Errorf("%w: log in on the machine before you and copy the file of cookies here, or take the cookie from the developer tools of your browser (waggle help logins)", err)}
	case errors.Is(err, devtools.ErrSandbox):
		return exit{exitUsage, fmt.Errorf("%w: log in as a user that is not root, or permit it with --unsandboxed", err)}
	case err != nil:
		return exit{exitUsage, err}
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	fmt.Fprintln(std.err, "Log in in the window. Then press Enter here, or close the window. Ctrl-C takes nothing.")
	entered := make(chan struct{})
	go func() { // ends with the process
		if _, err := bufio.NewReader(std.in).ReadString('\n'); !errors.Is(err, io.EOF) {
			close(entered)
		}
	}()
	select {
	case <-entered:
	case <-w.Done():
	case <-ctx.Done():
		return exit{exitStopped, errors.New("stopped: nothing was taken")}
	}
	list, err := w.Cookies(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return exit{exitNothing, fmt.Errorf("%s set no cookie: nothing was taken. Did you log in there, and does the page remember you when it is loaded again?", strings.Join(c.URLs, ", "))}
	}
	return c.take(jar, list, std.out, std.err)
}

// take puts cookies into the jar, closes it, and tells how many it took.
func (c *loginCmd) take(jar *cookies.Jar, list []cookies.Cookie, out, told io.Writer) error {
	taken := 0
	for _, k := range list {
		if err := jar.Add(k); err != nil {
			fmt.Fprintf(told, "A cookie of %s is left out: %v\n", event.Line(k.Domain), err)
			continue
		}
		taken++
	}
	if taken == 0 {
		return exit{exitNothing, fmt.Errorf("none of the cookies of %s can be kept: nothing was taken", strings.Join(c.URLs, ", "))}
	}
	if err := jar.Close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "Cookies taken: %d. They are in %s, which only you may read. Crawl with --cookies %s.\n", taken, event.Line(c.Out), event.Line(c.Out))
	return nil
}
