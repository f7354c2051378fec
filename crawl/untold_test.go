package crawl

import "testing"

// Few megabytes of records are on their way, and a larger one is alone.
func TestMostOnWay(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name  string
		bytes []int // of the turns, the oldest first
		want  int
	}{
		{"none", nil, 0},
		{"small", []int{1, 2, 3}, 3},
		{"many", make([]int, 200), mostUntold},
		{"at the bound", []int{4 * mb, 4 * mb, 4 * mb, 4 * mb, 4 * mb}, 4},
		{"large", []int{1, 1, 17 * mb}, 0},
		{"behind a large one", []int{17 * mb, 1, 1}, 2},
	} {
		d := &driver{}
		for _, n := range c.bytes {
			d.settled = append(d.settled, &settlement{bytes: n})
		}
		if got := d.mostOnWay(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
