package child

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/parse/document"
)

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// What a reading process answers, which a document may have taken over: HTML, an error of
// one of the kinds that there are, or none, and no more memory than an answer may have.
func FuzzAnswer(f *testing.F) {
	for _, o := range []outcome{whole, cut, damaged, locked, bounds, empty, 200} {
		f.Add(append([]byte{byte(o)}, appendFrame(nil, []byte("<p>bees"))...))
	}
	f.Add([]byte{byte(whole), 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{byte(whole), 0, 0, 0, 4})
	f.Fuzz(func(t *testing.T, told []byte) {
		c := &process{in: nowhere{io.Discard}, out: bufio.NewReader(bytes.NewReader(told))}
		var html []byte
		var err error
		used := allocated.By(func() { html, _, err = c.ask(document.PDF, []byte("%PDF-"), "") })
		if len(html) > len(told) {
			t.Errorf("%d bytes of HTML in an answer of %d", len(html), len(told))
		}
		if s, ok := errors.AsType[said](err); ok && len(s.Error()) > 4*300 {
			t.Errorf("an error of %d bytes", len(s.Error()))
		}
		if most := uint64(maxAnswer + 1<<20 + 4*len(told)); used > most {
			t.Errorf("%d bytes allocated for an answer of %d", used, len(told))
		}
	})
}
