//go:build unix

package index

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
	"github.com/waggle-crawler/waggle/parse"
)

// benchPages is how many pages are searched, unless WAGGLE_PAGES says otherwise.
const benchPages = 2000

// BenchmarkSearch measures searches of one to three words, half of them common, with
// filters and near-copies folded, over made-up pages of 500 words. With WAGGLE_INDEX,
// the folder is kept, and used again. Metrics are the time of a search and the processor
// time of the process meanwhile, which tells more where other programs run.
func BenchmarkSearch(b *testing.B) {
	n := benchPages
	if s := os.Getenv("WAGGLE_PAGES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	dir := os.Getenv("WAGGLE_INDEX")
	if dir == "" {
		dir = b.TempDir()
	}
	place := filepath.Join(dir, "index")
	if _, err := os.Stat(filepath.Join(dir, "events.jsonl")); err != nil {
		if _, err := madecrawl.Write(dir, n, 500, 1); err != nil {
			b.Fatal(err)
		}
	}
	x, err := NewBuilder(collection.At(dir), place, parse.New(parse.Options{}))
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	before := x.Pages()
	if err := x.Update(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	if made := x.Pages() - before; made > 0 {
		b.Logf("%d pages indexed, %v each", made, time.Since(began)/time.Duration(made))
	}
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
	r, err := Open(place)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	rng := rand.New(rand.NewPCG(2, 0))
	var took, used []time.Duration
	for b.Loop() {
		q := Query{Fold: true}
		for range 1 + rng.IntN(3) {
			rank := rng.IntN(30)
			if rng.IntN(2) == 0 {
				rank = rng.IntN(20_000)
			}
			q.Text += madecrawl.Word(rank) + " "
		}
		switch rng.IntN(4) {
		case 0:
			q.Verdict = Relevant
		case 1:
			q.Hosts = []string{"host7.test"}
		case 2:
			q.Sort = ByRelevance
		}
		before := processorTime(b)
		found, err := r.Search(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		took, used = append(took, found.Took), append(used, processorTime(b)-before)
	}
	for name, list := range map[string][]time.Duration{"": took, "cpu-": used} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)*95/100].Microseconds())/1000, "p95-"+name+"ms")
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, "p50-"+name+"ms")
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
