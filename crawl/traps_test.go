package crawl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// The fate of an address is the worst of its shapes, whatever became of those of other hosts, and shapes come and go.
func TestFateIsThatOfShapes(t *testing.T) {
	var met traps
	rng := rand.New(rand.NewPCG(19, 1))
	seen := map[shapeFate]int{}
	for range 20_000 {
		u, err := web.Parse(fmt.Sprintf("http://h%d.example/%d/%c?%c", rng.IntN(8), rng.IntN(3), 'a'+rng.IntN(3), 'a'+rng.IntN(9)))
		if err != nil {
			t.Fatal(err)
		}
		met.note(event.At{}, u, uint64(rng.IntN(2)), rng.IntN(10) < 8)
		worst := shapeMet
		for _, name := range event.Shapes(u) {
			if s := met.shapes[name]; s != nil {
				worst = max(worst, s.fate)
			}
		}
		if got := met.fate(u); got != worst {
			t.Fatalf("%s has the fate %d, and the worst of its shapes is %d", u, got, worst)
		}
		seen[worst]++
	}
	if len(seen) != 3 {
		t.Errorf("of each fate so many were met: %v", seen)
	}
}

// However many shapes were met before, a trap is told, and a shape that is suspect stays so.
func TestTrapAfterManyShapes(t *testing.T) {
	var met traps
	at := func(format string, i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://"+format, i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for i := range 5 {
		met.note(event.At{}, at("wary.example/item/%d", i), 1, true)
	}
	for i := range mostShapes {
		met.note(event.At{}, at("h%d.example/", i), 1, true)
	}
	idle := at("h%d.example/", 0)
	for range idleAfter * mostShapes {
		met.note(event.At{}, idle, 1, false)
	}
	var told []event.Event
	for i := range 13 {
		told = append(told, met.note(event.At{}, at("trap.example/item/%d", i), 1, true)...)
	}
	if len(told) != 1 || told[0].(event.Trap).Shape != "trap.example/item/N" {
		t.Errorf("told %v", told)
	}
	if is := met.fate(at("wary.example/item/%d", 9)); is != shapeSuspect {
		t.Errorf("what was suspect is %d", is)
	}
	if len(met.shapes) != mostShapes || len(met.order.keys) != mostShapes {
		t.Errorf("%d shapes are remembered, %d in order", len(met.shapes), len(met.order.keys))
	}
}

// Where pages of more shapes than are remembered come in turn, the traps among those remembered are told.
func TestTrapOfManyInTurn(t *testing.T) {
	var met traps
	told := 0
	for i := range 12 {
		for h := range mostShapes/3 + 400 { // of three shapes each
			u, err := web.Parse(fmt.Sprintf("http://h%d.example/item/%d", h, i))
			if err != nil {
				t.Fatal(err)
			}
			told += len(met.note(event.At{}, u, 1, true))
		}
	}
	if told < mostShapes/3-1 {
		t.Errorf("%d traps were told", told)
	}
}

// However many lists there were before, one that brings nothing goes behind all links, and stays
// there when others come.
func TestListAfterManyLists(t *testing.T) {
	var l lists
	page := func(format string, i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://a.example/"+format, i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	brings := func(list web.URL, kind web.LinkKind, n int) {
		for i := range n {
			l.note(event.Fetched{Visit: event.Visit{URL: page("page%d", i), From: list, Link: kind}, Relevant: true})
		}
	}
	brings(page("%d", 0), web.LinkA, 50)
	for i := range mostLists {
		brings(page("list%d", i), web.LinkEntry, 1)
	}
	brings(page("list%d", 0), web.LinkEntry, idleAfter*mostLists)
	poor := page("poor%d", 1)
	for i := range 10 {
		l.note(event.Failed{Visit: event.Visit{URL: page("gone%d", i), From: poor, Link: web.LinkEntry}, Reason: web.ReasonStatus, Status: 404})
	}
	if l.behind[poor] == nil {
		t.Error("a list that brings nothing is not told after many others")
	}
	for i := range mostLists {
		brings(page("more%d", i), web.LinkEntry, 1)
	}
	if l.behind[poor] == nil || l.of[poor] == nil || len(l.of) != mostLists {
		t.Errorf("it did not stay behind; of %d lists is counted what they bring", len(l.of))
	}
}

// Where entries of more lists than are counted come in turn, those counted that bring nothing go behind all links.
func TestListOfManyInTurn(t *testing.T) {
	var l lists
	page := func(list string, i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("http://a.example/%s/%d", list, i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for i := range 50 {
		l.note(event.Fetched{Visit: event.Visit{URL: page("page", i), From: page("page", 0), Link: web.LinkA}, Relevant: true})
	}
	for range 10 {
		for i := range mostLists * 3 / 2 {
			l.note(event.Failed{Visit: event.Visit{URL: page("gone", i), From: page("list", i), Link: web.LinkEntry}, Reason: web.ReasonStatus, Status: 404})
		}
	}
	if len(l.behind) != mostLists {
		t.Errorf("%d of %d lists are behind", len(l.behind), mostLists)
	}
}
