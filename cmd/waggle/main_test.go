package main

import (
	"context"
	"os"
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
