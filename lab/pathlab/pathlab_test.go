package pathlab

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// Precision, recall and F1 by hand: three states, of which one is never named.
//
//	is      named   right
//	Goal    Goal    ✓
//	Goal    Dept
//	Dept    Dept    ✓
//	Fail    Dept
//
// P(Goal) = 1/1, R = 1/2; P(Dept) = 1/3, R = 1/1; P(Fail) = 0, R = 0.
func TestCounts(t *testing.T) {
	c := Counts{}
	for _, x := range [][2]string{{"Goal", "Goal"}, {"Goal", "Dept"}, {"Dept", "Dept"}, {"Fail", "Dept"}} {
		c.add(x[0], x[1])
	}
	for name, x := range map[string][2]PRF{
		"G": {c.Of(paths.Goal), {1, 0.5, 2. / 3}},
		"A": {c.All(), {4. / 9, 0.5, 2 * (4. / 9) * 0.5 / (4./9 + 0.5)}},
		"-": {c.Of("none"), {}},
	} {
		got, want := x[0], x[1]
		if math.Abs(got.P-want.P)+math.Abs(got.R-want.R)+math.Abs(got.F-want.F) > 1e-12 {
			t.Errorf("%s: %v, by hand %v", name, got, want)
		}
	}
	// The paper's own: its F1 of (A) is that of its means, 88.3 and 81.4 give 84.7.
	if f := prf(0.883, 0.814).F; math.Abs(f-0.847) > 0.0005 {
		t.Errorf("F1 %v", f)
	}
}

// Ranks count addresses once, by their best link, and share the rank of equals.
func TestRankOf(t *testing.T) {
	p := &web.Page{}
	worth := []float64{0.1, 0.9, 0.5, 0.5, 0.3}
	for _, s := range []string{"a", "a", "b", "c", "d"} {
		u, err := web.Parse("http://x.test/" + s)
		if err != nil {
			t.Fatal(err)
		}
		p.Links = append(p.Links, web.Link{URL: u, Position: len(p.Links)})
	}
	for i, want := range []float64{1, 1, 2.5, 2.5, 4} {
		rank, links, ok := rankOf(p, p.Links[i].URL, func(i int) float64 { return worth[i] })
		if !ok || links != 4 || rank != want {
			t.Errorf("link %d has rank %v of %d, want %v", i, rank, links, want)
		}
	}
	if _, _, ok := rankOf(p, web.URL{}, func(int) float64 { return 0 }); ok {
		t.Error("an address that the page does not link to has a rank")
	}
}

// On the real record: no site is tried with what it taught, no test goal
// is unlabelled, and the tables have all their rows.
func TestDepartments(t *testing.T) {
	dir := recorded.Web(t, "departments")
	ctx := context.Background()
	src, err := corpus.Detect(dir)
	if err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(t.TempDir(), "departments")
	if _, err := corpus.Build(ctx, built, src, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	w, err := corpus.Open(built)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pages, err := corpus.OpenPages(ctx, w, parse.New(parse.Options{}), corpus.PagesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	trial := &Trial{Web: w, Pages: pages, Topics: []string{"course"}, Repeats: 1, Goals: 6, Wrong: 4, TestGoals: 5, TestWrong: 3, Budget: 20}
	folds, err := trial.folds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(folds) != 3 {
		t.Fatalf("%d folds", len(folds))
	}
	for _, f := range folds {
		if len(f.shown) == 0 || len(f.shown) > 10 || len(f.other) == 0 {
			t.Errorf("%s: %d paths teach, %d are named", f.site, len(f.shown), len(f.other))
		}
		for _, p := range f.shown {
			for _, s := range p.Steps {
				if s.URL.Host().Domain() == f.site {
					t.Errorf("%s teaches and is tried: %s", f.site, s.URL)
				}
			}
		}
		for _, p := range f.other {
			if end := p.Steps[len(p.Steps)-1].URL; p.Positive() != f.truth[end] {
				t.Errorf("%s ends in %s, and the truth is %v", end, p.Ending(), f.truth[end])
			}
		}
	}
	data, err := trial.Data(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d := data[0]
	if len(data) != 1 || d.Folds != 3 || d.Sites != 2 || d.Positive != 6 || d.TestedPositive > 5 || d.MedianLength < 1 || d.Length < 1 || d.Features <= d.Words {
		t.Errorf("data %+v", data)
	}
	var b bytes.Buffer
	named, err := trial.Names(ctx, []int{10}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	WriteNaming(&b, named)
	reached, err := trial.Reach(ctx, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	WriteReach(&b, reached)
	claims, err := trial.Claims(ctx, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	WriteClaims(&b, claims)
	for i, c := range claims { // of all, then of the one topic, and the more is asked the less is claimed
		if c.Sites != 3 || i%len(claimLevels) > 0 && c.Claimed > claims[i-1].Claimed || c.ByPath.R > claims[i/len(claimLevels)*len(claimLevels)].ByPath.R {
			t.Errorf("claims %+v", c)
		}
	}
	if got, want := strings.Count(b.String(), "\n"), 2+5+2+6+2+2*len(claimLevels); got != want {
		t.Errorf("%d lines, want %d:\n%s", got, want, fmt.Sprint(b.String()))
	}
}
