package collection

import (
	"bytes"
	"errors"
	"iter"
	"slices"

	"github.com/waggle-crawler/waggle/event"
)

// The harvest is written from the log when a run ends, when the crawl is judged
// anew and when it is repaired. So the file may be the harvest of an earlier time:
// that of the log up to the end of a run, or up to the beginning of the next, or up to
// the time at which pages were judged anew.

// checkpoints finds the places in a log up to which a harvest may have been written. Its
// zero value is that of an empty log.
type checkpoints struct {
	at    []checkpoint // oldest first
	lines int
	epoch int
}

// checkpoint is such a place. Between two checkpoints of one epoch the verdicts of earlier
// pages stayed as they were: what was added to the harvest are the pages between.
type checkpoint struct{ lines, epoch int }

// maxEpochs bounds in how many epochs an earlier harvest is looked for: each takes
// as long as reading the log three times.
const maxEpochs = 64

// add takes the next whole line.
func (m *checkpoints) add(e event.Entry) {
	switch e.Event.(type) {
	case event.Started:
		m.note()
	case event.Rejudged, event.Changed:
		m.note() // pages may have been judged anew before as well
		m.epoch++
	}
	m.lines = e.Number
	if _, ends := e.Event.(event.Ended); ends {
		m.note()
	}
}

func (m *checkpoints) note() {
	if m.lines == 0 {
		return
	}
	if n := len(m.at); n == 0 || m.at[n-1].lines < m.lines {
		m.at = append(m.at, checkpoint{m.lines, m.epoch})
	}
}

// harvestAt is the harvest of the first lines of the log.
func (c Collection) harvestAt(lines int) (*event.Harvest, error) {
	h := &event.Harvest{}
	return h, c.growHarvest(h, lines, func(int) bool { return true })
}

// growHarvest adds the pages of the first lines of the log to a harvest, with their
// last verdicts in these lines. Before a line is added, more is told how many lines
// are in it, and false ends it.
func (c Collection) growHarvest(h *event.Harvest, lines int, more func(lines int) bool) error {
	at := 0 // the line that was read last
	first := func(yield func(event.Event, error) bool) {
		for e, err := range c.wholeLines() {
			at = e.Number
			if err == nil && e.Number > lines || !yield(e.Event, err) {
				return
			}
		}
	}
	var history event.History
	for e, err := range first {
		if err != nil {
			return err
		}
		history.Add(e)
	}
	var events iter.Seq2[event.Event, error] = event.Renewed(first, first)
	if threshold, ok := history.Threshold(); ok {
		events = event.Under(threshold, events)
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		if !more(at - 1) {
			return nil
		}
		h.Add(e)
	}
	more(lines)
	return nil
}

// matchesHarvest tells whether a harvest file is what the log tells, now or at an
// earlier checkpoint, and how many pages the harvest has now.
func (c Collection) matchesHarvest(m checkpoints, file []byte) (same bool, pages int, err error) {
	now, err := c.harvestAt(m.lines)
	if err != nil {
		return false, 0, err
	}
	pages = now.Len()
	if file == nil { // only the number is wanted
		return false, pages, nil
	}
	if same, err = holds(file, now); same || err != nil {
		return same, pages, err
	}
	at := m.at
	for range maxEpochs {
		if len(at) == 0 {
			break
		}
		last := at[len(at)-1]
		first := slices.IndexFunc(at, func(x checkpoint) bool { return x.epoch == last.epoch })
		if same, err = c.matchesOneOf(at[first:], file); same || err != nil {
			break
		}
		at = at[:first]
	}
	return same, pages, err
}

// matchesOneOf tells whether a file holds the harvest of one of the checkpoints of an epoch.
func (c Collection) matchesOneOf(epoch []checkpoint, file []byte) (same bool, err error) {
	h := &event.Harvest{}
	var wrong error
	err = c.growHarvest(h, epoch[len(epoch)-1].lines, func(lines int) bool {
		for len(epoch) > 0 && epoch[0].lines <= lines {
			epoch = epoch[1:]
			if same, wrong = holds(file, h); same || wrong != nil {
				return false
			}
		}
		return true
	})
	return same, errors.Join(err, wrong)
}

// holds tells whether a file holds a harvest.
func holds(file []byte, h *event.Harvest) (bool, error) {
	if bytes.Count(file, []byte("\n")) != h.Len()+1 {
		return false, nil
	}
	var want bytes.Buffer
	err := h.WriteTSV(&want)
	return err == nil && bytes.Equal(file, want.Bytes()), err
}
