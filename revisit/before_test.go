package revisit

import (
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// A Last-Modified within a second of the answer does not tell a later version from this one.
func TestSettled(t *testing.T) {
	const changed = "Fri, 02 Jan 2026 10:00:00 GMT"
	for _, c := range []struct {
		sent, changed string
		want          bool
	}{
		{"Fri, 02 Jan 2026 10:00:00 GMT", changed, false},
		{"Fri, 02 Jan 2026 09:59:59 GMT", changed, false}, // a date of the future
		{"Fri, 02 Jan 2026 10:00:01 GMT", changed, true},
		{"Sat, 03 Jan 2026 10:00:00 GMT", changed, true},
		{"", changed, true},
		{"soon", changed, true},
		{"Fri, 02 Jan 2026 10:00:00 GMT", "", true},
		{"Fri, 02 Jan 2026 10:00:00 GMT", "yesterday", true},
	} {
		h := web.Header{}
		if c.sent != "" {
			h["Date"] = []string{c.sent}
		}
		if c.changed != "" {
			h["Last-Modified"] = []string{c.changed}
		}
		if got := settled(h); got != c.want {
			t.Errorf("sent %q, changed %q: settled %v, want %v", c.sent, c.changed, got, c.want)
		}
	}
}
