package judge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/web"
)

// command judges by asking a process of the user's, which lives as long as the
// crawl. A line of JSON goes to its standard input for each page, and one
// comes back from its standard output:
//
//	→ {"url":"https://…","title":"…","text":"…","html":"…"}     html if asked for
//	← {"relevance":0.7}                                          in [0,1]
//	← {"error":"…"}                          it cannot judge the page: relevance 0
//
// A process is asked one page at a time. The life of it:
//
//	none ─start─► idle ─ask─► asked ─answer─► idle
//	                            └─ death, time-out, nonsense ─► killed ─► none
//
// So is one that says a line nobody asked for: every later answer would be
// taken for that to the next question. A page at which the process died is asked once more of a new one. When it
// was started Restarts times more than once, every further page is an error.
// Its standard error is kept for messages, the last kilobyte of it.
type command struct {
	identity
	argv    []string
	timeout time.Duration
	html    func(*web.Page) []byte
	words   Judge // for Text; nil if the topic gives no words

	mu     sync.Mutex
	starts int // left
	proc   *process
	closed bool
}

var _ Judge = (*command)(nil)

// maxAnswer is the longest answer, in bytes.
const maxAnswer = 1 << 20

func newCommand(o Options) (Judge, error) {
	t := o.Topic
	c := &command{identity: identity{"command", o.Threshold}, argv: o.Command, timeout: o.Timeout, html: o.HTML}
	if c.threshold == 0 {
		c.threshold = 0.5
	}
	if c.timeout == 0 {
		c.timeout = 10 * time.Second
	}
	switch {
	case o.Restarts == 0:
		c.starts = 1 + 5
	default:
		c.starts = 1 + max(0, o.Restarts)
	}
	if t != nil && validate(*t, text.SplitterOf(o.Analyzer)) == nil {
		c.words = newTopicJudge("topic", t, o, defaultConstants())
	}
	p, err := c.start()
	if err != nil {
		return nil, err
	}
	c.proc = p
	return c, nil
}

// question and answer are the two kinds of line.
type question struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Text  string `json:"text"`
	HTML  string `json:"html,omitempty"`
}

type answer struct {
	Relevance *float64 `json:"relevance"`
	Error     string   `json:"error"`
}

