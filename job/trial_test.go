package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/job"
)

// Each example is judged by a judge that does not know it, as far as one can be made.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bee := strings.Repeat("The honey bee dances in the hive, and foragers follow the dance to the flowers. ", 3)
	one, two := file("one", bee), file("two", bee+"Pollen and nectar.")
	odd, cars, empty := file("odd", "A parliament debates the budget of a town."), file("cars", "Engines and wheels of a car."), file("empty", "<p>")
	for _, x := range []struct {
		name  string
		topic job.Topic
		want  string // a letter each: + as wanted, - otherwise, k known to the judge, ? not judged, ! not had, with the reason
	}{
		{"examples and keywords", job.Topic{Keywords: []string{"honey bee"}, Examples: []string{one, two, odd}, Negatives: []string{cars}}, "++-+"},
		{"one example alone", job.Topic{Examples: []string{one}}, "k"},
		{"a page without text", job.Topic{Keywords: []string{"honey bee"}, Examples: []string{one, empty}}, "+?"},
		{"one that is not there", job.Topic{Keywords: []string{"honey bee"}, Examples: []string{one, filepath.Join(t.TempDir(), "none.html")}}, "+!"},
		{"no example", job.Topic{Keywords: []string{"honey bee"}}, ""},
	} {
		m := &job.Maker{Job: &job.Job{Topic: x.topic}}
		trials, _, err := m.Try(t.Context())
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		got := ""
		for _, tr := range trials {
			switch {
			case strings.HasPrefix(tr.Missing, "it could not be had: ") && strings.Contains(tr.Missing, "none.html"):
				got += "!"
			case tr.Missing != "":
				got += "?"
			case tr.Knows:
				got += "k"
			case tr.Right():
				got += "+"
			default:
				got += "-"
			}
		}
		if got != x.want {
			t.Errorf("%s: %s, want %s: %+v", x.name, got, x.want, trials)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
