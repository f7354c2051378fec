package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

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
