// Package devtools starts a Chromium and speaks to it: the DevTools protocol over a
// pair of pipes, so that no port is open to which others could connect.
package devtools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// Options say how a browser is started. The zero value is one in its sandbox, with the
// network of the machine.
type Options struct {
	// Program is the path or the name of the browser; "" = as Find has it.
	Program string
	// Args are flags beside those that every browser is started with.
	Args []string
	// NoSandbox starts it outside of Chromium's own sandbox.
	NoSandbox bool
	// Offline starts it in a network of its own, in which there is nothing, as a user
	// that is not root: the sandbox, which refuses root, works in there. Only Linux
	// has that, and not every system allows it.
	Offline bool
	// Window shows the browser's window to the person at this machine.
	Window bool
	// URL is the page that it begins with; "" = an empty one.
	URL string
	// Event is told of each event, in order, on one goroutine. It returns soon, and calls
	// no method but Send. nil = nobody is told.
	Event func(Event)
}

// Event is what the browser tells by itself.
type Event struct {
	Session string // "" of the browser as a whole
	Method  string // "Fetch.requestPaused"
	Params  json.RawMessage
}

// Browser is a running Chromium: commands go as JSON to its file descriptor 3,
// answers and events come from 4, each ended by a zero byte. It is safe for concurrent
// use.
//
// Its life: Start → Call, Send → Close, or its own end, which Done tells.
type Browser struct {
	cmd    *exec.Cmd
	dir    string
	remove func() error // removes dir
	event  func(Event)
	in     *os.File
	out    chan []byte
	done   chan struct{}
	said   tail
	ended  sync.Once
	gone   sync.Once

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	err     error // why it ended
	// Of Usage: how often it was asked, and the processes that were none of the browser's.
	looking sync.Mutex
	looks   int
	others  map[string]bool
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// Bounds of what is sent and received.
const (
	maxMessage = 96 << 20 // bytes of one message from the browser
	maxUnsent  = 4096     // messages that it has not taken yet
	startTime  = 30 * time.Second
	endTime    = 5 * time.Second
)

// ErrSandbox is wrapped by the error of Start where the system gives the browser no
// sandbox.
var ErrSandbox = errors.New("the browser's sandbox cannot be had")

// ErrOffline is wrapped by the error of Start where the system gives no network of its
// own to a process.
var ErrOffline = errors.New("no network of its own can be had for the browser")

// ErrEnded is wrapped by the errors of calls to a browser that has ended.
var ErrEnded = errors.New("the browser ended")

// AbsentError says that there is no browser.
type AbsentError struct{ Program string }

func (e *AbsentError) Error() string {
	switch {
	case e.Program != "":
		return fmt.Sprintf("there is no browser %s", e.Program)
	case runtime.GOOS == "darwin":
		return "there is no Chromium: install Google Chrome or Chromium"
	default:
		return "there is no Chromium: install the package chromium (Debian, Ubuntu, Fedora, Arch), or Google Chrome"
	}
}

// Find is the path of the browser on this machine. The error is an *AbsentError.
func Find() (string, error) {
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell", "microsoft-edge",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", &AbsentError{}
}

// Start starts a browser and waits until it answers. The error is an *AbsentError, wraps
// ErrSandbox or ErrOffline, or tells what the browser said.
func Start(ctx context.Context, o Options) (_ *Browser, err error) {
	program := o.Program
	if program == "" {
		program, err = Find()
	} else if program, err = exec.LookPath(program); err != nil {
		err = &AbsentError{o.Program}
	}
	if err != nil {
		return nil, err
	}
	// It holds what a browser keeps of the pages it showed, cookies among that.
	dir, remove, err := folder.Temp("", "waggle-browser-")
	if err != nil {
		return nil, err
	}
	b := &Browser{dir: dir, remove: remove, event: o.Event, out: make(chan []byte, maxUnsent), done: make(chan struct{}), waiting: map[int]chan answer{}}
	if err := b.launch(program, o); err != nil {
		remove() // what is left of it stays among the temporary files
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := b.Call(within, "", "Browser.getVersion", nil, nil); err != nil {
		b.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, b.refusal(program, err)
	}
	return b, nil
}

// launch starts the process and the goroutines that serve its pipes.
func (b *Browser) launch(program string, o Options) error {
	toRead, in, err := os.Pipe()
	if err != nil {
		return err
	}
	from, fromWrite, err := os.Pipe()
	if err != nil {
		return errors.Join(err, toRead.Close(), in.Close())
	}
	args := []string{
		"--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--mute-audio",
		"--disable-background-networking", "--disable-component-update", "--disable-breakpad", "--disable-crash-reporter",
		"--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(b.dir, "profile"),
	}
	if !o.Window {
		args = append(args, "--headless", "--disable-gpu")
	}
	if o.NoSandbox {
		args = append(args, "--no-sandbox")
	}
	b.cmd = exec.Command(program, append(append(args, o.Args...), cmp.Or(o.URL, "about:blank"))...)
	b.cmd.ExtraFiles = []*os.File{toRead, fromWrite}
	b.cmd.Dir = b.dir
	b.cmd.Env = []string{"HOME=" + b.dir, "TMPDIR=" + b.dir, "PATH=" + os.Getenv("PATH"), "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8")}
	if o.Window {
		b.cmd.Env = append(b.cmd.Env, screen()...)
	}
	// All its helpers hold this pipe, so Wait waits for them too.
	b.cmd.Stderr, b.cmd.WaitDelay = &b.said, endTime
	err = isolate(b.cmd, o.Offline)
	if err == nil {
		if err = b.cmd.Start(); err != nil && o.Offline {
			err = fmt.Errorf("%w: %w", ErrOffline, err)
		}
	}
	toRead.Close()
	fromWrite.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("starting %s: %w", program, err), in.Close(), from.Close())
	}
	b.in = in
	go b.write()
	go b.read(from)
	return nil
}

