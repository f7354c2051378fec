package collection

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/crawl/bigmap"
)

// scratchFiles is the pattern of the names of the files that Scratch makes.
const scratchFiles = "known-pages-*.new"

func isScratch(name string) bool {
	is, _ := filepath.Match(scratchFiles, name) // the pattern is a good one
	return is
}

// Scratch makes a file in the folder of the crawl that is gone when it is closed. Its name is
// removed at once, so that the file goes with the process; a system on which an open file keeps
// its name leaves it to Close, and after a kill to the next crawl of the folder.
//
// Like archive and log it leaves the last of the disk alone.
func (w *Writer) Scratch() (bigmap.File, error) {
	f, err := os.CreateTemp(w.dir, scratchFiles)
	if err != nil {
		return nil, err
	}
	return &scratch{File: f, room: newRoom(w.dir), named: os.Remove(f.Name()) != nil}, nil
}

type scratch struct {
	*os.File
	room  *room
	named bool // it still has its name
}

func (f *scratch) Write(b []byte) (int, error) {
	if err := f.room.take(len(b)); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f *scratch) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// clearScratch removes such files that an earlier process left.
func (w *Writer) clearScratch() error {
	entries, err := os.ReadDir(w.dir)
	for _, e := range entries {
		if isScratch(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(w.dir, e.Name())))
		}
	}
	return err
}
