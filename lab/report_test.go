package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval/report"
)

// reported runs a lab on the small web and returns what it reports.
func reported(t *testing.T, file string) (report.Results, string) {
	t.Helper()
	f, out := read(t, file), t.TempDir()
	if _, err := f.Run(t.Context(), out, Options{}); err != nil {
		t.Fatal(err)
	}
	return reportOf(t, out)
}

// reportOf is what Report tells of results, and its Markdown, without the plots, which
// take longer than all else.
func reportOf(t *testing.T, dir string) (report.Results, string) {
	t.Helper()
	f, err := Read(filepath.Join(dir, labFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.results(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := report.Markdown(r, "")
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

// part is what stands under a heading of Markdown.
func part(text, heading string) string {
	_, after, _ := strings.Cut(text, "\n## "+heading+"\n")
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}

// Topics that a lab file names under dev: are in no table but their own.
func TestDevelopmentTopics(t *testing.T) {
	tree := small(t)
	r, text := reported(t, "webs: [{path: "+tree+", dev: [cars]}]\nscorers: [breadth-first, random]\nbudgets: [20]\n")
	dev := 0
	for _, topic := range r.Topics {
		if topic.Dev != (topic.Topic == "cars") {
			t.Errorf("%s: dev %v", topic.TopicID, topic.Dev)
		}
		if topic.Dev {
			dev++
		}
	}
	if dev != 1 {
		t.Fatalf("%d topics for development", dev)
	}
	main, apart := part(text, "tree"), part(text, "Topics for development")
	if !strings.Contains(main, "| breadth-first | 1 |") || strings.Contains(main, "cars") {
		t.Errorf("the headline tables:\n%s", main)
	}
	if !strings.Contains(apart, "| breadth-first | 1 |") || !strings.Contains(apart, "| cars |") {
		t.Errorf("development:\n%s", apart)
	}
}

// What was in force is told, and what was changed is told apart.
func TestConstantsAreReported(t *testing.T) {
	r, text := reported(t, "webs: [{path: "+small(t)+", topics: [bees]}]\nscorers: [breadth-first, fish-search, {name: fish-search, as: wide, set: {width: 7}}]\nbudgets: [20]\n")
	want := report.Constant{Scorer: "wide", Name: "width", Value: "7"}
	i := slices.IndexFunc(r.Constants, func(c report.Constant) bool { return c.Scorer == want.Scorer && c.Name == want.Name })
	if i < 0 || r.Constants[i].Value != "7" || r.Constants[i].Default == "7" || r.Constants[i].Line == "" {
		t.Fatalf("constants %+v", r.Constants)
	}
	k := slices.IndexFunc(r.Constants, func(c report.Constant) bool { return c.Scorer == "fish-search" && c.Name == "width" })
	if k < 0 || r.Constants[k].Value != r.Constants[k].Default {
		t.Errorf("constants %+v", r.Constants)
	}
	if !slices.Contains(r.Rules, "wide is fish-search with width = 7.") || slices.ContainsFunc(r.Rules, func(s string) bool { return strings.HasPrefix(s, "fish-search ") }) {
		t.Errorf("notes %q", r.Rules)
	}
	if s := part(text, "Constants"); !strings.Contains(s, "| wide | width | **7** |") {
		t.Errorf("constants:\n%s", s)
	}
}

// The rules of a lab are told in words: what lies outside the record, what was
// hidden, what repeats are.
func TestRulesAreReported(t *testing.T) {
	rest := "\nwebs: [{path: " + small(t) + ", topics: [cars]}]\nscorers: [breadth-first]\nbudgets: [20]\n"
	for _, test := range []struct{ file, says, table, column string }{
		{"outside: drop", "left out of the frontier, at no cost", "tree", "links outside"},
		{"outside: fail", "each fetch costs a page of the budget and fails", "tree", " outside |"},
		{"outside: bounds", "the upper one for relevant", "tree", "| breadth-first"},
		{"hide-half: true", "Half of the examples were hidden", "tree", "target recall"},
		{"hops: 2", "nearest relevant page is exactly 2 links away", "tree", "cars, 2-hop seeds"},
		{"repeats: 2", "leaves out a third", "tree", "H/U"},
		{"judges: [topic]", "which neither judge nor scorer can see", "tree", "H/U"},
		{"judges: [topic, truth]", "no judge but the one named truth", "tree", "H/U"},
	} {
		_, text := reported(t, test.file+rest)
		if !strings.Contains(text, test.says) {
			t.Errorf("%s: the report does not say %q", test.file, test.says)
		}
		if s := part(text, test.table); !strings.Contains(s, test.column) {
			t.Errorf("%s: no %q in\n%s", test.file, test.column, s)
		}
	}
}

// The files of results have keys in lower case, as those of other programs.
func TestKeysOfResults(t *testing.T) {
	f, out := read(t, "webs: [{path: "+small(t)+"}]\nscorers: [breadth-first]\nbudgets: [20]\n"), t.TempDir()
	if _, err := f.Run(t.Context(), out, Options{}); err != nil {
		t.Fatal(err)
	}
	files, keys := 0, regexp.MustCompile(`"([^"]*)":`)
	err := filepath.WalkDir(out, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".json" {
			return err
		}
		files++
		b, err := os.ReadFile(name)
		for _, k := range keys.FindAllSubmatch(b, -1) {
			if key := string(k[1]); key != strings.ToLower(key) {
				t.Errorf("%s: key %s", filepath.Base(name), key)
			}
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
}
