package corpus

import (
	"path/filepath"
	"testing"
)

// The folder of a round is told from others as package collection tells it.
func TestRoundsBeforeThatOfAFolder(t *testing.T) {
	for dir, want := range map[string]int{
		"bees/again/0001": 1, "bees/again/0012": 12,
		"bees/again/1": 0, "bees/again/00001": 0, "bees/again/0000": 0, "bees/0001": 0, "bees": 0, "bees/again/0001/archive": 0,
	} {
		archives, err := Crawl{filepath.FromSlash(dir)}.earlier()
		if err != nil || len(archives) != want {
			t.Errorf("%s: archives of %d rounds before it, want %d, %v", dir, len(archives), want, err)
		}
	}
}
