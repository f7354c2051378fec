package crawl

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Links of places that a person muted are set aside, so that they come back when that is
// undone:
//
//	waits in the frontier ──mute──► set aside ──undo──► offered to the frontier again
//	found on a page ─────muted────►     ▲                  │
//	                                    └── still muted ◄──┘
//
// They lie among the states of the frontier, and change in the turns of which they are part:
//
//	muted/HASH  a link set aside, as JSON; HASH is that of its address, 8 bytes, big-endian
//	muted.N     the hashes of up to linksOfPart of them, in the order in which they came
//
// What is offered again is read one part at a time, so memory does not grow with the links.
const (
	prefixAside = "muted/"
	prefixPart  = "muted."
	linksOfPart = 512
	// mostParts is how many parts there may be for links that are found in muted places: a page can
	// lead to as many addresses there as it likes. Those that waited are all set aside.
	mostParts = 2048
	// mostKnown bounds the links of which it is remembered that they are set aside: the menu of a
	// muted host is on each page of another, and a look at the states waits for what is being written.
	mostKnown = 1 << 16
)

// asideState says which parts there are. It is stored with every turn.
type asideState struct {
	First int `json:"first,omitempty"` // the parts from First on are there
	Next  int `json:"next,omitempty"`  // those from Next on are not
	Until int `json:"until,omitempty"` // those before Until are to be offered again
}

func asideName(hash uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(prefixAside), hash))
}

func partName(n int) string { return prefixPart + strconv.Itoa(n) }

// stored is a state as it will be after this turn, nil if there is none.
func (s *Step) stored(name string) ([]byte, error) {
	if b, ok := s.fresh[name]; ok || s.state == nil {
		return b, nil
	}
	return s.state(name)
}

// setAside keeps a link of a muted place. Of an address that was found several times it keeps
// the link with the highest priority. found tells that it did not wait.
func (s *Step) setAside(c *web.Candidate, found bool) error {
	hash := hashOf(c.URL)
	if known, ok := s.knownAside[hash]; ok && known >= c.Priority {
		return nil
	}
	before, err := s.stored(asideName(hash))
	if err != nil {
		return err
	}
	if was := (web.Candidate{}); len(before) > 0 && json.Unmarshal(before, &was) == nil {
		if was.Priority < c.Priority {
			s.fresh[asideName(hash)] = appendAside(c)
		}
		s.knowAside(hash, max(was.Priority, c.Priority))
		return nil
	}
	if n := &s.count.Aside; found && n.Next-n.First >= mostParts {
		return nil
	}
	s.knowAside(hash, c.Priority)
	s.fresh[asideName(hash)] = appendAside(c)
	s.list(hash)
	return nil
}

func (s *Step) knowAside(hash uint64, priority float64) {
	if s.knownAside == nil || len(s.knownAside) == mostKnown {
		s.knownAside = map[uint64]float64{}
	}
	s.knownAside[hash] = priority
}

func appendAside(c *web.Candidate) []byte {
	kept := *c
	kept.Priority = max(-math.MaxFloat64, min(c.Priority, math.MaxFloat64)) // JSON has no infinity
	b, err := json.Marshal(kept)
	if err != nil {
		panic(err) // a plain struct
	}
	return b
}

// list adds a hash to the last part, or begins another.
func (s *Step) list(hash uint64) {
	n := &s.count.Aside
	if s.lastPart == nil || len(s.lastPart) >= 8*linksOfPart {
		n.Next++
		s.lastPart = nil
	}
	s.lastPart = binary.BigEndian.AppendUint64(slices.Clip(s.lastPart), hash) // the turn keeps what it is given
	s.fresh[partName(n.Next-1)] = s.lastPart
}

// offerAside has all that is set aside offered to the frontier again.
func (s *Step) offerAside() { s.count.Aside.Until, s.lastPart = s.count.Aside.Next, nil }

// takeAside takes the next part of what is set aside: the links that are no longer muted. The
// others stay.
func (s *Step) takeAside() (links []web.Candidate, err error) {
	n := &s.count.Aside
	part, err := s.stored(partName(n.First))
	if err != nil {
		return nil, err
	}
	s.fresh[partName(n.First)] = nil
	n.First++
	for ; len(part) >= 8; part = part[8:] {
		hash := binary.BigEndian.Uint64(part)
		b, err := s.stored(asideName(hash))
		if err != nil {
			return nil, err
		}
		var c web.Candidate
		if json.Unmarshal(b, &c) != nil || c.URL.IsZero() {
			continue
		}
		if s.steering.mutes(c.URL) {
			s.list(hash)
			continue
		}
		s.fresh[asideName(hash)] = nil
		delete(s.knownAside, hash)
		links = append(links, c)
	}
	return links, nil
}

// unmute makes the turn in which a part of what is set aside enters the frontier. rescore gives
// a link its priority.
func (s *Step) unmute(now time.Time, rescore func(*web.Candidate) float64, preview Preview) (Outcome, error) {
	links, err := s.takeAside()
	if err != nil {
		return Outcome{}, err
	}
	slices.SortStableFunc(links, func(a, b web.Candidate) int {
		return cmp.Or(strings.Compare(a.From.String(), b.From.String()), cmp.Compare(a.Depth, b.Depth))
	})
	var out Outcome
	for len(links) > 0 {
		var found []link
		at := links[0]
		for len(links) > 0 && links[0].From == at.From && links[0].Depth == at.Depth {
			c := links[0]
			c.Priority = rescore(&c)
			found, links = append(found, link{Candidate: c}), links[1:]
		}
		queued, skipped, turn, err := s.admit(found, nil, preview)
		if err != nil {
			return Outcome{}, err
		}
		for _, c := range turn.Add {
			if c.Priority >= SeedPriority {
				s.count.Seeds++
			}
		}
		out.Turn.Add = append(out.Turn.Add, turn.Add...)
		out.Turn.Done = append(out.Turn.Done, turn.Done...)
		if len(queued)+len(skipped) > 0 {
			out.add(event.Received{At: event.At{At: now}, From: at.From, Depth: at.Depth, Queued: queued, Skipped: skipped})
		}
	}
	s.store(&out.Turn)
	return out, nil
}

// unmute has the links enter the frontier that are set aside and no longer muted, where an act
// has asked for that: the run that took the act in may have died before the end of it.
func (d *driver) unmute(ctx context.Context, now time.Time) error {
	rescore := d.step.Rescore
	if !d.Scorer.Rescores() {
		rescore = d.step.Rerank
	}
	for n := &d.step.count.Aside; n.First < n.Until; {
		out, err := d.step.unmute(now, rescore, d.preview(ctx))
		if err != nil {
			return err
		}
		if err := d.settle(ctx, now, nil, out); err != nil {
			return err
		}
	}
	return nil
}

// SetAside are the links that a crawl has set aside as they are in muted places. state returns
// what was stored under a name.
func SetAside(state func(name string) ([]byte, error)) iter.Seq2[web.Candidate, error] {
	return func(yield func(web.Candidate, error) bool) {
		s := NewStep(Policy{}, nil, nil)
		s.state = state
		b, err := state(stateCrawl)
		if err == nil && len(b) > 0 {
			if err = json.Unmarshal(b, &s.count); err != nil {
				err = fmt.Errorf("stored state %q cannot be read: %w", stateCrawl, err)
			}
		}
		for err == nil && s.count.Aside.First < s.count.Aside.Next {
			var links []web.Candidate
			links, err = s.takeAside()
			clear(s.fresh)
			for _, c := range links {
				if !yield(c, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(web.Candidate{}, err)
		}
	}
}
