package event

import (
	"slices"
	"time"
)

// What acts leave of a setting is as though those that were undone had not been given,
// in whatever order they were undone: with a budget of 300, then acts 1 (250) and 2 (280),
//
//	undo 1   280   act 2 had replaced it: nothing changes
//	undo 2   300   and not the 250 that act 2 found

// BudgetAfter is the budget that holds by acts in their order, in pages; ok is false where
// none of them has set one.
func BudgetAfter(acts []Act) (pages int, ok bool) {
	return valueAfter(acts, Budget, func(a *Act) (int, int) { return a.Pages, a.Was }, func(a, b int) bool { return a == b })
}

// DelayAfter is the delay that holds by acts in their order; ok is false where none of them
// has set one.
func DelayAfter(acts []Act) (delay time.Duration, ok bool) {
	parse := func(s string) time.Duration {
		d, _ := time.ParseDuration(s) // one that is none was refused
		return d
	}
	return valueAfter(acts, Delay, func(a *Act) (time.Duration, time.Duration) { return parse(a.Delay), parse(a.Before) },
		func(a, b time.Duration) bool { return a == b })
}

// KeywordsAfter are the keywords that hold by acts in their order; ok is false where none
// of them has set any.
func KeywordsAfter(acts []Act) (words []string, ok bool) {
	return valueAfter(acts, Keywords, func(a *Act) ([]string, []string) { return a.Keywords, a.KeywordsBefore }, slices.Equal[[]string])
}

// valueAfter is what acts of a verb leave: what the last that is not undone has set. Where those
// at the end are undone, it is what the first of them found. What an act found may be from
// elsewhere, such as a run with other settings: what was told before that holds no more.
func valueAfter[T any](acts []Act, do Verb, of func(*Act) (set, found T), equal func(a, b T) bool) (v T, ok bool) {
	var sets []*Act         // that set it, oldest first
	undone := map[int]int{} // an act → the one that undid it
	for i := range acts {
		switch a := &acts[i]; {
		case a.Refused != "":
		case a.Do == do:
			sets = append(sets, a)
		case a.Do == Undo:
			undone[a.Act] = a.Number
		}
	}
	for i := len(sets) - 1; i >= 0; {
		a := sets[i]
		set, found := of(a)
		if undone[a.Number] == 0 {
			return set, true
		}
		v, ok = found, true
		for i--; i >= 0; i-- { // to the act that held when a was given
			if by := undone[sets[i].Number]; by == 0 || by > a.Number {
				break
			}
		}
		if i >= 0 {
			if set, _ := of(sets[i]); !equal(set, v) {
				return v, true
			}
		}
	}
	return v, ok
}

// Replaced tells of acts in their order which undid one that had been replaced, so that
// nothing changed: the number of the act that undid, and of that which had replaced it.
func Replaced(acts []Act) map[int]int {
	out := map[int]int{}
	about := map[int]string{}   // by number
	holds := map[string][]int{} // acts about the same, oldest first, without those that were undone
	for i := range acts {
		a := &acts[i]
		if a.Refused != "" {
			continue
		}
		if a.Do != Undo {
			of := a.about()
			about[a.Number], holds[of] = of, append(holds[of], a.Number)
			continue
		}
		list := holds[about[a.Act]]
		k := slices.Index(list, a.Act)
		if k < 0 {
			continue
		}
		if last := list[len(list)-1]; last != a.Act {
			out[a.Number] = last
		}
		holds[about[a.Act]] = slices.Delete(list, k, k+1)
	}
	return out
}

// about is what the last act alone decides: a setting, the word on a page, whether links of
// a place are fetched, whether the crawl stands still.
func (a *Act) about() string {
	switch {
	case a.Label():
		return "page " + a.URL.String()
	case a.Do == Continue:
		return string(Pause)
	case a.Needs() == "place":
		return string(a.Do) + " " + a.Place
	}
	return string(a.Do)
}
