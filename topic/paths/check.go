package paths

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// Kind names what is wrong with a path.
type Kind string

// What can be wrong with paths.
const (
	Malformed     Kind = "malformed"     // a line of the file is not understood
	Unlabelled    Kind = "unlabelled"    // no label at all: nothing to learn
	NoGoal        Kind = "no goal"       // ends neither in Goal nor in Fail
	TwoGoals      Kind = "two goals"     // several pages are Goal
	Once          Kind = "label once"    // a label stands in one place only
	Contradiction Kind = "contradiction" // one page, several labels
	Outside       Kind = "outside"       // leaves the record
	Unlinked      Kind = "unlinked"      // no link leads from a page to the next
	Repeated      Kind = "repeated"      // the same path again
	NoneReaches   Kind = "none reaches"  // no path of the task ends in Goal
)

// Problem is something wrong with a path, and what was done about it.
type Problem struct {
	Kind  Kind
	Place string // "paths.tsv:12"
	Text  string // what, and the remedy
	// Dropped says that the path is left out; otherwise it is used, as Text
	// says.
	Dropped bool
}

func (p Problem) String() string {
	if p.Place == "" {
		return p.Text
	}
	return p.Place + ": " + p.Text
}

// Record is where pages of paths can be looked up: a recorded web or what was
// fetched.
type Record interface {
	Page(u web.URL) (p *web.Page, ok bool)
}

// Check returns the paths that can teach, in their order, and what is wrong
// with the others. With a record (nil = none), pages must be in it, and links
// are looked up there (see Resolve). Nothing in set is changed.
//
//   - A path without any label is left out; so is one that repeats another.
//   - A path with several Goals ends at the first of them.
//   - A path that ends in neither Goal nor Fail is used, as one that does not
//     reach a goal.
//   - Where one page of a task has several labels, the most frequent holds (of
//     equally frequent ones the last vote), and paths with another are left
//     out.
//   - Pages behind the last label are cut off. A path that leaves the record
//     before is left out; one between whose pages no link is found is used.
//   - A label that stands in one place only is told of, as it may be misspelt.
func Check(set []Path, rec Record) (usable []Path, problems []Problem) {
	tell := func(p *Path, k Kind, dropped bool, format string, args ...any) {
		problems = append(problems, Problem{Kind: k, Place: p.Place(), Dropped: dropped, Text: fmt.Sprintf(format, args...)})
	}
	holds := agree(set)
	seen := map[string]string{} // the path as text → where it stands
next:
	for i := range set {
		p := set[i]
		n := len(p.States())
		if n == 0 {
			tell(&p, Unlabelled, true, "no page has a label; the path is left out. Label its last page %s or %s", Goal, Fail)
			continue
		}
		p.Steps = slices.Clone(p.Steps[:n])
		goals := 0
		for _, s := range p.Steps {
			if s.Label == Goal {
				goals++
			}
		}
		if goals > 1 {
			first := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Label == Goal })
			tell(&p, TwoGoals, false, "%d pages are %s; the path is used up to the first, %s. Make a path of its own for each other goal", goals, Goal, p.Steps[first].URL)
			p.Steps = p.Steps[:first+1]
		}
		for _, s := range p.Steps {
			if h := holds[labelKey{p.Task, s.URL}]; s.Label != "" && s.Label != h.label {
				tell(&p, Contradiction, true, "%s is %q here and %q at %s; the path is left out. Give the page one label", s.URL, s.Label, h.label, h.place)
				continue next
			}
		}
		key := p.key()
		if at, twice := seen[key]; twice {
			tell(&p, Repeated, true, "the same path stands at %s; it is used once", at)
			continue
		}
		seen[key] = p.Place()
		if rec != nil {
			if u, ok := leaves(&p, rec); ok {
				tell(&p, Outside, true, "%s is not in the record; the path is left out", u)
				continue
			}
			for _, j := range Resolve(&p, rec) {
				tell(&p, Unlinked, false, "no link leads from %s to %s; the path is used without it", p.Steps[j-1].URL, p.Steps[j].URL)
			}
		}
		if e := p.Ending(); e != Goal && e != Fail {
			tell(&p, NoGoal, false, "the path ends in %q, with no %s: it shows what does not lead there. End it with %s to say so, or go on to a goal", e, Goal, Fail)
		}
		usable = append(usable, p)
	}
	problems = append(problems, lonely(usable)...)
	for _, task := range tasks(usable) {
		if !slices.ContainsFunc(usable, func(p Path) bool { return p.Task == task && p.Positive() }) {
			of := ""
			if task != "" {
				of = fmt.Sprintf(" of the task %q", task)
			}
			problems = append(problems, Problem{Kind: NoneReaches, Text: fmt.Sprintf("no path%s ends in %s: nothing tells what is sought", of, Goal)})
		}
	}
	return usable, problems
}

type labelKey struct {
	task string
	url  web.URL
}

type labelPlace struct {
	label, place string // and where it was given last
}