// screen is what of the environment leads to the screen.
func screen() (env []string) {
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XAUTHORITY"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("XAUTHORITY") == "" {
		env = append(env, "XAUTHORITY="+filepath.Join(home, ".Xauthority"))
	}
	return env
}

// sandboxWords are what a Chromium says that refuses to run without its sandbox.
var sandboxWords = regexp.MustCompile(`(?i)without --no-sandbox|no usable sandbox|s(et)?uid[ _]sandbox|credentials\.cc|failed to move to new namespace|sandbox/linux`)

// refusal is the error of a browser that did not answer.
func (b *Browser) refusal(program string, err error) error {
	said := b.said.String()
	if sandboxWords.MatchString(said) {
		return fmt.Errorf("%w: %s says: %s", ErrSandbox, program, lastLine(said))
	}
	if said != "" {
		return fmt.Errorf("%s does not start: %w: it says: %s", program, err, lastLine(said))
	}
	return fmt.Errorf("%s does not start: %w", program, err)
}

// lastLine is the last line of what a browser said, without what stands before it in
// brackets: process, time, place.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := lines[len(lines)-1]
	if _, after, ok := strings.Cut(last, "] "); ok && strings.HasPrefix(last, "[") {
		last = after
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, last)
}

// write gives the browser what it is to be told.
func (b *Browser) write() {
	for {
		select {
		case m := <-b.out:
			if _, err := b.in.Write(m); err != nil {
				b.end(err)
				return
			}
		case <-b.done:
			return
		}
	}
}

