package collection

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// waggle judge logs its verdicts and all settings that changed, and then commits. Where
// it dies in between, nothing is damaged: the crawl is as it was before, and a repair of
// something else leaves these lines out.
func TestRejudgementThatNeverCounted(t *testing.T) {
	t.Parallel()
	m, dirs := snapshots(t, rand.New(rand.NewPCG(3, 21)), 1)
	dir := dirs[len(dirs)-1]
	col := At(dir)
	acked := acknowledged(t, dir)
	w := opened(t, dir) // what was in flight goes first
	stores, err := w.OpenStores(t.Context(), meadowStores())
	if err != nil {
		t.Fatal(err)
	}
	at := event.At{At: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	verdict := event.Verdict{URL: web.URL{}, Relevance: 0.9, Relevant: true}
	for u := range acked {
		if verdict.URL, err = web.Parse(u); err != nil {
			t.Fatal(err)
		}
		break
	}
	if _, err := stores.Log.Append(
		event.Rejudged{At: at, Judge: "keyword", Threshold: 0.2, Pages: []event.Verdict{verdict}},
		event.Changed{At: at, Setting: "judge.name", Old: "topic", New: "keyword"},
		event.Changed{At: at, Setting: "judge.threshold", Old: "0.3", New: "0.2"},
	); err != nil {
		t.Fatal(err)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	v, err := col.Verify(t.Context(), nil)
	if err != nil || !v.Whole || !strings.Contains(strings.Join(v.Notes, " "), "waggle judge was interrupted") {
		t.Errorf("Verify: %v, %v", v.Lines(), err)
	}

	damaged := copyOf(t, dir)
	ledgers, err := filepath.Glob(filepath.Join(damaged, "frontier", "ledger-*"))
	if err != nil || len(ledgers) != 1 {
		t.Fatal(ledgers, err)
	}
	if err := os.Truncate(ledgers[0], 100); err != nil {
		t.Fatal(err)
	}
	w = opened(t, damaged)
	if _, err := w.Repair(t.Context(), RepairOptions{Parser: parse.New(parse.Options{})}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{dir, damaged} {
		fresh := &meadow{n: m.n, asked: map[string]int{}, acked: acked}
		if _, err := fresh.resume(t, place, StoreOptions{}, 0); err != nil {
			t.Fatal(place, err)
		}
		owed(t, fresh, place, "after a rejudgement that never counted")
		for e, err := range At(place).Events() {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(event.Rejudged); ok {
				t.Errorf("%s: the verdicts that never counted are in the log", place)
			}
		}
	}
}
