package frontier_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/web"
)

// A frontier that was opened anew gives out the best link of each of 100 hosts, and then the next best of each. It
// reads them 32 hosts at a time, whether one link is asked for at a time or all.
func TestReadNext(t *testing.T) {
	const hosts, atATime = 100, 32
	for _, n := range []int{1, hosts} {
		fs := vfs.NewMem()
		f, err := frontier.OpenOn(fs, dir, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range hosts {
			if _, err := f.Commit(t.Context(), adding(t, i, 4)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = frontier.OpenOn(fs, dir, frontier.Options{}); err != nil {
			t.Fatal(err)
		}
		reads := frontier.CountReads(f)
		now := frontiertest.Start
		for round := range 2 {
			var out []web.Lease
			for len(out) < hosts {
				more, err := f.Lease(t.Context(), now, n, 0, nil)
				if err != nil || len(more) == 0 {
					t.Fatalf("round %d: %d links, and then %d, %v", round, len(out), len(more), err)
				}
				out = append(out, more...)
			}
			var turn web.Turn
			for i, l := range out {
				if want := adding(t, hosts-1-i, 4).Add[0]; l.URL.Host() != want.URL.Host() || l.Priority != want.Priority || string(l.Features) != string(want.Features) {
					t.Errorf("round %d: link %d is %s of priority %v, want one of %s of %v", round, i, l.URL, l.Priority, want.URL.Host(), want.Priority)
				}
				turn.Done = append(turn.Done, l.URL)
				host := l.Host
				host.Fetched++
				host.Due = now.Add(time.Second)
				turn.Hosts = append(turn.Hosts, host)
			}
			if _, err := f.Commit(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
		}
		want := frontier.Reads{Links: (hosts + atATime - 1) / atATime, LinkHosts: hosts, Keys: (hosts + atATime - 1) / atATime, KeyHosts: hosts}
		if *reads != want {
			t.Errorf("%d links at a time: what was read is %+v, want %+v", n, *reads, want)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
