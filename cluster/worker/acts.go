package worker

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/wire"
)

// What people tell a worker is told all of them, in one order:
//
//	person ─► Crawl.Acts of a worker ─► log acts ─► every worker: Acts ─► its driver
//
// The number of an act is its place among those of the log, so it is the same for all, and a
// worker that comes later takes in the same acts. A worker's own are numbered by it in the
// log, so that none is sent twice.

const logActs = "acts"

// Bounds on what comes from the log acts.
const (
	mostActs     = 1 << 16
	mostAct      = 64 << 10 // bytes of the record of one
	mostActBytes = 64 << 20 // of the records of all
)

// tooLong is why an act is refused whose record would have more than mostAct bytes.
const tooLong = "it is longer than 64 KiB"

// sendActsEvery is how often a worker looks for acts that it was told.
const sendActsEvery = 250 * time.Millisecond

// acts are those of the crawl.
type acts struct {
	list  []event.Act
	of    []string        // the worker that was told each of the list
	bytes int             // of their records
	last  engine.Position // of the log, as far as it was read
	sent  int             // of this worker's own; also those that were left out
	full  error           // why no act is taken in any more: one was left out; nil = it may be
	own   error           // why one of this worker's own was not sent; nil = all were
}

// since tells why an act that a worker was told comes to nothing: it waited there, as that worker did not
// run or the engine did not answer, and meanwhile people told another worker otherwise, which that one did
// not know of and which is later by the clocks of the two. What decides it is in the log alone, so that
// all workers decide the same.
func (a *acts) since(of string, late *event.Act) string {
	if late.Told.IsZero() {
		return ""
	}
	about := a.about(late)
	for i := len(a.list) - 1; i >= max(0, late.Known); i-- {
		if b := &a.list[i]; a.of[i] != of && b.Refused == "" && b.Told.After(late.Told) && a.about(b) == about {
			return fmt.Sprintf("the worker that was told it at %s did not send it before act %d, %s, was told at %s",
				late.Told.UTC().Format(time.DateTime), b.Number, b.Words(), b.Told.UTC().Format(time.DateTime))
		}
	}
	return ""
}

// about is what an act changes: of two acts about the same, the later one holds.
func (a *acts) about(x *event.Act) string {
	switch {
	case x.Do == event.Undo && x.Act >= 1 && x.Act <= len(a.list) && a.list[x.Act-1].Do != event.Undo:
		return a.about(&a.list[x.Act-1])
	case x.Do == event.Continue:
		return string(event.Pause)
	case x.Label():
		return string(event.Relevant) + " " + x.URL.String()
	case x.Do == event.Mute, x.Do == event.Boost, x.Do == event.Undo:
		return x.Words()
	}
	return string(x.Do)
}

// room tells why an act with a record of n bytes is not taken in.
func (a *acts) room(n int) error {
	switch {
	case a.full != nil:
	case len(a.list) >= mostActs:
		return fmt.Errorf("the crawl was told %d things, and takes no more", len(a.list))
	case a.bytes+n > mostActBytes:
		return fmt.Errorf("the crawl was told things of %d MiB, and takes no more", mostActBytes>>20)
	}
	return a.full
}

// Acts are what people told the crawl, whichever worker they told.
func (w *Worker) Acts() crawl.Acts { return actReader{w} }

// actReader reads what the crawl was told, as crawl.Acts.
type actReader struct{ w *Worker }

// After implements crawl.Acts.
func (a actReader) After(n int) ([]event.Act, error) {
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	if n >= len(a.w.acts.list) {
		return nil, nil
	}
	return slices.Clone(a.w.acts.list[n:]), nil
}

// encodeAct writes an act of a worker: its identity, the number of the act among its own, the
// act as JSON. In place of one that is too long it writes that it is refused: so all workers
// log it, and it is not sent again.
func encodeAct(worker string, number int, a event.Act) ([]byte, error) {
	begin := wire.AppendString([]byte{kindAct}, worker)
	begin = binary.AppendUvarint(begin, uint64(number))
	line, err := json.Marshal(intent(a))
	if b := wire.AppendString(slices.Clip(begin), string(line)); err != nil || len(b) <= mostAct {
		return b, err
	}
	line, err = json.Marshal(event.Act{Refused: tooLong})
	return wire.AppendString(begin, string(line)), err
}

// readActRecord reads it; the act that cannot be is one that is refused. Worker and number are
// returned with an error as well, if they could be read.
func readActRecord(b []byte) (worker string, number int, a event.Act, err error) {
	in := wire.NewReader(b)
	if kind := in.Byte(); in.Err() == nil && kind != kindAct {
		return "", 0, a, fmt.Errorf("a record of the unknown kind %q", kind)
	}
	worker, number = in.String(), in.Number(1<<30)
	if in.Err() != nil {
		return "", 0, a, in.Err()
	}
	line := in.String()
	if len(b) > mostAct {
		in.Fail("an act of %d bytes", len(b))
	}
	if err := in.End(); err != nil {
		return worker, number, a, err
	}
	got, bad := event.ReadAct([]byte(line))
	switch a = intent(got); {
	case got.Refused != "": // by the worker that was told it
		a = event.Act{Refused: tooLong}
	case bad != nil:
		a = event.Act{Refused: bad.Error()}
	}
	return worker, number, a, nil
}

