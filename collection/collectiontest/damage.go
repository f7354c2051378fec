// Package collectiontest damages the folder of a crawl, for tests.
package collectiontest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrEmpty says that a folder holds nothing that could be damaged.
var ErrEmpty = errors.New("there is no file to damage")

// Damage damages one file of a folder: a bit, a cut, a zeroed piece, zeroed as a
// whole, or removed. A kind of file is drawn first, such as the tables of the
// frontier, then a file of it. Locks, and what a repair put aside, stay as they are.
// It returns the path of the file, what was done to it, and what it held; ErrEmpty
// where there is no file, or no folder.
func Damage(dir string, rng *rand.Rand) (name, how string, was []byte, err error) {
	kinds := map[string][]string{}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", "", nil, ErrEmpty
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), "before-repair") || d.Name() == "damaged"):
			return fs.SkipDir
		case d.IsDir() || d.Name() == "LOCK":
			return nil
		}
		kind := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, d.Name())
		kinds[kind] = append(kinds[kind], path)
		return nil
	})
	if err != nil {
		return "", "", nil, err
	}
	if len(kinds) == 0 {
		return "", "", nil, ErrEmpty
	}
	files := kinds[slices.Sorted(maps.Keys(kinds))[rng.IntN(len(kinds))]]
	name = files[rng.IntN(len(files))]
	b, err := os.ReadFile(name)
	if err != nil {
		return "", "", nil, err
	}
	was = slices.Clone(b)
	at, kind := rng.IntN(max(1, len(b))), rng.IntN(5)
	if len(b) == 0 {
		kind = 4
	}
	switch kind {
	case 0:
		b[at] ^= 1 << rng.IntN(8)
		how = fmt.Sprintf("a bit of byte %d of %d flipped", at, len(b))
	case 1:
		how = fmt.Sprintf("cut at %d of %d", at, len(b))
		b = b[:at]
	case 2:
		end := min(len(b), at+1+rng.IntN(4000))
		clear(b[at:end])
		how = fmt.Sprintf("zeroed from %d to %d of %d", at, end, len(b))
	case 3:
		clear(b)
		how = fmt.Sprintf("zeroed, %d bytes", len(b))
	case 4:
		return name, "removed", was, os.Remove(name)
	}
	return name, how, was, os.WriteFile(name, b, 0o644)
}
