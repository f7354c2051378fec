package teach

import (
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// book holds the paths a person is showing and the place where they stand in
// them. It decides what a click means and does nothing else: no I/O, no clock.
//
// A path grows at its end. Who goes back and takes another link leaves the
// pages gone back from if one of them has a label, and then goes on in a new
// path with the same beginning; without a label they are forgotten.
//
//	/ ─ dept ─ courses ─ cs101 (Goal)
//	      └─ people ─ ann (Fail)          two paths, begun alike
type book struct {
	set  []paths.Path // elements are never written to: they are replaced
	path int          // where the person stands; -1 = nowhere
	step int
	// History is for undo and redo; forgotten is what could be redone before the
	// last action.
	History
	forgotten []Moment
	task      string // of new paths
}

func newBook(set []paths.Path, h History, task string) *book {
	b := &book{set: slices.Clone(set), History: History{slices.Clone(h.Past), slices.Clone(h.Future)}, path: -1, task: task}
	if n := len(set); n > 0 && len(set[n-1].Steps) > 0 {
		b.path, b.step = n-1, len(set[n-1].Steps)-1
	}
	return b
}

// here is the page where the person stands.
func (b *book) here() (s paths.Step, ok bool) {
	if b.path < 0 {
		return s, false
	}
	return b.set[b.path].Steps[b.step], true
}

// become does something: the book holds set from now on, and the person stands
// on that page of it. set is a slice of its own.
func (b *book) become(what string, set []paths.Path, path, step int) {
	if len(b.Past) == maxPast {
		b.Past = slices.Delete(b.Past, 0, 1)
	}
	b.Past = append(b.Past, between(b.set, set, b.path, b.step, what))
	b.forgotten, b.Future = b.Future, nil
	b.set, b.path, b.step = set, path, step
}

// undo takes the last action back and tells which it was; "" = there is none.
func (b *book) undo() string { return b.turn(&b.Past, &b.Future) }

// redo does the action again that was taken back last, and tells which it was;
// "" = there is none.
func (b *book) redo() string { return b.turn(&b.Future, &b.Past) }

// turn goes back by the last moment of one list, and adds the way forth again to
// the other.
func (b *book) turn(from, to *[]Moment) string {
	n := len(*from) - 1
	if n < 0 {
		return ""
	}
	m := (*from)[n]
	*from = (*from)[:n:n]
	was := m.before(b.set)
	*to = append(slices.Clip(*to), between(b.set, was, b.path, b.step, m.what))
	b.set, b.path, b.step = was, m.path, m.step
	if b.path >= len(b.set) || b.path >= 0 && b.step >= len(b.set[b.path].Steps) {
		b.path, b.step = -1, 0 // the past comes from a file, which people can edit
	}
	return m.what
}

// takeBack undoes the last action as if it had not been.
func (b *book) takeBack() {
	b.undo()
	b.Future = b.forgotten
}

// start begins a path at u. A path without any label of which only the start
// page was seen makes room.
func (b *book) start(u web.URL) {
	b.add("a new path", paths.Path{Task: b.task, Source: "teach", Steps: []paths.Step{{URL: u}}})
}

// add adds a path and stands at its end.
func (b *book) add(what string, p paths.Path) {
	set := slices.Clone(b.set)
	if b.path >= 0 && len(set[b.path].Steps) == 1 && set[b.path].Steps[0].Label == "" {
		set = slices.Delete(set, b.path, b.path+1)
	}
	set = append(set, p)
	b.become(what, set, len(set)-1, len(p.Steps)-1)
}

// follow goes from the present page to u by a link. It tells whether that
// changed a path.
func (b *book) follow(u web.URL, l paths.Click) (changed bool, err error) {
	p := b.set[b.path]
	if back := slices.IndexFunc(p.Steps[:b.step+1], func(s paths.Step) bool { return s.URL == u }); back >= 0 {
		b.step = back // a link to where the path came from
		return false, nil
	}
	if b.step+1 < len(p.Steps) && p.Steps[b.step+1].URL == u {
		b.step++
		return false, nil
	}
	if b.step+1 == paths.MaxSteps {
		return false, fmt.Errorf("the path has %d pages: begin a new one", paths.MaxSteps)
	}
	next := paths.Step{URL: u, Link: l}
	if known := b.known(u); known != paths.Goal || !slices.ContainsFunc(p.Steps[:b.step+1], func(s paths.Step) bool { return s.Label == paths.Goal }) {
		next.Label = known
	}
	labelled := slices.ContainsFunc(p.Steps[b.step+1:], func(s paths.Step) bool { return s.Label != "" })
	p.Steps = append(slices.Clone(p.Steps[:b.step+1]), next)
	p.File, p.Line = "", 0
	set, path := slices.Clone(b.set), b.path
	if labelled {
		p.Source = "teach"
		set, path = append(set, p), len(set)
	} else {
		set[path] = p
	}
	b.become("following a link", set, path, b.step+1)
	return true, nil
}

// known is the label that a page of the task has already, but for Fail: that it
// was a wrong turn once does not say that it is one now.
func (b *book) known(u web.URL) string {
	for _, p := range b.set {
		if p.Task != b.set[b.path].Task {
			continue
		}
		for _, s := range p.Steps {
			if s.URL == u && s.Label != "" && s.Label != paths.Fail {
				return s.Label
			}
		}
	}
	return ""
}

// stand moves to a page of a path, and tells whether there is one.
func (b *book) stand(path, step int) bool {
	if path < 0 || path >= len(b.set) || step < 0 || step >= len(b.set[path].Steps) {
		return false
	}
	b.path, b.step = path, step
	return true
}

// adopt adds a path from elsewhere and stands at its end.
func (b *book) adopt(p paths.Path) {
	p.Task, p.Source, p.File, p.Line = b.task, "teach", "", 0
	b.add("taking a suggestion", p)
}

// label gives the present page a label, or takes it away where it is that
// already or "". A page has one label: where it stands in other paths of the
// task with another, it changes there too, and a milestone goes to all its
// places. It returns how many other places changed.
func (b *book) label(label string) (elsewhere int, err error) {
	s, ok := b.here()
	if !ok {
		return 0, fmt.Errorf("no page is shown that could be labelled: open one first")
	}
	present := b.set[b.path]
	old := s.Label
	if label == old {
		label = ""
	}
	if label == paths.Goal {
		for i, t := range present.Steps {
			if i != b.step && t.Label == paths.Goal {
				return 0, fmt.Errorf("this path has its %s already, %s. Begin a new path for another, or take that label away first", paths.Goal, t.URL)
			}
		}
	}
	what := "the label " + label
	if label == "" {
		what = "taking the label " + old + " away"
	}
	set := slices.Clone(b.set)
	milestone := label != "" && label != paths.Goal && label != paths.Fail
	for i, p := range set {
		if p.Task != present.Task {
			continue
		}
		cloned := false
		for j, t := range p.Steps {
			itself := i == b.path && j == b.step
			change := t.URL == s.URL && t.Label != label && (itself ||
				label == "" && t.Label == old || label != "" && (t.Label != "" || milestone))
			if !change {
				continue
			}
			if !cloned {
				p.Steps = slices.Clone(p.Steps)
				cloned = true
			}
			p.Steps[j].Label = label
			if !itself {
				elsewhere++
			}
		}
		set[i] = p
	}
	b.become(what, set, b.path, b.step)
	return elsewhere, nil
}

// remove forgets a path.
func (b *book) remove(path int) bool {
	if path < 0 || path >= len(b.set) {
		return false
	}
	at, step := b.path, b.step
	switch {
	case path == at:
		at, step = -1, 0
	case path < at:
		at--
	}
	b.become("removing a path", slices.Delete(slices.Clone(b.set), path, path+1), at, step)
	return true
}
