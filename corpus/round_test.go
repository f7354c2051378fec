package corpus

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// The folder of a round is told from others as package collection tells it.
func TestRoundsBeforeThatOfAFolder(t *testing.T) {
	for dir, want := range map[string]int{
		"bees/again/0001": 1, "bees/again/0012": 12,
		"bees/again/1": 0, "bees/again/00001": 0, "bees/again/0000": 0, "bees/0001": 0, "bees": 0, "bees/again/0001/archive": 0,
	} {
		archives, err := Crawl{filepath.FromSlash(dir)}.earlier()
		if err != nil || len(archives) != want {
			t.Errorf("%s: archives of %d rounds before it, want %d, %v", dir, len(archives), want, err)
		}
	}
}

// visit is what a server gave in a round, and what a browser made of it.
type visit struct {
	path, sent, made string
	status           int
	revisits         *web.Response // whose body is as it was
}

// archived writes the archive of a round, whose visits are a second apart.
func archived(t *testing.T, dir string, at time.Time, visits []visit) (out map[string]*web.Response) {
	t.Helper()
	a, err := store.Create(filepath.Join(dir, "archive"), store.Options{MaxFile: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	out = map[string]*web.Response{}
	for i, v := range visits {
		r := &web.Response{
			URL: mustURL(t, "http://a.example"+v.path), Started: at.Add(time.Duration(i) * time.Second), Status: max(v.status, 200),
			RequestHead: []byte("GET / HTTP/1.1"), Header: web.Header{"Content-Type": {"text/html"}}, Raw: []byte(v.sent),
		}
		if b := v.revisits; b != nil {
			r.Raw, r.Revisit = b.Raw, &web.Revisit{NotModified: true, Head: []byte("HTTP/1.1 304 Not Modified"), Record: b.Record, At: b.Started}
		}
		if v.made != "" {
			r.Rendering = &web.Rendering{Body: []byte(v.made), Started: r.Started}
		}
		record, err := a.Encode(web.Exchange{Response: r, Page: &web.Page{URL: r.URL}})
		if err == nil {
			_, err = a.Append(record)
		}
		if err != nil {
			t.Fatal(err)
		}
		out[v.path] = r
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := store.Paths(filepath.Join(dir, "archive"))
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range store.Index(files...) {
		if err != nil {
			t.Fatal(err)
		}
		if r := out[strings.TrimPrefix(e.Target, "http://a.example")]; r != nil && e.Type == "response" {
			r.Record = e.ID
		}
	}
	return out
}

// A web of a round has of each page the last version, with the rendering of that visit, and of no
// other: the body of a page that was as before comes from the round that had it.
func TestRenderingsOfRounds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bees")
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("<p>bees", 200) // so that the files of the archives are full soon
	first := archived(t, dir, day, []visit{
		{path: "/same", sent: "sent" + long, made: "made in round 0"},
		{path: "/bare", sent: "sent" + long, made: "made in round 0"},
		{path: "/down", sent: "sent" + long},
		{path: "/other", sent: "sent" + long, made: "made in round 0"},
	})
	second := archived(t, filepath.Join(dir, "again", "0001"), day.Add(24*time.Hour), []visit{
		{path: "/same", revisits: first["/same"], made: "made in round 1"},
		{path: "/other", sent: "sent in round 1" + long, made: "made in round 1" + long},
		{path: "/new", sent: "sent in round 1" + long, made: "made in round 1"},
	})
	round := filepath.Join(dir, "again", "0002")
	archived(t, round, day.Add(48*time.Hour), []visit{
		{path: "/down", sent: "busy", status: 503},
		{path: "/same", revisits: first["/same"], made: "made in round 2"},
		{path: "/bare", revisits: first["/bare"]},
		{path: "/down", revisits: first["/down"]},
		{path: "/other", revisits: second["/other"], made: "made in round 2" + long},
		{path: "/new", sent: "sent in round 2" + long, made: "made in round 2"},
		{path: "/lost", revisits: &web.Response{URL: first["/same"].URL, Record: "<urn:uuid:00000000-0000-0000-0000-000000000000>", Started: day}},
	})
	w, built := build(t, Crawl{round})
	again, _ := build(t, Recorded{w.dir})
	for _, w := range []*Web{w, again} {
		for path, want := range map[string][2]string{
			"/same": {"sent", "made in round 2"}, "/bare": {"sent", ""}, "/down": {"sent", ""},
			"/other": {"sent in round 1", "made in round 2"}, "/new": {"sent in round 2", "made in round 2"},
		} {
			r, err := w.Lookup(mustURL(t, "http://a.example"+path))
			if err != nil || r.Status != 200 || !strings.HasPrefix(string(r.Body), want[0]+"<p>") || r.Started.Before(day.Add(48*time.Hour)) {
				t.Errorf("%s: %v, %.40q at %v, %v; want %q", path, r.Status, r.Body, r.Started, err, want[0])
				continue
			}
			made := ""
			if r.Rendering != nil {
				made = string(r.Rendering.Body)
			}
			if made, _, _ = strings.Cut(made, "<p>"); made != want[1] {
				t.Errorf("%s: the rendering %q, want %q", path, made, want[1])
			}
		}
		if _, err := w.Lookup(mustURL(t, "http://a.example/lost")); !errors.Is(err, ErrNotRecorded) {
			t.Errorf("a page whose body is lost: %v", err)
		}
	}
	if n := len(built.Notes); n != 2 || !strings.Contains(built.Notes[0], "job.yaml is absent") || !strings.Contains(built.Notes[1], "the body of 1 page that") {
		t.Errorf("notes %q", built.Notes)
	}
	files, err := store.Paths(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := store.Verify(nil, files...); err != nil || !rep.OK() {
		t.Errorf("the files: %+v, %v", rep, err)
	}
}
