package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/job"
)

// A folder takes the results of one lab: what its cells are made of may not change.
func TestFolderOfAnotherLab(t *testing.T) {
	web := "webs: [{path: " + small(t) + ", topics: [bees], budgets: [10]}]\n"
	file := web + "scorers: [breadth-first, {name: fish-search, set: {width: 2}}]\n"
	dir := t.TempDir()
	if _, err := read(t, file).Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, labFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, want string }{
		{file + "label-noise: 0.3\n", "label-noise changed"},
		{file + "outside: fail\nseed: 3\n", "outside, seed changed"},
		{strings.Replace(file, "width: 2", "width: 3", 1), "scorer fish-search changed"},
		{strings.Replace(file, "[10]", "[20]", 1), "another lab: budgets of web"},
		{file + "example-count: 1\n", "example-count changed"},
	} {
		_, err := read(t, c.file).Run(t.Context(), dir, Options{})
		var wrong job.Mistake
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "give another folder, or --replace") {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, labFile)); err != nil || string(now) != string(kept) {
		t.Errorf("what was refused changed the kept file: %v", err)
	}
	for _, same := range []string{
		file, file + "title: Fishes\nnotes: [all]\nmeasures: [hits]\nrepeats: 2\nkeep-runs: true\n",
		strings.Replace(file, "[breadth-first,", "[breadth-first, random,", 1), web + "scorers: [breadth-first]\n", file + "judges: [topic, keyword]\n",
	} {
		if _, err := read(t, same).Run(t.Context(), dir, Options{}); err != nil {
			t.Errorf("%s\n%v", same, err)
		}
	}
	if out, err := read(t, file+"label-noise: 0.3\n").Run(t.Context(), dir, Options{Replace: true}); err != nil || out.Made != out.Cells {
		t.Errorf("with Replace: %+v, %v", out, err)
	}
}

// The kept lab file is replaced as a whole: whoever ends a run, it is there.
func TestKeptFileIsReplaced(t *testing.T) {
	file := "webs: [{path: " + small(t) + ", topics: [bees], budgets: [10]}]\nscorers: [breadth-first]\n"
	dir := t.TempDir()
	kept, before := filepath.Join(dir, labFile), filepath.Join(t.TempDir(), labFile)
	if _, err := read(t, file).Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(kept, before); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, file+"title: Bees\n").Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(before); err != nil || string(got) != string(want) {
		t.Errorf("the file of the first run was written over: %q, %v", got, err)
	}
	if now, err := os.ReadFile(kept); err != nil || !strings.Contains(string(now), "title: Bees") {
		t.Errorf("of the second run is kept %q, %v", now, err)
	}
}

