package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/learn/sparse"
	"github.com/waggle-crawler/waggle/learn/tagger"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// pathRecord is a record of pages by address.
type pathRecord map[web.URL]*web.Page

func (r pathRecord) Page(u web.URL) (*web.Page, bool) {
	p, ok := r[u]
	return p, ok
}

// pathOf makes a path of a site: "page label" each, and the pages that are not
// there yet, with links from each to the next.
func (r pathRecord) pathOf(t testing.TB, site string, steps ...string) (p paths.Path) {
	t.Helper()
	for i, s := range steps {
		name, label, _ := strings.Cut(s, " ")
		u, err := web.Parse("http://" + site + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if r[u] == nil {
			r[u] = &web.Page{URL: u, Title: name + " page"}
		}
		if i > 0 {
			from := r[p.Steps[i-1].URL]
			if !slices.ContainsFunc(from.Links, func(l web.Link) bool { return l.URL == u }) {
				from.Links = append(from.Links, web.Link{URL: u, Anchor: "to " + name, Position: len(from.Links), TagPath: "html/body/a"})
			}
		}
		p.Steps = append(p.Steps, paths.Step{URL: u, Label: label})
	}
	return p
}

func teachPaths(t testing.TB, set []paths.Path, rec paths.Record, settings map[string]float64) *model.Paths {
	t.Helper()
	f, err := FitPaths(context.Background(), set, rec, FitOptions{Set: settings})
	if err != nil {
		t.Fatal(err)
	}
	return f.Payload.(*model.Paths)
}

// States are those of labels and the prefix states that occur. Model A (section
// 2.4.1) has one state for each label and link features on arcs; model B (2.4.2)
// has states of links too, which alternate with those of pages, and only edges on
// arcs.
func TestStatesOfModelsAAndB(t *testing.T) {
	r := pathRecord{}
	set := []paths.Path{
		r.pathOf(t, "a.test", "home", "dept Department", "people", "prof Goal"),
		r.pathOf(t, "b.test", "home", "dept Department", "prof Goal"),
		r.pathOf(t, "b.test", "home", "news Fail"),
	}
	want := []string{"→Department", "Department", "→Goal", "Goal", "→Fail", "Fail"}
	a, b := teachPaths(t, set, r, map[string]float64{"dual": 0}), teachPaths(t, set, r, nil)
	for _, m := range []*model.Paths{a, b} {
		var got []string
		for _, s := range m.States {
			got = append(got, s.String())
		}
		if !slices.Equal(got, want) || m.Goal != 3 || m.Fail != 5 {
			t.Errorf("states %q, goal %d, fail %d", got, m.Goal, m.Fail)
		}
	}
	n := len(want)
	if a.Dual() || !b.Dual() || a.Field.States() != n || b.Field.States() != 2*n {
		t.Errorf("model A has %d states, model B %d", a.Field.States(), b.Field.States())
	}
	if a.Field.ArcFeatures != a.Words.Len()+1 || b.Field.ArcFeatures != 1 {
		t.Errorf("%d features of arcs in model A, %d in model B", a.Field.ArcFeatures, b.Field.ArcFeatures)
	}
	for i := range 2 * n {
		for j := range 2 * n {
			want := i < n && j >= n || i >= n && j == i-n
			if b.Field.Allowed[i*2*n+j] != want {
				t.Errorf("from state %d to %d: %v", i, j, !want)
			}
		}
	}
	// The words of links weigh on states of links alone, those of pages on theirs.
	for word := range b.Words.Len() {
		page := strings.HasPrefix(b.Words.Word(uint32(word)), "page:")
		for s := range 2 * n {
			if x := b.Field.State[(word+1)*2*n+s]; (s < n) != page && x != 0 {
				t.Errorf("%s weighs %v on state %d", b.Words.Word(uint32(word)), x, s)
			}
		}
	}
}

// threeStates is a field of start, Goal and Fail by edges alone, with e^w of
//
//	from\to  start Goal Fail
//	start      1    3    1
//	Goal       1    1    2
//	Fail       1    1    2
//
// and a state feature 1 that doubles Goal.
func threeStates() *tagger.Weights {
	s := tagger.Shape{Kinds: []int{3}, Features: 2, ArcFeatures: 1, Allowed: make([]bool, 9)}
	for i := range s.Allowed {
		s.Allowed[i] = true
	}
	w := tagger.NewWeights(s)
	copy(w.Arc, []float64{0, math.Log(3), 0, 0, 0, math.Log(2), 0, 0, math.Log(2)})
	w.State[1*3+1] = math.Log(2)
	return w
}

// Equations 3 to 5 by hand. With three pages, the last of which shows feature 1:
//
//	R_3 = (0, 1, 0)
//	R_2(start) = 3·2/(1+3·2+1) = 6/8   R_2(Goal) = 2/(1+2+2) = 2/5 = R_2(Fail)
//	R_1(start) = (1·6/8 + 3·2/5 + 1·2/5)/5 = 2.35/5 = 0.47
//	R_1(Goal) = (6/8 + 2/5 + 2·2/5)/4 = 1.95/4 = 0.4875 = R_1(Fail)
//	R^x(y) = (R_3 + 0.9·R_2 + 0.81·R_1)/2.71
//
// and with a second sequence of one page, R = (0, 1, 0), the mean of both.
func TestRewardsAsPrinted(t *testing.T) {
	bias := sparse.Vector{{ID: 0, Value: 1}}
	feature := sparse.Vector{{ID: 1, Value: 1}}
	at := func(v sparse.Vector) tagger.Position { return tagger.Position{State: v, Arc: bias} }
	long := tagger.Sequence{Positions: []tagger.Position{at(nil), at(nil), at(feature)}, States: []int{0, 0, 1}}
	short := tagger.Sequence{Positions: []tagger.Position{at(nil)}, States: []int{2}}
	x := []float64{
		(0 + 0.9*0.75 + 0.81*0.47) / 2.71,
		(1 + 0.9*0.4 + 0.81*0.4875) / 2.71,
		(0 + 0.9*0.4 + 0.81*0.4875) / 2.71,
	}
	for y, got := range printedRewards(threeStates(), []tagger.Sequence{long}, 1, 0.9) {
		if math.Abs(got-x[y]) > 1e-12 {
			t.Errorf("R(%d) = %v, by hand %v", y, got, x[y])
		}
	}
	// A contradiction of the paper, kept: a sequence that ended in Fail makes
	// Goal worth as much as one that ended there.
	for y, got := range printedRewards(threeStates(), []tagger.Sequence{long, short}, 1, 0.9) {
		if want := (x[y] + []float64{0, 1, 0}[y]) / 2; math.Abs(got-want) > 1e-12 {
			t.Errorf("mean R(%d) = %v, by hand %v", y, got, want)
		}
	}
}

// Discounted rewards by hand: V(Goal) = 1, and with paths home home Goal, home Goal, home
// Fail, where home is followed by home once, by Goal twice, by Fail once,
//
//	V(home) = 0.9·(1/4·V(home) + 2/4·1 + 1/4·0)  =>  V = 0.45/(1 − 0.225)
//
// Nothing follows Fail, so V(Fail) = 0, and so is that of a state nobody saw.
func TestDiscountedRewards(t *testing.T) {
	got := discountedRewards([][]int{{0, 0, 1}, {0, 1}, {0, 2}}, 4, 1, 0.9)
	want := []float64{0.45 / 0.775, 1, 0, 0}
	for y := range want {
		if math.Abs(got[y]-want[y]) > 1e-9 {
			t.Errorf("V(%d) = %v, by hand %v", y, got[y], want[y])
		}
	}
	// Half of the paths end at home: they lead to nothing.
	got = discountedRewards([][]int{{0, 1}, {0}}, 2, 1, 1)
	if math.Abs(got[0]-0.5) > 1e-9 {
		t.Errorf("V = %v where every second path ends", got[0])
	}
	// By Laplace: home was followed each of 4 times, Goal none of 3.
	if got := onward([][]int{{0, 0, 1}, {0, 1}, {0, 1}}, 2); math.Abs(got[0]-5./6) > 1e-12 || math.Abs(got[1]-1./5) > 1e-12 {
		t.Errorf("paths go on in %v", got)
	}
	// Round in a circle, to nothing.
	got = discountedRewards([][]int{{0, 0, 0, 0}}, 2, 1, 1)
	if got[0] != 0 {
		t.Errorf("V = %v of a circle", got[0])
	}
}

// What teaches nothing says so; what teaches makes the same file each time, and
// the file comes back whole.
func TestFitPaths(t *testing.T) {
	r := pathRecord{}
	good := []paths.Path{r.pathOf(t, "a.test", "home", "prof Goal"), r.pathOf(t, "a.test", "home", "news Fail")}
	other := r.pathOf(t, "a.test", "home", "prof Goal")
	other.Task = "courses"
	var named []paths.Path
	for i := range 600 {
		named = append(named, r.pathOf(t, "a.test", fmt.Sprintf("news L%d", i), "prof Goal"))
	}
	for _, c := range []struct {
		name string
		set  []paths.Path
		rec  paths.Record
		is   error
		says string
	}{
		{"none", nil, r, ErrNoPath, ""},
		{"no label", []paths.Path{r.pathOf(t, "a.test", "home")}, r, ErrNoPath, ""},
		{"no goal", good[1:], r, ErrNoGoal, ""},
		{"goals alone", []paths.Path{r.pathOf(t, "a.test", "prof Goal")}, r, nil, "wrong turn"},
		{"two tasks", append(slices.Clone(good), other), r, nil, "choose one"},
		{"no record", good, nil, ErrNoPages, ""},
		{"a label for each page", named, r, nil, "601 labels make 601 states, of at most 512: a label is for pages that are alike on every site"},
		{"a page that is not there", good, pathRecord{}, nil, "http://a.test/home is not in the record"},
	} {
		_, err := FitPaths(context.Background(), c.set, c.rec, FitOptions{})
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := FitPaths(context.Background(), good, nil, FitOptions{Set: map[string]float64{"page-tokens": 0}}); err != nil {
		t.Errorf("links alone need no record: %v", err)
	}
	for name, v := range map[string]float64{"dual": 0.7, "page-tokens": 1.5, "tagged": 0.5} {
		if err := CheckPathOptions(FitOptions{Set: map[string]float64{name: v}}); err == nil || !strings.Contains(err.Error(), "is no whole number") {
			t.Errorf("%s = %v: %v", name, v, err)
		}
	}
	var files [2][]byte
	for i := range files {
		f, err := FitPaths(context.Background(), good, r, FitOptions{Version: "v0"})
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = f.Marshal(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same paths give other files")
	}
	back, err := model.Unmarshal(files[0], text.NewAnalyzer())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := back.Marshal(); err != nil || !bytes.Equal(again, files[0]) {
		t.Errorf("the file came back another: %v", err)
	}
	for i := range files[0] {
		if i%97 == 0 {
			if _, err := model.Unmarshal(files[0][:i], text.NewAnalyzer()); err == nil {
				t.Fatalf("%d of %d bytes are a model", i, len(files[0]))
			}
		}
	}
}

// Training on a thousand paths of ten sites takes less than five seconds.
func BenchmarkFitPaths(b *testing.B) {
	chance := rand.New(rand.NewPCG(1, 2))
	r := pathRecord{}
	var words []string
	for i := range 5000 {
		words = append(words, fmt.Sprintf("w%d", i))
	}
	var set []paths.Path
	for i := range 1000 {
		site := fmt.Sprintf("s%d.test", i%10)
		set = append(set, r.pathOf(b, site, "home", "dept Department", fmt.Sprintf("people%d People", i%20), fmt.Sprintf("prof%d", i), fmt.Sprintf("pubs%d %s", i, []string{"Goal", "Goal", "Fail"}[i%3])))
	}
	for _, p := range r {
		var text []string
		for range 120 {
			text = append(text, words[chance.IntN(1+chance.IntN(len(words)))])
		}
		p.Leaves = []web.Leaf{{Text: strings.Join(text, " ")}}
	}
	for b.Loop() {
		began := time.Now()
		if _, err := FitPaths(context.Background(), set, r, FitOptions{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/1000-paths")
	}
}
