package event

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// A place is met by addresses below its host and path that were fetched, failed, wait, or were set
// aside, and not by what is only named or was left out.
func TestMeets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	l, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Event{
		Seeded{Queued: []Found{{URL: addr("https://seed.test/")}}},
		Act{Number: 1, Do: Mute, Place: "told.test/x"},
		Fetched{
			Visit: Visit{URL: addr("https://www.page.test/bees/hive?a=1&b=2")}, Title: "https://title.test/x",
			Queued:  []Found{{URL: addr("https://queued.test:8080/a/b"), Anchor: "https://anchor.test/x"}},
			Skipped: []Skipped{{URL: addr("https://muted.test/m/1"), Reason: web.ReasonMuted}, {URL: addr("https://out.test/o"), Reason: web.ReasonScope}},
		},
		Failed{Visit: Visit{URL: addr("https://failed.test/f")}, Reason: web.ReasonRedirect, To: addr("https://to.test/t"), Queued: true},
		Failed{Visit: Visit{URL: addr("https://failed.test/g")}, Reason: web.ReasonRedirect, To: addr("https://outside.test/t")},
		Received{Queued: []Found{{URL: addr("https://received.test/r")}}},
	} {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]bool{
		"seed.test": true, "seed.test/": true, "seed.test/x": false, "test": true, "eed.test": false,
		"page.test": true, "www.page.test/bees/": true, "page.test/bees/hi": true, "page.test/hive": false, "page.test/bees/hive?a=1&b": true, "page.test/bees/hive?a=1&c": false,
		"queued.test:8080/a/": true, "queued.test": false, "muted.test/m/": true, "muted.test/n": false, "out.test": false,
		"failed.test/f": true, "to.test/t": true, "outside.test": false, "received.test/r": true,
		"told.test/x": false, "title.test/x": false, "anchor.test/x": false,
	} {
		a := Act{Do: Mute, Place: place}
		if met, _, whole, err := Meets(path, &a, 0, 0); met != want || !whole && !met || err != nil {
			t.Errorf("%s: %v, whole %v, %v", place, met, whole, err)
		}
		// In parts of a line it is met in the same one, and not again behind it.
		met, at, whole := false, int64(0), false
		for !met && !whole {
			if met, at, whole, err = Meets(path, &a, at, 1); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(path); met != want || err != nil || !met && at != info.Size() {
			t.Errorf("%s in parts: %v, up to %d, %v", place, met, at, err)
		}
	}
	for page, want := range map[string]bool{
		"https://www.page.test/bees/hive?a=1&b=2": true, "http://www.page.test/bees/hive?a=1&b=2": false, "https://www.page.test/bees/hive": false,
		"https://queued.test:8080/a/b": false, "https://failed.test/f": false, "https://seed.test/": false,
	} {
		if met, _, _, err := Meets(path, &Act{Do: Relevant, URL: addr(page)}, 0, 0); met != want || err != nil {
			t.Errorf("the page %s: %v, %v", page, met, err)
		}
	}
	if _, _, _, err := Meets(filepath.Join(t.TempDir(), "none"), &Act{Place: "x.test"}, 0, 0); err == nil {
		t.Error("a log that is not there")
	}
}
