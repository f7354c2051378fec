package jetstream

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Codes of a server that keeps nothing more: of an account at its limit, a server at its limit,
// a stream that has no room, and a write that failed.
const (
	errAccountFull = 10002
	errServerFull  = 10023
	errStoreFull   = 10047
	errNotWritten  = 10077
)

// noRoom tells whether a server refused a message as it keeps nothing more.
func noRoom(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case errAccountFull, errServerFull, errStoreFull, errNotWritten:
		return true
	}
	return false
}

// Trouble tells why the engine keeps nothing, as it answered last: nil where it does, or has not
// said why not. Calls wait meanwhile, as for an engine that does not answer.
func (e *Engine) Trouble() error {
	err := e.full.Load()
	if err == nil {
		return nil
	}
	return fmt.Errorf("the engine keeps nothing more: %w: make room on its disk, or raise its limit or that of its account, and start it again", *err)
}
