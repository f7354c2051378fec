package store

import (
	"fmt"
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
