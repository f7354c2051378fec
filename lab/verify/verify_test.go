package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/job"
)

const results = "../../docs/results"

// quiet is a verifier with webs of a folder.
func quiet(t *testing.T, webs string) *Verifier {
	v := &Verifier{Webs: webs, Progress: func(int, int, string) {}}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// Every lab file and every document of the published results has a cell, or a reason
// why it has none.
func TestEveryResultHasACell(t *testing.T) {
	table, err := Open(results)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(results)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		ext := filepath.Ext(f.Name())
		if ext != ".md" && ext != ".yaml" || f.Name() == "README.md" {
			continue
		}
		if !slices.ContainsFunc(table.Cells, func(c Cell) bool {
			return c.Document == f.Name() || c.Maker == f.Name() || strings.HasPrefix(c.Why, f.Name()+" ")
		}) {
			t.Errorf("%s names no cell of %s", table.Name, f.Name())
		}
	}
	hashes := map[string]bool{} // documents and lab files, and their settings
	for _, c := range table.Cells {
		if c.Measure == OfSettings {
			hashes[c.Document+" "+c.Maker], hashes[c.Document+" "+c.Value] = true, true
			hashes[c.Document+" "+c.Was] = true // an older one that the table tells of
		}
	}
	for _, c := range table.Cells {
		if strings.HasSuffix(c.Maker, ".yaml") && !hashes[c.Document+" "+c.Maker] {
			t.Errorf("%s has no line with the settings of %s for %s", table.Name, c.Maker, c.Document)
		}
		text, err := os.ReadFile(filepath.Join(results, c.Document))
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range regexp.MustCompile(`settings ([0-9a-f]{8})\b`).FindAllSubmatch(text, -1) {
			if !hashes[c.Document+" "+string(named[1])] {
				t.Errorf("%s is of settings %s, which %s does not have: make it again", c.Document, named[1], table.Name)
			}
		}
		if _, err := os.Stat(filepath.Join(results, c.Document)); err != nil {
			t.Errorf("%s: %v", c, err)
		}
		if c.Value == unknown {
			t.Errorf("%s has no figure yet", c)
		}
	}
}

// Some of the published figures come again from the record: one of each measure.
// waggle lab verify docs/results, which .ci/run calls, makes them all.
func TestPublishedFigures(t *testing.T) {
	webs := filepath.Dir(recorded.Web(t, "departments"))
	table, err := Open(results)
	if err != nil {
		t.Fatal(err)
	}
	// None of the large webs, nor of lab judge.
	made := map[string]bool{}
	table.Cells = slices.DeleteFunc(table.Cells, func(c Cell) bool {
		again := c.Measure == OfSettings || made[c.Measure] || c.Web != "departments" || c.Maker == LabJudge
		if !again {
			made[c.Measure] = true
		}
		return again
	})
	found, err := quiet(t, webs).Run(t.Context(), table, func(f Finding) {
		if f.Differs() {
			t.Error(f)
		}
	})
	if err != nil || len(found) < 5 {
		t.Errorf("%d cells, %v", len(found), err)
	}
}

// made builds a made-up web and a folder of results with one lab on it, whose table has
// the given lines.
func made(t *testing.T, lines ...string) (webs, dir string) {
	t.Helper()
	webs, dir = t.TempDir(), t.TempDir()
	src, err := synthetic.ParseSource("pages=200,topics=1,targets=0.1,seed=1,words=60")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := corpus.Build(context.Background(), filepath.Join(webs, "made"), src, corpus.Options{Name: "made"}); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The thesaurus is nowhere: only a scorer that needs it would miss it.
	write("lab.yaml", "webs: [{path: elsewhere/made}]\nbudgets: [50]\nrepeats: 3\nthesaurus: {wordnet: /nowhere}\nscorers: [breadth-first, {name: best-first-both, as: both}, semantic-synonym]\n")
	write(TableName, "# A comment.\ndocument\tmaker\n"+strings.Join(lines, "\n")+"\n")
	return webs, dir
}

