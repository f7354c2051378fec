package teach

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// state is what the controls draw.
type state struct {
	Version  int    `json:"version"`
	Keeper   string `json:"keeper"`
	Recorded string `json:"recorded,omitempty"`
	Task     string `json:"task,omitempty"`
	Notice   string `json:"notice,omitempty"`
	Undo     string `json:"undo,omitempty"` // what undo would take back
	Redo     string `json:"redo,omitempty"` // what redo would do again

	Src       string `json:"src"`     // what the frame should show; "" = nothing
	Current   int    `json:"current"` // its view
	Framed    int    `json:"framed"`  // the view that the frame asked for last
	Labelable bool   `json:"labelable"`
	Loading   bool   `json:"loading"` // a link was clicked, its page is on the way

	Path  int         `json:"path"` // where the person stands; -1 = nowhere
	Step  int         `json:"step"`
	Steps []stepState `json:"steps"` // of that path
	Paths []pathState `json:"paths"` // at most maxListed, the latest
	Total int         `json:"total"`

	Labels      []labelState      `json:"labels"` // milestones
	Starts      []startState      `json:"starts"`
	Problems    []string          `json:"problems"`
	CanSuggest  bool              `json:"canSuggest"`
	Suggestions []suggestionState `json:"suggestions"`
}

type stepState struct {
	URL    string `json:"url"`
	Short  string `json:"short"`
	Title  string `json:"title"`
	Label  string `json:"label"`
	State  string `json:"state"` // "before Goal" on the way to the page that is the Goal
	Anchor string `json:"anchor"`
}

type pathState struct {
	Number int      `json:"number"`
	Site   string   `json:"site"`
	Pages  int      `json:"pages"`
	Labels []string `json:"labels"`
	Ending string   `json:"ending"`
	Last   string   `json:"last"` // its last page, for people
}

type startState struct {
	URL   string `json:"url"`
	Title string `json:"title"` // "" = unknown
}

type labelState struct {
	Name string `json:"name"`
	Uses int    `json:"uses"`
}

type suggestionState struct {
	Last  string `json:"last"` // the page, for people
	URL   string `json:"url"`
	From  string `json:"from"` // the page with the link to it, for people
	Guess string `json:"guess"`
	Why   string `json:"why"`
}

// Bounds of what the controls list.
const (
	maxListed   = 200
	maxProblems = 30
)

func (s *Server) state() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.book
	st := state{
		Version: s.version, Keeper: s.Keeper, Recorded: s.Recorded, Task: s.Task, Notice: event.Line(s.notice),
		Current: s.current, Framed: s.framed, Labelable: s.labelable(), Loading: s.loading > 0, Path: b.path, Step: b.step, Total: len(b.set),
		Steps: []stepState{}, Paths: []pathState{}, Labels: []labelState{}, Starts: []startState{}, Problems: []string{},
		CanSuggest: s.Suggester != nil, Suggestions: []suggestionState{},
	}
	if n := len(b.Past); n > 0 {
		st.Undo = b.Past[n-1].what
	}
	if n := len(b.Future); n > 0 {
		st.Redo = b.Future[n-1].what
	}
	if s.current > 0 {
		st.Src = s.pagePath(s.current)
	}
	if b.path >= 0 {
		p := &b.set[b.path]
		states := p.States()
		for i, t := range p.Steps {
			x := stepState{URL: t.URL.String(), Short: short(t.URL), Title: s.titles[t.URL], Label: t.Label, Anchor: t.Link.Anchor}
			if i < len(states) && states[i].Prefix {
				x.State = "before " + states[i].Label
			}
			st.Steps = append(st.Steps, x)
		}
	}
	uses := map[string]int{}
	for i := range b.set {
		for _, t := range b.set[i].Steps {
			uses[t.Label]++
		}
	}
	for i := max(0, len(b.set)-maxListed); i < len(b.set); i++ {
		p := &b.set[i]
		x := pathState{Number: i, Site: p.SiteName(), Pages: len(p.Steps), Ending: p.Ending(), Labels: []string{}}
		for _, t := range p.Steps {
			if t.Label != "" && t.Label != paths.Goal && t.Label != paths.Fail {
				x.Labels = append(x.Labels, t.Label)
			}
		}
		last := &p.Steps[len(p.Steps)-1]
		x.Last = cmp.Or(s.titles[last.URL], event.Line(last.Link.Anchor), short(last.URL))
		st.Paths = append(st.Paths, x)
	}
	for _, l := range append(slices.Clone(s.Milestones), paths.Labels(b.set)...) {
		if l != paths.Goal && l != paths.Fail && !slices.ContainsFunc(st.Labels, func(x labelState) bool { return x.Name == l }) {
			st.Labels = append(st.Labels, labelState{l, uses[l]})
		}
	}
	for _, u := range s.Starts {
		st.Starts = append(st.Starts, startState{u.String(), s.titles[u]})
	}
	for _, g := range s.suggests {
		n := len(g.Path.Steps) - 1
		last := g.Path.Steps[n]
		x := suggestionState{Last: cmp.Or(s.titles[last.URL], event.Line(last.Link.Anchor), short(last.URL)), URL: last.URL.String(), Guess: g.Guess, Why: event.Line(g.Why)}
		if n > 0 {
			from := g.Path.Steps[n-1].URL
			x.From = cmp.Or(s.titles[from], short(from))
		}
		st.Suggestions = append(st.Suggestions, x)
	}
	st.Problems = s.problems()
	return st
}

// problems tells what keeps paths from teaching, but for those not finished.
// s.mu is held.
func (s *Server) problems() []string {
	if s.checked.version == s.version {
		return s.checked.problems
	}
	out := []string{}
	set := slices.Clone(s.book.set)
	for i := range set {
		set[i].File, set[i].Line = "path", i+1
	}
	_, problems := paths.Check(set, nil)
	for _, p := range problems {
		present := p.Place == "path:"+strconv.Itoa(s.book.path+1)
		if present && (p.Kind == paths.Unlabelled || p.Kind == paths.NoGoal) {
			continue
		}
		if len(out) == maxProblems {
			break
		}
		text := p.Text
		if n, ok := strings.CutPrefix(p.Place, "path:"); ok {
			text = "Path " + n + ": " + text
		}
		out = append(out, event.Line(text))
	}
	s.checked.version, s.checked.problems = s.version, out
	return out
}

// short names an address for a narrow column: its last parts.
func short(u web.URL) string {
	p := strings.Trim(u.RequestPath(), "/")
	if p == "" {
		return string(u.Host())
	}
	parts := strings.Split(p, "/")
	if len(parts) > 2 {
		return "…/" + strings.Join(parts[len(parts)-2:], "/")
	}
	return p
}
