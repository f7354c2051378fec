package score_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// models are trained once each.
var models sync.Map // model.Kind → *model.File

// trained is a model for the scorer of that name, nil if it follows none.
func trained(t testing.TB, scorer string) *model.File {
	kind := score.ModelOf(described()[scorer])
	for _, k := range model.Kinds() {
		if k != kind || k == model.Apprentice { // which can do without
			continue
		}
		if m, ok := models.Load(k); ok {
			return m.(*model.File)
		}
		var m *model.File
		if k == model.PathLearner {
			m = fitPaths(t, beePaths(t), nil)
		} else {
			m = fit(t, k, tinyWeb(), nil)
		}
		models.Store(k, m)
		return m
	}
	return nil
}

// fit learns from a web with all its words, by those settings that the kind
// has.
func fit(t testing.TB, kind model.Kind, g *train.Graph, set map[string]float64) *model.File {
	t.Helper()
	o := train.FitOptions{Analyzer: analyzer, Set: map[string]float64{}, Workers: 1}
	o.Features.MinPages = 1
	for _, f := range train.Fitters() {
		for _, s := range f.Settings {
			if f.Kind == kind && s.Name == "words" {
				o.Set["words"] = 1
			}
			if v, ok := set[s.Name]; ok && f.Kind == kind {
				o.Set[s.Name] = v
			}
		}
	}
	sequences, err := g.Sequences(t.Context(), train.SequenceOptions{Count: 50})
	if err != nil {
		t.Fatal(err)
	}
	m, err := train.Fit(context.Background(), kind, g, sequences, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tinyWeb is a chain of pages that leads from steel to bees, with a loop:
//
//	6 ─► 5 ─► 4 ─► 3 ─► 1*
//	└─────────┘    ▲    │
//	               2 ◄──┘──► 0*
func tinyWeb() *train.Graph {
	return graphOf(
		[]string{"bee bee honey", "bee honey honey", "honey steel", "bee steel", "steel steel honey", "steel steel", "steel"},
		[]int{0, 0, 2, 1, 2, 3, 3}, 0, 1,
		"6 5 heavy steel", "6 4 steel works", "5 4 steel and more", "4 3 steel hive", "3 1 honey bees",
		"1 2 hive works", "1 0 bees", "2 3 works",
	)
}

// graphOf makes a training graph of the words of each page, the layer in which
// it was found, the first and last of the targets, and links "from to anchor".
// States are the hops to the nearest target.
func graphOf(words []string, layers []int, first, last int, edges ...string) *train.Graph {
	g := &train.Graph{Topic: &topic.Topic{Name: "bees", Keywords: []string{"bees"}, Description: "honey bees"}}
	for i, w := range words {
		p := &web.Page{URL: parse(fmt.Sprintf("http://t.test/%d", i)), Title: w, Digest: [16]byte{byte(i)}}
		p.Terms = termsOf(w)
		g.Nodes = append(g.Nodes, train.Node{URL: p.URL, Layer: layers[i], State: 1 << 20, Page: p})
		g.Layers = max(g.Layers, layers[i]+1)
		if i >= first && i <= last {
			g.Nodes[i].State, g.Nodes[i].Target = 0, true
			g.Topic.Examples = append(g.Topic.Examples, p)
		}
	}
	type end struct{ from, to int32 }
	var ends []end
	for _, e := range edges {
		var from, to int
		if _, err := fmt.Sscan(e, &from, &to); err != nil {
			panic(err)
		}
		anchor := strings.Join(strings.Fields(e)[2:], " ")
		p := g.Nodes[from].Page
		p.Links = append(p.Links, web.Link{URL: g.Nodes[to].URL, Kind: web.LinkA, Anchor: anchor, Position: len(p.Links)})
		ends = append(ends, end{int32(from), int32(to)})
	}
	for from := range g.Nodes {
		at := 0
		for _, e := range ends {
			if int(e.from) == from {
				g.Edges = append(g.Edges, train.Edge{From: e.from, To: e.to, Link: &g.Nodes[from].Page.Links[at]})
				at++
			}
		}
	}
	for range g.Nodes {
		for _, e := range g.Edges {
			g.Nodes[e.From].State = min(g.Nodes[e.From].State, g.Nodes[e.To].State+1)
		}
	}
	return g
}

// termsOf are the terms of a text of stems.
func termsOf(text string) (terms []web.Term) {
	count := map[string]int32{}
	for _, w := range strings.Fields(text) {
		count[w]++
	}
	for _, w := range []string{"bee", "hive", "honey", "steel"} {
		if count[w] > 0 {
			terms = append(terms, web.Term{Text: w, Head: 1, Body: count[w]})
		}
	}
	return terms
}
