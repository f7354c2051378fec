package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// departments builds a recorded web of three sites whose pages have labels:
//
//	/ department ─► /people (other) ─► /ann … /fay student ─► /ann/cv (other)
//	             ├─► /staff (staff) ─► /gil student
//	             ├─► /news (other)
//	             └─► /map (other)
//
// Every page links back to its home page, and that to the next site's.
func departments(t *testing.T) string {
	t.Helper()
	address := func(s string) web.URL {
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	sites := []string{"one.example", "two.example", "three.example"}
	bodies, labels := map[string]string{}, map[string]string{}
	for i, site := range sites {
		add := func(path, label, links string) {
			u := "http://" + site + path
			bodies[u] = fmt.Sprintf("<title>%s %s</title><p>the %[2]s page of %[3]s <a href=/>home</a> %s", strings.Trim(path, "/"), label, site, links)
			labels[u] = label
		}
		add("/", "department", fmt.Sprintf("<a href=/people>people</a> <a href=/staff>staff</a> <a href=/news>news</a> <a href=/map>map</a> <a href=http://%s/>neighbours</a>", sites[(i+1)%3]))
		var people strings.Builder
		for _, name := range []string{"ann", "bob", "cat", "dan", "eve", "fay"} {
			fmt.Fprintf(&people, "<a href=/%s>%[1]s, student</a> ", name)
			add("/"+name, "student", fmt.Sprintf("<a href=/%s/cv>cv</a>", name))
			add("/"+name+"/cv", "other", "")
		}
		add("/people", "other", people.String())
		add("/staff", "staff", "<a href=/gil>gil, student</a>")
		add("/gil", "student", "")
		add("/news", "other", "")
		add("/map", "other", "")
	}
	topic := corpus.Topic{Name: "student", Description: "Students", Keywords: []string{"student"}}
	var truth []web.URL
	var lines strings.Builder
	for _, u := range slices.Sorted(keys(labels)) {
		fmt.Fprintf(&lines, "%s\t%s\n", u, labels[u])
		switch labels[u] {
		case "department":
			topic.Seeds = append(topic.Seeds, address(u))
		case "student":
			truth = append(truth, address(u))
		}
	}
	topic.Examples = truth[:1]
	made := corpus.Made{
		Manifest: corpus.Manifest{Name: "departments", Topics: []corpus.Topic{topic}},
		Truth:    map[string][]web.URL{"student": truth},
		Pages: func(yield func(*web.Response, error) bool) {
			for _, u := range slices.Sorted(keys(bodies)) {
				body := []byte(bodies[u])
				if !yield(&web.Response{
					URL: address(u), Status: 200, Header: web.Header{"Content-Type": {"text/html"}},
					Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), Body: body, Raw: body,
				}, nil) {
					return
				}
			}
		},
	}
	dir := filepath.Join(t.TempDir(), "departments")
	if _, err := corpus.Build(t.Context(), dir, made, corpus.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "labels.tsv"), []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lessonsOf are the groups of all parts and repeats of that web.
func lessonsOf(t *testing.T, repeats int) (out []*group, links *train.Backlinks) {
	t.Helper()
	f := read(t, "webs: [{path: "+departments(t)+", budgets: [10], train: {folds: sites, targets: 6}}]\nscorers: [breadth-first]\n")
	w, err := f.open(&f.Webs[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r := &runner{File: f, opt: Options{Workers: 1}}
	for _, part := range w.folds {
		if err := part.load(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		topic, ok := part.topic(w.topics[0], false)
		if !ok {
			t.Fatalf("%s is not to be crawled", part.name)
		}
		for repeat := range repeats {
			out = append(out, r.group(w, part, topic, false, repeat))
		}
	}
	if links, err = w.backlinks(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return out, links
}

// shown writes the paths that a lesson draws, one a line: pages without the
// scheme, with their labels.
func shown(t *testing.T, g *group, l ModelTraining, links *train.Backlinks) (lines []string) {
	t.Helper()
	o, err := g.pathsShown(&l, links)
	if err != nil {
		t.Fatal(err)
	}
	set, err := train.ShowPaths(t.Context(), g.w.pages, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set {
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, strings.TrimSuffix(strings.TrimPrefix(s.URL.String(), "http://")+" "+s.Label, " "))
		}
		lines = append(lines, strings.Join(steps, " > "))
	}
	return lines
}

// Of each part and repeat: the examples that all strategies are shown are the
// goals, each by its shortest way; wrong turns are as many as asked for and no
// goals; what lies on the way is called what the record calls it, but for the
// topic's own label and "other"; and no page of a path can be crawled.
func TestPathsShown(t *testing.T) {
	groups, links := lessonsOf(t, 3)
	for _, c := range []struct {
		name       string
		lesson     ModelTraining
		wrong      int
		milestones bool
	}{
		{"by default", ModelTraining{}, 4, false},
		{"milestones", ModelTraining{Milestones: true}, 4, true},
		{"two wrong turns", ModelTraining{Milestones: true, Wrong: 2}, 2, true},
		{"no wrong turns", ModelTraining{Milestones: true, Wrong: -1}, 0, true},
	} {
		for _, g := range groups {
			lines := shown(t, g, c.lesson, links)
			examples := g.examples()
			if len(examples) == 0 || len(lines) != len(examples)+c.wrong || len(lines) > 10 {
				t.Errorf("%s, %s: %d paths to %d examples\n%s", c.name, g.id(), len(lines), len(examples), strings.Join(lines, "\n"))
				continue
			}
			for i, line := range lines {
				site, rest, _ := strings.Cut(line, "/")
				if g.fold.crawled(web.Host(site)) || strings.Count(rest, site) != strings.Count(rest, ".example") {
					t.Errorf("%s, %s: taught on %s", c.name, g.id(), line)
				}
				home, way := site+"/", site+"/people"
				if c.milestones {
					home += " department"
				}
				if i >= len(examples) {
					last := line[strings.LastIndex(line, " > ")+3:]
					page, ok := strings.CutSuffix(last, " Fail")
					if u, err := web.Parse("http://" + page); !ok || err != nil || g.w.truth["student"][u] || slices.Contains(examples, u) {
						t.Errorf("%s, %s: the wrong turn %s", c.name, g.id(), line)
					}
					continue
				}
				goal := strings.TrimPrefix(examples[i].String(), "http://")
				if strings.HasSuffix(goal, "/gil") {
					if way = site + "/staff"; c.milestones {
						way += " staff"
					}
				}
				if want := home + " > " + way + " > " + goal + " Goal"; line != want {
					t.Errorf("%s, %s:\n%s\nwant\n%s", c.name, g.id(), line, want)
				}
			}
		}
	}
}

// A repeat shows the same paths whenever it is asked, and another repeat others;
// what is learnt from them knows no site that is crawled, and leads to students
// there.
func TestPathLessonRepeats(t *testing.T) {
	groups, links := lessonsOf(t, 2)
	for _, g := range groups {
		if a, b := shown(t, g, ModelTraining{Milestones: true}, links), shown(t, g, ModelTraining{Milestones: true}, links); !slices.Equal(a, b) {
			t.Errorf("%s:\n%v\nthen\n%v", g.id(), a, b)
		}
	}
	for i := 0; i < len(groups); i += 2 {
		first, second := groups[i], groups[i+1]
		wrong := func(g *group) []string {
			lines := shown(t, g, ModelTraining{Milestones: true, Wrong: 4}, links)
			return lines[len(lines)-4:]
		}
		if a, b := wrong(first), wrong(second); slices.Equal(a, b) {
			t.Errorf("%s: two repeats show the wrong turns %v", first.id(), a)
		}
		s := Scorer{Name: "pathlearner", Train: &ModelTraining{Milestones: true, Iterations: 30}}
		m, _, err := first.teach(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Provenance.Sites) != 2 || slices.ContainsFunc(m.Provenance.Sites, first.fold.crawled) {
			t.Errorf("%s: taught on %v", first.id(), m.Provenance.Sites)
		}
		run := first.simulate(t.Context(), first.key("topic", "pathlearner"), s)
		if run.err != nil {
			t.Fatal(run.err)
		}
		if slices.ContainsFunc(run.run.Hosts, func(h web.Host) bool { return !first.fold.crawled(h) }) {
			t.Errorf("%s: crawled %v", first.id(), run.run.Hosts)
		}
		hits := 0
		for _, p := range run.run.Pages {
			for u := range first.w.truth["student"] {
				if n, ok := first.fold.graph.Number(u); ok && n == p.ID {
					hits++
				}
			}
		}
		// Home, the list, its six students and two more pages: 10 is the budget.
		if hits < 6 {
			t.Errorf("%s: %d of 7 students in 10 pages", first.id(), hits)
		}
	}
}
