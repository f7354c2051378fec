package collection

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// workerFolder is the folder of the only worker of a crawl, after so many requests, 0 = all, with events behind
// what is acknowledged.
func workerFolder(t *testing.T, requests int, behind ...event.Event) Collection {
	t.Helper()
	c := At(filepath.Join(t.TempDir(), "worker"))
	run(t, c.dir, requests, StoreOptions{})
	f, err := frontier.Open(c.FrontierDir(), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(t.Context(), web.Turn{State: map[string][]byte{crawl.StateCluster: []byte(`{"crawl":"c","worker":"w","name":"w"}`)}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.EventLog())
	if err != nil {
		t.Fatal(err)
	}
	log, err := event.Open(c.EventLog(), strconv.AppendInt(nil, info.Size(), 10))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(behind...); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// An act that the log tells of behind what is acknowledged, with the page there, stays
// what it was.
func TestMergedTailHasAct(t *testing.T) {
	now := event.At{At: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	from := workerFolder(t, 0,
		event.Act{At: now, Number: 1, Do: event.Mute, Place: "wasps.test"},
		event.Fetched{At: now, Visit: event.Visit{URL: address("late.html")}, Status: 200},
	)
	out := filepath.Join(t.TempDir(), "all")
	if _, err := Merge(t.Context(), out, []Collection{from}, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	acts, err := At(out).Told()
	if err != nil || len(acts) != 1 || acts[0].Words() != "mute wasps.test" {
		t.Errorf("the merged log has the acts %+v, %v", acts, err)
	}
	b, err := os.ReadFile(At(out).ActFile())
	if want := `{"do":"mute","place":"wasps.test"}`; err != nil || strings.TrimSpace(string(b)) != want {
		t.Errorf("acts.jsonl: %s, %v, want %s", b, err, want)
	}
}

// A crawl that was merged takes links of hosts that its workers gave to each other, also one that a version merged
// which closed them.
func TestMergedTakesHostsGivenAway(t *testing.T) {
	now := event.At{At: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	host := address("").Host()
	for _, closed := range []bool{false, true} {
		from := workerFolder(t, 1,
			event.Dropped{At: now, Reason: web.ReasonElsewhere, Host: host, Count: 1},
			event.Fetched{At: now, Visit: event.Visit{URL: address("late.html")}, Status: 200},
		)
		out := filepath.Join(t.TempDir(), "all")
		if _, err := Merge(t.Context(), out, []Collection{from}, MergeOptions{Archive: store.Options{Prefix: "bees"}}); err != nil {
			t.Fatal(err)
		}
		f, err := frontier.Open(At(out).FrontierDir(), frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.State(t.Context(), "crawl")
		count := map[string]any{}
		if err = errors.Join(err, json.Unmarshal(b, &count)); err != nil || count["closed"] != 0.0 {
			t.Errorf("hosts are closed: %s, %v", b, err)
		}
		if closed {
			count["closed"] = 1
			if b, err = json.Marshal(count); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Commit(t.Context(), web.Turn{State: map[string][]byte{"crawl": b, "closed.0": []byte(string(host) + " elsewhere")}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		s := &site{asked: map[string]int{}}
		_, err = crawlSite(t, out, StoreOptions{}, nil, func(stop context.CancelFunc) crawl.Fetcher { s.stop = stop; return s })
		if err != nil || s.asked["/wheels.html"] != 1 {
			t.Errorf("closed before: %v: asked for %v, %v, and not for a page that was found after", closed, s.asked, err)
		}
	}
}

// The run of a worker is in the merged log that of a crawl alone, whose budget is its own.
func TestMergedIsAlone(t *testing.T) {
	now := event.At{At: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	from := workerFolder(t, 0, event.Started{At: now, Name: "bees", Pages: 100, Several: true},
		event.Fetched{At: now, Visit: event.Visit{URL: address("late.html")}, Status: 200})
	out := filepath.Join(t.TempDir(), "all")
	if _, err := Merge(t.Context(), out, []Collection{from}, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	var sum event.Summary
	for e, err := range At(out).Events() {
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(e)
	}
	if sum.Several || sum.Budget != 100 || sum.Runs != 2 {
		t.Errorf("one of several: %v; a budget of %d after %d runs", sum.Several, sum.Budget, sum.Runs)
	}
}

// What a merge that died left makes way for the next one; what is of somebody else stays.
func TestMergedBesideOther(t *testing.T) {
	from := workerFolder(t, 0)
	for _, c := range []struct {
		name   string
		files  []string
		remedy string // "" = it makes way
	}{
		{"made just now", []string{"lock"}, ""},
		{"died as it was marked", []string{"lock", "merge-begun.new"}, ""},
		{"died on the way", []string{"lock", "merge-begun", "events.jsonl", "archive/bees-00000.warc.gz"}, ""},
		{"notes of a person", []string{"notes.txt"}, "move it away, or choose another new folder"},
		{"a crawl", []string{"lock", "job.yaml", "events.jsonl"}, "move it away, or choose another new folder"},
	} {
		out := filepath.Join(t.TempDir(), "all")
		var names []string
		for _, f := range c.files {
			f = filepath.Join(out+".merging", f)
			names = append(names, f)
			if err := errors.Join(os.MkdirAll(filepath.Dir(f), 0o755), os.WriteFile(f, []byte("x"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Merge(t.Context(), out, []Collection{from}, MergeOptions{})
		if c.remedy == "" {
			if err != nil || folder.Exists(out+".merging") || folder.Exists(filepath.Join(out, mergeMark)) {
				t.Errorf("%s: %v, or files were left", c.name, err)
			}
			if err := At(out).checkKinds(); err != nil || !At(out).Begun() {
				t.Errorf("%s: no crawl was made: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.remedy) || folder.Exists(out) {
			t.Errorf("%s: %v, and not a refusal with its remedy", c.name, err)
		}
		for _, f := range names {
			if !folder.Exists(f) {
				t.Errorf("%s: %s was removed", c.name, filepath.Base(f))
			}
		}
	}
}

// The folder of a worker whose archive is ahead of its frontier by more than a turn is to be repaired before it is
// merged: nothing is left out without a word.
func TestMergeLagging(t *testing.T) {
	for name, damage := range map[string]func(c Collection) error{
		"the frontier is lost, and the log": func(c Collection) error {
			return errors.Join(os.RemoveAll(c.FrontierDir()), os.Truncate(c.EventLog(), 0))
		},
		"the frontier is lost": func(c Collection) error { return os.RemoveAll(c.FrontierDir()) },
		"the frontier is of an earlier time than the archive": func(c Collection) error {
			f, err := frontier.Open(c.FrontierDir(), frontier.Options{})
			if err != nil {
				return err
			}
			_, err = f.Commit(t.Context(), web.Turn{State: map[string][]byte{crawl.StateArchive: store.StartMark()}})
			return errors.Join(err, f.Close())
		},
	} {
		from := workerFolder(t, 0)
		if err := os.WriteFile(from.MemberFile(), []byte(`{"crawl":"c","worker":"w","name":"w"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := damage(from); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "all")
		if _, err := Merge(t.Context(), out, []Collection{from}, MergeOptions{}); err == nil || !strings.Contains(err.Error(), "repair that folder first") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What lies in an archive and is none of the crawl's pages does not keep a folder from being merged: a response
// without metadata of which the log does not tell, and a file that somebody put there.
func TestMergeOtherRecords(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if _, err := (&meadow{n: 9, asked: map[string]int{}}).resume(t, other, StoreOptions{}, 6); err != nil {
		t.Fatal(err)
	}
	foreign, err := At(other).ArchiveFiles()
	if err != nil || len(foreign) != 1 {
		t.Fatal(foreign, err)
	}
	from := workerFolder(t, 0)
	files, err := from.ArchiveFiles()
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	archive, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	strange, err := os.ReadFile(foreign[0])
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range store.Pieces(foreign[0], -1) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Type == "response" || p.Type == "request" {
			archive = append(archive, strange[p.Offset:p.End]...)
		}
	}
	prefix, _, _ := store.NumberOf(filepath.Base(files[0]))
	beside := filepath.Join(from.ArchiveDir(), prefix+"-00009.warc.gz")
	if err := errors.Join(os.WriteFile(files[0], archive, 0o644), os.WriteFile(beside, strange, 0o644)); err != nil {
		t.Fatal(err)
	}
	f, err := frontier.Open(from.FrontierDir(), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Commit(t.Context(), web.Turn{State: map[string][]byte{crawl.StateArchive: store.MarkAt(0, int64(len(archive)))}})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if v, err := from.Verify(t.Context(), nil); err != nil || !v.Whole {
		t.Errorf("before: %v, %v", v.Damage, err)
	}
	out := filepath.Join(t.TempDir(), "all")
	if _, err := Merge(t.Context(), out, []Collection{from}, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := outcomesIn(t, out), outcomesIn(t, from.Dir()); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
