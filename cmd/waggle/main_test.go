package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// runAsWaggle makes the test binary behave as waggle itself, so that tests can
// run it as a process, and kill it.
const runAsWaggle = "WAGGLE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsWaggle) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
		stop()
		os.Exit(code)
	}
	if os.Getenv(runBare) != "" {
		budget, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = bareLoop(context.Background(), os.Args[1], budget, os.Args[3:])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testscript.Main(m, map[string]func(){"waggle": main})
}
