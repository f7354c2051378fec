package frontier

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// DamageError says that a file of a frontier is damaged, or that it holds less
// than was acknowledged. When Open returns it, no other file lost anything: the
// frontier is as it was once this file is put back.
type DamageError struct {
	Path string // of the file, or of the folder where it is missing
	Err  error
	// Lost is the number of commits that were acknowledged and are missing from
	// the store's end, 0 where it is not that.
	Lost uint64
	// Unsynced tells that all of those were made after the last Sync: a power
	// failure can have taken them.
	Unsynced bool

	label bool // the file only describes the store: what it holds is whole
}

func (e *DamageError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err) }
func (e *DamageError) Unwrap() error { return e.Err }

// errDamaged is what a damaged piece of a file is, when its place is told around
// it.
var errDamaged = errors.New("it does not read as what was written")

// damageOf makes a *DamageError of an error of the store that speaks of damage,
// and returns others as they are. path is where it was met, for errors that do
// not say so themselves.
func damageOf(path string, err error) error {
	var already *DamageError
	switch {
	case err == nil || errors.As(err, &already):
		return err
	case pebble.IsCorruptionError(err):
		if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
			path = info.Path
			err = info.Details
		}
	case errors.Is(err, os.ErrNotExist):
		var missing *os.PathError
		if errors.As(err, &missing) {
			path, err = missing.Path, errors.New("it is missing")
		}
	case errors.Is(err, errDamaged), errors.Is(err, pebble.ErrNotFound), errors.Is(err, syscall.EIO):
	default:
		return err
	}
	return &DamageError{Path: path, Err: err}
}

// damaged says of what the queue holds that it is damaged, where there is a file of it.
func (f *Frontier) damaged(err error) error {
	if d, ok := f.backend.(*disk); ok {
		return damageOf(d.queue(), err)
	}
	return err
}

// openDamage is damageOf for an error of opening a store that is there: what the
// system did not refuse can only be what the files hold.
func openDamage(path string, err error) error {
	var errno syscall.Errno
	if err == nil || errors.Is(err, errVersion) || errors.As(err, &errno) && errno != syscall.ENOENT && errno != syscall.EIO {
		return err
	}
	if err := damageOf(path, err); errors.As(err, new(*DamageError)) {
		return err
	}
	return &DamageError{Path: path, Err: err}
}
