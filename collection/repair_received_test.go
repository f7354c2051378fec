package collection

import (
	"context"
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

// sendingPeers are other workers that send links of two of their pages in one mail, and
// are not heard of again.
type sendingPeers struct {
	links []web.Candidate
	sent  bool
}

func (p *sendingPeers) Owns(web.Host) bool                                { return true }
func (p *sendingPeers) Send(context.Context, crawl.Mail, *web.Turn) error { return nil }
func (p *sendingPeers) Arrived() <-chan struct{}                          { return nil }
func (p *sendingPeers) Tell(time.Time, bool, func() crawl.Standing)       {}
func (p *sendingPeers) Others() (crawl.Standing, int)                     { return crawl.Standing{}, 0 }
func (p *sendingPeers) Idle() bool                                        { return true }
func (p *sendingPeers) Receive(context.Context) (m crawl.Mail, err error) {
	if !p.sent {
		m.Links, p.sent = p.links, true
	}
	return m, nil
}

// Links that came from other workers are repaired as those of pages. A crawl that is killed
// while it takes in those of several pages has one turn behind its marks.
func TestRepairReceived(t *testing.T) {
	t.Parallel()
	dir, killed := filepath.Join(t.TempDir(), "c"), ""
	at := func(s string) web.URL {
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	peers := &sendingPeers{}
	for _, s := range []string{"https://n1.names.test/a", "https://n2.names.test/b"} {
		peers.links = append(peers.links, web.Candidate{URL: at(s), From: at("https://elsewhere.test" + at(s).Path()), Kind: web.LinkA, Depth: 3, Priority: 1})
	}
	copied := func() string { return copyOf(t, dir) } // of this test, which outlives the bubble
	change := func(c *crawl.Crawl) {
		c.Policy = crawl.Policy{Pages: 1, Delay: time.Second}
		c.Peers = peers
		c.Log = snapLog{c.Log, func() {
			if peers.sent && killed == "" {
				killed = copied()
			}
		}}
	}
	o := StoreOptions{Frontier: frontier.Options{MaxNames: -1}}
	how, err := crawlSite(t, dir, o, change, func(context.CancelFunc) crawl.Fetcher { return street{names: 10} })
	if err != nil || how != event.BudgetSpent {
		t.Fatal(how, err)
	}
	received := 0
	for e, err := range At(dir).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(event.Received); ok {
			received++
		}
	}
	links := waitingIn(t, dir)
	if received != 2 || !strings.Contains(strings.Join(links, " "), peers.links[1].URL.String()) {
		t.Fatalf("the test needs links of two pages of others, and not %d: %v", received, links)
	}
	for what, damage := range changedDamages(dir) {
		if strings.Contains(what, "earlier time") {
			continue
		}
		own := copyOf(t, dir)
		if err := damage(own); err != nil {
			t.Fatal(err)
		}
		repairNow(t, own, what)
		if diff := cmp.Diff(links, waitingIn(t, own)); diff != "" {
			t.Errorf("%s: what waits (-before +repaired):\n%s", what, diff)
		}
	}
	v, err := At(killed).Verify(t.Context(), nil)
	if err != nil || len(v.Damage) > 0 {
		t.Errorf("killed while it took in links: %v %v", v, err)
	}
	if how, err = crawlSite(t, killed, o, change, func(context.CancelFunc) crawl.Fetcher { return street{names: 10} }); err != nil || how != event.BudgetSpent {
		t.Errorf("killed while it took in links, and begun again: %v %v", how, err)
	}
}
