package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/internal/madecrawl"
)

// TestIndexFaults has the disk fail under waggle index, or kills it, at one call of the system
// after another that writes, syncs, makes a folder, or opens a file of the index: strace lets the
// nth of a thread fail, or the nth and all after it. Whatever is left, the same command makes of
// it the index that it makes undisturbed, and a search of what is left tells that it is not whole.
// WAGGLE_LONG=all tries all three faults at every call, WAGGLE_LONG=1 one of them, in turn.
func TestIndexFaults(t *testing.T) {
	long.Test(t, "makes an index again and again")
	if why := canSlow(); why != "" {
		t.Skip(why)
	}
	t.Parallel()
	crawl := madecrawl.Crawl(t, filepath.Join(t.TempDir(), "c"), "meadow", madecrawl.Site{
		"https://bees.test/":      {Body: `<title>Bees</title><p>Bees. <a href="/dance">The dance</a> <a href="/nest">The nest</a>`},
		"https://bees.test/dance": {Body: "<title>The dance</title><p>The bees dance on the comb."},
		"https://bees.test/nest":  {Body: "<title>The nest</title><p>The nest of bees."},
	}, "https://bees.test/").Dir()
	search := func(index string) (string, error) {
		out, err := waggleCommand([]string{"search", crawl, "bees", "--index", index}).CombinedOutput()
		return string(out), err
	}
	whole := filepath.Join(t.TempDir(), "index")
	if out, err := waggleCommand([]string{"index", crawl, "--index", whole}).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := search(whole)
	if err != nil || !strings.Contains(want, "https://bees.test/dance") {
		t.Fatalf("%v\n%s", err, want)
	}
	hows := []string{"error=ENOSPC:when=%d", "error=EIO:when=%d+", "signal=KILL:when=%d"}
	calls := 0
	tried, failed := map[string]int{}, map[string]int{}
	for _, c := range []struct {
		call string
		most int      // calls of a thread, about
		at   []string // the files of the index that it is for; none = any file
	}{
		{"pwrite64", 12, nil}, {"fdatasync", 9, nil}, {"fsync", 2, nil}, {"ftruncate", 1, nil}, {"mkdirat", 3, nil}, {"write", 6, nil},
		// What is opened elsewhere is only read.
		{"openat", 9, []string{"lock", "bleve/index_meta.json", "bleve/store", "bleve/store/root.bolt", "bleve/store/000000000003.zap"}},
	} {
		for n := range c.most {
			faults := hows
			if !long.All() {
				faults = hows[calls%len(hows):][:1]
			}
			calls++
			for _, how := range faults {
				inject := fmt.Sprintf("inject="+c.call+":"+how, n+1)
				index := filepath.Join(t.TempDir(), "index")
				program := waggleCommand([]string{"index", crawl, "--index", index})
				args := []string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + c.call, "-e", inject}
				for _, name := range c.at {
					args = append(args, "-P", filepath.Join(index, name))
				}
				cmd := exec.Command("strace", append(args, program.Args...)...)
				cmd.Env = program.Env
				said, errFault := cmd.CombinedOutput()
				tried[how]++
				if errFault != nil {
					failed[how]++
				}
				if strings.Contains(string(said), "goroutine ") {
					t.Errorf("%s: %s", inject, said)
				}
				left, err := search(index)
				if err == nil && left != want && !strings.Contains(left, "The crawl has more than the index") || strings.Contains(left, "goroutine ") {
					t.Errorf("%s: a search finds\n%s", inject, left)
				}
				if out, err := waggleCommand([]string{"index", crawl, "--index", index}).CombinedOutput(); err != nil {
					t.Errorf("%s: it ended with %v\n%s\nand then with %v\n%s", inject, errFault, said, err, out)
				} else if got, err := search(index); err != nil || got != want {
					t.Errorf("%s: in the end a search finds %v\n%s", inject, err, got)
				}
			}
		}
	}
	for _, how := range hows {
		t.Logf("%s: of %d commands %d failed", how, tried[how], failed[how])
		if tried[how] < calls/len(hows) || failed[how] < tried[how]/4 {
			t.Errorf("%s: hardly any command failed", how)
		}
	}
}
