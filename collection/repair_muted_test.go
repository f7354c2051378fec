package collection

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// actsOf tells a crawl acts, each once it was asked so often.
type actsOf struct {
	acts  []event.Act
	asked int
}

func (a *actsOf) After(n int) ([]event.Act, error) {
	if a.asked++; a.asked < 3 || n >= len(a.acts) {
		return nil, nil
	}
	return a.acts[n : n+1], nil
}

// mutedIn are the addresses of the muted links that the frontier of a crawl keeps.
func mutedIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	r, err := frontier.Examine(At(dir).FrontierDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for c, err := range crawl.Muted(r.State) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.URL.String())
	}
	return out
}

// What a crawl keeps of a muted place is kept by a repair, or waits after it: the next
// run takes it out again, and none of it is lost.
func TestRepairMuted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	pages := 1
	change := func(c *crawl.Crawl) {
		c.Policy = crawl.Policy{Pages: pages}
		if pages > 1 {
			c.Acts = &actsOf{acts: []event.Act{{Do: event.Mute, Place: "names.test"}}}
		}
		c.Look = func(context.Context, web.URL) (*web.Page, error) { return nil, nil }
	}
	o := StoreOptions{Frontier: frontier.Options{MaxNames: -1}}
	run := func() {
		if how, err := crawlSite(t, dir, o, change, func(context.CancelFunc) crawl.Fetcher { return street{names: 10} }); err != nil {
			t.Fatal(how, err)
		}
	}
	run()
	before := copyOf(t, dir)
	pages = 6
	run()
	muted := mutedIn(t, dir)
	if len(muted) == 0 {
		t.Fatal("the test needs links of a muted place")
	}
	kept := func(dir string) []string {
		all := append(mutedIn(t, dir), waitingIn(t, dir)...)
		slices.Sort(all)
		return slices.Compact(all)
	}
	want := kept(dir)
	for what, damage := range changedDamages(before) {
		own := copyOf(t, dir)
		if err := damage(own); err != nil {
			t.Fatal(err)
		}
		repairNow(t, own, what)
		if diff := cmp.Diff(want, kept(own)); diff != "" {
			t.Errorf("%s: what waits or is muted (-before +repaired):\n%s", what, diff)
		}
	}
}
