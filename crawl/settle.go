package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// How what was decided is made lasting, and told. While it is written, the next turns are
// decided:
//
//	driver  decide ─► commit ─► decide ─► commit ─► …            ─► tell
//	                    └┄► archive ─► log ─► the frontier's files ┄┄┘
//
// Nobody is told of a turn before it is written. Where a process dies, turns that nobody was told
// of may be lost: their pages are fetched again.

// settlement is an outcome on its way.
type settlement struct {
	archive Archive // nil = nothing is kept
	log     Log     // likewise
	record  []byte
	bytes   int // of record
	events  []event.Event
	mark    []byte // of the archive, once it is written; nil = it has not moved
}

// Bounds of the turns that are on their way. Their links are bounded by the frontier.
const (
	mostUntold      = 64
	mostUntoldBytes = 16 << 20 // of their records; a larger one is alone
)

// write writes archive and log, and returns their marks. A crash before the frontier has stored
// these leaves both longer than their marks, and the next run cuts them back.
func (s *settlement) write() (marks map[string][]byte, err error) {
	marks = make(map[string][]byte, 2)
	if s.archive != nil && s.record != nil {
		if s.mark, err = s.archive.Append(s.record); err != nil {
			return nil, &fileError{err}
		}
		marks[StateArchive] = s.mark
		s.record = nil
	}
	if s.log != nil && len(s.events) > 0 {
		if marks[StateEvents], err = s.log.Append(s.events...); err != nil {
			return nil, &fileError{fmt.Errorf("event log: %w", err)}
		}
	}
	return marks, nil
}

// fileError is an error of archive or log.
type fileError struct{ error }

func (e *fileError) Unwrap() error { return e.error }

// ofFrontier is an error of the frontier, or of what it wrote first.
func ofFrontier(err error) error {
	if file := (*fileError)(nil); errors.As(err, &file) {
		return file.error
	}
	return fmt.Errorf("frontier: %w", err)
}

// settle makes an outcome lasting: archive, then log, then frontier, which stores the marks of
// the other two. Where there are other workers, which are told in between, it returns when that
// is done.
func (d *driver) settle(ctx context.Context, now time.Time, record []byte, out Outcome) error {
	return d.settleBeside(ctx, now, record, out, func() {})
}

// settleBeside is settle while links are scored on other cores. join waits for that: it is called before
// anything by which links are scored changes, and not after an error.
func (d *driver) settleBeside(ctx context.Context, now time.Time, record []byte, out Outcome, join func()) error {
	if err := d.step.readError(); err != nil { // it was decided without what could not be read
		return err
	}
	s := &settlement{archive: d.Archive, log: d.Log, record: record, bytes: len(record), events: d.takeUnsaid()}
	if out.Event != nil {
		s.events = append(s.events, out.Event)
	}
	s.events = append(s.events, out.With...)
	if d.Peers == nil {
		out.Turn.First = s.write
	} else {
		var marks map[string][]byte
		err := d.timed(func() (err error) {
			marks, err = s.write()
			return err
		})
		if err != nil {
			return ofFrontier(err)
		}
		for name, mark := range marks {
			out.Turn.State[name] = mark
		}
		if err := d.Peers.Send(ctx, d.step.mail(&out.Turn), &out.Turn); err != nil {
			return fmt.Errorf("mail for other workers: %w: %w", errHalfway, err)
		}
		defer d.tellPeers(now, false)
	}
	// A crawl that is stopped meanwhile ends with this turn whole.
	receipt, err := d.commit(context.WithoutCancel(ctx), out.Turn)
	if err != nil {
		return err
	}
	d.settled = append(d.settled, s)
	if err := d.tell(d.mostOnWay()); err != nil {
		return err
	}
	join()
	after := append(d.step.Dropped(now, out.Turn, receipt), out.Also...)
	if d.Peers != nil {
		return d.say(after...)
	}
	d.unsaid = after
	return nil
}

