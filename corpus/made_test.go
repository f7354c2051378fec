package corpus

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// yielding yields pages with the given addresses, and then an error unless it
// is nil.
func yielding(t testing.TB, fail error, addresses ...string) iter.Seq2[*web.Response, error] {
	return func(yield func(*web.Response, error) bool) {
		for _, u := range urls(t, addresses...) {
			r := &web.Response{
				URL: u, Started: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Status: 200,
				Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html"), Raw: []byte("<title>made</title>"),
			}
			if !yield(r, nil) {
				return
			}
		}
		if fail != nil {
			yield(nil, fail)
		}
	}
}

// TestMade: pages that come from code are recorded with their topics and
// truth, and the web says of itself what the code says of it.
func TestMade(t *testing.T) {
	src := Made{
		Manifest: Manifest{Name: "hive", Synthetic: true, Topics: []Topic{
			{Name: "honey bees", Seeds: urls(t, "http://a.example/"), Truth: "../elsewhere", Relevant: 99}, {Name: "wasps"},
		}},
		Truth: map[string][]web.URL{"honey bees": urls(t, "http://a.example/1", "http://a.example/1", "http://a.example/gone")},
		Pages: yielding(t, nil, "http://a.example/", "http://a.example/1"),
		Date:  time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC),
	}
	w, built := build(t, src)
	if w.Name != "hive" || !w.Synthetic || w.Count() != (Count{Pages: 2, Hosts: 1}) {
		t.Errorf("%+v, %+v", w.Manifest, w.Count())
	}
	bees, wasps := w.Topics[0], w.Topics[1]
	if bees.Truth != "truth/honey-bees.txt" || bees.Relevant != 2 || wasps.Truth != "" {
		t.Errorf("topics %+v", w.Topics)
	}
	if truth, err := w.Truth("honey bees"); err != nil || len(truth) != 2 || !truth[mustURL(t, "http://a.example/1")] {
		t.Errorf("truth %v, %v", truth, err)
	}
	if !slices.Contains(built.Notes, "topic honey bees: 1 of 2 relevant addresses are not recorded") {
		t.Errorf("notes %q", built.Notes)
	}
	if src.Manifest.Topics[0].Relevant != 99 {
		t.Error("the build has changed its source")
	}
	if r, err := w.Lookup(mustURL(t, "http://a.example/1")); err != nil || string(r.Body) != "<title>made</title>" {
		t.Errorf("%+v, %v", r, err)
	}

	// A web built from a synthetic one is synthetic.
	if again, _ := build(t, Recorded{Dir: w.Dir()}); !again.Synthetic {
		t.Error("the copy of a synthetic web does not say so")
	}
	// One that nobody calls so is not, and takes the folder's name.
	plain, _ := build(t, Made{Pages: yielding(t, nil, "http://a.example/")})
	if text, err := os.ReadFile(filepath.Join(plain.Dir(), "web.yaml")); err != nil || strings.Contains(string(text), "synthetic") || plain.Name != "web" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestBadMade(t *testing.T) {
	for _, c := range []struct {
		name string
		src  Made
		want string
	}{
		{"no page", Made{Pages: yielding(t, nil)}, "the source holds no page"},
		{"an error", Made{Pages: yielding(t, errors.New("out of honey"), "http://a.example/")}, "made response 2: out of honey"},
		{"truth of no topic", Made{
			Pages: yielding(t, nil, "http://a.example/"), Truth: map[string][]web.URL{"bees": urls(t, "http://a.example/")},
		}, `there is truth for "bees", which is no topic`},
		{"one file for two", Made{
			Manifest: Manifest{Topics: []Topic{{Name: "a b"}, {Name: "a/b"}}}, Pages: yielding(t, nil, "http://a.example/"),
			Truth: map[string][]web.URL{"a b": urls(t, "http://a.example/"), "a/b": urls(t, "http://a.example/")},
		}, `"a b" and "a/b" would share the file truth/a-b.txt`},
		{"two topics of a name", Made{
			Manifest: Manifest{Topics: []Topic{{Name: "a"}, {Name: "a"}}}, Pages: yielding(t, nil, "http://a.example/"),
		}, "two topics are named a"},
	} {
		out := t.TempDir()
		if _, err := Build(t.Context(), filepath.Join(out, "web"), c.src, options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", c.name, left, err)
		}
	}
}
