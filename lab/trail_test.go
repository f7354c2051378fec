package lab

import (
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/internal/long"
)

// The positive control of models of hop distances. Pages of the first web tell how far a
// target is, by words that no target has: models that are taught on it find targets, and
// best-first by the likeness to targets does not. On the second, which differs by that
// alone, the pages on the way are like the targets, and best-first finds some.
func TestModelsFollowATrail(t *testing.T) {
	long.Test(t, "runs a lab")
	webs := ""
	for _, name := range []string{"trail", "plain"} {
		trail := map[string]string{"trail": "1", "plain": "0"}[name]
		made, err := synthetic.ParseSource("pages=4000,seed=1,topics=1,hosts=10,targets=0.015,hops=3,growth=1.5,links=8,template=0,locality=0.3,near=0.5,anchors=0,words=60,decay=1,signal=0.9,duplicates=0,boilerplate=0,redirects=0,dead=0,trail=" + trail)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), name)
		if _, err := corpus.Build(t.Context(), dir, made, corpus.Options{Name: name}); err != nil {
			t.Fatal(err)
		}
		webs += "\n  - {path: " + dir + ", train: {folds: same-but-hits, targets: 20}}"
	}
	f := read(t, "webs:"+webs+`
budgets: [300]
seeds: [far]
measures: [hits]
baseline: lm10-bfs
scorers:
  - lm10-bfs
  - {name: crf, train: {sequences: 3000}}
  - {name: memm, train: {sequences: 1000, iterations: 30}}
  - {name: hmm, train: {sequences: 1000}}
`)
	dir := t.TempDir()
	if _, err := f.Run(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	hits := map[string]float64{}
	for _, c := range r.Cells {
		for _, v := range c.Values {
			if v.Measure == "hits" {
				hits[c.Web+" "+c.Scorer] = float64(v.Value)
			}
		}
	}
	t.Logf("hits among 300 pages: %v", hits)
	for _, model := range []string{"crf", "memm", "hmm"} {
		if got, bfs := hits["trail "+model], hits["trail lm10-bfs"]; got < 8 || got < 4*bfs {
			t.Errorf("%s found %v targets at the end of a trail, lm10-bfs %v", model, got, bfs)
		}
	}
	if got, before := hits["plain lm10-bfs"], hits["trail lm10-bfs"]; got < before+3 {
		t.Errorf("lm10-bfs found %v targets without a trail and %v with one", got, before)
	}
}
