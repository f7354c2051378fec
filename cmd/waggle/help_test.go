package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/guidetest"
)

// The help of every command shows it at work, and the guide the exit codes.
func TestHelp(t *testing.T) {
	parser := newParser(t)
	showExamples(parser.Model)
	commands := 0
	for _, leaf := range parser.Model.Leaves(false) {
		commands++
		name := commandName(leaf)
		// Teach show is teach as well.
		if !strings.Contains(leaf.Detail, "  waggle "+name) && !strings.Contains(leaf.Detail, "  waggle "+strings.TrimSuffix(name, " show")) {
			t.Errorf("waggle help %s shows no example:\n%s", name, leaf.Detail)
		}
		if strings.HasPrefix(leaf.Detail, " ") {
			t.Errorf("waggle help %s loses the space in front of it:\n%s", name, leaf.Detail)
		}
	}
	for name := range helpExamples() {
		if !slices.ContainsFunc(parser.Model.Leaves(false), func(n *kong.Node) bool { return commandName(n) == name }) {
			t.Errorf("there is no command %s", name)
		}
	}
	if commands < 20 {
		t.Errorf("only %d commands were found", commands)
	}

	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := "| exit code | meaning |\n|---|---|\n"
	for _, c := range exitCodes() {
		table += fmt.Sprintf("| %d | %s |\n", c.code, c.means)
	}
	if !strings.Contains(string(guide), table) {
		t.Errorf("docs/guide/operations.md does not hold\n%s", table)
	}
}

// A command is the same where the others have their names alone.
func TestCommandsFor(t *testing.T) {
	whole := newParser(t)
	text := func(n *kong.Node) string {
		var b strings.Builder
		fmt.Fprintln(&b, n.Summary(), n.Help, n.Detail)
		for _, group := range n.AllFlags(false) {
			for _, f := range group {
				fmt.Fprintln(&b, f, f.Help, f.Default, f.Enum)
			}
		}
		for _, p := range n.Positional {
			fmt.Fprintln(&b, p.Summary(), p.Help)
		}
		return b.String()
	}
	smaller := 0
	for _, leaf := range whole.Model.Leaves(false) {
		args := strings.Fields(commandName(leaf))
		some, err := kong.New(commandsFor(args), kong.Name("waggle"), whole.Model.Vars())
		if err != nil {
			t.Fatal(err)
		}
		have := some.Model.Leaves(false)
		at := slices.IndexFunc(have, func(n *kong.Node) bool { return commandName(n) == commandName(leaf) })
		if at < 0 {
			t.Errorf("there is no command %s", args)
		} else if text(have[at]) != text(leaf) {
			t.Errorf("%s is\n%s\nbut of the whole tree\n%s", args, text(have[at]), text(leaf))
		}
		if len(have) < len(whole.Model.Leaves(false)) {
			smaller++
		}
	}
	if smaller < 20 {
		t.Errorf("only %d commands leave the others out", smaller)
	}
}

// Every command that help shows is understood; those of the guide run, see TestGuide.
func TestShownCommands(t *testing.T) {
	parser := newParser(t)
	showExamples(parser.Model)
	texts := map[string]string{"description": description}
	for _, leaf := range parser.Model.Leaves(false) {
		texts["help "+commandName(leaf)] = leaf.Detail
	}
	shown := 0
	for name, text := range texts {
		for _, args := range guidetest.Commands(text) {
			shown++
			if _, err := parser.Parse(cli.JoinNegative(args)); err != nil {
				t.Errorf("%s: waggle %s: %v", name, strings.Join(args, " "), err)
			}
		}
	}
	if shown < 60 {
		t.Errorf("only %d commands were found", shown)
	}
}

// The commands of the files for containers are understood, and all pods keep to the profile
// "restricted" of Kubernetes' Pod Security Standards.
func TestContainerFiles(t *testing.T) {
	type container struct {
		Command, Args []string
		Security      struct {
			Escalation   *bool `yaml:"allowPrivilegeEscalation"`
			Capabilities struct{ Drop []string }
		} `yaml:"securityContext"`
	}
	type pod struct {
		Security struct {
			NonRoot bool                  `yaml:"runAsNonRoot"`
			Seccomp struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		Containers []container
	}
	type document struct {
		Kind     string
		Services map[string]container // of compose
		Spec     struct {
			pod      `yaml:",inline"`
			Template struct{ Spec pod }
		}
	}
	parser := newParser(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "guide", "cluster", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	understood := func(name string, args []string) {
		commands++
		if _, err := parser.Parse(args); err != nil {
			t.Errorf("%s: waggle %s: %v", name, strings.Join(args, " "), err)
		}
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for in := yaml.NewDecoder(strings.NewReader(string(b))); ; {
			var d document
			if err := in.Decode(&d); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, c := range d.Services {
				understood(name, c.Command)
			}
			for _, p := range []pod{d.Spec.pod, d.Spec.Template.Spec} {
				for _, c := range p.Containers {
					understood(name, c.Args)
					if e := c.Security.Escalation; !p.Security.NonRoot || p.Security.Seccomp.Type != "RuntimeDefault" || e == nil || *e || !slices.Equal(c.Security.Capabilities.Drop, []string{"ALL"}) {
						t.Errorf("%s: a pod of a %s is not restricted", name, d.Kind)
					}
				}
			}
		}
	}
	if commands < 6 {
		t.Errorf("only %d commands were found", commands)
	}
}
