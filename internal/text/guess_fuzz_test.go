package text_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
	"github.com/waggle-crawler/waggle/internal/text"
)

// The language of any text is a code or unknown, the same each time, by the first of it alone.
func FuzzGuess(f *testing.F) {
	f.Add(sample)
	f.Add("ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์เช่นเดียวกับภาษาจีน")
	f.Add("\xff\xe0\xb8 ... 12345 日本語の文章には、漢字と仮名が使われている。日本語の文章には")
	f.Fuzz(func(t *testing.T, s string) {
		var l string
		used := allocated.By(func() { l = text.Guess(s) })
		if l != "" && len(l) != 2 && len(l) != 3 {
			t.Errorf("%q is in %q", s, l)
		}
		if again := text.Guess(s); again != l {
			t.Errorf("%q, and %q the second time", l, again)
		}
		if used > 1<<20 {
			t.Errorf("%d bytes allocated for %d", used, len(s))
		}
	})
}
