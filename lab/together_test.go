package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/eval"
)

func TestTogetherIsChecked(t *testing.T) {
	for yaml, want := range map[string]string{
		"{workers: 0}":                  "workers lies in",
		"{workers: 4, fetches: -1}":     "fetches lies in",
		"{workers: 4, delay: -1s}":      "at least 0",
		"{workers: 4, by: shard}":       "by is host or domain",
		"{workers: 4, own: [budget]}":   "own is a list",
		"{workers: 4, delay: 5}":        "has no unit",
		"{workers: 2, by: domain}":      "",
		"{workers: 2, own: [lessons]}":  "",
		"{workers: 1, fetches: 8}":      "",
		"{workers: 2, every: 100ms}":    "",
		"{workers: 2, own: [price, x]}": "own is a list",
	} {
		_, err := decode("lab.yaml", []byte("webs: [{path: web}]\nscorers:\n  - {name: waggle, together: "+yaml+"}\n"))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", yaml, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want an error with %q", yaml, err, want)
		}
	}
	if _, err := decode("lab.yaml", []byte("webs: [{path: web}]\nscorers:\n  - {name: waggle, together: {workers: 2}, labels: {count: 3}}\n")); err == nil || !strings.Contains(err.Error(), "one worker") {
		t.Errorf("labels for two workers: %v", err)
	}
}

// The crawls of a lab that several workers do have as many pages as those of one, and are
// the same each time.
func TestTogetherInALab(t *testing.T) {
	dir := t.TempDir()
	web := small(t)
	run := func(out string) map[string]eval.Cell {
		f, err := decode("lab.yaml", []byte("webs: [{path: "+web+`, budgets: [12]}]
judges: [topic]
network: {latency: 200ms, delay: 1s}
baseline: one
scorers:
  - {name: waggle, as: one}
  - {name: waggle, as: three, together: {workers: 3, delay: 100ms}}
  - {name: waggle, as: alone, together: {workers: 3, delay: 100ms, own: [price, lessons]}}
`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(context.Background(), filepath.Join(dir, out), Options{}); err != nil {
			t.Fatal(err)
		}
		cells := map[string]eval.Cell{}
		names, err := filepath.Glob(filepath.Join(dir, out, cellsDir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			c, err := readCell(n)
			if err != nil || c.Error != "" {
				t.Fatal(n, err, c.Error)
			}
			cells[filepath.Base(n)] = c
		}
		return cells
	}
	a, b := run("a"), run("b")
	for name, c := range a {
		if len(c.Values) == 0 || c.Ended != "BudgetSpent" {
			t.Errorf("%s ended as %s with %d values", name, c.Ended, len(c.Values))
		}
		for i, v := range c.Values {
			if w := b[name].Values[i]; v.Measure != w.Measure || fmt.Sprint(v.Value) != fmt.Sprint(w.Value) {
				t.Errorf("%s: %s is %v, and then %v", name, v.Measure, v.Value, w.Value)
			}
		}
	}
	if len(a) == 0 || len(a) != len(b) {
		t.Errorf("%d cells, and then %d", len(a), len(b))
	}
}
