package event

import (
	"slices"
	"testing"
	"time"
)

// Doubts that the judge told at the end of a run are not those of the next one, and none is told in
// their place where all is well; doubts of other keywords, or of another threshold, hold no more.
func TestDoubtsThatHoldNoMore(t *testing.T) {
	doubt := Doubt{Notes: []string{"none of the first 9 pages"}}
	none := Doubt{}
	for name, x := range map[string]struct {
		events []Event
		want   []string
	}{
		"told":                      {[]Event{Started{}, Fetched{}, doubt, Fetched{}}, doubt.Notes},
		"told at the end":           {[]Event{Started{}, Fetched{}, doubt, Ended{}}, doubt.Notes},
		"the next run":              {[]Event{Started{}, Fetched{}, doubt, Ended{}, Started{}}, nil},
		"the next run, told before": {[]Event{Started{}, Fetched{}, doubt, Fetched{}, Ended{}, Started{}}, doubt.Notes},
		"all is well":               {[]Event{Started{}, Fetched{}, doubt, Fetched{}, none}, nil},
		"other keywords":            {[]Event{Started{}, Fetched{}, doubt, Fetched{}, Changed{Setting: SettingKeywords}}, nil},
		"another threshold":         {[]Event{Started{}, Fetched{}, doubt, Fetched{}, Changed{Setting: SettingThreshold, New: "0.1"}}, nil},
		"another budget":            {[]Event{Started{}, Fetched{}, doubt, Fetched{}, Changed{Setting: "budget.pages"}}, doubt.Notes},
	} {
		var s Summary
		for i, e := range x.events {
			at := At{At: time.Unix(int64(i+1), 0)}
			switch v := e.(type) {
			case Started:
				v.At = at
				e = v
			case Fetched:
				v.At = at
				e = v
			case Ended:
				v.At = at
				e = v
			}
			s.Add(e)
		}
		if !slices.Equal(s.Doubts, x.want) {
			t.Errorf("%s: %q, want %q", name, s.Doubts, x.want)
		}
		if x.want != nil && s.DoubtsAt != 1 {
			t.Errorf("%s: after %d pages", name, s.DoubtsAt)
		}
	}
}
