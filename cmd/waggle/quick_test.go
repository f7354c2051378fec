package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waggle-crawler/waggle/internal/long"
)

// A process of waggle costs more than most commands of the scripts: a tenth of a second of
// processor time, 800 times. So the quick run has the process of the tests run them, one after
// the other; the long run starts a process for each.

// runScripts runs scripts as the quick or the long run does.
func runScripts(t *testing.T, p testscript.Params) {
	if long.Asked() {
		testscript.Run(t, p)
		return
	}
	names, err := filepath.Glob(filepath.Join(p.Dir, "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	p.Dir = t.TempDir()
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(p.Dir, filepath.Base(name))
		if err := os.WriteFile(copied, []byte(withoutProcesses(string(b))), 0o644); err != nil {
			t.Fatal(err)
		}
		p.Files = append(p.Files, copied)
	}
	p.Dir = ""
	t.Chdir(".") // and back in the end
	testscript.RunT(oneByOne{t}, p)
}

// withoutProcesses has the command "call" in the place of "exec", but for what reads standard
// input or runs in the background.
func withoutProcesses(script string) string {
	var b strings.Builder
	files, before := false, ""
	for line := range strings.Lines(script) {
		files = files || strings.HasPrefix(line, "-- ")
		at := strings.Index(line, "exec waggle ")
		if m := endsWith.FindStringSubmatch(line); m != nil && !files {
			line = "ends " + m[2] + " waggle " + m[1] + "\n"
		} else if at >= 0 && !files && !strings.HasPrefix(line, "#") && !strings.HasPrefix(before, "stdin ") && !strings.HasSuffix(line, "&\n") {
			line = line[:at] + "call" + line[at+len("exec"):]
		}
		b.WriteString(line)
		before = line
	}
	return b.String()
}

// endsWith is a line of a script that looks at the code with which one command ends.
var endsWith = regexp.MustCompile("^exec sh -c 'waggle ([^'\"$|<>&;()*?]*); test [$][?] = ([0-9])'\n")

// oneByOne is a test whose parts run one after the other: they share the working directory.
type oneByOne struct{ *testing.T }

func (t oneByOne) Run(name string, run func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { run(oneByOne{t}) })
}
func (oneByOne) Parallel()     {}
func (oneByOne) Verbose() bool { return testing.Verbose() }

// call is the command "call PROGRAM ARGS...": it runs waggle as a process does.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if code := told(ts, args[1:]); neg != (code != exitDone) {
		ts.Fatalf("waggle %q ended with %d", args[1:], code)
	}
}

// ends is the command "ends CODE PROGRAM ARGS...": it is call for a command that ends with a code.
func ends(ts *testscript.TestScript, _ bool, args []string) {
	if code := told(ts, args[2:]); fmt.Sprint(code) != args[0] {
		ts.Fatalf("waggle %q ended with %d", args[2:], code)
	}
}

// told runs waggle, and gives the script what it says.
func told(ts *testscript.TestScript, args []string) int {
	code, said, complained := calledBy(ts, args)
	io.WriteString(ts.Stdout(), said)
	io.WriteString(ts.Stderr(), complained)
	return code
}

// calledBy runs waggle in the folder and the environment of a script.
func calledBy(ts *testscript.TestScript, args []string) (code int, said, complained string) {
	for _, name := range []string{"HOME", "TMPDIR", "PATH", "XDG_CONFIG_HOME", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		was, there := os.LookupEnv(name)
		if of := ts.Getenv(name); of != "" {
			ts.Check(os.Setenv(name, of))
		} else {
			ts.Check(os.Unsetenv(name))
		}
		defer func() {
			if there {
				os.Setenv(name, was)
			} else {
				os.Unsetenv(name)
			}
		}()
	}
	ts.Check(os.Chdir(ts.MkAbs(".")))
	in, err := os.Open(os.DevNull)
	ts.Check(err)
	out, err := os.CreateTemp("", "said")
	ts.Check(err)
	errs, err := os.CreateTemp("", "complained")
	ts.Check(err)
	ctx, stop := context.WithCancel(context.Background())
	code = run(ctx, args, streams{in: in, out: out, err: errs})
	stop()
	a, errA := os.ReadFile(out.Name())
	b, errB := os.ReadFile(errs.Name())
	ts.Check(errors.Join(errA, errB, in.Close(), out.Close(), errs.Close(), os.Remove(out.Name()), os.Remove(errs.Name())))
	return code, string(a), string(b)
}

// tries is the command "tries CODE FILE": each line of the file is a command that ends with
// the code and leaves nothing at "out".
func tries(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		words := strings.Fields(os.Expand(line, ts.Getenv))
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "''", "")
		}
		code, said := exitDone, ""
		if long.Asked() {
			var failed *exec.ExitError
			if err := ts.Exec("waggle", words...); errors.As(err, &failed) {
				code = failed.ExitCode()
			} else {
				ts.Check(err)
			}
		} else {
			code, _, said = calledBy(ts, words)
		}
		if fmt.Sprint(code) != args[0] {
			ts.Fatalf("waggle %s ended with %d\n%s", words, code, said)
		}
		if _, err := os.Lstat(ts.MkAbs("out")); err == nil {
			ts.Fatalf("waggle %s left out", words)
		}
	}
}
