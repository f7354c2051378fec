package collection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// site is a small web. Each request takes a second; busy.html is busy once.
type site struct {
	asked map[string]int
	stop  context.CancelFunc // called after so many requests
	after int
}

func (s *site) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	path := u.RequestPath()
	s.asked[path]++
	r := &web.Response{
		URL: u, Status: 200, Proto: "HTTP/1.1", Started: time.Now(), Took: time.Second,
		Header: web.Header{"Content-Type": {"text/html"}}, RequestHead: []byte("GET " + path + " HTTP/1.1\r\nHost: bees.test\r\n\r\n"),
	}
	switch path {
	case "/":
		r.Body = []byte(`<title>Bees</title><p>bees <a href="dance.html">the dance</a> <a href="busy.html">busy</a> <a href="old.html">old</a> <a href="gone.html">gone</a> <a href="print.pdf">print</a> <a href="odd">odd</a>`)
	case "/dance.html":
		r.Body = []byte(`<title>The dance of bees</title><p>bees bees bees <a href="/">home</a> <a href="/wheels.html">wheels</a>`)
	case "/busy.html":
		r.Body = []byte(`<title>Busy bees</title><p>bees`)
		if s.asked[path] == 1 {
			r.Status, r.Body = 503, []byte(`<title>Come back later</title>`)
		}
	case "/old.html":
		r.Status, r.Header["Location"], r.Location = 301, []string{"/new.html"}, address("new.html")
	case "/new.html":
		r.Body = []byte(`<title>New</title><p>nothing of interest`)
	case "/odd":
		r.Header["Content-Type"] = []string{"image/png"}
		r.Body = []byte("\x89PNG")
	case "/wheels.html":
		r.Body = []byte(`<title>Wheels</title><p>wheels`)
	default:
		r.Status, r.Body = 404, []byte("no such page")
	}
	r.Raw = r.Body
	if s.after--; s.after == 0 {
		s.stop()
	}
	return r, nil
}

func address(path string) web.URL {
	u, err := web.Parse("https://bees.test/" + path)
	if err != nil {
		panic(err) // the test is wrong
	}
	return u
}

// words judges by how often bees are named.
type words struct{}

func (words) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	n := 0
	for _, term := range p.Terms {
		if term.Text == "bee" {
			n = min(4, int(term.Body))
		}
	}
	r := float64(n) / 4
	return web.Verdict{Relevance: r, Similarity: r, Relevant: r >= 0.25}, nil
}

// run crawls the site into the folder dir, in virtual time, until it is done or
// so many requests were made; 0 = all.
func run(t *testing.T, dir string, requests int, o StoreOptions) event.Ending {
	t.Helper()
	how, err := crawlSite(t, dir, o, nil, func(stop context.CancelFunc) crawl.Fetcher {
		return &site{map[string]int{}, stop, requests}
	})
	if err != nil {
		t.Fatal(err)
	}
	return how
}

// crawlSite crawls what a fetcher brings into the folder dir, in virtual time.
// change, unless nil, changes the crawl before it runs.
func crawlSite(t *testing.T, dir string, o StoreOptions, change func(*crawl.Crawl), fetcher func(stop context.CancelFunc) crawl.Fetcher) (how event.Ending, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		how, err = crawlNow(t, dir, o, change, fetcher)
	})
	return how, err
}

