package job

import (
	"errors"
	"strings"
	"testing"
)

// A share is no number of pages: what --until-gain below 1 would mean is told.
func TestUntilGainBelowOne(t *testing.T) {
	for gain, refused := range map[float64]bool{0: false, 0.2: true, 0.99: true, 1: false, 15: false} {
		j := Job{Budget: Budget{UntilGain: gain}}
		err := j.Check()
		if said := err != nil && strings.Contains(err.Error(), "it is a number of pages among the next 100, and no share"); said != refused {
			t.Errorf("%v: %v", gain, err)
		}
		if wrong := new(Error); refused && (!errors.As(err, &wrong) || wrong.Path != "budget.until-gain") {
			t.Errorf("%v: not told at its setting: %#v", gain, err)
		}
	}
}
