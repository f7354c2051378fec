package frontier

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadState is Remains.State of the frontier in the folder dir, which may be in use, without what
// Examine reads of the seen-set: what it costs does not grow with that. An error says that the
// state cannot be read, for whatever reason.
func ReadState(dir, name string) (value []byte, err error) {
	r := &Remains{dir: dir, marks: newTable()}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.view, err = openView(vfs.Default, dir); err != nil {
		return nil, err
	}
	if r.past, err = readHistory(r.view); err != nil {
		return nil, err
	}
	if !r.past.begun {
		return nil, nil
	}
	if err := r.openStore(); err != nil {
		return nil, err
	}
	return r.State(name)
}
