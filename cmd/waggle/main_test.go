package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse/document/child"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Name { // commands in this process start it to read documents
		main()
	}
	long.InMemory()
	testscript.Main(m, map[string]func(){"waggle": main})
}

// A command whose report could not be written has failed, also where it looks at no line of it.
func TestLostOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no device that is full: ", err)
	}
	defer full.Close()
	dir := filepath.Join(t.TempDir(), "bees")
	std, said := files(t)
	if got := run(t.Context(), []string{"crawl", honeySite(t), "-o", dir, "--keywords", "honey", "--allow-private", "--delay", "0"}, std); got != exitDone {
		t.Fatalf("the crawl ends with %d: %s", got, contents(t, said))
	}
	for _, args := range [][]string{{"verify", dir}, {"repair", dir}, {"lab", "list"}, {"judge", dir, "--threshold", "0.4"}, {"version"}} {
		std, said := files(t)
		std.out = full
		if got := run(t.Context(), args, std); got != exitFailed || !strings.Contains(contents(t, said), "write /dev/full: ") {
			t.Errorf("%v ends with %d: %s", args, got, contents(t, said))
		}
	}
}

// What failed as well is told where a command was stopped, and nothing of the stop.
func TestBesideStop(t *testing.T) {
	stop, full := fmt.Errorf("reading: %w", context.Canceled), errors.New("the disk is full")
	for _, c := range []struct {
		err  error
		want string
	}{
		{stop, ""},
		{errors.Join(stop, context.Canceled), ""},
		{fmt.Errorf("%w: %w", full, stop), ""},
		{errors.Join(context.Canceled, full), "the disk is full"},
		{exit{exitUsage, fmt.Errorf("merging: %w", errors.Join(context.Canceled, errors.Join(full, stop), os.ErrClosed))}, "the disk is full\nfile already closed"},
	} {
		got := ""
		if err := besideStop(c.err); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	dir := filepath.Join(t.TempDir(), "bees")
	std, said := files(t)
	if got := run(t.Context(), []string{"crawl", honeySite(t), "-o", dir, "--keywords", "honey", "--allow-private", "--delay", "0"}, std); got != exitDone {
		t.Fatalf("the crawl ends with %d: %s", got, contents(t, said))
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	std, said = files(t)
	if got := run(over, []string{"cluster", "merge", dir, "-o", dir + "-2"}, std); got != exitStopped || !strings.Contains(contents(t, said), "needs no merging") || !strings.HasSuffix(contents(t, said), "waggle: stopped\n") {
		t.Errorf("what is refused and stopped ends with %d: %s", got, contents(t, said))
	}
}

// A command that came to its end was not stopped, though it is interrupted in that moment.
func TestStoppedOr(t *testing.T) {
	on := t.Context()
	over, cancel := context.WithCancel(on)
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{on, nil, ""}, {over, nil, ""}, {on, os.ErrClosed, os.ErrClosed.Error()}, {over, os.ErrClosed, "stopped"},
		{over, fmt.Errorf("reading: %w", context.Canceled), "stopped"}, {over, errors.Join(context.Canceled, os.ErrClosed), os.ErrClosed.Error() + "\nstopped"},
		{over, &os.PathError{Op: "write", Path: "bees.csv", Err: syscall.EIO}, "write bees.csv: " + syscall.EIO.Error() + "\nstopped"},
		{over, &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EIO}, "rename a b: " + syscall.EIO.Error() + "\nstopped"},
		{over, &os.PathError{Op: "read", Path: "|0", Err: os.ErrClosed}, "stopped"},
		{over, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, "stopped"},
	} {
		got := ""
		if err := stoppedOr(c.ctx, c.err, "stopped"); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("interrupted: %v, error %v: %q, want %q", c.ctx.Err(), c.err, got, c.want)
		}
	}
}