// agree finds the label that holds for each page with a label.
func agree(set []Path) map[labelKey]labelPlace {
	type vote struct {
		label string
		times int
		last  int // path
	}
	all := map[labelKey][]vote{}
	for i := range set {
		for _, s := range set[i].Steps {
			if s.Label == "" {
				continue
			}
			at := labelKey{set[i].Task, s.URL}
			j := slices.IndexFunc(all[at], func(g vote) bool { return g.label == s.Label })
			if j < 0 {
				j = len(all[at])
				all[at] = append(all[at], vote{label: s.Label})
			}
			all[at][j].times++
			all[at][j].last = i
		}
	}
	out := make(map[labelKey]labelPlace, len(all))
	for at, gs := range all {
		best := gs[0]
		for _, g := range gs[1:] {
			if g.times > best.times || g.times == best.times && g.last >= best.last {
				best = g
			}
		}
		out[at] = labelPlace{best.label, set[best.last].Place()}
	}
	return out
}

// lonely tells of milestones that stand in one place only.
func lonely(set []Path) (problems []Problem) {
	type use struct {
		pages map[web.URL]bool
		times int
		place string
	}
	uses := map[string]*use{}
	labels := Labels(set)
	for i := range set {
		for _, s := range set[i].Steps {
			if s.Label == "" || s.Label == Goal || s.Label == Fail {
				continue
			}
			if uses[s.Label] == nil {
				uses[s.Label] = &use{pages: map[web.URL]bool{}, place: set[i].Place()}
			}
			uses[s.Label].pages[s.URL] = true
			uses[s.Label].times++
		}
	}
	for _, l := range labels {
		u := uses[l]
		if u == nil || u.times > 1 {
			continue
		}
		hint := "Label such a page on another path too"
		for _, other := range labels {
			if other != l && near(strings.ToLower(l), strings.ToLower(other)) {
				hint = fmt.Sprintf("Is %q meant?", other)
				break
			}
		}
		problems = append(problems, Problem{Kind: Once, Place: u.place, Text: fmt.Sprintf("the label %q stands here only, and one page shows little of what such pages have in common. %s", l, hint)})
	}
	return problems
}

// near tells whether a and b are one edit apart (a letter added, left out,
// another, or two swapped), or equal.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(b) < 3 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return i >= len(a)-1 || a[i+1:] == b[i+1:] || a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	}
	return a[i:] == b[i+1:]
}

func tasks(set []Path) (out []string) {
	for i := range set {
		if !slices.Contains(out, set[i].Task) {
			out = append(out, set[i].Task)
		}
	}
	return out
}

// key is equal for paths that show the same.
func (p *Path) key() string {
	var b strings.Builder
	b.WriteString(p.Task)
	for _, s := range p.Steps {
		b.WriteString("\n" + s.URL.String() + "\t" + s.Label)
	}
	return b.String()
}

// leaves finds the first page of p that is not in the record.
func leaves(p *Path, rec Record) (u web.URL, ok bool) {
	for _, s := range p.Steps {
		if _, in := rec.Page(s.URL); !in {
			return s.URL, true
		}
	}
	return web.URL{}, false
}

// Resolve looks up the links that p followed and fills in their anchors and
// ordinals. Of several links to a page, the one with the ordinal that p tells
// is taken, else the first with its anchor, else the first with a text, else
// the first. It returns the steps (from 1 on, as the first page has no link)
// to which no link leads from the page before: a form, a back click, an
// address typed in, or a page that has changed.
func Resolve(p *Path, rec Record) (unlinked []int) {
	for i := 1; i < len(p.Steps); i++ {
		s := &p.Steps[i]
		before, ok := rec.Page(p.Steps[i-1].URL)
		if !ok {
			unlinked = append(unlinked, i)
			continue
		}
		to := s.URL
		if !s.Link.Via.IsZero() {
			to = s.Link.Via
		}
		best, rank := -1, 0
		for j := range before.Links {
			l := &before.Links[j]
			if l.URL != to {
				continue
			}
			r := 1
			switch {
			case s.Link.Ordinal == l.Position+1:
				r = 4
			case s.Link.Anchor != "" && l.Anchor == s.Link.Anchor:
				r = 3
			case l.Anchor != "":
				r = 2
			}
			if r > rank {
				best, rank = j, r
			}
		}
		if best < 0 {
			unlinked = append(unlinked, i)
			continue
		}
		s.Link.Anchor, s.Link.Ordinal = oneLine(before.Links[best].Anchor), before.Links[best].Position+1
	}
	return unlinked
}

// Within keeps the paths that stay in a record of that name, with the links that were
// followed, see Resolve. It ends early, with none of the rest, when ctx does.
func Within(ctx context.Context, set []Path, rec Record, name string) (inside []Path, problems []Problem) {
	inside = slices.DeleteFunc(set, func(p Path) bool {
		if ctx.Err() != nil {
			return true
		}
		for _, s := range p.Steps {
			if _, ok := rec.Page(s.URL); !ok {
				problems = append(problems, Problem{Kind: Outside, Place: p.Place(), Dropped: true,
					Text: fmt.Sprintf("%s is not in %s; the path is left out", s.URL, name)})
				return true
			}
		}
		Resolve(&p, rec)
		return false
	})
	return inside, problems
}

// maxTold bounds the notes about paths.
const maxTold = 20

// Tell tells the first 20 problems, and how many more there are.
func Tell(problems []Problem, note func(string)) {
	for i, p := range problems {
		if i == maxTold {
			note(fmt.Sprintf("… and %s more such notes", terminal.Number(len(problems)-i)))
			return
		}
		note(p.String())
	}
}
