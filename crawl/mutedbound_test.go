package crawl

import (
	"fmt"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// Of links that are found in muted places a bounded number is kept, whatever a page leads
// to; those that waited are kept all the same, and one that is there already changes.
func TestMutedIsBounded(t *testing.T) {
	kept := map[string][]byte{}
	s := NewStep(Policy{}, nil, nil)
	s.state = func(name string) ([]byte, error) { return kept[name], nil }
	link := func(i int, priority float64) *web.Candidate {
		u, err := web.Parse(fmt.Sprintf("http://muted.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		return &web.Candidate{URL: u, Priority: priority}
	}
	set := func(i int, priority float64, found bool) (changed bool) {
		if err := s.keepMuted(link(i, priority), found); err != nil {
			t.Fatal(err)
		}
		name := mutedName(hashOf(link(i, 0).URL))
		changed = len(s.fresh[name]) > 0
		for name, b := range s.fresh {
			kept[name] = b
		}
		clear(s.fresh)
		return changed
	}
	if !set(1, .5, true) || set(1, .4, true) || !set(1, .6, true) {
		t.Error("a link found again is not kept with the highest priority")
	}
	s.knownMuted = nil // as in a run that goes on
	if set(1, .5, true) || !set(1, .7, true) {
		t.Error("a link that an earlier run keeps is not known")
	}
	s.count.Muted.Next = mostParts
	if set(2, .5, true) || !set(3, .5, false) || !set(1, .8, true) {
		t.Error("the bound does not hold for links that are found, or holds for others")
	}
}
