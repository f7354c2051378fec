//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A round that another process holds is not reported, and nothing is written into its folder.
func TestRoundInUse(t *testing.T) {
	round := madeRound(t)
	changes := filepath.Join(round.Dir(), "changes.tsv")
	if err := os.Remove(changes); err != nil {
		t.Fatal(err)
	}
	w, err := round.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	std, said := files(t)
	std.out = std.err
	if got := run(t.Context(), []string{"crawl", "-o", round.Dir(), "--resume"}, std); got != exitFailed || !strings.Contains(contents(t, said), "in use by another waggle") || strings.Contains(contents(t, said), "Round 1") {
		t.Errorf("it ends with %d: %s", got, contents(t, said))
	}
	if _, err := os.Stat(changes); err == nil {
		t.Error("it writes changes.tsv")
	}
}
