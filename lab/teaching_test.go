package lab

import (
	"fmt"
	"os"
	"testing"

	"github.com/waggle-crawler/waggle/train"
)

// BenchmarkTrainingData prints what teaches the models of a lab in each part of each of its
// topics, first repeat, as table 2 of Liu & Milios 2010 has it:
//
//	LAB=lab.yaml go test ./lab -run '^$' -bench TrainingData -benchtime 1x
//
// Targets are the pages shown, found are those with the pages that are as similar, and pages
// all of the graph.
func BenchmarkTrainingData(b *testing.B) {
	name := os.Getenv("LAB")
	if name == "" {
		b.Skip("needs a lab file: set LAB to it, as above")
	}
	f, err := Read(name)
	if err != nil {
		b.Fatal(err)
	}
	f.Repeats = 1
	r := &runner{File: f, dir: b.TempDir()}
	var webs []*labWeb
	for i := range f.Webs {
		w, err := f.open(&f.Webs[i], i)
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close()
		webs = append(webs, w)
	}
	for range b.N {
		fmt.Println("web,part,targets,found,pages,sequences,seeds")
		for _, g := range r.groups(webs) {
			if err := g.w.load(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			links, err := g.w.backlinks(b.Context(), g.IgnoreDirectives)
			if err != nil {
				b.Fatal(err)
			}
			graph, err := train.FromRecord(b.Context(), g.w.Web, g.w.pages, g.topic(), g.examples(), g.teaches, train.CollectOptions{
				IgnoreDirectives: g.IgnoreDirectives, Backlinks: links, Seed: g.chance(), Workers: 1,
			})
			if err != nil {
				b.Fatal(err)
			}
			sequences, err := graph.Sequences(b.Context(), train.SequenceOptions{Seed: g.chance()})
			if err != nil {
				b.Fatal(err)
			}
			id := g.id()
			fmt.Printf("%s,%s,%d,%d,%d,%d,%d\n", id.Web, id.Topic, len(g.examples()), graph.StateSizes(train.Layers)[0], len(graph.Nodes), len(sequences), len(g.seeds()))
		}
	}
}
