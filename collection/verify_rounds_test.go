package collection_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
)

// A round whose archive refers to the bodies of an earlier one is damaged where that is missing;
// one that is missing and holds no body of the round is noted.
func TestVerifyMissingRounds(t *testing.T) {
	site := madecrawl.Site{"https://bees.test/": {Body: "<title>Bees</title><p>bee <a href='/dance'>dance</a>"}, "https://bees.test/dance": {Body: "<p>bee bee"}}
	dir := filepath.Join(t.TempDir(), "bees")
	first := madecrawl.Crawl(t, dir, "bees", site, "https://bees.test/")
	madecrawl.Crawl(t, first.Round(1).Dir(), "bees", site, "https://bees.test/")
	round := madecrawl.Crawl(t, first.Round(2).Dir(), "bees", site, "https://bees.test/")
	madecrawl.AsBefore(t, first, round)
	found := func(c collection.Collection) (damages, notes []string) {
		v, err := c.Verify(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range v.Damage {
			if strings.Contains(d.What, "a round,") {
				damages = append(damages, d.String()+"; "+d.Remedy)
			}
		}
		return damages, slices.DeleteFunc(v.Notes, func(n string) bool { return !strings.Contains(n, "before this one") })
	}
	if damages, notes := found(round); len(damages)+len(notes) > 0 {
		t.Errorf("all is there: %q, %q", damages, notes)
	}
	if err := os.Rename(first.Round(1).Dir(), filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	damages, notes := found(round)
	if want := "round 1, before this one, is not there (looked for at " + first.Round(1).Dir() + "): no page of this round needs it"; len(damages) > 0 || !slices.Equal(notes, []string{want}) {
		t.Errorf("without round 1: %q, %q, want the note %q", damages, notes, want)
	}
	if err := os.Rename(first.ArchiveDir(), filepath.Join(t.TempDir(), "archive")); err != nil {
		t.Fatal(err)
	}
	want := dir + ": the first crawl, of which this is a round, has no archive: its archive holds the texts of 2 pages that were as before; put that folder back at " + dir
	if damages, _ := found(round); !slices.Equal(damages, []string{want}) {
		t.Errorf("without the archive of the first crawl: %q, want %q", damages, want)
	}
	elsewhere := filepath.Join(t.TempDir(), "a", "b", "round")
	if err := errors.Join(os.MkdirAll(filepath.Dir(elsewhere), 0o755), os.Rename(round.Dir(), elsewhere)); err != nil {
		t.Fatal(err)
	}
	if damages, _ := found(collection.At(elsewhere)); len(damages) != 1 || !strings.Contains(damages[0], "is not there") || !strings.Contains(damages[0], "put this folder where it was") {
		t.Errorf("out of the folder of its crawl: %q", damages)
	}
}
