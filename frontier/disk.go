package frontier

import "errors"

// Open opens the frontier in the folder dir, or makes one there.
func Open(dir string, opts Options) (*Frontier, error) {
	return nil, errors.New("not on disk yet")
}
