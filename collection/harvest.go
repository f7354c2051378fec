package collection

import (
	"bytes"
	"iter"
	"slices"
	"strconv"

	"github.com/waggle-crawler/waggle/event"
)

// harvests are those that a log tells of: under the threshold that holds, and under
// the ones that held before. It is made by add for all events.
type harvests struct {
	given   event.Harvest // with the verdicts that the pages were given when they came
	history event.History
}

func (h *harvests) add(e event.Event) {
	h.given.Add(e)
	h.history.Add(e)
}

// all are the harvests, that under the present threshold first. events are those
// that were added.
func (h *harvests) all(events iter.Seq2[event.Event, error]) iter.Seq2[*event.Harvest, error] {
	return func(yield func(*event.Harvest, error) bool) {
		for _, c := range slices.Backward(h.history.Changes) {
			if c.Setting != event.SettingThreshold {
				continue
			}
			threshold, err := strconv.ParseFloat(c.New, 64)
			if err != nil {
				continue // it acts on nothing, see event.History.Threshold
			}
			var under event.Harvest
			for e, err := range event.Under(threshold, events) {
				if err != nil {
					yield(nil, err)
					return
				}
				under.Add(e)
			}
			if !yield(&under, nil) {
				return
			}
		}
		yield(&h.given, nil)
	}
}

// compare gives the present harvest, and tells whether a harvest file is what the log
// tells. The file is written when a run ends or the crawl is repaired, so it may be
// the harvest of an earlier time: under an earlier threshold, and of as many pages as
// it has lines. No file is never what the log tells.
func (h *harvests) compare(file []byte, events iter.Seq2[event.Event, error]) (now *event.Harvest, whole bool, err error) {
	for v, err := range h.all(events) {
		if err != nil {
			return nil, false, err
		}
		if now == nil {
			now = v
		}
		if whole, err = tells(v, file); err != nil || whole || file == nil {
			return now, whole, err
		}
	}
	return now, false, nil
}

// tells tells whether a file is the beginning of a harvest.
func tells(h *event.Harvest, file []byte) (bool, error) {
	pages := bytes.Count(file, []byte("\n")) - 1 // the first line has the names of the columns
	if pages < 0 || pages > h.Len() {
		return false, nil
	}
	var want bytes.Buffer
	err := h.First(pages).WriteTSV(&want)
	return bytes.Equal(file, want.Bytes()), err
}
