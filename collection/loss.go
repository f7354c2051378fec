package collection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// losses is what lost.txt holds: addresses whose pages, or whose outcome, were
// lost, one a line in the order in which that was found. Lines that begin with #
// say what has no address. A repair alone writes it, and with it its checksum to
// SHA256SUMS and a copy to the frontier, under the name stateLosses: once the event
// log is lost as well, no other store tells of these addresses.
type losses struct {
	urls  []string
	known map[string]bool
	notes []string
}

// stateLosses is the name of the copy of lost.txt among the states that the
// frontier stores. Package crawl has the others.
const stateLosses = "lost"

// readLosses reads lost.txt; nothing if it is not there.
func (c Collection) readLosses() (*losses, error) {
	l := &losses{known: map[string]bool{}}
	b, err := os.ReadFile(c.LostFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l.take(b)
	return l, nil
}

// take adds what the text of a list holds.
func (l *losses) take(text []byte) {
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case strings.HasPrefix(line, "#"):
			l.note(strings.TrimSpace(line[1:]))
		default:
			l.add(line)
		}
	}
}

// keep drops the addresses that are not to be kept.
func (l *losses) keep(is func(url string) bool) {
	l.urls = slices.DeleteFunc(l.urls, func(u string) bool {
		if !is(u) {
			delete(l.known, u)
			return true
		}
		return false
	})
}

// add notes an address; false if it was noted before.
func (l *losses) add(url string) bool {
	if l.known[url] {
		return false
	}
	l.known[url] = true
	l.urls = append(l.urls, url)
	return true
}

func (l *losses) note(text string) {
	if !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}

// text is the list as the file holds it; nil if nothing is lost.
func (l *losses) text() []byte {
	var out bytes.Buffer
	for _, n := range l.notes {
		fmt.Fprintf(&out, "# %s\n", n)
	}
	for _, u := range l.urls {
		fmt.Fprintln(&out, u)
	}
	return out.Bytes()
}

// unnamed is how many of so many fetched pages are told of neither by the log, as its
// tallies have it, nor by the list of losses.
func unnamed(fetched int, tallies map[uint64]tally, l *losses) int {
	for _, t := range tallies {
		if t.pages+t.free > 0 {
			fetched--
		}
	}
	for _, u := range l.urls {
		if t := tallies[hashOf(u)]; t.pages+t.free == 0 {
			fetched--
		}
	}
	return max(fetched, 0)
}

const saidOfUnnamed = "of which no store tells any more: they count for the budget, and are not fetched again"

// Lost are the addresses in lost.txt.
func (c Collection) Lost() ([]string, error) {
	l, err := c.readLosses()
	if err != nil {
		return nil, err
	}
	return l.urls, nil
}

// remind tells a frontier that lost the end of its memory which addresses are
// done, by the log. A seed that failed may have entered once more since.
func remind(ctx context.Context, f crawl.Frontier, events iter.Seq2[event.Event, error]) error {
	entered := map[web.URL]int{} // the last event by which a seed did
	n := 0
	for e, err := range events {
		if err != nil {
			return err
		}
		if s, ok := e.(event.Seeded); ok {
			for _, f := range s.Queued {
				entered[f.URL] = n
			}
		}
		n++
	}
	var done []web.URL
	tell := func(n int) error {
		if len(done) < n {
			return nil
		}
		_, err := f.Commit(ctx, web.Turn{Done: done})
		done = done[:0]
		return err
	}
	n = 0
	for e, err := range events {
		if err != nil {
			return err
		}
		u := visited(e)
		if f, ok := e.(event.Failed); ok && (f.Retry || entered[u] > n) {
			u = web.URL{}
		}
		if !u.IsZero() {
			done = append(done, u)
		}
		if err := tell(1000); err != nil {
			return err
		}
		n++
	}
	return tell(1)
}

// counted is a number with what there is so many of: "1 link waits", "2 links wait".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
