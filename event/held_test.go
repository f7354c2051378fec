package event

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// Budgets and delays that were undone count as though they had not been given, in
// whatever order they were undone. What a run that went on was given otherwise stays.
func TestBudgetAndDelayAfter(t *testing.T) {
	budget := func(n, pages, was int) Act { return Act{Number: n, Do: Budget, Pages: pages, Was: was} }
	undo := func(n, act int) Act { return Act{Number: n, Do: Undo, Act: act} }
	for name, x := range map[string]struct {
		acts []Act
		want int // -1: none was set
	}{
		"none":                       {nil, -1},
		"another act is undone":      {[]Act{{Number: 1, Do: Mute}, undo(2, 1)}, -1},
		"two":                        {[]Act{budget(1, 250, 300), budget(2, 280, 250)}, 280},
		"the older undone":           {[]Act{budget(1, 250, 300), budget(2, 280, 250), undo(3, 1)}, 280},
		"both, the older first":      {[]Act{budget(1, 250, 300), budget(2, 280, 250), undo(3, 1), undo(4, 2)}, 300},
		"both, the newer first":      {[]Act{budget(1, 250, 300), budget(2, 280, 250), undo(3, 2), undo(4, 1)}, 300},
		"undone before the next":     {[]Act{budget(1, 250, 300), undo(2, 1), budget(3, 280, 300), undo(4, 3)}, 300},
		"a run between":              {[]Act{budget(1, 250, 300), budget(2, 280, 400), undo(3, 2)}, 400},
		"a run between, both undone": {[]Act{budget(1, 250, 300), budget(2, 280, 400), undo(3, 1), undo(4, 2)}, 400},
		"no limit":                   {[]Act{budget(1, 0, 300)}, 0},
		"refused":                    {[]Act{budget(1, 250, 300), {Number: 2, Do: Budget, Pages: 9, Was: 250, Refused: "no"}, {Number: 3, Do: Undo, Act: 1, Refused: "no"}}, 250},
	} {
		pages, ok := BudgetAfter(x.acts)
		if !ok {
			pages = -1
		}
		if pages != x.want {
			t.Errorf("%s: a budget of %d, want %d", name, pages, x.want)
		}
		seconds := func(n int) string { return fmt.Sprintf("%dms", 1000*n) }
		var delays []Act
		for _, a := range x.acts {
			if a.Do == Budget {
				a.Do, a.Delay, a.Before = Delay, seconds(a.Pages), (time.Duration(a.Was) * time.Second).String()
			}
			delays = append(delays, a)
		}
		delay, ok := DelayAfter(delays)
		if !ok {
			delay = -time.Second
		}
		if delay != time.Duration(x.want)*time.Second {
			t.Errorf("%s: a delay of %v, want %ds", name, delay, x.want)
		}
	}
}

// An act is undone without effect where a later one that still holds says of the same thing
// what counts.
func TestReplaced(t *testing.T) {
	undo := func(n, act int) Act { return Act{Number: n, Do: Undo, Act: act} }
	acts := []Act{
		{Number: 1, Do: Budget, Pages: 250}, {Number: 2, Do: Budget, Pages: 280}, undo(3, 1), undo(4, 2),
		{Number: 5, Do: Mute, Place: "a.test"}, {Number: 6, Do: Mute, Place: "b.test"}, undo(7, 5),
		{Number: 8, Do: Mute, Place: "b.test"}, undo(9, 6), undo(10, 8),
		{Number: 11, Do: Pause}, {Number: 12, Do: Continue}, undo(13, 11),
		{Number: 14, Do: Delay, Delay: "2s"}, {Number: 15, Do: Delay, Delay: "1s", Refused: "no"}, undo(16, 14), {Number: 17, Do: Undo, Act: 14, Refused: "no"},
		{Number: 18, Do: Relevant}, {Number: 19, Do: More}, undo(20, 18), undo(21, 99),
	}
	if got, want := Replaced(acts), map[int]int{3: 2, 9: 8, 13: 12, 20: 19}; !maps.Equal(got, want) {
		t.Errorf("replaced: %v, want %v", got, want)
	}
}
