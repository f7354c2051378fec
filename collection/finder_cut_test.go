package collection

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// A Finder that has read an archive reads it anew where that was cut back and has grown
// again, or became another one.
func TestFinderOfAnArchiveThatWasCutBack(t *testing.T) {
	u := func(i int) web.URL {
		u, err := web.Parse(fmt.Sprintf("https://bees.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	c := At(t.TempDir())
	written := func(mark []byte, size int, pages ...int) []byte {
		t.Helper()
		a, err := store.Open(c.ArchiveDir(), store.Options{Mark: mark})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range pages {
			p := &web.Response{URL: u(i), Status: 200, Proto: "HTTP/1.1", Started: time.Unix(int64(i), 0), Header: web.Header{"Content-Type": {"text/html"}}}
			p.Raw = []byte(strings.Repeat(fmt.Sprintf("<p>bee %d of %d", i, size), size))
			p.Body = p.Raw
			b, err := a.EncodeResponse(p)
			if err == nil {
				mark, err = a.Append(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		return mark
	}
	for what, grow := range map[string]int{"shorter": 1, "longer": 40} {
		t.Run(what, func(t *testing.T) {
			if err := os.RemoveAll(c.ArchiveDir()); err != nil {
				t.Fatal(err)
			}
			mark := written(nil, 1, 0, 1)
			written(mark, 7, 2, 3)
			f := c.Finder()
			for i := range 4 {
				if r, err := f.Response(t.Context(), u(i)); err != nil || r.URL != u(i) {
					t.Fatalf("page %d: %v", i, err)
				}
			}
			more := []int{4}
			for i := range grow {
				more = append(more, 5+i)
			}
			written(mark, 3, append(more, 2)...)
			for _, i := range []int{4, 2, 1} {
				if r, err := f.Response(t.Context(), u(i)); err != nil || r.URL != u(i) {
					t.Errorf("page %d: %v", i, err)
				}
			}
			if _, err := f.Response(t.Context(), u(3)); !errors.Is(err, ErrAbsent) {
				t.Errorf("the page that was cut off: %v", err)
			}
		})
	}
}
