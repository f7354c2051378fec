package export

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
	"github.com/waggle-crawler/waggle/store"
)

// roundOf crawls a site twice, and makes of each page of the second crawl one that is as it
// was in the first.
func roundOf(t *testing.T) (first, round collection.Collection) {
	t.Helper()
	site := madecrawl.Site{
		"https://bees.test/":      {Body: "<title>Bees</title><p>bee <a href='/dance'>dance</a>"},
		"https://bees.test/dance": {Body: "<title>The dance</title><p>bee bee <a href='/'>home</a>"},
	}
	dir := filepath.Join(t.TempDir(), "one")
	first = madecrawl.Crawl(t, dir, "one", site, "https://bees.test/")
	round = madecrawl.Crawl(t, first.Round(1).Dir(), "one", site, "https://bees.test/")
	madecrawl.AsBefore(t, first, round)
	return first, round
}

// A round is handed over with the bodies that its revisit records refer to, each once.
func TestRound(t *testing.T) {
	first, round := roundOf(t)
	for _, c := range []struct {
		form string
		in   []collection.Collection
	}{
		{"wacz", []collection.Collection{round}},
		{"wacz", []collection.Collection{first, round}},
		{"wacz", []collection.Collection{round, first}},
		{"bagit", []collection.Collection{round}},
	} {
		names, files, _ := unzip(t, write(t, c.form, &Input{Collections: c.in}))
		dir := t.TempDir()
		for _, name := range names {
			if strings.HasSuffix(name, ".warc.gz") {
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), files[name], 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		paths, err := store.Paths(dir)
		if err != nil {
			t.Fatal(err)
		}
		held, wanted := map[string]int{}, map[string]bool{}
		for e, err := range store.Index(paths...) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Type {
			case "response":
				held[e.ID]++
			case "revisit":
				wanted[e.Of] = true
			}
		}
		if len(wanted) != 2 {
			t.Errorf("%s of %d crawls: %d revisit records", c.form, len(c.in), len(wanted))
		}
		for id := range wanted {
			if held[id] != 1 {
				t.Errorf("%s of %d crawls: the body of %s is there %d times", c.form, len(c.in), id, held[id])
			}
		}
		if pages := string(files["pages/pages.jsonl"]); c.form == "wacz" && !strings.Contains(pages, `"text":"bee bee home"`) {
			t.Errorf("the pages have no texts:\n%s", pages)
		}
		if index := string(files["indexes/index.cdx"]); c.form == "wacz" && len(c.in) == 1 && strings.Count(index, `"filename":"round-0-`) != 2 {
			t.Errorf("the index does not name the bodies of round 0:\n%s", index)
		}
	}

	if err := os.RemoveAll(first.ArchiveDir()); err != nil {
		t.Fatal(err)
	}
	err := form(t, "bagit").Write(t.Context(), &Input{Collections: []collection.Collection{round}}, new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "the bodies of 2 pages that were as before are in no archive of an earlier round") {
		t.Errorf("without the archive of round 0: %v", err)
	}
}
