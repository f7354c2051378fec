package process

import (
	"fmt"
	"path/filepath"
	"testing"
)

// same starts a worker by the arguments by which it begins, as a supervisor does that starts it again, whatever is in its folder.
func (c *crew) same(name string, more ...string) *hand {
	c.Helper()
	h := &hand{c: c, dir: filepath.Join(c.dir, name), ended: make(chan error, 1)}
	h.cmd = waggleCommand(append(c.joining(name, c.engine), more...))
	c.launch(h)
	return h
}

// A worker that is killed while it joins goes on by the command that started it.
func TestKilledJoin(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 6, 2, 0)
	c.args = []string{"--workers", fmt.Sprint(atATime)}
	c.serveEngine()
	w0 := c.same("w0", "--workers-min", "2")
	w0.says("waits for 2 workers", 1)
	w0.kill()
	w0 = c.same("w0", "--workers-min", "2")
	w0.says("waits for 2 workers", 1)
	c.finish(w0, c.same("w1", "--workers-min", "2"))
	c.compare(c.repeated(0))
}
