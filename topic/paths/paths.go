// Package paths holds what a person shows a crawler by clicking: ways through
// sites, with names on some of the pages (Vydiswaran & Sarawagi 2005, section
// 1.2).
//
// The life of a path: shown (in `waggle teach`, by hand, or imported from click
// trails) → kept in a file (file.go) → read → checked (check.go), which leaves
// out what cannot teach and says why → states, from which models learn.
package paths

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// The two labels every search has. All others are milestones: names a person
// gives to pages that look alike on every site.
const (
	Goal = "Goal" // what was sought
	Fail = "Fail" // a wrong turn: the path ends where it should not have gone
)

// MaxLabel bounds the bytes of a label, MaxSteps the pages of a path.
const (
	MaxLabel = 64
	MaxSteps = 1000
)

// Path is one way through a site, from its start page on.
type Path struct {
	// Site groups paths of one site, as experiments that leave a site out
	// need it. "" = the host of the first page; see SiteName.
	Site string
	// Task names what was sought, where one file holds several searches: a
	// page may be the Goal of one and a Fail of another. "" = the only one.
	Task string
	// Source says where the path comes from: "teach", "firefox", "trails".
	// "" = written by hand.
	Source string
	Steps  []Step // at least one

	File string // where it was read, for messages; "" = nowhere
	Line int    // of its first step in File, from 1; 0 = unknown
}

// Step is one page of a path and how it was come by.
type Step struct {
	URL   web.URL
	Label string // "" | a milestone | Goal | Fail
	Link  Click
}

// Click is the link on the page before that led to a page. It is the zero
// value for the first page of a path; elsewhere what is not known can be
// looked up on the page before (see Resolve).
type Click struct {
	Anchor string // its text; "" = unknown, or a link without text
	// Ordinal is the place of the link among those of the page, from 1:
	// web.Link.Position + 1. 0 = unknown.
	Ordinal int
	// Via is the address the link holds where that redirected to the page;
	// zero = the page's own.
	Via web.URL
}

// SiteName is p's site, by default the host of its first page.
func (p *Path) SiteName() string {
	if p.Site != "" || len(p.Steps) == 0 {
		return p.Site
	}
	return string(p.Steps[0].URL.Host())
}

// Place names p for people: its file and line, or its first address.
func (p *Path) Place() string {
	switch {
	case p.File != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	case len(p.Steps) > 0:
		return "the path from " + p.Steps[0].URL.String()
	default:
		return "an empty path"
	}
}

// Ending is the last label of p, "" for a path without any.
func (p *Path) Ending() string {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if l := p.Steps[i].Label; l != "" {
			return l
		}
	}
	return ""
}

// Positive tells whether p shows the way to a goal: its last label is Goal
// (section 2.4.1).
func (p *Path) Positive() bool { return p.Ending() == Goal }

// State is what a page is along a path: it bears a label, or lies before the
// page that bears the next one.
type State struct {
	Label  string
	Prefix bool // on the way to Label
}

// String is "Goal" for a labelled page, "→Goal" for one on the way to it.
func (s State) String() string {
	if s.Prefix {
		return "→" + s.Label
	}
	return s.Label
}

// States gives each page of p its state: its label, or the prefix state of the
// next label behind it (section 1.2). Pages behind the last label have none, so
// the result may be shorter than p.Steps; without any label it is empty.
//
//	steps   /      /dept   /courses   /cs101   /cs101/notes
//	label          Dept               Goal
//	state   →Dept  Dept    →Goal      Goal     –
func (p *Path) States() []State {
	n := len(p.Steps)
	for n > 0 && p.Steps[n-1].Label == "" {
		n--
	}
	states := make([]State, n)
	next := ""
	for i := n - 1; i >= 0; i-- {
		if l := p.Steps[i].Label; l != "" {
			next = l
			states[i] = State{Label: l}
		} else {
			states[i] = State{Label: next, Prefix: true}
		}
	}
	return states
}

// CleanLabels makes labels as they are kept, see CleanLabel; none may be empty.
func CleanLabels(list []string) (out []string, err error) {
	for _, s := range list {
		label, err := CleanLabel(s)
		if err == nil && label == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no label: %w", s, err)
		}
		out = append(out, label)
	}
	return out, nil
}

// CleanLabel makes a label as it is kept: white space folded and trimmed, and
// goal and fail in any case written Goal and Fail. "" stays "". It is an error
// if what remains is too long, holds what no keyboard types, or begins as a
// prefix state does.
func CleanLabel(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("the label %q is not UTF-8", s)
	}
	s = strings.Join(strings.Fields(s), " ")
	switch {
	case strings.EqualFold(s, Goal):
		return Goal, nil
	case strings.EqualFold(s, Fail):
		return Fail, nil
	case len(s) > MaxLabel:
		return "", fmt.Errorf("the label %q… is longer than %d bytes", strings.ToValidUTF8(s[:MaxLabel], ""), MaxLabel)
	case strings.HasPrefix(s, "→"), strings.HasPrefix(s, "#"):
		return "", fmt.Errorf("the label %q begins with %q, which means something else here", s, firstRune(s))
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return "", fmt.Errorf("the label %q holds the invisible character %U", s, r)
		}
	}
	return s, nil
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// Labels are the labels of paths: milestones in the order in which they first
// occur, then Goal and Fail where they occur.
func Labels(set []Path) []string {
	var out []string
	seen := map[string]bool{"": true}
	for i := range set {
		for _, s := range set[i].Steps {
			if !seen[s.Label] {
				seen[s.Label] = true
				if s.Label != Goal && s.Label != Fail {
					out = append(out, s.Label)
				}
			}
		}
	}
	for _, l := range []string{Goal, Fail} {
		if seen[l] {
			out = append(out, l)
		}
	}
	return out
}
