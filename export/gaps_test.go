package export

import (
	"errors"
	"testing"
)

// What could not be read is told line by line, and what became of the rest is a line of its own.
func TestGaps(t *testing.T) {
	for places, want := range map[int]string{
		0: "",
		1: "a is damaged\nwhat can be read was written",
		2: "a is damaged\nand 1 more place\nwhat can be read was written",
		3: "a is damaged\nand 2 more places\nwhat can be read was written",
	} {
		var g gaps
		for range places {
			g.add(errors.New("a is damaged"))
		}
		got, err := "", g.err()
		if err != nil {
			got = err.Error()
		}
		if got != want || errors.Is(err, ErrPartial) != (places > 0) {
			t.Errorf("%d places: %q, want %q", places, got, want)
		}
	}
}
