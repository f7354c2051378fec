package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/score"
)

// results hashes all cells in a folder.
func results(t *testing.T, dir string) (names []string, hash string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, cellsDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(f))
		fmt.Fprintf(h, "%s %s", filepath.Base(f), b)
	}
	return names, fmt.Sprintf("%x", h.Sum(nil))
}

// The rules of one lab are not told over the cells of another: a run that ends
// before its first cell leaves both as they were, and a lab file that is not
// that of the cells is refused.
func TestReportIsOfOneLab(t *testing.T) {
	web, dir := small(t), t.TempDir()
	lab := "webs: [{path: " + web + ", topics: [bees], budgets: [10]}]\nscorers: [breadth-first]\n"
	if _, err := read(t, lab).Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := read(t, "outside: fail\n"+lab).Run(ctx, dir, Options{}); err == nil {
		t.Fatal("a run that was stopped before it began says nothing")
	}
	if r, _ := reportOf(t, dir); r.Missing != 0 || !strings.Contains(strings.Join(r.Rules, " "), "left out of the frontier") {
		t.Errorf("%d missing, %q", r.Missing, r.Rules)
	}
	edit(t, filepath.Join(dir, labFile), "outside: drop", "outside: fail")
	if _, err := Report(dir); err == nil || !strings.Contains(err.Error(), "is not the lab file that the cells") || !strings.Contains(err.Error(), "run the lab again") {
		t.Errorf("with the rules of another lab: %v", err)
	}
}

// The report names the command that makes it, as it was given, for a shell, and the
// revision that made it.
func TestReportNamesItsCommand(t *testing.T) {
	f := read(t, "webs: [{path: "+small(t)+", topics: [bees], budgets: [10]}]\nscorers: [breadth-first]\n")
	dir := filepath.Join(t.TempDir(), "bees' results")
	if _, err := f.Run(t.Context(), dir, Options{Revision: "0123abc"}); err != nil {
		t.Fatal(err)
	}
	r, err := f.results(dir)
	if !slices.Contains(r.Rules, "Made with waggle of revision 0123abc, settings "+f.Settings()+".") {
		t.Errorf("the revision is not told: %q", r.Rules)
	}
	quotedDir := "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	if want := "waggle lab run -f " + f.name + " -o " + quotedDir + " && waggle lab report " + quotedDir; err != nil || r.Command != want {
		t.Errorf("%s, %v; want %s", r.Command, err, want)
	}
	// Facts of an older waggle name no file; the kept one does.
	path := filepath.Join(dir, factsFile)
	known, err := readJSON[facts](path)
	if err != nil {
		t.Fatal(err)
	}
	known.File, known.Lab = "", ""
	if err := writeJSON(path, known); err != nil {
		t.Fatal(err)
	}
	if r, err := f.results(dir); err != nil || !strings.Contains(r.Command, "-f '"+strings.ReplaceAll(dir, "'", `'\''`)+"/lab.yaml' -o") {
		t.Errorf("%s, %v", r.Command, err)
	}
}

