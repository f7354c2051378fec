package viewer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/viewer/start"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// The page of a folder that may not be written says so, and refuses what would be written there
// with the same words.
func TestFolderToRead(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	s := start.New(ctx, start.Options{Dir: dir, Note: func(string) {}})
	t.Cleanup(func() { cancel(); s.Wait() })
	col := crawled(t, bees(), "https://bees.test/")
	d := serveWith(t, Options{Start: s, Collections: []collection.Collection{col}, Writable: func(dir string) error {
		return &fs.PathError{Op: "write", Path: dir, Err: os.ErrPermission}
	}})
	no := "the user who runs waggle open may not write in "
	crawl, begin := no+col.Dir()+": open a copy of the crawl, or open it as a user who may", no+dir+": open it as a user who may, or open another folder"
	d.find("1").until(t, func(st *watch.State) bool { return st.Closed == crawl })
	if got, b := d.ask("/api/start"); got.StatusCode != http.StatusOK || !strings.Contains(string(b), `"closed":"`+begin+`"`) {
		t.Errorf("start: %d %.300s", got.StatusCode, b)
	}
	for _, x := range []struct {
		path string
		body any
		code int
		want string
	}{
		{"/api/crawls/1/acts", map[string]any{"do": "pause"}, http.StatusConflict, crawl},
		{"/api/crawls/1/go-on", map[string]any{}, http.StatusOK, crawl},
		{"/api/crawls/1/index", map[string]any{}, http.StatusConflict, no + col.Dir()},
		{"/api/start/begin", draftOf("http://bees.test", "bees"), http.StatusOK, begin},
	} {
		if code, lines := d.send(x.path, x.body); code != x.code || !strings.Contains(strings.Join(lines, "\n"), x.want) {
			t.Errorf("%s: %d %s, want %d and %q", x.path, code, lines, x.code, x.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bees")); err == nil {
		t.Error("a crawl has begun")
	}
}

// A folder of one of several workers says that it goes on by a command, and which.
func TestFolderOfSeveral(t *testing.T) {
	col := crawled(t, bees(), "https://bees.test/")
	d := serve(t, col)
	if _, b := d.ask("/api/crawls/1/state"); strings.Contains(string(b), `"joins"`) {
		t.Errorf("of a crawl alone: %s", b)
	}
	if err := beOfSeveral(col); err != nil {
		t.Fatal(err)
	}
	d.find("1").until(t, func(s *watch.State) bool {
		return s.Joins == "it is of one of several workers, which goes on with the others: waggle crawl -o "+col.Dir()+" --resume --join ENGINE"
	})
}

// A round says so as well, before anybody has it go on and then: the command line knows what earlier rounds know.
func TestFolderOfRound(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := start.New(ctx, start.Options{Dir: t.TempDir(), Note: func(string) {}})
	t.Cleanup(func() { cancel(); s.Wait() })
	col, base := crawled(t, bees(), "https://bees.test/"), crawled(t, bees(), "https://bees.test/")
	round := base.Round(1)
	if err := errors.Join(os.Mkdir(filepath.Dir(round.Dir()), 0o755), os.Rename(col.Dir(), round.Dir())); err != nil {
		t.Fatal(err)
	}
	moved := crawled(t, bees(), "https://bees.test/")
	if err := os.WriteFile(moved.KnownFile(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := serveWith(t, Options{Start: s, Collections: []collection.Collection{round, moved}})
	for id, want := range map[string]string{
		"1": "this is a round of a crawl, which goes on by a command: waggle crawl -o " + round.Dir() + " --resume",
		"2": collection.ErrRoundMoved.Error(),
	} {
		d.find(id).until(t, func(s *watch.State) bool { return s.Joins == want })
		if code, lines := d.send("/api/crawls/"+id+"/go-on", map[string]any{}); code != http.StatusOK || !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("%d %s, want %q", code, lines, want)
		}
	}
}

func beOfSeveral(col collection.Collection) error {
	w, err := col.Lock()
	if err != nil {
		return err
	}
	return errors.Join(w.BeOfSeveral(), w.Close())
}

// Screens on which something is switched off, and those of crawls that are not there, say why; they fit narrow and
// wide windows, and can be read in both colour schemes.
func TestClosedScreensInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	s := start.New(ctx, start.Options{Dir: dir, Note: func(string) {}})
	t.Cleanup(func() { cancel(); s.Wait() })
	closed, joined := crawled(t, bees(), "https://bees.test/"), crawledBy(t, "joined", "", bees(), "https://bees.test/")
	whole := crawled(t, bees(), "https://bees.test/")
	gone := collection.At(filepath.Join(dir, "gone"))
	if err := errors.Join(beOfSeveral(joined), os.CopyFS(gone.Dir(), os.DirFS(whole.Dir()))); err != nil {
		t.Fatal(err)
	}
	d := serveWith(t, Options{Start: s, Collections: []collection.Collection{closed, joined, gone}, Folders: []string{dir}, Writable: func(at string) error {
		if at == joined.Dir() {
			return nil
		}
		return &fs.PathError{Op: "write", Path: at, Err: os.ErrPermission}
	}})
	b := chromium.Open(t)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".figures dd")`)
	b.Eval(`void(location.hash = "#/3/now")`)
	b.Until(`document.querySelector(".status")?.textContent.startsWith("ended")`)
	if err := os.RemoveAll(gone.Dir()); err != nil {
		t.Fatal(err)
	}
	b.Until(`document.querySelector("[role=alert]")?.textContent.includes("does not hold the crawl any more") && document.querySelector("select").selectedOptions[0].textContent.startsWith("Gone: ")`)
	for _, x := range []struct{ name, at, there string }{
		{"gone", "#/3/now", `document.querySelector("[role=alert]#closed")?.textContent.includes("does not hold the crawl any more") && document.querySelector(".go-on")?.disabled && document.title === "Now – bees – waggle"`},
		{"gone-steer", "#/3/steer", `document.querySelector(".steer") && ![...document.querySelectorAll(".steer button, .steer input, .steer select")].some(e => !e.matches(":disabled"))`},
		{"closed-now", "#/1/now", `document.querySelector("#closed") && document.querySelector(".go-on")?.disabled`},
		{"closed-pages", "#/1/pages", `document.querySelectorAll("table.pages tbody tr").length === 6`},
		{"closed-page", "#/1/page?url=" + url.QueryEscape("https://bees.test/hive"), `document.querySelector(".way li")`},
		{"closed-steer", "#/1/steer", `document.querySelector(".steer") && ![...document.querySelectorAll(".steer button, .steer input, .steer select")].some(e => !e.matches(":disabled"))`},
		{"closed-collection", "#/1/collection", `document.querySelector(".forms li")`},
		{"closed-start", "#/new/start", `document.querySelector(".start .notice")?.textContent.startsWith("No crawl can begin here")`},
		{"joined", "#/2/now", `document.querySelector("#joins")?.textContent.includes("--resume --join ENGINE") && document.querySelector(".go-on")?.disabled`},
		{"nowhere", "#/99/now", `document.querySelector("main h1")?.textContent === "There is no such crawl here" && !document.querySelector("nav") && document.querySelector("select").selectedOptions[0].textContent === "No such crawl"`},
	} {
		b.Eval(fmt.Sprintf(`void(location.hash = %q)`, x.at))
		b.Until(x.there)
		if options := b.Eval(`[...document.querySelectorAll("select option")].some(o => o.textContent.startsWith("Gone: "))`); !strings.HasPrefix(x.name, "gone") && options == "true" {
			t.Errorf("%s: a crawl that is gone can be chosen", x.name)
		}
		for _, width := range []int{320, 1280, 3840} {
			for _, dark := range []bool{false, true} {
				b.Resize(width, 900, dark)
				b.Until(`document.documentElement.scrollWidth <= innerWidth`)
				b.Shoot(fmt.Sprintf("%s-%d-%v", x.name, width, dark))
				if got := b.Eval(faint); got != "[]" {
					t.Errorf("%s at %d (dark: %v) has text that is hard to read: %s", x.name, width, dark, got)
				}
			}
		}
	}
}
