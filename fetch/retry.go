package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// maxRetryAfter is the longest Retry-After told apart from longer ones.
const maxRetryAfter = 24 * time.Hour

// RetryAfter is how long the server of a response asks to be left alone by its
// Retry-After header (RFC 9110, section 10.2.3), whatever its status; 0 for not
// at all, and a day at most. A moment is held against the response's own Date,
// so that it does not matter what time it is elsewhere, or against now where
// there is none; with a zero now it then counts as not said.
func RetryAfter(h web.Header, now time.Time) time.Duration {
	said := strings.TrimSpace(first(h, "Retry-After"))
	if said == "" {
		return 0
	}
	if strings.Trim(said, "0123456789") == "" {
		seconds, err := strconv.ParseUint(said, 10, 64)
		if err != nil || seconds > uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter // a number beyond 64 bits is long, too
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(said)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(first(h, "Date")); err == nil {
		now = date
	}
	if now.IsZero() {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
