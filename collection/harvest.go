package collection

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"

	"github.com/waggle-crawler/waggle/event"
)

// The harvest is written from the log when a run ends, when the crawl is judged
// anew and when it is repaired. So the file may be the harvest of an earlier time:
// that of the log up to the end of a run, or up to the beginning of the next, or up to
// the time at which pages were judged anew.

// checkpoints finds the lines of a log up to which a harvest may have been written. Its
// zero value is that of an empty log.
type checkpoints struct {
	list  []checkpoint // oldest first
	lines int          // of the log so far
	epoch int          // how often verdicts have changed so far
}

// checkpoint is the number of lines of a log at such a time. Between two checkpoints of
// one epoch no verdict changed: the harvest of the later one is that of the earlier one
// and the pages between.
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
	if n := len(m.list); n == 0 || m.list[n-1].lines < m.lines {
		m.list = append(m.list, checkpoint{m.lines, m.epoch})
	}
}

// harvestAt is the harvest of the first lines of the log.
func (c Collection) harvestAt(lines int) (*event.Harvest, error) {
	h := &event.Harvest{}
	return h, c.growHarvest(h, lines, func(int) bool { return true })
}

// growHarvest adds the pages of the first lines of the log to a harvest, with their
// last verdicts in these lines. Before a line is added, more is called with the number
// of lines that are in it; false ends it.
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

// harvestFiles are harvest.tsv and harvest.yaml as they were read; nil where there is
// none.
type harvestFiles struct{ table, provenance []byte }

func (c Collection) readHarvestFiles() (f harvestFiles, err error) {
	read := func(name string) []byte {
		b, errRead := os.ReadFile(name)
		if !errors.Is(errRead, fs.ErrNotExist) {
			err = errors.Join(err, errRead)
		}
		return b
	}
	f.provenance = read(c.ProvenanceFile())
	f.table = read(c.HarvestFile())
	return f, err
}

// harvestMatch tells whether the files of a harvest agree with the log.
type harvestMatch struct {
	pages             int // of the harvest now
	table, provenance agreement
}

// agreement is how a file of a harvest agrees with the log.
type agreement uint8

const (
	strange agreement = iota // not at all
	missing                  // there is no file
	earlier                  // it is of a checkpoint: pages followed, or other verdicts
	current                  // it is what the log tells now
)

// matchHarvest compares the files of a harvest with the log, now and at its checkpoints.
// Each of the two may be of a checkpoint of its own, as a process may die between
// writing them.
func (c Collection) matchHarvest(m checkpoints, f harvestFiles) (match harvestMatch, err error) {
	now, err := c.harvestAt(m.lines)
	if err != nil {
		return match, err
	}
	by, err := c.provenanceAt(m)
	if err != nil {
		return match, err
	}
	match.pages = now.Len()
	if f.table == nil {
		match.table = missing
	}
	if f.provenance == nil {
		match.provenance = missing
	}
	look := func(lines int, h *event.Harvest, is agreement) (err error) {
		if match.table == strange {
			var same bool
			if same, err = holds(f.table, h); same {
				match.table = is
			}
		}
		if match.provenance == strange && by[lines].matches(f.provenance, h.Len()) {
			match.provenance = is
		}
		return err
	}
	if err := look(m.lines, now, current); err != nil {
		return match, err
	}
	list := m.list
	for range maxEpochs {
		if len(list) == 0 || match.table != strange && match.provenance != strange {
			break
		}
		last := list[len(list)-1]
		first := slices.IndexFunc(list, func(x checkpoint) bool { return x.epoch == last.epoch })
		if err := c.lookAt(list[first:], func(lines int, h *event.Harvest) (bool, error) {
			err := look(lines, h, earlier)
			return match.table != strange && match.provenance != strange, err
		}); err != nil {
			return match, err
		}
		list = list[:first]
	}
	return match, nil
}

// lookAt calls look with the harvests at the checkpoints of an epoch until one is enough.
func (c Collection) lookAt(epoch []checkpoint, look func(lines int, h *event.Harvest) (enough bool, err error)) error {
	h := &event.Harvest{}
	var wrong error
	err := c.growHarvest(h, epoch[len(epoch)-1].lines, func(lines int) bool {
		for len(epoch) > 0 && epoch[0].lines <= lines {
			at := epoch[0].lines
			epoch = epoch[1:]
			var enough bool
			if enough, wrong = look(at, h); enough || wrong != nil {
				return false
			}
		}
		return true
	})
	return errors.Join(err, wrong)
}

// provenanceAt is the provenance at each checkpoint, and now, by the lines of the log.
func (c Collection) provenanceAt(m checkpoints) (by map[int]*provenance, err error) {
	by = map[int]*provenance{}
	var p provenance
	take := func(lines int) {
		own := p
		own.history.Settings = maps.Clone(p.history.Settings)
		own.history.Changes = slices.Clone(p.history.Changes)
		by[lines] = &own
	}
	list := m.list
	for e, err := range c.wholeLines() {
		if err != nil {
			return nil, err
		}
		for len(list) > 0 && list[0].lines < e.Number {
			take(list[0].lines)
			list = list[1:]
		}
		if e.Number > m.lines {
			break
		}
		p.add(e.Event)
	}
	for _, x := range list {
		take(x.lines)
	}
	take(m.lines)
	return by, nil
}

// holds tells whether a file holds a harvest.
func holds(file []byte, h *event.Harvest) (bool, error) {
	if bytes.Count(file, []byte("\n")) != h.Len()+1 {
		return false, nil
	}
	var want bytes.Buffer
	err := h.WriteTSV(&want)
	// Earlier versions put no apostrophe before a quotation mark.
	earlier := bytes.ReplaceAll(want.Bytes(), []byte("\t'\""), []byte("\t\""))
	return err == nil && (bytes.Equal(file, want.Bytes()) || bytes.Equal(file, earlier)), err
}
