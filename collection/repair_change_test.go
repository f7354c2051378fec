package collection

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// meadowRun is a run of a crawl of the meadow that is told something else than the
// one before.
type meadowRun struct {
	requests int // after which it is stopped; 0 = it fetches nothing
	policy   crawl.Policy
	seeds    []int
	changes  crawl.Changes
	setting  string // that is changed, "" if none is
	value    string // its new one
}

// run runs it in the folder dir.
func (r meadowRun) run(t *testing.T, m *meadow, dir string) {
	t.Helper()
	requests := r.requests
	synctest.Test(t, func(t *testing.T) {
		_, err := m.crawl(t, dir, StoreOptions{}, requests, func(c *crawl.Crawl) {
			r.policy.Backoff, r.policy.MaxFailures = c.Policy.Backoff, c.Policy.MaxFailures
			if r.requests == 0 {
				r.policy.Pages = 1
			}
			c.Policy, c.Seeds, c.Changes = r.policy, nil, r.changes
			for _, i := range r.seeds {
				u, err := web.Parse(m.address(i))
				if err != nil {
					t.Fatal(err)
				}
				c.Seeds = append(c.Seeds, u)
			}
			if r.setting != "" {
				c.Changes.Settings = []event.Changed{{Setting: r.setting, Old: "old", New: r.value}}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// waitingIn are the links that wait in the frontier of a folder.
func waitingIn(t *testing.T, dir string) (links []string) {
	t.Helper()
	f, err := frontier.Open(At(copyOf(t, dir)).FrontierDir(), frontier.Options{MaxPerHost: -1, MaxNames: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &repair{ctx: t.Context(), front: f}
	if err := r.eachWaiting(func(c *web.Candidate) { links = append(links, c.URL.String()) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(links)
	return links
}

// outcomesIn are the addresses of which the log of a folder tells the outcome.
func outcomesIn(t *testing.T, dir string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for e, err := range At(dir).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := e.(event.Failed); ok && f.Retry {
			continue
		}
		if u := visited(e); !u.IsZero() {
			out[u.String()]++
		}
	}
	return out
}

// A crawl that was told otherwise, more than once, is repaired to what it was: the
// links that wait are those that waited, whichever of its stores is damaged, and it
// goes on to the same end.
func TestRepairOfAChangedCrawl(t *testing.T) {
	t.Parallel()
	all := crawl.Policy{}
	some := crawl.Policy{Scope: crawl.Scope{Exclude: []*regexp.Regexp{regexp.MustCompile("/[0-9]*[13]$")}}}
	links := crawl.Changes{Links: true}
	first := meadowRun{requests: 40, policy: all, seeds: []int{0, 7}} // 7 is gone
	stories := map[string][]meadowRun{
		"a narrower scope": {first, {policy: some, seeds: []int{0, 7}, changes: links, setting: "scope.exclude"}},
		"a wider scope": {
			{requests: 40, policy: some, seeds: []int{0}},
			{requests: 30, policy: all, seeds: []int{0}, changes: links, setting: "scope.exclude"},
		},
		"a narrower scope, then a wider one": {
			first,
			{policy: some, seeds: []int{0, 7}, changes: links, setting: "scope.exclude"},
			{requests: 30, policy: all, seeds: []int{0, 7}, changes: links, setting: "scope.exclude"},
		},
		"a seed that failed is tried again": {
			first,
			{policy: all, seeds: []int{0, 7, 30}, changes: crawl.Changes{Seeds: true}, setting: "seeds"},
		},
		"a seed that failed again": {
			first,
			{requests: 20, policy: all, seeds: []int{0, 7, 30}, changes: crawl.Changes{Seeds: true}, setting: "seeds"},
		},
		"hosts have had their share, and have more to give": {
			first,
			{policy: crawl.Policy{MaxHostPages: 6}, seeds: []int{0, 7}, changes: crawl.Changes{Shares: true}, setting: event.SettingHostPages, value: "6"},
			{requests: 8, policy: all, seeds: []int{0, 7}, changes: crawl.Changes{Shares: true}, setting: event.SettingHostPages},
		},
	}
	names := slices.Sorted(maps.Keys(stories))
	for _, name := range names[:long.Of(3, len(names))] {
		t.Run(name, func(t *testing.T) {
			m := &meadow{n: 100, asked: map[string]int{}}
			dir := filepath.Join(t.TempDir(), "c")
			var before string // the folder before the last run
			for i, r := range stories[name] {
				if i > 0 {
					before = copyOf(t, dir)
				}
				r.run(t, m, dir)
			}
			last := stories[name][len(stories[name])-1]
			last.requests, last.changes, last.setting = 1000, crawl.Changes{}, ""
			if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Fatalf("undamaged: %v, %v", v.Damage, err)
			}
			want := waitingIn(t, dir)
			acked := acknowledged(t, dir)
			undisturbed := copyOf(t, dir)
			last.run(t, &meadow{n: m.n, asked: maps.Clone(m.asked)}, undisturbed)
			end := outcomesIn(t, undisturbed)
			for what, damage := range changedDamages(before) {
				t.Run(what, func(t *testing.T) {
					own := copyOf(t, dir)
					if err := damage(own); err != nil {
						t.Fatal(err)
					}
					repairNow(t, own, what)
					if v, err := At(own).Verify(t.Context(), nil); err != nil || !v.Whole {
						t.Errorf("after the repair: %v, %v", v.Damage, err)
					}
					lost, err := At(own).Lost()
					if err != nil || len(lost) > 0 {
						t.Errorf("lost %v, %v", lost, err)
					}
					got := waitingIn(t, own)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("what waits (-before +repaired):\n%s", diff)
					}
					fresh := &meadow{n: m.n, asked: maps.Clone(m.asked), acked: acked}
					last.run(t, fresh, own)
					if diff := cmp.Diff(end, outcomesIn(t, own)); diff != "" {
						t.Errorf("in the end (-undisturbed +repaired):\n%s", diff)
					}
				})
			}
		})
	}
}

// changedDamages are ways to damage the folder of a crawl, with the folder as it was
// before its last run.
func changedDamages(before string) map[string]func(dir string) error {
	return map[string]func(dir string) error{
		"the frontier is missing": func(dir string) error { return os.RemoveAll(At(dir).FrontierDir()) },
		"the queue is missing":    func(dir string) error { return os.RemoveAll(filepath.Join(At(dir).FrontierDir(), "queue")) },
		"the seen-set is missing": func(dir string) error {
			names, err := filepath.Glob(filepath.Join(At(dir).FrontierDir(), "ledger-*"))
			for _, n := range names {
				err = errors.Join(err, os.Remove(n))
			}
			return err
		},
		"a line of the log is damaged": func(dir string) error {
			b, err := os.ReadFile(At(dir).EventLog())
			if err != nil {
				return err
			}
			b[slices.Index(b, '\n')-20] ^= 1 // the first: what the crawl was told
			return os.WriteFile(At(dir).EventLog(), b, 0o644)
		},
		"the frontier is that of an earlier time": func(dir string) error {
			if err := os.RemoveAll(At(dir).FrontierDir()); err != nil {
				return err
			}
			return os.CopyFS(At(dir).FrontierDir(), os.DirFS(At(before).FrontierDir()))
		},
	}
}

// A run that changes the seeds may die at any moment: what it leaves is whole, also
// where a seed that failed is about to enter once more.
func TestKilledWhileSeedsChange(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 100, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	meadowRun{requests: 40, seeds: []int{0, 7}}.run(t, m, dir) // 7 is gone
	var left []string
	take := func() { left = append(left, copyOf(t, dir)) }
	synctest.Test(t, func(t *testing.T) {
		_, err := m.crawl(t, dir, StoreOptions{}, 10, func(c *crawl.Crawl) {
			for _, i := range []int{7, 30, 31} {
				u, err := web.Parse(m.address(i))
				if err != nil {
					t.Fatal(err)
				}
				c.Seeds = append(c.Seeds, u)
			}
			c.Changes = crawl.Changes{Seeds: true, Settings: []event.Changed{{Setting: "seeds", Old: "old", New: "new"}}}
			c.Frontier, c.Archive, c.Log = snapFrontier{c.Frontier, take}, snapArchive{c.Archive, take}, snapLog{c.Log, take}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if len(left) < 20 {
		t.Fatalf("%d copies were taken", len(left))
	}
	for i, dir := range left {
		if v, err := At(dir).Verify(t.Context(), nil); err != nil || !v.Whole {
			t.Errorf("copy %d of %d: %v, %v", i, len(left), v.Damage, err)
		}
	}
}
