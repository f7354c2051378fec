package terminal

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/term"

	"github.com/waggle-crawler/waggle/web"
)

func TestFigures(t *testing.T) {
	for got, want := range map[string]string{
		Number(0): "0", Number(999): "999", Number(1000): "1,000", Number(-1234567): "-1,234,567",
		Size(999): "999 B", Size(1000): "1.0 kB", Size(999_949): "999.9 kB", Size(999_950): "1.0 MB", Size(23_100_000): "23.1 MB",
		Span(59400 * time.Millisecond): "59s", Span(59500 * time.Millisecond): "1m00s", Span(3599 * time.Second): "59m59s",
		Span(2*time.Hour + 5*time.Minute): "2h05m", Span(76 * time.Hour): "3d04h",
		Decimal(0.5): "0.5", Decimal(0.12346): "0.1235", Decimal(1): "1", Decimal(0.00001234): "1.234e-05", Decimal(0): "0", Decimal(-3): "-3",
		Clip("日本語", 5): "日本…", Clip("日本語", 6): "日本語", Clip("abc", 2): "a…", Clip("abc", 0): "", Clip("日本", 1): "…",
		Bar(0, 4): "░░░░", Bar(0.5, 4): "██░░", Bar(0.55, 4): "██▏░", Bar(1, 4): "████",
		Reasons(map[web.Reason]int{"a": 3, "b": 20, "c": 1}, 40): "b 20 · a 3 · c 1",
		Reasons(map[web.Reason]int{"a": 3, "b": 20, "c": 1}, 15): "b 20 · others 4",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A long work is shown with a bar on a terminal; what is left is guessed from
// what was done since it began, and anew for other work.
func TestMeter(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for _, live := range []bool{false, true} {
		m := &Meter{live: live, began: start}
		var got []string
		for _, s := range []struct {
			seconds, done, total int
			note                 string
		}{{0, 20, 100, "a"}, {10, 40, 100, "b"}, {20, 100, 100, "c\x1b[2J"}, {30, 1, 4, "d"}, {40, 7, 0, "lines"}} {
			got = append(got, m.line(start.Add(time.Duration(s.seconds)*time.Second), s.done, s.total, s.note))
		}
		want := []string{"0s 20 of 100 (20%) a", "10s 40 of 100 (40%) 30s left b", "20s 100 of 100 (100%) c[2J", "30s 1 of 4 (25%) d", "40s 7 lines"}
		if live {
			want = []string{"0s ████░░░░░░░░░░░░░░░░ 20 of 100 (20%) a", "10s ████████░░░░░░░░░░░░ 40 of 100 (40%) 30s left b", "20s ████████████████████ 100 of 100 (100%) c[2J", "30s █████░░░░░░░░░░░░░░░ 1 of 4 (25%) d", "40s 7 lines"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("on a terminal %v:\n%q\nwant\n%q", live, got, want)
		}
	}
}

// A work that ends at once leaves no line of its beginning in a file.
func TestMeterOfShortWork(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := NewMeter(out)
	m.Show(50, 3401, "parsing")
	m.End()
	if info, err := out.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("it said %d bytes, %v", info.Size(), err)
	}
}

// A terminal that is dumb is told as a file is.
func TestDraws(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !term.IsTerminal(int(tty.Fd())) {
		t.Skip("this system gives no terminal here: ", err)
	}
	defer tty.Close()
	for name, want := range map[string]bool{"xterm": true, "dumb": false} {
		t.Setenv("TERM", name)
		if got := Draws(tty); got != want || NewMeter(tty).live != want {
			t.Errorf("TERM=%s: %v, a meter %v", name, got, !want)
		}
	}
}

// What is waited for is let go when the wait ends.
func TestUntil(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r := Until(ctx, in)
	go io.WriteString(out, "bees")
	b := make([]byte, 8)
	if n, err := r.Read(b); err != nil || string(b[:n]) != "bees" {
		t.Errorf("%q, %v", b[:n], err)
	}
	go cancel()
	if n, err := r.Read(b); n > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %q, %v", b[:n], err)
	}
}

// Two relevances that differ are never shown as the same.
func TestApart(t *testing.T) {
	for _, x := range []struct {
		a, b       float64
		one, other string
	}{
		{0.3, 0.3, "0.3", "0.3"},
		{0.25, 0.3, "0.25", "0.3"},
		{0.29996, 0.3, "0.29996", "0.30000"},
		{0.2999999, 0.3, "0.2999999", "0.3000000"},
		{math.Nextafter(0.3, 0), 0.3, "0.2999999999999999", "0.3000000000000000"},
	} {
		if one, other := Apart(x.a, x.b); one != x.one || other != x.other {
			t.Errorf("%v and %v: %s and %s", x.a, x.b, one, other)
		}
	}
}
