package teach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// oracle suggests the first candidate.
type oracle struct{}

func (oracle) Suggest(_ context.Context, shown, candidates []paths.Path, n int) ([]Suggestion, error) {
	var out []Suggestion
	for _, c := range candidates {
		out = append(out, Suggestion{Path: c, Guess: paths.Goal, Why: fmt.Sprintf("%d shown", len(shown))})
	}
	return out[:min(n, len(out))], nil
}

// TestSuggest takes a suggestion and labels it: two clicks.
func TestSuggest(t *testing.T) {
	set, _, err := paths.Read(strings.NewReader("http://college.test/\nhttp://college.test/dept/\nhttp://college.test/dept/people\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	d := sit(t, college(), func(o *Options) { o.Suggester, o.Candidates = oracle{}, set })
	st, failed := d.do("suggest", postRequest{})
	if failed != "" || len(st.Suggestions) != 1 || st.Suggestions[0].Why != "0 shown" || st.Suggestions[0].Guess != "Goal" {
		t.Fatalf("%q %+v", failed, st.Suggestions)
	}
	if st, failed = d.do("take", postRequest{Path: 0}); failed != "" || !st.Labelable || st.Step != 2 {
		t.Fatalf("%q %+v", failed, st)
	}
	if st, failed = d.label("Goal"); failed != "" || len(st.Suggestions) != 0 {
		t.Fatalf("%q %+v", failed, st)
	}
	if got := d.tsv(); got != "/\n/dept/\n/dept/people\tGoal" {
		t.Errorf("kept:\n%s", got)
	}
}

// asker suggests what it is told to.
type asker []Suggestion

func (a asker) Suggest(context.Context, []paths.Path, []paths.Path, int) ([]Suggestion, error) {
	if len(a) == 0 {
		return nil, errors.New("no suggestion yet: show something first")
	}
	return a, nil
}

// TestTakeSuggestions opens pages that are suggested: one that has moved is
// labelled where it is, one that is not to be had leaves no path.
func TestTakeSuggestions(t *testing.T) {
	way := func(pages ...string) (p paths.Path) {
		for _, s := range pages {
			u, err := web.Parse("http://college.test" + s)
			if err != nil {
				t.Fatal(err)
			}
			p.Steps = append(p.Steps, paths.Step{URL: u, Link: paths.Click{Anchor: "to " + s}})
		}
		return p
	}
	d := sit(t, college(), func(o *Options) {
		o.Suggester = asker{{Path: way("/", "/gone")}, {Path: way("/", "/moved"), Guess: "Goal", Why: "why"}, {Path: way("/")}, {}}
	})
	st, failed := d.do("suggest", postRequest{})
	if failed != "" || len(st.Suggestions) != 3 || st.Suggestions[1].Last != "to /moved" || st.Suggestions[1].From != "college.test" || st.Suggestions[1].Why != "why" {
		t.Fatalf("%s: %+v", failed, st.Suggestions)
	}
	st, failed = d.do("take", postRequest{Path: 0})
	if failed != "" || !strings.Contains(st.Notice, "/gone cannot be had") || len(st.Suggestions) != 2 || st.Total != 0 || len(d.saved) != 0 {
		t.Errorf("a page that is gone: %s %q, %d paths", failed, st.Notice, st.Total)
	}
	d.fail = errDisk
	if st, failed = d.do("take", postRequest{Path: 0}); !strings.Contains(failed, "no space left") || len(st.Suggestions) != 2 || st.Total != 0 {
		t.Errorf("no space: %q, %d suggestions, %d paths", failed, len(st.Suggestions), st.Total)
	}
	st, failed = d.do("take", postRequest{Path: 0})
	if failed != "" || !st.Labelable || len(st.Suggestions) != 1 {
		t.Errorf("%s: %+v", failed, st)
	}
	d.label("Goal")
	if got, want := d.tsv(), "/\t\tto /\n/dept/courses.html\tGoal\tto /moved\t\t/moved"; got != want {
		t.Errorf("kept\n%s\nwant\n%s", got, want)
	}
	d = sit(t, college(), func(o *Options) { o.Suggester = asker{} })
	if _, failed := d.do("suggest", postRequest{}); failed != "no suggestion yet: show something first" {
		t.Errorf("nothing to suggest: %q", failed)
	}
}
