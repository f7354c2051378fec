package collection

import (
	"path/filepath"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/store"
)

// Extent is how far the archive went at some moment: to the end of the last turn that the
// frontier knows of, or, where that does not tell, to the ends that its files had. The log
// tells of all that it holds, but for an exchange that is being written where the frontier
// does not tell.
type Extent struct {
	number int // of the file in which the last turn ends; -1 if that is not known
	end    int64
	sizes  map[string]int64 // of the files, by name
}

// Extent is how far the archive goes now. The log is read after that by those who want to
// know of all that it holds.
func (c Collection) Extent() (x Extent, err error) {
	x = Extent{number: -1, sizes: map[string]int64{}}
	mark, err := frontier.ReadState(c.FrontierDir(), crawl.StateArchive)
	if err == nil && mark != nil {
		if n, end, err := store.MarkedFile(mark); err == nil {
			x.number, x.end = n, end
		}
	}
	files, err := c.archiveFiles()
	for _, f := range files {
		x.sizes[filepath.Base(f.path)] = f.size
	}
	return x, err
}

// Holds tells whether a record that begins at an offset of a file is within the extent.
// Files that are none of the archive's own are.
func (x Extent) Holds(file string, offset int64) bool {
	name := filepath.Base(file)
	_, n, ok := store.NumberOf(name)
	switch {
	case !ok:
		return true
	case x.number < 0:
		return offset < x.sizes[name]
	}
	return n < x.number || n == x.number && offset < x.end
}
