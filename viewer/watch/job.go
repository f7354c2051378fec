package watch

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
)

// readJob takes in whether the job file of the crawl can be read, if that is another one
// than before. c.mu is held.
func (c *Crawl) readJob() {
	info, err := os.Stat(c.col.JobFile())
	is := fileState{size: -1} // there is none
	if err == nil {
		is = fileState{info.ModTime(), info.Size()}
	}
	if is == c.told || c.offset == 0 { // or it has not begun
		return
	}
	wrong := ""
	if errors.Is(err, fs.ErrNotExist) {
		wrong = NoJob(c.col)
	} else if _, err := job.In(c.col); err != nil {
		wrong = strings.ReplaceAll(err.Error(), "\n", ": ")
	}
	c.told = is
	if wrong = event.Line(wrong); wrong != c.job {
		c.job = wrong
		c.tell()
	}
}

// NoJob says that a collection lacks its job file, and what helps.
func NoJob(c collection.Collection) string { return c.JobFile() + " is missing: put it back" }
