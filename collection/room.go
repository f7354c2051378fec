package collection

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// reserve is the free space in bytes below which nothing is appended to archive
// and log: what they would take could be what the frontier needs to write out
// what it holds in memory. The frontier keeps as much.
const reserve = 192 << 20

// room watches the free space of the disk on which a folder lies: archive, log
// and frontier may lie on different ones.
type room struct {
	dir  string
	left int64 // bytes that may be written before the disk is looked at
	free func(dir string) (bytes uint64, err error)
}

func newRoom(dir string) *room { return &room{dir: dir, free: diskFree} }

// Free is how many bytes are free on the disk of the folder.
func (c Collection) Free() (bytes uint64, err error) { return diskFree(c.dir) }

func diskFree(dir string) (uint64, error) {
	usage, err := vfs.Default.GetDiskUsage(dir)
	return usage.AvailBytes, err
}

// lookEvery is after how many bytes the disk is looked at.
const lookEvery = 4 << 20

// take asks for room for n bytes.
func (r *room) take(n int) error {
	if r.left -= int64(n); r.left > 0 {
		return nil
	}
	r.left = lookEvery
	free, err := r.free(r.dir)
	if err != nil {
		return nil // not every file system tells
	}
	if need := reserve + uint64(n); free < need {
		r.left = 0
		return fmt.Errorf("the disk of %s is nearly full, %d MiB are free and %d needed: make room, and start again", r.dir, free>>20, need>>20)
	}
	return nil
}
