package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
)

// Cookies that the file cannot hold are not counted.
func TestLoginTakes(t *testing.T) {
	good := cookies.Cookie{Domain: "example.org", Name: "id", Value: "1"}
	bad := cookies.Cookie{Domain: "example.org", Name: "id", Value: "\xe9"}
	for _, c := range []struct {
		list []cookies.Cookie
		out  string // its start
		left int    // cookies left out
		code int
	}{
		{[]cookies.Cookie{bad, good, bad}, "Cookies taken: 1.", 2, 0},
		{[]cookies.Cookie{bad}, "", 1, exitNothing},
	} {
		var out, told bytes.Buffer
		cmd := loginCmd{URLs: []string{"https://example.org/"}, Out: "cookies.txt"}
		err := cmd.take(cookies.New(clock.System{}), c.list, &out, &told)
		var e exit
		if errors.As(err, &e); e.code != c.code || !strings.HasPrefix(out.String(), c.out) || (c.out == "") != (out.Len() == 0) {
			t.Errorf("%d cookies: %q, error %v", len(c.list), out.String(), err)
		}
		if n := strings.Count(told.String(), "is left out: it has characters"); n != c.left {
			t.Errorf("%d cookies: %d are left out, want %d: %s", len(c.list), n, c.left, told.String())
		}
	}
}
