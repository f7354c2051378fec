package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/zeebo/xxh3"
)

// A witness is a small file that says how far the frontier had come. The store
// cannot say so itself: where the end of its log is lost, what is left looks
// like a store that never went further.
//
//	"waggle witness 1"  turn(8)  synced(8)  checksum(8)       40 bytes
//
// Numbers are little-endian. Turn is the number of the last commit that was
// handed to the operating system whole, synced that of the last one that was
// made to survive a power failure; the checksum is the XXH3 of all before it.
// The file is written over in place after every commit:
//
//	the ledger's block ─► the store's log ─► the witness ─► the caller is told
//
// So a store whose last commit is
//
//	turn or later       has all that was acknowledged
//	before turn         lost commits: after synced as in a power failure, or
//	                    by damage; up to synced by damage alone
type witness struct {
	file vfs.File
	name string
	witnessRecord
}

type witnessRecord struct{ turn, synced uint64 }

const (
	witnessMagic = "waggle witness 1"
	witnessSize  = len(witnessMagic) + 3*8
)

// openWitness opens the file for writing, and makes it if there is none.
func openWitness(fs vfs.FS, name string, t witnessRecord) (*witness, error) {
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	w := &witness{f, name, t}
	if err := w.write(t); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

func (w *witness) write(t witnessRecord) error {
	var b [witnessSize]byte
	n := copy(b[:], witnessMagic)
	binary.LittleEndian.PutUint64(b[n:], t.turn)
	binary.LittleEndian.PutUint64(b[n+8:], t.synced)
	binary.LittleEndian.PutUint64(b[n+16:], xxh3.Hash(b[:n+16]))
	if _, err := w.file.WriteAt(b[:], 0); err != nil {
		return fmt.Errorf("writing %s: %w", w.name, err)
	}
	w.witnessRecord = t
	return nil
}

// readWitness reads the file of a frontier. A file that is missing or cannot be
// trusted is a *DamageError.
func readWitness(fs vfs.FS, name string) (t witnessRecord, err error) {
	f, err := fs.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return t, &DamageError{Path: name, Err: errors.New("it is missing")}
	}
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var b [witnessSize]byte
	n := len(witnessMagic)
	if _, err := f.ReadAt(b[:], 0); err != nil && err != io.EOF {
		return t, err
	}
	if string(b[:n]) != witnessMagic || binary.LittleEndian.Uint64(b[n+16:]) != xxh3.Hash(b[:n+16]) {
		return t, &DamageError{Path: name, Err: errors.New("its checksum is wrong")}
	}
	return witnessRecord{binary.LittleEndian.Uint64(b[n:]), binary.LittleEndian.Uint64(b[n+8:])}, nil
}
