package job_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// openGarden opens a crawl in dir: it makes the crawl, has it go on, or judges it anew, with what change does to its job.
func openGarden(t *testing.T, dir string) (open func(change func(*job.Job), judged bool) crawl.Rejudging) {
	return func(change func(*job.Job), judged bool) (out crawl.Rejudging) {
		t.Helper()
		w, err := collection.At(dir).Lock()
		if err != nil {
			t.Fatal(err)
		}
		none := job.Duration(0)
		m := &job.Maker{Writer: w, Fetcher: garden{1, 5}, Job: &job.Job{
			Name: "garden", Seeds: []string{"http://garden.test/hub0"}, Topic: job.Topic{Keywords: []string{"honey bee", "hive"}},
			Fetch: job.Fetch{Workers: 1, Types: []string{"html", "pdf"}}, Politeness: job.Politeness{Delay: &none}, Budget: job.Budget{Pages: 8},
		}}
		if w.Begun() {
			m.Begun = &w.Collection
			if m.Job, err = job.In(w.Collection); err != nil {
				t.Fatal(err)
			}
		}
		change(m.Job)
		if judged {
			out, err = m.Rejudge(t.Context())
		} else {
			var made *crawl.Crawl
			if made, err = m.Crawl(t.Context()); err == nil {
				_, err = made.Run(t.Context())
			}
		}
		if err = errors.Join(err, w.SaveHarvest(), m.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// Pages whose kind is not wanted any more stay out of the harvest whatever the threshold: one of before, one that comes with
// the new judgement, and one behind that. They come back when their kind is wanted again.
func TestUnwantedPagesStayOut(t *testing.T) {
	for _, when := range []string{"before", "with it", "after"} {
		dir := filepath.Join(t.TempDir(), "garden")
		open := openGarden(t, dir)
		threshold := func(j *job.Job) { v := 0.1; j.Judge.Threshold = &v }
		documents := func(j *job.Job) { j.Topic.Want = "documents" }
		open(func(*job.Job) {}, false)
		var out crawl.Rejudging
		switch when {
		case "before":
			open(func(j *job.Job) { threshold(j); j.Budget.Pages++ }, false)
			out = open(documents, true)
		case "with it":
			out = open(func(j *job.Job) { threshold(j); documents(j) }, true)
		case "after":
			out = open(documents, true)
			open(func(j *job.Job) { threshold(j); j.Budget.Pages++ }, false)
		}
		if out.Was == 0 || out.Is != 0 {
			t.Errorf("the threshold changes %s: %d relevant pages, %d before", when, out.Is, out.Was)
		}
		if list, err := collection.At(dir).Harvest(); err != nil || len(list) > 0 {
			t.Errorf("the threshold changes %s: %d pages in the harvest, %v", when, len(list), err)
		}
		for e, err := range collection.At(dir).Events() {
			if p, ok := e.(event.Fetched); err != nil || ok && (p.Relevant || p.Reason != web.ReasonLinksOnly) {
				t.Errorf("the threshold changes %s: %s is relevant %v for %q, %v", when, p.URL, p.Relevant, p.Reason, err)
			}
		}
		out = open(func(j *job.Job) { j.Topic.Want = "pages" }, true)
		list, err := collection.At(dir).Harvest()
		if err != nil || len(list) != out.Is || out.Is == 0 {
			t.Errorf("the threshold changes %s, and pages are wanted again: %d relevant pages, %d in the harvest, %v", when, out.Is, len(list), err)
		}
		// None is relevant when pages are wanted again, and then the threshold is lowered.
		relevant := out.Is
		open(documents, true)
		if out = open(func(j *job.Job) { v := 1.0; j.Topic.Want, j.Judge.Threshold = "pages", &v }, true); out.Is != 0 {
			t.Errorf("the threshold changes %s: %d pages are relevant with the highest threshold", when, out.Is)
		}
		open(func(j *job.Job) { threshold(j); j.Budget.Pages++ }, false)
		if list, err := collection.At(dir).Harvest(); err != nil || len(list) != relevant {
			t.Errorf("the threshold changes %s, and is lowered when pages are wanted again: %d pages in the harvest, %v; want %d", when, len(list), err, relevant)
		}
		open(documents, true)
		if list, err := collection.At(dir).Harvest(); err != nil || len(list) != 0 {
			t.Errorf("the threshold changes %s, and documents are wanted again: %d pages in the harvest, %v", when, len(list), err)
		}
		// A judge without a threshold has its own, whatever was told before.
		open(func(j *job.Job) { v := 1.0; j.Topic.Want, j.Judge.Threshold = "pages", &v }, true)
		out = open(func(j *job.Job) { j.Judge.Threshold = nil }, true)
		if list, err := collection.At(dir).Harvest(); err != nil || len(list) != out.Is || out.Is == 0 {
			t.Errorf("the threshold changes %s, and there is none in the end: %d relevant pages, %d in the harvest, %v", when, out.Is, len(list), err)
		}
	}
}

// waggle judge dies between the log and the frontier: log and job file tell of the new topic, and the log of a turn
// that the next run cuts back. The same command then tells of the new topic again, and the crawl goes on.
func TestJudgedAgainWithoutItsCommit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "garden")
	col, open := collection.At(dir), openGarden(t, dir)
	open(func(*job.Job) {}, false)
	before := filepath.Join(t.TempDir(), "frontier")
	if err := os.CopyFS(before, os.DirFS(col.FrontierDir())); err != nil {
		t.Fatal(err)
	}
	ships := func(j *job.Job) { j.Topic.Keywords = []string{"sailing ships"} }
	open(ships, true)
	if err := errors.Join(os.RemoveAll(col.FrontierDir()), os.CopyFS(col.FrontierDir(), os.DirFS(before))); err != nil {
		t.Fatal(err)
	}
	for range col.CommittedKinds(event.Changed{}.Kind()) {
		t.Fatal("the change counts")
	}
	const want = `["sailing ships"]`
	if got := event.ReadHistory(col.EventLog()).Settings["topic.keywords"]; got != want {
		t.Fatalf("the log ends with the keywords %s", got)
	}
	if out := open(ships, true); out.Is == 0 {
		t.Error("no page is relevant")
	}
	if got := event.ReadHistory(col.EventLog()).Settings["topic.keywords"]; got != want {
		t.Errorf("the log has the keywords %s, want %s", got, want)
	}
	by, err := os.ReadFile(col.ProvenanceFile())
	if err != nil || !strings.Contains(string(by), "sailing ships") {
		t.Errorf("%s, %v:\n%s", col.ProvenanceFile(), err, by)
	}
	open(func(j *job.Job) { j.Budget.Pages++ }, false)
}
