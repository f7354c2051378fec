package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/waggle-crawler/waggle/internal/allocated"
)

// Whatever a client writes: what is handed to the session are messages, each other line is
// answered with an error once, and nothing is lost or made up.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n[]\n{\n\n" + `{"jsonrpc":"2.0","id":1}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"x","params":{"a":[1]}}`))
	f.Add([]byte(`{"JSONRPC":"2.0","id":{},"result":1}` + "\n"))
	f.Fuzz(func(t *testing.T, told []byte) {
		if len(told) > maxMessage {
			return // a longer line is for the session to refuse
		}
		var refused bytes.Buffer
		var kept []byte
		var err error
		used := allocated.By(func() { kept, err = io.ReadAll(readMessages(io.NopCloser(bytes.NewReader(told)), &refused)) })
		if err != nil {
			t.Fatal(err)
		}
		messages, errors := 0, 0
		for line := range bytes.Lines(kept) {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			messages++
			if _, err := jsonrpc.DecodeMessage(line); err != nil {
				t.Errorf("%q is handed on: %v", line, err)
			}
		}
		for line := range bytes.Lines(refused.Bytes()) {
			errors++
			if !json.Valid(line) || len(line) > 200 {
				t.Errorf("%q is the answer to a line that is none", line)
			}
		}
		lines := 0
		for line := range bytes.Lines(told) {
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
		if messages+errors != lines {
			t.Errorf("%d messages and %d errors of %d lines", messages, errors, lines)
		}
		if most := uint64(4<<20 + 2000*len(told)); used > most {
			t.Errorf("%d bytes allocated for %d", used, len(told))
		}
	})
}
