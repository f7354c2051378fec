package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
)

// A round of a collection is killed again and again. Each time it goes on, and in the end
// every page that was known was asked for once, by what the server had said of it.
func TestKilledRoundGoesOn(t *testing.T) {
	long.Test(t, "kills a round of a crawl")
	t.Parallel()
	killRound(t, serveNumbered(t, 300))
}

// The same where a sitemap tells which pages have changed: these come sooner, and the others last.
func TestKilledRoundWithSitemap(t *testing.T) {
	long.Test(t, "kills a round of a crawl")
	t.Parallel()
	web := serveNumbered(t, 300)
	web.sitemap = func() string {
		var b strings.Builder
		b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := 0; i < web.n; i += 4 {
			said := "2001-01-01T00:00:00Z"
			if i%8 == 0 {
				said = time.Now().UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(&b, "<url><loc>%s/%d</loc><lastmod>%s</lastmod></url>", web.hosts[0], i, said)
		}
		return b.String() + "</urlset>"
	}
	moved := map[event.Move]int{}
	for _, d := range killRound(t, web, "--links-from", "alternates,sitemaps") {
		moved[d.Then]++
	}
	if moved[event.MoveSooner] == 0 || moved[event.MoveLast] == 0 {
		t.Errorf("by the sitemap pages were moved so: %v; want some sooner and some last", moved)
	}
}

// killRound crawls a web, and kills the first round again and again. It returns what sitemaps and
// feeds told in the round.
func killRound(t *testing.T, web *numberedWeb, flags ...string) (dated []event.Dated) {
	kills := killsWanted(t)
	rng := killChance(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	args := append(web.crawl(dir), "--keywords", "honey bee, waggle dance", "--workers", "4")
	args = append(args, flags...)
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
	// The dates of sitemaps have whole seconds: one that says that a page has changed since is of a later second.
	<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
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
			dated = append(dated, p.Dated...)
			if p.Bytes > 0 && p.URL.Path() != "/sitemap.xml" {
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
	return dated
}
