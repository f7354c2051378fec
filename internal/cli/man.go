package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Page is a man page.
type Page struct {
	Name string // of its file: "waggle-web-build.1"
	Text string // in roff, with the macros of man(7)
}

// Pages are the man pages of a program, version as it names itself: one of the
// program and one of each command.
func Pages(app *kong.Application, version string) (out []Page) {
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		out = append(out, Page{pageName(n) + ".1", page(app, n, version)})
		for _, child := range n.Children {
			if !child.Hidden && child.Type == kong.CommandNode {
				visit(child)
			}
		}
	}
	visit(app.Node)
	return out
}

// pageName is the name of a command's page: "waggle-web-build".
func pageName(n *kong.Node) string { return strings.ReplaceAll(n.FullPath(), " ", "-") }

func page(app *kong.Application, n *kong.Node, version string) string {
	var b strings.Builder
	about, rest := n.Help, n.Detail
	if n == app.Node { // the whole description is its help
		about, rest, _ = strings.Cut(n.Help, "\n")
		_, about, _ = strings.Cut(about, " is ")
	}
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"\"\n", roffWord(strings.ToUpper(pageName(n))), roffWord(app.Name+" "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(n)), roff(strings.TrimSuffix(line(about), ".")))
	synopsis := n.Summary()
	if !strings.HasPrefix(synopsis, app.Name) {
		synopsis = app.Name + " " + synopsis
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(strings.TrimSpace(synopsis)))
	if rest != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(strings.Trim(rest, "\n")))
	}
	if len(n.Positional) > 0 {
		b.WriteString(".SH ARGUMENTS\n")
		for _, p := range n.Positional {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(p.Summary()), roff(p.Help))
		}
	}
	b.WriteString(".SH OPTIONS\n")
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			name := "--" + f.Name
			if f.Short != 0 {
				name = "-" + string(f.Short) + ", " + name
			}
			if !f.IsBool() {
				name += "=" + f.FormatPlaceHolder()
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roff(f.Help))
		}
	}
	var see []string
	if n.Parent != nil {
		see = append(see, pageName(n.Parent))
	}
	started := false
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		if !started {
			b.WriteString(".SH COMMANDS\n")
			started = true
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(child.FullPath()), roff(child.Help))
		see = append(see, pageName(child))
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range see {
		comma := ","
		if i == len(see)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(name), comma)
	}
	return b.String()
}

// roff is text as roff prints it: no line of it is a request, and no backslash
// an escape; characters beyond ASCII are named.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// roffWord is an argument of a request.
func roffWord(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `""`) + `"` }
