package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/wordnet"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/web"
)

// nowhere is a web of which nothing may be asked.
type nowhere struct{}

func (nowhere) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	panic("asked for " + u.String())
}

// What a scorer needs and is not given is told by a crawl and by a lab in the
// same words, before anything is fetched. What is optional, and what the maker of
// the frontier looks for, is refused by neither.
func TestMissingNeeds(t *testing.T) {
	bare := strings.ReplaceAll(treeFile, "keywords: [honey bee, waggle dance], ", "")
	site := buildTree(t, "cars have engines and wheels", bare)
	words, err := wordnet.ReadTable(strings.NewReader("bee, honeybee\n"), "words")
	if err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(t.TempDir(), "words.tsv")
	if err := os.WriteFile(table, []byte("bee, honeybee\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Without a topic there is no judge. Inputs of single scorers are tried with their
	// descriptions, in package score.
	inputs := []strategy.Input{score.InputKeywords, score.InputThesaurus, score.InputModel, score.InputTaxonomy}
	tried := 0
	for _, d := range score.Descriptions() {
		for _, n := range d.Needs {
			if n.Optional || !slices.Contains(inputs, n.Input) {
				continue
			}
			tried++
			j := &job.Job{Seeds: []string{"http://a.example/1"}, Topic: job.Topic{Description: "Honey bees"}, Scorer: job.Scorer{Name: d.Name}}
			m := &job.Maker{Job: j, Fetcher: nowhere{}}
			file := "webs: [{path: " + site + ", topics: [bees], budgets: [5]}]\nbaseline: breadth-first\nscorers: [breadth-first, {name: " + d.Name
			if n.Setting != "" {
				j.Scorer.Set = map[string]float64{n.Setting: 1}
				file += ", set: {" + n.Setting + ": 1}"
			}
			file += "}]\n"
			if n.Input != score.InputKeywords {
				j.Topic.Keywords = []string{"bees"}
			}
			if n.Input != score.InputThesaurus {
				m.Thesaurus = words
				file += "thesaurus: {table: " + table + "}\n"
			}
			want := d.Missing(n).Error()
			_, err := m.Crawl(t.Context())
			var wrong *job.Error
			if !errors.As(err, &wrong) || wrong.Err.Error() != want {
				t.Errorf("a crawl by %s: %v, want %s", d.Name, err, want)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			if got := refusal(t, file); !strings.Contains(got, want) {
				t.Errorf("a lab with %s: %q, want %s", d.Name, got, want)
			}
		}
	}
	if tried < 15 {
		t.Errorf("%d needs were tried", tried)
	}
}

// refusal is what a lab says of its second scorer: when it is read, before the
// first cell, or in its cell.
func refusal(t *testing.T, file string) string {
	f, err := decode("lab.yaml", []byte(file))
	if err != nil {
		return err.Error()
	}
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		return err.Error()
	}
	cells, err := filepath.Glob(filepath.Join(dir, cellsDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cells {
		if c, err := readCell(name); err == nil && c.Error != "" {
			return c.Error
		}
	}
	return ""
}

// What a lab accepts of a scorer a crawl accepts: similarities and settings.
func TestLabAndCrawlAgree(t *testing.T) {
	for _, sim := range []string{"judge", "tf", "tfidf", "tf-max", "tfidf-max", "cosine"} {
		_, err := decode("lab.yaml", []byte("webs: [{path: w}]\nscorers: [breadth-first, {name: best-first-both, similarity: "+sim+"}]\n"))
		m := &job.Maker{
			Job:     &job.Job{Seeds: []string{"http://a.example/1"}, Topic: job.Topic{Keywords: []string{"bees"}}, Scorer: job.Scorer{Similarity: sim}},
			Fetcher: nowhere{},
		}
		_, crawl := m.Crawl(t.Context())
		if crawl != nil && strings.Contains(crawl.Error(), "it is the likeness to example pages") {
			crawl = nil // the kind is known, and this topic has none
		}
		if (err == nil) != (crawl == nil) || (err == nil) != (sim != "cosine") {
			t.Errorf("similarity %s: a lab says %v, a crawl %v", sim, err, crawl)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, d := range score.Descriptions() {
		for _, s := range d.Settings {
			for _, v := range []float64{s.Min, s.Max, s.Max + 1, s.Min - 1} {
				j := job.Job{Scorer: job.Scorer{Name: d.Name, Set: map[string]float64{s.Name: v}}}
				if err, in := j.Check(), v >= s.Min && v <= s.Max; (err == nil) != in {
					t.Errorf("%s: %s = %v: %v", d.Name, s.Name, v, err)
				}
			}
		}
	}
}
