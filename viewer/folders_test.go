package viewer

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/index"
	"github.com/waggle-crawler/waggle/viewer/watch"
)

// damages are what can become of the folder of a crawl while its page is open, or before.
// Of each is known what the page still shows, and in which words it says what is wrong.
var damages = []struct {
	name   string
	before func(col collection.Collection) error // before the page is opened
	open   func(col collection.Collection) error // while it is open
	until  func(*watch.State) bool               // what the page is told then
	says   map[string][]string                   // by what is asked for, what the answer holds
}{
	{
		name:  "whole",
		until: func(s *watch.State) bool { return s.Index.There && s.Read() },
		says: map[string][]string{
			"state": {`"damaged":0`, `"ended":"FrontierEmpty"`}, "list": {`"all":6`}, "search": {`"index":true`, `"matches":4`},
			"body": {`"archived":true`}, "explain": {"fetched"}, "export": {"https://bees.test/dance"}, "tell": {`"number":1`},
		},
	},
	{
		name:  "the folder is removed while the page is open",
		open:  func(col collection.Collection) error { return os.RemoveAll(col.Dir()) },
		until: func(s *watch.State) bool { return s.Error != "" && s.Closed != "" },
		says: map[string][]string{"state": {`"pages":6`, "does not hold the crawl any more", "waggle open FOLDER", `"closed":"`}, "list": {`"all":6`}, "page": {"404", "was the folder moved or removed?"},
			"body": {"404", "does not hold the crawl any more"}, "explain": {"404", "Put it back"}, "export": {"404", "Put it back"}, "tell": {"409", "Put it back"}, "job": {"404", "Put it back"},
		},
	},
	{
		name:  "the folder is moved while the page is open",
		open:  func(col collection.Collection) error { return os.Rename(col.Dir(), col.Dir()+"-moved") },
		until: func(s *watch.State) bool { return s.Error != "" && s.Closed != "" },
		says: map[string][]string{"state": {`"pages":6`, "does not hold the crawl any more", "waggle open FOLDER", `"closed":"`}, "list": {`"all":6`}, "page": {"404", "was the folder moved or removed?"},
			"body": {"404", "does not hold the crawl any more"}, "explain": {"404", "Put it back"}, "export": {"404", "Put it back"}, "tell": {"409", "Put it back"}, "job": {"404", "Put it back"},
		},
	},
	{
		name: "the crawl was killed",
		before: func(col collection.Collection) error {
			b, err := os.ReadFile(col.EventLog())
			if err != nil {
				return err
			}
			return errors.Join(os.Truncate(col.EventLog(), int64(len(b)*2/3)), os.WriteFile(col.ActivityFile(), []byte(`{"at":"2026-01-01T00:00:00Z","fetches":1,"stages":{"request":1},"longest":[]}`), 0o644))
		},
		says: map[string][]string{"state": {`"running":false`, `"pages":3`, `"ended":""`}, "list": {`"all":3`}, "body": {`"archived":true`}, "tell": {`"number":1`}},
	},
	{
		name: "without an index, harvest, checksums and acts, as an older version leaves it",
		before: func(col collection.Collection) error {
			return errors.Join(os.RemoveAll(index.Dir(col)), os.RemoveAll(col.ProvenanceFile()), os.RemoveAll(col.HarvestFile()), os.RemoveAll(col.SumFile()), os.RemoveAll(col.ActFile()))
		},
		says: map[string][]string{"state": {`"there":false`, `"damaged":0`}, "list": {`"all":6`}, "search": {`"index":false`}, "body": {`"archived":true`}, "export": {"bees.test/dance"}},
	},
	{
		name: "the log is damaged in the middle",
		before: func(col collection.Collection) error {
			return replaceIn(col.EventLog(), `"https://bees.test/hive","from"`, `"https://bees.test/hivf","from"`)
		},
		says: map[string][]string{"state": {`"damaged":1`, `"pages":5`}, "list": {`"all":5`}, "body": {`"archived":true`}, "explain": {"the line is damaged", "waggle verify", "waggle repair"}},
	},
	{
		name:   "of a newer version",
		before: func(col collection.Collection) error { return replaceIn(col.EventLog(), `"seeded"`, `"sown"`) },
		says:   map[string][]string{"state": {`"pages":6`, `"damaged":1`}, "list": {`"all":6`}, "body": {`"archived":true`}},
	},
	{
		name: "the archive is cut",
		before: func(col collection.Collection) error {
			files, err := col.ArchiveFiles()
			if err != nil {
				return err
			}
			return os.Truncate(files[0], 900)
		},
		says: map[string][]string{"state": {`"pages":6`}, "list": {`"all":6`}, "body": {`"archived":false`, "files of the archive are missing or damaged", "waggle verify"}, "page": {"200"}, "export": {"bees.test/dance"}},
	},
	{
		name:   "the archive is gone",
		before: func(col collection.Collection) error { return os.RemoveAll(col.ArchiveDir()) },
		says:   map[string][]string{"state": {`"pages":6`}, "list": {`"all":6`}, "body": {`"archived":false`, "files of the archive are missing or damaged", "waggle verify"}, "page": {"200"}, "export": {"bees.test/dance"}},
	},
	{
		name: "the index is damaged",
		before: func(col collection.Collection) error {
			return filepath.WalkDir(index.Dir(col), func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				return os.WriteFile(path, []byte("rubbish"), 0o644)
			})
		},
		until: func(s *watch.State) bool { return s.Index.Error != "" },
		says:  map[string][]string{"state": {`"there":false`, "waggle index makes it anew"}, "list": {`"all":6`}, "search": {"200", `"index":false`}},
	},
	{
		name:   "the job file is damaged",
		before: func(col collection.Collection) error { return os.WriteFile(col.JobFile(), []byte("budget: ["), 0o644) },
		says:   map[string][]string{"state": {`"pages":6`, "job.yaml:1: ", "put the file back, or correct it"}, "list": {`"all":6`}, "body": {`"archived":true`}, "job": {"budget: ["}},
		until:  func(s *watch.State) bool { return s.Job != "" },
	},
	{
		name:   "the job file is missing",
		before: func(col collection.Collection) error { return os.Remove(col.JobFile()) },
		until:  func(s *watch.State) bool { return s.Job != "" },
		says: map[string][]string{"state": {`"pages":6`, "job.yaml is missing", "put it back"}, "list": {`"all":6`}, "body": {`"archived":true`}, "export": {"bees.test/dance"},
			"tell": {"409", "job.yaml is missing", "put it back"}, "job": {"404", "job.yaml is missing: put it back"}},
	},
	{
		name: "the job file is cut off",
		before: func(col collection.Collection) error {
			b, err := os.ReadFile(col.JobFile())
			if err != nil {
				return err
			}
			return os.Truncate(col.JobFile(), int64(len(b)/2))
		},
		until: func(s *watch.State) bool { return s.Job != "" },
		says:  map[string][]string{"state": {`"pages":6`, "job.yaml", "it is cut off"}, "list": {`"all":6`}, "body": {`"archived":true`}},
	},
}

