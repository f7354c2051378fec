package process

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/store/ship/shiptest"
)

// shipping is a command with the environment of a user of a store.
func shipping(shop *shiptest.Store, args ...string) *exec.Cmd {
	cmd := waggleCommand(args)
	cmd.Env = append(cmd.Environ(), shop.Env()...)
	return cmd
}

// archived are the pages in the archive of a folder, and how often each is there.
func archived(t *testing.T, dir string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for r, err := range collection.At(dir).Responses(nil) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == http.StatusOK {
			out[strings.TrimPrefix(r.URL.String(), "http://")]++
		}
	}
	return out
}

// TestShipped kills a crawl that ships its archive to a store that fails now and then: in the end
// the store has all of it, and what is fetched from there is the crawl.
func TestShipped(t *testing.T) {
	long.Test(t, "copies archives of several processes")
	t.Parallel()
	shop := shiptest.New(t)
	c := newCrew(t, 30, 20, 5*time.Millisecond)
	dir := filepath.Join(c.dir, "bees")
	args := []string{"crawl", "-o", dir, "--through", c.web.url, "--delay", c.delay.String(), "--scorer", "breadth-first", "--workers", "4",
		"--keywords", "bees", "--ship", "s3://pages/crawls", "--ship-size", "32KiB", "http://" + siteName(0) + "/0"}
	for _, x := range []struct {
		says string
		more []string
		env  string
	}{
		{"there is no bucket wasps", []string{"--ship", "s3://wasps"}, ""},
		{"it does not know the credentials", nil, "AWS_SECRET_ACCESS_KEY=guessed"},
		{"does not answer", []string{"--ship-endpoint", "http://127.0.0.1:1"}, ""},
		{"give a bucket", []string{"--ship", "pages"}, ""},
	} {
		cmd := shipping(shop, append(slices.Clone(args), x.more...)...)
		cmd.Env = append(cmd.Env, x.env)
		said, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(said), x.says) || strings.Contains(string(said), "guessed") {
			t.Errorf("%v, and not %q\n%s", err, x.says, said)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a folder is left", x.says)
		}
	}
	pages := len(c.web.reachable())
	for i := range 3 { // it is killed three times, the second time while the store is down
		if i == 1 {
			shop.Fail(func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			})
		}
		cmd := shipping(shop, args...)
		var out said
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.web.await(t, pages*(i+1)/4)
		cmd.Process.Kill()
		cmd.Wait()
		if i == 1 && !strings.Contains(out.String(), "fails (503") {
			t.Errorf("of a store that is down it says: %s", out.String())
		}
		shop.Fail(nil)
		args = []string{"crawl", "-o", dir, "--resume", "--ship", "s3://pages/crawls", "--ship-size", "32KiB"}
	}
	said, err := shipping(shop, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if bytes.Contains(said, []byte("are not at")) {
		t.Errorf("not all is shipped: %s", said)
	}
	var place string
	said, err = shipping(shop, "ship", "list", "s3://pages/crawls").CombinedOutput()
	for word := range strings.FieldsSeq(string(said)) {
		if strings.HasPrefix(word, "s3://pages/crawls/bees-") {
			place = word
		}
	}
	if err != nil || place == "" {
		t.Fatalf("list: %v\n%s", err, said)
	}
	shipped := 0
	for e, err := range collection.At(dir).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := e.(event.Shipped); ok && s.Trouble == "" {
			shipped++
		}
	}
	if shipped < 2 {
		t.Errorf("the log tells of %d files that were shipped", shipped)
	}
	again := filepath.Join(c.dir, "again")
	if said, err := shipping(shop, "ship", "fetch", place, "-o", again).CombinedOutput(); err != nil {
		t.Fatalf("fetch: %v\n%s", err, said)
	}
	want, have := archived(t, dir), archived(t, again)
	for u := range c.web.reachable() {
		if want[u] != 1 || have[u] != 1 {
			t.Errorf("%s is archived %d times, and fetched %d times", u, want[u], have[u])
		}
	}
	if a, b := strings.Join(c.table(dir), "\n"), strings.Join(c.table(again), "\n"); a != b {
		t.Errorf("the crawl has the pages\n%s\nand what was fetched\n%s", a, b)
	}
	for _, folder := range []string{dir, again} {
		c.waggle("verify", folder)
		if err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte(shiptest.Secret)) || bytes.Contains(b, []byte(shiptest.ID)) {
				t.Errorf("the credentials are in %s", path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for key, b := range shop.Files() {
		if bytes.Contains(b, []byte(shiptest.Secret)) {
			t.Errorf("the credentials are in %s at the store", key)
		}
	}
	c.Log(fmt.Sprint(len(shop.Puts()), " puts of ", len(shop.Files()), " files"))
}