// Judge waits its turn and asks. It returns ctx's error if that ends first.
func (c *command) Judge(ctx context.Context, p *web.Page) (web.Verdict, error) {
	q := question{URL: p.URL.String(), Title: p.Title, Text: leavesText(p)}
	if c.html != nil {
		q.HTML = string(c.html(p))
	}
	line, err := json.Marshal(q)
	if err != nil {
		return web.Verdict{}, fmt.Errorf("judge command: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, err := c.ask(ctx, line)
	var died *diedError
	if errors.As(err, &died) && ctx.Err() == nil {
		r, err = c.ask(ctx, line)
	}
	if err != nil {
		return web.Verdict{}, fmt.Errorf("judge command %s, page %s: %w", c.argv[0], p.URL, err)
	}
	return c.verdict(r, r), nil
}

// diedError says that the process ended before it answered.
type diedError struct{ stderr string }

func (e *diedError) Error() string {
	if e.stderr == "" {
		return "it ended without an answer"
	}
	return "it ended without an answer; it said: " + e.stderr
}

// ask asks the process, starting it if there is none. c.mu is held.
func (c *command) ask(ctx context.Context, line []byte) (float64, error) {
	if c.closed {
		return 0, errors.New("closed")
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if c.proc == nil {
		p, err := c.start()
		if err != nil {
			return 0, err
		}
		c.proc = p
	}
	if err := c.proc.unasked(); err != nil {
		c.proc = nil // unasked ended it
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v", c.timeout))
	defer cancel()
	reply, err := c.proc.exchange(ctx, line)
	if err != nil {
		c.proc = nil // exchange ended it
		return 0, err
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		c.proc.end()
		c.proc = nil
		return 0, fmt.Errorf("answer %.200q: %w; it must be a line such as {\"relevance\":0.7}", reply, err)
	}
	switch {
	case a.Error != "":
		return 0, nil
	case a.Relevance == nil:
		return 0, fmt.Errorf("answer %.200q holds no \"relevance\"", reply)
	case !(*a.Relevance >= 0 && *a.Relevance <= 1):
		return 0, fmt.Errorf("relevance %v is outside [0,1]", *a.Relevance)
	}
	return *a.Relevance, nil
}

func (c *command) Text(s string) float64 {
	if c.words == nil {
		return 0
	}
	return c.words.Text(s)
}

// Close ends the process and waits for its end.
func (c *command) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.proc != nil {
		c.proc.end()
		c.proc = nil
	}
	return nil
}

// process is one life of the command. Shutdown order: kill, wait for the
// process, which closes the pipes, on which read and a pending exchange return.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan outputLine // that it wrote; closed at the end of its output
	more  bool            // another line came with the last answer
	err   *tail
}

// outputLine is a line of a process, or why there is none.
type outputLine struct {
	line []byte
	more bool // something came with it
	err  error
}

func (c *command) start() (*process, error) {
	if c.starts == 0 {
		return nil, errors.New("it ended too often and is not started again")
	}
	c.starts--
	p := &process{cmd: exec.Command(c.argv[0], c.argv[1:]...), lines: make(chan outputLine, 1), err: &tail{}}
	p.cmd.Stderr = p.err
	p.cmd.WaitDelay = time.Second // for children of it that keep the pipes open
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the judge's command: %w", err)
	}
	go p.read(bufio.NewReader(out))
	return p, nil
}

// read reads what the process writes until its end or the first line that is too long.
func (p *process) read(out *bufio.Reader) {
	defer close(p.lines)
	for {
		line, err := readLine(out)
		if err != nil && !errors.Is(err, errLong) {
			return
		}
		p.lines <- outputLine{line, out.Buffered() > 0, err}
		if err != nil {
			return
		}
	}
}

// unasked is an error where the process has ended, or said a line nobody asked for: from here on
// every answer would be taken for that to the next question. After an error the process has ended.
func (p *process) unasked() error {
	select {
	case _, ok := <-p.lines:
		p.end()
		if !ok {
			return &diedError{p.err.String()}
		}
	default:
		if !p.more {
			return nil
		}
		p.end()
	}
	return &diedError{"(it said more than one line for a page)"}
}

// exchange sends a line and returns the answer's. After an error the process
// has ended.
func (p *process) exchange(ctx context.Context, line []byte) ([]byte, error) {
	done := make(chan outputLine, 1)
	go func() {
		if _, err := p.in.Write(append(line, '\n')); err != nil {
			done <- outputLine{err: err}
			return
		}
		r, ok := <-p.lines
		if !ok {
			r.err = io.EOF
		}
		done <- r
	}()
	select {
	case r := <-done:
		if r.err == nil {
			p.more = r.more
			return r.line, nil
		}
		p.end()
		if errors.Is(r.err, errLong) {
			return nil, r.err
		}
		return nil, &diedError{p.err.String()}
	case <-ctx.Done():
		p.end()
		<-done
		return nil, context.Cause(ctx)
	}
}

var errLong = fmt.Errorf("its answer is longer than %d bytes", maxAnswer)

func readLine(out *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := out.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxAnswer {
			return nil, errLong
		}
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// end kills the process and waits for it and for read, so that nothing of it stays.
func (p *process) end() {
	p.in.Close()
	p.cmd.Process.Kill()
	p.cmd.Wait()
	for range p.lines { // read may wait to tell a line
	}
}

// tail keeps the last kilobyte written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if n := len(t.b) - 1024; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}

// leavesText is the visible text of a page.
func leavesText(p *web.Page) string {
	var b strings.Builder
	for _, l := range p.Leaves {
		if l.Text != "" {
			b.WriteString(l.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
