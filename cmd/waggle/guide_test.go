package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/internal/guidetest"
)

// The commands of the README and of the guide print what is shown there.
func TestGuide(t *testing.T) {
	parser := newParser(t)
	program := guidetest.Program{Parse: func(args []string) error {
		_, err := newParser(t).Parse(cli.JoinNegative(args))
		return err
	}}
	for _, c := range parser.Model.Children {
		program.Commands = append(program.Commands, c.Name)
	}
	guidetest.Run(t, filepath.Join("..", ".."), program)
}

// newParser is the parser of all commands, which ends no program.
func newParser(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := kong.New(newCommands(), kong.Name("waggle"), kong.Exit(func(int) {}),
		kong.Vars{"version": "", "kinds": "", "apprentices": "apprentice", "exports": ""}, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}
