package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
)

// build is what is known of this program.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source; "" = unknown
	Time     string `json:"time,omitempty"`     // of that revision, RFC 3339
	Modified bool   `json:"modified"`           // the source differed from the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// newBuild reads what the linker has written into this program.
func newBuild() build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "(devel)" {
		b.Revision = v // of a module that was installed by its version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	revision := cmp.Or(b.Revision, "unknown")
	if b.Modified {
		revision += ", modified"
	}
	return fmt.Sprintf("waggle %s (revision %s) %s %s/%s", b.Version, revision, b.Go, b.OS, b.Arch)
}

// versionCmd is `waggle version`.
type versionCmd struct {
	JSON bool `help:"As JSON: version, revision, time, modified, go, os, arch."`
}

// Help shows what to attach to a report.
func (versionCmd) Help() string {
	return `Tells the version, the revision of the source and whether that was modified, and
the version of Go. Name it when you report a fault.

  waggle version --json`
}

// Run prints the version.
func (c versionCmd) Run(io streams) error {
	b := newBuild()
	if c.JSON {
		return json.NewEncoder(io.out).Encode(b)
	}
	_, err := fmt.Fprintln(io.out, b)
	return err
}

// helpCmd is `waggle help`.
type helpCmd struct {
	About []string `arg:"" optional:"" name:"command" help:"A command, or resume: what may change when a crawl goes on."`
}

// Help shows how to ask.
func (helpCmd) Help() string {
	return `  waggle help crawl
  waggle help web build
  waggle help resume`
}

// Run shows the help of a command.
func (c helpCmd) Run(parser *kong.Kong, io streams) error {
	if len(c.About) == 1 && c.About[0] == "resume" {
		_, err := fmt.Fprint(io.out, resumeHelp())
		return err
	}
	_, err := parser.Parse(append(c.About, "--help")) // which ends the program
	return exit{exitUsage, errors.Join(err, errors.New("waggle help alone lists the commands"))}
}

// resumeHelp tells what a change of each setting does when a crawl goes on.
func resumeHelp() string {
	var b strings.Builder
	b.WriteString(`waggle crawl -o DIR --resume goes on by DIR/job.yaml, which holds every value in
force. To change one, give its flag, or edit the file. A change
`)
	for _, g := range job.ResumeGroups() {
		b.WriteString("\n")
		for _, line := range terminal.Wrap(strings.Join(g.Settings, ", "), 78) {
			b.WriteString("  " + line + "\n")
		}
		for _, line := range terminal.Wrap(g.Change, 74) {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}

// joinNegative writes --pages -3 as --pages=-3 and -n -3 as -n-3: a number behind
// a flag is its value, and whether it may be negative is for the flag to say.
func joinNegative(args []string) (out []string) {
	negative := regexp.MustCompile(`^-[0-9.]`)
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if last := len(out) - 1; last >= 0 && negative.MatchString(arg) && !strings.Contains(out[last], "=") {
			switch before := out[last]; {
			case strings.HasPrefix(before, "--"):
				out[last] = before + "=" + arg
				continue
			case len(before) == 2 && before[0] == '-' && !negative.MatchString(before):
				out[last] = before + arg
				continue
			}
		}
		out = append(out, arg)
	}
	return out
}
