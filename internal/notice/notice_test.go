package notice

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) event.At { return event.At{At: begin.Add(time.Duration(seconds) * time.Second)} }

func page(second int, relevant bool) event.Event {
	u, err := web.Parse(fmt.Sprintf("https://example.org/%d", second))
	if err != nil {
		panic(err)
	}
	f := event.Fetched{At: at(second), Visit: event.Visit{URL: u}, Title: "Bees", Relevant: relevant}
	return f
}

// TestWatch shows which events give a notice.
func TestWatch(t *testing.T) {
	start := func(second, pages int, limit time.Duration) event.Event {
		return event.Started{At: at(second), Name: "bees", Pages: pages, Limit: limit}
	}
	end := func(second int) event.Event { return event.Ended{At: at(second), How: event.BudgetSpent} }
	tests := map[string]struct {
		past, events []event.Event // of earlier runs, of this one
		want         []string
	}{
		"a crawl of four pages": {
			events: []event.Event{start(0, 4, 0), page(1, false), page(2, true), page(3, true), page(4, false), end(5)},
			want: []string{
				"first-relevant 2s pages 2 relevant 1 https://example.org/2 Bees",
				"half-budget 2s pages 2 relevant 1",
				"ended 5s pages 4 relevant 2 BudgetSpent",
			},
		},
		"half of the time": {
			events: []event.Event{start(0, 0, 10*time.Second), page(4, false), event.Tick{At: at(5)}, event.Tick{At: at(6)}},
			want:   []string{"half-budget 5s pages 1 relevant 0"},
		},
		"links that mutes set aside": {
			events: []event.Event{start(0, 0, 0), event.Ended{At: at(1), How: event.FrontierEmpty, Frontier: web.FrontierStats{Muted: 12}}},
			want:   []string{"ended 1s pages 0 relevant 0 FrontierEmpty, no link is left, but 12 that mutes set aside: 12"},
		},
		"no budget": {
			events: []event.Event{start(0, 0, 0), page(1, false), end(2)},
			want:   []string{"ended 2s pages 1 relevant 0 BudgetSpent"},
		},
		"an undone mute brings links": {
			events: []event.Event{start(0, 4, 0), page(1, false), event.Received{At: at(2)}, page(3, false)},
			want:   []string{"half-budget 3s pages 2 relevant 0"},
		},
		"one of several workers: the budget is that of all": {
			events: []event.Event{event.Started{At: at(0), Pages: 4, Several: true}, page(1, false), page(2, false), page(3, false)},
		},
		"goes on: what is over is not told again": {
			past:   []event.Event{start(0, 4, 0), page(1, true), page(2, true), page(3, false)},
			events: []event.Event{start(10, 4, 0), page(11, true), end(12)},
			want:   []string{"ended 5s pages 4 relevant 3 BudgetSpent"},
		},
		"goes on with a larger budget: its half is told": {
			past:   []event.Event{start(0, 2, 0), page(1, false), page(2, false), end(3)},
			events: []event.Event{start(10, 6, 0), page(11, false)},
			want:   []string{"half-budget 4s pages 3 relevant 0"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var w Watch
			for _, e := range tt.past {
				w.Add(e)
			}
			var got []string
			for _, e := range tt.events {
				for _, n := range w.Add(e) {
					line := fmt.Sprintf("%s %gs pages %d relevant %d", n.Moment, n.Elapsed, n.Pages, n.Relevant)
					for _, s := range []string{n.URL.String(), n.Title, string(n.How)} {
						if s != "" {
							line += " " + s
						}
					}
					if n.Muted > 0 {
						line += fmt.Sprintf(", %s: %d", n.Words, n.Muted)
					}
					got = append(got, line)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestSender tells a program and an address, and shows the line that they get.
func TestSender(t *testing.T) {
	var got string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.Header.Get("Content-Type") + " " + r.UserAgent() + " " + string(b)
	}))
	defer hook.Close()
	program, out := script(t, `printf '%s ' "$1" >"$0.out"; cat >>"$0.out"`)
	s, err := NewSender(program, hook.URL, "waggle/test")
	if err != nil {
		t.Fatal(err)
	}
	u, err := web.Parse("https://example.org/")
	if err != nil {
		t.Fatal(err)
	}
	s.Send(Notice{Moment: FirstRelevant, Crawl: "bees", Folder: "/c", At: begin, Pages: 2, Relevant: 1, Elapsed: 1.5, URL: u, Title: "<b>\u202e"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const line = `{"moment":"first-relevant","crawl":"bees","folder":"/c","at":"2026-03-01T12:00:00Z",` +
		`"pages":2,"relevant":1,"elapsed_s":1.5,"url":"https://example.org/","title":"\u003cb\u003e` + "\u202e" + `"}` + "\n"
	if want := "POST application/json waggle/test " + line; got != want {
		t.Errorf("the address got\n%s\nwant\n%s", got, want)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := "first-relevant " + line; string(b) != want {
		t.Errorf("the program got\n%s\nwant\n%s", b, want)
	}
}

// TestNotTold shows what is said where a notice does not arrive, or its program fails.
func TestNotTold(t *testing.T) {
	answer := func(status int) string {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		t.Cleanup(h.Close)
		return h.URL
	}
	hangs := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(hangs) })
	fails, _ := script(t, `echo "the mailbox is full" >&2; exit 3`)
	silent, _ := script(t, `exit 75`)
	dies, _ := script(t, `kill -9 $$`)
	stays, _ := script(t, `exec sleep 60`)
	gone, _ := script(t, `exit 0`)
	tests := map[string]struct{ program, address, want string }{
		"an error":                {address: answer(500), want: "was not told of ended: it answered with status 500"},
		"a redirect":              {address: answer(302), want: "it answered with status 302"},
		"no answer":               {address: slow.URL, want: "no answer within 300ms"},
		"nobody":                  {address: "http://127.0.0.1:1/", want: "connection refused"},
		"a program that fails":    {program: fails, want: "was told of ended, and ended with status 3: the mailbox is full"},
		"a program without words": {program: silent, want: "was told of ended, and ended with status 75"},
		"a program that dies":     {program: dies, want: "was told of ended, and ended with signal: killed"},
		"a program that does not": {program: stays, want: "was told of ended, and was stopped, as it ran for more than 300ms"},
		"a program that is gone":  {program: gone, want: "was not told of ended: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := NewSender(tt.program, tt.address, "waggle/test")
			if err != nil {
				t.Fatal(err)
			}
			s.patience = time.Minute
			if strings.Contains(tt.want, "300ms") {
				s.patience = 300 * time.Millisecond
			}
			if tt.program == gone {
				if err := os.Remove(gone); err != nil {
					t.Fatal(err)
				}
			}
			s.Send(Notice{Moment: Ended})
			if err := s.Close(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestNewSenderRefuses shows what is refused before a crawl begins.
func TestNewSenderRefuses(t *testing.T) {
	for _, tt := range [][3]string{
		{"./no-such-program", "", `program: "./no-such-program" cannot be started`},
		{"no such program", "", `give the path of one program, without arguments`},
		{"", "example.org/hook", `url: "example.org/hook" is no address`},
		{"", "ftp://example.org/", "give one such as https://"},
	} {
		if _, err := NewSender(tt[0], tt[1], ""); err == nil || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("%q, %q: %v, want %q", tt[0], tt[1], err, tt[2])
		}
	}
}

// TestTooMany sends more notices than wait: the crawl is not held, and it is said.
func TestTooMany(t *testing.T) {
	release := make(chan struct{})
	var told []string
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-release
		var n Notice
		if json.NewDecoder(r.Body).Decode(&n) == nil {
			told = append(told, n.Crawl)
		}
	}))
	defer hook.Close()
	s, err := NewSender("", hook.URL, "waggle/test")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		s.Send(Notice{Moment: HalfBudget, Crawl: fmt.Sprint(i)})
	}
	close(release)
	err = s.Close()
	// One may have been under way when the 17th came.
	if n := len(told); n != 16 && n != 17 || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d notices were not told", 30-n)) {
		t.Errorf("%d were told, and %v", n, err)
	}
}

// script writes a program for the shell, and returns it and the file of its output.
func script(t *testing.T, body string) (program, out string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is written for a shell of Unix")
	}
	program = filepath.Join(t.TempDir(), "told")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, program + ".out"
}
