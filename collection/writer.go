package collection

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
)

// Writer is the folder of a crawl that this process alone may change. One
// goroutine uses it at a time.
type Writer struct {
	Collection
	lock io.Closer
}

// ErrUnwritable says that a folder may not be written to.
var ErrUnwritable = errors.New("the folder cannot be written")

// unwritableError is ErrUnwritable in the words of a place.
type unwritableError struct{ error }

func (unwritableError) Is(target error) bool { return target == ErrUnwritable }
func (e unwritableError) Unwrap() error      { return e.error }

// Lock takes the folder, which is made if it is not there, and goes on with a
// repair that was interrupted when all its files were complete. The caller closes
// the Writer. It is an error if the folder is not Usable or another process has
// it.
func (c Collection) Lock() (*Writer, error) {
	if err := c.Usable(); err != nil {
		return nil, err
	}
	lock, err := folder.Lock(c.dir)
	if errors.Is(err, folder.ErrLocked) {
		return nil, fmt.Errorf("%s is in use by another waggle: wait for it to end, or stop it", c.dir)
	}
	if (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && folder.Exists(c.dir) {
		return nil, unwritableError{fmt.Errorf("%s cannot be written: run the command as its owner, or on a copy of it: %w", c.dir, err)}
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of the crawl: %w", err)
	}
	w := &Writer{c, lock}
	if err := errors.Join(c.goOn(), w.bringBack()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return w, nil
}

// Close gives the folder back.
func (w *Writer) Close() error { return w.lock.Close() }

// SaveJob keeps the job file, whole or not at all. From then on the crawl is set
// up: the first time, the checksums of the other files of its set-up are kept
// before.
func (w *Writer) SaveJob(b []byte) error {
	if !w.Begun() {
		if err := w.saveSums(); err != nil {
			return err
		}
	}
	return folder.Write(w.JobFile(), b)
}

// SaveCritic keeps a copy of the critic that judges.
func (w *Writer) SaveCritic(b []byte) error { return folder.Write(w.CriticFile(), b) }

// Example is an example page as it was when the crawl began.
type Example struct {
	Source   string `json:"source"`             // as the job gives it: an address or a file
	Negative bool   `json:"negative,omitempty"` // unlike what is wanted
	URL      string `json:"url"`                // where redirects led; of a file, any address
	MIME     string `json:"mime"`
	Body     []byte `json:"body"` // base64 in JSON: any bytes
}

// SaveExamples keeps the example pages.
func (w *Writer) SaveExamples(examples []Example) error {
	return folder.WriteFrom(w.ExampleFile(), func(out io.Writer) error { return writeExamples(out, examples) })
}

func writeExamples(out io.Writer, examples []Example) error {
	enc := json.NewEncoder(out) // an example a line
	for _, e := range examples {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// Examples are the example pages that SaveExamples kept; nil if it never did.
func (c Collection) Examples() (examples []Example, err error) {
	f, err := os.Open(c.ExampleFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReader(f))
	for dec.More() {
		var e Example
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("%s is damaged (%w): put it back; a new crawl with the same job makes it again", c.ExampleFile(), err)
		}
		examples = append(examples, e)
	}
	return examples, nil
}

// SaveHarvest writes harvest.tsv from the log, and harvest.yaml beside it: by what
// judge and topic its pages are relevant.
func (w *Writer) SaveHarvest() error {
	h, err := w.harvest(context.Background())
	if err != nil {
		return err
	}
	var by provenance
	for e, err := range event.ReadKinds(w.EventLog(), event.Started{}.Kind(), event.Changed{}.Kind(), event.Rejudged{}.Kind()) {
		if err != nil {
			return err
		}
		by.add(e)
	}
	return w.writeHarvest(&h, &by)
}

// writeHarvest writes the two files of a harvest.
func (w *Writer) writeHarvest(h *event.Harvest, by *provenance) error {
	return errors.Join(
		folder.WriteFrom(w.HarvestFile(), h.WriteTSV),
		folder.Write(w.ProvenanceFile(), by.text(h.Len())),
	)
}

// Discard removes the crawl, for a new one. One with pages in its archive stays as
// it is, and is an error.
func (w *Writer) Discard() error {
	if err := w.withoutPages(); err != nil {
		return err
	}
	var errs []error
	for _, name := range w.files() {
		errs = append(errs, os.RemoveAll(name))
	}
	return errors.Join(append(errs, w.clearScratch())...)
}

// SetAside moves the crawl, which Discard would remove, into the folder "replaced" of its own for a
// new one. The caller calls back where that does not begin: the crawl is there again as it was. Else the
// caller calls drop, which removes it.
func (w *Writer) SetAside() (back, drop func() error, err error) {
	if err := w.withoutPages(); err != nil {
		return nil, nil, err
	}
	aside := w.replaced()
	if err := os.Mkdir(aside, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, nil, fmt.Errorf("%s is in the way of a new crawl: move it to another place", aside)
	} else if err != nil {
		return nil, nil, err
	}
	if err := w.move(w.dir, aside); err != nil {
		return nil, nil, errors.Join(err, w.moveBack())
	}
	back = func() error {
		if err := w.withoutPages(); err != nil {
			return err
		}
		if err := os.Remove(w.JobFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // from here on the new crawl has not begun; see bringBack
		}
		if err := w.Discard(); err != nil {
			return err
		}
		return w.moveBack()
	}
	return back, w.dropAside, nil
}

// replacedDir has a crawl without pages until the one that takes its place has begun.
const replacedDir = "replaced"

func (c Collection) replaced() string { return filepath.Join(c.dir, replacedDir) }

// isAside tells whether all of a crawl is set aside: its job file is moved there last, moved back
// first, and removed last.
func (c Collection) isAside() bool {
	return c.hasAside() && folder.Exists(filepath.Join(c.replaced(), filepath.Base(c.JobFile())))
}

// hasAside tells whether anything may be set aside. A folder of that name in which a crawl ran is one of the user: it
// has a lock file, which is not moved. So is one with pages, or with an archive that cannot be read: none is set aside
// that holds any.
func (c Collection) hasAside() bool {
	aside := At(c.replaced())
	return folder.Exists(aside.dir) && !folder.Exists(filepath.Join(aside.dir, "lock")) && aside.withoutPages() == nil
}

// bringBack ends what SetAside, or its back or drop, began in a process that was killed:
//
//	job file    in the folder    aside
//	            the old one      none     parts may be aside: they are moved back
//	            none             yes      the new crawl has not begun: it is removed, the old one moved back
//	            the new one      yes      the new crawl has begun: what is aside is removed
func (w *Writer) bringBack() error {
	switch {
	case !w.hasAside():
		return nil
	case w.isAside() && w.Begun():
		_ = w.dropAside() // what cannot be removed does no harm
		return nil
	case w.isAside():
		if err := w.Discard(); err != nil {
			return err
		}
	}
	return w.moveBack()
}

// dropAside removes what is set aside.
func (w *Writer) dropAside() error {
	for _, name := range w.files() {
		if err := os.RemoveAll(filepath.Join(w.replaced(), filepath.Base(name))); err != nil {
			return err
		}
	}
	return os.Remove(w.replaced())
}

func (w *Writer) moveBack() error {
	if err := w.move(w.replaced(), w.dir); err != nil {
		return err
	}
	_ = os.Remove(w.replaced()) // what else is in it is the user's
	return nil
}

// move moves the files of the crawl from one folder to another: the job file last where they are set aside, and
// first where they come back.
func (w *Writer) move(from, to string) error {
	var errs []error
	files := w.files()
	if to == w.dir {
		slices.Reverse(files)
	}
	for _, name := range files {
		there := filepath.Join(to, filepath.Base(name))
		if to == w.dir && folder.Exists(there) {
			continue // nothing that was moved away is there: that file was put aside by somebody else
		}
		err := os.Rename(filepath.Join(from, filepath.Base(name)), there)
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// BringBack brings a crawl without pages back that was set aside for a new one by a process that was killed
// before that began. Lock does so, too.
func (c Collection) BringBack() error {
	if !c.hasAside() {
		return nil
	}
	w, err := c.Lock()
	if err != nil {
		return err
	}
	return w.Close()
}

// withoutPages is an error where the archive holds pages.
func (c Collection) withoutPages() error {
	kept, err := c.keeps(func(p store.Piece) bool { return p.Type == "metadata" && p.Meta.Page })
	if err == nil && kept {
		err = fmt.Errorf("%s holds pages: they are not removed for a new crawl; choose another folder", c.ArchiveDir())
	}
	return err
}

// files are those of the crawl itself, the job file last.
func (w *Writer) files() []string {
	return []string{
		w.FrontierDir(), w.ArchiveDir(), w.EventLog(), w.HarvestFile(), w.ProvenanceFile(), w.ExampleFile(), w.ModelFile(), w.CriticFile(), w.KnownFile(), w.RobotsFile(), w.ReservationsFile(), w.ActivityFile(), w.SumFile(), w.LostFile(), w.WorkersFile(), w.MemberFile(), w.ShippedFile(), w.ActFile(), w.actsForAll(), w.JobFile(),
	}
}

// clear removes what a run left that never committed a turn: the log tells of
// its start at most, and the archive holds no record. Of more than that nothing is
// touched: it is the frontier that was lost then, or frontier and log.
func (w *Writer) clear() error {
	if w.tellsOfTurns() {
		return &OpenError{Store: "frontier", Damaged: true, Err: fmt.Errorf("%s is missing or empty, but the event log tells of a crawl", w.FrontierDir())}
	}
	if kept, err := w.keepsRecords(); err != nil {
		return err
	} else if kept {
		return &OpenError{Store: "frontier", Damaged: true, Err: fmt.Errorf("%s and %s are missing or empty, but the archive holds what the crawl fetched", w.FrontierDir(), w.EventLog())}
	}
	return errors.Join(os.RemoveAll(w.ArchiveDir()), os.RemoveAll(w.EventLog()))
}

// keepsRecords tells whether the archive holds a record of something fetched.
func (c Collection) keepsRecords() (bool, error) {
	return c.keeps(func(p store.Piece) bool { return p.Type != "warcinfo" })
}

// keeps tells whether the archive holds a whole record that is such. A place that the disk does not
// give may hold one: it is an error.
func (c Collection) keeps(such func(store.Piece) bool) (bool, error) {
	files, err := c.ArchiveFiles()
	if err != nil {
		return false, err
	}
	for _, name := range files {
		for p, err := range store.Pieces(name, -1) {
			if err != nil {
				return false, err
			}
			if number := syscall.Errno(0); errors.As(p.Damage, &number) {
				return false, p.Damage
			}
			if p.Damage == nil && such(p) {
				return true, nil
			}
		}
	}
	return false, nil
}

// tellsOfTurns tells whether the log speaks of more than the start of a crawl.
func (c Collection) tellsOfTurns() bool {
	for e, err := range event.ReadFile(c.EventLog()) {
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		if err != nil {
			continue // the torn end of the first line, or worse
		}
		switch e.(type) {
		case event.Started, event.Seeded, event.Received, event.Ended, event.Tick:
		default:
			return true
		}
	}
	return false
}
