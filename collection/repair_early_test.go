package collection

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// gatedMeadow is a meadow in which the robots.txt of a host comes with each answer, from a path to which it led.
type gatedMeadow struct {
	crawl.Fetcher
	path string
}

func (g gatedMeadow) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	r, err := g.Fetcher.Fetch(ctx, u)
	to, bad := web.Parse(u.Origin() + g.path)
	if bad != nil {
		return nil, bad
	}
	robots := &web.Response{URL: to, Status: 200, Proto: "HTTP/1.1", RequestHead: []byte("GET " + g.path + " HTTP/1.1"), Raw: []byte("#"), Body: []byte("#")}
	var f *web.Failure
	switch {
	case errors.As(err, &f):
		f.Robots = robots
	case err == nil:
		robots.Started, r.Robots = r.Started, robots
	}
	return r, err
}

// What a power failure in the first moments of a crawl leaves is opened, or it is refused and a repair makes
// of it a crawl that goes on: with each address of a crawl that lost nothing.
func TestRepairEarly(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 60, asked: map[string]int{}}
	whole, early := filepath.Join(t.TempDir(), "c"), ""
	copied := func() { early = copyOf(t, whole) }
	synctest.Test(t, func(t *testing.T) {
		_, err := m.crawl(t, whole, StoreOptions{}, 0, func(c *crawl.Crawl) {
			c.Fetcher = gatedMeadow{c.Fetcher, "/robots.txt"}
			c.Frontier = snapFrontier{c.Frontier, func() {
				if early == "" && At(whole).Begun() {
					copied()
				}
			}}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	want := outcomesIn(t, whole)
	files, err := At(whole).ArchiveFiles()
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	archive, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(At(whole).EventLog())
	if err != nil {
		t.Fatal(err)
	}
	var pieces []store.Piece // the first ones
	for p, err := range store.Pieces(files[0], -1) {
		if err != nil {
			t.Fatal(err)
		}
		if pieces = append(pieces, p); len(pieces) == 6 {
			break
		}
	}
	var beside []byte // what of the archive has a robots.txt alone
	pages := map[string]bool{}
	w := &walker{
		piece: func(store.Piece) error { return nil },
		exchange: func(x exchange, group []store.Piece) error {
			if pages[x.url] = x.meta.Page; x.meta.Reason == web.ReasonRobots && !x.meta.Page {
				for _, p := range group {
					beside = append(beside, archive[p.Offset:p.End]...)
				}
			}
			return nil
		},
		orphan:   func(string, []store.Piece) error { return nil },
		headless: func(store.Piece) error { return nil },
	}
	if err := w.walk(files[0], -1); err != nil || len(beside) == 0 {
		t.Fatalf("%d bytes of a robots.txt alone, %v", len(beside), err)
	}
	kinds := func(n int) (list []string) {
		for _, p := range pieces[:n] {
			list = append(list, p.Type)
		}
		return list
	}
	if is := kinds(6); !slices.Equal(is, []string{"warcinfo", "response", "request", "response", "request", "metadata"}) {
		t.Fatalf("the archive begins with %q", is)
	}
	began := strings.IndexByte(string(log), '\n') + 1 // behind its first line
	redirect := 0                                     // before the first one that led on
	for e, err := range event.EntriesFrom(At(whole).EventLog(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := e.Event.(event.Failed); ok && f.Queued {
			redirect = int(e.Offset)
			break
		}
	}
	torn := func(p store.Piece) []byte { return archive[:(p.Offset+p.End)/2] }
	second := append(slices.Clone(archive[:pieces[0].End]), slices.Concat(beside, beside)...)
	for name, left := range map[string]struct {
		archive  []byte
		log      []byte
		frontier string // "", "empty", "early"
	}{
		"the first page is torn":                             {torn(pieces[3]), nil, ""},
		"the first page is torn, the frontier empty":         {torn(pieces[3]), nil, "empty"},
		"the first page is torn, and the log has begun":      {torn(pieces[3]), log[:began], "empty"},
		"the first page is missing":                          {archive[:pieces[2].End], log[:began], ""},
		"the first page has no metadata":                     {archive[:pieces[4].End], nil, ""},
		"the first page has no metadata, the frontier empty": {archive[:pieces[4].End], log[:began], "empty"},
		"robots.txt alone, twice":                            {second, nil, ""},
		"robots.txt alone, twice, behind a mark":             {second, log, "early"},
		"metadata alone, twice, behind a mark":               {slices.Concat(archive[:pieces[0].End], archive[pieces[5].Offset:pieces[5].End], archive[pieces[5].Offset:pieces[5].End]), log, "early"},
		"a redirect that the log does not tell of":           {archive, log[:redirect], ""},
		"a log cut, and an empty frontier":                   {archive, log[:redirect], "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, early)
			c := At(dir)
			if left.frontier != "early" {
				if err := errors.Join(os.RemoveAll(c.FrontierDir()), os.WriteFile(c.EventLog(), left.log, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if left.frontier == "empty" {
				f, err := frontier.Open(c.FrontierDir(), frontier.Options{})
				if err == nil {
					err = f.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(c.ArchiveDir(), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(c.ArchiveDir(), filepath.Base(files[0])), left.archive, 0o644); err != nil {
				t.Fatal(err)
			}
			v, err := c.Verify(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			fresh := &meadow{n: m.n, asked: map[string]int{}}
			_, err = fresh.resume(t, copyOf(t, dir), StoreOptions{}, 0)
			if refused := errors.As(err, new(*OpenError)); err != nil && !refused || refused == v.Whole {
				t.Errorf("opening says %v, and Verify %v", err, v.Damage)
			}
			if err != nil {
				repairNow(t, dir, name)
				if v, err := c.Verify(t.Context(), nil); err != nil || !v.Whole {
					t.Errorf("after the repair: %v, %v", v.Damage, err)
				}
			}
			fresh = &meadow{n: m.n, asked: map[string]int{}}
			if _, err := fresh.resume(t, dir, StoreOptions{}, 0); err != nil {
				t.Fatal(err)
			}
			got := outcomesIn(t, dir)
			for u := range want {
				if got[u] != 1 {
					t.Errorf("%s has %d outcomes in the end", u, got[u])
				}
			}
			archived := map[string]int{}
			for r, err := range c.Responses(nil) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Status == 200 && !isRobots(r.URL.String()) {
					archived[r.URL.String()]++
				}
			}
			for u, n := range archived {
				if n > 1 || pages[u] && len(left.archive) == len(archive) && fresh.asked[u] > 0 {
					t.Errorf("%s is archived %d times, and was asked for %d times more", u, n, fresh.asked[u])
				}
			}
			if v, err := c.Verify(t.Context(), nil); err != nil || !v.Whole {
				t.Errorf("in the end: %v, %v", v.Damage, err)
			}
		})
	}
}

// The robots.txt of a host that leads to another of its pages is none of the crawl's pages: there is nothing to
// repair.
func TestRobotsElsewhere(t *testing.T) {
	t.Parallel()
	m := &meadow{n: 60, asked: map[string]int{}}
	dir := filepath.Join(t.TempDir(), "c")
	synctest.Test(t, func(t *testing.T) {
		if _, err := m.crawl(t, dir, StoreOptions{}, 20, func(c *crawl.Crawl) { c.Fetcher = gatedMeadow{c.Fetcher, "/0"} }); err != nil {
			t.Fatal(err)
		}
	})
	w := opened(t, dir)
	defer w.Close()
	r, err := w.Repair(t.Context(), RepairOptions{})
	if err != nil || !r.Whole {
		t.Errorf("%v, %q", err, r.Lines())
	}
	if lost, err := At(dir).Lost(); err != nil || len(lost) > 0 {
		t.Errorf("lost: %q, %v", lost, err)
	}
}

// A page of which the archive alone tells, by a piece, is lost where no link leads to it, and fetched again where
// one does.
func TestPiecesAlone(t *testing.T) {
	t.Parallel()
	crawled := func(n, requests int) (dir, file string) {
		dir = filepath.Join(t.TempDir(), "c")
		if _, err := (&meadow{n: n, asked: map[string]int{}}).resume(t, dir, StoreOptions{}, requests); err != nil {
			t.Fatal(err)
		}
		files, err := At(dir).ArchiveFiles()
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return dir, files[0]
	}
	dir, file := crawled(60, 20)
	_, other := crawled(61, 0)
	unlinked := "https://h0.test/60"
	var linked string // and not fetched yet
	known := outcomesIn(t, dir)
	for e, err := range At(dir).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.(event.Fetched); ok && mustKeep(p) {
			for _, l := range p.Queued {
				if known[l.URL.String()] == 0 {
					linked = l.URL.String()
				}
			}
		}
	}
	from, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	added := 0
	for p, err := range store.Pieces(other, -1) {
		if err != nil {
			t.Fatal(err)
		}
		if (p.Target == unlinked || p.Target == linked) && p.Type != "metadata" {
			whole = append(whole, from[p.Offset:p.End]...)
			added++
		}
	}
	if added < 4 {
		t.Fatalf("%d records of %q and %q", added, unlinked, linked)
	}
	if err := errors.Join(os.WriteFile(file, whole, 0o644), os.RemoveAll(At(dir).FrontierDir()), os.Remove(At(dir).EventLog())); err != nil {
		t.Fatal(err)
	}
	repairNow(t, dir, "pieces")
	if lost, err := At(dir).Lost(); err != nil || !slices.Equal(lost, []string{unlinked}) {
		t.Errorf("lost: %q, %v", lost, err)
	}
	fresh := &meadow{n: 60, asked: map[string]int{}}
	if _, err := fresh.resume(t, dir, StoreOptions{}, 0); err != nil {
		t.Fatal(err)
	}
	if fresh.asked[linked] == 0 || fresh.asked[unlinked] > 0 {
		t.Errorf("asked for %s %d times, and for %s %d times", linked, fresh.asked[linked], unlinked, fresh.asked[unlinked])
	}
}
