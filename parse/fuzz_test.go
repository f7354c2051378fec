package parse_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/parse"
)

// Whatever the bytes and whatever is said of their encoding: valid UTF-8 without NUL, at
// most three bytes for one.
func FuzzDecode(f *testing.F) {
	for _, label := range []string{"", "utf-16le", "gb18030", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr", "windows-1251", "x-user-defined", "replacement", "no such"} {
		f.Add([]byte("\x1b$B\x88\x62\xff\x00\x81\x30\x81\x30\xa4\xa2 bees"), label)
	}
	f.Add([]byte("\xff\xfeb\x00\x00\xd8"), "")
	f.Fuzz(func(t *testing.T, body []byte, label string) {
		var text []byte
		var name string
		used := allocated.By(func() { text, name = parse.Decode(body, label) })
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			t.Errorf("%q as %s is %q", body, name, text)
		}
		if name == "" || len(text) > 3*len(body)+3 {
			t.Errorf("%d bytes of %q from %d", len(text), name, len(body))
		}
		if most := uint64(1<<20 + 200*len(body)); used > most {
			t.Errorf("%d bytes allocated for %d", used, len(body))
		}
		if again, other := parse.Decode(body, label); other != name || !bytes.Equal(again, text) {
			t.Errorf("%q, and %q the second time", text, again)
		}
	})
}
