package frontier_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/web"
)

// TestDiskNotKept is TestDisk where no links are kept, and TestDiskHardlyKept where they are for a while,
// and no moves are listed for long.
func TestDiskNotKept(t *testing.T) {
	onDisk(t, func(o frontiertest.Options) frontier.Options { return frontier.Kept(options(o), -1, 0) })
}

func TestDiskHardlyKept(t *testing.T) {
	onDisk(t, func(o frontiertest.Options) frontier.Options { return frontier.Kept(options(o), 16<<10, 3) })
}

// score is what a scorer of no memory makes of a link in a round: most move.
func score(c *web.Candidate, round int) float64 {
	return float64((len(c.URL.String())*31 + int(c.URL.String()[len(c.URL.String())-1])*17 + round*13) % 23)
}

// leases drains a frontier.
func leases(t *testing.T, f *frontier.Frontier) (order []string) {
	t.Helper()
	for {
		out, err := f.Lease(t.Context(), frontiertest.Start, 3, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) == 0 {
			return order
		}
		var turn web.Turn
		for _, l := range out {
			order = append(order, fmt.Sprint(l.URL, l.Priority, l.Features, l.Memory))
			turn.Done = append(turn.Done, l.URL)
		}
		if _, err := f.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
}

// Where a process dies whose frontier keeps links, what is opened has each where it had moved to and as it
// was revised, as has what is rebuilt; nothing is wrong with the files, and once closed there is no list.
func TestKilledWhileKept(t *testing.T) {
	ctx := t.Context()
	for _, x := range []struct {
		name         string
		bytes, moves int
		keeps        bool // in the end
	}{
		{"kept", 0, 0, true},
		{"few moves are listed", 0, 100, true},
		{"too many links", 200 << 10, 0, false},
		{"not kept", -1, 0, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			opts := frontier.Kept(frontier.FewHosts(frontier.Options{}, 2), x.bytes, x.moves)
			f, err := frontier.OpenOn(disk, dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			memory := frontier.NewMemory(opts)
			r := rand.New(rand.NewPCG(5, 5))
			var from [2][]byte
			var out []web.Lease
			lists, kept := 0, false
			for round := range 24 {
				turn := adding(t, round%4, 10*round+10)
				for i := range turn.Add {
					turn.Add[i].Features = []byte{byte(i), byte(i >> 8)}
				}
				for _, l := range out {
					turn.Done = append(turn.Done, l.URL)
				}
				n := 20 + r.IntN(200)
				for i, f := range []*frontier.Frontier{f, memory} {
					if _, err := f.Commit(ctx, turn); err != nil {
						t.Fatal(err)
					}
					if round%3 > 0 { // what is scored before is not revised
						f.Prescore(n, func(c *web.Candidate) float64 { return score(c, round) })()
					}
					from[i], err = f.Rescore(ctx, from[i], n, func(c *web.Candidate) float64 {
						if round%3 == 0 {
							c.Memory = append(slices.Clip(c.Memory), byte(round))
						}
						return score(c, round)
					})
					if err != nil {
						t.Fatal(err)
					}
					out, err = f.Lease(ctx, frontiertest.Start, 2, 0, func(c *web.Candidate) float64 { return score(c, round+1) })
					if err != nil {
						t.Fatal(err)
					}
				}
				if string(from[0]) != string(from[1]) {
					t.Fatalf("round %d: the places are %x and %x", round, from[0], from[1])
				}
				// So that moves are handed to the operating system, too.
				if _, err := f.Commit(ctx, web.Turn{State: map[string][]byte{"round": {byte(round)}}}); err != nil {
					t.Fatal(err)
				}
				keeps, listed := frontier.Keeps(f)
				kept = kept || keeps
				if listed > 0 {
					lists++
				}
				if round%6 != 5 {
					continue
				}
				died := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r})
				remains, err := frontier.ExamineOn(died, dir)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := remains.Check(ctx, nil); err != nil || len(remains.Damage()) > 0 || remains.Listed() != listed {
					t.Errorf("round %d: %v, damage %v, %d moves listed and not %d", round, err, remains.Damage(), remains.Listed(), listed)
				}
				if err := remains.Close(); err != nil {
					t.Fatal(err)
				}
				if _, damage, err := frontier.RebuildOn(ctx, died, dir, "new/frontier"); err != nil || len(damage) > 0 {
					t.Fatal(damage, err)
				}
				var orders [2][]string
				for i, place := range []string{dir, "new/frontier"} {
					again, err := frontier.OpenOn(died, place, opts)
					if err != nil {
						t.Fatal(err)
					}
					orders[i] = leases(t, again)
					if err := again.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Equal(orders[0], orders[1]) {
					t.Errorf("round %d: opened\n%s\nand rebuilt\n%s", round, orders[0], orders[1])
				}
			}
			if keeps, _ := frontier.Keeps(f); keeps != x.keeps || kept != (x.bytes >= 0) || (lists > 0) != (x.bytes >= 0) {
				t.Errorf("in the end it keeps links: %t; before: %t; %d times moves were listed", keeps, kept, lists)
			}
			// Memory does not forget its leases: both put them back.
			var back web.Turn
			for _, l := range out {
				back.Retry = append(back.Retry, l.Candidate)
			}
			for _, f := range []*frontier.Frontier{f, memory} {
				if _, err := f.Commit(ctx, back); err != nil {
					t.Fatal(err)
				}
			}
			died := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: r})
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			want := leases(t, memory)
			for _, fs := range []vfs.FS{died, disk} {
				remains, err := frontier.ExamineOn(fs, dir)
				if err != nil || fs == disk && remains.Listed() > 0 {
					t.Fatal(remains, err)
				}
				if err := remains.Close(); err != nil {
					t.Fatal(err)
				}
				again, err := frontier.OpenOn(fs, dir, opts)
				if err != nil {
					t.Fatal(err)
				}
				if got := leases(t, again); !slices.Equal(got, want) {
					t.Errorf("it gives\n%s\nand not\n%s", got, want)
				}
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Once links are kept no more, as they became too many, each host gives its best link first and all that it
// has, whatever enters afterwards: what is known of the ends of its queue goes with the links.
func TestKeptNoMore(t *testing.T) {
	ctx := t.Context()
	opts := frontier.Kept(frontier.Options{}, 16<<10, 0)
	f, err := frontier.OpenOn(vfs.NewMem(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory := frontier.NewMemory(opts)
	link := func(host string, n int, priority float64) web.Candidate {
		u, err := web.Parse(fmt.Sprintf("https://%s.example/%d", host, n))
		if err != nil {
			t.Fatal(err)
		}
		return web.Candidate{URL: u, Priority: priority}
	}
	both := func(add ...web.Candidate) {
		for _, q := range []*frontier.Frontier{f, memory} {
			if _, err := q.Commit(ctx, web.Turn{Add: add}); err != nil {
				t.Fatal(err)
			}
		}
	}
	both(link("a", 1, .9), link("a", 2, .8))
	if _, err := f.Rescore(ctx, nil, 100, func(c *web.Candidate) float64 { return c.Priority }); err != nil {
		t.Fatal(err)
	}
	if keeps, _ := frontier.Keeps(f); !keeps {
		t.Fatal("no links are kept")
	}
	for n := 0; ; n++ {
		if keeps, _ := frontier.Keeps(f); !keeps {
			break
		}
		both(link("b", n, .1))
	}
	both(link("a", 3, .5))
	if got, want := leases(t, f), leases(t, memory); !slices.Equal(got, want) {
		t.Errorf("leased %v\nwant %v", got[:min(8, len(got))], want[:min(8, len(want))])
	}
}
