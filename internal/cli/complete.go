// Package cli makes flags of the settings of a job, and completion scripts and man
// pages of the description of commands that kong has, so that all of them say what
// the help says.
package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Values are all values of a flag or an argument, nil where they cannot be
// listed.
type Values func(*kong.Value) []string

// Shells are those that Completion knows.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Completion is a script by which a shell completes the commands, flags and
// listed values of a program. Where nothing is listed, files are offered.
func Completion(shell string, app *kong.Application, values Values) (string, error) {
	commands := commandsOf(app.Node, values)
	switch shell {
	case "bash":
		return bash(app.Name, commands), nil
	case "zsh":
		return zsh(app.Name, commands), nil
	case "fish":
		return fish(app.Name, commands), nil
	}
	return "", fmt.Errorf("no completion for the shell %q; there are %s", shell, strings.Join(Shells(), ", "))
}

// command is a command with what may follow it.
type command struct {
	path     string // with the program's name: "waggle web build"
	children []word
	flags    []flag
	values   []string // of arguments
}

// word is something that can be typed, with what it means in a line.
type word struct{ name, help string }

// flag is a flag with what may follow it.
type flag struct {
	long, short string // with their dashes; short may be ""
	help        string
	takes       bool // a value
	values      []string
}

// names are the ways to write the flag.
func (f flag) names() []string {
	if f.short == "" {
		return []string{f.long}
	}
	return []string{f.long, f.short}
}

// commandsOf lists a command and all below it, as far as the help shows them.
func commandsOf(n *kong.Node, values Values) (out []command) {
	c := command{path: n.FullPath()}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			one := flag{long: "--" + f.Name, help: line(f.Help), takes: !f.IsBool(), values: values(f.Value)}
			if f.Short != 0 {
				one.short = "-" + string(f.Short)
			}
			if !slices.ContainsFunc(c.flags, func(known flag) bool { return known.long == one.long }) {
				c.flags = append(c.flags, one)
			}
		}
	}
	for _, p := range n.Positional {
		c.values = append(c.values, values(p)...)
	}
	out = append(out, c)
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		out[0].children = append(out[0].children, word{child.Name, line(child.Help)})
		out = append(out, commandsOf(child, values)...)
	}
	return out
}

