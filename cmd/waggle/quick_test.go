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
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		err := setup(e)
		names := map[string]bool{"SITE": true, "SITEHOST": true, "PROXY": true} // what commands of the scripts set
		for _, v := range e.Vars {
			name, _, _ := strings.Cut(v, "=")
			names[name] = true
		}
		e.Values[environment{}] = names
		return err
	}
	t.Chdir(".") // and back in the end
	testscript.RunT(oneByOne{t}, p)
}

// environment is the key of a script's value that holds the names of its variables:
// map[string]bool, whether a variable is left out where it is empty.
type environment struct{}

// withoutProcesses has the command "call" in the place of "exec", but for what reads standard
// input or runs in the background, and "setenv" in the place of "env".
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
		} else if !files {
			line = setsVariables.ReplaceAllString(line, "${1}setenv ")
		}
		b.WriteString(line)
		before = line
	}
	return b.String()
}

// endsWith is a line of a script that looks at the code with which one command ends.
var endsWith = regexp.MustCompile("^exec sh -c 'waggle ([^'\"$|<>&;()*?]*); test [$][?] = ([0-9])'\n")

// setsVariables is a line of a script that sets variables of its environment.
var setsVariables = regexp.MustCompile(`^((?:\[[^\]]*\] )*)env `)

// oneByOne is a test whose parts run one after the other: they share the working directory.
type oneByOne struct{ *testing.T }

func (t oneByOne) Run(name string, run func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { run(oneByOne{t}) })
}
func (oneByOne) Parallel()     {}
func (oneByOne) Verbose() bool { return testing.Verbose() }

// call is the command "call PROGRAM ARGS...": it runs waggle as a process does.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if code := runFor(ts, args[1:]); neg != (code != exitDone) {
		ts.Fatalf("waggle %q ended with %d", args[1:], code)
	}
}

// ends is the command "ends CODE PROGRAM ARGS...": it is call for a command that ends with a code.
func ends(ts *testscript.TestScript, _ bool, args []string) {
	if code := runFor(ts, args[2:]); fmt.Sprint(code) != args[0] {
		ts.Fatalf("waggle %q ended with %d", args[2:], code)
	}
}

// setenv is the command "setenv NAME=VALUE...": it is env, and notes the names.
func setenv(ts *testscript.TestScript, _ bool, args []string) {
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("%s: write NAME=VALUE", arg)
		}
		ts.Setenv(name, value)
		ts.Value(environment{}).(map[string]bool)[name] = false
	}
}

// runFor runs waggle, and gives the script what it writes.
func runFor(ts *testscript.TestScript, args []string) int {
	code, stdout, stderr := runIn(ts, args)
	io.WriteString(ts.Stdout(), stdout)
	io.WriteString(ts.Stderr(), stderr)
	return code
}

// runIn runs waggle in the folder and the environment of a script. No variable of this process
// remains: a process of waggle that the script starts would have none of them either.
func runIn(ts *testscript.TestScript, args []string) (code int, stdout, stderr string) {
	before := os.Environ()
	defer func() {
		os.Clearenv()
		for _, v := range before {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
	}()
	os.Clearenv()
	for name, notEmpty := range ts.Value(environment{}).(map[string]bool) {
		if value := ts.Getenv(name); name != "" && (value != "" || !notEmpty) {
			ts.Check(os.Setenv(name, value))
		}
	}
	ts.Check(os.Setenv("PWD", ts.MkAbs(".")))
	ts.Check(os.Chdir(ts.MkAbs(".")))
	in, err := os.Open(os.DevNull)
	ts.Check(err)
	out, err := os.CreateTemp("", "stdout")
	ts.Check(err)
	errs, err := os.CreateTemp("", "stderr")
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
		code, stderr := exitDone, ""
		if long.Asked() {
			var failed *exec.ExitError
			if err := ts.Exec("waggle", words...); errors.As(err, &failed) {
				code = failed.ExitCode()
			} else {
				ts.Check(err)
			}
		} else {
			code, _, stderr = runIn(ts, words)
		}
		if fmt.Sprint(code) != args[0] {
			ts.Fatalf("waggle %s ended with %d\n%s", words, code, stderr)
		}
		if _, err := os.Lstat(ts.MkAbs("out")); err == nil {
			ts.Fatalf("waggle %s left out", words)
		}
	}
}
