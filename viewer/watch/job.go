package watch

import (
	"errors"
	"io/fs"
	"os"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
)

// readJob takes in whether the crawl could go on by its job file, if that is another one
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
	switch d := job.Damage(c.col); {
	case errors.Is(err, fs.ErrNotExist):
		wrong = "job.yaml is missing: put it back."
	case err != nil:
		wrong = err.Error()
	case d != nil:
		wrong = d.File + ": " + d.What + ". What helps: " + d.Remedy + "."
	default:
		if err := c.col.CheckJob(); err != nil {
			wrong = err.Error()
		}
	}
	c.told = is
	if wrong = event.Line(wrong); wrong != c.job {
		c.job = wrong
		c.tell()
	}
}
