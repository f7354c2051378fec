package event

import "iter"

// Heard is a history whose events are told to a listener as they are read; nil stays
// nil.
func Heard(history iter.Seq2[Event, error], hear func(Event)) iter.Seq2[Event, error] {
	if history == nil {
		return nil
	}
	return func(yield func(Event, error) bool) {
		for e, err := range history {
			if err == nil {
				hear(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
