package job_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// forbiddenFetcher is a fetcher that nobody may ask.
type forbiddenFetcher struct{ t *testing.T }

func (u forbiddenFetcher) Fetch(context.Context, web.URL) (*web.Response, error) {
	u.t.Error("something was fetched")
	return nil, errors.New("nothing is fetched here")
}

// A worker whose job is refused has fetched nothing, and what it was refused by is what the crawl would have had: of the
// settings that are known beforehand, making the crawl changes none.
func TestAgreeBeforehand(t *testing.T) {
	example := filepath.Join(t.TempDir(), "bee.html")
	if err := os.WriteFile(example, []byte("<html lang=de><p>"+strings.Repeat("Die Honigbiene tanzt im Stock. ", 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	refusal, over := errors.New("another crawl"), errors.New("that is all")
	x, none := 0.4, job.Duration(0)
	for name, j := range map[string]job.Job{
		"keywords":   {Topic: job.Topic{Keywords: []string{"honey bee"}}},
		"an example": {Topic: job.Topic{Keywords: []string{"honey bee"}, Examples: []string{example}}},
		"a threshold": {Topic: job.Topic{Keywords: []string{"honey bee"}, Description: "Bees that dance."}, Judge: job.Judge{Threshold: &x}, Scorer: job.Scorer{Name: "breadth-first"},
			Politeness: job.Politeness{Delay: &none}, Budget: job.Budget{Pages: 7}},
		"another judge": {Topic: job.Topic{Examples: []string{example}}, Judge: job.Judge{Name: "cosine-tfidf-max"}},
	} {
		j.Seeds, j.Name, j.Contact = []string{"https://bees.test/"}, "bees", "you@bees.test"
		w, err := collection.At(filepath.Join(t.TempDir(), "bees")).Lock()
		if err != nil {
			t.Fatal(err)
		}
		var before map[string]string
		m := &job.Maker{Job: &j, Writer: w, Fetcher: forbiddenFetcher{t}}
		m.Agree = func(_ context.Context, settings map[string]string, goesOn bool) error {
			if before = settings; goesOn {
				t.Errorf("%s: a crawl that begins goes on", name)
			}
			return nil
		}
		m.Join = func(_ context.Context, _ *frontier.Frontier, b job.Briefing) (job.Membership, error) {
			for path, value := range before {
				if b.Settings[path] != value {
					t.Errorf("%s: %s is %s beforehand, and %s when the worker joins", name, path, value, b.Settings[path])
				}
			}
			return job.Membership{}, over
		}
		if _, err := m.Crawl(t.Context()); !errors.Is(err, over) || before["topic.keywords"] == "" && before["topic.examples"] == "" {
			t.Errorf("%s: %v, with %v", name, err, before)
		}
		if err := errors.Join(m.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}

		j.Topic.Examples = []string{"https://bees.test/example"} // it would be fetched
		if w, err = collection.At(filepath.Join(t.TempDir(), "bees")).Lock(); err != nil {
			t.Fatal(err)
		}
		m = &job.Maker{Job: &j, Writer: w, Fetcher: forbiddenFetcher{t}, Agree: func(context.Context, map[string]string, bool) error { return refusal }}
		if _, err := m.Crawl(t.Context()); !errors.Is(err, refusal) {
			t.Errorf("%s: %v, want to be refused", name, err)
		}
		if err := errors.Join(m.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
