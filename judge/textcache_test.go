package judge

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A text has the value that the function gives it, however many texts fall on the same
// places and whoever asks at the same time; one that comes again is not asked for again.
func TestRecall(t *testing.T) {
	length := func(s string) float64 { return float64(len(s)) }
	var r textCache
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 3 * textCachePlaces {
				if s := strings.Repeat("word ", i%50) + fmt.Sprint(i); r.get(s, length) != length(s) {
					t.Errorf("%q: %v", s, r.get(s, length))
				}
			}
		})
	}
	all.Wait()
	asked := 0
	count := func(s string) float64 { asked++; return length(s) }
	for range 3 {
		r.get("about this site", count)
	}
	if asked != 1 {
		t.Errorf("a short text was asked for %d times, want once", asked)
	}
	for range 3 {
		r.get(strings.Repeat("long ", textCacheBytes), count)
	}
	if asked != 4 {
		t.Errorf("a long text is kept")
	}
}
