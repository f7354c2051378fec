package crawl

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/web"
)

// What a crawl stores with its turns, so that a later run can go on.

// progress is what the budget is measured by; it is stored with every turn.
type progress struct {
	Pages    int           `json:"pages"`
	Relevant int           `json:"relevant"`
	Seeds    int           `json:"seeds"`    // not yet fetched, or wherever they moved
	Closed   int           `json:"closed"`   // hosts
	Moved    int           `json:"moved"`    // seeds
	Spent    time.Duration `json:"spent_ns"` // of earlier runs and this
	// Last is the moment of the last turn, in nanoseconds of Unix time; 0 where
	// the folder is of an older version.
	Last int64 `json:"last_ns,omitempty"`
	// While all that waits is being scored anew: the place in the frontier that
	// this has come to, nil for its beginning.
	Sweeping bool   `json:"sweeping,omitempty"`
	Sweep    []byte `json:"sweep,omitempty"`
}

// Names under which a turn carries states.
const (
	stateCrawl   = "crawl"
	stateClosed  = "closed." // and a number: a closed host, a space, the reason
	stateMoved   = "moved."  // and a number: an address
	stateScorer  = "scorer"
	StateArchive = "archive" // the mark of the archive
	StateEvents  = "events"  // the mark of the event log
)

// Restore takes up a crawl where its last turn left it. state returns what was
// stored under a name.
func (s *Step) Restore(state func(name string) ([]byte, error)) error {
	take := func(name string, into func([]byte) error) error {
		b, err := state(name)
		if err != nil || b == nil {
			return err
		}
		if err := into(b); err != nil {
			return fmt.Errorf("stored state %q cannot be read: %w", name, err)
		}
		return nil
	}
	err := errors.Join(
		take(stateCrawl, func(b []byte) error { return json.Unmarshal(b, &s.count) }),
	)
	if whole, errState := ScorerState(state); errState != nil {
		err = errors.Join(err, errState)
	} else if whole != nil {
		for part := range slices.Chunk(whole, statePart) {
			s.parts = append(s.parts, xxh3.Hash(part))
		}
		if errState := s.scorer.Restore(whole); errState != nil {
			err = errors.Join(err, fmt.Errorf("stored state %q cannot be read: %w", stateScorer, errState))
		}
	}
	err = errors.Join(err, s.restoreJudge(state))
	for i := range s.count.Closed {
		err = errors.Join(err, take(stateClosed+strconv.Itoa(i), func(b []byte) error {
			host, why, ok := strings.Cut(string(b), " ")
			if !ok {
				return errors.New("it names no reason")
			}
			s.closed[web.Host(host)] = web.Reason(why)
			return nil
		}))
	}
	for i := range s.count.Moved {
		err = errors.Join(err, take(stateMoved+strconv.Itoa(i), func(b []byte) error {
			u, err := web.Parse(string(b))
			s.moved = append(s.moved, u)
			return err
		}))
	}
	return err
}

// store puts into a turn what a later run needs to go on.
func (s *Step) store(t *web.Turn) {
	t.State = s.fresh
	s.fresh = make(map[string][]byte)
	if s.passing {
		return
	}
	b, err := json.Marshal(s.count)
	if err != nil {
		panic(err) // a plain struct of numbers
	}
	t.State[stateCrawl] = b
	if b := s.scorer.State(); b != nil {
		s.storeScorer(t, b)
	}
	s.storeJudge(t)
}

// statePart is the size of the parts in which a scorer's state is stored.
const statePart = 64 << 10

// ScorerState is the state that a crawl's scorer had at its last turn, nil if it
// had none. state returns what was stored under a name.
func ScorerState(state func(name string) ([]byte, error)) (whole []byte, err error) {
	b, err := state(stateScorer)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	parts, err := strconv.Atoi(string(b))
	for i := range parts {
		part, errPart := state(stateScorer + "/" + strconv.Itoa(i))
		err = errors.Join(err, errPart)
		whole = append(whole, part...)
	}
	return whole, err
}

// storeScorer stores the parts of a scorer's state that changed: a model that
// grows at its end costs what was added, and not itself with every page.
func (s *Step) storeScorer(t *web.Turn, state []byte) {
	n := 0
	for part := range slices.Chunk(state, statePart) {
		if h := xxh3.Hash(part); n == len(s.parts) {
			s.parts = append(s.parts, h)
		} else if s.parts[n] == h {
			n++
			continue
		} else {
			s.parts[n] = h
		}
		t.State[stateScorer+"/"+strconv.Itoa(n)] = part
		n++
	}
	t.State[stateScorer] = []byte(strconv.Itoa(n))
}

// close lets no more links of a host into the frontier.
func (s *Step) close(h web.Host, why web.Reason) {
	s.closed[h] = why
	s.fresh[stateClosed+strconv.Itoa(s.count.Closed)] = []byte(string(h) + " " + string(why))
	s.count.Closed++
}
