package feature_test

import (
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/web"
)

// Tokens of pages and links, with the paper's own example of an address.
func TestTokensOfPagesAndLinks(t *testing.T) {
	u, err := web.Parse("http://www-2.cs.cmu.edu/~svc/papers/view-publications-ck12004.html")
	if err != nil {
		t.Fatal(err)
	}
	l := &web.Link{URL: u, Anchor: "My (recent) Papers", Before: "see", After: "of 2004."}
	want := []string{
		"link:my", "link:recent", "link:papers", "link:see", "link:of", "link:2004",
		"link:~svc", "link:~", "link:papers", "link:view", "link:publications", "link:ck12004", "link:html",
	}
	if got := feature.TrailTokens(nil, l, false); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	want = []string{
		"anchor:my", "anchor:recent", "anchor:papers", "around:see", "around:of", "around:2004",
		"url:~svc", "url:~", "url:papers", "url:view", "url:publications", "url:ck12004", "url:html",
	}
	if got := feature.TrailTokens(nil, l, true); !slices.Equal(got, want) {
		t.Errorf("tagged: %q\nwant %q", got, want)
	}
	p := &web.Page{Title: "Faculty, Staff", Leaves: []web.Leaf{{Text: "Our  people -- all"}, {}, {Text: "of them"}}}
	for n, want := range map[int][]string{
		0: nil,
		3: {"page:faculty", "page:staff", "page:our"},
		9: {"page:faculty", "page:staff", "page:our", "page:people", "page:all", "page:of", "page:them"},
	} {
		if got := feature.PageTokens(nil, p, n, false); !slices.Equal(got, want) {
			t.Errorf("%d tokens: %q", n, got)
		}
	}
	p.Description, p.Keywords = "Who works here", "staff, people"
	for n, want := range map[int][]string{
		3: {"page:faculty", "page:staff", "page:who"},
		8: {"page:faculty", "page:staff", "page:who", "page:works", "page:here", "page:staff", "page:people", "page:our"},
	} {
		if got := feature.PageTokens(nil, p, n, true); !slices.Equal(got, want) {
			t.Errorf("%d tokens with meta elements: %q", n, got)
		}
	}
}
