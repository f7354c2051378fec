package pool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// small is a pool of two topics.
func small(t testing.TB) *Pool {
	t.Helper()
	p := &Pool{Seed: 7, Webs: []Web{{"tree", "0123456789abcdef", 120}}}
	for _, name := range []string{"bees", "cars"} {
		topic, err := Draw("tree", name, population(120, 3, 1), DrawOptions{Pages: 30, Top: 12, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		p.Topics = append(p.Topics, topic)
	}
	return p
}

func TestPoolIsReadAsWritten(t *testing.T) {
	p, dir := small(t), t.TempDir()
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Revision) != 16 || !reflect.DeepEqual(got, p) {
		t.Errorf("read:\n%+v\nwritten:\n%+v", got, p)
	}
	twice := t.TempDir()
	if err := got.Write(twice); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{yamlName, pagesName, strataName} {
		a, _ := os.ReadFile(filepath.Join(dir, name))
		b, err := os.ReadFile(filepath.Join(twice, name))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s is not the same bytes when written again (%v)", name, err)
		}
	}
	if _, err := got.Topic(Key{"tree", "wasps"}); err == nil || !strings.Contains(err.Error(), "it has tree/bees tree/cars") {
		t.Errorf("a topic that is not there: %v", err)
	}
}

// A pool with labels is not replaced by another one, which they would not fit.
func TestLabelsKeepTheirPool(t *testing.T) {
	p, dir := small(t), t.TempDir()
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, LabelsName), []byte(labelsMark+p.Revision+"\n"+labelsHead+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := small(t)
	other.Seed++
	if err := other.Write(dir); !errors.Is(err, ErrLabelled) || !strings.Contains(err.Error(), "the labels are of pool "+p.Revision) {
		t.Errorf("another pool: %v", err)
	}
	if err := small(t).Write(dir); err != nil {
		t.Errorf("the same pool: %v", err)
	}
	if got, err := Open(dir); err != nil || got.Revision != p.Revision {
		t.Errorf("the pool is now %+v, %v", got, err)
	}
}

