package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// An engine that was brought back from a backup, or whose machine lost power, may be older than a
// folder: its logs end before the positions up to which the folder has taken them in, or hold
// other records there, as others went on with it. Such a folder would miss the links that are
// logged up to there, and its own pages would be fetched again. So a worker compares, before it
// joins, the last record that it knows of each log with the one that is there.

// ErrOlder is wrapped by the error of Open with a folder that knows more of the crawl than the engine.
var ErrOlder = errors.New("the engine is older than this folder, as one that was brought back from a backup: " +
	"start it with its newer files; or, where these are lost, go on with a new folder in place of each that is refused, " +
	"and merge the old and the new ones in the end (waggle cluster merge): what came after the backup is fetched again, and nothing is lost")

func older(what string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), ErrOlder)
}

// sum tells records apart; it is never 0.
func sum(record []byte) uint32 { return uint32(xxh3.Hash(record)) | 1 }

// sameHistory tells whether the logs hold what the folder has of them: of each the last record that it
// knows. Records before that are older.
func (w *Worker) sameHistory(ctx context.Context, views map[int]view) error {
	var held []int
	for n := range views {
		held = append(held, n)
	}
	slices.Sort(held)
	err := each(held, func(n int) error {
		v := views[n]
		own, err := w.e.First(ctx, logDone(n), v.Last)
		if err != nil || v.Last == 0 {
			return err
		}
		d, err := readDoneRecord(own.Data, false)
		if own.Position != v.Last || err == nil && d.worker != w.self.Worker {
			return older("this worker's record %d of the log %s is not there", v.Last, logDone(n))
		}
		return w.sameRecord(ctx, logLinks(n), v.Links, v.Sum)
	})
	if err == nil {
		err = w.sameRecord(ctx, logAll, w.all.Last, w.all.Sum)
	}
	if err != nil {
		return first(err)
	}
	for _, v := range views {
		if v.Losses > len(w.losses) {
			return older("it was said of %d folders that they are lost, and the engine knows of %d", v.Losses, len(w.losses))
		}
	}
	return w.sameActs(ctx)
}

// sameEnd tells whether the logs still hold the last record that this worker knows of any. An engine may be
// stopped and started with older files within a session: its keys may be those of before, and a reader would
// leave out what comes at positions that it has read.
func (w *Worker) sameEnd(ctx context.Context) error {
	w.mu.Lock()
	log, last := logAll, view{Last: w.all.Last, Sum: w.all.Sum}
	if p := w.posted; p.Position > last.Last {
		log, last = p.Log, view{Last: p.Position, Sum: sum(p.Data)}
	}
	for n, h := range w.holds {
		if h.Links > last.Last {
			log, last = logLinks(n), view{Last: h.Links, Sum: h.Sum}
		}
		if h.Last > last.Last {
			log, last = logDone(n), view{Last: h.Last, Sum: h.own}
		}
	}
	w.mu.Unlock()
	return w.sameRecord(ctx, log, last.Last, last.Sum)
}

// first is the first of the errors that are joined in one, so that a worker says why it is refused once.
func first(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) > 0 {
		return all.Unwrap()[0]
	}
	return err
}

// sameRecord tells whether a log has a record at a position, with a sum unless that is 0.
func (w *Worker) sameRecord(ctx context.Context, log string, at engine.Position, of uint32) error {
	if at == 0 {
		return nil
	}
	r, err := w.e.First(ctx, log, at)
	if err != nil {
		return err
	}
	if r.Position != at || of != 0 && sum(r.Data) != of {
		return older("record %d of the log %s, which this worker has taken in, is not there", at, log)
	}
	return nil
}

// sameActs tells whether the crawl was told what the folder's log says.
func (w *Worker) sameActs(ctx context.Context) error {
	if w.briefing.Taken == nil {
		return nil
	}
	taken := w.briefing.Taken()
	if len(taken) == 0 {
		return nil
	}
	if err := w.earlierActs(ctx); err != nil {
		return err
	}
	known, err := w.Acts().After(0)
	if err != nil {
		return err
	}
	for i := range taken {
		n, words := taken[i].Number, taken[i].Words()
		if n > len(known) || n > 0 && known[n-1].Words() != words {
			return older("the crawl was told %q, act %d, of which the engine does not know", words, n)
		}
	}
	return nil
}
