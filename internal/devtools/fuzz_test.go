package devtools

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
)

// What a browser tells, which a page may have taken over, ends at what is no message and
// costs a share of its length.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"method":"Fetch.requestPaused","sessionId":"a","params":{"requestId":"1"}}` + "\x00" + `{"id":1,"result":{"x":[]}}` + "\x00"))
	f.Add([]byte(`{"id":1,"error":{"message":"no"}}` + "\x00" + `{"id":1}` + "\x00" + `[]` + "\x00"))
	f.Add([]byte(`{"id":"1"}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, told []byte) {
		name := filepath.Join(dir, "told")
		if err := os.WriteFile(name, told, 0o600); err != nil {
			t.Fatal(err)
		}
		from, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		events, waiting := 0, make(chan answer, 1)
		b := &Browser{done: make(chan struct{}), waiting: map[int]chan answer{1: waiting}, event: func(Event) { events++ }}
		used := allocated.By(func() { b.read(from) })
		select {
		case <-b.done:
		default:
			t.Error("it goes on after the last message")
		}
		if most := bytes.Count(told, []byte{0}); events > most {
			t.Errorf("%d events of %d messages", events, most)
		}
		if most := uint64(1<<20 + 2000*len(told)); used > most {
			t.Errorf("%d bytes allocated for %d", used, len(told))
		}
	})
}
