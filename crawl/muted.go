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

// Links of places that a person muted are kept as muted links, so that they come back when that is
// undone:
//
//	waits in the frontier ──mute──►   muted   ──undo──► offered to the frontier again
//	found on a page ─────muted────►     ▲                  │
//	                                    └── still muted ◄──┘
//
// They lie among the states of the frontier, and change in the turns of which they are part:
//
//	muted/HASH  a muted link, as JSON; HASH is that of its address, 8 bytes, big-endian
//	muted.N     the hashes of up to linksOfPart of them, in the order in which they came
//
// What is offered again is read one part at a time, so memory does not grow with the links.
const (
	prefixMuted     = "muted/"
	prefixMutedPart = "muted."
	linksOfPart     = 512
	// mostParts is how many parts there may be for links that are found in muted places: a page can
	// lead to as many addresses there as it likes. Those that waited are all kept.
	mostParts = 2048
	// mostKnownMuted bounds the links of which it is remembered that they are kept: the menu of a
	// muted host is on each page of another, and a look at the states waits for what is being written.
	mostKnownMuted = 1 << 16
)

// mutedState says which parts there are. It is stored with every turn.
type mutedState struct {
	First int `json:"first,omitempty"` // the parts from First on are there
	Next  int `json:"next,omitempty"`  // those from Next on are not
	Until int `json:"until,omitempty"` // those before Until are to be offered again
	Links int `json:"links,omitempty"` // in all parts
}

func mutedName(hash uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(prefixMuted), hash))
}

func mutedPartName(n int) string { return prefixMutedPart + strconv.Itoa(n) }

// stored is a state as it will be after this turn, nil if there is none.
func (s *Step) stored(name string) ([]byte, error) {
	if b, ok := s.fresh[name]; ok || s.state == nil {
		return b, nil
	}
	return s.state(name)
}

// keepMuted keeps a link of a muted place. Of an address that was found several times it keeps
// the link with the highest priority. found tells that it did not wait.
func (s *Step) keepMuted(c *web.Candidate, found bool) error {
	hash := hashOf(c.URL)
	if known, ok := s.knownMuted[hash]; ok && known >= c.Priority {
		return nil
	}
	before, err := s.stored(mutedName(hash))
	if err != nil {
		return err
	}
	if was := (web.Candidate{}); len(before) > 0 && json.Unmarshal(before, &was) == nil {
		if was.Priority < c.Priority {
			s.fresh[mutedName(hash)] = appendMuted(c)
		}
		s.knowMuted(hash, max(was.Priority, c.Priority))
		return nil
	}
	if n := &s.count.Muted; found && n.Next-n.First >= mostParts {
		return nil
	}
	s.knowMuted(hash, c.Priority)
	s.fresh[mutedName(hash)] = appendMuted(c)
	s.listMuted(hash)
	s.count.Muted.Links++
	return nil
}

func (s *Step) knowMuted(hash uint64, priority float64) {
	if s.knownMuted == nil || len(s.knownMuted) == mostKnownMuted {
		s.knownMuted = map[uint64]float64{}
	}
	s.knownMuted[hash] = priority
}

func appendMuted(c *web.Candidate) []byte {
	kept := *c
	kept.Priority = max(-math.MaxFloat64, min(c.Priority, math.MaxFloat64)) // JSON has no infinity
	b, err := json.Marshal(kept)
	if err != nil {
		panic(err) // a plain struct
	}
	return b
}

// listMuted adds a hash to the last part, or begins another.
func (s *Step) listMuted(hash uint64) {
	n := &s.count.Muted
	if s.lastMutedPart == nil || len(s.lastMutedPart) >= 8*linksOfPart {
		n.Next++
		s.lastMutedPart = nil
	}
	s.lastMutedPart = binary.BigEndian.AppendUint64(slices.Clip(s.lastMutedPart), hash) // the turn keeps what it is given
	s.fresh[mutedPartName(n.Next-1)] = s.lastMutedPart
}

// offerMuted has all muted links offered to the frontier again.
func (s *Step) offerMuted() { s.count.Muted.Until, s.lastMutedPart = s.count.Muted.Next, nil }

// takeMuted takes the next part of the muted links: those that are muted no longer. The
// others stay.
func (s *Step) takeMuted() (links []web.Candidate, err error) {
	n := &s.count.Muted
	part, err := s.stored(mutedPartName(n.First))
	if err != nil {
		return nil, err
	}
	s.fresh[mutedPartName(n.First)] = nil
	n.First++
	for ; len(part) >= 8; part = part[8:] {
		hash := binary.BigEndian.Uint64(part)
		b, err := s.stored(mutedName(hash))
		if err != nil {
			return nil, err
		}
		var c web.Candidate
		if json.Unmarshal(b, &c) != nil || c.URL.IsZero() {
			n.Links = max(0, n.Links-1)
			continue
		}
		if s.steering.mutes(c.URL) {
			s.listMuted(hash)
			continue
		}
		s.fresh[mutedName(hash)] = nil
		delete(s.knownMuted, hash)
		n.Links = max(0, n.Links-1) // crawls of before have no number
		links = append(links, c)
	}
	return links, nil
}

// unmute makes the turn in which a part of the muted links enters the frontier. rescore gives
// a link its priority.
func (s *Step) unmute(now time.Time, rescore func(*web.Candidate) float64, preview Preview) (Outcome, error) {
	links, err := s.takeMuted()
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

// unmute has the muted links enter the frontier that are muted no longer, where an act
// has asked for that: the run that took the act in may have died before the end of it.
func (d *driver) unmute(ctx context.Context, now time.Time) error {
	rescore := d.step.Rescore
	if !d.Scorer.Rescores() {
		rescore = d.step.Rerank
	}
	for n := &d.step.count.Muted; n.First < n.Until; {
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

// Muted are the links of muted places that a crawl keeps. state returns
// what was stored under a name.
func Muted(state func(name string) ([]byte, error)) iter.Seq2[web.Candidate, error] {
	return func(yield func(web.Candidate, error) bool) {
		s := NewStep(Policy{}, nil, nil)
		s.state = state
		b, err := state(stateCrawl)
		if err == nil && len(b) > 0 {
			if err = json.Unmarshal(b, &s.count); err != nil {
				err = fmt.Errorf("stored state %q cannot be read: %w", stateCrawl, err)
			}
		}
		for err == nil && s.count.Muted.First < s.count.Muted.Next {
			var links []web.Candidate
			links, err = s.takeMuted()
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
