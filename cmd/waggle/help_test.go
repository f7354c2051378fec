package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/internal/cli"
)

// The help of every command shows it at work, and the guide the exit codes.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	parser, err := kong.New(newCommands(), kong.Name("waggle"), kong.Writers(&out, &out),
		kong.Vars{"version": "", "kinds": "", "exports": ""})
	if err != nil {
		t.Fatal(err)
	}
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

// Every command that help shows is understood; those of the guide run, see TestGuide.
func TestShownCommands(t *testing.T) {
	var out bytes.Buffer
	parser, err := kong.New(newCommands(), kong.Name("waggle"), kong.Writers(&out, &out),
		kong.Vars{"version": "", "kinds": "", "exports": ""}, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	showExamples(parser.Model)
	texts := map[string]string{"description": description}
	for _, leaf := range parser.Model.Leaves(false) {
		texts["help "+commandName(leaf)] = leaf.Detail
	}
	shown := 0
	for name, text := range texts {
		for _, args := range shownCommands(text) {
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

// shownCommands finds the indented lines of a text that call waggle, and splits
// them as a shell does. What follows two spaces explains, and … stands for more.
func shownCommands(text string) (out [][]string) {
	text = regexp.MustCompile(`\\\n *`).ReplaceAllString(text, "")
	for line := range strings.Lines(text) {
		indented := strings.TrimLeft(line, " ")
		rest, ok := strings.CutPrefix(indented, "waggle ")
		if !ok || len(line)-len(indented) < 2 {
			continue
		}
		var args []string
		arg, quote, gaps := "", rune(0), 0
	words:
		for _, r := range rest + " " {
			switch {
			case quote != 0 && r == quote:
				quote = 0
			case quote != 0:
				arg += string(r)
			case r == '\'' || r == '"':
				quote = r
			case strings.ContainsRune(">&;", r):
				break words
			case r == ' ' || r == '\n':
				if gaps++; gaps == 2 {
					break words
				}
				if arg != "" && arg != "…" {
					args = append(args, arg)
				}
				arg = ""
				continue
			default:
				arg += string(r)
			}
			gaps = 0
		}
		out = append(out, args)
	}
	return out
}
