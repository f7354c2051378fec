package collection_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
)

// The folder of a round is told from others as package corpus tells it, and a collection counts
// the rounds that are told so.
func TestRoundsOfFolders(t *testing.T) {
	bees := t.TempDir()
	for dir, want := range map[string]int{
		"again/0001": 1, "again/0012": 12,
		"again/13": 0, "again/00014": 0, "again/0000": 0, "0015": 0, "": 0, "again/0001/archive": 0,
	} {
		path := filepath.Join(bees, filepath.FromSlash(dir))
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		before, err := collection.At(path).RoundsBefore()
		if err != nil || len(before) != want {
			t.Errorf("%s: %d rounds before it, want %d, %v", dir, len(before), want, err)
		}
	}
	if last, err := collection.At(bees).Rounds(); err != nil || last != 12 {
		t.Errorf("the last round is %d, %v", last, err)
	}
}

// A round counts where its folder is a link, such as to another disk. Where that is not there, its number is not known.
func TestLinkedRounds(t *testing.T) {
	bees, disk := collection.At(t.TempDir()), filepath.Join(t.TempDir(), "0002")
	if err := errors.Join(os.MkdirAll(bees.Round(1).Dir(), 0o755), os.Mkdir(disk, 0o755), os.Symlink(disk, bees.Round(2).Dir())); err != nil {
		t.Fatal(err)
	}
	if last, err := bees.Rounds(); last != 2 || err != nil {
		t.Errorf("the last round is %d, %v", last, err)
	}
	if err := os.Remove(disk); err != nil {
		t.Fatal(err)
	}
	if last, err := bees.Rounds(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the last round is %d, %v", last, err)
	}
}
