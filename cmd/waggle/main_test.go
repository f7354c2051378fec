package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
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
	os.Exit(m.Run())
}
