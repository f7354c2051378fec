package collection

import (
	"bytes"
	"iter"

	"github.com/waggle-crawler/waggle/event"
)

// The harvest is written from the log when a run ends, when the crawl is judged
// anew and when it is repaired. So the file may be the harvest of an earlier time:
// that of the log up to the end of a run, or up to the beginning of the next.

// moments finds the places in a log, as numbers of lines, up to which a harvest
// may have been written. Its zero value is that of an empty log.
type moments struct {
	at    []int // the last ones, oldest first
	lines int
}

// maxMoments bounds how many earlier harvests are looked for.
const maxMoments = 8

// add takes the next whole line.
func (m *moments) add(e event.Entry) {
	if _, begins := e.Event.(event.Started); begins && m.lines > 0 {
		m.note(m.lines)
	}
	m.lines = e.Number
	if _, ends := e.Event.(event.Ended); ends {
		m.note(m.lines)
	}
}

func (m *moments) note(lines int) {
	if n := len(m.at); n > 0 && m.at[n-1] == lines {
		return
	}
	if len(m.at) == maxMoments {
		m.at = append(m.at[:0], m.at[1:]...)
	}
	m.at = append(m.at, lines)
}

// harvestAt is the harvest of the first lines of the log.
func (c Collection) harvestAt(lines int) (*event.Harvest, error) {
	first := func(yield func(event.Event, error) bool) {
		for e, err := range c.wholeLines() {
			if err == nil && e.Number > lines || !yield(e.Event, err) {
				return
			}
		}
	}
	var history event.History
	for e, err := range first {
		if err != nil {
			return nil, err
		}
		history.Add(e)
	}
	var events iter.Seq2[event.Event, error] = event.Renewed(first, first)
	if threshold, ok := history.Threshold(); ok {
		events = event.Under(threshold, events)
	}
	h := &event.Harvest{}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		h.Add(e)
	}
	return h, nil
}

// tellsHarvest tells whether a harvest file is what the log tells, now or at an
// earlier moment, and how many pages the harvest has now.
func (c Collection) tellsHarvest(m moments, file []byte) (whole bool, pages int, err error) {
	now, err := c.harvestAt(m.lines)
	if err != nil {
		return false, 0, err
	}
	pages = now.Len()
	for i := len(m.at); i >= 0; i-- {
		h := now
		if i < len(m.at) {
			if h, err = c.harvestAt(m.at[i]); err != nil {
				return false, pages, err
			}
		}
		var want bytes.Buffer
		if err := h.WriteTSV(&want); err != nil {
			return false, pages, err
		}
		if bytes.Equal(file, want.Bytes()) {
			return true, pages, nil
		}
		if file == nil {
			break // only the number is wanted
		}
	}
	return false, pages, nil
}