func topicOf(t *testing.T, webs string) string {
	t.Helper()
	w, err := corpus.Open(filepath.Join(webs, "made"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.Topics[0].Name
}

// A figure that was accepted comes again, one that is another fails with both, and what
// has no cell says why.
func TestAcceptThenDiffer(t *testing.T) {
	webs, dir := made(t)
	topic := topicOf(t, webs)
	name := filepath.Join(dir, TableName)
	before := "# A comment.\ndocument\tmaker\na.md\tlab.yaml\tmade\t" + topic + "\tboth\t-\t40\thits\t?\nb.md\t-\tnobody can make it\n"
	if err := os.WriteFile(name, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func() (*Table, []Finding) {
		table, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		found, err := quiet(t, webs).Run(t.Context(), table, func(Finding) {})
		if err != nil {
			t.Fatal(err)
		}
		return table, found
	}
	table, found := run()
	if len(found) != 2 || !strings.HasPrefix(found[0].String(), "new a.md, lab.yaml: made/"+topic+" both, 40 pages, hits: ") ||
		found[1].String() != "none b.md: nobody can make it" || found[1].Differs() {
		t.Fatalf("%v", found)
	}
	if err := table.Accept(found, nil); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(name)
	if want := strings.Replace(before, "?", found[0].Today, 1); err != nil || string(after) != want {
		t.Fatalf("%v; the table is\n%s\nwant\n%s", err, after, want)
	}
	if _, found = run(); found[0].Differs() || !strings.HasPrefix(found[0].String(), "same ") {
		t.Errorf("%v", found[0])
	}
	// The lab changes: another scorer has the name.
	lab, err := os.ReadFile(filepath.Join(dir, "lab.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(strings.Replace(string(lab), "best-first-both", "random", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	was := found[0].Today
	if _, found = run(); !found[0].Differs() || !strings.HasSuffix(found[0].String(), ": "+found[0].Today+" today, "+was+" when it was kept") {
		t.Errorf("%v", found[0])
	}
	// To accept the figure does not make the document: the table says what it is of, however
	// often that is done, until it was made again.
	accept := func(remade ...string) string {
		table, found := run()
		if err := table.Accept(found, remade); err != nil {
			t.Fatal(err)
		}
		_, found = run()
		return found[0].String()
	}
	now := found[0].Today
	older := "OLDER a.md, lab.yaml: made/" + topic + " both, 40 pages, hits: " + now + ", and the document is of " + was
	for range 2 {
		if got := accept("b.md"); got != older {
			t.Errorf("%q, want %q", got, older)
		}
	}
	if got := accept("a.md"); !strings.HasPrefix(got, "same ") {
		t.Errorf("of a document that was made again: %q", got)
	}
	kept, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(kept), "hits\t"+now, "hits\t"+now+"\twas ?", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, found := run(); !strings.HasSuffix(found[0].String(), ": "+now+", and the document is of an older figure, which was not kept") || found[0].Differs() {
		t.Errorf("%v", found[0])
	}
	accept("a.md")
	if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), lab, 0o644); err != nil { // as it was before
		t.Fatal(err)
	}
	if got := accept(); !strings.HasSuffix(got, "and the document is of "+now) {
		t.Errorf("%q", got)
	}
}

// Of two documents in one folder each keeps what was accepted for it, and a line that was
// exchanged meanwhile is not written over.
func TestAcceptOfTwoDocuments(t *testing.T) {
	const line = "\tlab.yaml\t-\t-\t-\t-\t0\tsettings\t?\n"
	dir := t.TempDir()
	name := filepath.Join(dir, TableName)
	for file, text := range map[string]string{
		TableName: "a.md" + line + "b.md" + line, "a.md": "", "b.md": "", "lab.yaml": "webs: [{path: made}]\nscorers: [breadth-first]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var tables []*Table
	for _, document := range []string{"a.md", "b.md"} {
		table, err := Open(filepath.Join(dir, document))
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, table)
	}
	accept := func(table *Table) error {
		found, err := quiet(t, "nowhere").Run(t.Context(), table, func(Finding) {})
		if err != nil {
			t.Fatal(err)
		}
		return table.Accept(found, nil)
	}
	for _, table := range tables {
		if err := accept(table); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(name)
	if err != nil || strings.Contains(string(kept), "?") {
		t.Errorf("%v; the table is\n%s", err, kept)
	}
	if err := os.WriteFile(name, []byte("c.md"+line+"b.md"+line), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := accept(tables[0]); err == nil || !strings.Contains(err.Error(), "cells.tsv:1: the line is another than before") {
		t.Errorf("a line that was exchanged: %v", err)
	}
}

// A lab with another value, or without one that was given, has other settings; where its
// webs lie, its title and what it reports are none of them.
func TestSettings(t *testing.T) {
	_, dir := made(t)
	lab := func(text string) string {
		name := filepath.Join(dir, "some.yaml")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		line := "a.md\tsome.yaml\t-\t-\t-\t-\t0\tsettings\t?\n"
		table, err := Read(strings.NewReader(line), filepath.Join(dir, TableName))
		if err != nil {
			t.Fatal(err)
		}
		found, err := quiet(t, "nowhere").Run(t.Context(), table, func(Finding) {})
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return found[0].Today
	}
	const text = "webs: [{path: a/made, train: {folds: 2}}]\nscorers: [breadth-first, {name: crf, set: {epsilon: 0.001}}]\n"
	was := lab(text)
	for _, same := range []string{
		strings.Replace(text, "a/made", "b/made", 1), "title: T\nnotes: [x]\nmeasures: [hits]\n" + text,
		strings.Replace(text, ", set: {epsilon: 0.001}", "", 1), text + "judges: [topic]\n",
	} {
		if now := lab(same); now != was {
			t.Errorf("%s has settings %s, want %s", same, now, was)
		}
	}
	for _, other := range []string{
		strings.Replace(text, "0.001", "0.01", 1), strings.Replace(text, "folds: 2", "folds: 3", 1), text + "repeats: 2\n",
		strings.Replace(text, "set:", "train: {set: {self: 1}}, set:", 1), text + "judges: [keyword]\n",
	} {
		if lab(other) == was {
			t.Errorf("%s has the settings of\n%s", other, text)
		}
	}
}

// What cannot be made again says where and why, and is no failure of the results.
func TestWhatCannotBeMade(t *testing.T) {
	webs, dir := made(t)
	topic := topicOf(t, webs)
	for _, c := range []struct{ line, want string }{
		{"a.md\tlab.yaml\tmade\t" + topic + "\tboth\t-\t40\thits", "cells.tsv:1: 8 columns, where 9 are wanted"},
		{"a.md\tlab.yaml\tmade\t" + topic + "\tboth\t-\tmany\thits\t1", `cells.tsv:1: "many" is no number of pages`},
		{"a.md\tlab.yaml\tmade\t" + topic + "\tboth\t-\t40\thits\tmuch", `"much" is no figure: write ? where none is known`},
		{"a.md\tlab.yaml\t-\t-\t-\t-\t0\tsettings\tmuch", `"much" is no hash of settings`},
		{"a.md\tlab.yaml\tmade\t" + topic + "\tboth\t-\t40\thits\t1\t2", `"2" is not the value that the document is of, such as: was 0.5`},
		{"a.md\tother.yaml\t-\t-\t-\t-\t0\tsettings\t1", "other.yaml"},
		{"a.md\tlab.yaml\tmoon\t" + topic + "\tboth\t-\t40\thits\t1", "needs the recorded web moon"},
		{"a.md\tlab.yaml\tmade\tstars\tboth\t-\t40\thits\t1", "the web made has no topic stars, but " + topic},
		{"a.md\tlab.yaml\tmade\t" + topic + "\tnone\t-\t40\thits\t1", "the lab has no scorer none"},
		{"a.md\tlab.yaml\tmade\t" + topic + "\tboth\tsun\t40\thits\t1", "the lab has no judge sun"},
		{"a.md\tlab.yaml\tmade\t" + topic + "\tboth\t-\t40\tluck\t1", "there is no measure luck"},
		{"a.md\tlab.yaml\tmade\t" + topic + "\tsemantic-synonym\t-\t40\thits\t1", "/nowhere"},
		{"a.md\tother.yaml\tmade\t" + topic + "\tboth\t-\t40\thits\t1", "other.yaml"},
		{"a.md\tlab paths\tmade\t" + topic + "\tvstd most\t-\t10\tgoals\t1", "cells.tsv:1: "},
	} {
		if err := os.WriteFile(filepath.Join(dir, TableName), []byte(c.line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		table, err := Open(dir)
		if err == nil {
			_, err = quiet(t, webs).Run(t.Context(), table, func(Finding) {})
			var wrong job.Mistake
			if err != nil && !errors.As(err, &wrong) && !strings.HasPrefix(c.want, "cells.tsv:1: ") {
				t.Errorf("%q is no mistake of the user: %v", c.line, err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.line, err, c.want)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no "+TableName) {
		t.Errorf("a folder without a table: %v", err)
	}
	if _, err := Open(filepath.Join(results, "README.md")); err == nil || !strings.Contains(err.Error(), "names no cell of README.md") {
		t.Errorf("a document without a cell: %v", err)
	}
	if one, err := Open(filepath.Join(results, "papers-control.yaml")); err != nil || len(one.Cells) != 2 || one.Cells[0].Document != "lm10.md" {
		t.Errorf("the cells of one lab file: %+v, %v", one, err)
	}
}
