package lab

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/web"
)

// meadow builds a recorded web of 121 pages in a binary tree, page n linking to
// 2n and 2n+1 by anchors that say nothing: a third is about bees, a third about
// flowers, a third about cars. Page 120 is about both of the former and an
// example of both. every says of which bees the truth knows.
func meadow(t *testing.T, every int) string {
	t.Helper()
	address := func(n int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://a.example/%d", n))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	texts := []string{"the waggle dance of honey bees in their hive number", "petals and stems of wild flowers in bloom number", "cars have engines and wheels and brakes number"}
	truth := map[string][]web.URL{}
	for n := 1; n < 120; n++ {
		if n%3 == 0 && n%every == 0 {
			truth["bees"] = append(truth["bees"], address(n))
		}
		if n%3 == 1 {
			truth["flowers"] = append(truth["flowers"], address(n))
		}
	}
	topicOf := func(name string, examples ...web.URL) corpus.Topic {
		return corpus.Topic{Name: name, Description: name, Keywords: []string{name}, Seeds: []web.URL{address(2)}, Examples: append(examples, address(120))}
	}
	made := corpus.Made{
		Manifest: corpus.Manifest{Name: "meadow", Topics: []corpus.Topic{topicOf("bees", address(6), address(9)), topicOf("flowers", address(7), address(10))}},
		Truth:    truth,
		Pages: func(yield func(*web.Response, error) bool) {
			for n := 1; n <= 121; n++ {
				text := texts[n%3]
				if n == 120 {
					text = texts[0] + " " + texts[1]
				}
				body := fmt.Appendf(nil, "<title>page</title><p>%s %d <p><a href=/%d>one</a> <a href=/%d>two</a>", text, n, 2*n, 2*n+1)
				r := &web.Response{
					URL: address(n), Status: 200, Header: web.Header{"Content-Type": {"text/html"}},
					Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), Body: body, Raw: body,
				}
				if !yield(r, nil) {
					return
				}
			}
		},
	}
	dir := filepath.Join(t.TempDir(), "meadow")
	if _, err := corpus.Build(t.Context(), dir, made, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

const meadowLab = `
webs: [{path: %s, budgets: [40]}]
baseline: best-first-page
scorers:
  - best-first-page
  - {name: apprentice, as: off-line, after: best-first-page, set: {online: 0}}
judges: [topic, critic, critic-printed]
critic: {%s}
repeats: 2
`

// opened are the topics of a lab's first web, with its pages read, in a repeat.
func opened(t *testing.T, f *File, repeat int) map[string]*group {
	t.Helper()
	w, err := f.open(&f.Webs[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r := &runner{File: f, dir: t.TempDir(), opt: Options{Workers: 1}}
	out := map[string]*group{}
	for _, part := range w.folds {
		if err := part.load(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for _, topic := range w.topics {
			own, _ := part.topic(topic, false)
			g := r.group(w, part, own, false, repeat)
			out[strings.TrimSuffix(topic.Name+"@"+part.name, "@")] = g
		}
	}
	return out
}

// A lab whose judge is a critic gives the same bytes on any number of cores,
// with topics that share an example; tells in the report what the critic was
// taught and how well it judges; and what its training cost.
func TestCriticLab(t *testing.T) {
	f := read(t, fmt.Sprintf(meadowLab, meadow(t, 1), "examples: 12, background: 20"))
	one, two := t.TempDir(), t.TempDir()
	for dir, workers := range map[string]int{one: 1, two: 3} {
		if out, err := f.Run(t.Context(), dir, Options{Workers: workers}); err != nil || out != (Outcome{Cells: 24, Made: 24}) {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	namesOne, hashOne := results(t, one)
	namesTwo, hashTwo := results(t, two)
	if !slices.Equal(namesOne, namesTwo) || hashOne != hashTwo {
		t.Error("results differ on one core and on three")
	}
	r, _ := reportOf(t, one)
	seen := 0
	for _, j := range r.Judges {
		if isCritic(j.Judge) {
			seen++
			if !(j.AUROC > .9) || j.Relevant == 0 {
				t.Errorf("%s on %s: AUROC %.2f of %d relevant pages", j.Judge, j.Topic, j.AUROC, j.Relevant)
			}
		}
	}
	if seen != 4 {
		t.Errorf("%d figures of critics, not 4", seen)
	}
	if notes := strings.Join(r.Rules, "\n"); !strings.Contains(notes, "12 with the examples, and half of those there are at most; and for Other from 20 pages") {
		t.Errorf("the report does not tell what the critic was taught:\n%s", notes)
	}
	for _, c := range r.Costs {
		if c.Judge == criticJudge && !(c.Training > 0) {
			t.Errorf("%s under the critic: no time of training", c.Scorer)
		}
	}
	// Kept with the results, the lab file is the same lab; and with another
	// critic the cells are others.
	kept, err := Read(filepath.Join(one, labFile))
	if err != nil || kept.Critic != f.Critic {
		t.Errorf("kept: %+v, %v", kept.Critic, err)
	}
	other := read(t, fmt.Sprintf(meadowLab, f.Webs[0].Path, "examples: 12, background: 21"))
	three := t.TempDir()
	if _, err := other.Run(t.Context(), three, Options{}); err != nil {
		t.Fatal(err)
	}
	if names, _ := results(t, three); slices.ContainsFunc(names, func(n string) bool { return slices.Contains(namesOne, n) }) {
		t.Error("another background gives the same cells")
	}
}

// What critics are taught is a hit in no repeat and for no topic, and no more
// than was asked for or leaves half to be found; a repeat leaves out a third of
// the directory's pages, and none of the others.
func TestCriticIsTaughtNoHits(t *testing.T) {
	f := read(t, fmt.Sprintf(meadowLab, meadow(t, 1), "examples: 12, background: 20"))
	for repeat := range 3 {
		for name, g := range opened(t, f, repeat) {
			s := g.fold.criticPages
			if n := len(s.directory[name]); n != 9 {
				t.Errorf("%s: %d pages of the directory beside 3 examples, not 9", name, n)
			}
			if len(s.other) != 20 || len(s.shown) != 2*3+2*9+20 {
				t.Errorf("Other has %d pages, and %d are shown", len(s.other), len(s.shown))
			}
			classes := map[string]int{}
			for x, err := range g.samples() {
				if err != nil {
					t.Fatal(err)
				}
				classes[x.Class]++
				u, err := web.Parse(x.Key)
				if err != nil || !slices.Contains(s.shown, u) {
					t.Errorf("%s teaches and is not shown: %v", x.Key, err)
				}
			}
			want := map[string]int{"/bees": 12, "/flowers": 12, "/Other": 20}
			if repeat > 0 {
				want["/bees"], want["/flowers"] = 8, 8
			}
			if !maps.Equal(classes, want) {
				t.Errorf("repeat %d: samples %v, not %v", repeat, classes, want)
			}
			truth := g.truth()
			for _, u := range s.shown {
				if !truth.Shown.Has(u, "") {
					t.Errorf("%s, repeat %d: %s taught and would be a hit", name, repeat, u)
				}
			}
		}
	}
	// Of 38 pages that are no examples, 19 teach at most.
	f = read(t, fmt.Sprintf(meadowLab, meadow(t, 1), "examples: 1000, background: 20"))
	for name, g := range opened(t, f, 0) {
		if n := len(g.fold.criticPages.directory[name]); n < 18 || n > 19 {
			t.Errorf("%s: %d pages teach", name, n)
		}
	}
}

// Unless a directory is asked for, the truth has no part in what critics are
// taught.
func TestCriticSeesNoTruth(t *testing.T) {
	taught := func(every int) []web.URL {
		f := read(t, fmt.Sprintf(meadowLab, meadow(t, every), "background: 30"))
		return opened(t, f, 0)["bees"].fold.criticPages.shown
	}
	if all, few := taught(1), taught(4); !slices.Equal(all, few) {
		t.Errorf("with another truth other pages teach:\n%v\n%v", all, few)
	}
}

// Where a web is parted, critics are taught on hosts that teach.
func TestCriticOfFolds(t *testing.T) {
	f := read(t, "webs: [{path: "+forest(t)+", budgets: [30], train: {folds: sites, targets: 5}}]\nscorers: [breadth-first]\njudges: [critic]\ncritic: {examples: 10, background: 15}\n")
	groups := opened(t, f, 0)
	for name, g := range groups {
		s := g.fold.criticPages
		if len(s.shown) != 5+5+15 {
			t.Errorf("%s: %d pages teach", name, len(s.shown))
		}
		for _, u := range s.shown {
			if g.fold.keeps(u) {
				t.Errorf("%s: %s teaches and is crawled", name, u)
			}
		}
	}
	if len(groups) < 4 {
		t.Errorf("%d parts", len(groups))
	}
	if out, err := f.Run(t.Context(), t.TempDir(), Options{}); err != nil || out.Failed > 0 || out.Made == 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// Under a critic the classes of a page are features of its links, and
// topics = 0 takes none.
func TestClassesAreFeatures(t *testing.T) {
	f := read(t, fmt.Sprintf(meadowLab, meadow(t, 1), "examples: 12, background: 20"))
	g := opened(t, f, 0)["bees"]
	j, _, err := g.judge(g.topic(), criticJudge)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	p, ok := g.w.pages.Page(g.examples()[0])
	if names := judge.ClassNames(j)(p); !ok || len(names) == 0 || names[0] != "/bees" {
		t.Errorf("classes of a page about bees: %v", names)
	}
	words, _, err := g.judge(g.topic(), "topic")
	if err != nil || judge.ClassNames(words) != nil {
		t.Errorf("the judge topic knows classes: %v", err)
	}
	crawl, err := g.crawlOf(t.Context(), criticJudge, "best-first-page")
	if err != nil {
		t.Fatal(err)
	}
	features := func(topics float64) int {
		s := f.Scorers[1]
		s.Set = maps.Clone(s.Set)
		s.Set["topics"] = topics
		file, _, err := g.taughtBy(crawl, s, j)
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.Of[*model.Surroundings](file, model.Apprentice)
		if err != nil {
			t.Fatal(err)
		}
		return len(m.Features)
	}
	if none, names := features(0), features(1); names <= none || names > none+3 {
		t.Errorf("%d features without classes, %d with the names of three", none, names)
	}
}

// What a critic cannot be taught is said with its line, before any cell.
func TestCriticErrors(t *testing.T) {
	const rest = "\nscorers: [breadth-first]\nwebs: [{path: w}]\n"
	for _, c := range []struct{ file, want string }{
		{"critic: {examples: 5}" + rest, "lab.yaml:1: critic: says how the judge critic is taught, and judges: does not name it"},
		{"judges: [critic]\ncritic: {examples: -5}" + rest, "lab.yaml:2: critic: -5 examples of a topic: give 1…10,000"},
		{"judges: [critic]\ncritic: {background: 3}" + rest, "lab.yaml:2: critic: a background of 3 pages: give 10…100,000"},
		{"judges: [critic]\ncritic: {exampels: 3}" + rest, "exampels"},
	} {
		_, err := decode("lab.yaml", []byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\n  want %s", c.file, err, c.want)
		}
	}
	for _, c := range []struct{ web, critic, want string }{
		{meadow(t, 1), "background: 118", "a background of 118 pages is wanted for the class Other"},
		{hubs(t), "background: 20", "the topic bees has no examples that could teach: set critic: {examples: 50}"},
	} {
		f := read(t, "webs: [{path: "+c.web+"}]\nbudgets: [10]\nscorers: [breadth-first]\njudges: [critic]\ncritic: {"+c.critic+"}\n")
		if out, err := f.Run(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), c.want) || out.Made > 0 {
			t.Errorf("%s: %+v, %v", c.critic, out, err)
		}
	}
}
