package ship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/store/ship/shiptest"
)

// pier is a folder whose archive is shipped.
type pier struct {
	*testing.T
	shop *shiptest.Store
	dir  string

	mu   sync.Mutex
	told []event.Shipped
	said chan struct{} // gets a value each time
}

func newPier(t *testing.T) *pier {
	p := &pier{T: t, shop: shiptest.New(t), dir: filepath.Join(t.TempDir(), "bees ä:1"), said: make(chan struct{}, 1000)}
	for _, v := range p.shop.Env() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "archive"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("job.yaml", "name: bees\n")
	return p
}

func (p *pier) write(name, body string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(body), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *pier) open(place string) *Store {
	p.Helper()
	s, err := Open(place, p.shop.URL, "")
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p *pier) shipper() *Shipper {
	p.Helper()
	return p.shipperTo(p.open("s3://pages/crawls"))
}

func (p *pier) shipperTo(store *Store) *Shipper {
	p.Helper()
	s, err := New(store, Options{
		Dir: p.dir, Archive: filepath.Join(p.dir, "archive"), Setup: []string{filepath.Join(p.dir, "job.yaml"), filepath.Join(p.dir, "model")},
		Kept: filepath.Join(p.dir, "shipped.json"), First: time.Millisecond, Most: 10 * time.Millisecond,
		Tell: func(_ context.Context, e event.Shipped) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.told = append(p.told, e)
			p.said <- struct{}{}
		},
	})
	if err != nil {
		p.Fatal(err)
	}
	return s
}