// A pool that was changed by hand is not taken for the one that was drawn.
func TestPoolDamage(t *testing.T) {
	for _, c := range []struct{ file, old, by, want string }{
		{yamlName, "seed: 7", "seed: 8", "was changed after the pool was drawn"},
		{yamlName, "seed: 7", "sead: 7", `unknown key "sead"`},
		{yamlName, "documents: 120", "documents: 119", "its strata hold 120 documents, and the web 119"},
		{yamlName, "drawn: ", "drawn: 9", "are drawn"},
		{pagesName, pagesHead, "", `pool.tsv:1: the first line is not "web\ttopic\taddress\tstratum"`},
		{pagesName, "\ttop\n", "\ttip\n", `has no stratum "tip"`},
		{pagesName, "\ttop\n", "\thigh\n", "pages of stratum top, but pool.yaml says"},
		{pagesName, "\ttop\n", "\n", "four fields"},
		{pagesName, "\ttop\n", "\ttop\t1\n", "four fields"},
		{pagesName, "tree\tcars", "tree\twasps", "topic tree/wasps is not the next one"},
		{pagesName, "http://a.example/", "gopher://a.example/", "pool.tsv:2"},
		{strataName, "", "x", "gzip"},
	} {
		dir := t.TempDir()
		if err := small(t).Write(dir); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, c.file)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), c.old) {
			t.Fatalf("%s does not hold %q", c.file, c.old)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(b), c.old, c.by, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s with %q for %q: %v, want %s", c.file, c.by, c.old, err, c.want)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "waggle lab pool draw makes one") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestNarratives(t *testing.T) {
	p := small(t)
	const bees, cars = "  bees: {mainly: about bees, partly: bees too, no: none}\n", "  cars: {mainly: a, partly: b, no: c}\n"
	for _, c := range []struct{ file, want string }{
		{"tree:\n" + bees + cars, ""},
		{"tree:\n" + bees + cars + "other:\n  x: {mainly: a, partly: b, no: c}\n", ""},
		{"tree:\n" + bees, "topic tree/cars of the pool has no narrative"},
		{"tree:\n" + bees + "  cars: {mainly: a, partly: b}\n", "narratives.yaml:3: topic tree/cars: the sentence of the key no is missing"},
		{"tree:\n" + bees + "  cars: {mainly: a, partly: b, none: c}\n", "a topic has mainly:, partly: and no:"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, NarrativesName), []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadNarratives(dir, p)
		if c.want == "" && (err != nil || got[Key{"tree", "bees"}] != Narrative{"about bees", "bees too", "none"}) {
			t.Errorf("%q: %v, %v", c.file, got, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %s", c.file, err, c.want)
		}
	}
}

// A file with a place for each narrative is written where there is none, and what is
// there is never written over.
func TestNarrativesToFillIn(t *testing.T) {
	p, dir := small(t), t.TempDir()
	if _, err := ReadNarratives(dir, p); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if wrote, err := WriteNarratives(dir, p); !wrote || err != nil {
		t.Errorf("%v, %v", wrote, err)
	}
	if wrote, err := WriteNarratives(dir, p); wrote || err != nil {
		t.Errorf("written over: %v, %v", wrote, err)
	}
	if _, err := ReadNarratives(dir, p); err == nil || !strings.Contains(err.Error(), "topic tree/bees: the sentence of the key mainly is missing") {
		t.Errorf("%v", err)
	}
	// Topics of a web need not stand together in a pool, as in one of several labs.
	apart, other := &Pool{Topics: []Topic{{Web: "a", Name: "x"}, {Web: "b", Name: "y"}, {Web: "a", Name: "z"}}}, t.TempDir()
	if _, err := WriteNarratives(other, apart); err != nil {
		t.Fatal(err)
	}
	empty, err := os.ReadFile(filepath.Join(other, NarrativesName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, NarrativesName), []byte(strings.ReplaceAll(string(empty), `""`, "said")), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadNarratives(other, apart); err != nil || len(got) != 3 {
		t.Errorf("topics of a web that stand apart: %v, %v", got, err)
	}
	name := filepath.Join(dir, NarrativesName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(b), `""`, "bees")), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadNarratives(dir, p); err != nil || len(got) != 2 || got[Key{"tree", "cars"}].No != "bees" {
		t.Errorf("filled in: %v, %v", got, err)
	}
	p.Topics[0].Web, p.Topics[0].Name = "no: yes", "#1"
	odd := t.TempDir()
	if _, err := WriteNarratives(odd, p); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNarratives(odd, p); err == nil || !strings.Contains(err.Error(), "topic no: yes/#1: the sentence") {
		t.Errorf("odd names: %v", err)
	}
}

// BenchmarkOpen opens a pool of 100,000 pages with as many labels, and tells what of
// it was read; the bar is a second for each. Baseline on a busy core: 0.5 s and 0.8 s.
func BenchmarkOpen(b *testing.B) {
	const documents, topics, pages = 30_000, 10, 10_000
	p := &Pool{Webs: []Web{{"w", "r", documents}}}
	for i := range topics {
		t := Topic{Web: "w", Name: fmt.Sprint("t", i), Strata: []Stratum{{"top", pages, pages}, {"rest", documents - pages, 0}}, Member: make([]uint8, documents)}
		for d := range t.Member {
			u, err := web.Parse(fmt.Sprintf("https://www.department-%d.example/people/publications/%d/index.html?topic=%d", d%80, d, i))
			if err != nil {
				b.Fatal(err)
			}
			if d < pages {
				t.Pages = append(t.Pages, Page{u, 0})
			} else {
				t.Member[d] = 1
			}
		}
		p.Topics = append(p.Topics, t)
	}
	dir := b.TempDir()
	if err := p.Write(dir); err != nil {
		b.Fatal(err)
	}
	f, _, err := OpenLabels(dir, p)
	if err != nil {
		b.Fatal(err)
	}
	var labels []Label
	for i := range p.Topics {
		for _, x := range p.Topics[i].Pages {
			labels = append(labels, Label{Key: p.Topics[i].Key(), URL: x.URL, Reader: "ada", Round: 1})
		}
	}
	if err := errors.Join(f.Add(labels...), f.Close()); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			got, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			if list, err := ReadLabels(dir, got); err != nil || len(list) != topics*pages {
				b.Fatalf("%d labels, %v", len(list), err)
			}
		}
	})
	b.Run("info", func(b *testing.B) {
		for b.Loop() {
			if err := WriteRead(io.Discard, p, labels); err != nil {
				b.Fatal(err)
			}
		}
	})
}
