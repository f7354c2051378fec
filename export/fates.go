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

	// These are told as waiting and as dropped, and count before that which came of the address when
	// all links of its host left the frontier.
	again = "again" // it entered the frontier after that
	alone = "alone" // it left the frontier by its address
)

// ranks are all fates. Of an address with several the first one here counts.
var ranks = []string{fetched, failed, again, alone, dropped, waiting, skipped}

// fate is what became of an address, and why where it was not fetched.
type fate struct {
	What   string
	Reason web.Reason
}

// fates are those of all addresses that the logs tell of, 8 bytes each: 56 bits of the
// hash of an address and 8 bits that stand for the fate.
//
// Ten million addresses hold two of one hash with a chance of 1 in 1,400.
type fates struct {
	list  []uint64
	codes map[fate]int
	known []fate // by code
	clean int    // so many entries at the beginning are sorted
}

const codeBits = 8

// keyOf is what of the hash of an address the list holds.
func keyOf(u web.URL) uint64 { return hashOf(u) &^ (1<<codeBits - 1) }

func (f *fates) add(key uint64, x fate) {
	code, ok := f.codes[x]
	if !ok {
		if code = len(f.known); code == 1<<codeBits {
			code, x = f.codes[fate{x.What, ""}], fate{x.What, ""} // more reasons than there are
		} else {
			f.known = append(f.known, x)
			f.codes[x] = code
		}
	}
	f.list = append(f.list, key|uint64(code))
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
	key, best := keyOf(u), len(ranks)
	i, _ := slices.BinarySearch(f.list, key)
	for ; i < len(f.list) && f.list[i]&^(1<<codeBits-1) == key; i++ {
		one := f.known[f.list[i]&(1<<codeBits-1)]
		if r := slices.Index(ranks, one.What); r < best {
			best, x = r, one
		}
	}
	switch x.What {
	case again:
		x.What = waiting
	case alone:
		x.What = dropped
	}
	return x, best < len(ranks)
}

// knows tells whether a log names an address.
func (f *fates) knows(u web.URL) bool {
	_, ok := f.of(u)
	return ok
}

// fates reads them from the logs.
func (in *Input) fates(ctx context.Context) (*fates, error) {
	f := &fates{codes: map[fate]int{}}
	for _, x := range ranks {
		f.codes[fate{x, ""}] = len(f.known)
		f.known = append(f.known, fate{x, ""})
	}
	for _, c := range in.Collections {
		if err := f.read(ctx, c.EventLog()); err != nil {
			return nil, fmt.Errorf("reading the fates of links: %w", err)
		}
	}
	f.sort()
	return f, nil
}

// givenUp is when all links of a host left the frontier for the last time, and why.
type givenUp struct {
	number int // of such an event in the log, 1…
	reason web.Reason
}

// hostsGivenUp are the hosts of a log whose links left the frontier together: the event
// does not name them.
func hostsGivenUp(path string) map[web.Host]givenUp {
	hosts, n := map[web.Host]givenUp{}, 0
	for e, err := range event.ReadKinds(path, event.Dropped{}.Kind()) {
		if d, ok := e.(event.Dropped); ok && err == nil && givesUp(&d) {
			n++
			hosts[d.Host] = givenUp{n, d.Reason}
		}
	}
	return hosts
}

// givesUp tells whether an event is of a host whose links nobody fetches any more. Those of a host that
// another worker has may wait there.
func givesUp(e *event.Dropped) bool { return len(e.URLs) == 0 && e.Reason != web.ReasonElsewhere }

// read adds the fates that a log tells of.
func (f *fates) read(ctx context.Context, log string) error {
	hosts, n := hostsGivenUp(log), 0 // n of them were read
	left := map[uint64]web.Reason{}  // what left the frontier by its address, and is not back
	back := map[uint64]bool{}        // what entered after its host was given up, and did not leave since
	queue := func(u web.URL) {
		key := keyOf(u)
		delete(left, key)
		switch host, ok := hosts[u.Host()]; {
		case !ok:
			f.add(key, fate{waiting, ""})
		case n < host.number:
			f.add(key, fate{dropped, host.reason})
		default:
			back[key] = true
		}
	}
	links := func(queued []event.Found, refused []event.Skipped) {
		for _, q := range queued {
			queue(q.URL)
		}
		for _, s := range refused {
			f.add(keyOf(s.URL), fate{skipped, s.Reason})
		}
	}
	for e, err := range event.ReadFile(log) {
		var damaged *event.LineError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &damaged):
			continue // the reading that follows tells it
		case err != nil:
			return err
		}
		switch e := e.(type) {
		case event.Seeded:
			links(e.Queued, e.Skipped)
		case event.Received:
			links(e.Queued, e.Skipped)
		case event.Fetched:
			f.add(keyOf(e.URL), fate{fetched, ""})
			links(e.Queued, e.Skipped)
		case event.Failed:
			if !e.Retry {
				f.add(keyOf(e.URL), fate{failed, e.Reason})
			}
			if !e.To.IsZero() && e.Queued {
				queue(e.To)
			}
		case event.Dropped:
			if givesUp(&e) {
				n++
			}
			for _, u := range e.URLs {
				left[keyOf(u)] = e.Reason
				delete(back, keyOf(u))
			}
		}
	}
	for key, reason := range left {
		f.add(key, fate{alone, reason})
	}
	for key := range back {
		f.add(key, fate{again, ""})
	}
	return nil
}
