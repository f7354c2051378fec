package terminal

import (
	"context"
	"io"
)

// Until reads what r gives until ctx ends, of which the error is returned then. A read of a terminal
// or a pipe waits for as long as nobody writes, and goes on waiting where nobody wants it any more.
func Until(ctx context.Context, r io.Reader) io.Reader { return until{ctx, r} }

type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	type read struct {
		n   int
		err error
	}
	own := make([]byte, len(b)) // b is the caller's again after the end
	done := make(chan read, 1)
	go func() {
		n, err := u.r.Read(own)
		done <- read{n, err}
	}()
	select {
	case got := <-done:
		return copy(b, own[:got.n]), got.err
	case <-u.ctx.Done():
		return 0, u.ctx.Err()
	}
}
