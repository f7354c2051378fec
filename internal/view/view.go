// Package view shows a crawl: while it runs, as a picture drawn in place on a
// terminal, as lines or as JSON, and at its end as a report.
//
// A View listens to the events of one crawl. The picture has screens that keys
// open, and holds the crawl by a crawl.Control; events and figures of earlier runs
// are told by Recall.
package view

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/terminal"
)

// A View shows a crawl while it runs. One goroutine calls Add; Close shows
// the end and returns what went wrong with showing. Close may be called twice.
type View interface {
	Add(event.Event)
	// Recall tells an event of an earlier run, before the first Add.
	Recall(event.Event)
	// Control is what the crawl is to be held by, nil if it cannot be held.
	Control() *crawl.Control
	Close() error
}

// New shows a crawl on out, with the flags that go on with it where it is stopped (--resume, with -o DIR
// for a round of a collection): as events with asJSON, as a view drawn in
// place on a terminal, as plain lines elsewhere. env reads the environment:
// NO_COLOR (no colours) and TERM (dumb: plain lines).
func New(out terminal.Output, asJSON bool, goesOn string, clk clock.Clock, env func(string) string) View {
	switch {
	case asJSON:
		return newJSONView(out)
	case !term.IsTerminal(int(out.Fd())) || env("TERM") == "dumb":
		v := newPlain(out)
		v.state.goesOn = goesOn
		return v
	}
	v := newLive(out, openConsole(os.Stdin, out), clk, env("NO_COLOR") == "")
	v.goOn(goesOn)
	return v
}

// ending says how a crawl ended, and which flag goes on with it.
func ending(s *event.Summary, goesOn string) string {
	if s.How == event.FrontierEmpty {
		return s.How.WithMuted(s.Frontier.Muted)
	}
	return strings.Replace(terminal.Ending(s.How), "--resume", cmp.Or(goesOn, "--resume"), 1)
}

// console is the terminal on which a view is drawn, and its keyboard.
type console interface {
	// Size is in cells.
	Size() (width, height int)
	// Front tells whether the terminal is ours: it is not while waggle is a
	// background job of a shell.
	Front() bool
	// Take makes keys come one by one, without an echo; Give undoes that.
	Take()
	Give()
	// Keys come in on a channel, nil without a keyboard.
	Keys() <-chan key
	// Signals are those that the view has a part in.
	Signals() <-chan consoleSignal
	// Interrupt is what Ctrl-C does. Suspend stops the process until a shell
	// lets it go on.
	Interrupt()
	Suspend()
	// Close gives the terminal back.
	Close()
}

// consoleSignal is a signal that a view has a part in.
type consoleSignal int

const (
	suspended   consoleSignal = iota // Ctrl-Z: Suspend does it
	interrupted                      // Ctrl-C, and what ends the crawl in good order as well
)

// liveView draws the state of a crawl in place, at most five times a second and
// after each key.
//
// Add takes the event in under a lock that is never held while the terminal is
// written to, so a slow or stopped terminal does not hold up the crawl. Each
// frame hides the cursor, goes back over the frame before, draws, and shows the
// cursor again in a single write. While waggle is in the background nothing is
// drawn, and when it comes back, or the terminal has another size, a frame is
// drawn anew. A process that is killed (not: interrupted) leaves a terminal that
// does not echo; most shells set that right, as does stty sane.
type liveView struct {
	out     io.Writer
	console console
	clk     clock.Clock
	colour  bool
	control *crawl.Control

	mu    sync.Mutex
	state viewState

	last  frame // what stands on the terminal
	taken bool  // the terminal was ours at the last frame
	stop  chan struct{}
	once  sync.Once
	done  chan struct{} // closed when the drawing goroutine has ended
	err   error         // why drawing stopped; read after done
}

const redraw = 200 * time.Millisecond