func replaceIn(name, was, is string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(strings.ReplaceAll(string(b), was, is)), 0o644)
}

// asked answers what a person looks at on the page of a crawl.
func (d *desk) asked() map[string]string {
	dance := url.QueryEscape("https://bees.test/dance")
	out := map[string]string{}
	for name, path := range map[string]string{
		"state": "state", "curve": "curve", "hosts": "hosts", "list": "pages", "search": "pages?text=honey", "page": "page?url=" + dance, "body": "body?url=" + dance,
		"explain": "explain?url=" + dance, "graph": "graph", "job": "job", "acts": "acts", "export": "exports/pages-csv?partial=1", "failures": "failures",
	} {
		got, b := d.ask("/api/crawls/1/" + path)
		out[name] = fmt.Sprintf("%d %s", got.StatusCode, b)
	}
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.http.URL+"/api/crawls/1/acts", strings.NewReader(`{"do":"budget","pages":100}`))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.key)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer got.Body.Close()
	b := make([]byte, 1000)
	n, _ := got.Body.Read(b)
	out["tell"] = fmt.Sprintf("%d %s", got.StatusCode, b[:n])
	return out
}

func TestFolders(t *testing.T) {
	whole := crawled(t, bees(), "https://bees.test/")
	indexed(t, whole)
	for _, x := range damages {
		t.Run(x.name, func(t *testing.T) {
			col := collection.At(filepath.Join(t.TempDir(), "bees"))
			if err := os.CopyFS(col.Dir(), os.DirFS(whole.Dir())); err != nil {
				t.Fatal(err)
			}
			if x.before != nil {
				if err := x.before(col); err != nil {
					t.Fatal(err)
				}
			}
			d := serve(t, col)
			if x.open != nil {
				if err := x.open(col); err != nil {
					t.Fatal(err)
				}
			}
			if x.until != nil {
				d.crawls[0].until(t, x.until)
			}
			answers := d.asked()
			for what, parts := range x.says {
				for _, part := range parts {
					if !strings.Contains(answers[what], part) {
						t.Errorf("%s: %s\ndoes not hold %s", what, answers[what], part)
					}
				}
			}
			if told := strings.Contains(answers["state"], `"job":"`); x.open == nil && told != strings.Contains(x.name, "job file") {
				t.Errorf("of the job file is told: %v: %s", told, answers["state"])
			}
			if strings.Contains(answers["state"], `"activity"`) {
				t.Errorf("a crawl that does not run has fetches: %s", answers["state"])
			}
		})
	}
}

