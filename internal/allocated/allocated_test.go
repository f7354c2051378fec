package allocated_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/internal/allocated"
)

var kept []byte

func TestBy(t *testing.T) {
	if n := allocated.By(func() { kept = make([]byte, 1<<20) }); n < 1<<20 {
		t.Errorf("%d bytes for a slice of 1 MiB", n)
	}
	if n := allocated.By(func() { kept = kept[:1] }); n > 1<<16 {
		t.Errorf("%d bytes for nothing", n)
	}
}
