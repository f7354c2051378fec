package cookies

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
)

// Whatever a file of cookies holds, it is refused without a word of it, or what is taken stays
// within the bounds of a jar and is the same once it was written and read.
func FuzzFile(f *testing.F) {
	f.Add([]byte(preamble + "a.example\tTRUE\t/\tTRUE\t0\tx\t1\n#HttpOnly_.b.example\tFALSE\t/d\tFALSE\t1e9\ty\n" + ofSites + "c.example\tFALSE\t/\tFALSE\t-1\tz\t\n"))
	f.Add([]byte("a.example\tTRUE\t/\tTRUE\tNaN\tx\t1\r\n"))
	f.Add([]byte("127.0.0.1\tTRUE\t\tFALSE\t99999999999\t\t\"1\"\n"))
	f.Add([]byte("..a.example\tFALSE\t/\tFALSE\t0\tx\t1\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, held []byte) {
		name := filepath.Join(dir, "cookies.txt")
		if err := os.WriteFile(name, held, 0o600); err != nil {
			t.Fatal(err)
		}
		j, k := New(newStill()), New(newStill())
		j.file = name
		var err error
		used := allocated.By(func() { err = j.read() })
		if most := uint64(2<<20 + 500*len(held)); used > most {
			t.Errorf("%d bytes allocated for %d", used, len(held))
		}
		if err != nil {
			return
		}
		if j.bytes > maxBytes || len(j.sites) > maxSites {
			t.Errorf("%d bytes of %d sites are kept", j.bytes, len(j.sites))
		}
		written := j.text(newStill().now)
		if err := os.WriteFile(name, written, 0o600); err != nil {
			t.Fatal(err)
		}
		k.file = name
		if err := k.read(); err != nil {
			t.Fatalf("what was written of %q is not read: %v\n%s", held, err, written)
		}
		if again := k.text(newStill().now); !bytes.Equal(again, written) {
			t.Fatalf("%s\nand once it was read\n%s", written, again)
		}
	})
}
