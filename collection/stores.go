package collection

import (
	"context"
	"errors"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/store"
)

// Stores are the three stores of a crawl. They were opened at the marks that the
// last turn in the frontier carries, so they tell the same story: what archive
// and log held beyond was never acknowledged, and is cut off.
type Stores struct {
	Frontier *frontier.Frontier
	Archive  *store.Archive
	Log      *event.Log
}

// StoreOptions say how stores are opened.
type StoreOptions struct {
	Frontier frontier.Options // Repair is set by AcceptLoss
	Archive  store.Options    // Mark is set by OpenStores
	// AcceptLoss goes on with stores that hold less than was acknowledged:
	// the pages that are lost are listed in lost.txt.
	AcceptLoss bool
	// Note is told what the user should know; nil tells nobody.
	Note func(string)
}

// OpenError says which of the stores could not be opened. Its text is that of
// Err, which names the place.
type OpenError struct {
	Store string // "frontier", "archive" or "event log"
	// Loss says that the store holds less than was acknowledged, as after a
	// power failure; AcceptLoss goes on all the same.
	Loss bool
	Err  error
}

func (e *OpenError) Error() string { return e.Err.Error() }
func (e *OpenError) Unwrap() error { return e.Err }

// OpenStores opens the stores of a crawl, or makes them. The caller closes them.
// An error of one of the stores is an *OpenError.
//
// A crawl that never committed a turn has its log and its archive removed. A
// frontier that lost the end of its memory is told by the log which addresses
// are done.
func (w *Writer) OpenStores(ctx context.Context, o StoreOptions) (_ *Stores, err error) {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	s := &Stores{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	o.Frontier.Repair = o.AcceptLoss
	if s.Frontier, err = frontier.Open(w.FrontierDir(), o.Frontier); err != nil {
		return nil, &OpenError{Store: "frontier", Loss: errors.Is(err, frontier.ErrDamaged), Err: err}
	}
	archived, err := s.Frontier.State(ctx, crawl.StateArchive)
	if err != nil {
		return nil, err
	}
	logged, err := s.Frontier.State(ctx, crawl.StateEvents)
	if err != nil {
		return nil, err
	}
	if logged == nil { // no turn was ever committed
		if err := w.clear(); err != nil {
			return nil, err
		}
		logged = []byte(event.Empty)
	}
	if archived == nil {
		archived = store.StartMark()
	}
	lostPages, err := s.openArchive(w.ArchiveDir(), archived, o)
	if err != nil {
		return nil, err
	}
	lostEvents, err := s.openLog(w.EventLog(), logged, o)
	if err != nil {
		return nil, err
	}
	if lostPages || lostEvents {
		if err := w.listLost(o.Note); err != nil {
			return nil, err
		}
	}
	if s.Frontier.Repaired() {
		o.Note("the end of the frontier's memory was lost, as in a power failure; it is made again from the log")
		if err := remind(ctx, s.Frontier, w.Events()); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// openArchive opens the archive at its mark. lost tells that it does not reach
// there and was opened all the same.
func (s *Stores) openArchive(dir string, mark []byte, o StoreOptions) (lost bool, err error) {
	o.Archive.Mark = mark
	s.Archive, err = store.Open(dir, o.Archive)
	var missing *store.MissingError
	lost = errors.As(err, &missing)
	if lost && o.AcceptLoss {
		o.Archive.Mark = nil
		s.Archive, err = store.Open(dir, o.Archive)
	}
	if err != nil {
		return false, &OpenError{Store: "archive", Loss: lost && !o.AcceptLoss, Err: err}
	}
	return lost, nil
}

// openLog opens the event log at its mark, as openArchive does.
func (s *Stores) openLog(path string, mark []byte, o StoreOptions) (lost bool, err error) {
	s.Log, err = event.Open(path, mark)
	lost = errors.Is(err, event.ErrMark)
	if lost && o.AcceptLoss {
		if mark, err = event.LastMark(path); err == nil {
			s.Log, err = event.Open(path, mark)
		}
	}
	if err != nil {
		return false, &OpenError{Store: "event log", Loss: lost && !o.AcceptLoss, Err: err}
	}
	return lost, nil
}

// Close closes the stores that are open.
func (s *Stores) Close() error {
	var errs []error
	if s.Log != nil {
		errs = append(errs, s.Log.Close())
	}
	if s.Archive != nil {
		errs = append(errs, s.Archive.Close())
	}
	if s.Frontier != nil {
		errs = append(errs, s.Frontier.Close())
	}
	return errors.Join(errs...)
}

// ScorerState is what the scorer knew at the crawl's last turn, as its State
// gave it; nil if it never gave any.
func (w *Writer) ScorerState(ctx context.Context) (state []byte, err error) {
	front, err := frontier.Open(w.FrontierDir(), frontier.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, front.Close()) }()
	return crawl.ScorerState(func(name string) ([]byte, error) { return front.State(ctx, name) })
}