func (p *pier) heard() []event.Shipped {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// run ships while do does something.
func run(t *testing.T, s *Shipper, do func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	do()
	cancel()
	<-ended
}

// Files are shipped once a turn was committed behind them, the last one at the end up to where the
// last turn ended, each once, also by a later run; one that was changed again.
func TestShip(t *testing.T) {
	p := newPier(t)
	p.write("archive/bees-00000.warc.gz", "first")
	p.write("archive/bees-00001.warc.gz", "second, and not committed")
	p.write("archive/notes.txt", "no")
	s := p.shipper()
	name := strings.TrimPrefix(s.Place(), "s3://pages/")
	if !strings.HasPrefix(name, "crawls/bees---1-") {
		t.Errorf("shipped to %s", s.Place())
	}
	first, second := name+"/archive/bees-00000.warc.gz", name+"/archive/bees-00001.warc.gz"
	has := func(key, body string) {
		t.Helper()
		if got := string(p.shop.Files()[key]); got != body {
			t.Errorf("the store has %q of %s, and not %q", got, key, body)
		}
	}
	safe := func(number int, end int64) {
		t.Helper()
		if n, e, err := store.MarkedFile(s.Safe()); n != number || e != end || err != nil {
			t.Errorf("safe up to %d of file %d (%v), and not %d of %d", e, n, err, end, number)
		}
	}
	run(t, s, func() {
		s.Marked(store.MarkAt(0, 5))
		p.shop.Await(t, func(f map[string][]byte) bool { return f[name+"/job.yaml"] != nil })
		has(first, "")
		safe(0, 0)
		s.Marked(store.MarkAt(1, 6))
		<-p.said
	})
	has(second, "")
	if err := s.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	has(first, "first")
	has(second, "second")
	safe(1, 6)
	// The crawl goes on.
	p.write("archive/bees-00001.warc.gz", "second, third")
	p.write("archive/bees-00002.warc.gz", "fourth")
	for i := range 2 {
		s = p.shipper()
		safe(1+i, 6)
		s.Marked(store.MarkAt(2, 6))
		if err := s.Finish(t.Context()); err != nil {
			t.Error(err)
		}
		safe(2, 6)
		has(second, "second, third")
		p.write("archive/bees-00002.warc.gz", "fourth")
		if err := os.Chtimes(filepath.Join(p.dir, "archive/bees-00002.warc.gz"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	var puts []string
	for _, k := range p.shop.Puts() {
		puts = append(puts, filepath.Base(k))
	}
	if got, want := fmt.Sprint(puts), "[job.yaml bees-00000.warc.gz bees-00001.warc.gz bees-00001.warc.gz bees-00002.warc.gz bees-00002.warc.gz]"; got != want {
		t.Errorf("put %s\nand not %s", got, want)
	}
	if told := p.heard(); len(told) != 5 || told[0].File != "bees-00000.warc.gz" || told[0].Bytes != 5 || told[0].SHA256 != sumOf([]byte("first")) {
		t.Errorf("told %+v", told)
	}
	state, err := Read(filepath.Join(p.dir, "shipped.json"))
	if err != nil || state.Bytes() != int64(len("first"+"second, third"+"fourth")) || state.Left != 0 || state.Trouble != "" {
		t.Errorf("it keeps %+v, %v", state, err)
	}
	// Another folder of that name ships to another place.
	if err := os.Remove(filepath.Join(p.dir, "shipped.json")); err != nil {
		t.Fatal(err)
	}
	if again := p.shipper(); again.Place() == s.Place() {
		t.Errorf("a new folder ships to %s too", again.Place())
	}
}

// A store that fails gets the file when it is well again: one that is down, is cut off in the
// middle, forgets, has another file, answers rubbish, or sends its user elsewhere.
func TestStoreFails(t *testing.T) {
	for name, x := range map[string]struct {
		fail func(w http.ResponseWriter, r *http.Request) bool
		says string
	}{
		"down": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
			return true
		}, "fails (503 SlowDown)"},
		"cut": {func(_ http.ResponseWriter, r *http.Request) bool {
			io.CopyN(io.Discard, r.Body, 1000)
			panic(http.ErrAbortHandler)
		}, "does not answer"},
		"forgetful": {func(_ http.ResponseWriter, r *http.Request) bool {
			io.Copy(io.Discard, r.Body)
			return true
		}, "refuses (404 NoSuchKey)"},
		"hostile": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "<Error><Code>\x1b[31m</Code></Error>"+strings.Repeat("x", 1<<20))
			return true
		}, "refuses (418): look"},
		"reset": {func(w http.ResponseWriter, r *http.Request) bool {
			io.CopyN(io.Discard, r.Body, 1000)
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
			return true
		}, "does not answer"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, "<Error><Code>EntityTooLarge</Code></Error>")
			return true
		}, "give a smaller --ship-size"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
			return true
		}, "the credentials may not"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPier(t)
			body := strings.Repeat("bees", 100_000)
			p.write("archive/bees-00000.warc.gz", body)
			failed := make(chan struct{}, 1000)
			p.shop.Fail(func(w http.ResponseWriter, r *http.Request) bool {
				select {
				case failed <- struct{}{}:
				default:
				}
				return x.fail(w, r)
			})
			s := p.shipper()
			s.Marked(store.MarkAt(0, int64(len(body))))
			bound, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Finish(bound) }()
			for range 3 {
				<-failed
			}
			cancel()
			err := <-ended
			if err == nil || !strings.Contains(err.Error(), "are not at s3://pages/") || !strings.Contains(err.Error(), x.says) || strings.Contains(err.Error(), shiptest.Secret) {
				t.Errorf("it ended with %v, and not %q", err, x.says)
			}
			told := p.heard()
			if len(told) != 1 || !strings.Contains(told[0].Trouble, x.says) || strings.ContainsAny(told[0].Trouble, "\x1b\n") {
				t.Errorf("it said %+v, and not %q once", told, x.says)
			}
			if state, err := Read(filepath.Join(p.dir, "shipped.json")); err != nil || state.Left != 1 || state.LeftBytes != int64(len(body)) || state.Trouble == "" {
				t.Errorf("it keeps %+v, %v", state, err)
			}
			p.shop.Fail(nil)
			if err := s.Finish(t.Context()); err != nil {
				t.Error(err)
			}
			if got := p.shop.Files()[strings.TrimPrefix(s.Place(), "s3://pages/")+"/archive/bees-00000.warc.gz"]; string(got) != body {
				t.Errorf("the store has %d bytes", len(got))
			}
		})
	}
}

// Wrong credentials, another bucket, and what can be no place, are refused with what helps.
func TestRefused(t *testing.T) {
	p := newPier(t)
	for want, x := range map[string]struct{ place, endpoint, id, secret string }{
		"it does not know the credentials":  {"s3://pages", p.shop.URL, shiptest.ID, "guessed"},
		"it does not know the credentials:": {"s3://pages", p.shop.URL, "somebody", shiptest.Secret},
		"there is no bucket wasps":          {"s3://wasps/x", p.shop.URL, shiptest.ID, shiptest.Secret},
		"does not answer":                   {"s3://pages", "http://127.0.0.1:1", shiptest.ID, shiptest.Secret},
	} {
		t.Setenv("AWS_ACCESS_KEY_ID", x.id)
		t.Setenv("AWS_SECRET_ACCESS_KEY", x.secret)
		s, err := Open(x.place, x.endpoint, "")
		if err != nil {
			t.Fatal(err)
		}
		err = s.Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "guessed") || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%v, and not %q", err, want)
		}
		if waits := want == "does not answer"; waits == errors.As(err, new(*RefusedError)) {
			t.Errorf("%v: waiting helps: %v", err, !waits)
		}
	}
	for _, place := range []string{"", "pages", "s3://", "https://pages", "s3://u:p@pages", "s3://pages//a", "s3://pages?x", "s3://pages#x"} {
		if _, err := Open(place, p.shop.URL, ""); err == nil {
			t.Errorf("%q is taken", place)
		}
	}
	for _, endpoint := range []string{"ftp://x", "https://", "https://u:p@x", "s3.example.org", "https://x/y"} {
		if _, err := Open("s3://pages", endpoint, ""); err == nil {
			t.Errorf("%q is taken", endpoint)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(p.dir, "credentials"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(p.dir, "none"))
	if _, err := Open("s3://pages", p.shop.URL, ""); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials: %v", err)
	}
	p.write("credentials", "[default]\naws_access_key_id = "+shiptest.ID+"\naws_secret_access_key = "+shiptest.Secret+"\n")
	s, err := Open("s3://pages", p.shop.URL, "")
	if err == nil {
		err = s.Check(t.Context())
	}
	if err != nil {
		t.Errorf("with those of the file: %v", err)
	}
}

