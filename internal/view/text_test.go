package view

import (
	"math"
	"strconv"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// What is said of a crawl that ended as fewer than N relevant pages are expected is less
// than N.
func TestExpectedIsBelowTheBound(t *testing.T) {
	for _, bound := range []float64{0.5, 1, 5, 9.5, 10, 20, 63} {
		said := expected(math.Nextafter(bound, 0))
		if x, err := strconv.ParseFloat(said, 64); err != nil || x >= bound || x < bound-1 {
			t.Errorf("just below %v it says %s", bound, said)
		}
	}
	if got := expected(0); got != "0" {
		t.Errorf("nothing is %s", got)
	}
}

// Hosts that are ready are left alone for others that are not due, or being asked.
func TestWhyHostsAreLeft(t *testing.T) {
	for _, c := range []struct {
		waits bool
		f     web.FrontierStats
		want  string
	}{
		{false, web.FrontierStats{Ready: 2, Waiting: 3}, ""},
		{true, web.FrontierStats{Ready: 2, Waiting: 3}, " (left until better links are due)"},
		{true, web.FrontierStats{Ready: 2, Waiting: 3, Down: 3}, " (left until better links have a turn: their hosts are being asked)"},
		{true, web.FrontierStats{Ready: 2}, " (left until better links have a turn: their hosts are being asked)"},
	} {
		if got := better(c.waits, c.f); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}
