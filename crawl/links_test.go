package crawl

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// Links that never enter take no place of a bounded queue, or of the names of a site, from those that may.
func TestRefusedLinksTakeNoPlace(t *testing.T) {
	six := func(form string) (links []string) {
		for i := range 6 {
			links = append(links, fmt.Sprintf(form, i))
		}
		return links
	}
	for _, c := range []struct {
		name  string
		links []string
		opts  frontier.Options
		want  []string
	}{
		{"files", append(six("a.test/%d.jpg"), "a.test/next.html"), frontier.Options{MaxPerHost: 5}, []string{"http://a.test/next.html"}},
		{"hosts of others", append(six("n%d.site.test/"), "own.site.test/"), frontier.Options{MaxNames: 5}, []string{"http://own.site.test/"}},
		{"more than have a place", append(six("a.test/%d.jpg"), six("a.test/%d")...), frontier.Options{MaxPerHost: 2}, []string{"http://a.test/0", "http://a.test/1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := frontier.NewMemory(c.opts)
			defer f.Close()
			s := NewStep(Policy{MaxDepth: 5}, anchorScorer{}, nil)
			s.sharing = &peerState{owns: func(h web.Host) bool { return h == "a.test" || h == "own.site.test" }, sent: map[uint64]float32{}}
			var found []link
			for _, l := range c.links {
				u, err := web.Parse("http://" + l)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, link{Candidate: web.Candidate{URL: u, Kind: web.LinkA, Priority: .5}})
			}
			preview := func(asked []web.Candidate) ([]web.Admission, error) { return f.Preview(t.Context(), nil, asked) }
			_, _, turn, err := s.admit(found, nil, preview)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range turn.Add {
				got = append(got, l.URL.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v enter, want %v", got, c.want)
			}
			receipt, err := f.Commit(t.Context(), turn)
			if err != nil || slices.ContainsFunc(receipt.Added, func(a web.Admission) bool { return a != web.Queued }) {
				t.Errorf("what was to enter was %v, %v", receipt.Added, err)
			}
		})
	}
}
