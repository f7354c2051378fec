package process

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
)

// On a disk that cannot be written to, a crawl is shown, searched and exported, and what
// needs writing says so.
func TestReadOnlyDisk(t *testing.T) {
	long.Test(t, "mounts a disk")
	t.Parallel()
	const mount = `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"`
	if said, err := exec.Command("unshare", "-rm", "sh", "-c", mount, "sh", t.TempDir(), "true").CombinedOutput(); err != nil {
		t.Skipf("needs unshare and mounts of its own: %v %s", err, said)
	}
	site := serveNumbered(t, 10)
	dir := filepath.Join(t.TempDir(), "crawl")
	for _, args := range [][]string{append(site.crawl(dir), "--keywords", "bees"), {"index", dir}} {
		if said, err := waggleCommand(args).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said)
		}
	}
	there := func(args ...string) *exec.Cmd {
		return exec.Command("unshare", append([]string{"-rm", "sh", "-c", mount, "sh", dir, waggle}, args...)...)
	}
	out := filepath.Join(t.TempDir(), "out")
	for _, x := range []struct {
		args  string
		fails bool
		says  string
	}{
		{"search DIR page", false, "9 of 9 pages"},
		{"export DIR pages-csv", false, site.hosts[0]},
		{"export DIR wacz -o OUT", false, ""},
		{"explain " + site.hosts[0] + "/ -o DIR", false, "Fetched"},
		{"steer DIR list", false, ""},
		{"verify DIR", false, "everything is whole"},
		{"index DIR --index OUT.index", false, "9 pages"},
		{"search DIR page --index OUT.index", false, "9 of 9 pages"},
		{"index DIR", true, "put it elsewhere with --index FOLDER"},
		{"crawl -o DIR --resume", true, "read-only file system"},
		{"steer DIR pause", true, "read-only file system"},
	} {
		args := strings.Fields(strings.NewReplacer("DIR", dir, "OUT", out).Replace(x.args))
		said, err := there(args...).CombinedOutput()
		if (err != nil) != x.fails || !strings.Contains(string(said), x.says) {
			t.Errorf("waggle %s: %v\n%s\ndoes not say %q", x.args, err, said, x.says)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, there("open", dir, "--no-browser"))
	page.until("read", func(s *shownState) bool { return s.Figures.Ended != "" })
	address := url.QueryEscape(site.hosts[0] + "/")
	for path, want := range map[string]string{"pages": `"title":"Page 0"`, "body?url=" + address: `"archived":true`, "exports/pages-csv": site.hosts[0]} {
		if got := page.text("crawls/1/"+path, ""); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, want) {
			t.Errorf("%s: %.300s does not hold %s", path, got, want)
		}
	}
	if got := page.text("crawls/1/acts", `{"do":"pause"}`); !strings.HasPrefix(got, "409 ") || !strings.Contains(got, "may not write in") || !strings.Contains(got, "open a copy of the crawl") {
		t.Errorf("an act: %s", got)
	}
	if got := page.text("crawls/1/index", `{}`); !strings.HasPrefix(got, "409 ") || !strings.Contains(got, "may not write in") || !strings.Contains(got, "--index FOLDER") {
		t.Errorf("an index: %s", got)
	}
	page.until("no index", func(s *shownState) bool { return strings.Contains(s.Index.Closed, "may not write in") })
}