// read takes what the browser tells.
func (b *Browser) read(from *os.File) {
	defer from.Close()
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		m, err := readMessage(r)
		if err != nil {
			b.end(err)
			return
		}
		var x struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			answer
		}
		if err := json.Unmarshal(m, &x); err != nil {
			b.end(fmt.Errorf("it sent what is no JSON: %w", err))
			return
		}
		if x.ID == 0 {
			if b.event != nil {
				b.event(Event{x.SessionID, x.Method, x.Params})
			}
			continue
		}
		b.mu.Lock()
		c := b.waiting[x.ID]
		delete(b.waiting, x.ID)
		b.mu.Unlock()
		if c != nil {
			c <- x.answer
		}
	}
}

// readMessage reads up to a zero byte.
func readMessage(r *bufio.Reader) ([]byte, error) {
	var m []byte
	for {
		part, err := r.ReadSlice(0)
		if len(m)+len(part) > maxMessage {
			return nil, fmt.Errorf("it sent more than %d MiB at once", maxMessage>>20)
		}
		if m = append(m, part...); err == nil {
			return bytes.TrimSuffix(m, []byte{0}), nil
		}
		if err != bufio.ErrBufferFull {
			return nil, err
		}
	}
}

// end notes why the browser is of no more use.
func (b *Browser) end(err error) {
	b.ended.Do(func() {
		if err == io.EOF {
			err = nil
		}
		b.mu.Lock()
		b.err = ErrEnded
		if err != nil {
			b.err = fmt.Errorf("%w: %w", ErrEnded, err)
		}
		b.mu.Unlock()
		close(b.done)
	})
}

// Done is closed when the browser is of no more use: it ended, or what it said was
// not understood.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Call sends a command to a session, "" for the browser as a whole, and reads its result
// into result, unless that is nil. The error is ctx's, wraps ErrEnded, or is what the
// browser says.
func (b *Browser) Call(ctx context.Context, session, method string, params, result any) error {
	c := make(chan answer, 1)
	id, err := b.send(session, method, params, c)
	if err != nil {
		return err
	}
	select {
	case a := <-c:
		switch {
		case a.Error != nil:
			return fmt.Errorf("%s: %.300s", method, a.Error.Message)
		case result != nil:
			return json.Unmarshal(a.Result, result)
		}
		return nil
	case <-b.done:
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.err
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, id)
		return context.Cause(ctx)
	}
}

// Send sends a command whose result nobody waits for.
func (b *Browser) Send(session, method string, params any) error {
	_, err := b.send(session, method, params, nil)
	return err
}

func (b *Browser) send(session, method string, params any, c chan answer) (id int, err error) {
	b.mu.Lock()
	b.next++
	id = b.next
	if c != nil {
		b.waiting[id] = c
	}
	b.mu.Unlock()
	m, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{id, session, method, params})
	if err != nil {
		return id, err
	}
	select {
	case b.out <- append(m, 0):
		return id, nil
	case <-b.done:
		b.mu.Lock()
		defer b.mu.Unlock()
		return id, b.err
	default:
		b.end(errors.New("it takes no commands"))
		return id, ErrEnded
	}
}

// Close ends the browser, by force where it does not end by itself, and removes what it
// kept. It returns when all its processes are gone.
func (b *Browser) Close() error { return b.leave(endTime) }

// Kill is Close for a browser that is not asked.
func (b *Browser) Kill() error { return b.leave(0) }

func (b *Browser) leave(patience time.Duration) (err error) {
	b.gone.Do(func() {
		b.in.Close() // a browser ends with its pipe
		waited := make(chan struct{})
		go func() {
			b.cmd.Wait() // how it ended matters to nobody
			close(waited)
		}()
		if patience > 0 {
			select {
			case <-waited:
			case <-time.After(patience):
			}
		}
		kill(b.cmd) // those of its processes that are left
		<-waited
		b.end(nil)
		err = b.remove()
	})
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailKept = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > tailKept {
		t.b = append(t.b[:0], t.b[len(t.b)-tailKept:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// Usage is what the processes of a browser take.
type Usage struct {
	Memory    int64         // bytes that are no other's: what would be free without them
	CPU       time.Duration // user and system time, of those that run
	Processes int
}
