package child

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/parse/document"
)

// Options of a Pool. The zero value of a bound means its default.
type Options struct {
	// Command runs the program that calls Main with the arguments behind Name.
	Command []string
	// Memory is what a process may take, in bytes; default 512 MiB.
	Memory int64
	// Time is what it may use of processors for one document; default 20 s. By the clock
	// it has three times as long.
	Time time.Duration
	// Workers bounds the processes at a time; default one for each core, at most 4.
	Workers int
	// Cache is a folder in which the machine code of PDFium is kept; "" = a process that
	// reads PDF takes two seconds to begin.
	Cache string
}

// class parts processes that read PDF, which take more to begin, from the others.
type class string

const (
	ofPDF   class = "pdf"
	ofOther class = "other"
)

func classOf(k document.Kind) class {
	if k == document.PDF {
		return ofPDF
	}
	return ofOther
}

// Pool is a document.Reader whose documents are read in processes of their own. They
// begin when they are needed, and end when they were not for a minute. It is safe for
// concurrent use; Close ends it.
type Pool struct {
	options Options
	slots   chan struct{}
	pauses  []time.Duration // between tries to start a process

	mu     sync.Mutex
	idle   map[class][]*process
	closed bool
	ending chan struct{} // is closed with it
	all    sync.WaitGroup
}

var _ document.Reader = (*Pool)(nil)

// idleFor is how long a process that is not needed is kept.
const idleFor = time.Minute

// startPauses outlast a moment in which the machine has no room for another process or file.
var startPauses = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second}

// NewPool makes a Pool. No process begins before the first document.
func NewPool(o Options) *Pool {
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.Time <= 0 {
		o.Time = 20 * time.Second
	}
	if o.Workers <= 0 {
		o.Workers = min(4, runtime.GOMAXPROCS(0))
	}
	return &Pool{options: o, slots: make(chan struct{}, o.Workers), pauses: startPauses, idle: map[class][]*process{}, ending: make(chan struct{})}
}

// Close ends all processes, when the documents that are being read are done.
func (p *Pool) Close() error {
	p.mu.Lock()
	if !p.closed {
		close(p.ending)
	}
	p.closed = true
	idle := p.idle
	p.idle = map[class][]*process{}
	p.mu.Unlock()
	for _, of := range idle {
		for _, c := range of {
			c.end()
		}
	}
	p.all.Wait()
	return nil
}

// HTML is the document src as HTML, as document.Local has it. A document that brings
// down a process that has read others is tried once more in a new one, so that what
// becomes of it does not depend on those. Where no process can be started the error wraps
// document.ErrReader.
func (p *Pool) HTML(k document.Kind, src []byte, charset string) (html []byte, wasCut bool, err error) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	for {
		c, used, err := p.take(classOf(k))
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", document.ErrReader, err)
		}
		html, wasCut, err := c.read(k, src, charset, 3*p.options.Time)
		var broke broken
		if !errors.As(err, &broke) {
			p.give(c)
			return html, wasCut, err
		}
		if !used {
			return nil, false, err
		}
	}
}

// take is an idle process, or a new one; used tells which.
func (p *Pool) take(of class) (c *process, used bool, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, false, errors.New("it is closed")
	}
	if n := len(p.idle[of]); n > 0 {
		c = p.idle[of][n-1]
		p.idle[of] = p.idle[of][:n-1]
		c.reaper.Stop()
		c.reaper = nil
	}
	p.mu.Unlock()
	if c != nil {
		return c, true, nil
	}
	for _, pause := range p.pauses {
		if c, err = p.start(of); err == nil {
			return c, false, nil
		}
		select {
		case <-time.After(pause):
		case <-p.ending:
			return nil, false, err
		}
	}
	c, err = p.start(of)
	return c, false, err
}

// give puts a process back.
func (p *Pool) give(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.end()
		return
	}
	c.reaper = time.AfterFunc(idleFor, func() { p.reap(c) })
	p.idle[c.class] = append(p.idle[c.class], c)
}

// reap ends a process that is still idle.
func (p *Pool) reap(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, x := range p.idle[c.class] {
		if x == c {
			p.idle[c.class] = append(p.idle[c.class][:i], p.idle[c.class][i+1:]...)
			c.end()
			return
		}
	}
}

// process is one that reads documents.
type process struct {
	class  class
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	reaper *time.Timer // nil while it reads, or has read nothing
	gone   func()      // tells the pool
}

func (p *Pool) start(of class) (*process, error) {
	if len(p.options.Command) == 0 {
		return nil, errors.New("no command")
	}
	a := arguments{of, p.options.Memory, p.options.Time, p.options.Cache}
	own := p.options.Command
	cmd := exec.Command(own[0], append(append(own[1:len(own):len(own)], Name), a.list()...)...)
	cmd.Env = []string{} // nothing of what this process knows
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.all.Add(1)
	return &process{class: of, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), gone: p.all.Done}, nil
}

// end ends a process: it holds nothing that could be lost.
func (c *process) end() error {
	if c.reaper != nil {
		c.reaper.Stop()
	}
	c.in.Close()
	c.cmd.Process.Kill()
	err := c.cmd.Wait()
	c.gone()
	return err
}

// broken is the end of a process over a document.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// read has a document read. An error that is broken says that the process is not to be
// used again, and has ended.
func (c *process) read(k document.Kind, src []byte, charset string, most time.Duration) (html []byte, wasCut bool, err error) {
	late := time.AfterFunc(most, func() { c.cmd.Process.Kill() })
	html, wasCut, err = c.ask(k, src, charset)
	inTime := late.Stop()
	if err == nil || errors.As(err, new(said)) {
		if inTime {
			return html, wasCut, err
		}
		c.end() // it was being killed when it answered
		return nil, false, broken{fmt.Errorf("%w: it took too long", document.ErrBounds)}
	}
	c.in.Close()
	if inTime { // it has ended, or says what it should not
		time.AfterFunc(time.Second, func() { c.cmd.Process.Kill() })
	}
	ended := c.cmd.Wait()
	c.gone()
	var exit *exec.ExitError
	switch {
	case !inTime:
		err = fmt.Errorf("%w: it took too long", document.ErrBounds)
	case errors.As(ended, &exit) && exit.ExitCode() == exitMemory:
		err = fmt.Errorf("%w: it takes too much memory", document.ErrBounds)
	case errors.As(ended, &exit) && exit.ExitCode() == exitTime:
		err = fmt.Errorf("%w: it takes too much time", document.ErrBounds)
	default:
		err = fmt.Errorf("%w: its reader broke down (%v)", document.ErrDamaged, ended)
	}
	return nil, false, broken{err}
}

// ask sends a document and reads the answer.
func (c *process) ask(k document.Kind, src []byte, charset string) (html []byte, wasCut bool, err error) {
	head := appendFrame(nil, []byte(k))
	head = appendFrame(head, []byte(charset[:min(len(charset), maxWord)]))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(src)))
	for _, b := range [][]byte{head, src} {
		if _, err := c.in.Write(b); err != nil {
			return nil, false, err
		}
	}
	o, err := c.out.ReadByte()
	if err != nil {
		return nil, false, err
	}
	answer, err := readFrame(c.out, maxAnswer)
	if err != nil {
		return nil, false, err
	}
	if o := outcome(o); o != whole && o != cut {
		return nil, false, o.err(answer)
	}
	return answer, outcome(o) == cut, nil
}
