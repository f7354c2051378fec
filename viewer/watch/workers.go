package watch

import (
	"os"
	"time"

	"github.com/waggle-crawler/waggle/collection"
)

// fileState tells one state of a file from another.
type fileState struct {
	at   time.Time
	size int64
}

// readWorkers takes in what the folder tells of the workers of its crawl, if it tells
// otherwise than before. What cannot be read leaves what was there. c.mu is held.
func (c *Crawl) readWorkers() {
	info, err := os.Stat(c.col.WorkersFile())
	if err != nil {
		return
	}
	is := fileState{info.ModTime(), info.Size()}
	if is == c.heard {
		return
	}
	all, err := c.col.Workers()
	if err != nil {
		return
	}
	c.workers, c.heard = all, is
	c.tell()
}

// Workers are the workers of a crawl that several do, without any for one that is done alone.
func (c *Crawl) Workers() collection.Workers {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.workers
}
