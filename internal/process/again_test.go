package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
)

// A round of a collection is killed again and again. Each time it goes on, and in the end
// every page that was known was asked for once, by what the server had said of it.
func TestKilledRoundGoesOn(t *testing.T) {
	t.Parallel()
	kills := killsWanted(t)
	web := serveNumbered(t, 300)
	rng := killChance(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	args := append(web.crawl(dir), "--keywords", "honey bee, waggle dance", "--workers", "4")
	if said, err := waggleCommand(args).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	base := collection.At(dir)
	known := map[string]bool{}
	for p, err := range base.Fetched() {
		if err != nil {
			t.Fatal(err)
		}
		known[p.URL.String()] = true
	}
	for range kills {
		enough := web.gate(1 + rng.IntN(max(1, len(known)/kills)))
		cmd := waggleCommand([]string{"crawl", "--again", dir, "--workers", "4"})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-enough
		cmd.Process.Kill()
		cmd.Wait() // it was killed
		copied := dir + "-copy"
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		checkCopy(t, collection.At(copied).Round(1), "crawl-0001", web)
		if err := os.RemoveAll(copied); err != nil {
			t.Fatal(err)
		}
	}
	web.open()
	if said, err := waggleCommand([]string{"crawl", "--again", dir, "--workers", "4"}).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if len(web.again) > 0 {
		t.Errorf("asked for again although acknowledged: %d addresses, first %s", len(web.again), web.again[0])
	}
	if n, err := base.Rounds(); n != 1 || err != nil {
		t.Errorf("%d rounds, %v", n, err)
	}
	if said, err := waggleCommand([]string{"verify", base.Round(1).Dir()}).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	fetched := map[string]int{}
	for e, err := range event.ReadFile(base.Round(1).EventLog()) {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.(event.Fetched); ok {
			fetched[p.URL.String()]++
			if p.Bytes > 0 {
				t.Errorf("%s was sent once more", p.URL)
			}
		}
	}
	for u := range known {
		if fetched[u] != 1 {
			t.Errorf("%s was fetched %d times", u, fetched[u])
		}
	}
	if len(fetched) != len(known) {
		t.Errorf("%d pages, %d were known", len(fetched), len(known))
	}
}
