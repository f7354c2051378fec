package worker

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// desk is what people tell one worker.
type desk struct {
	mu   sync.Mutex
	list []event.Act
}

func (d *desk) tell(a event.Act) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a.Number = len(d.list) + 1
	d.list = append(d.list, a)
}

func (d *desk) After(n int) ([]event.Act, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]event.Act(nil), d.list[min(n, len(d.list)):]...), nil
}

// joined is a worker that has joined, in a folder of its own.
func joined(t *testing.T, e engine.Engine, dir, name string, d *desk) (*Worker, func()) {
	t.Helper()
	f, err := frontier.Open(filepath.Join(dir, name), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := New(t.Context(), Options{Engine: e, Name: name, Plan: Plan{Shards: 8, Term: 3 * time.Second}})
	if err := w.Open(t.Context(), f, Crawl{Settings: map[string]string{}, Acts: d}); err != nil {
		t.Fatal(err)
	}
	return w, func() {
		if err := w.Close(""); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// heard waits until a worker knows n acts, and returns them.
func heard(t *testing.T, w *Worker, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		list, err := w.Acts().After(0)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) >= n {
			var out []string
			for _, a := range list {
				out = append(out, fmt.Sprint(a.Number, " ", a.Words(), a.Refused))
			}
			return fmt.Sprint(out)
		}
		select {
		case <-w.arrived:
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d acts are known, and not %d", len(list), n)
		}
	}
}

// TestActsReachAll tells three workers things, of which one joins later and one comes back:
// all know all of it, in one order, under the same numbers.
func TestActsReachAll(t *testing.T) {
	e, dir := engine.NewMemory(), t.TempDir()
	var a, b, c desk
	wa, closeA := joined(t, e, dir, "a", &a)
	wb, closeB := joined(t, e, dir, "b", &b)
	a.tell(event.Act{Do: event.Pause})
	first := heard(t, wb, 1)
	if first != "[1 pause]" {
		t.Errorf("b has heard %s", first)
	}
	for i := range 5 {
		a.tell(event.Act{Do: event.Mute, Place: fmt.Sprintf("a%d.example", i)})
		b.tell(event.Act{Do: event.Budget, Pages: 100 + i, Refused: ""})
	}
	all := heard(t, wa, 11)
	if got := heard(t, wb, 11); got != all {
		t.Errorf("a has heard %s\nand b %s", all, got)
	}
	wc, closeC := joined(t, e, dir, "c", &c)
	if list, err := wc.Acts().After(0); err != nil || len(list) != 11 {
		t.Errorf("who joins later knows %d acts, %v", len(list), err)
	}
	closeA()
	a.tell(event.Act{Do: event.Undo, Act: 1})
	wa, closeA = joined(t, e, dir, "a", &a)
	last := heard(t, wc, 12)
	if want := all[:len(all)-1] + " 12 undo 1]"; last != want {
		t.Errorf("c has heard %s\nand not %s", last, want)
	}
	// What others write to the log is looked at, and counts the same for all.
	if _, err := e.Append(t.Context(), engine.Draft{Log: logActs, Data: []byte("rubbish")}); err != nil {
		t.Fatal(err)
	}
	bad, err := encodeAct("stranger", 1, event.Act{Do: event.Delay, Delay: "a year"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Append(t.Context(), engine.Draft{Log: logActs, Data: bad}); err != nil {
		t.Fatal(err)
	}
	b.tell(event.Act{Do: event.Continue})
	for _, w := range []*Worker{wa, wb, wc} {
		if got, want := heard(t, w, 14), last[:len(last)-1]+` 13 "a year" is no delay: give a time from 0s to 1h0m0s, such as 2s or 500ms 14 continue]`; got != want {
			t.Errorf("%s has heard %s\nand not %s", w.o.Name, got, want)
		}
	}
	closeA()
	closeB()
	closeC()
}

// records is how many records the log acts has.
func records(t *testing.T, w *Worker) (n int) {
	t.Helper()
	end, err := w.e.End(t.Context(), logActs)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.readTo(t.Context(), nil, map[string]engine.Position{logActs: end.Position}, func(engine.Record) error {
		n++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// An act that is too long is refused before all workers, and sent once, whatever starts anew.
func TestLongActIsRefused(t *testing.T) {
	e, dir := engine.NewMemory(), t.TempDir()
	var a, b desk
	_, closeA := joined(t, e, dir, "a", &a)
	wb, closeB := joined(t, e, dir, "b", &b)
	a.tell(event.Act{Do: event.Mute, Place: strings.Repeat("a", mostAct)})
	if got, want := heard(t, wb, 1), "[1 it is longer than 64 KiB]"; got != want {
		t.Fatalf("b has heard %s, want %s", got, want)
	}
	closeA()
	wa, closeA := joined(t, e, dir, "a", &a)
	a.tell(event.Act{Do: event.Pause})
	for _, w := range []*Worker{wa, wb} {
		if got, want := heard(t, w, 2), "[1 it is longer than 64 KiB 2 pause]"; got != want {
			t.Errorf("%s has heard %s, want %s", w.o.Name, got, want)
		}
	}
	if n := records(t, wb); n != 2 {
		t.Errorf("the log has %d records, want 2", n)
	}
	closeA()
	closeB()
}

// An act that its worker does not send, as there is no room for it, changes nothing of what is
// taken in: a shorter one, which has room, is taken in by all workers.
func TestUnsentActLeavesRoom(t *testing.T) {
	e := engine.NewMemory()
	var own desk
	own.tell(event.Act{Do: event.Mute, Place: strings.Repeat("a", 1000)})
	own.tell(event.Act{Do: event.Pause})
	var all []*Worker
	for _, name := range []string{"a", "b"} {
		w := New(t.Context(), Options{Engine: e, Name: name, Note: func(string) {}})
		w.self.Worker, w.acts.bytes = name, mostActBytes-500
		all = append(all, w)
	}
	all[0].briefing.Acts = &own
	if err := all[0].sendNewActs(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if err := w.earlierActs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Acts().After(0); err != nil || len(got) != 1 || got[0].Do != event.Pause {
			t.Errorf("%s has taken in %v, %v", w.o.Name, got, err)
		}
	}
	if all[0].scene(nil, nil, "").Full == "" {
		t.Error("who looks is not told that an act was not sent")
	}
}

// A record that is left out counts as sent for the worker that it is of: it is not sent again.
func TestActsLeftOut(t *testing.T) {
	long := func(w *Worker) []byte {
		b := wire.AppendString([]byte{kindAct}, w.self.Worker)
		return wire.AppendString(binary.AppendUvarint(b, 1), strings.Repeat("a", mostAct))
	}
	short := func(w *Worker) []byte {
		b, err := encodeAct(w.self.Worker, 1, event.Act{Do: event.Pause})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		name  string
		known acts
		data  func(*Worker) []byte
		note  string
	}{
		{"too long", acts{}, long, "an act of"},
		{"too many", acts{list: make([]event.Act, mostActs)}, short, "told 65536 things"},
		{"too many bytes", acts{bytes: mostActBytes - 8}, short, "things of 64 MiB"},
	} {
		var notes []string
		w := New(t.Context(), Options{Engine: engine.NewMemory(), Name: "a", Plan: Plan{Shards: 8, Term: 3 * time.Second}, Note: func(s string) { notes = append(notes, s) }})
		w.self.Worker, w.acts = "me", c.known
		var own desk
		own.tell(event.Act{Do: event.Pause})
		w.briefing.Acts = &own
		if c.known.room(100) != nil {
			if err := w.sendNewActs(t.Context()); err != nil || records(t, w) != 0 || w.acts.sent != 1 || len(notes) != 1 {
				t.Errorf("%s: sent all the same: %v, %q", c.name, err, notes)
			}
		}
		w.acts.sent, notes = 0, nil
		if err := w.takeAct(engine.Record{Log: logActs, Position: 7, Data: c.data(w)}); err != nil {
			t.Fatal(err)
		}
		if len(w.acts.list) != len(c.known.list) || w.acts.sent != 1 || w.acts.last != 7 {
			t.Errorf("%s: %d acts are known, %d were sent", c.name, len(w.acts.list), w.acts.sent)
		}
		if len(notes) != 1 || !strings.Contains(notes[0], c.note) {
			t.Errorf("%s: notes %q, want one with %q", c.name, notes, c.note)
		}
		if err := w.sendNewActs(t.Context()); err != nil || records(t, w) != 0 {
			t.Errorf("%s: it was sent again: %v", c.name, err)
		}
		// The crawl takes no more then, also where a shorter one would have room.
		full := w.scene(nil, nil, "").Full
		if c.name == "too long" && full != "" || c.name != "too long" && !strings.Contains(full, c.note) {
			t.Errorf("%s: who looks is told %q", c.name, full)
		}
		w.acts.bytes = 0
		if err := w.takeAct(engine.Record{Log: logActs, Position: 8, Data: short(w)}); err != nil || len(w.acts.list) > len(c.known.list) && full != "" {
			t.Errorf("%s: a later one is taken in: %v", c.name, err)
		}
	}
}

// An act that waited with its worker comes to nothing where another worker was told otherwise later, and
// did not know of it. All workers decide the same.
func TestActThatWaited(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 1, hour, 0, 0, 0, time.UTC) }
	u, err := web.Parse("http://s0.example/0")
	if err != nil {
		t.Fatal(err)
	}
	late := at(10)
	for _, c := range []struct {
		name  string
		first []event.Act // by another worker
		then  event.Act
		holds bool
	}{
		{"a pause, and later a continue", []event.Act{{Do: event.Continue, Told: at(11)}}, event.Act{Do: event.Pause, Told: late}, false},
		{"a pause, and a continue before it", []event.Act{{Do: event.Continue, Told: at(9)}}, event.Act{Do: event.Pause, Told: late}, true},
		{"of which it knew, by a clock that is ahead", []event.Act{{Do: event.Continue, Told: at(11)}}, event.Act{Do: event.Pause, Told: late, Known: 1}, true},
		{"of one of two it knew", []event.Act{{Do: event.Pause, Told: at(11)}, {Do: event.Continue, Told: at(12)}}, event.Act{Do: event.Pause, Told: late, Known: 1}, false},
		{"a pause, and later something else", []event.Act{{Do: event.Budget, Pages: 9, Told: at(11)}}, event.Act{Do: event.Pause, Told: late}, true},
		{"a budget, and later another", []event.Act{{Do: event.Budget, Pages: 9, Told: at(11)}}, event.Act{Do: event.Budget, Pages: 7, Told: late}, false},
		{"a pause, and later one that is undone", []event.Act{{Do: event.Pause, Told: at(8)}, {Do: event.Undo, Act: 1, Told: at(11)}}, event.Act{Do: event.Pause, Told: late}, false},
		{"a label, and later another", []event.Act{{Do: event.Irrelevant, URL: u, Told: at(11)}}, event.Act{Do: event.Relevant, URL: u, Told: late}, false},
		{"a mute, and later one of another place", []event.Act{{Do: event.Mute, Place: "a.example", Told: at(11)}}, event.Act{Do: event.Mute, Place: "b.example", Told: late}, true},
		{"a mute, and later an undone one", []event.Act{{Do: event.Mute, Place: "a.example", Told: at(9)}, {Do: event.Undo, Act: 1, Told: at(11)}}, event.Act{Do: event.Mute, Place: "a.example", Told: late}, false},
		{"by an earlier version, without a time", []event.Act{{Do: event.Continue}}, event.Act{Do: event.Pause, Told: late}, true},
		{"later, of an earlier version", []event.Act{{Do: event.Continue, Told: at(11)}}, event.Act{Do: event.Pause}, true},
	} {
		for _, me := range []string{"late", "other", "third"} {
			w := New(t.Context(), Options{Engine: engine.NewMemory(), Name: me})
			w.self.Worker = me
			take := func(of string, number int, a event.Act) {
				b, err := encodeAct(of, number, a)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.takeAct(engine.Record{Log: logActs, Position: engine.Position(number), Data: b}); err != nil {
					t.Fatal(err)
				}
			}
			for i, a := range c.first {
				take("other", i+1, a)
			}
			take("late", 1, c.then)
			take("late", 2, event.Act{Do: c.then.Do, URL: u, Place: "c.example", Pages: 5, Told: at(8), Known: len(c.first) + 1}) // its own clock was set back
			got, err := w.Acts().After(len(c.first))
			if err != nil || len(got) != 2 || (got[0].Refused == "") != c.holds || got[1].Refused != "" {
				t.Errorf("%s: %s has %+v, %v", c.name, me, got, err)
			}
		}
	}
}
