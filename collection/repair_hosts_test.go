package collection

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// street is a web of one page that links to forty addresses of the same body, to many
// names of one site, to a host that does not answer, and to one that is slow.
type street struct{ names int }

func (s street) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	took := 100 * time.Millisecond
	if u.Host() == "slow.test" {
		took = 5 * time.Second
	}
	started := time.Now()
	time.Sleep(took)
	var body strings.Builder
	switch {
	case u.Host() == "bees.test" && u.Path() == "/":
		for i := range 40 {
			fmt.Fprintf(&body, `<a href="https://trap.test/item/%d">item</a> `, i)
		}
		for i := range s.names {
			fmt.Fprintf(&body, `<a href="https://n%d.names.test/">name</a> `, i)
		}
		body.WriteString(`<a href="https://down.test/">down</a> <a href="https://slow.test/">slow</a> <a href="https://slow.test/2">slow</a> bees`)
	case u.Host() == "trap.test":
		body.WriteString("the same for all")
	case u.Host() == "slow.test":
		fmt.Fprintf(&body, "slow %s", u.Path())
	case u.Host() == "down.test":
		return nil, &web.Failure{Reason: web.ReasonConnect, Temporary: true}
	default:
		fmt.Fprintf(&body, "the page of %s", u.Host())
	}
	return &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: started, Took: took,
		Header: web.Header{"Content-Type": {"text/html"}}, RequestHead: []byte("GET " + u.Path() + " HTTP/1.1"),
		Body: []byte(body.String()), Raw: []byte(body.String()),
	}, nil
}

// hostsIn are the states of the hosts in the frontier of a folder.
func hostsIn(t *testing.T, dir string) map[web.Host]web.HostState {
	t.Helper()
	f, err := frontier.Open(At(copyOf(t, dir)).FrontierDir(), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hosts := map[web.Host]web.HostState{}
	if err := f.Revise(t.Context(), func(s *web.HostState) { hosts[s.Host] = *s }); err != nil {
		t.Fatal(err)
	}
	return hosts
}

// A repair keeps what is known of hosts. Links that a trap lost are not lost pages,
// and all names of a site that waited wait.
func TestRepairKeepsHosts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	o := StoreOptions{Frontier: frontier.Options{MaxNames: -1}}
	how, err := crawlSite(t, dir, o, func(c *crawl.Crawl) { c.Policy = crawl.Policy{Pages: 30, Delay: time.Second} },
		func(context.CancelFunc) crawl.Fetcher { return street{names: 400} })
	if err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	// Names enough are left over, and the rest of the trap and the down host were met.
	how, err = crawlSite(t, dir, o, func(c *crawl.Crawl) { c.Policy = crawl.Policy{Pages: 80, Delay: time.Second} },
		func(context.CancelFunc) crawl.Fetcher { return street{names: 400} })
	if err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	links, hosts := waitingIn(t, dir), hostsIn(t, dir)
	s, err := At(dir).Summary()
	if err != nil || s.Dropped[web.ReasonTrap] == 0 || hosts["down.test"].Failures == 0 || hosts["slow.test"].Slow == 0 || len(links) < 280 {
		t.Fatalf("the test needs a trap, a host that is down, one that is slow, and links: %v %+v %+v %d %v",
			s.Dropped, hosts["down.test"], hosts["slow.test"], len(links), err)
	}
	for what, damage := range changedDamages(dir) {
		if strings.Contains(what, "earlier time") {
			continue
		}
		t.Run(what, func(t *testing.T) {
			own := copyOf(t, dir)
			if err := damage(own); err != nil {
				t.Fatal(err)
			}
			repairNow(t, own, what)
			if lost, err := At(own).Lost(); err != nil || len(lost) > 0 {
				t.Errorf("lost %v, %v", lost, err)
			}
			if diff := cmp.Diff(links, waitingIn(t, own)); diff != "" {
				t.Errorf("what waits (-before +repaired):\n%s", diff)
			}
			got := hostsIn(t, own)
			if what == "the frontier is missing" || what == "the queue is missing" {
				// What only the frontier knew is lost.
				for name, want := range hosts {
					s := got[name]
					if s.Fetched != want.Fetched || s.Barren != want.Barren || s.Down != want.Down || !s.Since.Equal(want.Since) {
						t.Errorf("%s: %+v, want %+v", name, s, want)
					}
				}
				return
			}
			if diff := cmp.Diff(hosts, got); diff != "" {
				t.Errorf("hosts (-before +repaired):\n%s", diff)
			}
		})
	}
}

// Where the threshold of the judge was changed, harvest.tsv is that of the new one, or,
// until a run ends, of the one before: neither is damage.
func TestHarvestOfAnotherThreshold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	run(t, dir, 2, StoreOptions{})
	before, err := os.ReadFile(At(dir).HarvestFile())
	if err != nil {
		t.Fatal(err)
	}
	_, err = crawlSite(t, dir, StoreOptions{}, func(c *crawl.Crawl) {
		c.Changes.Settings = []event.Changed{{Setting: event.SettingThreshold, Old: "0.25", New: "0.9"}}
	}, func(stop context.CancelFunc) crawl.Fetcher { return &site{map[string]int{}, stop, 0} })
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(At(dir).HarvestFile())
	if err != nil {
		t.Fatal(err)
	}
	if string(after) == string(before) || len(before) < 60 {
		t.Fatalf("the threshold makes no difference:\n%s\n%s", before, after)
	}
	check := func(when string, whole bool) {
		t.Helper()
		v, err := At(dir).Verify(t.Context(), nil)
		if err != nil || v.Whole != whole || v.Harvest != strings.Count(string(after), "\n")-1 {
			t.Errorf("%s: %v, %d pages, %v, %v", when, v.Whole, v.Harvest, v.Damage, err)
		}
	}
	check("after the run", true)
	if err := os.WriteFile(At(dir).HarvestFile(), before, 0o644); err != nil {
		t.Fatal(err)
	}
	check("as if the run had died", true)
	if err := os.WriteFile(At(dir).HarvestFile(), append(before, before...), 0o644); err != nil {
		t.Fatal(err)
	}
	check("damaged", false)
	repairNow(t, dir, "damaged")
	check("repaired", true)
	if b, err := os.ReadFile(At(dir).HarvestFile()); err != nil || string(b) != string(after) {
		t.Errorf("repaired to %v\n%s", err, b)
	}
}

// A run that begins while the crawl is verified is no damage.
func TestVerifyWhileARunBegins(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	run(t, dir, 2, StoreOptions{})
	begun := false
	v, err := At(dir).Verify(t.Context(), func(of string, _, _ int64) {
		if of == "archive" && !begun {
			begun = true
			run(t, dir, 0, StoreOptions{})
		}
	})
	if err != nil || !v.Whole || !v.Running || !begun {
		t.Errorf("whole %v, running %v, %v, %v", v.Whole, v.Running, v.Damage, err)
	}
}
