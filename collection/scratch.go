package collection

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/crawl/bigmap"
)

// scratchFiles is the pattern of the names that files of Scratch have for a moment.
const scratchFiles = "known-pages-*.tmp"

// Scratch makes a file in the folder of the crawl that is gone when it is closed, or when the
// process ends: it has no name. Where a system keeps names of open files it is gone with the next
// crawl of the folder at the latest.
func (w *Writer) Scratch() (bigmap.File, error) {
	f, err := os.CreateTemp(w.Dir(), scratchFiles)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // such a system refuses
	return scratch{f}, nil
}

type scratch struct{ *os.File }

func (f scratch) Close() error {
	err := f.File.Close()
	if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// clearScratch removes what an earlier process left of such files.
func (w *Writer) clearScratch() error {
	names, err := filepath.Glob(filepath.Join(w.Dir(), scratchFiles))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