func crawlNow(t *testing.T, dir string, o StoreOptions, change func(*crawl.Crawl), fetcher func(stop context.CancelFunc) crawl.Fetcher) (how event.Ending, err error) {
	w, err := At(dir).Lock()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	resumed := w.Begun()
	if !resumed {
		if err := errors.Join(w.SaveExamples([]Example{{Source: "a.html", Body: []byte("<p>bees")}}), w.SaveJob([]byte("name: bees\n"))); err != nil {
			return "", err
		}
	}
	o.Archive.Prefix, o.Archive.Job = "bees", "bees"
	stores, err := w.OpenStores(t.Context(), o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	scorer, err := score.New("breadth-first", score.Options{})
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := &crawl.Crawl{
		Seeds: []web.URL{address("")}, Frontier: stores.Frontier, Archive: stores.Archive, Log: stores.Log,
		Fetcher: fetcher(stop), Parser: parse.New(parse.Options{}), Judge: words{}, Scorer: scorer,
		Name: "bees", JudgeName: "words", ScorerName: "breadth-first", Threshold: 0.25, Workers: 1,
	}
	if resumed {
		c.History = w.Events()
	}
	if change != nil {
		change(c)
	}
	if how, err = c.Run(ctx); err != nil {
		return "", err
	}
	return how, w.SaveHarvest()
}

// TestReading replays testdata: what is read of a crawl that was stopped and
// went on.
func TestReading(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if how := run(t, dir, 4, StoreOptions{}); how != event.Stopped {
		t.Fatalf("the first run ended by %s", how)
	}
	if how := run(t, dir, 0, StoreOptions{}); how != event.FrontierEmpty {
		t.Fatalf("the second run ended by %s", how)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	ways := map[string]func() error{
		"fetched": func() error {
			return each(c.Fetched(), func(p event.Fetched) {
				say("%s %.2f relevant=%v %s", p.URL, p.Relevance, p.Relevant, p.Title)
			})
		},
		"links": func() error {
			return each(c.Links(), func(l Link) {
				say("%s → %s %q %s", l.From, l.To, l.Anchor, l.Reason)
			})
		},
		"harvest": func() error {
			h, err := c.Harvest()
			for _, p := range h {
				say("%.2f %s %s", p.Relevance, p.URL, p.Title)
			}
			return err
		},
		"summary": func() error {
			s, err := c.Summary()
			say("%s: %d pages, %d relevant, %d runs, %s", s.Name, s.Pages, s.Relevant, s.Runs, s.How)
			return err
		},
		"ended": func() error {
			how, pages, err := c.Ended()
			say("%s after %d pages", how, pages)
			return err
		},
		"responses": func() error {
			return each(c.Responses(nil), func(r *web.Response) { say("%d %s", r.Status, r.URL) })
		},
		"pages": func() error {
			for p, err := range c.Pages(t.Context(), parse.New(parse.Options{}), nil) {
				if err != nil {
					say("%v", err)
					continue
				}
				say("%s %s", p.URL, p.Title)
			}
			return nil
		},
		"job": func() error {
			b, err := c.Job()
			out.Write(b)
			return err
		},
	}
	seen := map[string]bool{}
	datadriven.RunTest(t, filepath.Join("testdata", "reading.txt"), func(t *testing.T, d *datadriven.TestData) string {
		name := d.Cmd
		for _, a := range d.CmdArgs {
			name += " " + a.Key
		}
		read, ok := ways[name]
		if !ok {
			t.Fatalf("nothing is called %q", name)
		}
		seen[name] = true
		out.Reset()
		if err := read(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
	for name := range ways {
		if !seen[name] {
			t.Errorf("%s is not in the transcript", name)
		}
	}
	if b, err := os.ReadFile(c.HarvestFile()); err != nil || !strings.Contains(string(b), "The dance of bees") {
		t.Errorf("harvest.tsv: %q, %v", b, err)
	}
}

func each[T any](seq iter.Seq2[T, error], f func(T)) error {
	for v, err := range seq {
		if err != nil {
			return err
		}
		f(v)
	}
	return nil
}

// A crawl that runs, or was killed while it wrote, is read up to there.
func TestReadingWhileItIsWritten(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, 4, StoreOptions{})
	c := At(dir)
	pages := func() (n int) {
		if err := each(c.Fetched(), func(event.Fetched) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pages()
	// As if a second run wrote.
	events, err := os.ReadFile(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(events, []byte("\n"))
	extend(t, c.EventLog(), fmt.Appendf(nil, "%s\n%s", first, `{"kind":"fetched","at":"20`))
	if after := pages(); after != before {
		t.Errorf("%d pages, and %d while the log is written", before, after)
	}
	if how, n, err := c.Ended(); how != "" || n != before || err != nil {
		t.Errorf("ended %q, %d pages, %v", how, n, err)
	}
	files, err := c.ArchiveFiles()
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	indexed := func() (n int) {
		for _, err := range store.Index(files...) {
			if err == nil {
				n++
			}
		}
		return n
	}
	all := indexed()
	extend(t, files[0], whole[:200]) // the beginning of a record
	if n := indexed(); n != all {
		t.Errorf("%d records, and %d while the archive is written", all, n)
	}
	if err := os.WriteFile(c.EventLog(), events, 0o644); err != nil {
		t.Fatal(err)
	}
	var damage *store.Damage
	n := 0
	for _, err := range c.Responses(nil) {
		if err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
		n++
	}
	if want := 4; n != want { // three, and the damage
		t.Errorf("%d responses and damages, not %d", n, want)
	}
}

func extend(t *testing.T, name string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Pages end when the caller or its context has enough, and leave no goroutine.
func TestPagesEndEarly(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, 0, StoreOptions{})
	parser := parse.New(parse.Options{})
	synctest.Test(t, func(t *testing.T) { // which waits for all goroutines
		for p, err := range At(dir).Pages(t.Context(), parser, nil) {
			if err != nil || p.Title != "Bees" {
				t.Errorf("%v, %v", p, err)
			}
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for _, err := range At(dir).Pages(ctx, parser, nil) {
			if n++; n == 2 && !errors.Is(err, context.Canceled) || n > 2 {
				t.Errorf("entry %d after the context ended: %v", n, err)
			}
			cancel()
		}
	})
}

// An empty log beside an archive is no crawl without a page.
func TestLostLog(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, 0, StoreOptions{})
	c := At(dir)
	if err := os.Truncate(c.EventLog(), 0); err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Fetched() {
		if err == nil || !strings.Contains(err.Error(), "waggle verify") {
			t.Errorf("read: %v", err)
		}
		return
	}
	t.Error("read as a crawl without a page")
}

// A Writer is one process's own, and a folder with other things is no crawl's.
func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	w, err := At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := At(dir).Lock(); err == nil || !strings.Contains(err.Error(), "is in use by another waggle") {
		t.Errorf("a second lock: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("a crawl that was not begun: %v", err)
	}
	examples := []Example{{Source: "a.html", URL: "http://example.invalid/", MIME: "text/html", Body: []byte("\xff<b>")}, {Source: "https://b.test/", Negative: true}}
	if err := errors.Join(w.SaveExamples(examples), w.SaveCritic(nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Examples(); err != nil || fmt.Sprint(got) != fmt.Sprint(examples) {
		t.Errorf("examples are %v, %v", got, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := At(dir).Usable(); err != nil {
		t.Errorf("after a set-up that was cut short: %v", err)
	}
	if w, err = At(dir).Lock(); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.WriteFile(w.ActFile(), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("after Discard: %v, %v", entries, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := At(dir).Usable(); err == nil || !strings.Contains(err.Error(), "holds other files (notes.txt)") {
		t.Errorf("with a file of the user's: %v", err)
	}
}

// A job file that a person put into a folder is no crawl.
func TestJobAlone(t *testing.T) {
	c := At(t.TempDir())
	if err := os.WriteFile(c.JobFile(), []byte("name: bees\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = "holds a job file and no crawl: put the crawl into another folder"
	if _, err := Open(c.Dir()); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), want) {
		t.Errorf("opened: %v", err)
	}
	if err := c.Usable(); c.Begun() || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("begun %v, usable: %v", c.Begun(), err)
	}
	if err := os.Mkdir(c.ArchiveDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if !c.Begun() {
		t.Error("with an archive it is no crawl")
	}
}

// Who may not write to the folder of a crawl is told so.
func TestLockUnwritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs a user who may not write everywhere: run it as another than root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if _, err := At(dir).Lock(); !errors.Is(err, ErrUnwritable) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "run the command as its owner, or on a copy of it: ") {
		t.Errorf("locked: %v", err)
	}
}

// A folder whose frontier is gone is not begun over the pages it has; one whose
// first run never committed a turn begins anew.
func TestNoTurn(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, 0, StoreOptions{})
	if err := os.RemoveAll(At(dir).FrontierDir()); err != nil {
		t.Fatal(err)
	}
	w, err := At(dir).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.OpenStores(t.Context(), StoreOptions{}); err == nil || !strings.Contains(err.Error(), "is missing or empty, but the event log tells of a crawl") {
		t.Errorf("without its frontier: %v", err)
	}
	log, err := os.ReadFile(w.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	started, _, _ := bytes.Cut(log, []byte("\n"))
	if err := os.WriteFile(w.EventLog(), fmt.Appendf(nil, "%s\n%s", started, `{"kind":"see`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.OpenStores(t.Context(), StoreOptions{}); err == nil || !strings.Contains(err.Error(), "but the archive holds what the crawl fetched") {
		t.Errorf("without its frontier, with a log of its start alone: %v", err)
	}
	if err := os.RemoveAll(w.ArchiveDir()); err != nil {
		t.Fatal(err)
	}
	stores, err := w.OpenStores(t.Context(), StoreOptions{Frontier: frontier.Options{MaxPerHost: 5}})
	if err != nil {
		t.Fatalf("with a log of its start alone: %v", err)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	if err := each(w.Events(), func(e event.Event) { t.Errorf("the log holds %v", e) }); err != nil {
		t.Fatal(err)
	}
}
