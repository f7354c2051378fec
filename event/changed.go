package event

import (
	"iter"
	"strconv"
)

// Under gives the pages of a sequence the verdicts of another threshold: a page
// that may be kept is relevant if its relevance is at least that. The sequence is
// one whose verdicts are the last, see Renewed. The rest of it stays as it is.
func Under(threshold float64, events iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range events {
			switch p := e.(type) {
			case Fetched:
				p.Relevant = p.Reason == "" && p.Relevance >= threshold
				e = p
			case Rejudged:
				e = p.with(func(v *Verdict) {
					v.Relevant = (v.Reason == "" || v.Relevant) && v.Relevance >= threshold
					v.Was = v.Relevant
				})
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// History is what a log tells of the settings of its crawl. The zero History is
// that of an empty log.
type History struct {
	// Settings is what the crawl was told, by path; nil where the log does not
	// say.
	Settings map[string]string
	// Changes are those of Settings, oldest first.
	Changes []Changed
}

// Add takes the next event; only Started and Changed are of interest.
func (h *History) Add(e Event) {
	switch e := e.(type) {
	case Started:
		if e.Settings != nil {
			h.Settings = e.Settings
		}
	case Changed:
		h.Changes = append(h.Changes, e)
		if h.Settings != nil {
			h.Settings[e.Setting] = e.New
		}
	}
}

// Threshold is the one that the crawl was given last instead of the one it had;
// ok is false if it never was.
func (h *History) Threshold() (threshold float64, ok bool) {
	for _, c := range h.Changes {
		if c.Setting == SettingThreshold {
			if v, err := strconv.ParseFloat(c.New, 64); err == nil {
				threshold, ok = v, true
			}
		}
	}
	return threshold, ok
}

// ReadHistory reads the history from the log at path, up to what cannot be read.
func ReadHistory(path string) (h History) {
	for e, err := range ReadKinds(path, Started{}.Kind(), Changed{}.Kind()) {
		if err == nil {
			h.Add(e)
		}
	}
	return h
}
