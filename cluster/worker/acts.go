package worker

import (
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
	mostActs = 1 << 16
	mostAct  = 64 << 10 // bytes of one
)

// sendActsEvery is how often a worker looks for acts that it was told.
const sendActsEvery = 250 * time.Millisecond

// acts are those of the crawl.
type acts struct {
	list []event.Act
	last engine.Position // of the log, as far as it was read
	sent int             // of this worker's own
}

// Acts are what people told the crawl, whichever worker they told.
func (w *Worker) Acts() crawl.Acts { return actsOf{w} }

type actsOf struct{ w *Worker }

// After implements crawl.Acts.
func (a actsOf) After(n int) ([]event.Act, error) {
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	if n >= len(a.w.acts.list) {
		return nil, nil
	}
	return slices.Clone(a.w.acts.list[n:]), nil
}

// encodeAct writes an act of a worker: its identity, the number of the act among its own, the
// act as JSON.
func encodeAct(worker string, number int, a event.Act) ([]byte, error) {
	line, err := json.Marshal(intent(a))
	b := wire.AppendString([]byte{kindAct}, worker)
	b = binary.AppendUvarint(b, uint64(number))
	return wire.AppendString(b, string(line)), err
}

// readActRecord reads it; the act that cannot be is one that is refused.
func readActRecord(b []byte) (worker string, number int, a event.Act, err error) {
	in := wire.NewReader(b)
	if kind := in.Byte(); in.Err() == nil && kind != kindAct {
		return "", 0, a, fmt.Errorf("a record of the unknown kind %q", kind)
	}
	worker, number = in.String(), in.Number(1<<30)
	line := in.String()
	if len(b) > mostAct {
		in.Fail("an act of %d bytes", len(b))
	}
	if err := in.End(); err != nil {
		return "", 0, a, err
	}
	got, bad := event.ReadAct([]byte(line))
	if a = intent(got); bad != nil {
		a = event.Act{Refused: bad.Error()}
	}
	return worker, number, a, nil
}

// intent is what a person wants by an act; the rest is of the crawl that takes it in.
func intent(a event.Act) event.Act {
	return event.Act{Do: a.Do, URL: a.URL, Place: a.Place, Pages: a.Pages, Delay: a.Delay, Keywords: a.Keywords, Act: a.Act}
}

// takeAct takes in a record of the log acts.
func (w *Worker) takeAct(r engine.Record) error {
	of, number, a, err := readActRecord(r.Data)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acts.last = r.Position
	if err == nil && len(w.acts.list) >= mostActs {
		err = fmt.Errorf("the crawl was told more than %d things", mostActs)
	}
	if err != nil {
		w.o.Note(fmt.Sprintf("record %d of %s on the engine is left out: %v", r.Position, r.Log, err))
		return nil // by every worker
	}
	if of == w.self.Worker {
		w.acts.sent = max(w.acts.sent, number)
	}
	a.Number = len(w.acts.list) + 1
	w.acts.list = append(w.acts.list, a)
	w.signal()
	return nil
}

// earlierActs reads the acts that the crawl was told so far.
func (w *Worker) earlierActs() error {
	end, err := w.e.End(w.ctx, logActs)
	if err != nil {
		return err
	}
	return w.readTo(w.ctx, nil, map[string]engine.Position{logActs: end.Position}, w.takeAct)
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
		if err := w.sendNewActs(); err != nil && !errors.Is(err, engine.ErrChanged) && w.ctx.Err() == nil {
			w.o.Note(fmt.Sprintf("what this worker was told waits: %v", err))
		}
		select {
		case <-w.ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (w *Worker) sendNewActs() error {
	w.mu.Lock()
	sent, last := w.acts.sent, w.acts.last
	w.mu.Unlock()
	list, err := w.told.Acts.After(sent)
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.Refused == "" {
			b, err := encodeAct(w.self.Worker, a.Number, a)
			if err != nil {
				return err
			}
			at, err := w.e.Append(w.ctx, engine.Draft{Log: logActs, Data: b, IfLast: true, Last: last})
			if err != nil {
				return err
			}
			last = at[0]
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
