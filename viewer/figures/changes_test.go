package figures

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Figures that were asked for stay what they were when further events come.
func TestFiguresStay(t *testing.T) {
	c := New()
	add := func(path string) {
		c.Add(event.Fetched{At: at(1), Visit: event.Visit{URL: addr(t, "http://a.test/"+path)}, Reason: web.ReasonDuplicate}, 0)
	}
	add("1")
	f := c.Figures()
	add("2")
	if n := f.NotKept[web.ReasonDuplicate]; n != 1 {
		t.Errorf("of one page that repeats another, a second one has made %d", n)
	}
}

// What was told otherwise later has budgets and delays that acts set, and what undoing them sets back.
func TestChangesByActs(t *testing.T) {
	c := New()
	c.Add(event.Started{At: at(0), Pages: 500}, 0)
	for i, a := range []event.Act{
		{Do: event.Budget, Pages: 10, Was: 500},
		{Do: event.Delay, Delay: "200ms", Before: "300ms"},
		{Do: event.Budget, Pages: 1, Refused: "no"},
		{Do: event.Budget, Pages: 0, Was: 10},
		{Do: event.Mute, Place: "bees.test"},
		{Do: event.Undo, Act: 1}, // another budget holds: nothing changes
		{Do: event.Undo, Act: 4},
		{Do: event.Undo, Act: 2},
	} {
		a.At, a.Number = at(i+1), i+1
		c.Add(a, 0)
	}
	c.Add(event.Changed{At: at(20), Setting: event.SettingKeywords, Old: "bees", New: "hives"}, 0)
	var got []string
	for _, x := range c.Changes() {
		got = append(got, fmt.Sprintf("%d %s %s -> %s", x.At.At.Sub(start)/1e9, x.Setting, x.Old, x.New))
	}
	if want := []string{
		"1 budget.pages 500 -> 10", "2 politeness.delay 300ms -> 200ms", "4 budget.pages 10 -> 0", "7 budget.pages 0 -> 500", "8 politeness.delay 200ms -> 300ms", "20 topic.keywords bees -> hives",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
