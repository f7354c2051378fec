package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/view"
	"github.com/waggle-crawler/waggle/job"
)

// An address of an engine without its scheme is no folder, and a password in it is not told.
func TestJoinWithoutScheme(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, join := range []string{"worker:secret@hive", "secret@hive", "worker:secret@hive:4222", "worker:sec@ret@hive"} {
		err := (&engineFlags{Join: join}).checkEngine()
		if err == nil || !strings.Contains(err.Error(), "nats://") || !strings.Contains(err.Error(), "hive") {
			t.Errorf("%s: %v", join, err)
		} else if strings.Contains(err.Error(), "sec") {
			t.Errorf("%s is told as %v", join, err)
		}
	}
	if err := os.Mkdir("me@home", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, join := range []string{"me@home", "engine", filepath.Join("a", "engine")} {
		if err := (&engineFlags{Join: join}).checkEngine(); err != nil {
			t.Errorf("%s: %v", join, err)
		}
	}
}

// shown notes what a view is told.
type shown struct {
	view.View
	kinds []string
}

func (s *shown) Add(e event.Event) { s.kinds = append(s.kinds, e.Kind()) }

// The end of a session that is followed by another one is not shown as that of the crawl.
func TestSessionEndIsNotShown(t *testing.T) {
	for over, want := range map[bool][]string{false: {"started", "ended"}, true: {"started"}} {
		s := &shown{}
		v := goingOn{s, func() bool { return over }}
		v.Add(event.Started{})
		v.Add(event.Ended{})
		if !slices.Equal(s.kinds, want) {
			t.Errorf("session over: %v, shown: %v", over, s.kinds)
		}
	}
}

// A session that follows another has the job of that, with what it was told since: flags, and standard
// input, are not read again.
func TestSessionThatFollows(t *testing.T) {
	w, err := collection.At(filepath.Join(t.TempDir(), "bees")).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.SaveJob([]byte("seeds: [http://bees.test/]\ntopic: {keywords: [bee]}\nbudget: {pages: 500}\n")); err != nil {
		t.Fatal(err)
	}
	c := &crawlCmd{File: "job.yaml", SeedsFile: "-"}
	told := &job.Job{Seeds: []string{"http://bees.test/"}, Budget: job.Budget{Pages: 500}}
	next := c.next(&job.Maker{Job: told, Writer: w})
	if next.Job.Budget.Pages != 500 || !slices.Equal(next.Job.Seeds, told.Seeds) || next.Begun == nil || !c.Resume || c.File != "" {
		t.Errorf("it begins with %+v", next.Job)
	}
}

// An engine is made in a folder of its own alone.
func TestFolderOfEngine(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"crawl/job.yaml", "crawl/lock", "crawl/events.jsonl", "source/index.html", "other/lock", "other/notes.txt", "code/store/store.go",
		"engine/store/jetstream/x", "engine/token", "engine/lock", "engine/notes.txt", "begun/lock", "begun/token", "volume/lost+found/x", "file", "starting/lock",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"empty", "starting/store"} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{
		"absent": "", "empty": "", "engine": "", "begun": "", "volume": "", "starting": "",
		"crawl":  "crawl holds a crawl, and no engine: name a folder ",
		"source": "source holds other files (index.html), and no engine: name a folder ",
		"other":  "other holds other files (notes.txt), and no engine: name a folder ",
		"code":   "code holds other files (store), and no engine: name a folder ",
		"file":   "the folder of the engine: ",
	} {
		err := (&engineFlags{Join: dir}).checkEngine()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), "--join: "+want)) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// What a worker that stopped goes on with names a folder of an engine, and no address: that may
// hold a password.
func TestGoOnWithEngine(t *testing.T) {
	for join, want := range map[string]string{
		"eng":                             "waggle crawl -o b --resume --join eng",
		"nats://worker:secret@hive:4222":  "waggle crawl -o b --resume --join ENGINE",
		"nats://a@hive:1,nats://a@hive:2": "waggle crawl -o b --resume --join ENGINE",
	} {
		c := &crawlCmd{Out: "b"}
		c.Join = join
		if got := c.goOn(); got != want {
			t.Errorf("%s: %s, not %s", join, got, want)
		}
	}
}