// line is the first line of a help text.
func line(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// quote is a word as a POSIX shell takes it for one.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// steps are the patterns of a shell's case by which the path of commands is
// followed: the path so far, and the next word.
func steps(commands []command) string {
	var all []string
	for _, c := range commands {
		for _, child := range c.children {
			all = append(all, quote(c.path+" "+child.name))
		}
	}
	return strings.Join(all, " | ")
}

func bash(name string, commands []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for bash: source it in ~/.bashrc.
_%[1]s() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=%[1]s words= w
	for w in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case "$path $w" in
		%[2]s) path="$path $w" ;;
		esac
	done
	case "$path $prev" in
`, name, steps(commands))
	for _, c := range commands {
		for _, f := range c.flags {
			if !f.takes {
				continue
			}
			var patterns []string
			for _, n := range f.names() {
				patterns = append(patterns, quote(c.path+" "+n))
			}
			fmt.Fprintf(&b, "\t%s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", strings.Join(patterns, " | "), quote(strings.Join(f.values, " ")))
		}
	}
	b.WriteString("\tesac\n\tcase \"$path\" in\n")
	for _, c := range commands {
		words := slices.Clone(c.values)
		for _, child := range c.children {
			words = append(words, child.name)
		}
		for _, f := range c.flags {
			words = append(words, f.names()...)
		}
		fmt.Fprintf(&b, "\t%s) words=%s ;;\n", quote(c.path), quote(strings.Join(words, " ")))
	}
	fmt.Fprintf(&b, "\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _%[1]s %[1]s\n", name)
	return b.String()
}

func zsh(name string, commands []command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#compdef %[1]s
# Completion of %[1]s for zsh: put it as _%[1]s into a folder of $fpath.
_%[1]s() {
	local at=%[1]s w
	local -a cmds opts vals
	for w in "${(@)words[2,CURRENT-1]}"; do
		case "$at $w" in
		(%[2]s) at="$at $w" ;;
		esac
	done
	case "$at ${words[CURRENT-1]}" in
`, name, steps(commands))
	for _, c := range commands {
		for _, f := range c.flags {
			if !f.takes {
				continue
			}
			var patterns []string
			for _, n := range f.names() {
				patterns = append(patterns, quote(c.path+" "+n))
			}
			offer := "_files"
			if len(f.values) > 0 {
				offer = "compadd -- " + strings.Join(quoted(f.values), " ")
			}
			fmt.Fprintf(&b, "\t(%s) %s; return ;;\n", strings.Join(patterns, " | "), offer)
		}
	}
	b.WriteString("\tesac\n\tcase \"$at\" in\n")
	for _, c := range commands {
		var cmds, opts []string
		for _, child := range c.children {
			cmds = append(cmds, described(child.name, child.help))
		}
		for _, f := range c.flags {
			for _, n := range f.names() {
				opts = append(opts, described(n, f.help))
			}
		}
		fmt.Fprintf(&b, "\t(%s) cmds=(%s) opts=(%s) vals=(%s) ;;\n", quote(c.path), strings.Join(cmds, " "), strings.Join(opts, " "), strings.Join(quoted(c.values), " "))
	}
	fmt.Fprintf(&b, `	esac
	if [[ ${words[CURRENT]} == -* ]]; then
		_describe -o 'flag' opts
	elif (( $#cmds )); then
		_describe 'command' cmds
	else
		(( $#vals )) && compadd -- $vals
		_files
	fi
}
if [[ $funcstack[1] == _%[1]s ]]; then _%[1]s "$@"; else compdef _%[1]s %[1]s; fi
`, name)
	return b.String()
}

func quoted(words []string) (out []string) {
	for _, w := range words {
		out = append(out, quote(w))
	}
	return out
}

// described is a word with its help as zsh's _describe reads them.
func described(name, help string) string {
	return quote(strings.ReplaceAll(name, ":", `\:`) + ":" + help)
}

func fish(name string, commands []command) string {
	// In fish, a backslash and a quote are all that a quoted word escapes.
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	word := func(s string) string { return "'" + escape.Replace(s) + "'" }
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of %[1]s for fish: put it as %[1]s.fish into ~/.config/fish/completions.
function __%[1]s_at
	set -l path %[1]s
	for w in (commandline -opc)[2..-1]
		switch "$path $w"
`, name)
	for _, c := range commands[1:] {
		fmt.Fprintf(&b, "\t\t\tcase %s\n\t\t\t\tset path \"$path $w\"\n", word(c.path))
	}
	b.WriteString("\t\tend\n\tend\n\ttest \"$path\" = \"$argv[1]\"\nend\n")
	for _, c := range commands {
		at := fmt.Sprintf("complete -c %s -n %s", name, word(fmt.Sprintf("__%s_at %q", name, c.path)))
		for _, child := range c.children {
			fmt.Fprintf(&b, "%s -f -a %s -d %s\n", at, word(child.name), word(child.help))
		}
		if len(c.values) > 0 {
			fmt.Fprintf(&b, "%s -a %s\n", at, word(strings.Join(c.values, " ")))
		}
		for _, f := range c.flags {
			fmt.Fprintf(&b, "%s -l %s", at, strings.TrimPrefix(f.long, "--"))
			if f.short != "" {
				fmt.Fprintf(&b, " -s %s", strings.TrimPrefix(f.short, "-"))
			}
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&b, " -x -a %s", word(strings.Join(f.values, " ")))
			case f.takes:
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", word(f.help))
		}
	}
	return b.String()
}
