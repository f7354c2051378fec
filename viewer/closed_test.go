package viewer

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
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
