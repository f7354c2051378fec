package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// Why is an error of the folder of the crawl in words for a person, with what helps; other
// errors stay as they are.
func (c *Crawl) Why(err error) error {
	dir := event.Line(c.col.Dir())
	var line *event.LineError
	switch {
	case err == nil, errors.As(err, new(Wrong)):
		return err
	case c.Gone():
		return Absent{errors.New(goneWords(dir))}
	case errors.As(err, new(Absent)):
		return err
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: the user who runs waggle open may not do that in %s; what needs no writing is shown all the same", err, dir)
	case errors.Is(err, collection.ErrAbsent):
		return fmt.Errorf("%w: the page asked not to be kept, or files of the archive are missing or damaged, which waggle verify %s tells", err, dir)
	case errors.As(err, &line):
		return fmt.Errorf("%w; waggle verify %s tells all that is damaged, and waggle repair mends what it can", err, dir)
	}
	return err
}

// Gone tells whether the log was read before and is not there any more.
func (c *Crawl) Gone() bool {
	c.mu.RLock()
	known := c.offset > 0
	c.mu.RUnlock()
	return known && !folder.Exists(c.col.EventLog())
}

func goneWords(dir string) string {
	return dir + " does not hold the crawl any more: was the folder moved or removed? Put it back, or open it where it is now: waggle open FOLDER."
}