// What was shipped is brought back as it was, also by a second try; what is not as it was
// shipped, or has a name that leads elsewhere, is not.
func TestFetch(t *testing.T) {
	p := newPier(t)
	p.write("archive/bees-00000.warc.gz", "first")
	s := p.shipper()
	s.Marked(store.MarkAt(0, 5))
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(s.Place(), "s3://pages/")
	list, err := p.open("s3://pages/crawls").List(t.Context())
	if err != nil || len(list) != 1 || list[0] != (Shipment{strings.TrimPrefix(name, "crawls/"), 1, 5}) {
		t.Errorf("there is %+v, %v", list, err)
	}
	for _, bad := range []string{"/archive/../../../x-00000.warc.gz", "/archive/a/b-00000.warc.gz", "/..", "/archive/.warc.gz", "/archive/.x-00000.warc.gz",
		"/archive/x.warc.gz", "/archive/acts.jsonl", "/acts.jsonl", "/acts-for-all.jsonl", "/events.jsonl", "/frontier", "/lock", "/shipped.json", "/NUL", "/index/x"} {
		p.shop.Set(name+bad, []byte("bad"))
	}
	out := t.TempDir()
	free, unknown := uint64(1<<40), error(nil)
	fetch := func(place, dir string) error {
		return p.open(place).Fetch(t.Context(), filepath.Join(dir, "archive"), []string{filepath.Join(dir, "job.yaml"), filepath.Join(dir, "model")},
			func() (uint64, error) { return free, unknown }, func(int64, int64) {})
	}
	// All of it needs room before any of it is written; what is here already needs none.
	all := uint64(len("first") + len("name: bees\n"))
	for _, x := range []struct {
		here    string
		free    uint64
		unknown error
		fits    bool
	}{{"", all - 1, nil, false}, {"", all, nil, true}, {"", 0, errors.New("it cannot tell"), true}, {"first", all - 5, nil, true}, {"first", all - 6, nil, false}} {
		dir := t.TempDir()
		if x.here != "" {
			if err := os.Mkdir(filepath.Join(dir, "archive"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "archive", "bees-00000.warc.gz"), []byte(x.here), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		free, unknown = x.free, x.unknown
		err := fetch(s.Place(), dir)
		_, missing := os.Stat(filepath.Join(dir, "job.yaml"))
		if x.fits && (err != nil || missing != nil) || !x.fits && (err == nil || !strings.Contains(err.Error(), "make room") || missing == nil) {
			t.Errorf("%q is here and %d bytes are free: %v, job.yaml: %v", x.here, x.free, err, missing)
		}
	}
	free, unknown = 1<<40, nil
	for range 2 {
		if err := fetch(s.Place(), out); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	if err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, err := os.ReadFile(path)
			rel, _ := filepath.Rel(out, path)
			got = append(got, fmt.Sprintf("%s %s", filepath.ToSlash(rel), b))
			return err
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"archive/bees-00000.warc.gz first", "job.yaml name: bees\n"}; !slices.Equal(got, want) {
		t.Errorf("fetched %q, and not %q", got, want)
	}
	// In the folder of another crawl nothing is written.
	another := filepath.Join(t.TempDir(), "wasps")
	if err := os.MkdirAll(another, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(another, "job.yaml"), []byte("name: wasps\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := fetch(s.Place(), another); err == nil || !strings.Contains(err.Error(), "is not what was shipped") {
		t.Errorf("into another crawl: %v", err)
	}
	if entries, err := os.ReadDir(another); err != nil || len(entries) != 1 {
		t.Errorf("the folder of another crawl has %v, %v", entries, err)
	}
	p.write("archive/bees-00000.warc.gz", "other")
	if err := fetch(s.Place(), p.dir); err == nil || !strings.Contains(err.Error(), "is not what was shipped") {
		t.Errorf("over another file: %v", err)
	}
	p.shop.Set(name+"/archive/bees-00000.warc.gz", []byte("worse"))
	if err := fetch(s.Place(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not what was shipped") {
		t.Errorf("of another file: %v", err)
	}
	for _, body := range [][]byte{nil, []byte("without a sum")} { // which is that of the file before it
		p.shop.Set(name+"/archive/bees-00000.warc.gz", body)
	}
	if err := fetch(s.Place(), out); err == nil || !strings.Contains(err.Error(), "is not what was shipped") {
		t.Errorf("where a file of another size has no sum at the store: %v", err)
	}
	if err := fetch("s3://pages/crawls", t.TempDir()); err == nil || !strings.Contains(err.Error(), "waggle ship list") {
		t.Errorf("above it: %v", err)
	}
}

// Another store has nothing of what was shipped to the first, and neither has a copy of the
// folder: each is shipped all of it.
func TestAnother(t *testing.T) {
	p := newPier(t)
	p.write("archive/bees-00000.warc.gz", "first")
	first := p.shipper()
	first.Marked(store.MarkAt(0, 5))
	if err := first.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := p.shipper(); again.Place() != first.Place() {
		t.Errorf("the same folder is shipped to %s, and not to %s", again.Place(), first.Place())
	}
	for name, another := range map[string]func() *shiptest.Store{
		"store": func() *shiptest.Store { return shiptest.New(t) },
		"folder": func() *shiptest.Store {
			dir := filepath.Join(t.TempDir(), filepath.Base(p.dir))
			if err := os.CopyFS(dir, os.DirFS(p.dir)); err != nil {
				t.Fatal(err)
			}
			p.dir = dir
			return p.shop
		},
	} {
		shop := another()
		to, err := Open("s3://pages/crawls", shop.URL, "")
		if err != nil {
			t.Fatal(err)
		}
		s := p.shipperTo(to)
		if s.Place() == first.Place() {
			t.Errorf("another %s: it ships to %s too", name, s.Place())
		}
		s.Marked(store.MarkAt(0, 5))
		if n, end, _ := store.MarkedFile(s.Safe()); n != 0 || end != 0 {
			t.Errorf("another %s: safe up to %d of file %d", name, end, n)
		}
		if err := s.Finish(t.Context()); err != nil {
			t.Error(err)
		}
		if got := string(shop.Files()[strings.TrimPrefix(s.Place(), "s3://pages/")+"/archive/bees-00000.warc.gz"]); got != "first" {
			t.Errorf("another %s: it has %q", name, got)
		}
	}
}

// Where turns that were shipped are gone, as after a power failure, what is fetched anew is
// shipped anew, and only what is before them counts as shipped.
func TestMarkBack(t *testing.T) {
	for name, x := range map[string]struct {
		number int
		end    int64
		safe   int64
	}{
		"into the last file":      {1, 2, 2},
		"to its begin":            {1, 0, 0},
		"into a complete file":    {0, 3, 3},
		"to the end of this file": {0, 5, 5},
		"to nothing":              {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPier(t)
			p.write("archive/bees-00000.warc.gz", "first")
			p.write("archive/bees-00001.warc.gz", "second")
			s := p.shipper()
			s.Marked(store.MarkAt(1, 6))
			if err := s.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			s = p.shipper()
			s.Marked(store.MarkAt(x.number, x.end))
			if n, end, err := store.MarkedFile(s.Safe()); n != x.number || end != x.safe || err != nil {
				t.Errorf("safe up to %d of file %d, %v", end, n, err)
			}
			// As large and as old as they were, with other pages.
			for _, name := range []string{"archive/bees-00000.warc.gz", "archive/bees-00001.warc.gz"} {
				path := filepath.Join(p.dir, name)
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(name, "1.warc.gz") || x.number == 0 {
					p.write(name, strings.Repeat("x", int(info.Size())))
				}
				if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
			s.Marked(store.MarkAt(1, 6))
			if err := s.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := string(p.shop.Files()[strings.TrimPrefix(s.Place(), "s3://pages/")+"/archive/bees-00001.warc.gz"]); got != "xxxxxx" {
				t.Errorf("the store has %q", got)
			}
			if n, end, _ := store.MarkedFile(s.Safe()); n != 1 || end != 6 {
				t.Errorf("safe up to %d of file %d in the end", end, n)
			}
		})
	}
}
