package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
)

// progress shows a crawl while it runs. One goroutine calls Add; Close shows
// the end and returns what went wrong with showing. Close may be called twice.
type progress interface {
	Add(event.Event)
	// Recall tells an event of an earlier run, before the first Add.
	Recall(event.Event)
	Close() error
}

// newProgress shows a crawl on out: as events with asJSON, as a view drawn in
// place on a terminal, as plain lines elsewhere. env reads the environment:
// NO_COLOR (no colours) and TERM (dumb: plain lines).
func newProgress(out *os.File, asJSON bool, clk clock.Clock, env func(string) string) progress {
	fd := int(out.Fd())
	switch {
	case asJSON:
		return newJSONView(out)
	case !term.IsTerminal(fd) || env("TERM") == "dumb":
		return newPlain(out)
	}
	size := func() (int, int) {
		w, h, err := term.GetSize(fd)
		if err != nil || w <= 0 || h <= 0 {
			return 80, 24
		}
		return w, h
	}
	return newLive(out, size, clk, env("NO_COLOR") == "")
}

// liveView draws the state of a crawl in place, at most five times a second.
//
// Add takes the event in under a lock that is never held while the terminal is
// written to, so a slow or stopped terminal does not hold up the crawl. Each
// frame hides the cursor, goes back over the frame before, draws, and shows the
// cursor again in a single write: whenever the process dies, the terminal is as
// it should be.
type liveView struct {
	out    io.Writer
	size   func() (width, height int)
	clk    clock.Clock
	colour bool

	mu    sync.Mutex
	state viewState

	stop chan struct{}
	once sync.Once
	done chan struct{} // closed when the drawing goroutine has ended
	err  error         // why drawing stopped; read after done
}

const redraw = 200 * time.Millisecond

func newLive(out io.Writer, size func() (int, int), clk clock.Clock, colour bool) *liveView {
	v := &liveView{
		out: out, size: size, clk: clk, colour: colour,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go v.draw()
	return v
}

func (v *liveView) Add(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Add(e)
}

// Recall takes in an event of an earlier run.
func (v *liveView) Recall(e event.Event) { v.Add(e) }

// Close draws the last frame and leaves it on the terminal.
func (v *liveView) Close() error {
	v.once.Do(func() { close(v.stop) })
	<-v.done
	return v.err
}

func (v *liveView) draw() {
	defer close(v.done)
	defer func() {
		if r := recover(); r != nil { // a picture is no reason to lose a crawl
			v.err = fmt.Errorf("progress view: %v", r)
		}
	}()
	var last frame
	for ending := false; ; {
		width, height := v.size()
		v.mu.Lock()
		text := v.state.Render(v.clk.Now(), width, height, v.colour)
		v.mu.Unlock()
		next := frame{text, width}
		if next != last {
			if _, err := io.WriteString(v.out, next.over(last)); err != nil {
				v.err = fmt.Errorf("progress view: %w", err)
				return
			}
			last = next
		}
		if ending {
			return
		}
		tick, cancel := v.clk.NewTimer(redraw)
		select {
		case <-tick:
		case <-v.stop:
			cancel()
			ending = true
		}
	}
}

// frame is what stands on the terminal: the cursor is on the line below it.
type frame struct {
	text  string
	width int // of the terminal when it was drawn
}

// over returns what to write to a terminal that shows last to make it show f.
func (f frame) over(last frame) string {
	var b strings.Builder
	b.WriteString("\x1b[?25l")
	if up := last.height(f.width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r")
	b.WriteString(strings.ReplaceAll(f.text, "\n", "\x1b[K\r\n"))
	b.WriteString("\x1b[J\x1b[?25h")
	return b.String()
}

// height is the number of rows f takes on a terminal that is width wide now:
// one that became narrower has wrapped its lines.
func (f frame) height(width int) (rows int) {
	for line := range strings.Lines(f.text) {
		n := cells(unstyled(strings.TrimSuffix(line, "\n")))
		rows += max(1, (n+width-1)/max(width, 1))
	}
	return rows
}

// unstyled removes the styles that paint sets.
func unstyled(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

// jsonView writes events as they come, one JSON object a line. It waits for a
// slow reader: no event is left out. When the reader goes away, it is silent.
type jsonView struct {
	out io.Writer
	buf []byte
	err error
}

func newJSONView(out io.Writer) *jsonView { return &jsonView{out: out} }

func (v *jsonView) Add(e event.Event) {
	if v.err != nil {
		return
	}
	if v.buf, v.err = event.AppendJSON(v.buf[:0], e); v.err == nil {
		_, v.err = v.out.Write(append(v.buf, '\n'))
	}
}

// Recall says nothing: events of an earlier run were told then.
func (v *jsonView) Recall(event.Event) {}

func (v *jsonView) Close() error {
	if v.err == nil || errors.Is(v.err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("writing events: %w", v.err)
}
