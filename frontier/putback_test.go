package frontier_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// A process that dies between a lease and the turn that ends it leases the same link after its
// restart, however many of those that late re-scoring put back are on disk: 8 are looked at
// for one lease, before and after the restart together.
func TestKilledAfterLease(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var turn web.Turn
	fall := map[web.URL]float64{}
	for i := range 30 { // the first sink lowest, but for the one at place 11
		u, err := web.Parse(fmt.Sprintf("http://h%d.example/", i))
		if err != nil {
			t.Fatal(err)
		}
		turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: 10 - float64(i)/100})
		fall[u] = float64(i) / 10
		if i == 11 {
			fall[u] = 9.5
		}
	}
	rescore := func(c *web.Candidate) float64 { return fall[c.URL] }
	lease := func(f *frontier.Frontier) (out []web.URL) {
		for range 3 {
			leases, err := f.Lease(t.Context(), now, 1, 0, rescore)
			if err != nil || len(leases) != 1 {
				t.Fatalf("%d leases, %v", len(leases), err)
			}
			out = append(out, leases[0].URL)
			if _, err := f.Commit(t.Context(), web.Turn{Done: []web.URL{leases[0].URL}}); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}

	disk := vfs.NewCrashableMem()
	var taken []*vfs.MemFS
	var mu sync.Mutex
	leasing := false
	r := rand.New(rand.NewPCG(1, 1))
	watch := errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if leasing && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			taken = append(taken, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}))
		}
		return nil
	})
	f, err := frontier.OpenOn(errorfs.Wrap(disk, watch), dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	during := func(is bool) {
		mu.Lock()
		defer mu.Unlock()
		leasing = is
	}
	during(true)
	if _, err := f.Lease(t.Context(), now, 1, 0, rescore); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	during(false)
	taken = append(taken, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r}))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if len(taken) < 8 {
		t.Fatalf("%d writes while a lease was given", len(taken))
	}

	undisturbed, err := frontier.OpenOn(vfs.NewCrashableMem(), dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer undisturbed.Close()
	if _, err := undisturbed.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	want := lease(undisturbed)
	for i, fs := range taken {
		f, err := frontier.OpenOn(fs, dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := lease(f); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("killed at write %d of %d: %s are leased, and %s without", i, len(taken), got, want)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A Lease without a rescore gives the best link after a restart, whatever one with a rescore had
// looked at and put back before.
func TestPlainLeaseAfterPutBack(t *testing.T) {
	fs := vfs.NewMem()
	f, err := frontier.OpenOn(fs, dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var turn web.Turn
	for i := range 12 {
		u, err := web.Parse(fmt.Sprintf("http://h%d.example/", i))
		if err != nil {
			t.Fatal(err)
		}
		turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: 10 - float64(i)})
	}
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	leases, err := f.Lease(t.Context(), now, 1, 1, func(c *web.Candidate) float64 { return c.Priority - 20 })
	if err != nil || len(leases) != 0 {
		t.Fatalf("leased %v, of 8 that sank below the others, %v", leases, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = frontier.OpenOn(fs, dir, frontier.Options{}); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	leases, err = f.Lease(t.Context(), now, 1, 1, nil)
	if err != nil || len(leases) != 1 || leases[0].URL.Host() != "h8.example" {
		t.Errorf("leased %v, want the best of those that were not looked at: %v", leases, err)
	}
}
