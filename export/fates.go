package export

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// The fates of a link: what became of its target.
const (
	fetched = "fetched" // it is a page of the collection
	failed  = "failed"  // it was asked for and brought no page
	dropped = "dropped" // it left the frontier unfetched
	waiting = "waiting" // it is in the frontier
	skipped = "skipped" // it never entered the frontier
)

// fate is what became of an address, and why where it was not fetched.
type fate struct {
	What   string
	Reason web.Reason
}

// fates are those of all addresses that the logs tell of, 8 bytes each: 56 bits of the
// hash of an address and 8 bits that stand for the fate. Of an address with several
// the one that came of it at last counts, in the order of the constants above.
//
// Ten million addresses hold two of one hash with a chance of 1 in 1,400.
type fates struct {
	list  []uint64
	codes map[fate]int
	known []fate // by code
	clean int    // so many entries at the beginning are sorted
}

const codeBits = 8

func (f *fates) add(u web.URL, x fate) {
	code, ok := f.codes[x]
	if !ok {
		if code = len(f.known); code == 1<<codeBits {
			code, x = f.codes[fate{x.What, ""}], fate{x.What, ""} // more reasons than there are
		} else {
			f.known = append(f.known, x)
			f.codes[x] = code
		}
	}
	f.list = append(f.list, hashOf(u)&^(1<<codeBits-1)|uint64(code))
	if len(f.list) > 1<<16 && len(f.list) > 2*f.clean {
		f.sort()
	}
}

// sort sorts the list and takes out what is there twice.
func (f *fates) sort() {
	slices.Sort(f.list)
	f.list = slices.Compact(f.list)
	f.clean = len(f.list)
}

// of is the fate of an address; !ok where the logs do not tell. All must be sorted.
func (f *fates) of(u web.URL) (x fate, ok bool) {
	rank := []string{fetched, failed, dropped, waiting, skipped}
	hash := hashOf(u) &^ (1<<codeBits - 1)
	best := len(rank)
	i, _ := slices.BinarySearch(f.list, hash)
	for ; i < len(f.list) && f.list[i]&^(1<<codeBits-1) == hash; i++ {
		one := f.known[f.list[i]&(1<<codeBits-1)]
		if r := slices.Index(rank, one.What); r < best {
			best, x = r, one
		}
	}
	return x, best < len(rank)
}

// knows tells whether a log names an address.
func (f *fates) knows(u web.URL) bool {
	_, ok := f.of(u)
	return ok
}

// fates reads them from the logs.
func (in *Input) fates(ctx context.Context) (*fates, error) {
	f := &fates{codes: map[fate]int{}}
	for _, x := range []string{fetched, failed, dropped, waiting, skipped} {
		f.codes[fate{x, ""}] = len(f.known)
		f.known = append(f.known, fate{x, ""})
	}
	links := func(queued []event.Found, left []event.Skipped) {
		for _, q := range queued {
			f.add(q.URL, fate{waiting, ""})
		}
		for _, s := range left {
			f.add(s.URL, fate{skipped, s.Reason})
		}
	}
	for _, c := range in.Collections {
		for e, err := range event.ReadFile(c.EventLog()) {
			var damaged *event.LineError
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case errors.As(err, &damaged):
				continue // the reading that follows tells it
			case err != nil:
				return nil, fmt.Errorf("reading the fates of links: %w", err)
			}
			switch e := e.(type) {
			case event.Seeded:
				links(e.Queued, e.Skipped)
			case event.Received:
				links(e.Queued, e.Skipped)
			case event.Fetched:
				f.add(e.URL, fate{fetched, ""})
				links(e.Queued, e.Skipped)
			case event.Failed:
				if !e.Retry {
					f.add(e.URL, fate{failed, e.Reason})
				}
				if !e.To.IsZero() && e.Queued {
					f.add(e.To, fate{waiting, ""})
				}
			case event.Dropped:
				for _, u := range e.URLs {
					f.add(u, fate{dropped, e.Reason})
				}
			}
		}
	}
	f.sort()
	return f, nil
}
