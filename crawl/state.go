package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// What a crawl stores with its turns, so that a later run can go on.

// progress is what the budget is measured by; it is stored with every turn.
type progress struct {
	Pages    int            `json:"pages"`
	Relevant int            `json:"relevant"`
	Seeds    int            `json:"seeds"`    // not yet fetched, or wherever they moved
	Forecast event.Forecast `json:"forecast"` // of what the next pages bring
	Closed   int            `json:"closed"`   // hosts
	Moved    int            `json:"moved"`    // seeds
	Spent    time.Duration  `json:"spent_ns"` // of earlier runs and this
	// Last is the moment of the last turn, in nanoseconds of Unix time; 0 where
	// the folder is of an older version.
	Last int64 `json:"last_ns,omitempty"`
	// While all that waits is being scored anew: the place in the frontier that
	// this has come to, nil for its beginning. Due where it is to begin again, Again where
	// it is to do so at once, and Began is how many pages there were when it began the last time.
	Sweeping   bool   `json:"sweeping,omitempty"`
	Sweep      []byte `json:"sweep,omitempty"`
	SweepDue   bool   `json:"sweep_due,omitempty"`
	SweepAgain bool   `json:"sweep_again,omitempty"`
	SweepBegan int    `json:"sweep_began,omitempty"`
	// Renders are what rendering pages has brought, of all hosts.
	Renders [web.RenderKinds]web.Renders `json:"renders,omitzero"`
	// Renewing: what was fetched is being judged anew by other keywords.
	Renewing bool `json:"renewing,omitempty"`
	// Muted is what is kept of links of muted places.
	Muted mutedState `json:"aside,omitzero"` // aside: as stored crawls have it
	// LeftEntered is how many of Again.Left were added after all.
	LeftEntered int `json:"given_back,omitempty"`
}

// Names under which a turn carries states.
const (
	stateCrawl   = "crawl"
	stateClosed  = "closed." // and a number: a closed host, a space, the reason
	stateMoved   = "moved."  // and a number: an address
	stateScorer  = "scorer"
	StateArchive = "archive" // the mark of the archive
	StateEvents  = "events"  // the mark of the event log
	// StateCluster is which of several workers this is, a Member; nothing in a crawl
	// alone. Package cluster/worker stores more under names that begin so.
	StateCluster = "cluster"
)

// Learnt tells the names of states that hold what scorer and judge learnt.
func Learnt(name string) bool {
	of, _, _ := strings.Cut(name, "/")
	return of == stateScorer || of == stateJudge
}

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
	err := take(stateCrawl, func(b []byte) error { return json.Unmarshal(b, &s.count) })
	if parts, errState := scorerParts(state); errState != nil {
		err = errors.Join(err, errState)
	} else if whole := slices.Concat(parts...); whole != nil {
		s.scorerParts = len(parts)
		s.scorerLast = slices.Clone(parts[len(parts)-1])
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
			if web.Reason(why) != web.ReasonElsewhere { // as merges and repairs of earlier versions stored it
				s.closed[web.Host(host)] = web.Reason(why)
			}
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
	if s.noResume {
		return
	}
	b, err := json.Marshal(s.count)
	if err != nil {
		panic(err) // a plain struct of numbers
	}
	t.State[stateCrawl] = b
	if b, anew := s.scorer.State(); b != nil {
		s.storeScorer(t, b, anew)
	}
	s.storeJudge(t)
}

// storeEnd stores what no turn follows to carry: the mark of the last words, and the time since the last
// turn. All else is as that turn left it: a page that was broken off may have been counted in part.
func (d *driver) storeEnd() error {
	ctx, turn := context.Background(), web.Turn{State: make(map[string][]byte)}
	if d.mark != nil {
		turn.State[StateEvents] = d.mark
	}
	b, err := d.Frontier.State(ctx, stateCrawl)
	if err != nil {
		return ofFrontier(err)
	}
	if b != nil {
		var p progress
		if err := json.Unmarshal(b, &p); err != nil {
			return fmt.Errorf("stored state %q cannot be read: %w", stateCrawl, err)
		}
		if p.Spent < d.step.count.Spent {
			p.Spent = d.step.count.Spent
			turn.State[stateCrawl], err = json.Marshal(p)
		}
	}
	if err == nil && len(turn.State) > 0 {
		_, err = d.commit(ctx, turn)
	}
	return err
}

// statePart is the size of the parts in which a scorer's state is stored, of all
// but the last. A page that adds to the state writes the last part anew, half of
// this on average.
const statePart = 4 << 10

// ScorerState is the state that a crawl's scorer had at its last turn, nil if it
// had none. state returns what was stored under a name.
func ScorerState(state func(name string) ([]byte, error)) (whole []byte, err error) {
	parts, err := scorerParts(state)
	return slices.Concat(parts...), err
}

func scorerParts(state func(name string) ([]byte, error)) (parts [][]byte, err error) {
	b, err := state(stateScorer)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	n, err := strconv.Atoi(string(b))
	for i := range n {
		part, errPart := state(scorerPart(i))
		err = errors.Join(err, errPart)
		parts = append(parts, part)
	}
	return parts, err
}

func scorerPart(i int) string { return stateScorer + "/" + strconv.Itoa(i) }

// storeScorer adds to a scorer's state, as it is stored, or stores it anew.
func (s *Step) storeScorer(t *web.Turn, state []byte, anew bool) {
	before := s.scorerParts
	if anew {
		s.scorerParts, s.scorerLast = 0, nil
	}
	for len(state) > 0 {
		if s.scorerParts == 0 || len(s.scorerLast) >= statePart {
			s.scorerParts++
			s.scorerLast = nil
		}
		n := min(len(state), statePart-len(s.scorerLast))
		s.scorerLast = slices.Concat(s.scorerLast, state[:n]) // the turn keeps what it is given
		state = state[n:]
		t.State[scorerPart(s.scorerParts-1)] = s.scorerLast
	}
	for i := s.scorerParts; i < before; i++ {
		t.State[scorerPart(i)] = nil
	}
	t.State[stateScorer] = []byte(strconv.Itoa(s.scorerParts))
}

// close lets no more links of a host into the frontier.
func (s *Step) close(h web.Host, why web.Reason) {
	s.closed[h] = why
	s.fresh[stateClosed+strconv.Itoa(s.count.Closed)] = []byte(string(h) + " " + string(why))
	s.count.Closed++
	maps.DeleteFunc(s.leads.tried, func(u web.URL, _ float64) bool { return u.Host() == h })
}
