package job

import (
	"os"
	"slices"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
)

// A budget below what is fetched that people told the crawl ends it, and what they tell it
// then is taken in when it goes on, as after the death of a run that had kept the budget alone.
func TestBudgetBelowWhatIsFetched(t *testing.T) {
	for _, c := range []struct {
		name string
		died bool
		told event.Act
		got  []string
	}{
		{"nothing more", false, event.Act{}, nil},
		{"a larger one", false, event.Act{Do: event.Budget, Pages: 5}, []string{"/hive", "/forage"}},
		{"no limit", false, event.Act{Do: event.Budget}, []string{"/hive", "/forage", "/wheels"}},
		{"undo", false, event.Act{Do: event.Undo, Act: 1}, nil},
		{"a larger one, after a death", true, event.Act{Do: event.Budget, Pages: 5}, []string{"/hive", "/forage"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			col := collection.At(dir)
			tell := func(a event.Act) {
				t.Helper()
				if _, err := col.Act(a); err != nil {
					t.Fatal(err)
				}
			}
			text := func() string {
				b, err := os.ReadFile(col.JobFile())
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			if _, _, err := goOn(t, dir, hives, false); err != nil {
				t.Fatal(err)
			}
			tell(event.Act{Do: event.Budget, Pages: 2})
			job := edit(t, "{pages: 3}", "{pages: 2}")
			if !c.died {
				if _, got, err := goOn(t, dir, text(), true); err != nil || len(got) > 0 {
					t.Fatal(got, err)
				}
				job = text()
			}
			if c.told.Do != "" {
				tell(c.told)
			}
			_, got, err := goOn(t, dir, job, true)
			if err != nil || !slices.Equal(got, c.got) {
				t.Errorf("fetched %q, want %q: %v", got, c.got, err)
			}
			if _, got, err := goOn(t, dir, text(), true); err != nil || len(got) > 0 {
				t.Errorf("once more: %q, %v", got, err)
			}
		})
	}
}
