package event

import "testing"

// An act is undone by one that was not refused, if at all.
func TestUndoneBy(t *testing.T) {
	acts := []Act{{Number: 1, Do: Boost}, {Number: 2, Do: Undo, Act: 1, Refused: "no"}, {Number: 3, Do: Undo, Act: 1}, {Number: 4, Do: Pause}}
	for act, by := range map[int]int{1: 3, 2: 0, 4: 0, 5: 0} {
		if got := UndoneBy(acts, act); got != by {
			t.Errorf("act %d: %d, want %d", act, got, by)
		}
	}
}

// A pause holds until it is undone or the crawl is told to go on, and ends with its run.
func TestPaused(t *testing.T) {
	undo := func(n, act int) Act { return Act{Number: n, Do: Undo, Act: act} }
	for name, c := range map[string]struct {
		acts    []Act
		earlier int
		paused  bool
	}{
		"nothing said":         {},
		"paused":               {acts: []Act{{Number: 1, Do: Pause}}, paused: true},
		"in an earlier run":    {acts: []Act{{Number: 1, Do: Pause}}, earlier: 1},
		"and again":            {acts: []Act{{Number: 1, Do: Pause}, {Number: 2, Do: Pause}}, earlier: 1, paused: true},
		"going on":             {acts: []Act{{Number: 1, Do: Pause}, {Number: 2, Do: Continue}}},
		"undone":               {acts: []Act{{Number: 1, Do: Pause}, undo(2, 1)}},
		"going on, but undone": {acts: []Act{{Number: 1, Do: Pause}, {Number: 2, Do: Continue}, undo(3, 2)}, paused: true},
	} {
		if got := Paused(c.acts, c.earlier); got != c.paused {
			t.Errorf("%s: paused: %v", name, got)
		}
	}
}

// The budget of a summary is what the crawl was told last and was not undone.
func TestSummaryBudget(t *testing.T) {
	var s Summary
	for _, step := range []struct {
		event Event
		want  int
	}{
		{Started{Pages: 300}, 300},
		{Act{Number: 1, Do: Budget, Pages: 250, Was: 300}, 250},
		{Act{Number: 2, Do: Budget, Pages: 280, Was: 250}, 280},
		{Act{Number: 3, Do: Budget, Pages: 9, Was: 280, Refused: "no"}, 280},
		{Act{Number: 4, Do: Mute, Place: "a.test"}, 280},
		{Act{Number: 5, Do: Undo, Act: 4}, 280},
		{Act{Number: 6, Do: Undo, Act: 2}, 250},
		{Act{Number: 7, Do: Undo, Act: 2, Refused: "it was undone"}, 250},
		{Act{Number: 8, Do: Undo, Act: 1}, 300},
		{Act{Number: 9, Do: Budget, Pages: 0, Was: 300}, 0}, // no limit
		{Act{Number: 10, Do: Budget, Pages: 350, Was: 0}, 350},
		{Act{Number: 11, Do: Undo, Act: 9}, 350}, // replaced
		{Act{Number: 12, Do: Undo, Act: 10}, 300},
		{Started{Pages: 400, Resumed: true}, 400},
	} {
		s.Add(step.event)
		if s.Budget != step.want {
			t.Errorf("after %+v: %d, want %d", step.event, s.Budget, step.want)
		}
	}
}
