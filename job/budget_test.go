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

// What is said before a crawl goes on is what follows: a budget that an act set is no change of the
// job, and one that acts which wait replace is not spent.
func TestNotesOfBudgetsTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		told   []event.Act
		onPage bool
		said   []string
		got    []string
	}{
		{"nothing more", nil, false, []string{"The budget of 2 pages is spent: --pages grants more, as the total over all runs."}, nil},
		{"on the page", nil, true, []string{"The budget of 2 pages is spent: grant more on Steer, as the total over all runs."}, nil},
		{"undone", []event.Act{{Do: event.Undo, Act: 1}}, false, []string{"What it was told meanwhile sets the budget from 2 to 3 pages.", "The budget of 3 pages is spent: --pages grants more, as the total over all runs."}, nil},
		{"a larger one", []event.Act{{Do: event.Undo, Act: 1}, {Do: event.Budget, Pages: 4}}, false, []string{"What it was told meanwhile sets the budget from 2 to 4 pages."}, []string{"/hive"}},
		{"a larger one, undone", []event.Act{{Do: event.Budget, Pages: 4}, {Do: event.Undo, Act: 2}}, false, []string{"The budget of 2 pages is spent: --pages grants more, as the total over all runs."}, nil},
		{"no limit", []event.Act{{Do: event.Budget}}, false, []string{"What it was told meanwhile lifts the budget of 2 pages."}, []string{"/hive", "/forage", "/wheels"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			col := collection.At(dir)
			if _, _, err := goOn(t, dir, hives, false); err != nil {
				t.Fatal(err)
			}
			if _, err := col.Act(event.Act{Do: event.Budget, Pages: 2}); err != nil {
				t.Fatal(err)
			}
			if said, got, err := goOn(t, dir, hives, true); err != nil || len(got) > 0 || !slices.Equal(said, []string{"What it was told meanwhile sets the budget from 3 to 2 pages.", "The budget of 2 pages is spent: --pages grants more, as the total over all runs."}) {
				t.Fatal(said, got, err)
			}
			for _, a := range c.told {
				if _, err := col.Act(a); err != nil {
					t.Fatal(err)
				}
			}
			b, err := os.ReadFile(col.JobFile())
			if err != nil {
				t.Fatal(err)
			}
			said, got, err := goOnOf(t, dir, string(b), c.onPage)
			if err != nil || !slices.Equal(said, c.said) || !slices.Equal(got, c.got) {
				t.Errorf("said %q, want %q; fetched %q, want %q: %v", said, c.said, got, c.got, err)
			}
			if h := event.ReadHistory(col.EventLog()); len(h.Changes) > 0 {
				t.Errorf("the log has changes of the job: %v", h.Changes)
			}
		})
	}
}

// A budget given for a run that goes on is a change of the one that an act had set.
func TestBudgetGivenAfterAnAct(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := goOn(t, dir, hives, false); err != nil {
		t.Fatal(err)
	}
	if _, err := collection.At(dir).Act(event.Act{Do: event.Budget, Pages: 2}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := goOn(t, dir, hives, true); err != nil {
		t.Fatal(err)
	}
	said, _, err := goOn(t, dir, hives, true) // of 3 pages, as at the beginning
	if err != nil || !slices.Contains(said, "Changed: budget.pages from 2 to 3; it holds from then on") {
		t.Errorf("said %q, %v", said, err)
	}
}
