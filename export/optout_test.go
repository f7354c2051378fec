package export

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// addresses are those of the records that are copied by what a survey knows.
func addresses(t *testing.T, in *Input, s *survey) (list []string) {
	t.Helper()
	var g gaps
	err := in.archive(t.Context(), s, &g,
		func(string) (io.Writer, error) { return io.Discard, nil },
		func(e store.Entry, _ string) error {
			list = append(list, e.Target)
			return nil
		})
	if err != nil || g.err() != nil {
		t.Fatal(err, g.err())
	}
	return list
}

func looked(t *testing.T, in *Input) *survey {
	t.Helper()
	s, err := in.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Without opt-outs, a page that is fetched after the log was read stays out: whether it
// opts out is not known. So does one that was archived and never logged.
func TestOptOutsOfARunningCrawl(t *testing.T) {
	const late = "https://late.test/"
	c := made(t)
	in := &Input{Collections: []collection.Collection{c}, WithoutOptOuts: true}
	held := addresses(t, in, looked(t, in))
	if !slices.Contains(held, "https://bees.test/dance") || slices.Contains(held, "https://bees.test/shy") {
		t.Fatalf("before: %q", held)
	}

	s := looked(t, in)
	lost := collection.At(filepath.Join(t.TempDir(), "lost"))
	if err := os.CopyFS(lost.Dir(), os.DirFS(c.Dir())); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(lost.FrontierDir()); err != nil {
		t.Fatal(err)
	}
	inLost := &Input{Collections: []collection.Collection{lost}, WithoutOptOuts: true}
	sLost := looked(t, inLost)
	goOn(t, c, func(s *collection.Stores) {
		turn := web.Turn{State: map[string][]byte{crawl.StateArchive: appendTo(t, s.Archive, late, nil)}}
		e := event.Fetched{At: event.At{At: time.Unix(1e9, 0)}, Visit: event.Visit{URL: address(t, late)}, Status: 200}
		e.Directives.NoAI = true
		mark, err := s.Log.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		turn.State[crawl.StateEvents] = mark
		if _, err := s.Frontier.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	})
	all := &Input{Collections: in.Collections}
	if !slices.Contains(addresses(t, all, looked(t, all)), late) {
		t.Fatalf("%s was not fetched", late)
	}
	if err := os.CopyFS(filepath.Join(lost.Dir(), "new"), os.DirFS(c.ArchiveDir())); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(lost.ArchiveDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(lost.Dir(), "new"), lost.ArchiveDir()); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]string{"a crawl": addresses(t, in, s), "a crawl without its frontier": addresses(t, inLost, sLost)} {
		if !slices.Equal(got, held) {
			t.Errorf("%s: records of %q, want %q", name, got, held)
		}
	}

	goOn(t, c, func(s *collection.Stores) { appendTo(t, s.Archive, "https://never.test/", nil) })
	got := addresses(t, in, looked(t, in))
	if len(got) < len(held) || slices.Contains(got, "https://never.test/") || slices.Contains(got, late) {
		t.Errorf("what was not logged: %q", got)
	}
}

// goOn does something with the stores of a crawl.
func goOn(t *testing.T, c collection.Collection, do func(*collection.Stores)) {
	t.Helper()
	w, err := c.Lock()
	if err != nil {
		t.Fatal(err)
	}
	o := collection.StoreOptions{}
	o.Archive.Prefix = "one"
	stores, err := w.OpenStores(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	do(stores)
	if err := errors.Join(stores.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func address(t *testing.T, url string) web.URL {
	t.Helper()
	u, err := web.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func appendTo(t *testing.T, a *store.Archive, url string, by *web.Rendering) (mark []byte) {
	t.Helper()
	u := address(t, url)
	p := answer(u)
	p.Rendering = by
	b, err := a.Encode(web.Exchange{Candidate: web.Candidate{URL: u}, Response: p, Page: &web.Page{URL: u, MIME: "text/html"}})
	if err != nil {
		t.Fatal(err)
	}
	if mark, err = a.Append(b); err != nil {
		t.Fatal(err)
	}
	return mark
}

func answer(u web.URL) *web.Response {
	return &web.Response{URL: u, Status: 200, Proto: "HTTP/1.1", Started: time.Unix(1e9, 0), Header: web.Header{"Content-Type": {"text/html"}},
		Raw: []byte("<p>bee"), RequestHead: []byte("GET / HTTP/1.1")}
}

// With a page that opts out goes what it asked for while a browser rendered it.
func TestOptOutsOfRenderedPages(t *testing.T) {
	c := collection.At(t.TempDir())
	a, err := store.Create(c.ArchiveDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := event.Open(c.EventLog(), []byte(event.Empty))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.test", "shy.test", "b.test"} {
		var asked []web.Resource
		for _, path := range []string{"data.json", "more.json"} {
			asked = append(asked, web.Resource{Response: answer(address(t, "https://data."+host+"/"+path)), Type: "fetch"})
		}
		appendTo(t, a, "https://"+host+"/", &web.Rendering{Body: []byte("<p>bee bee"), Started: time.Unix(1e9, 0), Resources: asked})
		e := event.Fetched{At: event.At{At: time.Unix(1e9, 0)}, Visit: event.Visit{URL: address(t, "https://"+host+"/")}, Status: 200}
		e.Directives.NoAI = host == "shy.test"
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	in := &Input{Collections: []collection.Collection{c}}
	all := addresses(t, in, looked(t, in))
	in.WithoutOptOuts = true
	got := addresses(t, in, looked(t, in))
	want := slices.DeleteFunc(slices.Clone(all), func(u string) bool { return strings.Contains(u, "shy.test") })
	if len(all)-len(want) < 8 || !slices.Equal(got, want) {
		t.Errorf("records of\n%q\nwant\n%q", got, want)
	}
}

// Without opt-outs nothing is exported where the log has lost what tells which pages opt out.
func TestOptOutsOfADamagedLog(t *testing.T) {
	c := made(t)
	in := &Input{Collections: []collection.Collection{c}, WithoutOptOuts: true}
	log, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	spoilt := slices.Clone(log)
	at := bytes.Index(log, []byte(`"url":"https://bees.test/shy"`))
	if at < 0 {
		t.Fatal("the page that opts out is not in the log")
	}
	clear(spoilt[at : at+10])
	for name, b := range map[string][]byte{"zeros": spoilt, "cut off": log[:len(log)/2], "empty": nil} {
		if err := os.WriteFile(c.EventLog(), b, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"cdxj", "pages-jsonl"} {
			var out bytes.Buffer
			err := form(t, f).Write(t.Context(), in, &out)
			if err == nil || !strings.Contains(err.Error(), "waggle repair "+c.Dir()) || out.Len() > 0 {
				t.Errorf("%s of a log: %s has %d bytes, %v", name, f, out.Len(), err)
			}
		}
	}
}
