package frontier_test

import (
	"fmt"
	"testing"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/web"
)

// A frontier that is opened with a limit below what waits gives up the worst after the
// next Turn, and names them.
func TestLowerLimit(t *testing.T) {
	dir := t.TempDir()
	f, err := frontier.Open(dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var add web.Turn
	for i := range 30 {
		add.Add = append(add.Add, web.Candidate{URL: frontiertest.URL(i), Priority: float64(i * 7 % 30)})
	}
	if _, err := f.Commit(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = frontier.Open(dir, frontier.Options{Max: 10}); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := f.Stats(frontiertest.Start).Queued; n != 30 {
		t.Errorf("%d links wait before a turn, want all 30", n)
	}
	r, err := f.Commit(t.Context(), web.Turn{})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range r.Crowded {
		got += fmt.Sprintf("%v ", c.Priority)
	}
	if want := "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 "; got != want {
		t.Errorf("the priorities of those that left are %s, want %s", got, want)
	}
	if s := f.Stats(frontiertest.Start); s.Queued != 10 || s.Seen != 30 {
		t.Errorf("%+v, want 10 queued of 30 seen", s)
	}
}