// intent is what a person wants by an act; the rest is of the crawl that takes it in.
func intent(a event.Act) event.Act {
	return event.Act{Do: a.Do, URL: a.URL, Place: a.Place, Pages: a.Pages, Delay: a.Delay, Keywords: a.Keywords, Act: a.Act, Told: a.Told, Known: a.Known}
}

// takeAct takes in a record of the log acts.
func (w *Worker) takeAct(r engine.Record) error {
	of, number, a, err := readActRecord(r.Data)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acts.last = r.Position
	if of == w.self.Worker {
		w.acts.sent = max(w.acts.sent, number)
	}
	if err == nil {
		// Once there was no room, there is none for a shorter one either. What decides that is in
		// the log alone, so that all workers decide the same.
		err = w.acts.room(len(r.Data))
		w.acts.full = err
	}
	if err != nil {
		w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
		return nil // by every worker
	}
	w.acts.bytes += len(r.Data)
	if a.Refused == "" {
		a.Refused = w.acts.since(of, &a)
	}
	if a.Number = len(w.acts.list) + 1; of == w.self.Worker {
		a.Own = number
	}
	w.acts.list, w.acts.of = append(w.acts.list, a), append(w.acts.of, of)
	w.wakeDriver()
	return nil
}

// earlierActs reads the acts that the crawl was told so far and that were not read yet.
func (w *Worker) earlierActs(ctx context.Context) error {
	end, err := w.e.End(ctx, logActs)
	if err != nil {
		return err
	}
	w.mu.Lock()
	from := w.acts.last
	w.mu.Unlock()
	return w.readTo(ctx, map[string]engine.Position{logActs: from}, map[string]engine.Position{logActs: end.Position}, w.takeAct)
}

// settleActs sends what this worker was told so far, and reads it back, while nobody else of
// this worker sends or reads acts: when it begins, so that its crawl knows all of it before it
// may be over, and when it ends, so that the others hear of it.
func (w *Worker) settleActs(ctx context.Context) error {
	for {
		err := w.earlierActs(ctx)
		if err == nil && w.briefing.Acts != nil {
			err = w.sendNewActs(ctx)
		}
		switch {
		case err == nil:
			return w.earlierActs(ctx)
		case !errors.Is(err, engine.ErrChanged):
			return err
		}
	}
}

// readActs takes in acts as they come.
func (w *Worker) readActs() {
	w.mu.Lock()
	from := w.acts.last
	w.mu.Unlock()
	w.fail(w.e.Read(w.ctx, map[string]engine.Position{logActs: from}, w.takeAct))
}

// sendActs sends what people tell this worker. Where another worker was first, or an answer
// was lost, it goes on once it has read what the log holds.
func (w *Worker) sendActs() {
	t := time.NewTicker(sendActsEvery)
	defer t.Stop()
	for {
		if err := w.sendNewActs(w.ctx); err != nil && !errors.Is(err, engine.ErrChanged) && w.ctx.Err() == nil {
			w.o.Note(fmt.Sprintf("what this worker was told waits: %v", err))
		}
		select {
		case <-w.ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (w *Worker) sendNewActs(ctx context.Context) error {
	w.mu.Lock()
	sent, last := w.acts.sent, w.acts.last
	w.mu.Unlock()
	list, err := w.briefing.Acts.After(sent)
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.Refused == "" {
			if waited := w.o.Clock.Now().Sub(a.Told).Round(time.Second); !a.Told.IsZero() && waited > w.plan.Term {
				w.o.Note(fmt.Sprintf("%q, which this worker was told %v ago, goes to all workers now", a.Words(), waited))
			}
			b, err := encodeAct(w.self.Worker, a.Number, a)
			if err != nil {
				return err
			}
			w.mu.Lock()
			full := w.acts.room(len(b))
			w.acts.own = cmp.Or(w.acts.own, full)
			w.mu.Unlock()
			if full != nil {
				w.o.Note(fmt.Sprintf("act %d of those that this worker was told is left out: %v", a.Number, full))
			} else {
				at, err := w.e.Append(ctx, engine.Draft{Log: logActs, Data: b, IfLast: true, Last: last})
				if err != nil {
					return err
				}
				last = at[0]
			}
		}
		w.mu.Lock()
		w.acts.sent = max(w.acts.sent, a.Number)
		w.mu.Unlock()
	}
	return nil
}

// ofActs are the settings that acts change.
func ofActs(path string) bool {
	return path == "budget.pages" || path == "politeness.delay" || path == "topic.keywords"
}