// A crawl that begins later in a folder that is open is shown, and told to who listens; what
// holds no crawl is passed over, and one that is shown already is not shown twice; one whose
// folder is gone is shown no longer.
func TestCrawlsThatBeginLater(t *testing.T) {
	whole := crawled(t, bees(), "https://bees.test/")
	dir := t.TempDir()
	begin := func(name string) {
		t.Helper()
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(whole.Dir())); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Find(dir); err == nil || !strings.Contains(err.Error(), "and neither do the folders in it") {
		t.Errorf("an empty folder: %v", err)
	}
	begin("first")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "notes"), 0o755), os.WriteFile(filepath.Join(dir, "list.txt"), []byte("bees"), 0o644)); err != nil {
		t.Fatal(err)
	}
	found, err := Find(dir)
	if err != nil || len(found.Collections) != 1 || !found.Several || !slices.Equal(found.Others, []string{"notes"}) {
		t.Fatalf("found %+v, %v", found, err)
	}
	if one, err := Find(found.Collections[0].Dir()); one.Several || len(one.Others) > 0 || err != nil {
		t.Errorf("the folder of a crawl holds several: %+v, %v", one, err)
	}
	d := serveWith(t, Options{Collections: found.Collections, Folders: []string{dir, filepath.Join(dir, "gone")}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.http.URL+"/api/crawls/1/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.key)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 1<<20)
	until := func(told string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), told) {
				return
			}
		}
		t.Fatalf("%s is not told: %v", told, lines.Err())
	}
	until(`"crawls":1`)
	begin("second")
	until(`"crawls":2`)
	begin("notes") // a folder that was there
	until(`"crawls":3`)
	if c := d.add(collection.At(filepath.Join(dir, "first") + "/")); c.ID() != "1" {
		t.Errorf("a crawl that is shown is shown again as %s", c.ID())
	}
	d.find("3").until(t, func(s *watch.State) bool { return s.Figures.Pages == 6 })
	_, b := d.ask("/api/crawls/3/state")
	if !strings.Contains(string(b), `"pages":6`) || !strings.Contains(string(b), "notes") || len(d.all()) != 3 {
		t.Errorf("%d crawls, the third is %s", len(d.all()), b)
	}

	// One whose folder is gone is not among those to choose from; where it is looked at, it says so.
	d.find("2").until(t, (*watch.State).Read)
	if err := os.Rename(filepath.Join(dir, "second"), filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	until(`"crawls":2`)
	if _, b := d.ask("/api/crawls"); strings.Contains(string(b), "second") || !strings.Contains(string(b), "first") || !strings.Contains(string(b), "notes") {
		t.Errorf("to choose from are %s", b)
	}
	d.find("2").until(t, func(s *watch.State) bool { return strings.Contains(s.Error, "does not hold the crawl any more") })
	begin("second") // it is put back
	until(`"crawls":3`)
	if _, b := d.ask("/api/crawls"); !strings.Contains(string(b), "second") || len(d.all()) != 3 {
		t.Errorf("after it was put back there are %d crawls: %s", len(d.all()), b)
	}
}

// A folder that is empty, or not there yet, shows the crawls that others begin in it, and below it.
func TestCrawlsThatBeginInAnEmptyFolder(t *testing.T) {
	whole := crawled(t, bees(), "https://bees.test/")
	for _, below := range []string{"", "one"} {
		dir := filepath.Join(t.TempDir(), "empty")
		d := serveWith(t, Options{Folders: []string{dir}})
		if _, b := d.ask("/api/crawls"); string(b) != "[]" {
			t.Fatalf("an empty folder: %s", b)
		}
		_, more := d.present()
		if err := os.CopyFS(filepath.Join(dir, below), os.DirFS(whole.Dir())); err != nil {
			t.Fatal(err)
		}
		<-more
		d.find("1").until(t, func(s *watch.State) bool { return s.Figures.Pages == 6 })
		d.lookForMore()
		if all, _ := d.present(); len(all) != 1 {
			t.Errorf("%d crawls, after one was begun in %q", len(all), below)
		}
	}
}