// takeUnsaid returns the events that follow the turn before, which are written with this one.
// Where the queue is full nearly every page has one, and to write it at once would be to wait for
// all turns on their way.
func (d *driver) takeUnsaid() []event.Event {
	events := d.unsaid
	d.unsaid = nil
	return events
}

// commit commits a turn, and counts for how long that holds up the crawl.
func (d *driver) commit(ctx context.Context, turn web.Turn) (receipt web.Receipt, err error) {
	err = d.timed(func() (err error) {
		receipt, err = d.Frontier.Commit(ctx, turn)
		return err
	})
	if err != nil {
		return receipt, ofFrontier(err)
	}
	return receipt, nil
}

// mostOnWay is how many of the turns that were not told yet may be on their way.
func (d *driver) mostOnWay() (n int) {
	bytes := 0
	for _, s := range slices.Backward(d.settled) {
		if bytes += s.bytes; n == mostUntold || bytes > mostUntoldBytes {
			break
		}
		n++
	}
	return n
}

// tell waits until at most so many turns are not written, and tells of those that are; with 0
// also of what followed the last of them. After an error of one it returns that, whether anything
// is to be told or not.
func (d *driver) tell(most int) error {
	var n int
	err := d.timed(func() (err error) {
		n, err = d.Frontier.Unwritten(most)
		return err
	})
	if err != nil {
		return ofFrontier(err)
	}
	written := len(d.settled) - n
	for _, s := range d.settled[:written] {
		if s.mark != nil && d.Archived != nil {
			d.Archived(s.mark)
		}
		for _, e := range s.events {
			d.hear(e)
		}
	}
	d.settled = slices.Delete(d.settled, 0, written)
	if most > 0 {
		return nil
	}
	return d.logNow(d.takeUnsaid())
}

// say logs events that no turn waits for, and tells them.
func (d *driver) say(events ...event.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := d.tell(0); err != nil {
		return err
	}
	return d.logNow(events)
}

// logNow logs and tells events while nothing else is being written.
func (d *driver) logNow(events []event.Event) error {
	kept := slices.DeleteFunc(slices.Clone(events), event.Passing)
	if d.Log != nil && len(kept) > 0 {
		var err error
		if d.mark, err = d.Log.Append(kept...); err != nil {
			return fmt.Errorf("event log: %w", err)
		}
	}
	for _, e := range events {
		d.hear(e)
	}
	return nil
}

func (d *driver) hear(e event.Event) {
	if d.Listen != nil {
		d.Listen(e)
	}
}

// keepSafe begins to bring everything to the platter, the frontier last: what a power
// failure finds at that moment fits together. One that comes between two such moments
// may find a frontier whose marks are ahead of the archive by what was written
// since; the archive then says what is missing.
func (d *driver) keepSafe() error {
	if d.Peers != nil {
		return d.sync()
	}
	first := func() (map[string][]byte, error) { return nil, d.syncFiles() }
	if _, err := d.commit(context.Background(), web.Turn{First: first, Safe: true}); err != nil {
		return err
	}
	d.settled = append(d.settled, &settlement{})
	return nil
}

// sync returns when everything is on the platter.
func (d *driver) sync() error {
	if err := d.tell(0); err != nil {
		return err
	}
	return d.timed(func() error {
		if err := d.syncFiles(); err != nil {
			return ofFrontier(err)
		}
		if err := d.Frontier.Sync(); err != nil {
			return ofFrontier(err)
		}
		return nil
	})
}

// syncFiles brings archive and log to the platter.
func (d *driver) syncFiles() error {
	if d.Archive != nil {
		if err := d.Archive.Sync(); err != nil {
			return &fileError{err}
		}
	}
	if d.Log != nil {
		if err := d.Log.Sync(); err != nil {
			return &fileError{fmt.Errorf("event log: %w", err)}
		}
	}
	return nil
}