func newLive(out io.Writer, c console, clk clock.Clock, colour bool) *liveView {
	v := &liveView{
		out: out, console: c, clk: clk, colour: colour, control: &crawl.Control{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	v.state.keys = c.Keys() != nil
	go v.run()
	return v
}

// goOn sets the flag that goes on with the crawl.
func (v *liveView) goOn(by string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.goesOn = by
}

func (v *liveView) Add(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Add(e)
}

// Recall takes in an event of an earlier run.
func (v *liveView) Recall(e event.Event) { v.Add(e) }

// Control is held by the keys.
func (v *liveView) Control() *crawl.Control { return v.control }

// Close draws the last frame and leaves it on the terminal.
func (v *liveView) Close() error {
	v.once.Do(func() { close(v.stop) })
	<-v.done
	return v.err
}

// run draws until the end. Its order there: the last frame, then the terminal is
// given back.
func (v *liveView) run() {
	defer close(v.done)
	defer func() {
		if r := recover(); r != nil { // a picture is no reason to lose a crawl
			v.err = fmt.Errorf("progress view: %v", r)
		}
		v.console.Close()
		v.control.Pause(false) // nobody is left to let it go on
	}()
	for ending := false; ; {
		if err := v.draw(ending); err != nil {
			v.err = fmt.Errorf("progress view: %w", err)
			return
		}
		if ending {
			return
		}
		tick, cancel := v.clk.NewTimer(redraw)
		select {
		case <-tick:
		case k := <-v.console.Keys():
			cancel()
			v.press(k)
		case s := <-v.console.Signals():
			cancel()
			if err := v.signal(s); err != nil {
				v.err = fmt.Errorf("progress view: %w", err)
				return
			}
		case <-v.stop:
			cancel()
			ending = true
		}
	}
}

// draw draws a frame if there is something new, and the terminal is ours.
func (v *liveView) draw(last bool) error {
	if !v.console.Front() {
		v.taken = false
		return nil
	}
	if !v.taken { // the shell wrote meanwhile: begin on a line of our own
		v.taken, v.last = true, frame{}
		v.console.Take()
	}
	width, height := v.console.Size()
	next := frame{v.render(width, height, last), width, height}
	if next == v.last {
		return nil
	}
	if _, err := io.WriteString(v.out, next.over(v.last)); err != nil {
		return err
	}
	v.last = next
	return nil
}

// render is what a frame shows. The lock is free again also after a panic, so that the crawl
// goes on without a view.
func (v *liveView) render(width, height int, last bool) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last {
		v.state.screen = overview
		v.state.keys = false
	}
	v.state.paused, v.state.hosts, v.state.activity = v.control.Paused(), v.control.Hosts(), v.control.Activity()
	return v.state.Render(v.clk.Now(), width, height, v.colour)
}

// press does what a key is for.
func (v *liveView) press(k key) {
	v.mu.Lock()
	does := v.state.press(k)
	watch := 0
	if v.state.screen == hostsScreen {
		watch = maxHosts
	}
	v.mu.Unlock()
	v.control.Watch(watch)
	switch does {
	case togglePause:
		v.control.Pause(!v.control.Paused())
	case quit:
		v.console.Interrupt()
	}
}

// signal does the view's part of a signal.
func (v *liveView) signal(s consoleSignal) error {
	switch s {
	case suspended:
		// Nothing of ours stays above the shell's prompt.
		if v.taken {
			if _, err := io.WriteString(v.out, v.last.erase()); err != nil {
				return err
			}
		}
		v.taken = false
		v.console.Give()
		v.console.Suspend()
	case interrupted:
		v.mu.Lock()
		v.state.stopping, v.state.keys = true, false
		v.mu.Unlock()
		v.control.Pause(false)
		v.console.Give() // the second one ends at once, and nobody would give it back then
	}
	return nil
}

// frame is what stands on the terminal: the cursor is on the line below it.
type frame struct {
	text          string
	width, height int // of the terminal when it was drawn
}

// over returns what to write to a terminal that shows last to make it show f. A
// terminal of another size may have wrapped, cut or moved what stood there, each
// in its own way: it is cleared.
func (f frame) over(last frame) string {
	var b strings.Builder
	b.WriteString("\x1b[?25l")
	switch {
	case last.text != "" && (f.width != last.width || f.height != last.height):
		b.WriteString("\x1b[2J\x1b[H")
	default:
		b.WriteString(last.up())
	}
	b.WriteString(strings.ReplaceAll(f.text, "\n", "\x1b[K\r\n"))
	b.WriteString("\x1b[J\x1b[?25h")
	return b.String()
}

// erase returns what to write to take f off the terminal.
func (f frame) erase() string { return f.up() + "\x1b[J" }

// up goes to the first line of f.
func (f frame) up() string {
	if n := strings.Count(f.text, "\n"); n > 0 {
		return fmt.Sprintf("\x1b[%dA\r", n)
	}
	return "\r"
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

// Control is none.
func (v *jsonView) Control() *crawl.Control { return nil }

func (v *jsonView) Close() error {
	if v.err == nil || errors.Is(v.err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("writing events: %w", v.err)
}
