package corpus

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// listing is a web of eight pages of which one is gone and one has moved.
func listing(t *testing.T) Made {
	t.Helper()
	return Made{
		Manifest: Manifest{Name: "w", Topics: []Topic{{Name: "own", Seeds: []web.URL{mustParse(t, "http://a.example/0")}}}},
		Pages: func(yield func(*web.Response, error) bool) {
			for i := range 8 {
				body := fmt.Appendf(nil, "<title>%d</title>", i)
				r := &web.Response{
					URL: mustParse(t, fmt.Sprintf("http://a.example/%d", i)), Status: 200, Header: web.Header{"Content-Type": {"text/html"}},
					Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), Body: body, Raw: body,
				}
				switch i {
				case 6:
					r.Status, r.Head = 404, []byte("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n")
				case 7:
					r.Status, r.Head = 301, []byte("HTTP/1.1 301 Moved Permanently\r\nLocation: http://a.example/5\r\n")
				}
				if !yield(r, nil) {
					return
				}
			}
		},
	}
}

func mustParse(t *testing.T, s string) web.URL {
	t.Helper()
	u, err := web.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// page is what a directory lists.
func page(address, title, description string) ListedPage {
	return ListedPage{Address: address, Title: title, Description: description}
}

// TestListed builds a web with topics of a directory: half of the recorded pages of a topic
// are shown, all of them count, and topics of few recorded pages are left out.
func TestListed(t *testing.T) {
	folk := ListedTopic{Name: "Arts-Folk", Keywords: []string{"Arts", "Folk"}}
	for i := range 9 { // 6 is gone, 7 is 5, and 8 is not recorded
		folk.Pages = append(folk.Pages, page(fmt.Sprintf("http://A.example/%d#top", i), fmt.Sprint("title ", i), "what an editor wrote"))
	}
	folk.Pages = append(folk.Pages, page("mailto:a@a.example", "", ""))
	rare := ListedTopic{Name: "rare", Pages: folk.Pages[:3]}
	src := Listed{Of: listing(t), Topics: []ListedTopic{folk, rare}}
	dir := filepath.Join(t.TempDir(), "w")
	built, err := Build(t.Context(), dir, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(w.Topics) != 2 || w.Topics[0].Name != "own" {
		t.Fatalf("topics %+v", w.Topics)
	}
	if want := "topic rare: 3 of the 3 pages that are listed are recorded: it is left out, as it takes 4"; !slices.Contains(built.Notes, want) {
		t.Errorf("notes %q, not %q", built.Notes, want)
	}
	got := w.Topics[1]
	if len(got.Seeds) != 3 || !slices.Equal(got.Seeds, got.Examples) || got.Relevant != 6 || !slices.Equal(got.Keywords, folk.Keywords) {
		t.Errorf("topic %+v", got)
	}
	if strings.Count(got.Description, "title ") != 3 || strings.Count(got.Description, "what an editor wrote") != 1 {
		t.Errorf("description %q", got.Description)
	}
	truth, err := w.Truth(got.Name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		if u := mustParse(t, fmt.Sprintf("http://a.example/%d", i)); truth[u] != (i < 6) {
			t.Errorf("%s counts: %v", u, truth[u])
		}
	}
	slices.Reverse(folk.Pages)
	src.Topics = []ListedTopic{folk}
	other := filepath.Join(t.TempDir(), "w")
	if built, err = Build(t.Context(), other, src, Options{}); err != nil || !slices.Equal(built.Manifest.Topics[1].Seeds, got.Seeds) {
		t.Errorf("listed in another order: seeds %v and %v, %v", built.Manifest.Topics[1].Seeds, got.Seeds, err)
	}
}

// What cannot become topics is an error that says why, and leaves nothing behind.
func TestListedWrong(t *testing.T) {
	all := func(name string) ListedTopic {
		x := ListedTopic{Name: name}
		for i := range 6 {
			x.Pages = append(x.Pages, page(fmt.Sprintf("http://a.example/%d", i), "", ""))
		}
		return x
	}
	for _, c := range []struct {
		topics []ListedTopic
		want   string
	}{
		{[]ListedTopic{{Name: "rare", Pages: all("").Pages[:2]}}, "no topic of the directory has 4 pages that are recorded"},
		{[]ListedTopic{all("own")}, "the topic own of the directory has the name of one that is there"},
		{[]ListedTopic{all("a b"), all("a-b")}, `the topics "a b" and "a-b" would share the file truth/a-b.txt`},
	} {
		dir := filepath.Join(t.TempDir(), "w")
		if _, err := Build(t.Context(), dir, Listed{Of: listing(t), Topics: c.topics}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %q", err, c.want)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
