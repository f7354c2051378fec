package train

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// Whatever files of links hold, packed or not: no more in-links come of them than are asked for,
// and none twice.
func FuzzEdges(f *testing.F) {
	f.Add([]byte("http://a.test/ http://b.test/\n# x\nhttp://c.test/\thttp://b.test/ more\n"), []byte("0\ttest.b\n1\ttest.a\t7\n2\thttp://c.test/\n"), []byte("1\t0\n2\t0\n"))
	f.Add([]byte("\x1f\x8b\x08\x00"), []byte("\x28\xb5\x2f\xfd"), []byte("18446744073709551615\t0\r\n"))
	f.Add([]byte("x"), []byte("0\t..test\n"), []byte("0 0 0"))
	dir := f.TempDir()
	target, err := web.Parse("http://b.test/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, links, vertices, edges []byte) {
		var paths []string
		for i, b := range [][]byte{links, vertices, edges} {
			paths = append(paths, filepath.Join(dir, string(rune('a'+i))))
			if err := os.WriteFile(paths[i], b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []Inlinks{EdgeList{Paths: paths[:1]}, HostGraph{Vertices: paths[1:2], Edges: paths[2:]}} {
			got, err := p.Inlinks(context.Background(), []web.URL{target}, 3)
			if err != nil {
				continue
			}
			checkInlinks(t, got, target, 3)
		}
	})
}

// checkInlinks holds in-links of a page to what any provider owes.
func checkInlinks(t *testing.T, got []InlinkList, target web.URL, limit int) {
	t.Helper()
	if len(got) != 1 || len(got[0].Pages) > limit {
		t.Fatalf("%v", got)
	}
	seen := map[web.URL]bool{target: true}
	for _, u := range got[0].Pages {
		if seen[u] || u.IsZero() {
			t.Errorf("%q in %v", u, got)
		}
		seen[u] = true
	}
}

// said answers each question with the next of some bodies.
type said struct{ bodies [][]byte }

func (s *said) Fetch(_ context.Context, u web.URL) (*web.Response, error) {
	b := s.bodies[0]
	if len(s.bodies) > 1 {
		s.bodies = s.bodies[1:]
	}
	return &web.Response{URL: u, Status: 200, Body: b}, nil
}

// Whatever a wiki answers: it comes to an end, with pages of in-links, each once, or an error.
func FuzzWiki(f *testing.F) {
	f.Add([]byte(`{"query":{"general":{"articlepath":"/wiki/$1","server":"//b.test"}}}`),
		[]byte(`{"continue":{"blcontinue":"0|7","continue":"-||"},"query":{"backlinks":[{"title":"Bee"},{"title":"A&B?"}]}}`),
		[]byte(`{"query":{"backlinks":[{"title":"Bee"},{"title":"Hive"}]}}`), "http://b.test/wiki/Waggle_dance")
	f.Add([]byte(`{"query":{"general":{"articlepath":"/$1/x","server":""}}}`), []byte(`{"error":{"code":"maxlag","info":"x"}}`), []byte(`[]`), "http://b.test/x")
	f.Add([]byte(`{"query":{"general":{"articlepath":"$1","server":"http://b.test/aa"}}}`), []byte(`{"query":{"backlinks":[{"title":""}]}}`), []byte(`{"continue":{"blcontinue":""}}`), "http://b.test/aa")
	api, err := web.Parse("http://b.test/w/api.php")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, general, first, rest []byte, page string) {
		target, err := web.Parse(page)
		if err != nil {
			return
		}
		m, err := NewMediaWiki(context.Background(), api, &said{[][]byte{general}}, &jump{})
		if err != nil {
			return
		}
		m.fetch = &said{[][]byte{first, rest}}
		got, err := m.Inlinks(context.Background(), []web.URL{target}, 5)
		if err != nil {
			return
		}
		checkInlinks(t, got, web.URL{}, 5)
	})
}
