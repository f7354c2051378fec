package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// Who waits for an engine whose process has ended serves it, and who has found one hears that it has ended.
func TestEngineIsLookedForAnew(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	lock, err := folder.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	old, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "address"), fmt.Appendf(nil, "nats://token@%s\n", old.Addr()), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := engineFlags{Join: dir}
	note := func(string) {}
	var first *openedEngine
	opened := make(chan error, 1)
	go func() {
		var err error
		first, err = flags.openEngine(ctx, "bees", "w1", false, note)
		opened <- err
	}()
	asked, err := old.Accept() // it has the old address
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(asked.Close(), old.Close(), lock.Close()); err != nil { // as a process that is killed
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	if !first.serves {
		t.Fatal("nobody serves the engine")
	}
	second, err := flags.openEngine(ctx, "bees", "w2", false, note)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	gone := make(chan error, 1)
	go second.found.watch(ctx, func(err error) { gone <- err })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-gone:
		if !errors.Is(err, errNotServed) {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("it does not hear that the engine is gone")
	}
}

// An engine that waggle cluster engine serves is joined by its folder, and one with a configuration by its address alone.
func TestEngineIsJoinedByItsFolder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "engine")
	said, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- (&clusterEngineCmd{Dir: dir, Listen: "127.0.0.1:0"}).Run(serving, streams{out: out, err: os.Stderr})
	}()
	if _, err := said.Read(make([]byte, 1)); err != nil { // it serves
		t.Fatal(err)
	}
	flags := engineFlags{Join: dir}
	e, err := flags.openEngine(ctx, "bees", "w", false, func(string) {})
	if err != nil {
		t.Errorf("by its folder: %v", err)
	} else if err := e.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}

	lock, err := folder.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.WriteFile(filepath.Join(dir, "address"), []byte(byUsers+"tls://127.0.0.1:4222\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := flags.openEngine(ctx, "bees", "w", false, func(string) {}); err == nil || !strings.Contains(err.Error(), "is served at tls://127.0.0.1:4222") {
		t.Errorf("one with a configuration: %v", err)
	}
}