// A folder with files of the user and no results is left as it is, also with Replace.
func TestFolderOfTheUser(t *testing.T) {
	for _, name := range []string{labFile, "report.md", "web.yaml"} {
		dir := t.TempDir()
		text := "# mine\nwebs: [{path: " + small(t) + ", topics: [bees], budgets: [10]}]\nscorers: [breadth-first]\n"
		own := filepath.Join(dir, name)
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Read(own)
		if err != nil {
			t.Fatal(err)
		}
		for _, replace := range []bool{false, true} {
			_, err := f.Run(t.Context(), dir, Options{Replace: replace})
			if !errors.As(err, new(job.Mistake)) || !strings.Contains(err.Error(), "holds other files ("+name+") and no results of a lab") {
				t.Errorf("%s, replace %v: %v", name, replace, err)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: the folder has %v, %v", name, entries, err)
		}
		if now, err := os.ReadFile(own); err != nil || string(now) != text {
			t.Errorf("%s is now %q, %v", name, now, err)
		}
	}
}

// A judge under a name of its own is the one that the file says, in cells and in what is told
// of judges; and what was possible is told at the budgets of the file.
func TestFolderKnowsItsJudges(t *testing.T) {
	src, err := synthetic.ParseSource("pages=210,topics=1,targets=0.1,words=40,seed=1")
	if err != nil {
		t.Fatal(err)
	}
	web, dir := filepath.Join(t.TempDir(), "made"), t.TempDir()
	if _, err := corpus.Build(t.Context(), web, src, corpus.Options{Name: "made"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		judges, mine string
		made, budget int
	}{
		{"topic", "", 1, 20},
		{"topic", "", 0, 61}, // neither is a point of every curve of 205 pages
		{"topic, {name: keyword, as: mine}", "keyword", 1, 61},
		{"topic, {name: cosine-tf-centroid, as: mine}", "cosine-tf-centroid", 1, 61},
	} {
		f := read(t, fmt.Sprintf("webs: [{path: %s, budgets: [205]}]\nbudgets: [%d]\nscorers: [breadth-first]\njudges: [%s]\n", web, c.budget, c.judges))
		if out, err := f.Run(t.Context(), dir, Options{Replace: true}); err != nil || out.Made != c.made {
			t.Errorf("%+v: %+v, %v", c, out, err)
		}
		r, err := f.results(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(r.Topics[0].Points, c.budget) {
			t.Errorf("%+v: what was possible is told at %v", c, r.Topics[0].Points)
		}
		told := map[string]string{}
		for _, j := range r.Judges {
			told[j.Judge] = fmt.Sprint(j.Threshold, j.AUROC, j.Accepted)
		}
		if told["mine"] != told[c.mine] || told["topic"] == told["keyword"] {
			t.Errorf("%+v: of judges is told %v", c, told)
		}
	}
}

// A file of a cell or of its run that was cut, overwritten or changed by hand is not
// counted: the run makes it again, and the report names it.
func TestDamagedCells(t *testing.T) {
	f := read(t, "webs: [{path: "+small(t)+", topics: [bees], budgets: [10]}]\nscorers: [breadth-first, random]\nkeep-runs: true\n")
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder  string
		change  func([]byte) []byte
		refused string // by the report
	}{
		{runsDir, func(b []byte) []byte { return b[:100] }, ""},
		{cellsDir, func(b []byte) []byte { return b[:100] }, "is damaged"},
		{cellsDir, func([]byte) []byte { return []byte("garbage") }, "is damaged"},
		{cellsDir, func(b []byte) []byte {
			var c map[string]any
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			for _, v := range c["values"].([]any) {
				if v := v.(map[string]any); v["measure"] == "hits" {
					v["value"] = 99
				}
			}
			b, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}, "99 hits at 10 pages, but a harvest of"},
	} {
		names, err := filepath.Glob(filepath.Join(dir, c.folder, "*random*.json"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		whole, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(names[0], c.change(whole), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := f.results(dir); c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) ||
			!strings.Contains(err.Error(), names[0]) || !strings.Contains(err.Error(), "run the lab again, which makes it anew")) {
			t.Errorf("the report of a damaged cell: %v", err)
		}
		if out, err := f.Run(t.Context(), dir, Options{}); err != nil || out != (Outcome{Cells: 2, Made: 1}) {
			t.Errorf("%s: %+v, %v", c.folder, out, err)
		}
		if now, err := os.ReadFile(names[0]); err != nil || string(now) != string(whole) {
			t.Errorf("%s was not made again: %v", names[0], err)
		}
	}
}

// Of what goes by examples or keywords, for a topic without any, the lab tells before its first
// cell, and its cells fail.
func TestTopicsWithoutExamples(t *testing.T) {
	bare := buildTree(t, "cars have engines and wheels", strings.ReplaceAll(treeFile, `examples: ["http://a.example/7"], `, ""))
	mute := buildTree(t, "cars have engines and wheels", strings.ReplaceAll(treeFile, "keywords: [honey bee, waggle dance], ", ""))
	for _, c := range []struct{ web, more, want string }{
		{bare, "judges: [cosine-tf-max]\nscorers: [breadth-first]\n", "tree/bees: judge cosine-tf-max: it learns from example pages: give some, or choose the judge topic"},
		{bare, "judges: [topic, bayes]\nscorers: [breadth-first]\n", "tree/bees: judge bayes: it learns from example pages"},
		{bare, "baseline: waggle\nscorers: [lm10-bfs, waggle]\n", "tree/bees: lm10-bfs: similarity tf-max: it is the likeness to example pages: give some, or choose the similarity judge or keywords"},
		{mute, "judges: [keyword]\nscorers: [breadth-first]\n", "tree/bees: judge keyword: the topic has no keywords"},
		{mute, "scorers: [breadth-first, {name: best-first-both, similarity: keywords}]\n", "similarity keywords: it is the likeness to the keywords: give keywords that hold words"},
	} {
		dir := t.TempDir()
		var notes []string
		out, err := read(t, "webs: [{path: "+c.web+", topics: [bees], budgets: [10]}]\n"+c.more).Run(t.Context(), dir, Options{Note: func(n string) { notes = append(notes, n) }})
		if err != nil || out.Failed == 0 || !strings.Contains(strings.Join(notes, "\n"), c.want) {
			t.Errorf("%+v, %v, %q\nwant %s", out, err, notes, c.want)
		}
	}
}