// Cells are those of what a lab is made of: a page with another text, a thesaurus with
// other words in the same place, another language of a topic, and other labels where they
// teach, make others; a copy does not.
func TestCellsKnowTheirInputs(t *testing.T) {
	names := func(web, table string) (out []string) {
		t.Helper()
		f := read(t, "webs: [{path: "+web+", topics: [bees]}]\nbudgets: [5]\nscorers: [breadth-first, semantic-synonym]\nthesaurus: {table: "+table+"}\n")
		dir := t.TempDir()
		if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
			t.Fatal(err)
		}
		out, _ = results(t, dir)
		return out
	}
	table := filepath.Join(t.TempDir(), "words.txt")
	write := func(name, words string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(words), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(table, "bee, honeybee\n")
	web, other, moved := small(t), tree(t, "vans have engines and wheels"), filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(moved, os.DirFS(web)); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.txt")
	write(copied, "bee, honeybee\n")
	first := names(web, table)
	if again := names(moved, copied); !slices.Equal(again, first) {
		t.Errorf("a copy of the web gives %v, not %v", again, first)
	}
	if pages := names(other, table); slices.Equal(pages, first) {
		t.Errorf("pages of another text give the same cells: %v", pages)
	}
	write(table, "bee, bumblebee\n")
	if words := names(web, table); slices.Equal(words, first) {
		t.Errorf("other words give the same cells: %v", words)
	}
	write(table, "bee, honeybee\n")
	edit(t, filepath.Join(web, "web.yaml"), "description: Honey bees\n", "description: Honey bees\n      language: [de]\n")
	if german := names(web, table); slices.Equal(german, first) {
		t.Errorf("another language gives the same cells: %v", german)
	}
	labelled := departments(t)
	lesson := func() (with, without string) {
		g := groupOf(t, "webs: [{path: "+labelled+", budgets: [10], train: {folds: sites, targets: 6}}]\nscorers: [breadth-first, {name: pathlearner, train: {milestones: true}}]\n", "student", 0)
		return g.fileName(g.key("topic", "pathlearner"), g.Scorers[1], g), g.fileName(g.key("topic", "breadth-first"), g.Scorers[0], g)
	}
	with, without := lesson()
	edit(t, filepath.Join(labelled, "labels.tsv"), "\tstaff\n", "\tpeople\n")
	if now, other := lesson(); now == with || other != without {
		t.Errorf("other labels: taught by them %s and then %s, and not %s and then %s", with, now, without, other)
	}
}

// headlines are the rows of the tables that stand under "At N pages".
func headlines(report string) (rows []string) {
	within := false
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "#") {
			within = strings.HasPrefix(line, "### At ")
		}
		if within && strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		}
	}
	return rows
}

// The judge that knows the truth changes no row of a headline table, and adds
// none.
func TestTruthInNoHeadline(t *testing.T) {
	web := small(t)
	var rows [2][]string
	var judged [2]int
	for i, judges := range []string{"topic", "topic, truth"} {
		f := read(t, "webs: [{path: "+web+", budgets: [10, 30]}]\nscorers: [breadth-first, best-first-both, best-first-page]\njudges: ["+judges+"]\n")
		dir := t.TempDir()
		if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
			t.Fatal(err)
		}
		r, text := reportOf(t, dir)
		rows[i] = headlines(text)
		for _, c := range r.Cells {
			if c.Judge == "truth" {
				judged[i]++
			}
		}
	}
	if judged != [2]int{0, 6} {
		t.Fatalf("cells with the truth as judge: %v", judged)
	}
	if len(rows[0]) < 6 || !slices.Equal(rows[0], rows[1]) {
		t.Errorf("headlines without:\n%s\nand with the truth:\n%s", strings.Join(rows[0], ""), strings.Join(rows[1], ""))
	}
}

// A lab that was stopped has a report, which says how much is missing; and a
// lab that is run on finished results reads no page.
func TestStoppedLabHasReport(t *testing.T) {
	web := small(t)
	f := read(t, "webs: [{path: "+web+", budgets: [10], dev: [cars]}]\nscorers: [breadth-first, random, best-first-both]\n")
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, err := f.Run(ctx, dir, Options{Workers: 1, Progress: func(done, _ int, _ string) {
		if done == 2 {
			stop()
		}
	}})
	if err == nil || out.Made != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	r, err := Report(dir)
	if err != nil || len(r.Cells) != 2 || r.Missing != 4 {
		t.Fatalf("%d cells, %d missing, %v; want 2 and 4", len(r.Cells), r.Missing, err)
	}
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if r, _ = reportOf(t, dir); len(r.Cells) != 6 || r.Missing != 0 || len(r.Topics) != 2 {
		t.Fatalf("%d cells, %d missing, %d topics", len(r.Cells), r.Missing, len(r.Topics))
	}
	for _, topic := range r.Topics {
		if topic.Dev != (topic.Topic == "cars") {
			t.Errorf("%s: dev %v", topic.Topic, topic.Dev)
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, factsFile))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Run(t.Context(), dir, Options{Progress: func(_, _ int, note string) {
		if strings.Contains(note, "reading") {
			t.Errorf("with all cells there: %s", note)
		}
	}})
	if after, _ := os.ReadFile(filepath.Join(dir, factsFile)); err != nil || string(after) != string(before) {
		t.Errorf("%v; facts\n%s\nwere\n%s", err, after, before)
	}
}

