package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

func sample(t testing.TB, g *Graph, o SequenceOptions) []Sequence {
	t.Helper()
	list, err := g.Sequences(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func path(g *Graph, s Sequence) string {
	var names []string
	for _, n := range s.Nodes {
		names = append(names, name(g.Nodes[n].URL))
	}
	return strings.Join(names, "→")
}

// The examples of the paper: which walks are drawn and which never are (section
// 3.1).
func TestSequencesOfThePaper(t *testing.T) {
	g := collect(t, paper(), CollectOptions{}, "0")
	drawn := map[string]bool{}
	for _, s := range sample(t, g, SequenceOptions{Seed: 1}) {
		if drawn[path(g, s)] {
			t.Errorf("%s was drawn twice", path(g, s))
		}
		drawn[path(g, s)] = true
	}
	for walk, want := range map[string]bool{
		"9→7→3→4→1→0":   true,
		"9→7→3→4→2→0":   true,
		"9→8→4→1→0":     true,
		"9→8→4→2→0":     true,
		"9→8":           true,  // length 2 is kept
		"1→0":           true,  // a dead end as well
		"9→8→4→7→3→1→0": false, // 4→7 goes up a layer
		"4→7":           false, // (the text names it as an example of length 2, against its own rule)
		"9→7→4→7→4→1":   false, // a loop
		"0→5":           false, // up a layer
	} {
		if drawn[walk] != want {
			t.Errorf("%s: drawn %v, want %v", walk, drawn[walk], want)
		}
	}
}

// Walks obey the layers pages were found in, and labels are the states: the
// paper's example 9→7→3→4→2→0 goes down the layers 4 3 2 2 1 0 and is labelled
// T1 T0 T2 T1 T1 T0.
func TestLabelsMayRise(t *testing.T) {
	g := collect(t, paper(), CollectOptions{}, "0")
	list := sample(t, g, SequenceOptions{Seed: 1})
	i := slices.IndexFunc(list, func(s Sequence) bool { return path(g, s) == "9→7→3→4→2→0" })
	if i < 0 {
		t.Fatal("the paper's example was not drawn")
	}
	var physical []int
	for _, n := range list[i].Nodes {
		physical = append(physical, g.Nodes[n].Layer)
	}
	if got := fmt.Sprint(physical); got != "[4 3 2 2 1 0]" {
		t.Errorf("layers %v", got)
	}
	if got := fmt.Sprint(g.Labels(list[i], 5)); got != "[1 0 2 1 1 0]" {
		t.Errorf("labels %v", got)
	}
	// The last state means "that many or more".
	if got := fmt.Sprint(g.Labels(list[i], 2)); got != "[1 0 1 1 1 0]" {
		t.Errorf("labels of two states %v", got)
	}
}

// Lengths are uniform where the graph allows any: from the end of a long chain
// every length is drawn about as often.
func TestLengthsAreUniform(t *testing.T) {
	// A web of 60 pages, all of layer 1, each linked to all others.
	var b strings.Builder
	b.WriteString("goal ->\n")
	for i := range 60 {
		fmt.Fprintf(&b, "p%d -> goal", i)
		for j := range 60 {
			fmt.Fprintf(&b, " p%d", j)
		}
		b.WriteString("\n")
	}
	g := collect(t, draft(b.String()), CollectOptions{Layers: 2, Similar: 2}, "goal")
	counts := map[int]int{}
	const n = 3600
	for _, s := range sample(t, g, SequenceOptions{Count: n, Seed: 7, MinLength: 4}) {
		// A walk that meets the goal ends there.
		if g.Nodes[s.Nodes[len(s.Nodes)-1]].Layer == 1 {
			counts[len(s.Nodes)]++
		}
	}
	total := 0
	for _, c := range counts {
		total += c
	}
	// Lengths 4…10, each about a seventh, with fewer long ones, which the goal
	// cuts off: a walk of ten meets it with a chance of 1 − (59/60)^9 = 14%.
	for length := 4; length <= 10; length++ {
		if got := float64(counts[length]) / float64(total); got < 0.11 || got > 0.18 {
			t.Errorf("length %d: %.3f of the walks, want about a seventh", length, got)
		}
	}
}

func TestSequencesOfAnyWeb(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawWeb(t)
		g, err := Collect(context.Background(), &topic.Topic{}, []web.URL{s.order[0], s.order[1]}, s, s, CollectOptions{})
		if errors.Is(err, ErrNoInlinks) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		o := SequenceOptions{Count: rapid.IntRange(1, 200).Draw(t, "count"), MaxLength: rapid.IntRange(2, 6).Draw(t, "longest"), Seed: rapid.Uint64().Draw(t, "seed")}
		list, err := g.Sequences(t.Context(), o)
		if err != nil {
			t.Fatal(err) // layer 1 links to layer 0, so there is one
		}
		again, _ := g.Sequences(t.Context(), o)
		if fmt.Sprint(again) != fmt.Sprint(list) {
			t.Fatal("the same seed gives other sequences")
		}
		if len(list) > o.Count {
			t.Fatalf("%d sequences of %d", len(list), o.Count)
		}
		seen := map[string]bool{}
		for _, q := range list {
			if n := len(q.Nodes); n < 2 || n > o.MaxLength || len(q.Edges) != n-1 {
				t.Fatalf("%v has %d pages and %d edges", q, n, len(q.Edges))
			}
			if seen[fmt.Sprint(q.Nodes)] {
				t.Fatalf("%v twice", q)
			}
			seen[fmt.Sprint(q.Nodes)] = true
			for i, n := range q.Nodes {
				if slices.Contains(q.Nodes[:i], n) {
					t.Fatalf("%v comes by a page twice", q)
				}
				if i == 0 {
					continue
				}
				if g.Nodes[n].Layer > g.Nodes[q.Nodes[i-1]].Layer {
					t.Fatalf("%v goes up a layer", q)
				}
				if e := g.Edges[q.Edges[i-1]]; e.From != q.Nodes[i-1] || e.To != n {
					t.Fatalf("%v: edge %d leads elsewhere", q, i-1)
				}
			}
		}
	})
}

// Of a small graph so many sequences are wanted that drawing would go on for long after the interrupt.
func TestSequencesStop(t *testing.T) {
	g := collect(t, paper(), CollectOptions{}, "0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := g.Sequences(ctx, SequenceOptions{Count: 10_000_000}); !errors.Is(err, context.Canceled) {
		t.Errorf("%d sequences, %v", len(list), err)
	}
}

func TestSequenceErrors(t *testing.T) {
	if _, err := (&Graph{Nodes: []Node{{Page: &web.Page{}}}, Layers: 1}).Sequences(t.Context(), SequenceOptions{}); !errors.Is(err, ErrNoSequence) {
		t.Errorf("a graph without links: error %v", err)
	}
	for says, o := range map[string]SequenceOptions{
		"-1 sequences":           {Count: -1},
		"lengths of 1 to 10":     {MinLength: 1},
		"lengths of 5 to 4":      {MinLength: 5, MaxLength: 4},
		"lengths of 2 to 100000": {MaxLength: 100000},
	} {
		if _, err := (&Graph{}).Sequences(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}
