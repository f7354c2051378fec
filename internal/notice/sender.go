package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// Patience is how long a program or an address has for one notice.
const Patience = 10 * time.Second

// Sender tells of notices, one after the other, in the background.
type Sender struct {
	program  string // absolute; "" = none
	address  string // "" = none
	patience time.Duration
	agent    string // User-Agent

	notices chan Notice
	done    chan struct{}
	errs    []error      // of the goroutine until done is closed
	missed  atomic.Int64 // notices that found no room
}

// NewSender returns a sender to a program, an address of http or https, or both. Each is
// refused here if it cannot be: a program that is not found, an address that is none.
// Without both there is nobody to tell: the sender is nil, which can be used as any.
//
// The program is started for each notice, with the moment as its argument and the
// notice as a line of JSON on its standard input. The address gets the same line as the
// body of a POST; a status from 200 to 299 says that it has it.
func NewSender(program, address, agent string) (*Sender, error) {
	if program == "" && address == "" {
		return nil, nil
	}
	s := &Sender{
		address: address, agent: agent, patience: Patience,
		notices: make(chan Notice, 16), done: make(chan struct{}),
	}
	if program != "" {
		path, err := exec.LookPath(program)
		if err != nil {
			return nil, fmt.Errorf("program: %q cannot be started: %w; give the path of one program, without arguments", program, errors.Unwrap(err))
		}
		s.program = path
	}
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("url: %q is no address that can be told: give one such as https://example.org/hook", address)
		}
	}
	go s.run()
	return s, nil
}

// Send tells of a notice; several goroutines may. It does not wait: a notice that finds 16
// others waiting is not told, and Close says so.
func (s *Sender) Send(n Notice) {
	select {
	case s.notices <- n:
	default:
		s.missed.Add(1)
	}
}

// Close waits until all is told, or Patience is over for each, and returns what could
// not be told, and which program failed that was. It is called once, after the last Send.
func (s *Sender) Close() error {
	if s == nil {
		return nil
	}
	close(s.notices)
	<-s.done
	if n := s.missed.Load(); n > 0 {
		s.errs = append(s.errs, fmt.Errorf("%d notices were not told: too many waited", n))
	}
	return errors.Join(s.errs...)
}

func (s *Sender) run() {
	defer close(s.done)
	for n := range s.notices {
		line, err := json.Marshal(n)
		if err != nil {
			s.errs = append(s.errs, fmt.Errorf("the notice %s: %w", n.Moment, err))
			continue
		}
		line = append(line, '\n')
		if s.program != "" {
			if err := s.start(n.Moment, line); err != nil {
				s.errs = append(s.errs, fmt.Errorf("%s %w", s.program, err))
			}
		}
		if s.address != "" {
			if err := s.post(line); err != nil {
				s.errs = append(s.errs, fmt.Errorf("%s was not told of %s: %w", s.address, n.Moment, err))
			}
		}
	}
}

// start runs the program. What it prints is not shown, as the terminal is the view's;
// the end of what it complains of is in the error, which says whether the program was told.
func (s *Sender) start(m Moment, line []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	c := exec.CommandContext(ctx, s.program, string(m))
	c.WaitDelay = time.Second // what it started may hold its pipes
	c.Stdin = bytes.NewReader(line)
	var said tail
	c.Stderr = &said
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case c.Process == nil: // it did not start
		return fmt.Errorf("was not told of %s: %w", m, err)
	case ctx.Err() != nil:
		err = fmt.Errorf("was told of %s, and was stopped, as it ran for more than %v", m, s.patience)
	case errors.As(err, &exit):
		err = fmt.Errorf("was told of %s, and ended with %s", m, strings.TrimPrefix(exit.Error(), "exit "))
	default:
		err = fmt.Errorf("was told of %s: %w", m, err)
	}
	if len(said) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	return err
}

// tail keeps the last bytes that are written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	const most = 400
	*t = append(*t, p...)
	if len(*t) > most {
		*t = append((*t)[:0], (*t)[len(*t)-most:]...)
	}
	return len(p), nil
}

func (s *Sender) post(line []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(line))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.agent)
	// A redirect is not followed: the notice is for who was named.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		var u *url.Error
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("no answer within %v", s.patience)
		case errors.As(err, &u):
			return u.Err
		}
		return err
	}
	defer a.Body.Close()
	if _, err := io.CopyN(io.Discard, a.Body, 1<<16); err != nil && err != io.EOF {
		return err
	}
	if a.StatusCode < 200 || a.StatusCode > 299 {
		return fmt.Errorf("it answered with status %d", a.StatusCode)
	}
	return nil
}
