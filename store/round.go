package store

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// RoundsDir is the folder, within that of a crawl, which holds its rounds: a round is a later
// crawl of the same collection, whose archive refers to those before it for bodies that have not
// changed.
const RoundsDir = "again"

// RoundName is the name of the folder of round n, from 1, in RoundsDir.
func RoundName(n int) string { return fmt.Sprintf("%04d", n) }

// RoundNumber is the number of the round whose folder has a name. ok is false for every other
// name, such as 1 or 00001, which may be anybody's.
func RoundNumber(name string) (n int, ok bool) {
	n, err := strconv.Atoi(name)
	ok = err == nil && n > 0 && RoundName(n) == name
	if !ok {
		return 0, false
	}
	return n, true
}

// RoundAt is the folder of the crawl that the round in a folder is of, and the number of the round. It is 0 where the
// folder, which may be named by a symbolic link, is not in that of a crawl.
func RoundAt(dir string) (crawl string, n int, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", 0, err
	}
	linked, err := filepath.EvalSymlinks(dir)
	if err != nil { // it is not there yet
		linked = dir
	}
	for _, dir := range []string{dir, linked} {
		if n, ok := RoundNumber(filepath.Base(dir)); ok && filepath.Base(filepath.Dir(dir)) == RoundsDir {
			return filepath.Dir(filepath.Dir(dir)), n, nil
		}
	}
	return filepath.Dir(filepath.Dir(dir)), 0, nil
}
