package devtools_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/internal/long"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a browser, or skips the test where there is none or the system does not
// give it what is asked for.
func start(t *testing.T, o devtools.Options) *devtools.Browser {
	t.Helper()
	b, err := devtools.Start(t.Context(), o)
	var absent *devtools.AbsentError
	switch {
	case errors.As(err, &absent):
		t.Skip("needs a browser: install chromium")
	case errors.Is(err, devtools.ErrOffline), errors.Is(err, devtools.ErrSandbox):
		t.Skipf("this system: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// A browser that is offline has its sandbox, whoever starts it, and no network; it ends
// with Close, and nothing of it is left.
func TestOffline(t *testing.T) {
	long.Test(t, "starts a browser")
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has networks of a process")
	}
	t.Setenv("TMPDIR", t.TempDir())
	b := start(t, devtools.Options{Offline: true})
	u, err := b.Usage()
	if err != nil || u.Processes < 3 || u.Memory < 30<<20 || u.CPU <= 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
	var c struct{ TargetID string }
	if err := b.Call(t.Context(), "", "Target.createTarget", map[string]any{"url": "http://127.0.0.1:1/"}, &c); err != nil {
		t.Fatal(err)
	}
	// A renderer that has just begun goes into its sandbox soon.
	confined := 0
	for late := time.Now().Add(time.Minute); confined == 0; time.Sleep(50 * time.Millisecond) {
		var processes struct {
			ProcessInfo []struct {
				Type string
				ID   int
			}
		}
		if err := b.Call(t.Context(), "", "SystemInfo.getProcessInfo", nil, &processes); err != nil {
			t.Fatal(err)
		}
		for _, p := range processes.ProcessInfo {
			proc := filepath.Join("/proc", strconv.Itoa(p.ID))
			status, err := os.ReadFile(filepath.Join(proc, "status"))
			if err != nil {
				continue // it has ended
			}
			if p.Type == "renderer" && strings.Contains(string(status), "Seccomp:\t2") {
				confined++
			}
			// lo is the only interface of such a network, and it is down.
			if routes, err := os.ReadFile(filepath.Join(proc, "net", "route")); err == nil && strings.Count(string(routes), "\n") > 1 {
				t.Errorf("process %d (%s) has routes:\n%s", p.ID, p.Type, routes)
			}
		}
		if confined == 0 && time.Now().After(late) {
			t.Errorf("no renderer is in a sandbox: %+v", processes.ProcessInfo)
			break
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := b.Call(t.Context(), "", "Browser.getVersion", nil, nil); !errors.Is(err, devtools.ErrEnded) {
		t.Errorf("a call after the end: %v", err)
	}
	if u, _ := b.Usage(); u.Processes > 0 {
		t.Errorf("%d processes are left", u.Processes)
	}
}

// A browser that dies is told by Done, and by the calls that wait; one that hangs ends
// with the context of a call.
func TestKilled(t *testing.T) {
	events := make(chan devtools.Event, 100)
	b := start(t, devtools.Options{NoSandbox: true, Event: func(e devtools.Event) {
		select {
		case events <- e:
		default:
		}
	}})
	if err := b.Call(t.Context(), "", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.Method != "Target.targetCreated" || e.Session != "" {
		t.Errorf("the first event is %s of %q", e.Method, e.Session)
	}
	if err := b.Call(t.Context(), "", "Nothing.atAll", nil, nil); err == nil || !strings.Contains(err.Error(), "Nothing.atAll") {
		t.Errorf("a command that there is not: %v", err)
	}
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failed := make(chan error)
	go func() {
		failed <- b.Call(within, "", "Browser.crash", nil, nil)
	}()
	if err := <-failed; !errors.Is(err, devtools.ErrEnded) {
		t.Errorf("a call to a browser that dies: %v", err)
	}
	<-b.Done()
}

// What cannot be started is said with what helps.
func TestAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if runtime.GOOS == "linux" {
		_, err := devtools.Start(t.Context(), devtools.Options{})
		var absent *devtools.AbsentError
		if !errors.As(err, &absent) || !strings.Contains(err.Error(), "install") {
			t.Errorf("without a browser: %v", err)
		}
	}
	if _, err := devtools.Start(t.Context(), devtools.Options{Program: "no-such-browser"}); err == nil || !strings.Contains(err.Error(), "no-such-browser") {
		t.Errorf("a browser that is not there: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	script := func(body string) string {
		path := filepath.Join(t.TempDir(), "browser")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, err := devtools.Start(t.Context(), devtools.Options{Program: script(`echo "[1:1:FATAL:zygote.cc] No usable sandbox! Update your kernel" >&2`)})
	if !errors.Is(err, devtools.ErrSandbox) || !strings.Contains(err.Error(), "No usable sandbox! Update your kernel") || strings.Contains(err.Error(), "zygote") {
		t.Errorf("without a sandbox: %v", err)
	}
	_, err = devtools.Start(t.Context(), devtools.Options{Program: script(`echo "cannot open display" >&2; exit 1`)})
	if err == nil || !strings.Contains(err.Error(), "cannot open display") {
		t.Errorf("a browser that ends at once: %v", err)
	}
}
