package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A line that is no message of JSON-RPC would end the session. It is answered with an error, as
// the protocol wants, and passed over:
//
//	client ─► messages ─► session ─► lockedWriter ─► client
//	             └───────── error ──────────┘

// lockedWriter has lines written whole, whoever writes them.
type lockedWriter struct {
	mu  sync.Mutex
	out io.WriteCloser
}

func (w *lockedWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(line)
}

func (w *lockedWriter) Close() error { return w.out.Close() }

// messages reads lines that are messages.
type messages struct {
	in   io.ReadCloser
	from *bufio.Reader
	out  io.Writer // of errors
	rest []byte    // of the present line
}

func readMessages(in io.ReadCloser, out io.Writer) *messages {
	return &messages{in: in, from: bufio.NewReaderSize(in, maxMessage+1), out: out}
}

func (m *messages) Close() error { return m.in.Close() }

// Read gives what is left of the present line, or of the next message. A line that is longer than
// a message may be is handed on, for the session to refuse.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.from.ReadSlice('\n')
		if m.rest = line; errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		if err != nil && len(line) == 0 {
			return 0, err
		}
		if wrong := refusal(bytes.TrimSpace(line)); wrong != nil {
			m.rest = nil
			if _, err := m.out.Write(wrong); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// refusal is the answer to a line that is no message; nil if it is one, or empty. An array of
// messages is none: the protocol has them no more, and a session would end at one.
func refusal(line []byte) []byte {
	code, words := jsonrpc.CodeParseError, "this line is no JSON"
	switch {
	case len(line) == 0:
		return nil
	case !json.Valid(line):
	case line[0] == '[':
		code, words = jsonrpc.CodeInvalidRequest, "this line is an array: write one message of JSON-RPC 2.0 on each line"
	default:
		m, err := jsonrpc.DecodeMessage(line)
		r, answer := m.(*jsonrpc.Response)
		if err == nil && (!answer || r.Result != nil || r.Error != nil) {
			return nil
		}
		code, words = jsonrpc.CodeInvalidRequest, "this line is no message of JSON-RPC 2.0"
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": words}})
	if err != nil {
		panic(err) // plain values
	}
	return append(b, '\n')
}