// Webs, topics, judges and repeats are one pool: the bytes of cells, topics and
// facts are the same for any number of workers.
func TestPoolKeepsBytes(t *testing.T) {
	one, two := small(t), small(t)
	b, err := os.ReadFile(filepath.Join(two, "web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(two, "web.yaml"), []byte(strings.Replace(string(b), "name: tree", "name: wood", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	f := read(t, "webs: [{path: "+one+"}, {path: "+two+"}]\nbudgets: [10, 40]\nscorers: [breadth-first, random, ache-like-soft]\njudges: [topic, keyword]\nrepeats: 2\nnetwork: {workers: 3, delay: 1s, latency: 100ms, spread: 1}\n")
	var want string
	for _, workers := range []int{1, 8} {
		dir := t.TempDir()
		last := 0
		out, err := f.Run(t.Context(), dir, Options{Workers: workers, Progress: func(done, total int, _ string) {
			if total != 48 || done < last || done > total {
				t.Errorf("progress went from %d to %d of %d", last, done, total)
			}
			last = done
		}})
		if err != nil || out != (Outcome{Cells: 48, Made: 48}) || last != 48 {
			t.Fatalf("%+v, %v, progress %d", out, err, last)
		}
		got := hashFolder(t, dir)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d workers give other bytes", workers)
		}
	}
}

// hashFolder hashes what a lab left but its costs.
func hashFolder(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == costsFile {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d %s", path[len(dir):], len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// The kept lab file holds every constant in force, gives the same lab, and is
// read again without a change.
func TestKeptFile(t *testing.T) {
	f := read(t, "webs: [{path: "+small(t)+", budgets: [10]}]\nscorers: [breadth-first, {name: fish-search, set: {width: 2}}, pagerank]\nnetwork: {delay: 1500ms}\n")
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	kept, err := Read(filepath.Join(dir, labFile))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range kept.Scorers {
		d, _ := score.Describe(s.Name)
		for _, x := range d.Settings {
			want := x.Default
			if s.Name == "fish-search" && x.Name == "width" {
				want = 2
			}
			if v, ok := s.Set[x.Name]; !ok || v != want {
				t.Errorf("%s: %s = %v, %v; want %v", s.Name, x.Name, v, ok, want)
			}
		}
		if !maps.Equal(s.Set, f.Scorers[i].Set) {
			t.Errorf("%s: %v, was %v", s.Name, s.Set, f.Scorers[i].Set)
		}
	}
	if out, err := kept.Run(t.Context(), dir, Options{}); err != nil || out.Made != 0 {
		t.Errorf("the kept file makes another lab: %+v, %v", out, err)
	}
}

// The lab files of the published results are understood, and those of the
// classics hold every constant: a default that changes does not change them.
func TestResultFiles(t *testing.T) {
	files, err := filepath.Glob("../docs/results/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if _, err := Read(name); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"classics.yaml", "judges-and-seeds.yaml"}, filepath.Base(name)) {
			explicit(t, name, b)
		}
	}
}

// Cells that fail end no lab, and say why.
func TestFailedCell(t *testing.T) {
	broken := score.Description{Name: "broken", Line: "never", Make: func(score.Options) (score.Scorer, error) { return nil, errors.New("it cannot be made") }}
	f, err := Parse("lab.yaml", []byte("webs: [{path: "+small(t)+", topics: [bees], budgets: [10]}]\nscorers: [breadth-first, broken]\n"), job.Strategies{Scorers: []score.Description{broken}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, err := f.Run(t.Context(), dir, Options{})
	if err != nil || out != (Outcome{Cells: 2, Made: 2, Failed: 1}) {
		t.Fatalf("%+v, %v", out, err)
	}
	r, err := f.results(dir)
	if err != nil || len(r.Cells) != 2 || r.Cells[0].Error != "" || !strings.Contains(r.Cells[1].Error, "it cannot be made") {
		t.Errorf("%+v, %v", r.Cells, err)
	}
}
